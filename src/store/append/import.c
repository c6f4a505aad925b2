/*
 * import.c: imports another tool's results.tsv as canonical rows, in one append, either all rows or none.
 *
 * A new log gets the columns of the source that are outside the 17 as extra columns behind them. The header of a log
 * with rows never changes, so such a log gets only the extra columns that it has; the others are reported.
 *
 * Parents are not checked, because the rows come from a file with its own rules: a missing parent is reported by
 * `verify` and does not make the import fail. Ids must be new, because all other data identify rows by their ids.
 */
#include <lineage/verify.h>

#include <fcntl.h>
#include <math.h>

#include <lineage/notes.h>
#include <lineage/text.h>
#include <lineage/time.h>

#include "../format/id.h"
#include "../format/row.h"
#include "../mirror/mirror.h"
#include "append_state.h"
#include "catch_up.h"
#include "import.h"
#include "../files/fs.h"
#include "../log/log.h"
#include "../clock.h"

struct importing {
    struct lineage_store *store;
    struct row_layout layout; /* of the source */
    bool has_layout;
    bool has_json;                   /* the source has a column `params` or `metrics` */
    bool is_new;                     /* the log is empty: its header is written with the rows */
    struct row_layout own;           /* of a new log with extra columns */
    const struct row_layout *target; /* of the log; NULL: the 17 columns */
    struct arena arena; /* of one row */
    struct id_set taken;
    bool has_best; /* the best so far, of the store and the imported rows */
    double best;
    bool finish_line, had_best; /* of the log, before the import */
    double best_before;
    struct buf out;
    size_t n_kept, n_scored; /* kept rows, and those with a score */
    unsigned repeats; /* how often the rows were parsed before */
    double told;      /* time of the last message about progress; 0: not begun */
    const struct buf *bytes; /* the source */
    const char *metric;
    struct lineage_import_stats *stats;
    lineage_finding_fn *report;
    void *context;
};

static void tell(struct importing *in, const char *kind, const struct tsv_record *record, const char *id, const char *text)
{
    struct lineage_finding finding = {kind, record->line, id, text};
    if (in->report && !in->repeats)
        in->report(in->context, &finding);
}

enum { TELL_SECONDS = 5 };

/* Tells from time to time how far a long import is. */
static void tell_progress(struct importing *in, const struct tsv_scanner *scanner)
{
    const double now = clock_now();
    if (in->told > 0 && now - in->told >= TELL_SECONDS) {
        store_notice(in->store, 0, "%zu rows are read, %.0f %% of the file", in->stats->n_rows,
                     100 * (double)scanner->position / (double)scanner->length);
        in->told = now;
    } else if (in->told <= 0) {
        in->told = now;
    }
}

/* Returns the spelling of the id that is already in use, or NULL if the id is free. Both spellings are checked, because
 * readers treat them as one trial. */
static const char *find_taken(struct importing *in, const char *id, enum lineage_status *status, struct lineage_error *err)
{
    SCOPED_BUF prefixed = {0};
    buf_printf(&prefixed, "exp_%s", id);
    const char *other = strncmp(id, "exp_", 4) == 0 ? id + 4
                        : prefixed.failed           ? NULL
                                                    : arena_text(&in->arena, prefixed.data, prefixed.length);
    if (!other)
        *status = store_no_memory(err);
    const char *const spellings[] = {id, other};
    for (size_t i = 0; *status == LINEAGE_OK && i < 2; i++) {
        bool found = id_set_has(&in->taken, spellings[i]);
        if (!found)
            *status = append_has_id(in->store, spellings[i], &found, err);
        if (found)
            return spellings[i];
    }
    return NULL;
}

/* The search for an alternative of an id. */
struct alternative {
    struct importing *in;
    const char *id;
    enum lineage_status status;
    struct lineage_error *err;
};

static const char *format_alternative(struct alternative *a, size_t n)
{
    SCOPED_BUF text = {0};
    buf_printf(&text, "%s-%zu", a->id, n);
    const char *copy = text.failed ? NULL : arena_text(&a->in->arena, text.data, text.length);
    if (!copy)
        a->status = store_no_memory(a->err);
    return copy;
}

/* Returns false after an error too, which ends the search. */
static bool is_alternative_taken(void *context, size_t n)
{
    struct alternative *a = context;
    const char *text = a->status == LINEAGE_OK ? format_alternative(a, n) : NULL;
    return text && find_taken(a->in, text, &a->status, a->err) && a->status == LINEAGE_OK;
}

static enum lineage_status refuse_id(const struct tsv_record *record, const char *id, const char *there,
                                     struct lineage_error *err)
{
    if (strcmp(there, id) == 0)
        return store_fail(err, LINEAGE_EEXIST,
                          "line %llu: exp_id '%.80s' is already in the store; leave the rows out of the file that both have, and "
                          "give others a free id there, also where parent_exp names them",
                          (unsigned long long)record->line, id);
    return store_fail(err, LINEAGE_EEXIST,
                      "line %llu: exp_id '%.80s' names the same trial as '%.80s', which is already in the store",
                      (unsigned long long)record->line, id, there);
}

/* A five-column log may contain a commit twice; later trials become COMMIT-2, COMMIT-3 ... Such a log has no parents,
 * so nothing refers to a commit and renaming loses nothing. In a file with exp_ids, renaming would cut off children,
 * so the import is refused. */
static enum lineage_status make_unique(struct importing *in, struct lineage_trial *trial, const struct tsv_record *record,
                                       struct lineage_error *err)
{
    struct alternative a = {.in = in, .id = trial->exp_id, .err = err};
    const char *there = find_taken(in, trial->exp_id, &a.status, err);
    if (there && a.status == LINEAGE_OK && in->layout.shape != ROW_AUTORESEARCH)
        return refuse_id(record, trial->exp_id, there, err);
    if (there && a.status == LINEAGE_OK) {
        size_t n = id_find_free_number(is_alternative_taken, &a);
        if (a.status == LINEAGE_OK)
            trial->exp_id = format_alternative(&a, n);
        if (a.status == LINEAGE_OK)
            tell(in, "id", record, trial->exp_id, "imported under this id, because its own was used before");
    }
    if (a.status == LINEAGE_OK && !id_set_add(&in->taken, trial->exp_id))
        a.status = store_no_memory(err);
    return a.status;
}

/* Computes the delta that an append of the trial would have written. If the source has the column, its cells are kept,
 * even empty ones, because the source decides which trials are compared. */
static void compare_with_best(struct importing *in, struct lineage_trial *trial)
{
    bool higher = in->store->config.direction == LINEAGE_HIGHER;
    if (!trial->score.present || !isfinite(trial->score.value))
        return;
    double difference = verdict_difference(trial->score.value, in->best);
    if (in->has_best && in->layout.column[lineage_column_find("delta_vs_best")] < 0)
        trial->delta_vs_best = (struct lineage_number){true, difference};
    if (!lineage_label_is_kept(trial->status) || (in->has_best && !verdict_is_keep(difference, 0, higher)))
        return;
    in->has_best = true;
    in->best = trial->score.value;
}

/* Whether the cell of the source becomes an extra column. The score's column does not: core_metric holds its value. A
 * second column with the name of another one does not either, because queries find columns by name. */
static bool is_carried(const struct importing *in, size_t cell)
{
    const char *name = in->layout.names[cell];
    if (!*name || !row_is_extra(&in->layout, cell) || in->layout.score == (int)cell || lineage_column_find(name) >= 0 ||
        !lineage_text_is_utf8(name, strlen(name)))
        return false;
    return row_layout_find(&in->layout, name) == (int)cell;
}

static bool target_has(const struct importing *in, const char *name)
{
    return in->target && row_layout_find(in->target, name) >= 0;
}

static bool is_metric_name(const char *name)
{
    return lineage_param_name_ok(name) && lineage_param_canonical(name) == name;
}

/* Adds the numbers of columns that the log does not have to the metrics of the trial, whose notes then hold them.
 * Returns false when out of memory. */
static bool keep_as_metrics(struct importing *in, struct lineage_trial *trial)
{
    struct lineage_param *metrics = arena_alloc(&in->arena, trial->n_metrics + trial->n_extras, sizeof *metrics);
    SCOPED_ID_SET names = {0}; /* of the metrics */
    size_t n = metrics ? trial->n_metrics : 0;
    bool ok = metrics != NULL;
    double value;
    if (n)
        memcpy(metrics, trial->metrics, n * sizeof *metrics);
    for (size_t i = 0; ok && i < n; i++)
        ok = id_set_has(&names, metrics[i].name) || id_set_add(&names, metrics[i].name);
    for (size_t i = 0; ok && i < trial->n_extras; i++) {
        const struct lineage_extra *extra = &trial->extras[i];
        if (id_set_has(&names, extra->column) || !is_metric_name(extra->column) || lineage_column_find(extra->column) >= 0 ||
            target_has(in, extra->column) || strcmp(extra->column, in->layout.metric) == 0 ||
            !lineage_number_parse(&value, extra->text, strlen(extra->text)) || !isfinite(value))
            continue;
        metrics[n++] = (struct lineage_param){extra->column, value, NULL};
        ok = id_set_add(&names, extra->column);
    }
    trial->metrics = metrics;
    trial->n_metrics = n;
    return ok;
}

/* Reports the columns of the source whose values the log cannot take, once and not in every row. */
static void report_columns(struct importing *in, const struct tsv_record *header)
{
    char text[256];
    for (size_t i = 0; i < in->layout.n_cells; i++) {
        const char *name = in->layout.names[i];
        if (!row_is_extra(&in->layout, i) || in->layout.score == (int)i || (is_carried(in, i) && target_has(in, name)))
            continue;
        if (is_carried(in, i) && is_metric_name(name))
            snprintf(text, sizeof text,
                     "column '%.80s' is not in the store's header: its numbers become metrics, its texts are "
                     "left out; import into a new store to keep all of it",
                     name);
        else if (is_carried(in, i))
            snprintf(text, sizeof text,
                     "column '%.80s' is left out: the store has rows and no such column; import into a "
                     "new store to keep it",
                     name);
        else
            snprintf(text, sizeof text, "column %zu is left out: %s", i + 1,
                     *name ? "its name is used before, or is not valid UTF-8" : "it has no name");
        tell(in, "column", header, "", text);
    }
}

/* Called with the source's header. Writes the header of a new log and decides which columns its rows have. */
static enum lineage_status choose_target(struct importing *in, struct tsv_reader *reader, const struct tsv_record *header,
                                         struct lineage_error *err)
{
    struct tsv_scanner scanner;
    struct tsv_record record;
    const struct tsv_cell *cells;
    size_t n, begin = in->out.length;
    for (size_t i = 0; i < in->layout.n_cells; i++)
        in->has_json = in->has_json || json_column_is(in->layout.names[i]);
    if (in->is_new) {
        row_write_header(&in->out);
        in->out.length -= !in->out.failed; /* drops the line end */
        for (size_t i = 0; i < in->layout.n_cells; i++)
            if (is_carried(in, i)) {
                buf_put(&in->out, '\t');
                tsv_write_cell(&in->out, in->layout.names[i], strlen(in->layout.names[i]));
            }
        buf_put(&in->out, '\n');
        if (in->out.failed)
            return store_no_memory(err);
        tsv_scanner_init(&scanner, in->out.data + begin, in->out.length - begin, 0, 1);
        TRY(tsv_scan(&scanner, &record) ? tsv_parse(reader, &record, &cells, &n, err)
                                        : store_fail(err, LINEAGE_EINVAL, "the header has an open quote"));
        TRY(row_layout_read(&in->own, cells, n, NULL, err));
        in->target = &in->own;
    }
    report_columns(in, header);
    return LINEAGE_OK;
}

/* Checks the cells that the row takes over unchanged. */
static enum lineage_status check_extras(const struct importing *in, const struct lineage_trial *trial, struct lineage_error *err)
{
    for (size_t i = 0; i < trial->n_extras; i++) {
        const struct lineage_extra *extra = &trial->extras[i];
        size_t length = strlen(extra->text);
        if (!target_has(in, extra->column))
            continue;
        if (length > LINEAGE_CELL_MAX)
            return store_fail(err, LINEAGE_ELIMIT, "%.80s is %zu bytes long, %d are allowed", extra->column, length,
                              LINEAGE_CELL_MAX);
        if (!lineage_text_is_utf8(extra->text, length))
            return store_fail(err, LINEAGE_EINVAL, "%.80s is not valid UTF-8", extra->column);
    }
    return LINEAGE_OK;
}

/* A trial that was measured and whose score is nan or infinite crashed; one that failed has no score. */
static enum lineage_status drop_endless_score(struct importing *in, struct lineage_trial *trial, const struct tsv_record *record,
                                              struct lineage_error *err)
{
    struct buf notes = {0};
    char text[160];
    if (!trial->score.present || isfinite(trial->score.value))
        return LINEAGE_OK;
    const bool measured = lineage_label_is_measured(trial->status);
    snprintf(text, sizeof text, "%.60s is not finite, so the trial has no score%s", in->layout.metric,
             measured ? " and is a crash" : "");
    tell(in, "score", record, trial->exp_id, text);
    trial->score.present = false;
    trial->val_bpb.present = trial->val_bpb.present && isfinite(trial->val_bpb.value);
    if (!measured)
        return LINEAGE_OK;
    trial->status = LINEAGE_CRASH;
    buf_printf(&notes, "its score is not a finite number%s%s", trial->notes && *trial->notes ? "; " : "",
               trial->notes ? trial->notes : "");
    trial->notes = notes.failed ? NULL : arena_text(&in->arena, notes.data, notes.length);
    buf_release(&notes);
    return trial->notes ? LINEAGE_OK : store_no_memory(err);
}

/* The score moves to core_metric, the score column of a canonical file, whatever its column was called in the
 * source. */
static enum lineage_status import_row(struct importing *in, struct lineage_trial *trial, const struct tsv_record *record,
                                      struct lineage_error *err)
{
    struct lineage_error why = {0};
    TRY(drop_endless_score(in, trial, record, err));
    trial->core_metric = trial->score;
    enum lineage_status status = row_check(trial, &why);
    if (status == LINEAGE_OK)
        status = check_extras(in, trial, &why);
    if (status != LINEAGE_OK) {
        tell(in, "row", record, trial->exp_id, why.text);
        in->stats->n_left_out++;
        return LINEAGE_OK;
    }
    TRY(make_unique(in, trial, record, err));
    int64_t moment;
    if (*trial->timestamp && !lineage_time_read(&moment, trial->timestamp)) {
        char text[160];
        snprintf(text, sizeof text, "timestamp '%.60s' is not a date; --since and --until will not find the trial",
                 trial->timestamp);
        tell(in, "time", record, trial->exp_id, text);
    }
    compare_with_best(in, trial);
    /* Values that only the column `params` or `metrics` of the source has, and numbers of columns that the log does not
     * have, are written into the notes, which every store has. */
    size_t measured = trial->n_metrics;
    if (!in->is_new && trial->n_extras && !keep_as_metrics(in, trial))
        return store_no_memory(err);
    if (in->has_json || trial->n_metrics > measured) {
        struct buf scratch = {0};
        status = row_compose_notes(&trial->notes, trial, &scratch, &in->arena, NULL);
        buf_release(&scratch);
        if (status == LINEAGE_ENOMEM)
            return store_no_memory(err);
    }
    row_write(&in->out, trial, in->target);
    in->n_kept += lineage_label_is_kept(trial->status);
    in->n_scored += lineage_label_is_kept(trial->status) && trial->score.present;
    in->stats->n_rows++;
    return in->out.failed ? store_no_memory(err) : LINEAGE_OK;
}

/* The source is not results.tsv, and its user needs the names of its columns. */
static enum lineage_status refuse_header(const struct tsv_cell *cells, size_t n, const char *what, const char *metric,
                                         struct lineage_error *err)
{
    SCOPED_BUF list = {0};
    for (size_t i = 0; i < n && list.length < 200; i++)
        buf_printf(&list, "%s%.40s", i ? ", " : "", cells[i].text);
    return list.failed ? store_no_memory(err)
                       : store_fail(err, LINEAGE_EINVAL, "no %s%s in the header; its columns are: %s", what, metric,
                                    list.data ? list.data : "");
}

static enum lineage_status read_header(struct importing *in, const struct tsv_cell *cells, size_t n, const char *metric,
                                       struct lineage_error *err)
{
    enum lineage_status status = row_layout_read(&in->layout, cells, n, metric, err);
    if (status == LINEAGE_ECORRUPT)
        return refuse_header(cells, n, "exp_id or commit column", "", err);
    if (status == LINEAGE_EINVAL)
        return refuse_header(cells, n, "score column ", metric, err);
    in->has_layout = status == LINEAGE_OK;
    if (in->has_layout && in->layout.score < 0)
        return refuse_header(cells, n, "core_metric or val_bpb column for the score (--metric names another)", "", err);
    return status;
}

/* A log none of whose kept rows has a score is read by a wrong column. */
static enum lineage_status check_scores(const struct importing *in, struct lineage_error *err)
{
    return !in->n_kept || in->n_scored
               ? LINEAGE_OK
               : store_fail(err, LINEAGE_EINVAL,
                            "none of the %zu kept rows has a number in %.80s; name the score's column by --metric", in->n_kept,
                            in->layout.metric);
}

/* A damaged record is reported and left out, so that all tools that share the canonical file can read every row. */
static enum lineage_status import_record(struct importing *in, struct tsv_reader *reader, const struct tsv_record *record,
                                         const char *metric, struct lineage_error *err)
{
    struct lineage_trial trial;
    const struct tsv_cell *cells;
    enum row_fault fault;
    char reason[160];
    size_t n;
    enum lineage_status status;
    TRY(tsv_parse(reader, record, &cells, &n, err));
    if (!in->has_layout) {
        TRY(read_header(in, cells, n, metric, err));
        return choose_target(in, reader, record, err);
    }
    arena_reset(&in->arena);
    bool is_row = row_read(&trial, &in->layout, cells, n, &in->arena, &fault, reason, &status);
    if (status != LINEAGE_OK)
        return store_no_memory(err);
    if (fault != ROW_SOUND)
        tell(in, "row", record, fault != ROW_NOT_UTF8 && n ? cells[0].text : "", reason);
    in->stats->n_left_out += !is_row;
    return is_row ? import_row(in, &trial, record, err) : LINEAGE_OK;
}

enum { ROWS_BETWEEN_LOOKS = 4096 };

static enum lineage_status import_records(struct importing *in, struct lineage_error *err)
{
    struct tsv_scanner scanner;
    struct tsv_record record;
    SCOPED_READER reader = tsv_reader_new();
    enum lineage_status status = reader ? LINEAGE_OK : store_no_memory(err);
    tsv_scanner_init(&scanner, in->bytes->data, in->bytes->length, 0, 1);
    while (status == LINEAGE_OK && tsv_scan(&scanner, &record)) {
        if (record.content)
            status = import_record(in, reader, &record, in->metric, err);
        if (in->stats->n_rows % ROWS_BETWEEN_LOOKS == 0)
            tell_progress(in, &scanner);
    }
    if (status == LINEAGE_OK && !in->has_layout)
        return store_fail(err, LINEAGE_EINVAL, "there is nothing to import: the file has no header");
    return status == LINEAGE_OK ? check_scores(in, err) : status;
}

/* Whether a row of the log can hold everything that an imported row has. */
static bool has_all_columns(const struct row_layout *layout)
{
    for (size_t i = 0; i < LINEAGE_N_COLUMNS; i++)
        if (layout->column[i] < 0)
            return false;
    return layout->shape != ROW_AUTORESEARCH;
}

/* Call it under the claim. Learns from the log what the rows depend on. */
static enum lineage_status begin_rows(struct importing *in, struct log_state *end, struct lineage_error *err)
{
    TRY(append_catch_up_and(in->store, end, NULL, NULL, err));
    const struct row_layout *layout = mirror_layout(in->store->mirror);
    if (end->size && layout && !has_all_columns(layout))
        return store_fail(err, LINEAGE_EINVAL, "%s is not in the canonical form; import into a new store", in->store->log->place);
    in->is_new = end->size == 0;
    in->target = end->size ? layout : NULL;
    in->finish_line = in->store->append->finish_line;
    if (in->finish_line)
        buf_puts(&in->out, "\n");
    in->had_best = in->has_best = in->store->append->has_best;
    in->best_before = in->best = in->store->append->best;
    return LINEAGE_OK;
}

/* Call it under the claim. The rows must be added by one write, all or none. The state of this handle is forgotten
 * afterwards, because updating it for thousands of rows would not pay. */
static enum lineage_status write_rows(struct importing *in, struct log_state *end, struct lineage_error *err)
{
    enum lineage_status status = LINEAGE_OK;
    if (in->stats->n_rows)
        status = log_append_many(in->store->log, end, in->out.data, in->out.length, true, err);
    append_forget(in->store->append);
    if (in->store->append)
        in->store->append->follow_at_close = true;
    return status;
}

static enum lineage_status import_under_claim(struct importing *in, struct lineage_error *err)
{
    struct log_state end;
    TRY(log_claim(in->store->log, &end, err));
    enum lineage_status status = begin_rows(in, &end, err);
    if (status == LINEAGE_OK)
        status = import_records(in, err);
    if (status == LINEAGE_OK)
        status = write_rows(in, &end, err);
    else
        append_forget(in->store->append);
    log_release(in->store->log);
    return status;
}

/* ---- importing into a log on a server ---------------------------------------------------------------------------- */

/* Whether the id names a trial that is imported; readers treat both spellings as one trial. */
static bool is_imported(const struct importing *in, const char *id)
{
    char prefixed[LINEAGE_CELL_MAX / 64];
    const char *bare = id_bare(id);
    const bool fits = (size_t)snprintf(prefixed, sizeof prefixed, "exp_%s", bare) < sizeof prefixed;
    return id_set_has(&in->taken, bare) || (fits && id_set_has(&in->taken, prefixed));
}

/* Whether a row that was added from `from` on has an id that is imported too. */
static enum lineage_status find_clash(struct importing *in, uint64_t from, struct log_state *end, bool *clash,
                                      struct lineage_error *err)
{
    RELEASED_BY(tail_close) struct tail tail = {.store = in->store, .end = end};
    struct tsv_scanner scanner;
    struct tsv_record record;
    struct tail_row row;
    enum lineage_status status = tail_open(&tail, from, err);
    tsv_scanner_init(&scanner, tail.bytes.data, tail.bytes.length, from, 1);
    while (status == LINEAGE_OK && !*clash && tail_next(&scanner, &record)) {
        if (!record.content)
            continue;
        status = tail_read(&tail, &record, &row, err);
        *clash = status == LINEAGE_OK && row.id && is_imported(in, row.id);
    }
    return status;
}

/* Call it under the claim. Whether the parsed rows are still right, although others may have appended since `before`: the best
 * trial, on which differences depend, is the same, and no id is used twice. */
static enum lineage_status still_hold(struct importing *in, const struct log_state *before, struct log_state *end, bool *hold,
                                      struct lineage_error *err)
{
    const struct append_state *state = in->store->append;
    bool clash = false;
    enum lineage_status status = append_catch_up_and(in->store, end, NULL, NULL, err);
    *hold = status == LINEAGE_OK && end->size >= before->size && (!before->size || log_is_same(before, end)) &&
            in->is_new == (end->size == 0) && state->finish_line == in->finish_line && state->has_best == in->had_best &&
            (!in->had_best || !(state->best < in->best_before || state->best > in->best_before));
    if (*hold && end->size > before->size)
        status = find_clash(in, before->size, end, &clash, err);
    *hold = *hold && !clash;
    return status;
}

static void begin_again(struct importing *in)
{
    row_layout_release(&in->layout);
    row_layout_release(&in->own);
    arena_release(&in->arena);
    id_set_clear(&in->taken);
    buf_release(&in->out);
    *in->stats = (struct lineage_import_stats){0};
    *in = (struct importing){.store = in->store,
                             .bytes = in->bytes,
                             .metric = in->metric,
                             .stats = in->stats,
                             .report = in->report,
                             .context = in->context,
                             .repeats = in->repeats};
}

/* Parses between two claims and writes under the second, if the rows are still right then. */
static enum lineage_status try_apart(struct importing *in, bool *written, struct lineage_error *err)
{
    struct log *log = in->store->log;
    struct log_state before, end;
    TRY(log_claim(log, &before, err));
    enum lineage_status status = begin_rows(in, &before, err);
    log_release(log);
    if (status == LINEAGE_OK)
        status = import_records(in, err);
    TRY(status);
    TRY(log_claim(log, &end, err));
    status = still_hold(in, &before, &end, written, err);
    if (status == LINEAGE_OK && *written)
        status = write_rows(in, &end, err);
    else
        append_forget(in->store->append);
    log_release(log);
    return status;
}

enum { TIMES_TRIED = 5 };

/* A server ends a claim whose holder is silent for some seconds, and parsing takes longer, so the claim is not held
 * meanwhile. */
static enum lineage_status import_apart(struct importing *in, struct lineage_error *err)
{
    bool written = false;
    enum lineage_status status = LINEAGE_OK;
    for (in->repeats = 0; status == LINEAGE_OK && !written && in->repeats < TIMES_TRIED; in->repeats++) {
        begin_again(in);
        status = try_apart(in, &written, err);
    }
    if (status != LINEAGE_OK || written)
        return status;
    return store_fail(err, LINEAGE_ELOCKED,
                      "%s: while the rows were parsed, others appended better trials or the same ids, %d "
                      "times; import again when they pause",
                      in->store->log->place, TIMES_TRIED);
}

enum lineage_status import_bytes(struct lineage_store *store, const struct buf *bytes, const char *metric,
                                 struct lineage_import_stats *stats, lineage_finding_fn *report, void *context,
                                 struct lineage_error *err)
{
    struct importing in = {
        .store = store, .bytes = bytes, .metric = metric, .stats = stats, .report = report, .context = context};
    enum lineage_status status = append_get_ready(store, false, err);
    if (status == LINEAGE_OK)
        status = log_has_requests(store->log) ? import_apart(&in, err) : import_under_claim(&in, err);
    const struct lineage_import_stats done = *stats;
    begin_again(&in); /* releases everything */
    if (status == LINEAGE_OK)
        *stats = done;
    return status;
}

/* The source is read before the claim, because it may be a pipe that a person types into. */
enum lineage_status lineage_import(struct lineage_store *store, const char *path, const char *metric,
                                   struct lineage_import_stats *stats, lineage_finding_fn *report, void *context,
                                   struct lineage_error *err)
{
    SCOPED_BUF bytes = {0};
    *stats = (struct lineage_import_stats){0};
    TRY(store_check_owner(store, err));
    TRY(fs_read_stream(AT_FDCWD, path, &bytes, err));
    return import_bytes(store, &bytes, metric, stats, report, context, err);
}
