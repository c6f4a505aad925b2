#include "share/other_workers.h"

#include <math.h>
#include <string.h>
#include <unistd.h>

/*
 * Seconds to pause after a look that found nothing to do: the first pause, the longest pause, and the longest pause
 * while the store's server cannot be reached and so cannot wake this process.
 */
#define LEAST_PAUSE 0.05
#define LONGEST_PAUSE 1.0
#define LONGEST_PAUSE_AWAY 5.0

struct census {
    const struct claims *claims;
    struct other_workers *others;
    struct propose_past *past;
    bool added;
};

bool other_workers_is_here(const struct lineage_claim *claim)
{
    char here[LINEAGE_WORKER_MAX] = "";
    gethostname(here, sizeof here - 1);
    size_t n = strlen(here);
    return strncmp(claim->worker, here, n) == 0 && claim->worker[n] == ':';
}

static bool count_claim(void *context, const struct lineage_claim *claim)
{
    struct census *census = context;
    const struct night_sweep *sweep = &census->claims->list->sweep;
    const struct night_trial *trial = trial_list_find(census->claims->list, claim->key);
    if (claim->free || strcmp(claim->night, sweep->name) != 0 || (trial && trial->at_work))
        return true;
    census->others->held++;
    census->others->proposed += !trial;
    if (trial || !census->past || other_workers_is_here(claim))
        return true;
    json_t *about = json_loads(claim->about, 0, NULL);
    census->added = propose_past_add_params(census->past, &sweep->space, json_object_get(about, "params"));
    json_decref(about);
    return census->added;
}

int other_workers_count(struct other_workers *others, const struct claims *claims, struct propose_past *past)
{
    struct census census = {claims, others, past, true};
    struct lineage_error err;
    *others = (struct other_workers){0};
    int status = claims_status(lineage_queue_each(claims->queue, count_claim, &census, &err), &err);
    if (status != CLI_GO_ON)
        return status;
    return census.added ? CLI_GO_ON : cli_no_memory();
}

static bool is_any_ready(const struct pollfd *fds, size_t n)
{
    while (n-- > 0)
        if (fds[n].revents)
            return true;
    return false;
}

/* Waits for at most one lease, because the queue may have missed an event. */
void other_workers_wait(struct claims *claims, double seconds, struct pollfd *fds, size_t n)
{
    struct lineage_error err;
    bool news = false;
    double began = cli_now();
    double pause = fmin(fmin(claims->pause, seconds), LONGEST_PAUSE_AWAY);
    poll(fds, n, (int)ceil(1000 * pause));
    if (is_any_ready(fds, n))
        return;
    double left = fmin(fmax(seconds - claims->pause, 0), claims->lease);
    bool waited = !claims->unanswered && lineage_queue_wait(claims->queue, left, fds, n, &news, &err) == LINEAGE_OK;
    bool idle = waited && cli_now() - began > claims->pause + LONGEST_PAUSE;
    claims->pause = idle ? 0 : fmin(fmax(2 * claims->pause, LEAST_PAUSE), waited ? LONGEST_PAUSE : LONGEST_PAUSE_AWAY);
}
