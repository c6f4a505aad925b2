#include "share/sweep_version.h"

#include <inttypes.h>
#include <jansson.h>
#include <stdlib.h>
#include <string.h>

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
    const char *other = json_string_value(json_object_get(about, MEMBER));
    int order = other ? strcmp(text_of(own, sweep->digest), other) : 0;
    if (order > 0 || (order < 0 && !s->mine))
        s->status =
            cli_error(CLI_USAGE,
                      "%s: the worker %s runs another version of this sweep (its digest is %.16s, that of the file %s). "
                      "Their trials would be mixed: wait until that worker is done, or give one of the sweeps another name",
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
