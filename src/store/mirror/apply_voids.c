/*
 * apply_voids.c: makes void trials read as harness_abort in the tables, so that no question has to know of voids. Trials that were
 * compared with them read as what they would be in a log without the void rows; their own verdicts go to `judged`.
 *
 * A void names an earlier trial, which may have been read long ago. Its row in `trials` is changed, and its own label and
 * score go to `voided`. Sums cannot be corrected by a subtraction: the largest score of a parameter's value may be gone,
 * and sums of doubles depend on their order. They are computed again for the trials' specialists and parameter values,
 * in the order of the log, so that they equal those of a mirror that is built at once.
 */
#include "ancestors.h"
#include "mirror_internal.h"

#include <xxhash.h>

#include <lineage/voids.h>

#include "schema_sql.h"
#include "statement.h"

/* Bits of `special` of the score and of delta_vs_best: not a number, and negative zero. */
#define SCORE_BITS "(4 | 4 * 256 | 32 | 32 * 256)"

bool void_rows_note(struct void_rows *rows, const struct lineage_trial *trial)
{
    return !lineage_is_void_row(trial, NULL) || mirror_seqs_add(&rows->seqs, (int64_t)trial->seq);
}

void void_rows_release(struct void_rows *rows)
{
    free(rows->seqs.items);
    *rows = (struct void_rows){0};
}

/*
 * Finds the trial that the row names: the last one with that id before the row, in the order of mirror_find. A void of a
 * void row changes nothing, because otherwise a later row could not take it back.
 */
static enum lineage_status find_target(struct mirror *mirror, int64_t by, int64_t *seq, bool *back, struct lineage_error *err)
{
    static const char sql[] =
        "SELECT t.seq, v.job_name = '" LINEAGE_UNVOID_JOB "' FROM trials v JOIN trials t ON t.seq < v.seq AND t.exp_id IN"
        " (v.parent_exp, 'exp_' || v.parent_exp, CASE WHEN v.parent_exp LIKE 'exp\\_%' ESCAPE '\\' THEN substr(v.parent_exp, 5) "
        "END)"
        " WHERE v.seq = ?1 AND t.job_name NOT IN ('" LINEAGE_VOID_JOB "', '" LINEAGE_UNVOID_JOB "')"
        " ORDER BY t.exp_id = v.parent_exp DESC, t.seq DESC LIMIT 1";
    sqlite3_stmt *stmt;
    enum lineage_status status = mirror_row(mirror, &stmt, err, sql, "i", by);
    if (status == LINEAGE_OK) {
        *seq = sqlite3_column_int64(stmt, 0);
        *back = sqlite3_column_int(stmt, 1) != 0;
    }
    sqlite3_reset(stmt);
    return status;
}

static enum lineage_status make_void(struct mirror *mirror, int64_t seq, int64_t by, struct lineage_error *err)
{
    TRY(mirror_do(mirror, err,
                  "INSERT OR IGNORE INTO voided"
                  " SELECT seq, exp_id, ?2, status, score, special, delta_vs_best FROM trials WHERE seq = ?1",
                  "ii", seq, by));
    TRY(mirror_do(mirror, err,
                  "UPDATE trials SET status = 'harness_abort', score = NULL, delta_vs_best = NULL,"
                  " special = special & ~" SCORE_BITS " WHERE seq = ?1",
                  "i", seq));
    return mirror_do(mirror, err, "DELETE FROM night_rows WHERE seq = ?1", "i", seq);
}

/* The trial counts as one of its night again. */
static enum lineage_status restore_night(struct mirror *mirror, int64_t seq, struct lineage_error *err)
{
    sqlite3_stmt *stmt;
    struct lineage_trial trial = {.seq = (uint64_t)seq};
    enum lineage_status status =
        mirror_row(mirror, &stmt, err, "SELECT status, exp_id, notes FROM trials WHERE seq = ?1", "i", seq);
    if (status == LINEAGE_OK)
        status = mirror_label(mirror, stmt, 0, &trial.status, err);
    trial.exp_id = mirror_text(stmt, 1);
    trial.notes = mirror_text(stmt, 2);
    if (status == LINEAGE_OK)
        status = mirror_insert_night(mirror, &trial, err);
    sqlite3_reset(stmt);
    return status;
}

static enum lineage_status take_back(struct mirror *mirror, int64_t seq, struct lineage_error *err)
{
    TRY(mirror_do(mirror, err,
                  "UPDATE trials SET (status, score, special, delta_vs_best) ="
                  " (SELECT status, score, special, delta_vs_best FROM voided WHERE seq = ?1)"
                  " WHERE seq = ?1 AND EXISTS (SELECT 1 FROM voided WHERE seq = ?1)",
                  "i", seq));
    TRY(mirror_do(mirror, err, "DELETE FROM voided WHERE seq = ?1", "i", seq));
    return restore_night(mirror, seq, err);
}

static enum lineage_status apply_row(struct mirror *mirror, int64_t by, struct lineage_error *err)
{
    int64_t seq = 0;
    bool back = false;
    enum lineage_status status = find_target(mirror, by, &seq, &back, err);
    if (status == LINEAGE_ENOTFOUND) /* `verify` names the missing parent */
        return LINEAGE_OK;
    TRY(status);
    TRY(back ? take_back(mirror, seq, err) : make_void(mirror, seq, by, err));
    TRY(mirror_do(mirror, err, "INSERT OR IGNORE INTO void_changes VALUES (?1)", "i", seq));
    return mirror_do(mirror, err,
                     "INSERT INTO judged_with VALUES (0, ?1, ?2, 0) ON CONFLICT DO UPDATE"
                     " SET first = min(first, excluded.first), last = max(last, excluded.last)",
                     "ii", seq, by);
}

int64_t void_rows_settings(const struct mirror *mirror)
{
    const struct lineage_config *c = &mirror->store->config;
    const double values[] = {c->direction,        c->min_delta,       c->noise_std,
                             c->noise_freedom,    c->noise_seeds,     lineage_config_trials(c),
                             c->second_noise_std, c->second_direction};
    XXH64_hash_t digest = XXH3_64bits_withSeed(values, sizeof values, XXH3_64bits(c->second, strlen(c->second)));
    return digest ? (int64_t)digest : 1;
}

enum lineage_status mirror_judge_row(struct mirror *mirror, const struct lineage_trial *trial, struct lineage_error *err)
{
    const int64_t seq = (int64_t)trial->seq;
    TRY(mirror_do(mirror, err,
                  "INSERT INTO judged SELECT seq, exp_id, status, delta_vs_best, baseline_exp, special FROM trials"
                  " WHERE seq = ?1",
                  "i", seq));
    TRY(mirror_do(mirror, err, "INSERT OR IGNORE INTO void_changes VALUES (?1)", "i", seq));
    return mirror_do(mirror, err,
                     "UPDATE trials SET status = ?2, delta_vs_best = ?3, baseline_exp = ?4,"
                     " special = special & ~(4 | 4 * 256) WHERE seq = ?1",
                     "isns", seq, lineage_label_name(trial->status), trial->delta_vs_best,
                     trial->baseline_exp ? trial->baseline_exp : "");
}

enum lineage_status mirror_is_moved(struct mirror *mirror, const char *exp_id, bool *moved, struct lineage_error *err)
{
    static const char sql[] = "SELECT 1 FROM trials t CROSS JOIN judged j ON j.seq = t.seq WHERE t.exp_id IN (?1, 'exp_' || ?1)"
                              " UNION ALL SELECT 1 FROM trials WHERE parent_exp IN (?1, 'exp_' || ?1) AND parent_exp <> ''"
                              " AND job_name IN ('" LINEAGE_VOID_JOB "', '" LINEAGE_UNVOID_JOB "') LIMIT 1";
    return mirror_has(mirror, moved, err, sql, "s", exp_id);
}

enum lineage_status mirror_has_void_baseline(struct mirror *mirror, bool *found, struct lineage_error *err)
{
    return mirror_has(mirror, found, err, "SELECT 1 FROM voided WHERE status = 'baseline' LIMIT 1", "");
}

/* All are judged from their own rows, because one changed label may change those after it. */
static enum lineage_status restore_judged(struct mirror *mirror, struct lineage_error *err)
{
    return mirror_exec(mirror,
                       "INSERT OR IGNORE INTO void_changes SELECT seq FROM judged;"
                       "UPDATE trials SET (status, delta_vs_best, baseline_exp, special) ="
                       " (SELECT status, delta_vs_best, baseline_exp, special FROM judged j WHERE j.seq = trials.seq)"
                       " WHERE seq IN (SELECT seq FROM judged);"
                       "DELETE FROM judged",
                       err);
}

static enum lineage_status judge(struct mirror *mirror, struct lineage_error *err)
{
    static const char sql[] =
        "SELECT seq FROM trials INDEXED BY trials_by_seq WHERE seq < ?2 AND status IN ('keep', 'baseline', 'discard')"
        " AND score > -9e999 AND score < 9e999 AND (seq >= ?1 OR status <> 'discard') ORDER BY seq";
    struct mirror_seqs seqs = {0};
    sqlite3_stmt *stmt;
    int64_t first = 0, last = 0;
    enum lineage_status status = mirror_row(mirror, &stmt, err, "SELECT first, last FROM judged_with", "");
    if (status != LINEAGE_OK) /* every void names a trial that is not there */
        return status == LINEAGE_ENOTFOUND ? LINEAGE_OK : status;
    first = sqlite3_column_int64(stmt, 0);
    last = sqlite3_column_int64(stmt, 1);
    sqlite3_reset(stmt);
    status = mirror_rows(mirror, &stmt, err, sql, "ii", first, last);
    if (status == LINEAGE_OK)
        status = mirror_list_seqs(&seqs, mirror, stmt, err);
    if (status == LINEAGE_OK)
        status = mirror->judge(mirror->store, &seqs, first, last, err);
    free(seqs.items);
    mirror->meta.judged = void_rows_settings(mirror);
    return status == LINEAGE_OK ? mirror_do(mirror, err, "UPDATE judged_with SET settings = ?1", "i", mirror->meta.judged)
                                : status;
}

enum lineage_status mirror_recount(struct mirror *mirror, int64_t left_out, struct lineage_error *err)
{
    TRY(mirror_run_script(mirror, schema_recount, left_out, err));
    return mirror_exec(mirror, "DELETE FROM void_changes", err);
}

enum lineage_status void_rows_apply(struct void_rows *rows, struct mirror *mirror, struct mirror_seqs *moved,
                                    struct lineage_error *err)
{
    enum lineage_status status = LINEAGE_OK;
    if (!rows->seqs.n && (!mirror->meta.judged || mirror->meta.judged == void_rows_settings(mirror)))
        return status;
    status = restore_judged(mirror, err);
    for (size_t i = 0; status == LINEAGE_OK && i < rows->seqs.n; i++)
        status = apply_row(mirror, rows->seqs.items[i], err);
    rows->seqs.n = 0;
    if (status == LINEAGE_OK)
        status = judge(mirror, err);
    if (status == LINEAGE_OK)
        status = ancestors_add_voids(moved, mirror, err);
    return status == LINEAGE_OK ? mirror_recount(mirror, 0, err) : status;
}
