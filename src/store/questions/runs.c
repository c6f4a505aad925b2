/* runs.c: which trials ran more than once, and the rows that say so. */
#include <stdlib.h>

#include <lineage/evidence.h>
#include <lineage/notes.h>

#include "../format/id.h"
#include "../mirror/statement.h"
#include "questions.h"

struct again_question {
    struct lineage_store *store;
    const char *id;
    bool again;
};

static enum lineage_status ask_again(void *question, struct lineage_error *err)
{
    struct again_question *q = question;
    sqlite3_stmt *stmt;
    enum lineage_status status = mirror_sync(q->store->mirror, err);
    if (status == LINEAGE_OK)
        status = mirror_prepare(q->store->mirror, &stmt, "SELECT 1 FROM again_rows WHERE trial = ? LIMIT 1", err);
    if (status != LINEAGE_OK)
        return status;
    sqlite3_bind_text(stmt, 1, id_bare(q->id), -1, SQLITE_STATIC);
    status = mirror_step(q->store->mirror, stmt, err);
    q->again = status == LINEAGE_OK;
    return mirror_end_rows(stmt, status);
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

struct runs_question {
    struct lineage_store *store;
    const char *id;
    struct mirror_seqs rows;
};

/* A row that runs a trial again names it by the id of any of its rows, so all rows with a named id are listed. ?2 is the best row. */
static enum lineage_status list_rows(struct runs_question *q, int64_t best, struct lineage_error *err)
{
    static const char sql[] =
        "WITH named(id) AS (SELECT ?1 UNION SELECT trial FROM again_rows UNION"
        " SELECT iif(substr(exp_id, 1, 4) = 'exp_', substr(exp_id, 5), exp_id) FROM trials WHERE seq = ?2)"
        " SELECT seq FROM again_rows"
        " UNION SELECT seq FROM named CROSS JOIN trials ON exp_id = id"
        " UNION SELECT seq FROM named CROSS JOIN trials ON exp_id = 'exp_' || id"
        " UNION SELECT seq FROM (SELECT max(seq) AS seq FROM trials) WHERE seq IS NOT NULL ORDER BY seq";
    sqlite3_stmt *stmt;
    enum lineage_status status = mirror_prepare(q->store->mirror, &stmt, sql, err);
    if (status != LINEAGE_OK)
        return status;
    mirror_bind_text(stmt, 1, q->id ? id_bare(q->id) : NULL);
    sqlite3_bind_int64(stmt, 2, best);
    return mirror_list_seqs(&q->rows, q->store->mirror, stmt, err);
}

static enum lineage_status ask_runs(void *question, struct lineage_error *err)
{
    struct runs_question *q = question;
    int64_t best = 0;
    double score;
    enum lineage_status status = mirror_sync(q->store->mirror, err);
    q->rows.n = 0;
    if (status == LINEAGE_OK)
        status = mirror_best(q->store->mirror, &best, &score, err);
    if (status == LINEAGE_OK || status == LINEAGE_ENOTFOUND)
        status = list_rows(q, best, err);
    return status;
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
