/*
 * insert.c: inserts one trial or one finding into the tables. The side tables use REPLACE: a column or turn that occurs
 * twice in a row is a finding of `verify`, not a reason to refuse the file.
 */
#include "mirror_internal.h"

#include <assert.h>
#include <math.h>
#include <xxhash.h>

#include <lineage/evidence.h>
#include <lineage/notes.h>
#include <lineage/text.h>

#include "../format/number.h"
#include "../format/id.h"
#include "../format/setting_digest.h"
#include "statement.h"

/* ---- inserts the parameters of many trials into param_rows in the order of that table, so that neighbouring
 * rows go to the same pages. The sums of param_values are computed from the same sorted rows, in which equal values are
 * adjacent. So a learning rate that differs in every trial costs one more row in order, instead of an insertion at a
 * random place of a table of millions.
 */

#define BATCH ((size_t)1 << 21) /* 64 MB of rows: so even for a large log each page is written only once or twice */

#define MAX_SEQ (((uint64_t)1 << 48) - 1)

/* The struct has only 32 bytes, because a load keeps two million of them. */
struct param_row {
    const char *key; /* in keys */
    union {
        double number;
        const char *text; /* in keys */
    } value;
    double score; /* nan: no finite score */
    uint64_t seq : 48, label : 8, is_text : 1;
};

/* Names are stored apart from rows: a load has a handful of names and millions of rows. They are in a hash table with
 * linear probing, because one cell that was received may set ten thousand names. */
struct param_batch {
    struct param_row *rows;
    size_t n, capacity;
    bool sorted;
    struct arena keys;
    const char **names; /* [names_capacity] distinct keys, at most half of the places are used */
    size_t n_names, names_capacity; /* the capacity is a power of two, or 0 */
};

struct param_batch *param_batch_new(void)
{
    return calloc(1, sizeof(struct param_batch));
}

void param_batch_free(struct param_batch *batch)
{
    if (!batch)
        return;
    arena_release(&batch->keys);
    free(batch->names);
    free(batch->rows);
    free(batch);
}

/* The place of the name in the table, or the free place where it belongs. */
static const char **place_of(const char **names, size_t capacity, const char *name)
{
    size_t at = (size_t)XXH3_64bits(name, strlen(name)) & (capacity - 1);
    while (names[at] && strcmp(names[at], name) != 0)
        at = (at + 1) & (capacity - 1);
    return &names[at];
}

static bool grow_names(struct param_batch *batch)
{
    size_t capacity = batch->names_capacity ? 2 * batch->names_capacity : 32;
    const char **names = calloc(capacity, sizeof *names);
    if (!names)
        return false;
    for (size_t i = 0; i < batch->names_capacity; i++)
        if (batch->names[i])
            *place_of(names, capacity, batch->names[i]) = batch->names[i];
    free(batch->names);
    batch->names = names;
    batch->names_capacity = capacity;
    return true;
}

/* Keeps one copy per distinct name, so that equal names are equal pointers, which the sort compares first. */
static const char *intern(struct param_batch *batch, const char *name)
{
    if (2 * batch->n_names >= batch->names_capacity && !grow_names(batch))
        return NULL;
    const char **place = place_of(batch->names, batch->names_capacity, name);
    if (!*place && (*place = arena_text(&batch->keys, name, strlen(name))))
        batch->n_names++;
    return *place;
}

static bool add_one(struct param_batch *batch, const struct lineage_param *param, const struct lineage_trial *trial)
{
    if (!LIST_ROOM(batch->rows, batch->n, batch->capacity))
        return false;
    bool scored = trial->score.present && isfinite(trial->score.value);
    struct param_row row = {.key = intern(batch, param->name),
                            .score = scored ? trial->score.value : NAN,
                            .seq = trial->seq & MAX_SEQ,
                            .label = trial->status,
                            .is_text = param->text != NULL};
    if (param->text)
        row.value.text = arena_text(&batch->keys, param->text, strlen(param->text));
    else
        row.value.number = param->value;
    if (!row.key || (param->text && !row.value.text))
        return false;
    batch->rows[batch->n++] = row;
    batch->sorted = false;
    return true;
}

/* A full batch is flushed before the trial is added and not after, so that the last trial, too, waits in the batch as a
 * whole. A parameter with the value nan is left out, because it has no place on an axis. */
static enum lineage_status param_batch_add(struct param_batch *batch, struct mirror *mirror, const struct lineage_trial *trial,
                                           struct lineage_error *err)
{
    if (batch->n >= BATCH)
        TRY(param_batch_flush(batch, mirror, err));
    for (size_t i = 0; i < trial->n_params; i++)
        if ((trial->params[i].text || !isnan(trial->params[i].value)) && !add_one(batch, &trial->params[i], trial))
            TRY(store_no_memory(err));
    return LINEAGE_OK;
}

/* Compares in SQLite's order: numbers before texts, and texts by their bytes. */
static int compare_settings(const struct param_row *x, const struct param_row *y)
{
    if (x->key != y->key)
        return strcmp(x->key, y->key);
    if (x->is_text != y->is_text)
        return x->is_text ? 1 : -1;
    if (x->is_text)
        return strcmp(x->value.text, y->value.text);
    return (x->value.number > y->value.number) - (x->value.number < y->value.number);
}

static int in_order(const void *a, const void *b)
{
    const struct param_row *x = a, *y = b;
    int order = compare_settings(x, y);
    return order ? order : (x->seq > y->seq) - (x->seq < y->seq);
}

/* 64 rows in one statement cost half as much as 64 statements, and bind at most 384 values, well below any SQLite's
 * limit (999 in old versions). */
#define GROUP 64
#define TIMES_4(row) row row row row
#define TIMES_63(row) TIMES_4(TIMES_4(row row row) row row row) row row row

/* OR FAIL tells SQLite that a failed statement need not be undone, because the whole transaction will be. So SQLite
 * need not keep a copy of each page that the statement changes. */
static const char insert_one[] = "INSERT OR FAIL INTO param_rows VALUES (?,?,?)";
static const char insert_group[] = "INSERT OR FAIL INTO param_rows VALUES " TIMES_63("(?,?,?),") "(?,?,?)";

static void bind_setting(sqlite3_stmt *stmt, int at, const struct param_row *row)
{
    sqlite3_bind_text(stmt, at, row->key, -1, SQLITE_STATIC);
    if (row->is_text)
        sqlite3_bind_text(stmt, at + 1, row->value.text, -1, SQLITE_STATIC);
    else
        sqlite3_bind_double(stmt, at + 1, row->value.number);
}

static enum lineage_status insert_rows(struct mirror *mirror, const struct param_row *rows, size_t n, struct lineage_error *err)
{
    sqlite3_stmt *stmt;
    TRY(mirror_prepare(mirror, &stmt, n == GROUP ? insert_group : insert_one, err));
    for (size_t i = 0; i < n; i++) {
        bind_setting(stmt, (int)i * 3 + 1, &rows[i]);
        sqlite3_bind_int64(stmt, (int)i * 3 + 3, (int64_t)rows[i].seq);
    }
    return mirror_run(mirror, stmt, err);
}

void param_batch_sort(struct param_batch *batch)
{
    if (batch->n && !batch->sorted)
        qsort(batch->rows, batch->n, sizeof *batch->rows, in_order);
    batch->sorted = true;
}

static enum lineage_status write_rows(struct param_batch *batch, struct mirror *mirror, struct lineage_error *err)
{
    param_batch_sort(batch);
    for (size_t i = 0, n; i < batch->n; i += n) {
        n = batch->n - i >= GROUP ? GROUP : 1;
        TRY(insert_rows(mirror, batch->rows + i, n, err));
    }
    return LINEAGE_OK;
}

/* A row of param_values: the sums over the trials with one value and one label. low > high means that no score is
 * finite. */
struct sum {
    struct param_row setting;
    enum lineage_label label;
    int64_t n;
    double low, high;
};

/* Rows of param_values that wait to be inserted together. */
struct sums {
    struct mirror *mirror;
    struct sum waiting[GROUP];
    size_t n;
};

/* The rows are updated in place, because counts and smallest and largest scores do not depend on how the trials were
 * divided among syncs. coalesce is needed because min of NULL and a number is NULL. */
#define ADD_TO_SUMS                                                                                                              \
    " ON CONFLICT (key, value, status) DO UPDATE SET n = n + excluded.n,"                                                        \
    " low = coalesce(min(low, excluded.low), low, excluded.low),"                                                                \
    " high = coalesce(max(high, excluded.high), high, excluded.high)"

static const char sum_one[] = "INSERT OR FAIL INTO param_values VALUES (?,?,?,?,?,?)" ADD_TO_SUMS;
static const char sum_group[] = "INSERT OR FAIL INTO param_values VALUES " TIMES_63("(?,?,?,?,?,?),") "(?,?,?,?,?,?)" ADD_TO_SUMS;

static enum lineage_status write_sums(struct mirror *mirror, const struct sum *sums, size_t n, struct lineage_error *err)
{
    sqlite3_stmt *stmt;
    TRY(mirror_prepare(mirror, &stmt, n == GROUP ? sum_group : sum_one, err));
    for (size_t i = 0; i < n; i++) {
        int at = (int)i * 6 + 1;
        bind_setting(stmt, at, &sums[i].setting);
        sqlite3_bind_text(stmt, at + 2, lineage_label_name(sums[i].label), -1, SQLITE_STATIC);
        sqlite3_bind_int64(stmt, at + 3, sums[i].n);
        if (sums[i].low <= sums[i].high) {
            sqlite3_bind_double(stmt, at + 4, sums[i].low);
            sqlite3_bind_double(stmt, at + 5, sums[i].high);
        }
    }
    return mirror_run(mirror, stmt, err);
}

static enum lineage_status put_sum(struct sums *sums, const struct sum *sum, struct lineage_error *err)
{
    sums->waiting[sums->n++] = *sum;
    if (sums->n < GROUP)
        return LINEAGE_OK;
    sums->n = 0;
    return write_sums(sums->mirror, sums->waiting, GROUP, err);
}

/* Sums the leading rows that have the same value as the first row. Each label has its own sum, so that the smallest
 * score of crashes is not taken for a measured score. */
static size_t sum_setting(struct sum sums[LINEAGE_N_LABELS], const struct param_row *rows, size_t n)
{
    struct param_row setting = *rows;
    size_t i = 0;
    if (!setting.is_text)
        setting.value.number += 0.0; /* makes -0.0 equal 0, as SQLite and the sort treat them */
    for (int label = 0; label < LINEAGE_N_LABELS; label++)
        sums[label] = (struct sum){setting, (enum lineage_label)label, 0, INFINITY, -INFINITY};
    for (; i < n && compare_settings(rows, &rows[i]) == 0; i++) {
        struct sum *sum = &sums[rows[i].label];
        sum->n++;
        sum->low = fmin(sum->low, rows[i].score); /* fmin and fmax ignore a nan */
        sum->high = fmax(sum->high, rows[i].score);
    }
    return i;
}

/* Labels without trials get no row. */
static enum lineage_status add_sums(struct param_batch *batch, struct mirror *mirror, struct lineage_error *err)
{
    struct sums out = {.mirror = mirror};
    struct sum labels[LINEAGE_N_LABELS];
    enum lineage_status status = LINEAGE_OK;
    for (size_t i = 0; status == LINEAGE_OK && i < batch->n;) {
        i += sum_setting(labels, batch->rows + i, batch->n - i);
        for (int label = 0; status == LINEAGE_OK && label < LINEAGE_N_LABELS; label++)
            if (labels[label].n)
                status = put_sum(&out, &labels[label], err);
    }
    for (size_t i = 0; status == LINEAGE_OK && i < out.n; i++)
        status = write_sums(mirror, &out.waiting[i], 1, err);
    batch->n = batch->n_names = 0;
    if (batch->names_capacity)
        memset(batch->names, 0, batch->names_capacity * sizeof *batch->names);
    arena_reset(&batch->keys);
    return status;
}

enum lineage_status param_batch_flush(struct param_batch *batch, struct mirror *mirror, struct lineage_error *err)
{
    TRY(write_rows(batch, mirror, err));
    return add_sums(batch, mirror, err);
}

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
 * computed here and not in SQL, because the rule for its leading number is in note_pieces.c. */
static enum lineage_status insert_row(struct mirror *mirror, const struct lineage_trial *trial, const struct tsv_record *record,
                                      int64_t digest, struct lineage_error *err)
{
    int special = 0, bit = 1, at = 6;
    struct lineage_number expected = {.present = false};
    sqlite3_stmt *stmt;
    TRY(mirror_rows(mirror, &stmt, err, insert_trial_sql, "iiiii", (int64_t)trial->seq, (int64_t)record->line,
                    (int64_t)record->offset, (int64_t)record->length, digest));
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
    for (size_t i = 0; i < trial->n_extras; i++) {
        const struct lineage_extra *extra = &trial->extras[i];
        struct lineage_number number = {.present = false};
        number.present = lineage_number_parse(&number.value, extra->text, strlen(extra->text));
        TRY(mirror_do(mirror, err, "REPLACE INTO extras VALUES (?,?,?,?,?)", "isssn", (int64_t)trial->seq, trial->exp_id,
                      extra->column, extra->text, number));
    }
    return LINEAGE_OK;
}

static enum lineage_status insert_metrics(struct mirror *mirror, const struct lineage_trial *trial, struct lineage_error *err)
{
    for (size_t i = 0; i < trial->n_metrics; i++) {
        if (isnan(trial->metrics[i].value)) /* NaN has no place in an order */
            continue;
        TRY(mirror_do(mirror, err, "REPLACE INTO metric_rows VALUES (?,?,?)", "isd", (int64_t)trial->seq, trial->metrics[i].name,
                      trial->metrics[i].value));
    }
    return LINEAGE_OK;
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
    TRY(mirror_prepare(mirror, &stmt, "REPLACE INTO again_rows VALUES (?,?,?)", err));
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
    TRY(insert_row(mirror, trial, record, digest, err));
    TRY(param_batch_add(params, mirror, trial, err));
    TRY(insert_turns(mirror, trial, err));
    TRY(insert_extras(mirror, trial, err));
    TRY(insert_metrics(mirror, trial, err));
    TRY(mirror_insert_night(mirror, trial, err));
    return insert_again(mirror, trial, err);
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
