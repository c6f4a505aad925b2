/*
 * A worker claims a trial, reads the rows once more, since another worker may have finished the trial before the claim,
 * runs it, appends its row, and ends the claim. If a claim is lost while its trial runs, the only cost is time: another
 * worker may run the trial as well, and the first row counts.
 */
#include "share/claims.h"

#include <unistd.h>

/*
 * Converts a status of the queue: returns CLI_GO_ON, CLAIM_WAIT if the queue is busy or cannot be reached, or an exit
 * status.
 */
static int claims_status(enum lineage_status status, const struct lineage_error *err)
{
    switch (status) {
    case LINEAGE_OK: return CLI_GO_ON;
    case LINEAGE_ENOTFOUND:
    case LINEAGE_EAWAY:
    case LINEAGE_ELOCKED: return CLAIM_WAIT;
    default: return cli_fail(err);
    }
}

int claims_open(struct claims *claims)
{
    struct lineage_error err;
    return lineage_queue_open(&claims->queue, claims->list->store, &err) == LINEAGE_OK ? CLI_GO_ON : cli_fail(&err);
}

void claims_close(struct claims *claims)
{
    lineage_queue_close(claims->queue);
    claims->queue = NULL;
}

int claims_take(struct claims *claims, const size_t *candidates, size_t n, size_t at_most, size_t *i)
{
    struct trial_list *list = claims->list;
    struct lineage_error err;
    struct lineage_claim *claim = malloc(sizeof *claim);
    uint64_t *keys = calloc(n + 1, sizeof *keys);
    size_t which = 0;
    int status = claim && keys ? CLI_GO_ON : cli_no_memory();
    if (status != CLI_GO_ON)
        goto done;
    for (size_t k = 0; k < n; k++)
        keys[k] = list->trials[candidates[k]].key;
    const struct lineage_claim_request request = {list->sweep.name, keys, n, claims->lease, at_most};
    enum lineage_status claimed = lineage_queue_claim(claims->queue, &request, &which, claim, &err);
    claims->unanswered = claimed == LINEAGE_EAWAY || claimed == LINEAGE_ELOCKED;
    status = claims_status(claimed, &err);
    if (status != CLI_GO_ON)
        goto done;

    *i = candidates[which];
    struct night_trial *trial = &list->trials[*i];
    trial->claim = claim;
    claim = NULL;
    status = trial_rows_read(list);
    if (status != CLI_GO_ON) {
        claims_end(claims, *i, LINEAGE_CLAIM_GIVEN_UP);
    } else if (trial->exp_id) {
        claims_end(claims, *i, LINEAGE_CLAIM_DONE);
        status = CLAIM_AGAIN;
    }
done:
    free(keys);
    free(claim);
    return status;
}

/* A claim that cannot be ended now ends by itself, when its lease expires or this process exits. */
void claims_end(struct claims *claims, size_t i, enum lineage_release why)
{
    struct night_trial *trial = &claims->list->trials[i];
    struct lineage_error err;
    if (trial->claim && lineage_queue_release(claims->queue, trial->claim, why, &err) != LINEAGE_OK)
        cli_say(err.text);
    claims_leave(claims, i);
}

void claims_leave(struct claims *claims, size_t i)
{
    struct night_trial *trial = &claims->list->trials[i];
    if (trial->claim)
        lineage_queue_leave(trial->claim);
    free(trial->claim);
    trial->claim = NULL;
}

struct clearing {
    struct claims *claims;
    int status;
};

static bool clear(void *context, const struct lineage_claim *claim)
{
    struct clearing *c = context;
    const struct trial_list *list = c->claims->list;
    struct lineage_claim left = *claim;
    struct lineage_error err;
    const struct night_trial *trial = trial_list_find(list, claim->key);
    bool of_this_night = strcmp(claim->night, list->sweep.name) == 0;
    if (claim->free && (trial ? trial->exp_id && !trial->claim : of_this_night))
        c->status = claims_status(lineage_queue_release(c->claims->queue, &left, LINEAGE_CLAIM_DONE, &err), &err);
    return c->status == CLI_GO_ON;
}

int claims_clear(struct claims *claims)
{
    struct clearing c = {claims, CLI_GO_ON};
    struct lineage_error err;
    int status = claims_status(lineage_queue_each(claims->queue, clear, &c, &err), &err);
    if (status == CLI_GO_ON)
        status = c.status;
    return status == CLAIM_WAIT ? CLI_GO_ON : status; /* the next night removes the remaining claims */
}

#define MEMBER "sweep" /* of the JSON object about a running trial */

enum { DIGEST_TEXT_MAX = 17 };

static const char *text_of(char text[DIGEST_TEXT_MAX], uint64_t digest)
{
    snprintf(text, DIGEST_TEXT_MAX, "%016" PRIx64, digest);
    return text;
}

char *sweep_version_mark(const struct night_sweep *sweep, const char *about)
{
    char digest[DIGEST_TEXT_MAX];
    json_t *object = *about ? json_loads(about, 0, NULL) : json_object();
    char *marked = NULL;
    if (json_object_set_new(object, MEMBER, json_string(text_of(digest, sweep->digest))) == 0)
        marked = json_dumps(object, JSON_COMPACT);
    json_decref(object);
    return marked;
}

struct search {
    const struct claims *claims;
    bool mine;
    int status;
};

/* Claims of older versions of the program, and claims that were just made, have no digest. */
static bool look(void *context, const struct lineage_claim *claim)
{
    struct search *s = context;
    const struct night_sweep *sweep = &s->claims->list->sweep;
    char own[DIGEST_TEXT_MAX];
    if (claim->free || strcmp(claim->night, sweep->name) != 0)
        return true;
    json_t *about = json_loads(claim->about, 0, NULL);
    const char *other = cli_json_string(about, MEMBER);
    int order = other ? strcmp(text_of(own, sweep->digest), other) : 0;
    if (order > 0 || (order < 0 && !s->mine))
        s->status =
            cli_error(CLI_USAGE,
                      "%s: the worker %s runs another version of this sweep (its digest is %.16s, that of the file %s). Their "
                      "trials would be mixed: wait until that worker is done, or give one of the sweeps another name",
                      sweep->file, claim->worker, other, own);
    json_decref(about);
    return s->status == CLI_GO_ON;
}

static int search(const struct claims *claims, bool mine)
{
    struct search s = {claims, mine, CLI_GO_ON};
    struct lineage_error err;
    int status = claims_status(lineage_queue_each(claims->queue, look, &s, &err), &err);
    return status == CLI_GO_ON || status == CLAIM_WAIT ? s.status : status;
}

int sweep_version_check(const struct claims *claims)
{
    return claims->shared ? search(claims, false) : CLI_GO_ON;
}

int sweep_version_claimed(struct claims *claims, size_t i)
{
    const struct trial_list *list = claims->list;
    struct lineage_claim *claim = list->trials[i].claim;
    struct lineage_error err;
    if (!claims->shared || !claim)
        return CLI_GO_ON;
    char *about = sweep_version_mark(&list->sweep, "");
    int status =
        about ? claims_status(lineage_queue_renew(claims->queue, claim, claims->lease, about, &err), &err) : cli_no_memory();
    free(about);
    if (status == CLI_GO_ON)
        status = search(claims, true);
    if (status == CLAIM_WAIT) /* the queue does not answer, or the claim is lost: the trial's first renewal will find out */
        return CLI_GO_ON;
    if (status != CLI_GO_ON)
        claims_end(claims, i, LINEAGE_CLAIM_GIVEN_UP);
    return status;
}

const char *sweep_version_notes(char out[SWEEP_VERSION_NOTES_MAX], const struct claims *claims)
{
    char digest[DIGEST_TEXT_MAX];
    *out = '\0';
    if (claims->shared)
        snprintf(out, SWEEP_VERSION_NOTES_MAX, "worker of lineage " LINEAGE_VERSION ", sweep %s",
                 text_of(digest, claims->list->sweep.digest));
    return out;
}

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
