/* runs.c: which trials ran more than once, the rows that say so, and which trials are void. */

#include <lineage/evidence.h>
#include <lineage/notes.h>
#include <lineage/query.h>

#include "../format/id.h"
#include "../mirror/statement.h"
#include "questions.h"

enum lineage_status mirror_each_void(struct mirror *mirror, int64_t seq, int64_t *after,
                                     bool (*visit)(void *context, const struct lineage_void *entry), void *context,
                                     struct lineage_error *err)
{
    sqlite3_stmt *stmt;
    bool more = true;
    enum lineage_status status = mirror_rows(mirror, &stmt, err,
                                             "SELECT v.status, v.exp_id, b.exp_id, b.timestamp, b.hypothesis, v.score, v.seq "
                                             "FROM voided v JOIN trials b ON b.seq = v.void_seq"
                                             " WHERE ?1 IN (0, v.seq) AND v.seq > ?2 ORDER BY v.seq",
                                             "ii", seq, *after);
    while (more && mirror_next(&status, mirror, stmt, err)) {
        struct lineage_void entry = {.exp_id = mirror_text(stmt, 1),
                                     .by = mirror_text(stmt, 2),
                                     .timestamp = mirror_text(stmt, 3),
                                     .reason = mirror_text(stmt, 4),
                                     .score = {sqlite3_column_type(stmt, 5) != SQLITE_NULL, sqlite3_column_double(stmt, 5)},
                                     .seq = (uint64_t)sqlite3_column_int64(stmt, 6)};
        status = mirror_label(mirror, stmt, 0, &entry.label, err);
        if (status != LINEAGE_OK)
            continue;
        *after = (int64_t)entry.seq;
        more = visit(context, &entry);
    }
    return mirror_end_rows(stmt, status);
}

struct again_question {
    struct lineage_store *store;
    const char *id;
    bool again;
};

static enum lineage_status ask_again(void *question, struct lineage_error *err)
{
    /* A row that names the trial, or another seed of its setting. */
    static const char sql[] =
        "SELECT 1 FROM again_rows WHERE trial = ?1 UNION ALL SELECT 1 FROM trials CROSS JOIN again_rows one USING (seq)"
        " CROSS JOIN again_rows other ON other.setting = one.setting AND other.seq <> one.seq"
        " WHERE exp_id IN (?1, 'exp_' || ?1) LIMIT 1";
    struct again_question *q = question;
    enum lineage_status status = mirror_sync(q->store->mirror, err);
    if (status != LINEAGE_OK || !q->id)
        return status == LINEAGE_OK ? mirror_has(q->store->mirror, &q->again, err, "SELECT 1 FROM again_rows LIMIT 1", "")
                                    : status;
    return mirror_has(q->store->mirror, &q->again, err, sql, "s", id_bare(q->id));
}

enum lineage_status lineage_ran_again(bool *again, struct lineage_store *store, const struct lineage_trial *trial,
                                      struct lineage_error *err)
{
    struct again_question question = {store, trial->exp_id, false};
    struct lineage_replicate replicate;
    *again = lineage_replicate_parse(&replicate, trial->notes);
    if (*again)
        return LINEAGE_OK;
    enum lineage_status status = mirror_ask(store->mirror, ask_again, &question, err);
    *again = question.again;
    return status;
}

enum lineage_status mirror_ask_any_again(bool *any, struct lineage_store *store, struct lineage_error *err)
{
    struct again_question question = {.store = store};
    *any = false;
    enum lineage_status status = mirror_ask(store->mirror, ask_again, &question, err);
    *any = question.again;
    return status;
}

struct runs_question {
    struct lineage_store *store;
    const char *id;
    struct mirror_seqs rows;
};

/* A row that runs a trial again names it by the id of any of its rows, so all rows with a named id are listed. Of settings that ran
 * with several seeds, those count whose runs are among the best or the last, and all runs of these. */
static enum lineage_status list_rows(struct runs_question *q, struct lineage_error *err)
{
    static const char sql[] =
        "WITH again(row, trial) AS (SELECT seq, trial FROM again_rows WHERE trial > '' UNION ALL SELECT seq, trial FROM "
        "again_rows"
        "  WHERE trial IS NULL), named(id) AS (SELECT ?1 UNION SELECT trial FROM again),"
        " chosen(seq) AS (SELECT row FROM again"
        " UNION SELECT seq FROM named CROSS JOIN trials ON exp_id = id"
        " UNION SELECT seq FROM named CROSS JOIN trials ON exp_id = 'exp_' || id"
        " UNION SELECT seq FROM (SELECT seq FROM trials WHERE status IN ('keep', 'baseline') AND score > -9e999 AND score < 9e999"
        "  ORDER BY score, seq LIMIT 100)"
        " UNION SELECT seq FROM (SELECT seq FROM trials WHERE status IN ('keep', 'baseline') AND score > -9e999 AND score < 9e999"
        "  ORDER BY score DESC, seq LIMIT 100)"
        " UNION SELECT seq FROM (SELECT seq FROM trials WHERE NOT ?2 AND score > -9e999 AND score < 9e999 ORDER BY score, seq"
        "  LIMIT 100)"
        " UNION SELECT seq FROM (SELECT seq FROM trials WHERE ?2 AND score > -9e999 AND score < 9e999 ORDER BY score DESC, seq "
        "DESC"
        "  LIMIT 100)"
        " UNION SELECT seq FROM (SELECT seq FROM trials ORDER BY seq DESC LIMIT 100))"
        " SELECT seq FROM chosen UNION SELECT other.seq FROM chosen CROSS JOIN again_rows one USING (seq)"
        " CROSS JOIN again_rows other ON other.setting = one.setting ORDER BY 1";
    sqlite3_stmt *stmt;
    TRY(mirror_rows(q->store->mirror, &stmt, err, sql, "si", q->id ? id_bare(q->id) : NULL,
                    (int64_t)(lineage_store_config(q->store)->direction == LINEAGE_HIGHER)));
    return mirror_list_seqs(&q->rows, q->store->mirror, stmt, err);
}

static enum lineage_status ask_runs(void *question, struct lineage_error *err)
{
    struct runs_question *q = question;
    sqlite3_stmt *stmt;
    enum lineage_status status = mirror_sync(q->store->mirror, err);
    q->rows.n = 0;
    int64_t last = 0;
    if (status == LINEAGE_OK)
        status = mirror_integer(q->store->mirror, &last, err, "SELECT max(seq) FROM trials", "");
    TRY(status);
    if (last > 1000)
        return list_rows(q, err);
    TRY(mirror_prepare(q->store->mirror, &stmt, "SELECT seq FROM trials ORDER BY seq", err));
    return mirror_list_seqs(&q->rows, q->store->mirror, stmt, err);
}

enum lineage_status mirror_runs_open(struct lineage_cursor **cursor, struct lineage_store *store, const char *id,
                                     struct lineage_error *err)
{
    struct runs_question q = {.store = store, .id = id};
    enum lineage_status status = mirror_ask(store->mirror, ask_runs, &q, err);
    *cursor = NULL;
    if (status == LINEAGE_OK)
        return mirror_cursor_new(cursor, store->mirror, &q.rows, err);
    free(q.rows.items);
    return status;
}
