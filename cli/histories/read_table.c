/*
 * read_table.c: a table with one run a line and the names of the columns in its first line, separated by commas or tabs, such as
 * exports of Weights & Biases, Optuna (trials_dataframe) and Ray (get_dataframe), and logs that agents keep.
 *
 * What a column is, its name says, or COLUMN=ROLE: key, name, notes, state, started, ended, seconds, param, metric, or skip. The
 * column that is named as the score is a metric. A column that none of these describes is a setting. Several keys are joined.
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

enum role { KEY, NAME, NOTES, STATE, STARTED, ENDED, SECONDS, PARAM, METRIC, SKIP, N_ROLES, METRIC_NAME = N_ROLES, METRIC_VALUE };
static const char *const role_names[N_ROLES] = {"key", "name", "notes", "state", "started", "ended", "seconds", "param", "metric", "skip"};

/* Usual names of columns. */
static const struct {
    const char *name;
    enum role role;
} usual[] = {{"id", KEY}, {"run_id", KEY}, {"key", KEY}, {"trial_id", KEY}, {"exp_id", KEY}, {"experiment_id", KEY}, {"episode_id", KEY}, {"iter", KEY},
             {"iteration", KEY}, {"name", NAME}, {"run_name", NAME}, {"hypothesis", NAME}, {"description", NAME}, {"title", NAME}, {"idea", NAME},
             {"notes", NOTES}, {"note", NOTES}, {"comment", NOTES}, {"state", STATE}, {"status", STATE}, {"created", STARTED}, {"created_at", STARTED},
             {"started", STARTED}, {"started_at", STARTED}, {"start_time", STARTED}, {"timestamp", STARTED}, {"datetime_start", STARTED}, {"ended", ENDED},
             {"end_time", ENDED}, {"end time", ENDED}, {"ended_at", ENDED}, {"datetime_complete", ENDED}, {"runtime", SECONDS}, {"duration", SECONDS},
             {"seconds", SECONDS}, {"time_total_s", SECONDS}, {"metric_name", METRIC_NAME}, {"metric_value", METRIC_VALUE}, {"memory_gb", METRIC},
             {"peak_vram_mb", METRIC}, {"max_staleness_steps", METRIC}, {"mean_staleness_steps", METRIC}, {"user", SKIP}, {"tags", SKIP}, {"sweep", SKIP},
             {"group", SKIP}, {"job type", SKIP}, {"updated", SKIP}, {"updated_at", SKIP}, {"hostname", SKIP}, {"github", SKIP}, {"commit", SKIP},
             {"checkpoint_dir_name", SKIP}, {"done", SKIP}, {"training_iteration", SKIP}, {"date", SKIP}, {"time_this_iter_s", SKIP}, {"pid", SKIP},
             {"node_ip", SKIP}, {"time_since_restore", SKIP}, {"iterations_since_restore", SKIP}, {"logdir", SKIP}, {"budget_mode", SKIP},
             {"budget_s", SKIP}, {"hardware_fingerprint", SKIP}, {"comparable", SKIP}, {"non_comparable_reason", SKIP}};

struct table {
    json_t *history;
    const char *path, *const *map;
    char *why;
    char **columns;
    enum role *roles;
    size_t n_columns, column, line;
    const char *metric; /* the column that is the score; NULL: not named */
    json_t *run;
    bool failed, has_key, run_has_key, has_value; /* has_value: there is a column metric_value */
    char metric_name[128], metric_value[64];
};

static bool fail(struct table *t, const char *message, const char *what)
{
    if (!t->failed)
        history_fail(t->why, "%.200s:%zu: %s%.150s", t->path, t->line, message, what);
    t->failed = true;
    return false;
}

/* ---- the first line ---- */

static bool has_column(const struct table *t, const char *name)
{
    for (size_t i = 0; i < t->n_columns; i++)
        if (strcmp(t->columns[i], name) == 0)
            return true;
    return false;
}

static enum role usual_role(const struct table *t, const char *column)
{
    const bool is_optuna = has_column(t, "number") && has_column(t, "state");
    if (is_optuna && strcmp(column, "number") == 0)
        return KEY;
    if (is_optuna && (strcmp(column, "value") == 0 || strncmp(column, "values_", 7) == 0))
        return METRIC;
    if (strncmp(column, "system_attrs_", 13) == 0 || strncmp(column, "user_attrs_", 11) == 0)
        return SKIP;
    if (has_column(t, "metric_value") && strcmp(column, "score") == 0)
        return SKIP; /* of autoresearch-rl: the negative value */
    for (size_t i = 0; i < sizeof usual / sizeof *usual; i++)
        if (strcasecmp(column, usual[i].name) == 0)
            return usual[i].role;
    if (has_column(t, "training_iteration") && has_column(t, "trial_id") && strncmp(column, "config/", 7) != 0)
        return METRIC; /* of Ray */
    return column[0] ? PARAM : SKIP; /* a table of pandas begins with a column without a name */
}

/* Called when all columns are known. */
static enum role role_of(const struct table *t, const char *column)
{
    enum role role = t->metric && strcmp(column, t->metric) == 0 ? METRIC : usual_role(t, column);
    for (const char *const *map = t->map; map && *map; map++) {
        const char *equals = strrchr(*map, '=');
        if ((size_t)(equals - *map) == strlen(column) && strncmp(*map, column, strlen(column)) == 0)
            for (size_t i = 0; i < N_ROLES; i++)
                if (strcmp(equals + 1, role_names[i]) == 0)
                    role = (enum role)i;
    }
    return role;
}

/* A column that is there twice, and two that would be the same of a run, are not chosen from. */
static void check_roles(struct table *t)
{
    for (size_t i = 0; i < t->n_columns && !t->failed; i++)
        for (size_t k = 0; k < i && !t->failed; k++) {
            const enum role role = t->roles[i];
            char text[240];
            snprintf(text, sizeof text, "%.60s and %.60s are both the %s; leave one out by --map %.30s=skip", t->columns[k], t->columns[i],
                     role < N_ROLES ? role_names[role] : "metric", t->columns[i]);
            if (role != SKIP && t->roles[k] != SKIP && t->columns[i][0] && strcmp(t->columns[i], t->columns[k]) == 0)
                fail(t, "the column is there twice; rename one of them: ", t->columns[i]);
            else if (role == t->roles[k] && role != KEY && role != PARAM && role != METRIC && role != SKIP && role != NOTES)
                fail(t, text, "");
        }
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

/* A table without a known score is refused with its columns, and with the option that would name the score. */
static void check_score(struct table *t)
{
    char names[330] = "";
    size_t length = 0;
    bool any = false;
    for (size_t i = 0; i < t->n_columns; i++) {
        any = any || t->roles[i] == METRIC || t->roles[i] == METRIC_VALUE;
        if (length < sizeof names && t->columns[i][0])
            length += (size_t)snprintf(names + length, sizeof names - length, "%s%.40s", length ? ", " : "", t->columns[i]);
    }
    if (!any && !t->failed && t->metric)
        t->failed = !history_fail(t->why, "%.100s has no column %.40s; its columns are: %.200s; name the score by --map COLUMN=metric", t->path, t->metric, names);
    else if (!any && !t->failed)
        t->failed = !history_fail(t->why, "%.100s: which column is the score? Name it by --map COLUMN=metric; the columns are: %.200s", t->path, names);
}

/* The only column that the user calls a metric is the score. */
static void set_mapped_score(struct table *t)
{
    size_t n = 0;
    const char *found = NULL;
    for (const char *const *map = t->map; map && *map && !t->failed; map++)
        if (strcmp(strrchr(*map, '='), "=metric") == 0)
            found = *map, n++;
    if (n == 1)
        json_object_set_new(t->history, "score", json_stringn(found, (size_t)(strrchr(found, '=') - found)));
}

static void take_header(struct table *t)
{
    for (size_t i = 0; i < t->n_columns; i++) {
        t->roles[i] = role_of(t, t->columns[i]);
        t->has_key = t->has_key || t->roles[i] == KEY;
        t->has_value = t->has_value || t->roles[i] == METRIC_VALUE;
    }
    /* A commit that several lines have is not a key, but better than none. */
    for (size_t i = 0; i < t->n_columns && !t->has_key; i++)
        if (strcmp(t->columns[i], "commit") == 0 && t->roles[i] == SKIP)
            t->roles[i] = KEY, t->has_key = true;
    if (check_map(t))
        check_roles(t);
    check_score(t);
    set_mapped_score(t);
}

/* ---- the runs ---- */

static void take_number(struct table *t, const char *column, const char *text)
{
    double value;
    const bool none = !*text || strcasecmp(text, "none") == 0 || strcasecmp(text, "null") == 0 || strcmp(text, "-") == 0;
    if (none)
        return;
    char more[200];
    snprintf(more, sizeof more, "%.60s; leave the column out by --map %.60s=skip", text, column);
    if (!lineage_number_parse(&value, text, strlen(text)))
        fail(t, "a metric is not a number: ", more);
    else
        history_set_metric(t->run, column, value);
}

/* As text, or as seconds or milliseconds since 1970. */
static void take_time(struct table *t, const char *member, const char *column, const char *text)
{
    double time = history_time(text, false), number;
    char more[200];
    if (lineage_number_parse(&number, text, strlen(text)) && number >= 1e8)
        time = number >= 1e11 ? number / 1000 : number;
    if (*text && isnan(time)) {
        snprintf(more, sizeof more, "%.60s; leave the column out by --map %.60s=skip", text, column);
        fail(t, "a time is not written as 2026-11-23T15:38:17Z or seconds since 1970: ", more);
    }
    history_set_time(t->run, member, time);
}

static void take_state(struct table *t, const char *column, const char *text)
{
    char more[200];
    if (history_state(text)) {
        history_set_text(t->run, "state", history_state(text));
        return;
    }
    snprintf(more, sizeof more, "%.60s; leave the column out by --map %.60s=skip", text, column);
    fail(t, "the state is none of finished, failed, killed, pruned and running: ", more);
}

static void take_key(struct table *t, const char *text)
{
    const char *before = t->run_has_key ? json_string_value(json_object_get(t->run, "key")) : NULL;
    char key[256];
    snprintf(key, sizeof key, "%.120s%s%.120s", before ? before : "", before ? "/" : "", text);
    history_set_text(t->run, "key", key);
    t->run_has_key = t->run_has_key || *text;
}

/* The settings of Optuna are params_NAME, those of Ray config/NAME. */
static const char *setting_name(const char *column)
{
    return strncmp(column, "params_", 7) == 0 && column[7] ? column + 7 : strncmp(column, "config/", 7) == 0 && column[7] ? column + 7 : column;
}

static void take_cell(struct table *t, enum role role, const char *column, const char *text)
{
    switch (role) {
    case KEY: take_key(t, text); break;
    case NAME: history_set_text(t->run, "name", text); break;
    case NOTES: history_set_text(t->run, "notes", strcmp(text, "-") == 0 ? "" : text); break; /* W&B's empty cell */
    case STATE: take_state(t, column, text); break;
    case STARTED: take_time(t, "started", column, text); break;
    case ENDED: take_time(t, "ended", column, text); break;
    case SECONDS:
        if (*text && isnan(history_seconds(text)))
            fail(t, "a duration is neither seconds nor 00:01:02: ", text);
        history_set_time(t->run, "seconds", history_seconds(text));
        break;
    case PARAM: history_add_param_text(t->run, setting_name(column), text); break;
    case METRIC: take_number(t, column, text); break;
    case METRIC_NAME: snprintf(t->metric_name, sizeof t->metric_name, "%s", text); break;
    case METRIC_VALUE: snprintf(t->metric_value, sizeof t->metric_value, "%s", text); break;
    case SKIP: break;
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

/* Keys of a column tell runs apart, but for numbers that each study of Optuna counts anew. Those, or else names, do with the start,
 * also after lines were added to the table. Without a start, a name may be that of another run, and a line is one of this file. */
static void make_key(struct table *t)
{
    const char *name = json_string_value(json_object_get(t->run, "name")), *key = json_string_value(json_object_get(t->run, "key"));
    const char *slash = strrchr(t->path, '/');
    const json_t *started = json_object_get(t->run, "started");
    const bool is_number = has_column(t, "number");
    char text[400];
    if (t->has_key && !is_number)
        return;
    if (started && (t->has_key || name))
        snprintf(text, sizeof text, "%.200s@%.0f", t->has_key ? key : name, json_number_value(started));
    else if (!t->has_key && name)
        snprintf(text, sizeof text, "%.200s", name);
    else
        snprintf(text, sizeof text, "%.200s/%.150s", slash ? slash + 1 : t->path, key);
    if (!started)
        json_object_set_new(t->run, "weak", json_true());
    history_set_text(t->run, "key", text);
}

static void end_run(struct table *t)
{
    const char *name = t->metric_name[0] ? t->metric_name : "metric_value", *score = json_string_value(json_object_get(t->history, "score"));
    if (t->has_value) {
        take_number(t, name, t->metric_value);
        if (!score && !json_object_get(t->history, "several"))
            history_set_text(t->history, "score", name);
        else if (score && strcmp(score, name) != 0) /* the user says which one */
            json_object_del(t->history, "score"), json_object_set_new(t->history, "several", json_true());
    }
    make_key(t);
    t->metric_name[0] = t->metric_value[0] = '\0';
    t->run_has_key = false;
}

static void on_line(int end, void *context)
{
    struct table *t = context;
    (void)end;
    if (t->run && !t->failed)
        end_run(t);
    if (t->line == 1 && !t->failed)
        take_header(t);
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
    struct table t = {.path = path, .map = options->map, .metric = options->metric, .why = why, .line = 1};
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
