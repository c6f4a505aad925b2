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

static enum lineage_status no_memory(struct lineage_error *err)
{
    err->status = LINEAGE_ENOMEM;
    snprintf(err->text, sizeof err->text, "out of memory");
    return err->status;
}

/* The names of parameters, metrics and other columns that any trial has, as members of objects. */
struct names {
    json_t *params, *metrics, *extras;
    bool failed; /* a name could not be kept */
    const char **sorted[2];
    FILE *out;
};

/* Without a check for UTF-8, because the name of another tool's column may have any bytes. */
static void note_name(struct names *names, json_t *object, const char *name)
{
    names->failed |= json_object_set_new_nocheck(object, name, json_true()) != 0;
}

static void note_names(void *context, const struct lineage_trial *trial)
{
    struct names *names = context;
    for (size_t i = 0; i < trial->n_params; i++)
        note_name(names, names->params, trial->params[i].name);
    for (size_t i = 0; i < trial->n_metrics; i++)
        note_name(names, names->metrics, trial->metrics[i].name);
    for (size_t i = 0; i < trial->n_extras; i++)
        note_name(names, names->extras, trial->extras[i].column);
}

static const char **sorted_names(json_t *object)
{
    const char **list = calloc(json_object_size(object) + 1, sizeof *list), *name;
    json_t *value;
    size_t n = 0;
    json_object_foreach(object, name, value)
        if (list)
            list[n++] = name;
    if (list)
        qsort(list, n, sizeof *list, cli_by_text);
    return list;
}

/* A cell with a comma, a quote or a line end is quoted, and a quote inside doubled (RFC 4180). */
static void put_cell(FILE *out, const char *text, bool first)
{
    if (!first)
        putc(',', out);
    if (!text[strcspn(text, ",\"\r\n")]) {
        fputs(text, out);
        return;
    }
    putc('"', out);
    for (; *text; text++) {
        if (*text == '"')
            putc('"', out);
        putc(*text, out);
    }
    putc('"', out);
}

static void put_number(FILE *out, double value)
{
    char text[LINEAGE_NUMBER_MAX];
    put_cell(out, lineage_number_format(text, value), false);
}

static const struct lineage_param *find(const struct lineage_param *list, size_t n, const char *name)
{
    for (size_t i = 0; i < n; i++)
        if (strcmp(list[i].name, name) == 0)
            return &list[i];
    return NULL;
}

static void put_values(FILE *out, const char *const *names, const struct lineage_param *list, size_t n)
{
    for (; *names; names++) {
        const struct lineage_param *value = find(list, n, *names);
        if (value && !value->text)
            put_number(out, value->value);
        else
            put_cell(out, value ? value->text : "", false);
    }
}

static void put_column(FILE *out, const struct lineage_trial *trial, size_t i)
{
    const struct lineage_column *column = lineage_column(i);
    const void *member = (const char *)trial + column->offset;
    const char *text = lineage_trial_text(trial, i);
    const struct lineage_number *number = member;
    char digits[LINEAGE_NUMBER_MAX] = "";
    if (column->kind == LINEAGE_COLUMN_LABEL)
        text = lineage_label_name(trial->status);
    else if (column->kind == LINEAGE_COLUMN_NUMBER)
        text = number->present ? lineage_number_format(digits, number->value) : "";
    put_cell(out, text ? text : "", i == 0);
}

static void put_trial(void *context, const struct lineage_trial *trial)
{
    const struct names *names = context;
    const char *column;
    json_t *value;
    for (size_t i = 0; i < LINEAGE_N_COLUMNS; i++)
        put_column(names->out, trial, i);
    put_values(names->out, names->sorted[0], trial->params, trial->n_params);
    put_values(names->out, names->sorted[1], trial->metrics, trial->n_metrics);
    json_object_foreach(names->extras, column, value) {
        const char *text = "";
        for (size_t i = 0; i < trial->n_extras; i++)
            if (strcmp(trial->extras[i].column, column) == 0)
                text = trial->extras[i].text;
        put_cell(names->out, text, false);
    }
    fputs("\r\n", names->out);
}

static void put_header(const struct names *names)
{
    static const char *const prefixes[] = {"param.", "metric."};
    char text[LINEAGE_NAME_MAX + 16];
    const char *column;
    json_t *value;
    for (size_t i = 0; i < LINEAGE_N_COLUMNS; i++)
        put_cell(names->out, lineage_column(i)->name, i == 0);
    for (size_t k = 0; k < 2; k++)
        for (const char *const *name = names->sorted[k]; *name; name++) {
            snprintf(text, sizeof text, "%s%s", prefixes[k], *name);
            put_cell(names->out, text, false);
        }
    json_object_foreach(names->extras, column, value)
        put_cell(names->out, column, false);
    fputs("\r\n", names->out);
}

/* Writes one line a trial, in the order of the log. The columns of the table are the 17, then `param.NAME` and `metric.NAME` of
 * all trials in order of their names, and then the other columns of the file. Returns LINEAGE_EIO if it cannot be written. */
static enum lineage_status history_write_csv(struct lineage_store *store, FILE *out, struct lineage_error *err)
{
    struct names names = {.params = json_object(), .metrics = json_object(), .extras = json_object(), .out = out};
    enum lineage_status status = each_trial(store, note_names, &names, err);
    names.sorted[0] = sorted_names(names.params);
    names.sorted[1] = sorted_names(names.metrics);
    if (status == LINEAGE_OK && (names.failed || !names.sorted[0] || !names.sorted[1]))
        status = no_memory(err);
    if (status == LINEAGE_OK) {
        put_header(&names);
        status = each_trial(store, put_trial, &names, err);
    }
    free(names.sorted[0]);
    free(names.sorted[1]);
    json_decref(names.params);
    json_decref(names.metrics);
    json_decref(names.extras);
    return written(out, status, err);
}

struct lines {
    FILE *out;
    bool failed; /* memory ran out */
};

static void put_object(void *context, const struct lineage_trial *trial)
{
    struct lines *lines = context;
    json_t *object = cli_trial_json(trial);
    size_t length;
    char *text = object ? cli_json_compact(object, &length) : NULL;
    if (text)
        fprintf(lines->out, "%s\n", text);
    lines->failed |= !text;
    free(text);
    json_decref(object);
}

/* Writes each trial as an object on a line, as `show --format json` prints it. */
static enum lineage_status history_write_jsonl(struct lineage_store *store, FILE *out, struct lineage_error *err)
{
    struct lines lines = {.out = out};
    enum lineage_status status = each_trial(store, put_object, &lines, err);
    return written(out, status == LINEAGE_OK && lines.failed ? no_memory(err) : status, err);
}

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

static struct cli_session asked = {.before_open = check_format};
static struct export_options chosen;
static struct poptOption table[] = {
    CLI_DIR_OPTION(&asked.where.dir),
    {"output", 'o', POPT_ARG_STRING, &chosen.output, 0, "write to FILE, which is replaced as a whole or not at all", "FILE"},
    CLI_OPTION(
        "format", &chosen.format, "tsv|csv|jsonl",
        "tsv: every byte of the log (default); csv: a table with parameters and metrics as columns; jsonl: an object a line"),
    POPT_TABLEEND};

const struct cli_command cmd_export = {
    .name = "export",
    .arguments = "",
    .description = "Prints results.tsv byte for byte, damaged rows included, wherever the store keeps its\n"
                   "rows. `import --exact` makes a store with the same digests from it. The files beside the\n"
                   "rows (telemetry/, snapshots/, lineage_code/, logs/, provenance/, remarks.jsonl) must be\n"
                   "copied as files. --format csv and jsonl are for other programs and have sound rows only:\n"
                   "a table with a column for each parameter (param.NAME) and metric (metric.NAME), or the\n"
                   "object that `show --format json` prints on each line.",
    .examples = "  lineage export >copy.tsv\n  lineage -C postgres://host/lab/atpo export --output results.tsv\n"
                "  lineage export --format csv --output trials.csv",
    CLI_ON_STORE(asked, table, 0, 0, work, &chosen),
};
