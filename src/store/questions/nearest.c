/*
 * nearest.c: finds the trials that meet most of several conditions on parameters; among equals failures come first, then newer
 * trials.
 *
 * The trials of each condition are walked from the newest to the oldest. Until the list is full, each trial that meets a
 * condition is looked at. After that, only a trial that meets more conditions than the last of the list matters, or as many if it
 * failed and the last one did not. A trial that meets n conditions cannot be newer than the n-th newest of the next trials of all
 * conditions, so all trials above that one are skipped by a look-up of the key (WAND: Broder et al. 2003, Efficient query
 * evaluation using a two-level retrieval process, CIKM). The trials that failed are walked in the same way. So the cost depends
 * on how rare such trials are, and not on the size of the log.
 */
#include <stdlib.h>

#include "load.h"
#include "param_walks.h"
#include "questions.h"

static const char label_sql[] = "SELECT status FROM trials INDEXED BY trials_by_seq WHERE seq = ?1";
/* The conditions on status are those of the partial index. */
static const char failed_walk_sql[] =
    "SELECT seq FROM trials INDEXED BY failed_by_label WHERE status = ?1 AND seq <= ?3 AND status <> 'keep'"
    " AND status <> 'discard' AND status <> 'baseline' AND status <> 'harness_abort' ORDER BY seq DESC";

struct near {
    int64_t seq;
    size_t met; /* number of conditions */
    bool failed;
};

struct search {
    struct mirror *mirror;
    struct source sources[LINEAGE_NEAREST_CONDITIONS], failed;
    size_t n_sources;
    struct near *list; /* [limit], nearest first */
    size_t n, limit;
    int64_t newest; /* no seq is larger */
};

/* Ranges of more values than there may be walks are read into bits. */
static enum lineage_status open_source(struct source *source, const struct search *s, const struct lineage_condition *condition,
                                       struct lineage_error *err)
{
    bool many;
    source->at = INT64_MAX;
    enum lineage_status status = source_add_values(source, s->mirror, condition, SOURCE_INFORMATIVE, &many, err);
    return status == LINEAGE_OK && many ? source_add_bits(source, s->mirror, condition, s->newest, err) : status;
}

static enum lineage_status open_failed(struct search *s, struct lineage_error *err)
{
    enum lineage_status status = LINEAGE_OK;
    s->failed.at = INT64_MAX;
    for (int i = 0; i < LINEAGE_N_LABELS && status == LINEAGE_OK; i++)
        if (lineage_label_is_failure((enum lineage_label)i))
            status = source_add(&s->failed, s->mirror, failed_walk_sql, lineage_label_name((enum lineage_label)i), NULL, err);
    return status;
}

/* ---- the search ---- */

/* The newest seq at which n sources, or n of those that may have failed trials, may be: the n-th newest of where they are. */
static int64_t nth_newest(const struct search *s, size_t n, bool failing)
{
    int64_t newest[LINEAGE_NEAREST_CONDITIONS + 1] = {0}; /* sorted, newest first */
    size_t k = 0;
    for (size_t i = 0; i < s->n_sources; i++) {
        if (failing && !s->sources[i].may_fail)
            continue;
        size_t at = k++;
        for (; at > 0 && newest[at - 1] < s->sources[i].at; at--)
            newest[at] = newest[at - 1];
        newest[at] = s->sources[i].at;
    }
    return n <= k ? newest[n - 1] : 0;
}

/* Finds the newest seq from where the sources are that may belong to the list, which can be a seq without such a trial; 0 if
 * there is none. */
static enum lineage_status find_bound(int64_t *bound, struct search *s, struct lineage_error *err)
{
    const struct near *last = s->n == s->limit ? &s->list[s->n - 1] : NULL;
    *bound = nth_newest(s, last ? last->met + 1 : 1, false);
    if (!last || last->failed)
        return LINEAGE_OK;
    int64_t as_many = nth_newest(s, last->met, true);
    if (as_many <= *bound)
        return LINEAGE_OK;
    enum lineage_status status = source_to(&s->failed, s->mirror, as_many, err);
    if (s->failed.at < as_many)
        as_many = s->failed.at;
    if (as_many > *bound)
        *bound = as_many;
    return status;
}

/* Moves *at back to the next trial that may belong to the list; 0 if there is none. All sources follow. */
static enum lineage_status find_next(struct search *s, int64_t *at, struct lineage_error *err)
{
    enum lineage_status status = LINEAGE_OK;
    for (int64_t bound = 0; status == LINEAGE_OK && *at > 0; *at = bound) {
        for (size_t i = 0; i < s->n_sources && status == LINEAGE_OK; i++)
            status = source_to(&s->sources[i], s->mirror, *at, err);
        if (status == LINEAGE_OK)
            status = find_bound(&bound, s, err);
        if (bound == *at)
            break;
    }
    return status;
}

static enum lineage_status find_label(enum lineage_label *label, struct mirror *mirror, int64_t seq, struct lineage_error *err)
{
    sqlite3_stmt *stmt;
    enum lineage_status status = mirror_row(mirror, &stmt, err, label_sql, "i", seq);
    if (status == LINEAGE_OK)
        status = mirror_label(mirror, stmt, 0, label, err);
    sqlite3_reset(stmt);
    return status == LINEAGE_ENOTFOUND ? load_missing_row(mirror, err) : status;
}

static bool is_nearer(const struct near *a, const struct near *b)
{
    return a->met != b->met ? a->met > b->met : a->failed > b->failed;
}

/* Puts the trial at which the sources are into the list if it belongs there. Trials come from the newest on, so one follows those
 * that are as near. */
static enum lineage_status consider(struct search *s, int64_t seq, struct lineage_error *err)
{
    struct near near = {.seq = seq};
    enum lineage_label label;
    enum lineage_status status = find_label(&label, s->mirror, seq, err);
    if (status != LINEAGE_OK || !lineage_label_is_informational(label))
        return status;
    near.failed = lineage_label_is_failure(label);
    for (size_t i = 0; i < s->n_sources; i++)
        near.met += s->sources[i].at == seq;
    if (s->n == s->limit && !is_nearer(&near, &s->list[s->n - 1]))
        return LINEAGE_OK;
    size_t at = s->n < s->limit ? s->n++ : s->n - 1;
    for (; at > 0 && is_nearer(&near, &s->list[at - 1]); at--)
        s->list[at] = s->list[at - 1];
    s->list[at] = near;
    return LINEAGE_OK;
}

static enum lineage_status search_log(struct search *s, const struct lineage_condition *conditions, size_t n,
                                      struct lineage_error *err)
{
    enum lineage_status status = open_failed(s, err);
    for (size_t i = 0; i < n && status == LINEAGE_OK; i++) {
        s->n_sources++;
        status = open_source(&s->sources[i], s, &conditions[i], err);
    }
    int64_t at = s->newest;
    while (status == LINEAGE_OK && (status = find_next(s, &at, err)) == LINEAGE_OK && at > 0)
        status = consider(s, at--, err);
    return status;
}

static void release(struct search *s)
{
    source_close(&s->failed);
    for (size_t i = 0; i < s->n_sources; i++)
        source_close(&s->sources[i]);
    free(s->list);
    free(s);
}

enum lineage_status mirror_nearest(struct mirror *mirror, const struct lineage_condition *conditions, size_t n, size_t limit,
                                   struct mirror_seqs *found, struct lineage_error *err)
{
    struct search *s = calloc(1, sizeof *s);
    if (!s || !(s->list = calloc(limit + 1, sizeof *s->list))) {
        free(s);
        return store_no_memory(err);
    }
    s->mirror = mirror;
    s->limit = limit;
    s->newest = (int64_t)mirror_position(mirror)->rows + 1; /* the provisional row may be one more */
    bool began = mirror_begin_reading(mirror);
    enum lineage_status status = limit ? search_log(s, conditions, n, err) : LINEAGE_OK;
    mirror_end_reading(mirror, began);
    for (size_t i = 0; i < s->n && status == LINEAGE_OK; i++)
        if (!mirror_seqs_add(found, s->list[i].seq))
            status = store_no_memory(err);
    release(s);
    return status;
}
