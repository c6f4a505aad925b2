/* voids.c: rows that void a trial, or take that back. */
#include <lineage/voids.h>

#include <lineage/query.h>
#include <lineage/text.h>

#include "../internal.h"
#include "../questions/questions.h"

struct reading {
    struct lineage_store *store;
    const char *exp_id; /* NULL: all */
    bool (*visit)(void *context, const struct lineage_void *entry);
    void *context;
    int64_t after; /* seq of the last trial that was passed to visit */
};

static enum lineage_status ask_voids(void *question, struct lineage_error *err)
{
    struct reading *r = question;
    int64_t seq = 0;
    enum lineage_status status = mirror_sync(r->store->mirror, err);
    if (status == LINEAGE_OK && r->exp_id)
        status = mirror_find(r->store->mirror, r->exp_id, &seq, err);
    if (status == LINEAGE_ENOTFOUND)
        return store_fail(err, LINEAGE_ENOTFOUND, "no trial '%.80s' in %s", r->exp_id, r->store->dir);
    return status == LINEAGE_OK ? mirror_each_void(r->store->mirror, seq, &r->after, r->visit, r->context, err) : status;
}

enum lineage_status lineage_voids_read(struct lineage_store *store, const char *exp_id,
                                       bool (*visit)(void *context, const struct lineage_void *entry), void *context,
                                       struct lineage_error *err)
{
    struct reading reading = {store, exp_id, visit, context, 0};
    return mirror_ask(store->mirror, ask_voids, &reading, err);
}

struct known {
    bool is_void;
    char by[80];
};

static bool know(void *context, const struct lineage_void *entry)
{
    struct known *known = context;
    known->is_void = true;
    strncpy(known->by, entry->by, sizeof known->by - 1);
    return false;
}

static enum lineage_status check_reason(const char *reason, bool needed, struct lineage_error *err)
{
    if (needed && (!reason || !reason[strspn(reason, " \t\r\n")]))
        return store_fail(err, LINEAGE_EINVAL, "a void needs a reason");
    if (reason && strlen(reason) > LINEAGE_VOID_REASON_MAX)
        return store_fail(err, LINEAGE_ELIMIT, "a reason has at most %d bytes", LINEAGE_VOID_REASON_MAX);
    if (reason && !lineage_text_is_utf8(reason, strlen(reason)))
        return store_fail(err, LINEAGE_EINVAL, "a reason must be UTF-8");
    return LINEAGE_OK;
}

/* Two processes may void a trial at the same time; the second row then changes nothing. */
static enum lineage_status check_trial(struct lineage_store *store, const struct lineage_trial *trial, bool back,
                                       struct lineage_error *err)
{
    struct known known = {.is_void = false};
    if (lineage_is_void_row(trial, NULL))
        return store_fail(err, LINEAGE_EINVAL, "%.80s is not a trial: it is the row that voids %.80s, which can be taken back",
                          trial->exp_id, trial->parent_exp);
    TRY(lineage_voids_read(store, trial->exp_id, know, &known, err));
    if (known.is_void == back)
        return LINEAGE_OK;
    if (back)
        return store_fail(err, LINEAGE_EINVAL, "trial %.80s is not void", trial->exp_id);
    return store_fail(err, LINEAGE_EINVAL, "trial %.80s is void already, by row %.80s", trial->exp_id, known.by);
}

static enum lineage_status append_void(struct lineage_store *store, const char *exp_id, const char *reason, bool back,
                                       struct lineage_trial *row, struct lineage_error *err)
{
    SCOPED_TRIAL target = {0};
    if (row)
        *row = (struct lineage_trial){0};
    TRY(check_reason(reason, !back, err));
    TRY(lineage_find(store, exp_id, &target, err));
    TRY(check_trial(store, &target, back, err));
    const struct lineage_trial trial = {.specialist = target.specialist,
                                        .parent_exp = target.exp_id,
                                        .domain = target.domain,
                                        .hypothesis = reason,
                                        .status = LINEAGE_HARNESS_ABORT,
                                        .job_name = back ? LINEAGE_UNVOID_JOB : LINEAGE_VOID_JOB};
    return lineage_store_append(store, &trial, NULL, row, err);
}

enum lineage_status lineage_void_append(struct lineage_store *store, const char *exp_id, const char *reason,
                                        struct lineage_trial *row, struct lineage_error *err)
{
    return append_void(store, exp_id, reason, false, row, err);
}

enum lineage_status lineage_void_take_back(struct lineage_store *store, const char *exp_id, const char *reason,
                                           struct lineage_trial *row, struct lineage_error *err)
{
    return append_void(store, exp_id, reason, true, row, err);
}
