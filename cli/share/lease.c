#include "share/lease.h"

#include <errno.h>
#include <pthread.h>
#include <stdlib.h>
#include <string.h>
#include <time.h>

#include "share/sweep_version.h"

struct lease_thread {
    struct lease *lease; /* only this thread uses the lease while it runs */
    char *dir;           /* of the store */
    pthread_t thread;
    pthread_mutex_t mutex;
    pthread_cond_t wake;
    bool stop;
};

/* Renews the claim. If another worker has claimed the trial meanwhile, prints that once. */
static void renew(struct lease *lease, struct lineage_queue *queue, const char *about)
{
    const struct claims *claims = lease->claims;
    struct night_trial *trial = &claims->list->trials[lease->i];
    struct lineage_error err;
    char text[LINEAGE_NIGHT_TRIAL_MAX + 160];
    if (!trial->claim || lineage_queue_renew(queue, trial->claim, claims->lease, about, &err) != LINEAGE_ENOTFOUND ||
        lease->reported)
        return;
    snprintf(text, sizeof text, "%.255s: its lease ended and another worker has begun it; the first to finish gets the row",
             trial->name);
    cli_say(text);
    lease->reported = true;
}

/* ---- while the trial runs ---- */

static void on_alive(void *context, const char *about)
{
    struct lease *lease = context;
    char *marked = sweep_version_mark(&lease->claims->list->sweep, about);
    renew(lease, lease->claims->queue, marked ? marked : about);
    free(marked);
}

static void on_hold(void *context, bool on)
{
    if (on)
        lease_hold(context);
    else
        lease_let_go(context);
}

struct trial_alive lease_of_running(struct lease *lease)
{
    return (struct trial_alive){on_alive, on_hold, lease, lease->claims->lease / 3};
}

/* ---- while its files are moved ---- */

/* Sleeps. Returns false if the thread must stop. */
static bool sleep_for(struct lease_thread *t, double seconds)
{
    struct timespec until;
    clock_gettime(CLOCK_MONOTONIC, &until);
    until.tv_sec += (time_t)seconds;
    until.tv_nsec += (long)((seconds - (double)(time_t)seconds) * 1e9);
    until.tv_sec += until.tv_nsec / 1000000000;
    until.tv_nsec %= 1000000000;
    pthread_mutex_lock(&t->mutex);
    while (!t->stop && pthread_cond_timedwait(&t->wake, &t->mutex, &until) != ETIMEDOUT)
        ;
    bool stop = t->stop;
    pthread_mutex_unlock(&t->mutex);
    return !stop;
}

/* A renewal that fails is tried again a third of a lease later. */
static void *renew_until_stopped(void *context)
{
    struct lease_thread *t = context;
    struct lineage_store *store = NULL;
    struct lineage_queue *queue = NULL;
    while (sleep_for(t, t->lease->claims->lease / 3)) {
        if (!store && lineage_store_open(&store, t->dir, NULL, NULL) != LINEAGE_OK)
            continue;
        if (queue || lineage_queue_open(&queue, store, NULL) == LINEAGE_OK)
            renew(t->lease, queue, NULL);
    }
    lineage_queue_close(queue);
    lineage_store_close(store);
    return NULL;
}

static void free_thread(struct lease_thread *t)
{
    pthread_cond_destroy(&t->wake);
    pthread_mutex_destroy(&t->mutex);
    free(t->dir);
    free(t);
}

void lease_hold(struct lease *lease)
{
    const struct trial_list *list = lease->claims->list;
    struct lease_thread *t = list->trials[lease->i].claim ? calloc(1, sizeof *t) : NULL;
    pthread_condattr_t monotonic;
    if (!t)
        return;
    t->lease = lease;
    t->dir = strdup(lineage_store_dir(list->store));
    pthread_mutex_init(&t->mutex, NULL);
    pthread_condattr_init(&monotonic);
    pthread_condattr_setclock(&monotonic, CLOCK_MONOTONIC);
    pthread_cond_init(&t->wake, &monotonic);
    pthread_condattr_destroy(&monotonic);
    if (t->dir && pthread_create(&t->thread, NULL, renew_until_stopped, t) == 0)
        lease->thread = t;
    else
        free_thread(t);
}

void lease_let_go(struct lease *lease)
{
    struct lease_thread *t = lease->thread;
    if (!t)
        return;
    pthread_mutex_lock(&t->mutex);
    t->stop = true;
    pthread_cond_signal(&t->wake);
    pthread_mutex_unlock(&t->mutex);
    pthread_join(t->thread, NULL);
    lease->thread = NULL;
    free_thread(t);
}
