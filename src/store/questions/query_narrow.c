/*
 * query_narrow.c: finds an index of trials that leads to few rows of a query without conditions on parameters.
 *
 * SQLite would rather read all trials in the order of the log than sort the rows that an index finds, because it has no
 * statistics here. So the rows of a time range are counted first, and the sums tell how many trials have a label.
 */
#include "query_conditions.h"

#include <string.h>

#include <lineage/trial.h>

#define KEPT_LABELS (1u << LINEAGE_KEEP | 1u << LINEAGE_BASELINE)
#define NOT_FAILED (KEPT_LABELS | 1u << LINEAGE_DISCARD | 1u << LINEAGE_HARNESS_ABORT)

/* Counts the trials with a timestamp in [since, until), up to LIMIT_OF_COUNT; NULL: without that bound. */
static enum lineage_status count_time(size_t *n, struct mirror *mirror, const char *since, const char *until,
                                      struct lineage_error *err)
{
    static const char sql[] = "SELECT count(*) FROM (SELECT 1 FROM trials INDEXED BY trials_by_timestamp"
                              " WHERE timestamp >= ?1 AND timestamp < ?2 LIMIT ?3)";
    sqlite3_stmt *stmt;
    enum lineage_status status = mirror_prepare(mirror, &stmt, sql, err);
    if (status != LINEAGE_OK)
        return status;
    sqlite3_bind_text(stmt, 1, since ? since : "", -1, SQLITE_STATIC);
    if (until)
        sqlite3_bind_text(stmt, 2, until, -1, SQLITE_STATIC);
    else
        sqlite3_bind_blob(stmt, 2, "", 0, SQLITE_STATIC); /* blobs sort after all texts */
    sqlite3_bind_int64(stmt, 3, LIMIT_OF_COUNT);
    status = mirror_step(mirror, stmt, err);
    *n = status == LINEAGE_OK ? (size_t)sqlite3_column_int64(stmt, 0) : LIMIT_OF_COUNT;
    return mirror_end_rows(stmt, status);
}

/* Counts the trials with one of the labels (0: any), by one specialist (NULL: any). */
static enum lineage_status count_labels(size_t *n, struct mirror *mirror, unsigned labels, const char *specialist,
                                        struct lineage_error *err)
{
    static const char sql[] = "SELECT status, n FROM label_counts WHERE ?1 IS NULL OR specialist = ?1";
    sqlite3_stmt *stmt;
    enum lineage_status status = mirror_prepare(mirror, &stmt, sql, err);
    *n = 0;
    if (status != LINEAGE_OK)
        return status;
    mirror_bind_text(stmt, 1, specialist);
    while ((status = mirror_step(mirror, stmt, err)) == LINEAGE_OK) {
        enum lineage_label label;
        status = mirror_label(mirror, stmt, 0, &label, err);
        if (status != LINEAGE_OK)
            break;
        if (!labels || labels & 1u << label)
            *n += (size_t)sqlite3_column_int64(stmt, 1);
    }
    return mirror_end_rows(stmt, status);
}

/* The index of kept or of failed trials; NULL for other labels. */
static const char *index_of(unsigned labels)
{
    if (!(labels & ~KEPT_LABELS))
        return "SELECT t.seq FROM trials t INDEXED BY kept_by_score WHERE t.status IN ('keep', 'baseline')";
    if (!(labels & NOT_FAILED))
        return "SELECT t.seq FROM trials t INDEXED BY failed_by_label WHERE t.status <> 'keep' AND t.status <> 'discard'"
               " AND t.status <> 'baseline' AND t.status <> 'harness_abort'";
    return NULL;
}

enum lineage_status query_find_narrow(struct narrow *narrow, struct mirror *mirror, const struct lineage_query *query,
                                      const char *since, const char *until, struct lineage_error *err)
{
    enum lineage_status status = LINEAGE_OK;
    size_t n = LIMIT_OF_COUNT;
    *narrow = (struct narrow){NULL, LIMIT_OF_COUNT};
    if (since || until)
        status = count_time(&n, mirror, since, until, err);
    if (n < LIMIT_OF_COUNT)
        *narrow = (struct narrow){"SELECT t.seq FROM trials t INDEXED BY trials_by_timestamp WHERE 1", n};
    if (status != LINEAGE_OK || (!query->labels && !query->specialist))
        return status;
    status = count_labels(&n, mirror, query->labels, query->specialist, err);
    if (status == LINEAGE_OK && !n)
        *narrow = (struct narrow){"SELECT t.seq FROM trials t WHERE 0", 0};
    if (status != LINEAGE_OK || !query->labels || !index_of(query->labels))
        return status;
    /* The index has the trials of all specialists, and kept trials with either label. */
    status = count_labels(&n, mirror, query->labels & KEPT_LABELS ? KEPT_LABELS : query->labels, NULL, err);
    if (status == LINEAGE_OK && n < narrow->n)
        *narrow = (struct narrow){index_of(query->labels), n};
    return status;
}
