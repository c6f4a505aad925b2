/* night_hold.c: see night_hold.h. */
#include "night/night_hold.h"

#include <errno.h>
#include <pthread.h>
#include <stdlib.h>
#include <string.h>
#include <time.h>

struct night_hold {
    struct night_keeper *keeper; /* this thread's while it renews */
    char *dir;
    pthread_t thread;
    pthread_mutex_t mutex;
    pthread_cond_t over;
    bool ends;
};

/* False once the hold is to end. */
static bool sleep_for(struct night_hold *hold, double seconds)
{
    struct timespec until;
    clock_gettime(CLOCK_MONOTONIC, &until);
    until.tv_sec += (time_t)seconds;
    until.tv_nsec += (long)((seconds - (double)(time_t)seconds) * 1e9);
    until.tv_sec += until.tv_nsec / 1000000000;
    until.tv_nsec %= 1000000000;
    pthread_mutex_lock(&hold->mutex);
    while (!hold->ends && pthread_cond_timedwait(&hold->over, &hold->mutex, &until) != ETIMEDOUT)
        ;
    bool ends = hold->ends;
    pthread_mutex_unlock(&hold->mutex);
    return !ends;
}

/* A renewal that fails is tried again a third of a lease later, as those of a trial at work are. */
static void *renew_until_told(void *context)
{
    struct night_hold *hold = context;
    struct lineage_store *store = NULL;
    struct lineage_queue *queue = NULL;
    while (sleep_for(hold, hold->keeper->night->lease / 3)) {
        if (!store && lineage_store_open(&store, hold->dir, NULL, NULL) != LINEAGE_OK)
            continue;
        if (queue || lineage_queue_open(&queue, store, NULL) == LINEAGE_OK)
            night_claim_renew(hold->keeper, queue, NULL);
    }
    lineage_queue_close(queue);
    lineage_store_close(store);
    return NULL;
}

static void free_hold(struct night_hold *hold)
{
    pthread_cond_destroy(&hold->over);
    pthread_mutex_destroy(&hold->mutex);
    free(hold->dir);
    free(hold);
}

struct night_hold *night_hold_begin(struct night_keeper *keeper)
{
    const struct night *night = keeper->night;
    struct night_hold *hold = night->trials[keeper->i].claim ? calloc(1, sizeof *hold) : NULL;
    pthread_condattr_t steady;
    if (!hold)
        return NULL;
    hold->keeper = keeper;
    hold->dir = strdup(lineage_store_dir(night->store));
    pthread_mutex_init(&hold->mutex, NULL);
    pthread_condattr_init(&steady);
    pthread_condattr_setclock(&steady, CLOCK_MONOTONIC);
    pthread_cond_init(&hold->over, &steady);
    pthread_condattr_destroy(&steady);
    if (hold->dir && pthread_create(&hold->thread, NULL, renew_until_told, hold) == 0)
        return hold;
    free_hold(hold);
    return NULL;
}

void night_hold_end(struct night_hold *hold)
{
    if (!hold)
        return;
    pthread_mutex_lock(&hold->mutex);
    hold->ends = true;
    pthread_cond_signal(&hold->over);
    pthread_mutex_unlock(&hold->mutex);
    pthread_join(hold->thread, NULL);
    free_hold(hold);
}
