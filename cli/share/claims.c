/*
 * A worker claims a trial, reads the rows once more, since another worker may have finished the trial before the claim,
 * runs it, appends its row, and ends the claim. If a claim is lost while its trial runs, the only cost is time: another
 * worker may run the trial as well, and the first row counts.
 */
#include "share/claims.h"

#include <stdlib.h>
#include <string.h>

#include "sweep/trial_list.h"

int claims_status(enum lineage_status status, const struct lineage_error *err)
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
