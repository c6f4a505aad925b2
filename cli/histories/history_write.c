/* history_write.c: see history_write.h. */
#include "histories/history_write.h"

#include <stdlib.h>
#include <string.h>

#include <lineage/move.h>
#include <lineage/query.h>
#include <lineage/text.h>

#include "cli.h"

/* ---- every trial ---- */

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

/* ---- a table ---- */

/* The names of parameters, metrics and other columns that any trial has, as members of objects. */
struct names {
    json_t *params, *metrics, *extras;
    const char **sorted[2];
    FILE *out;
};

static void note_names(void *context, const struct lineage_trial *trial)
{
    struct names *names = context;
    for (size_t i = 0; i < trial->n_params; i++)
        json_object_set_new(names->params, trial->params[i].name, json_true());
    for (size_t i = 0; i < trial->n_metrics; i++)
        json_object_set_new(names->metrics, trial->metrics[i].name, json_true());
    for (size_t i = 0; i < trial->n_extras; i++)
        json_object_set_new(names->extras, trial->extras[i].column, json_true());
}

static int by_text(const void *a, const void *b)
{
    return strcmp(*(const char *const *)a, *(const char *const *)b);
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
        qsort(list, n, sizeof *list, by_text);
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

enum lineage_status history_write_csv(struct lineage_store *store, FILE *out, struct lineage_error *err)
{
    struct names names = {.params = json_object(), .metrics = json_object(), .extras = json_object(), .out = out};
    enum lineage_status status = each_trial(store, note_names, &names, err);
    names.sorted[0] = sorted_names(names.params);
    names.sorted[1] = sorted_names(names.metrics);
    if (status == LINEAGE_OK && (!names.sorted[0] || !names.sorted[1])) {
        err->status = status = LINEAGE_ENOMEM;
        snprintf(err->text, sizeof err->text, "out of memory");
    }
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

/* ---- JSON lines ---- */

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

enum lineage_status history_write_jsonl(struct lineage_store *store, FILE *out, struct lineage_error *err)
{
    return written(out, each_trial(store, put_object, out, err), err);
}
