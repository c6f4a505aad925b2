/*
 * read_table.c: a table with one run a line and the names of the columns in its first line, separated by commas or tabs, such as
 * the export of a table of Weights & Biases.
 *
 * What a column is, its name says, or COLUMN=ROLE: key, name, notes, state, started, ended, seconds, param, metric, or skip. A
 * column that neither describes is a setting.
 */
#include <csv.h>
#include <math.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <strings.h>

#include <lineage/text.h>

#include "cli.h"
#include "histories/readers.h"

enum { FILE_BYTES = 1 << 30 };

enum role { KEY, NAME, NOTES, STATE, STARTED, ENDED, SECONDS, PARAM, METRIC, SKIP, N_ROLES };
static const char *const role_names[N_ROLES] = {"key", "name", "notes", "state", "started", "ended", "seconds", "param", "metric", "skip"};

/* Usual names of columns, among them those of a table that W&B exports. */
static const struct {
    const char *name;
    enum role role;
} usual[] = {{"id", KEY},          {"run_id", KEY},     {"key", KEY},          {"name", NAME},       {"run_name", NAME},  {"hypothesis", NAME},
             {"notes", NOTES},     {"note", NOTES},     {"comment", NOTES},    {"state", STATE},     {"status", STATE},   {"created", STARTED},
             {"started", STARTED}, {"start_time", STARTED}, {"timestamp", STARTED}, {"ended", ENDED}, {"end_time", ENDED}, {"runtime", SECONDS},
             {"duration", SECONDS}, {"seconds", SECONDS}, {"user", SKIP},       {"tags", SKIP},       {"sweep", SKIP},     {"group", SKIP},
             {"job type", SKIP},   {"updated", SKIP},   {"end time", ENDED},   {"hostname", SKIP},   {"github", SKIP}};

struct table {
    json_t *history;
    const char *path, *const *map;
    char *why;
    char **columns;
    enum role *roles;
    size_t n_columns, column, line;
    json_t *run;
    bool failed, has_key;
};

static bool fail(struct table *t, const char *message, const char *what)
{
    if (!t->failed)
        history_fail(t->why, "%.200s:%zu: %s%.150s", t->path, t->line, message, what);
    t->failed = true;
    return false;
}

/* ---- the first line ---- */

static bool role_of(struct table *t, enum role *role, const char *column)
{
    *role = column[0] ? PARAM : SKIP; /* a table of pandas begins with a column without a name */
    for (size_t i = 0; i < sizeof usual / sizeof *usual; i++)
        if (strcasecmp(column, usual[i].name) == 0)
            *role = usual[i].role;
    for (const char *const *map = t->map; map && *map; map++) {
        const char *equals = strrchr(*map, '=');
        if ((size_t)(equals - *map) == strlen(column) && strncmp(*map, column, strlen(column)) == 0)
            for (size_t i = 0; i < N_ROLES; i++)
                if (strcmp(equals + 1, role_names[i]) == 0)
                    *role = (enum role)i;
    }
    return true;
}

static void add_column(struct table *t, const char *name)
{
    char **columns = realloc(t->columns, (t->n_columns + 1) * sizeof *columns);
    t->columns = columns ? columns : t->columns;
    enum role *roles = realloc(t->roles, (t->n_columns + 1) * sizeof *roles);
    t->roles = roles ? roles : t->roles;
    char *copy = columns && roles ? strdup(name) : NULL;
    if (!copy) {
        fail(t, "out of memory", "");
        return;
    }
    role_of(t, &t->roles[t->n_columns], copy);
    t->has_key = t->has_key || t->roles[t->n_columns] == KEY;
    t->columns[t->n_columns++] = copy;
}

/* Every COLUMN=ROLE must name a column and a role, because a misspelt one would be ignored silently. */
static bool check_map(struct table *t)
{
    for (const char *const *map = t->map; map && *map && !t->failed; map++) {
        const char *equals = strrchr(*map, '=');
        bool column = false, role = false;
        for (size_t i = 0; equals && i < t->n_columns; i++)
            column = column || (strlen(t->columns[i]) == (size_t)(equals - *map) && strncmp(t->columns[i], *map, (size_t)(equals - *map)) == 0);
        for (size_t i = 0; equals && i < N_ROLES; i++)
            role = role || strcmp(equals + 1, role_names[i]) == 0;
        if (!equals || !role)
            fail(t, "--map COLUMN=ROLE: ROLE is key, name, notes, state, started, ended, seconds, param, metric or skip, not ", equals ? equals + 1 : *map);
        else if (!column)
            fail(t, "there is no column for --map ", *map);
    }
    return !t->failed;
}

/* ---- the runs ---- */

static const char *state_of(const char *state)
{
    static const char *const states[][2] = {{"finished", "finished"}, {"complete", "finished"}, {"completed", "finished"}, {"success", "finished"},
                                            {"done", "finished"},     {"ok", "finished"},       {"", "finished"},          {"failed", "failed"},
                                            {"fail", "failed"},       {"error", "failed"},      {"crashed", "failed"},     {"crash", "failed"},
                                            {"killed", "killed"},     {"pruned", "pruned"},     {"running", "running"}};
    for (size_t i = 0; i < sizeof states / sizeof *states; i++)
        if (strcasecmp(state, states[i][0]) == 0)
            return states[i][1];
    return NULL;
}

static void take_number(struct table *t, const char *column, const char *text)
{
    double value;
    const bool none = !*text || strcasecmp(text, "none") == 0 || strcasecmp(text, "null") == 0;
    if (none)
        return;
    if (!lineage_number_parse(&value, text, strlen(text)))
        fail(t, "a metric is not a number: ", text);
    else
        history_set_metric(t->run, column, value);
}

static void take_cell(struct table *t, enum role role, const char *column, const char *text)
{
    double number;
    switch (role) {
    case KEY: history_set_text(t->run, "key", text); break;
    case NAME: history_set_text(t->run, "name", text); break;
    case NOTES: history_set_text(t->run, "notes", strcmp(text, "-") == 0 ? "" : text); break; /* W&B's empty cell */
    case STATE:
        if (state_of(text))
            history_set_text(t->run, "state", state_of(text));
        else
            fail(t, "the state is none of finished, failed, killed, pruned and running: ", text);
        break;
    case STARTED:
    case ENDED:
        if (*text && isnan(history_time(text, false)))
            fail(t, "a time is not written as 2026-11-23T15:38:17Z: ", text);
        history_set_time(t->run, role == STARTED ? "started" : "ended", history_time(text, false));
        break;
    case SECONDS:
        if (lineage_number_parse(&number, text, strlen(text)))
            history_set_time(t->run, "seconds", number);
        break;
    case PARAM: history_add_param_text(t->run, column, text); break;
    case METRIC: take_number(t, column, text); break;
    case SKIP:
    case N_ROLES: break;
    }
}

static void on_cell(void *cell, size_t length, void *context)
{
    struct table *t = context;
    char *text = t->failed ? NULL : malloc(length + 1);
    if (!text) {
        if (!t->failed)
            fail(t, "out of memory", "");
        return;
    }
    memcpy(text, cell ? cell : "", length);
    text[length] = '\0';
    char key[32];
    if (t->line == 1) {
        add_column(t, text + (t->n_columns == 0 && strncmp(text, "\xef\xbb\xbf", 3) == 0 ? 3 : 0));
    } else if (t->column < t->n_columns) {
        snprintf(key, sizeof key, "line %zu", t->line);
        if (!t->run)
            t->run = history_add_run(t->history, key);
        take_cell(t, t->roles[t->column], t->columns[t->column], text);
    } else {
        fail(t, "the line has more cells than the first one: ", text);
    }
    t->column++;
    free(text);
}

/* Without a column of keys, name and start tell runs apart, also after lines were added to the table; else the line does. */
static void make_key(struct table *t)
{
    const char *name = json_string_value(json_object_get(t->run, "name"));
    const json_t *started = json_object_get(t->run, "started");
    char key[256];
    if (t->has_key || !name)
        return;
    int n = snprintf(key, sizeof key, "%.200s", name);
    if (started)
        snprintf(key + n, sizeof key - (size_t)n, "@%.0f", json_number_value(started));
    history_set_text(t->run, "key", key);
}

static void on_line(int end, void *context)
{
    struct table *t = context;
    (void)end;
    if (t->run)
        make_key(t);
    if (t->line == 1 && !t->failed)
        check_map(t);
    t->column = 0;
    t->run = NULL;
    t->line++;
}

static unsigned char separator_of(const char *text)
{
    const size_t n = strcspn(text, "\r\n");
    return memchr(text, '\t', n) && !memchr(text, ',', n) ? '\t' : ',';
}

json_t *read_table(const char *path, const struct history_options *options, char why[HISTORY_WHY_MAX])
{
    size_t length;
    struct csv_parser parser;
    struct table t = {.path = path, .map = options->map, .why = why, .line = 1};
    char *text = history_file_text(path, FILE_BYTES, &length, why);
    t.history = text ? history_new("csv") : NULL;
    if (t.history && csv_init(&parser, CSV_STRICT | CSV_STRICT_FINI) == 0) {
        csv_set_delim(&parser, separator_of(text));
        bool parsed = csv_parse(&parser, text, length, on_cell, on_line, &t) == length && csv_fini(&parser, on_cell, on_line, &t) == 0;
        if (!parsed)
            fail(&t, "not a table: ", csv_strerror(csv_error(&parser)));
        csv_free(&parser);
    } else if (text) {
        fail(&t, "out of memory", "");
    }
    if (t.history && !t.failed && !json_array_size(json_object_get(t.history, "runs")))
        fail(&t, "the table has no line of a run", "");
    for (size_t i = 0; i < t.n_columns; i++)
        free(t.columns[i]);
    free(t.columns);
    free(t.roles);
    free(text);
    if (text && !t.failed)
        return t.history;
    json_decref(t.history);
    return NULL;
}
