/* cmd_export.c: `lineage export`: prints results.tsv byte for byte, or its trials in another form. */

#include <lineage/move.h>
#include <lineage/text.h>

#include "cli.h"

/* A store in forms that other programs read: a table of commas with parameters and metrics as columns, and
 * JSON lines. */

typedef void visit_fn(void *context, const struct lineage_trial *trial);

static enum lineage_status each_trial(struct lineage_store *store, visit_fn *visit, void *context, struct lineage_error *err)
{
    struct lineage_cursor *cursor = NULL;
    struct lineage_trial trial = {0};
    uint64_t rows;
    enum lineage_status status = lineage_new_trials(&cursor, store, 0, &rows, err);
    while (status == LINEAGE_OK && (status = lineage_cursor_next(cursor, &trial, err)) == LINEAGE_OK) {
        visit(context, &trial);
        lineage_trial_release(&trial);
    }
    lineage_cursor_close(cursor);
    return status == LINEAGE_ENOTFOUND ? LINEAGE_OK : status;
}

static enum lineage_status written(FILE *out, enum lineage_status status, struct lineage_error *err)
{
    if (status != LINEAGE_OK || (fflush(out) == 0 && !ferror(out)))
        return status;
    err->status = LINEAGE_EIO;
    snprintf(err->text, sizeof err->text, "cannot write the result");
    return LINEAGE_EIO;
}

/* The columns that any trial has, as members of an object, and the cells of one trial by them. */
struct table {
    json_t *columns;
    const char **names; /* [n] of the columns in their order, once all are known */
    size_t n;
    struct cli_list *list;
};

/* Without a check for UTF-8, because a cell of another tool may have any bytes. */
static void put(json_t *cells, const char *prefix, const char *name, const char *text)
{
    char column[LINEAGE_NAME_MAX + 16];
    snprintf(column, sizeof column, "%s%s", prefix, name);
    json_object_set_new_nocheck(cells, *prefix ? column : name, json_string_nocheck(text ? text : ""));
}

static void put_values(json_t *cells, const char *prefix, const struct lineage_param *values, size_t n)
{
    char number[LINEAGE_NUMBER_MAX];
    for (size_t i = 0; i < n; i++)
        put(cells, prefix, values[i].name, values[i].text ? values[i].text : lineage_number_format(number, values[i].value));
}

static void put_cells(json_t *cells, const struct lineage_trial *trial)
{
    for (size_t i = 0; i < LINEAGE_N_COLUMNS; i++) {
        const struct lineage_column *column = lineage_column(i);
        const struct lineage_number *number = (const void *)((const char *)trial + column->offset);
        char digits[LINEAGE_NUMBER_MAX] = "";
        if (column->kind == LINEAGE_COLUMN_NUMBER && number->present)
            lineage_number_format(digits, number->value);
        put(cells, "", column->name,
            column->kind == LINEAGE_COLUMN_LABEL    ? lineage_label_name(trial->status)
            : column->kind == LINEAGE_COLUMN_NUMBER ? digits
                                                    : lineage_trial_text(trial, i));
    }
    put_values(cells, "param.", trial->params, trial->n_params);
    put_values(cells, "metric.", trial->metrics, trial->n_metrics);
    for (size_t i = 0; i < trial->n_extras; i++)
        put(cells, "", trial->extras[i].column, trial->extras[i].text);
}

static void note_columns(void *context, const struct lineage_trial *trial)
{
    put_cells(((struct table *)context)->columns, trial);
}

static void put_row(void *context, const struct lineage_trial *trial)
{
    const struct table *table = context;
    json_t *cells = json_object();
    put_cells(cells, trial);
    for (size_t i = 0; i < table->n; i++)
        cli_list_text(table->list, json_string_value(json_object_get(cells, table->names[i])));
    cli_list_end_row(table->list);
    json_decref(cells);
}

/* The 17 columns, then `param.NAME` and `metric.NAME` of all trials, and then the other columns of the file, each by their names. */
static int in_order(const void *a, const void *b)
{
    const char *const names[] = {*(const char *const *)a, *(const char *const *)b};
    int rank[2];
    for (int i = 0; i < 2; i++) {
        int column = lineage_column_find(names[i]);
        rank[i] = column >= 0                            ? column - LINEAGE_N_COLUMNS
                  : strncmp(names[i], "param.", 6) == 0  ? 0
                  : strncmp(names[i], "metric.", 7) == 0 ? 1
                                                         : 2;
    }
    return rank[0] != rank[1] ? rank[0] - rank[1] : strcmp(names[0], names[1]);
}

/* Writes one line a trial, in the order of the log. Returns LINEAGE_EIO if it cannot be written. */
static enum lineage_status history_write_csv(struct lineage_store *store, FILE *out, struct lineage_error *err)
{
    struct table table = {.columns = json_object()};
    const struct lineage_trial none = {0};
    const char *name;
    json_t *value;
    put_cells(table.columns, &none);
    enum lineage_status status = each_trial(store, note_columns, &table, err);
    table.names = calloc(json_object_size(table.columns) + 1, sizeof *table.names);
    json_object_foreach(table.columns, name, value)
        if (table.names)
            table.names[table.n++] = name;
    if (table.n)
        qsort(table.names, table.n, sizeof *table.names, in_order);
    table.list = table.n ? cli_list_new(CLI_CSV, out, table.n, table.names) : NULL;
    if (status == LINEAGE_OK && table.list)
        status = each_trial(store, put_row, &table, err);
    if (!table.list || cli_list_finish(table.list) != CLI_OK) {
        err->status = status = LINEAGE_EIO;
        snprintf(err->text, sizeof err->text, "cannot write the table");
    }
    free(table.names);
    json_decref(table.columns);
    return written(out, status, err);
}

static void put_object(void *context, const struct lineage_trial *trial)
{
    FILE *out = context;
    json_t *object = cli_trial_json(trial);
    size_t length;
    char *text = object ? cli_json_compact(object, &length) : NULL;
    if (text)
        fprintf(out, "%s\n", text);
    free(text);
    json_decref(object);
}

/* Writes each trial as an object on a line, as `show --format json` prints it. */
static enum lineage_status history_write_jsonl(struct lineage_store *store, FILE *out, struct lineage_error *err)
{
    return written(out, each_trial(store, put_object, out, err), err);
}

/* ---- `lineage export`: prints results.tsv byte for byte, or its trials in another form ---- */

struct export_options {
    char *output, *format;
};

static bool print_piece(void *context, const void *bytes, size_t n)
{
    int *error = context;
    if (fwrite(bytes, 1, n, stdout) == n)
        return true;
    *error = errno;
    return false;
}

/* A file is written beside the one that it replaces, so that there is always a whole one. */
static int write_form(struct lineage_store *store, const struct export_options *o)
{
    char fresh[PATH_MAX];
    struct lineage_error err = {0};
    int n = snprintf(fresh, sizeof fresh, "%s.part", o->output ? o->output : "");
    FILE *out = !o->output ? stdout : n > 0 && (size_t)n < sizeof fresh ? fopen(fresh, "we") : NULL;
    if (!out)
        return cli_error(CLI_SYSTEM, "cannot write %s: %s", fresh, strerror(errno));
    enum lineage_status status =
        strcmp(o->format, "csv") == 0 ? history_write_csv(store, out, &err) : history_write_jsonl(store, out, &err);
    bool good = !o->output || fclose(out) == 0;
    if (status == LINEAGE_OK && good && (!o->output || rename(fresh, o->output) == 0))
        return CLI_OK;
    int error = errno;
    if (o->output)
        remove(fresh);
    return status != LINEAGE_OK ? cli_fail(&err) : cli_error(CLI_SYSTEM, "cannot write %s: %s", o->output, strerror(error));
}

static int check_format(struct cli_session *session, void *context)
{
    const struct export_options *o = context;
    (void)session;
    return !o->format || strcmp(o->format, "tsv") == 0 || strcmp(o->format, "csv") == 0 || strcmp(o->format, "jsonl") == 0
               ? CLI_GO_ON
               : cli_error(CLI_USAGE, "--format '%.40s': use tsv, csv or jsonl", o->format);
}

static int work(struct cli_session *session, void *context)
{
    const struct export_options *o = context;
    struct lineage_error err;
    int error = 0;
    if (o->format && strcmp(o->format, "tsv") != 0)
        return write_form(session->store, o);
    enum lineage_status status = o->output ? lineage_export_file(session->store, o->output, &err)
                                           : lineage_export(session->store, print_piece, &error, &err);
    if (error)
        return cli_error(CLI_SYSTEM, "cannot write the result: %s", strerror(error));
    return status == LINEAGE_OK ? CLI_OK : cli_fail(&err);
}

static int run(const struct cli_command *command, int argc, const char **argv)
{
    struct cli_session session = {.before_open = check_format};
    struct export_options o = {0};
    struct poptOption options[] = {
        {"directory", 'C', POPT_ARG_STRING, &session.where.dir, 0, "the store (default: the current directory or a parent)",
         "DIR"},
        {"output", 'o', POPT_ARG_STRING, &o.output, 0, "write to FILE, which is replaced as a whole or not at all", "FILE"},
        {"format", 0, POPT_ARG_STRING, &o.format, 0,
         "tsv: every byte of the log (default); csv: a table with parameters and metrics as columns; jsonl: an object a line",
         "tsv|csv|jsonl"},
        POPT_TABLEEND};
    return cli_on_store(&session, command, options, 0, 0, argc, argv, work, &o);
}

const struct cli_command cmd_export = {
    .name = "export",
    .arguments = "",
    .description = "Prints results.tsv byte for byte, damaged rows included, wherever the store keeps its\n"
                   "rows. `import --exact` makes a store with the same digests from it. The files beside "
                   "the\n"
                   "rows (telemetry/, snapshots/, lineage_code/, logs/, provenance/, remarks.jsonl) must be\n"
                   "copied as files. --format csv and jsonl are for other programs and have sound rows only:\n"
                   "a table with a column for each parameter (param.NAME) and metric (metric.NAME), or the\n"
                   "object that `show --format json` prints on each line.",
    .examples = "  lineage export >copy.tsv\n"
                "  lineage -C postgres://host/lab/atpo export --output results.tsv\n"
                "  lineage export --format csv --output trials.csv",
    .run = run,
};
