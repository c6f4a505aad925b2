/*
 * insert.c: inserts one trial or one finding into the tables. The side tables use REPLACE: a column or turn that occurs
 * twice in a row is a finding of `verify`, not a reason to refuse the file.
 */
#include "insert.h"

#include <assert.h>
#include <math.h>
#include <string.h>

#include <lineage/evidence.h>
#include <lineage/notes.h>
#include <lineage/text.h>

#include "../format/expected.h"
#include "../format/id.h"
#include "../format/setting_digest.h"
#include "mirror_internal.h"
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
static struct mirror_value number_value(struct lineage_number number, int bit, int *special)
{
    const struct mirror_value none = {.type = SQLITE_NULL};
    if (!number.present)
        return none;
    if (number.value == 0 && signbit(number.value))
        *special |= bit * MIRROR_NEGATIVE_ZERO;
    if (!isnan(number.value))
        return (struct mirror_value){SQLITE_FLOAT, {.number = number.value}};
    *special |= bit;
    return none;
}

static struct mirror_value integer_value(int64_t integer)
{
    return (struct mirror_value){SQLITE_INTEGER, {.integer = integer}};
}

static struct mirror_value text_value(const char *text)
{
    assert(text); /* an absent cell is "", never NULL */
    return (struct mirror_value){SQLITE_TEXT, {.text = text}};
}

/* The position of the record and its digest are compared by a later sync, to find changes of the log. `expected` is
 * computed here and not in SQL, because the rule for its leading number is in expected.c. */
void mirror_trial_values(struct mirror_value values[MIRROR_TRIAL_VALUES], const struct lineage_trial *trial,
                         const struct tsv_record *record, int64_t digest)
{
    int special = 0, bit = 1;
    struct lineage_number expected = {.present = false};
    *values++ = integer_value((int64_t)trial->seq);
    *values++ = integer_value((int64_t)record->line);
    *values++ = integer_value((int64_t)record->offset);
    *values++ = integer_value((int64_t)record->length);
    *values++ = integer_value(digest);
    for (size_t i = 0; i < LINEAGE_N_COLUMNS; i++) {
        const struct lineage_column *column = lineage_column(i);
        const void *member = (const char *)trial + column->offset;
        if (column->kind == LINEAGE_COLUMN_TEXT) {
            *values++ = text_value(lineage_trial_text(trial, i));
        } else if (column->kind == LINEAGE_COLUMN_LABEL) {
            *values++ = text_value(lineage_label_name(trial->status));
        } else {
            *values++ = number_value(*(const struct lineage_number *)member, bit, &special);
            bit *= 2;
        }
    }
    expected.present = expected_number(&expected.value, trial->expected_delta);
    *values++ = number_value(trial->score, bit, &special);
    *values++ = number_value(trial->ig_clip_scale_mean, 0, &special);
    *values++ = number_value(trial->ig_clip_scale_std, 0, &special);
    *values++ = number_value(expected, 0, &special);
    *values = integer_value(special);
}

static void bind_value(sqlite3_stmt *stmt, int at, const struct mirror_value *value)
{
    if (value->type == SQLITE_INTEGER)
        sqlite3_bind_int64(stmt, at, value->as.integer);
    else if (value->type == SQLITE_FLOAT)
        sqlite3_bind_double(stmt, at, value->as.number);
    else if (value->type == SQLITE_TEXT)
        bind_text(stmt, at, value->as.text);
}

static enum lineage_status insert_row(struct mirror *mirror, const struct lineage_trial *trial, const struct tsv_record *record,
                                      int64_t digest, struct lineage_error *err)
{
    struct mirror_value values[MIRROR_TRIAL_VALUES];
    sqlite3_stmt *stmt;
    enum lineage_status status = mirror_prepare(mirror, &stmt, insert_trial_sql, err);
    if (status != LINEAGE_OK)
        return status;
    mirror_trial_values(values, trial, record, digest);
    for (int i = 0; i < MIRROR_TRIAL_VALUES; i++)
        bind_value(stmt, i + 1, &values[i]);
    return mirror_run(mirror, stmt, err);
}

/* Binds the first two columns of every side table. exp_id is in each of them, so that people can query them without a
 * join. */
static enum lineage_status prepare_part(struct mirror *mirror, sqlite3_stmt **stmt, const char *sql,
                                        const struct lineage_trial *trial, struct lineage_error *err)
{
    enum lineage_status status = mirror_prepare(mirror, stmt, sql, err);
    if (status == LINEAGE_OK) {
        sqlite3_bind_int64(*stmt, 1, (int64_t)trial->seq);
        bind_text(*stmt, 2, trial->exp_id);
    }
    return status;
}

/* Each turn is a row of its own, so that one turn can be queried over all trials. */
static enum lineage_status insert_turns(struct mirror *mirror, const struct lineage_trial *trial, struct lineage_error *err)
{
    sqlite3_stmt *stmt;
    enum lineage_status status = LINEAGE_OK;
    for (size_t i = 0; status == LINEAGE_OK && i < trial->n_turns; i++) {
        status = prepare_part(mirror, &stmt, "REPLACE INTO turn_stats VALUES (?,?,?,?,?,?)", trial, err);
        if (status != LINEAGE_OK)
            break;
        sqlite3_bind_int64(stmt, 3, trial->turns[i].turn);
        sqlite3_bind_double(stmt, 4, trial->turns[i].mean);
        sqlite3_bind_double(stmt, 5, trial->turns[i].std);
        sqlite3_bind_int64(stmt, 6, (int64_t)trial->turns[i].count);
        status = mirror_run(mirror, stmt, err);
    }
    return status;
}

/* An extra cell is stored as text and, if possible, as a number too: queries compare the number, printers show the
 * text. */
static enum lineage_status insert_extras(struct mirror *mirror, const struct lineage_trial *trial, struct lineage_error *err)
{
    sqlite3_stmt *stmt;
    double value;
    enum lineage_status status = LINEAGE_OK;
    for (size_t i = 0; status == LINEAGE_OK && i < trial->n_extras; i++) {
        const struct lineage_extra *extra = &trial->extras[i];
        status = prepare_part(mirror, &stmt, "REPLACE INTO extras VALUES (?,?,?,?,?)", trial, err);
        if (status != LINEAGE_OK)
            break;
        bind_text(stmt, 3, extra->column);
        bind_text(stmt, 4, extra->text);
        if (lineage_number_parse(&value, extra->text, strlen(extra->text)))
            sqlite3_bind_double(stmt, 5, value);
        status = mirror_run(mirror, stmt, err);
    }
    return status;
}

static enum lineage_status insert_metrics(struct mirror *mirror, const struct lineage_trial *trial, struct lineage_error *err)
{
    sqlite3_stmt *stmt;
    enum lineage_status status = LINEAGE_OK;
    for (size_t i = 0; status == LINEAGE_OK && i < trial->n_metrics; i++) {
        if (isnan(trial->metrics[i].value)) /* NaN has no place in an order */
            continue;
        status = mirror_prepare(mirror, &stmt, "REPLACE INTO metric_rows VALUES (?,?,?)", err);
        if (status != LINEAGE_OK)
            break;
        sqlite3_bind_int64(stmt, 1, (int64_t)trial->seq);
        bind_text(stmt, 2, trial->metrics[i].name);
        sqlite3_bind_double(stmt, 3, trial->metrics[i].value);
        status = mirror_run(mirror, stmt, err);
    }
    return status;
}

/* An interrupted trial is not recorded as a trial of its night, so that it can be run again. */
enum lineage_status mirror_insert_night(struct mirror *mirror, const struct lineage_trial *trial, struct lineage_error *err)
{
    sqlite3_stmt *stmt;
    struct lineage_night_link link;
    if (trial->status == LINEAGE_HARNESS_ABORT || !lineage_night_link_parse(&link, trial->notes))
        return LINEAGE_OK;
    enum lineage_status status = prepare_part(mirror, &stmt, "REPLACE INTO night_rows VALUES (?,?,?,?)", trial, err);
    if (status != LINEAGE_OK)
        return status;
    bind_text(stmt, 3, link.sweep);
    sqlite3_bind_int64(stmt, 4, (int64_t)link.key);
    return mirror_run(mirror, stmt, err);
}

static enum lineage_status insert_again(struct mirror *mirror, const struct lineage_trial *trial, struct lineage_error *err)
{
    sqlite3_stmt *stmt;
    struct lineage_replicate replicate;
    struct setting_digest setting;
    const bool again = lineage_replicate_parse(&replicate, trial->notes), mean = lineage_score_runs(trial->notes) != 1;
    const bool seeded = setting_digest(&setting, trial);
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

enum lineage_status mirror_insert_parts(struct mirror *mirror, const struct lineage_trial *trial, struct lineage_error *err)
{
    enum lineage_status status = insert_turns(mirror, trial, err);
    if (status == LINEAGE_OK)
        status = insert_extras(mirror, trial, err);
    if (status == LINEAGE_OK)
        status = insert_metrics(mirror, trial, err);
    if (status == LINEAGE_OK)
        status = mirror_insert_night(mirror, trial, err);
    if (status == LINEAGE_OK)
        status = insert_again(mirror, trial, err);
    return status;
}

/* The row of the trial is inserted first, because the rows of the other tables refer to it. */
enum lineage_status mirror_insert(struct mirror *mirror, const struct lineage_trial *trial, const struct tsv_record *record,
                                  int64_t digest, struct param_batch *params, struct lineage_error *err)
{
    enum lineage_status status = insert_row(mirror, trial, record, digest, err);
    if (status == LINEAGE_OK)
        status = param_batch_add(params, mirror, trial, err);
    return status == LINEAGE_OK ? mirror_insert_parts(mirror, trial, err) : status;
}

/* Names of the kinds of fault as listed in FORMAT.md; `verify` prints these names. */
static const char *const fault_kinds[] = {[ROW_LONG] = "long",     [ROW_SHORT] = "short",         [ROW_BAD_STATUS] = "status",
                                          [ROW_NOT_UTF8] = "utf8", [ROW_HEADER_AGAIN] = "header", [ROW_BAD_NUMBER] = "number"};

enum lineage_status mirror_insert_finding(struct mirror *mirror, const struct tsv_record *record, int64_t digest,
                                          enum row_fault fault, bool is_row, const char *exp_id, const char *text,
                                          struct lineage_error *err)
{
    sqlite3_stmt *stmt;
    enum lineage_status status = mirror_prepare(mirror, &stmt, "REPLACE INTO findings VALUES (?,?,?,?,?,?,?,?)", err);
    if (status != LINEAGE_OK)
        return status;
    sqlite3_bind_int64(stmt, 1, (int64_t)record->offset);
    sqlite3_bind_int64(stmt, 2, (int64_t)record->length);
    sqlite3_bind_int64(stmt, 3, digest);
    sqlite3_bind_int64(stmt, 4, (int64_t)record->line);
    sqlite3_bind_int(stmt, 5, is_row);
    bind_text(stmt, 6, fault_kinds[fault]);
    bind_text(stmt, 7, exp_id);
    bind_text(stmt, 8, text);
    return mirror_run(mirror, stmt, err);
}
