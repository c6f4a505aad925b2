/*
 * insert.c: inserts one trial or one finding into the tables. The side tables use REPLACE: a column or turn that occurs
 * twice in a row is a finding of `verify`, not a reason to refuse the file.
 */
#include "mirror_internal.h"

#include <assert.h>
#include <math.h>
#include <string.h>

#include <lineage/evidence.h>
#include <lineage/notes.h>
#include <lineage/text.h>

#include "../format/number.h"
#include "../format/id.h"
#include "../format/setting_digest.h"
#include "statement.h"

/* The values are in the order of the table of columns in trial.c. */
static const char insert_trial_sql[] = "INSERT INTO trials VALUES (?,?,?,?,?,?,?,?,?,?,?,?,?,?,?,?,?,?,?,?,?,?,?,?,?,?,?)";

/* STATIC, because the row's arena keeps the texts until the statement has run, so that SQLite need not copy them. */
static void bind_text(sqlite3_stmt *stmt, int at, const char *text)
{
    assert(text); /* an absent cell is "", never NULL */
    sqlite3_bind_text(stmt, at, text, -1, SQLITE_STATIC);
}

/* SQLite turns nan into NULL and -0.0 into 0, so bits in `special` record these values. Otherwise a row from the mirror
 * would be printed differently from the row in the log. */
static void bind_number(sqlite3_stmt *stmt, int at, struct lineage_number number, int bit, int *special)
{
    if (!number.present)
        return;
    if (number.value == 0 && signbit(number.value))
        *special |= bit * MIRROR_NEGATIVE_ZERO;
    if (isnan(number.value))
        *special |= bit;
    else
        sqlite3_bind_double(stmt, at, number.value);
}

/* The position of the record and its digest are compared by a later sync, to find changes of the log. `expected` is
 * computed here and not in SQL, because the rule for its leading number is in expected.c. */
static enum lineage_status insert_row(struct mirror *mirror, const struct lineage_trial *trial, const struct tsv_record *record,
                                      int64_t digest, struct lineage_error *err)
{
    int special = 0, bit = 1, at = 6;
    struct lineage_number expected = {.present = false};
    sqlite3_stmt *stmt;
    enum lineage_status status = mirror_rows(mirror, &stmt, err, insert_trial_sql, "iiiii", (int64_t)trial->seq,
                                             (int64_t)record->line, (int64_t)record->offset, (int64_t)record->length, digest);
    if (status != LINEAGE_OK)
        return status;
    for (size_t i = 0; i < LINEAGE_N_COLUMNS; i++) {
        const struct lineage_column *column = lineage_column(i);
        const void *member = (const char *)trial + column->offset;
        if (column->kind == LINEAGE_COLUMN_TEXT) {
            bind_text(stmt, at++, lineage_trial_text(trial, i));
        } else if (column->kind == LINEAGE_COLUMN_LABEL) {
            bind_text(stmt, at++, lineage_label_name(trial->status));
        } else {
            bind_number(stmt, at++, *(const struct lineage_number *)member, bit, &special);
            bit *= 2;
        }
    }
    expected.present = expected_number(&expected.value, trial->expected_delta);
    bind_number(stmt, at++, trial->score, bit, &special);
    bind_number(stmt, at++, trial->ig_clip_scale_mean, 0, &special);
    bind_number(stmt, at++, trial->ig_clip_scale_std, 0, &special);
    bind_number(stmt, at++, expected, 0, &special);
    sqlite3_bind_int64(stmt, at, special);
    return mirror_run(mirror, stmt, err);
}

/* exp_id is in each side table, so that people can query them without a join. Each turn is a row of its own, so that one turn can
 * be queried over all trials. */
static enum lineage_status insert_turns(struct mirror *mirror, const struct lineage_trial *trial, struct lineage_error *err)
{
    enum lineage_status status = LINEAGE_OK;
    for (size_t i = 0; status == LINEAGE_OK && i < trial->n_turns; i++)
        status =
            mirror_do(mirror, err, "REPLACE INTO turn_stats VALUES (?,?,?,?,?,?)", "isiddi", (int64_t)trial->seq, trial->exp_id,
                      (int64_t)trial->turns[i].turn, trial->turns[i].mean, trial->turns[i].std, (int64_t)trial->turns[i].count);
    return status;
}

/* An extra cell is stored as text and, if possible, as a number too: queries compare the number, printers show the
 * text. */
static enum lineage_status insert_extras(struct mirror *mirror, const struct lineage_trial *trial, struct lineage_error *err)
{
    enum lineage_status status = LINEAGE_OK;
    for (size_t i = 0; status == LINEAGE_OK && i < trial->n_extras; i++) {
        const struct lineage_extra *extra = &trial->extras[i];
        struct lineage_number number = {.present = false};
        number.present = lineage_number_parse(&number.value, extra->text, strlen(extra->text));
        status = mirror_do(mirror, err, "REPLACE INTO extras VALUES (?,?,?,?,?)", "isssn", (int64_t)trial->seq, trial->exp_id,
                           extra->column, extra->text, number);
    }
    return status;
}

static enum lineage_status insert_metrics(struct mirror *mirror, const struct lineage_trial *trial, struct lineage_error *err)
{
    enum lineage_status status = LINEAGE_OK;
    for (size_t i = 0; status == LINEAGE_OK && i < trial->n_metrics; i++) {
        if (isnan(trial->metrics[i].value)) /* NaN has no place in an order */
            continue;
        status = mirror_do(mirror, err, "REPLACE INTO metric_rows VALUES (?,?,?)", "isd", (int64_t)trial->seq,
                           trial->metrics[i].name, trial->metrics[i].value);
    }
    return status;
}

/* An interrupted trial is not recorded as a trial of its night, so that it can be run again. */
enum lineage_status mirror_insert_night(struct mirror *mirror, const struct lineage_trial *trial, struct lineage_error *err)
{
    struct lineage_night_link link;
    if (trial->status == LINEAGE_HARNESS_ABORT || !lineage_night_link_parse(&link, trial->notes))
        return LINEAGE_OK;
    return mirror_do(mirror, err, "REPLACE INTO night_rows VALUES (?,?,?,?)", "issi", (int64_t)trial->seq, trial->exp_id,
                     link.sweep, (int64_t)link.key);
}

static enum lineage_status insert_again(struct mirror *mirror, const struct lineage_trial *trial, struct lineage_error *err)
{
    sqlite3_stmt *stmt;
    struct lineage_replicate replicate;
    struct setting_digest setting;
    const bool again = lineage_replicate_parse(&replicate, trial->notes), mean = lineage_score_runs(trial->notes) != 1;
    const bool seeded = setting_digest(&setting, trial, lineage_store_seeds(mirror->store));
    if (!again && !mean && !seeded)
        return LINEAGE_OK;
    enum lineage_status status = mirror_prepare(mirror, &stmt, "REPLACE INTO again_rows VALUES (?,?,?)", err);
    if (status != LINEAGE_OK)
        return status;
    sqlite3_bind_int64(stmt, 1, (int64_t)trial->seq);
    mirror_bind_text(stmt, 2, again ? id_bare(replicate.exp_id) : mean ? NULL : "");
    if (seeded)
        sqlite3_bind_int64(stmt, 3, (int64_t)setting.alone);
    else
        sqlite3_bind_null(stmt, 3);
    return mirror_run(mirror, stmt, err);
}

/* The row of the trial is inserted first, because the rows of the other tables refer to it. */
enum lineage_status mirror_insert(struct mirror *mirror, const struct lineage_trial *trial, const struct tsv_record *record,
                                  int64_t digest, struct param_batch *params, struct lineage_error *err)
{
    enum lineage_status status = insert_row(mirror, trial, record, digest, err);
    if (status == LINEAGE_OK)
        status = param_batch_add(params, mirror, trial, err);
    if (status == LINEAGE_OK)
        status = insert_turns(mirror, trial, err);
    if (status == LINEAGE_OK)
        status = insert_extras(mirror, trial, err);
    if (status == LINEAGE_OK)
        status = insert_metrics(mirror, trial, err);
    if (status == LINEAGE_OK)
        status = mirror_insert_night(mirror, trial, err);
    return status == LINEAGE_OK ? insert_again(mirror, trial, err) : status;
}

/* Names of the kinds of fault as listed in FORMAT.md; `verify` prints these names. */
static const char *const fault_kinds[] = {[ROW_LONG] = "long",     [ROW_SHORT] = "short",         [ROW_BAD_STATUS] = "status",
                                          [ROW_NOT_UTF8] = "utf8", [ROW_HEADER_AGAIN] = "header", [ROW_BAD_NUMBER] = "number"};

enum lineage_status mirror_insert_finding(struct mirror *mirror, const struct tsv_record *record, int64_t digest,
                                          enum row_fault fault, bool is_row, const char *exp_id, const char *text,
                                          struct lineage_error *err)
{
    return mirror_do(mirror, err, "REPLACE INTO findings VALUES (?,?,?,?,?,?,?,?)", "iiiiisss", (int64_t)record->offset,
                     (int64_t)record->length, digest, (int64_t)record->line, (int64_t)is_row, fault_kinds[fault], exp_id, text);
}
