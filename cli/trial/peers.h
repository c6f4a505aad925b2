/*
 * peers.h: processes without which a trial cannot continue: the other ranks of its run. They are not children of the
 * process that watches the trial, so a pidfd (Linux 5.3) reports when such a process ends. On older kernels no peer is
 * watched, and a lost rank shows only in what its launcher does.
 */
#pragma once

#include <stdbool.h>
#include <stddef.h>

#include <jansson.h>

struct peers {
    json_t *list; /* [{"name", "pid" or "host"}]; NULL: none */
    int *fds;     /* pidfd of each process; -1: not watched */
    int news;     /* readable when a peer has ended; -1: no peer is watched */
    bool elsewhere; /* some peers are on other machines and cannot be watched */
    int gone;     /* index of a peer that had ended before its pidfd was opened; -1: none */
};

void peers_init(struct peers *peers);

/* Watches the peers of an event (metrics/event_lines.h); only the first call has an effect. */
void peers_watch(struct peers *peers, const json_t *list);

/* Whether a peer has ended. If so, writes which peer ("rank 2 (process 4711) is gone"). */
bool peers_lost(const struct peers *peers, char *text, size_t size);

void peers_release(struct peers *peers);
