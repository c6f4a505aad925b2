/*
 * night_claims.c: claims of a night's trials, over the queue of its store.
 *
 * The order in which a claim is safe: claim, then look at the rows once more, for another worker may have finished the
 * trial between this one's last look and its claim; run; row; release. What goes wrong with a claim while a trial runs
 * costs nothing but time: another may run the trial as well, and the first row counts.
 */
#include "night/night_claims.h"

#include <math.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include "night/night_hold.h"

/* Seconds between looks in vain, the first and the longest; and where nobody tells anything, the server being away. */
#define LEAST_PAUSE 0.05
#define LONGEST_PAUSE 1.0
#define LONGEST_PAUSE_AWAY 5.0

/* A queue that is busy, or away, is asked again later, as one in which others have all there is. */
static int status_of(enum lineage_status status, const struct lineage_error *err)
{
    switch (status) {
    case LINEAGE_OK: return CLI_GO_ON;
    case LINEAGE_ENOTFOUND:
    case LINEAGE_EAWAY:
    case LINEAGE_ELOCKED: return NIGHT_WAIT;
    default: return cli_fail(err);
    }
}

int night_claims_open(struct night *night)
{
    struct lineage_error err;
    return lineage_queue_open(&night->claims, night->store, &err) == LINEAGE_OK ? CLI_GO_ON : cli_fail(&err);
}

void night_claims_close(struct night *night)
{
    lineage_queue_close(night->claims);
    night->claims = NULL;
}

static int ask(struct night *night, const size_t *candidates, size_t n, size_t at_most, size_t *which,
               struct lineage_claim *claim)
{
    struct lineage_error err;
    uint64_t *keys = calloc(n + 1, sizeof *keys);
    if (!keys)
        return cli_no_memory();
    for (size_t k = 0; k < n; k++)
        keys[k] = night->trials[candidates[k]].key;
    const struct lineage_claim_request request = {night->sweep.name, keys, n, night->lease, at_most};
    enum lineage_status status = lineage_queue_claim(night->claims, &request, which, claim, &err);
    free(keys);
    night->unanswered = status == LINEAGE_EAWAY || status == LINEAGE_ELOCKED;
    return status_of(status, &err);
}

int night_claim(struct night *night, const size_t *candidates, size_t n, size_t at_most, size_t *i)
{
    struct lineage_claim *claim = malloc(sizeof *claim);
    size_t which = 0;
    int status = claim ? ask(night, candidates, n, at_most, &which, claim) : cli_no_memory();
    if (status != CLI_GO_ON) {
        free(claim);
        return status;
    }
    *i = candidates[which];
    night->trials[*i].claim = claim;
    status = night_read_rows(night);
    if (status == CLI_GO_ON && !night->trials[*i].exp_id)
        return CLI_GO_ON;
    night_claim_end(night, *i, status == CLI_GO_ON ? LINEAGE_CLAIM_DONE : LINEAGE_CLAIM_GIVEN_UP);
    return status == CLI_GO_ON ? NIGHT_AGAIN : status;
}

/* A claim that cannot be taken back now ends by itself, with the lease or with this process. */
void night_claim_end(struct night *night, size_t i, enum lineage_release why)
{
    struct night_trial *trial = &night->trials[i];
    struct lineage_error err;
    if (trial->claim && lineage_queue_release(night->claims, trial->claim, why, &err) != LINEAGE_OK)
        cli_say(err.text);
    night_claim_leave(night, i);
}

void night_claim_leave(struct night *night, size_t i)
{
    struct night_trial *trial = &night->trials[i];
    if (trial->claim)
        lineage_queue_leave(trial->claim);
    free(trial->claim);
    trial->claim = NULL;
}

/* ---- while a trial runs ---- */

void night_claim_renew(struct night_keeper *keeper, struct lineage_queue *queue, const char *about)
{
    const struct night *night = keeper->night;
    struct night_trial *trial = &night->trials[keeper->i];
    struct lineage_error err;
    char text[LINEAGE_NIGHT_TRIAL_MAX + 160];
    if (!trial->claim || lineage_queue_renew(queue, trial->claim, night->lease, about, &err) != LINEAGE_ENOTFOUND ||
        keeper->told)
        return;
    snprintf(text, sizeof text, "%.255s: its lease ended and another worker has begun it; whoever ends first has its row",
             trial->name);
    cli_say(text);
    keeper->told = true;
}

static void tell(void *context, const char *about)
{
    struct night_keeper *keeper = context;
    night_claim_renew(keeper, keeper->night->claims, about);
}

static void hold(void *context, bool on)
{
    struct night_keeper *keeper = context;
    if (!on)
        night_hold_end(keeper->hold);
    keeper->hold = on ? night_hold_begin(keeper) : NULL;
}

struct trial_alive night_claim_alive(struct night_keeper *keeper)
{
    return (struct trial_alive){tell, hold, keeper, keeper->night->lease / 3};
}

/* ---- others ---- */

static void pause_for(double seconds, struct pollfd *fds, size_t n)
{
    poll(fds, n, (int)ceil(1000 * fmin(seconds, LONGEST_PAUSE_AWAY)));
}

static bool is_any_ready(const struct pollfd *fds, size_t n)
{
    while (n-- > 0)
        if (fds[n].revents)
            return true;
    return false;
}

/* Once in a lease there is a look whatever was told. */
void night_claims_wait(struct night *night, double seconds, struct pollfd *fds, size_t n)
{
    struct lineage_error err;
    bool news = false;
    double began = cli_now();
    pause_for(fmin(night->pause, seconds), fds, n);
    if (is_any_ready(fds, n))
        return;
    bool told = !night->unanswered && lineage_queue_wait(night->claims, fmin(fmax(seconds - night->pause, 0), night->lease),
                                                         fds, n, &news, &err) == LINEAGE_OK;
    bool idle = told && cli_now() - began > night->pause + LONGEST_PAUSE;
    night->pause = idle ? 0 : fmin(fmax(2 * night->pause, LEAST_PAUSE), told ? LONGEST_PAUSE : LONGEST_PAUSE_AWAY);
}

static const struct night_trial *find_trial(const struct night *night, uint64_t key)
{
    for (size_t i = 0; i < night->n; i++)
        if (night->trials[i].key == key)
            return &night->trials[i];
    return NULL;
}

struct clearing {
    struct night *night;
    int status;
};

static bool clear(void *context, const struct lineage_claim *claim)
{
    struct clearing *c = context;
    struct lineage_claim left = *claim;
    struct lineage_error err;
    const struct night_trial *trial = find_trial(c->night, claim->key);
    bool ours = strcmp(claim->night, c->night->sweep.name) == 0;
    if (claim->free && (trial ? trial->exp_id && !trial->claim : ours))
        c->status = status_of(lineage_queue_release(c->night->claims, &left, LINEAGE_CLAIM_DONE, &err), &err);
    return c->status == CLI_GO_ON;
}

int night_claims_clear(struct night *night)
{
    struct clearing c = {night, CLI_GO_ON};
    struct lineage_error err;
    int status = status_of(lineage_queue_each(night->claims, clear, &c, &err), &err);
    if (status == CLI_GO_ON)
        status = c.status;
    return status == NIGHT_WAIT ? CLI_GO_ON : status; /* the next one clears them away */
}

struct census {
    const struct night *night;
    struct night_others *others;
    struct propose_past *past;
    bool added;
};

static bool is_of_this_machine(const struct lineage_claim *claim)
{
    char here[LINEAGE_WORKER_MAX] = "";
    gethostname(here, sizeof here - 1);
    size_t n = strlen(here);
    return strncmp(claim->worker, here, n) == 0 && claim->worker[n] == ':';
}

/* Those of this machine say what they run in their work directories (propose_past.h). */
static bool count_other(void *context, const struct lineage_claim *claim)
{
    struct census *census = context;
    const struct night *night = census->night;
    const struct night_trial *trial = find_trial(night, claim->key);
    if (claim->free || strcmp(claim->night, night->sweep.name) != 0 || (trial && trial->at_work))
        return true;
    census->others->held++;
    census->others->proposed += !trial;
    if (trial || !census->past || is_of_this_machine(claim))
        return true;
    json_t *about = json_loads(claim->about, 0, NULL);
    census->added = propose_past_add_params(census->past, &night->sweep.space, json_object_get(about, "params"));
    json_decref(about);
    return census->added;
}

int night_claims_others(struct night_others *others, const struct night *night, struct propose_past *past)
{
    struct census census = {night, others, past, true};
    struct lineage_error err;
    *others = (struct night_others){0};
    int status = status_of(lineage_queue_each(night->claims, count_other, &census, &err), &err);
    if (status != CLI_GO_ON)
        return status;
    return census.added ? CLI_GO_ON : cli_no_memory();
}
