/*
 * read_lightning.c: the folders of Lightning's CSVLogger: NAME/version_N/ with hparams.yaml, the settings, and metrics.csv, a line for each
 * step that was logged, whose cells are empty for what was not. Neither says when a run began, nor how it ended.
 */
#include <csv.h>

#include <lineage/text.h>

#include "histories/readers.h"

enum { FILE_BYTES = 1 << 30, COLUMNS = 512, LEVELS = 8, NAME = 256 };

struct steps {
    json_t *run;
    char *columns[COLUMNS];
    double values[COLUMNS];
    bool has[COLUMNS];
    size_t n_columns, column, line, damaged; /* damaged: the number of the first line that is; 0: none */
};

static void on_cell(void *cell, size_t length, void *context)
{
    struct steps *s = context;
    const size_t i = s->column++;
    const char *text = cell ? cell : "";
    if (i >= (s->line ? s->n_columns : COLUMNS)) {
        s->damaged = s->damaged ? s->damaged : s->line + 1;
    } else if (!s->line) {
        s->columns[i] = strndup(text, length);
        s->n_columns = i + !!s->columns[i];
    } else {
        s->has[i] = length > 0;
        if (length > 0 && !lineage_number_parse(&s->values[i], text, length) && !s->damaged)
            s->damaged = s->line + 1;
    }
}

/* Adds the metrics of a line at its end, because its step may be behind them. */
static void on_line(int end, void *context)
{
    struct steps *s = context;
    size_t step = 0;
    double at = (double)s->line;
    (void)end;
    while (step < s->n_columns && strcmp(s->columns[step], "step") != 0)
        step++;
    if (s->line > 0 && step < s->n_columns)
        at = s->has[step] ? s->values[step] : (double)NAN;
    if ((s->column < s->n_columns || !(fabs(at) <= 0x1p53) || at != floor(at)) && !s->damaged)
        s->damaged = s->line + 1;
    for (size_t i = 0; s->line > 0 && i < s->n_columns && !s->damaged; i++)
        if (s->has[i] && i != step && strcmp(s->columns[i], "epoch") != 0)
            history_add_point(s->run, s->columns[i], (int64_t)at, s->values[i]);
    memset(s->has, 0, sizeof s->has);
    s->column = 0;
    s->line++;
}

/* A last line without an end was cut off, and its last number, too: its writer was killed, or is still writing. */
static bool read_metrics(json_t *history, json_t *run, const char *path, char why[HISTORY_WHY_MAX])
{
    struct csv_parser parser;
    struct steps *s = calloc(1, sizeof *s);
    size_t length = 0;
    char *text = s ? history_file_text(path, FILE_BYTES, &length, why) : NULL;
    bool good = text && csv_init(&parser, 0) == 0;
    if (good) {
        s->run = run;
        if (length > 0 && text[length - 1] != '\n')
            history_leave_out(history, "last lines of metrics.csv, which were cut off,");
        while (length > 0 && text[length - 1] != '\n')
            length--;
        good = csv_parse(&parser, text, length, on_cell, on_line, s) == length && csv_fini(&parser, on_cell, on_line, s) == 0 &&
               !s->damaged;
        if (!good)
            history_fail(
                why, "%.300s:%zu: not a line of numbers, at a whole step, as the CSVLogger writes it; mend or remove the line",
                path, s->damaged ? s->damaged : s->line + 1);
        csv_free(&parser);
    }
    for (size_t i = 0; s && i < s->n_columns; i++)
        free(s->columns[i]);
    free(text);
    free(s);
    return good;
}

bool history_yaml_settings(json_t *history, json_t *run, const char *path, char why[HISTORY_WHY_MAX])
{
    char parents[LEVELS][NAME], last[NAME] = "-";
    size_t indents[LEVELS] = {0}, depth = 0, length, at = 0;
    bool closed = false; /* the last setting has its value */
    json_t *left_out = json_object_get(history, "settings_left_out");
    char *text = history_file_text(path, FILE_BYTES, &length, why), *rest = text;
    for (char *line; rest && (line = strsep(&rest, "\n"));) {
        const size_t indent = strspn(line, " ");
        char *key = line + indent, *colon = strchr(key, ':');
        history_yaml_cut(key, key + strlen(key));
        if (!*key || *key == '#' || strcmp(key, "{}") == 0 || strcmp(key, "---") == 0)
            continue;
        while (colon && colon[1] && colon[1] != ' ')
            colon = strchr(colon + 1, ':');
        const bool is_odd = strchr("'\"?|>&*{[!%@`", *key), is_item = *key == '-' && (!key[1] || key[1] == ' '),
                   goes_on = (closed && indent > at) || is_item || colon == key || (!colon && !is_odd);
        bool read = false;
        if (goes_on) {
            json_object_del(json_object_get(run, "params"), last);
            at = closed && at < indent ? at : indent;
        } else {
            while (depth > 0 && indents[depth - 1] >= indent)
                depth--;
            const int n = snprintf(last, NAME, "%s%s%.*s", depth ? parents[depth - 1] : "", depth ? "." : "",
                                   (int)(colon ? colon - key : NAME), key);
            char *value = colon ? colon + 1 + strspn(colon + 1, " ") : key;
            read = !is_odd && n < NAME && depth < LEVELS;
            at = indent;
            if (read && (!*value || *value == '#')) {
                memcpy(parents[depth], last, NAME);
                indents[depth++] = indent;
                closed = false;
                continue;
            }
            const bool none = strcmp(value, "null") == 0 || strcmp(value, "~") == 0;
            read = read && history_yaml_scalar(value);
            if (read && !none)
                history_add_param_text(run, last, value);
        }
        closed = true;
        if (!read)
            json_object_set_new(left_out, last, json_true());
    }
    free(text);
    return text != NULL;
}

json_t *read_lightning(const char *path, const struct history_options *options, char why[HISTORY_WHY_MAX])
{
    const char *slash = strrchr(path, '/');
    char folder[PATH_MAX]; /* of metrics.csv, if that is given */
    const bool is_file = cli_ends_with(path, "metrics.csv");
    snprintf(folder, sizeof folder, "%.*s", is_file && slash ? (int)(slash - path) + (slash == path) : PATH_MAX - 1,
             is_file && !slash ? "." : path);
    FTS *tree = history_tree(folder, why);
    json_t *history = history_without_ends("lightning");
    bool good = tree != NULL;
    (void)options;
    for (FTSENT *file; good && (file = history_entry(tree, is_file ? 1 : INT_MAX));) {
        char metrics[PATH_MAX], place[PATH_MAX];
        struct stat st;
        if (is_file && file->fts_info == FTS_D && file->fts_level > 0)
            continue;
        snprintf(metrics, sizeof metrics, "%s/hparams.yaml", file->fts_path);
        if (file->fts_info == FTS_D && strncmp(file->fts_name, "version_", 8) == 0 && stat(metrics, &st) != 0)
            history_leave_out(history, "versions without hparams.yaml");
        if (file->fts_info != FTS_F || strcmp(file->fts_name, "hparams.yaml") != 0)
            continue;
        snprintf(metrics, sizeof metrics, "%.*smetrics.csv", (int)(file->fts_pathlen - file->fts_namelen), file->fts_path);
        if (stat(metrics, &st) != 0) {
            history_leave_out(history, "runs without metrics.csv");
            continue;
        }
        const char *key = history_place(place, file->fts_path, file->fts_pathlen - file->fts_namelen, false);
        json_t *run = key ? history_add_run(history, key) : history_fail(why, "cannot resolve %.300s", file->fts_path);
        history_set_text(run, "name", key);
        json_object_set_new(run, "weak", json_true()); /* each project has a version_0 */
        good = run && history_yaml_settings(history, run, file->fts_path, why) && read_metrics(history, run, metrics, why);
    }
    history_leave(tree);
    return history_done(history, NULL, NULL, good);
}
