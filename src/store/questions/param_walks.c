#include "param_walks.h"

#include <math.h>

#include "load.h"

/* The values of trials, and whether one of the trials failed. The sums are in the order of their key, so no value behind the last
 * one that is wanted is read. */
#define VALUES                                                                                                                   \
    "SELECT value, max(status NOT IN ('keep', 'discard', 'baseline', 'harness_abort')) FROM param_values"                        \
    " WHERE key = ?1 AND value BETWEEN ?2 AND ?3 GROUP BY value"
static const char values_sql[] = VALUES, informative_sql[] = VALUES " HAVING max(status <> 'harness_abort')";
static const char rows_sql[] = "SELECT seq FROM param_rows WHERE key = ?1 AND value BETWEEN ?2 AND ?3";
/* ?3 is the newest seq that is wanted. */
static const char value_walk_sql[] = "SELECT seq FROM param_rows WHERE key = ?1 AND value = ?2 AND seq <= ?3 ORDER BY seq DESC";

/* Adds a walk. The statement selects seqs, newest first, from ?3 on. `text` becomes ?1 and must outlive it; the value
 * (NULL: none) becomes ?2 and is copied. */
static enum lineage_status source_add(struct source *source, struct mirror *mirror, const char *sql, const char *text,
                                      sqlite3_value *value, struct lineage_error *err)
{
    struct walk *walk = &source->walks[source->n];
    *walk = (struct walk){.at = INT64_MAX};
    if (sqlite3_prepare_v2(mirror_db(mirror), sql, -1, &walk->stmt, NULL) != SQLITE_OK)
        return mirror_fail(mirror, "cannot prepare the query", err);
    source->n++;
    mirror_bind_text(walk->stmt, 1, text);
    if (value && sqlite3_bind_value(walk->stmt, 2, value) != SQLITE_OK)
        return store_no_memory(err);
    return LINEAGE_OK;
}

/* Steps to the next trial, which must be `most` or older; otherwise the order of an index is damaged, and the search might not
 * end. */
static enum lineage_status step(struct walk *walk, struct mirror *mirror, int64_t most, struct lineage_error *err)
{
    enum lineage_status status = mirror_step(mirror, walk->stmt, err);
    walk->at = status == LINEAGE_OK ? sqlite3_column_int64(walk->stmt, 0) : 0;
    if (walk->at > most) {
        mirror_note_damage(mirror);
        return store_fail(err, LINEAGE_EDB, "lineage.db: rows of a parameter are not in the order of the log");
    }
    return status == LINEAGE_ENOTFOUND ? LINEAGE_OK : status;
}

/* Goes on to the newest trial that is not newer than seq: by stepping if it is near, otherwise by a look-up of the key. */
static enum lineage_status walk_to(struct walk *walk, struct mirror *mirror, int64_t seq, struct lineage_error *err)
{
    enum { NEAR = 3 };
    enum lineage_status status = LINEAGE_OK;
    for (int i = 0; i < NEAR && walk->at != INT64_MAX && walk->at > seq && status == LINEAGE_OK; i++)
        status = step(walk, mirror, walk->at - 1, err);
    if (status != LINEAGE_OK || walk->at <= seq)
        return status;
    sqlite3_reset(walk->stmt);
    sqlite3_bind_int64(walk->stmt, 3, seq);
    return step(walk, mirror, seq, err);
}

static int64_t newest_bit(const uint64_t *bits, int64_t seq)
{
    int64_t word = seq / 64;
    uint64_t set = bits[word] & (UINT64_MAX >> (63 - seq % 64));
    while (!set && word > 0)
        set = bits[--word];
    return set ? word * 64 + 63 - __builtin_clzll(set) : 0;
}

enum lineage_status source_to(struct source *source, struct mirror *mirror, int64_t seq, struct lineage_error *err)
{
    if (source->at <= seq)
        return LINEAGE_OK;
    source->at = source->bits ? newest_bit(source->bits, seq) : 0;
    for (size_t i = 0; i < source->n; i++) {
        TRY(walk_to(&source->walks[i], mirror, seq, err));
        if (source->walks[i].at > source->at)
            source->at = source->walks[i].at;
    }
    return LINEAGE_OK;
}

static void close_walks(struct source *source)
{
    while (source->n > 0)
        sqlite3_finalize(source->walks[--source->n].stmt);
}

void source_close(struct source *source)
{
    close_walks(source);
    free(source->bits);
    source->bits = NULL;
}

/* Binds the condition's range, or its text number i. A bound that is nan becomes NULL, which no value equals. Without bounds,
 * the range is that of all numbers; texts come after them. */
static void bind_span(sqlite3_stmt *stmt, const struct lineage_condition *condition, size_t i)
{
    const struct lineage_range *range = &condition->range;
    sqlite3_bind_text(stmt, 1, condition->name, -1, SQLITE_STATIC);
    if (i < condition->n_texts) {
        sqlite3_bind_text(stmt, 2, condition->texts[i], -1, SQLITE_STATIC);
        sqlite3_bind_text(stmt, 3, condition->texts[i], -1, SQLITE_STATIC);
    } else {
        sqlite3_bind_double(stmt, 2, range->low.present ? range->low.value : (double)-INFINITY);
        sqlite3_bind_double(stmt, 3, range->high.present ? range->high.value : (double)INFINITY);
    }
}

static size_t spans_of(const struct lineage_condition *condition)
{
    return condition->n_texts ? condition->n_texts + condition->range.low.present : 1;
}

/* Adds a walk for each value of the span. *many becomes true if the source has no room for another one. */
static enum lineage_status add_span(struct source *source, struct mirror *mirror, const struct lineage_condition *condition,
                                    size_t span, enum source_trials trials, bool *many, struct lineage_error *err)
{
    sqlite3_stmt *stmt;
    const char *sql = trials == SOURCE_INFORMATIVE ? informative_sql : values_sql;
    enum lineage_status status = mirror_prepare(mirror, &stmt, sql, err);
    TRY(status);
    bind_span(stmt, condition, span);
    while (!*many && mirror_next(&status, mirror, stmt, err)) {
        *many = source->n == MAX_WALKS;
        source->may_fail = source->may_fail || *many || sqlite3_column_int(stmt, 1);
        if (!*many)
            status = source_add(source, mirror, value_walk_sql, condition->name, sqlite3_column_value(stmt, 0), err);
    }
    return mirror_end_rows(stmt, status);
}

enum lineage_status source_add_values(struct source *source, struct mirror *mirror, const struct lineage_condition *condition,
                                      enum source_trials trials, bool *many, struct lineage_error *err)
{
    enum lineage_status status = LINEAGE_OK;
    *many = false;
    for (size_t i = 0; i < spans_of(condition) && status == LINEAGE_OK && !*many; i++)
        status = add_span(source, mirror, condition, i, trials, many, err);
    if (*many)
        close_walks(source);
    return status;
}

static enum lineage_status mark_span(struct source *source, struct mirror *mirror, const struct lineage_condition *condition,
                                     size_t span, int64_t newest, struct lineage_error *err)
{
    sqlite3_stmt *stmt;
    TRY(mirror_prepare(mirror, &stmt, rows_sql, err));
    bind_span(stmt, condition, span);
    enum lineage_status status = LINEAGE_OK;
    while (mirror_next(&status, mirror, stmt, err)) {
        int64_t seq = sqlite3_column_int64(stmt, 0);
        if (seq > 0 && seq <= newest)
            source->bits[seq / 64] |= (uint64_t)1 << seq % 64;
    }
    return status;
}

/* Marks these trials in a set of bits instead, up to the seq `newest`. */
static enum lineage_status source_add_bits(struct source *source, struct mirror *mirror,
                                           const struct lineage_condition *condition, int64_t newest, struct lineage_error *err)
{
    source->bits = calloc((size_t)newest / 64 + 1, sizeof *source->bits);
    if (!source->bits)
        return store_no_memory(err);
    for (size_t i = 0; i < spans_of(condition); i++)
        TRY(mark_span(source, mirror, condition, i, newest, err));
    return LINEAGE_OK;
}

/* Finds the trials that meet most of several conditions on parameters; among equals failures come first, then newer
 * trials.
 *
 * The trials of each condition are walked from the newest to the oldest. Until the list is full, each trial that meets a
 * condition is looked at. After that, only a trial that meets more conditions than the last of the list matters, or as many if it
 * failed and the last one did not. A trial that meets n conditions cannot be newer than the n-th newest of the next trials of all
 * conditions, so all trials above that one are skipped by a look-up of the key (WAND: Broder et al. 2003, Efficient query
 * evaluation using a two-level retrieval process, CIKM). The trials that failed are walked in the same way. So the cost depends
 * on how rare such trials are, and not on the size of the log.
 */

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
    s->failed.at = INT64_MAX;
    for (int i = 0; i < LINEAGE_N_LABELS; i++)
        if (lineage_label_is_failure((enum lineage_label)i))
            TRY(source_add(&s->failed, s->mirror, failed_walk_sql, lineage_label_name((enum lineage_label)i), NULL, err));
    return LINEAGE_OK;
}

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
    for (int64_t bound = 0; *at > 0; *at = bound) {
        for (size_t i = 0; i < s->n_sources; i++)
            TRY(source_to(&s->sources[i], s->mirror, *at, err));
        TRY(find_bound(&bound, s, err));
        if (bound == *at)
            break;
    }
    return LINEAGE_OK;
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
    TRY(find_label(&label, s->mirror, seq, err));
    if (!lineage_label_is_informational(label))
        return LINEAGE_OK;
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
