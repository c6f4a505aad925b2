/* peers.c: see peers.h. Each process has a pidfd, and an epoll descriptor watches all of them. */
#include "trial/peers.h"

#include <errno.h>
#include <stdio.h>
#include <stdlib.h>
#include <sys/epoll.h>
#include <sys/syscall.h>
#include <unistd.h>

void peers_init(struct peers *peers)
{
    *peers = (struct peers){.news = -1, .gone = -1};
}

static void watch_one(struct peers *peers, size_t i)
{
    json_int_t pid = json_integer_value(json_object_get(json_array_get(peers->list, i), "pid"));
    struct epoll_event event = {.events = EPOLLIN, .data = {.u32 = (uint32_t)i}};
    peers->elsewhere = peers->elsewhere || pid <= 0;
    peers->fds[i] = pid > 0 ? (int)syscall(SYS_pidfd_open, (pid_t)pid, 0) : -1;
    if (peers->fds[i] >= 0)
        epoll_ctl(peers->news, EPOLL_CTL_ADD, peers->fds[i], &event);
    else if (pid > 0 && errno == ESRCH)
        peers->gone = (int)i;
}

void peers_watch(struct peers *peers, const json_t *list)
{
    size_t n = json_array_size(list);
    if (peers->list || !n || !(peers->fds = malloc(n * sizeof *peers->fds)))
        return;
    peers->list = json_deep_copy(list);
    peers->news = epoll_create1(EPOLL_CLOEXEC);
    for (size_t i = 0; i < n; i++)
        watch_one(peers, i);
}

bool peers_lost(const struct peers *peers, char *text, size_t size)
{
    struct epoll_event event;
    int i = peers->gone;
    if (i < 0 && (peers->news < 0 || epoll_wait(peers->news, &event, 1, 0) < 1))
        return false;
    const json_t *peer = json_array_get(peers->list, i < 0 ? event.data.u32 : (size_t)i);
    const char *name = json_string_value(json_object_get(peer, "name"));
    snprintf(text, size, "%.100s (process %lld) is gone", name ? name : "a process of it",
             (long long)json_integer_value(json_object_get(peer, "pid")));
    return true;
}

void peers_release(struct peers *peers)
{
    for (size_t i = 0; i < json_array_size(peers->list); i++)
        if (peers->fds[i] >= 0)
            close(peers->fds[i]);
    if (peers->news >= 0)
        close(peers->news);
    free(peers->fds);
    json_decref(peers->list);
}
