#include "param_walks.h"

#include <math.h>
#include <stdlib.h>

/* The values of trials, and whether one of the trials failed. The sums are in the order of their key, so no value behind the last
 * one that is wanted is read. */
#define VALUES                                                                                                                   \
    "SELECT value, max(status NOT IN ('keep', 'discard', 'baseline', 'harness_abort')) FROM param_values"                        \
    " WHERE key = ?1 AND value BETWEEN ?2 AND ?3 GROUP BY value"
static const char values_sql[] = VALUES, informative_sql[] = VALUES " HAVING max(status <> 'harness_abort')";
static const char rows_sql[] = "SELECT seq FROM param_rows WHERE key = ?1 AND value BETWEEN ?2 AND ?3";
/* ?3 is the newest seq that is wanted. */
static const char value_walk_sql[] = "SELECT seq FROM param_rows WHERE key = ?1 AND value = ?2 AND seq <= ?3 ORDER BY seq DESC";

enum lineage_status source_add(struct source *source, struct mirror *mirror, const char *sql, const char *text,
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
    enum lineage_status status = LINEAGE_OK;
    if (source->at <= seq)
        return LINEAGE_OK;
    source->at = source->bits ? newest_bit(source->bits, seq) : 0;
    for (size_t i = 0; i < source->n && status == LINEAGE_OK; i++) {
        status = walk_to(&source->walks[i], mirror, seq, err);
        if (source->walks[i].at > source->at)
            source->at = source->walks[i].at;
    }
    return status;
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

/* ---- trials that meet a condition ---- */

/* Binds the condition's range, or its text number i. A bound that is nan becomes NULL, which no value equals. Without bounds,
 * the range is that of all numbers; texts come after them. */
static void bind_span(sqlite3_stmt *stmt, const struct lineage_condition *condition, size_t i)
{
    const struct lineage_range *range = &condition->range;
    sqlite3_bind_text(stmt, 1, condition->name, -1, SQLITE_STATIC);
    if (condition->n_texts) {
        sqlite3_bind_text(stmt, 2, condition->texts[i], -1, SQLITE_STATIC);
        sqlite3_bind_text(stmt, 3, condition->texts[i], -1, SQLITE_STATIC);
    } else {
        sqlite3_bind_double(stmt, 2, range->low.present ? range->low.value : (double)-INFINITY);
        sqlite3_bind_double(stmt, 3, range->high.present ? range->high.value : (double)INFINITY);
    }
}

static size_t spans_of(const struct lineage_condition *condition)
{
    return condition->n_texts ? condition->n_texts : 1;
}

/* Adds a walk for each value of the span. *many becomes true if the source has no room for another one. */
static enum lineage_status add_span(struct source *source, struct mirror *mirror, const struct lineage_condition *condition,
                                    size_t span, enum source_trials trials, bool *many, struct lineage_error *err)
{
    sqlite3_stmt *stmt;
    const char *sql = trials == SOURCE_INFORMATIVE ? informative_sql : values_sql;
    enum lineage_status status = mirror_prepare(mirror, &stmt, sql, err);
    if (status != LINEAGE_OK)
        return status;
    bind_span(stmt, condition, span);
    while (!*many && (status = mirror_step(mirror, stmt, err)) == LINEAGE_OK) {
        *many = source->n == MAX_WALKS;
        source->may_fail = source->may_fail || *many || sqlite3_column_int(stmt, 1);
        if (!*many)
            status = source_add(source, mirror, value_walk_sql, condition->name, sqlite3_column_value(stmt, 0), err);
        if (status != LINEAGE_OK)
            break;
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
    enum lineage_status status = mirror_prepare(mirror, &stmt, rows_sql, err);
    if (status != LINEAGE_OK)
        return status;
    bind_span(stmt, condition, span);
    while ((status = mirror_step(mirror, stmt, err)) == LINEAGE_OK) {
        int64_t seq = sqlite3_column_int64(stmt, 0);
        if (seq > 0 && seq <= newest)
            source->bits[seq / 64] |= (uint64_t)1 << seq % 64;
    }
    return mirror_end_rows(stmt, status);
}

enum lineage_status source_add_bits(struct source *source, struct mirror *mirror, const struct lineage_condition *condition,
                                    int64_t newest, struct lineage_error *err)
{
    enum lineage_status status = LINEAGE_OK;
    source->bits = calloc((size_t)newest / 64 + 1, sizeof *source->bits);
    if (!source->bits)
        return store_no_memory(err);
    for (size_t i = 0; i < spans_of(condition) && status == LINEAGE_OK; i++)
        status = mark_span(source, mirror, condition, i, newest, err);
    return status;
}
