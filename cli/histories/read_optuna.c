/*
 * read_optuna.c: what Optuna stores: an SQLite file (tables of its versions 2 to 5), or the journal of JournalFileBackend, which has
 * a JSON object a line. A categorical setting is stored as the index of a choice, and the choices in the JSON of its distribution.
 */
#include "histories/readers.h"

#define VALUE "value" /* the name of the score; further objectives are value_1, value_2 .. */
#define STEPS "intermediate"
#define CONSTRAINT "constraints"
#define METRIC_NAMES "study:metric_names"

/* ---- what both stores have ---- */

/* The name of an objective: of set_metric_names, or value, value_1 .. */
static const char *objective_name(char out[64], const json_t *history, size_t objective)
{
    const char *alias;
    snprintf(out, 64, objective ? VALUE "_%zu" : VALUE, objective);
    alias = json_string_value(json_object_get(json_object_get(history, "aliases"), out));
    return alias ? alias : out;
}

/* Called before directions and values are set, so that all of them have these names. */
static void set_names(json_t *history, const json_t *names)
{
    char name[64];
    size_t i;
    json_t *alias;
    json_array_foreach((json_t *)(uintptr_t)names, i, alias) {
        objective_name(name, NULL, i);
        json_object_set(json_object_get(history, "aliases"), name, alias);
    }
}

/* With several objectives the user says which one is the score. */
static void set_objective(json_t *history, size_t objective, bool maximize)
{
    char out[64];
    const char *name = objective_name(out, history, objective);
    history_set_direction(history, name, maximize);
    if (objective == 0)
        history_set_text(history, "score", name);
    else
        json_object_del(history, "score");
}

static void set_value(json_t *history, json_t *run, size_t objective, double value)
{
    char out[64];
    history_set_metric(run, objective_name(out, history, objective), value);
}

static void add_setting(json_t *run, const char *name, double value, const char *distribution)
{
    json_t *shape = history_json(distribution), *choices = json_object_get(json_object_get(shape, "attributes"), "choices");
    json_t *choice = value >= 0 ? json_array_get(choices, (size_t)value) : NULL;
    if (json_is_null(choice))
        history_add_param_text(run, name, "None");
    else
        history_add_param(run, name, choice ? json_incref(choice) : json_real(value));
    json_decref(shape);
}

/* A list of numbers under the key `constraints` (constraints_func), or one number under `constraints:NAME` (set_constraint of
 * version 5). A value above 0 is a violation. */
static void add_attribute(json_t *run, const char *key, const json_t *value)
{
    char text[200];
    const json_t *one;
    size_t i;
    double number;
    if (strncmp(key, CONSTRAINT, sizeof CONSTRAINT - 1) != 0 || (key[sizeof CONSTRAINT - 1] && key[sizeof CONSTRAINT - 1] != ':'))
        return;
    json_array_foreach(value, i, one)
        add_attribute(run, key, one);
    if (!history_number(&number, value) || number <= 0)
        return;
    snprintf(text, sizeof text, "the constraint%s%.60s is not met (%.6g, at most 0 is allowed)",
             key[sizeof CONSTRAINT - 1] ? " " : "", key + sizeof CONSTRAINT - 1 + (key[sizeof CONSTRAINT - 1] == ':'), number);
    history_set_text(run, "broken", text);
}

/* A number that the user noted about a trial was measured, unless it has the name of an objective. */
static void add_note(json_t *history, json_t *run, const char *key, const json_t *value)
{
    double number;
    if (!history_number(&number, value))
        history_leave_out(history, "user attributes that are not numbers");
    else if (strcmp(key, STEPS) != 0 && !json_object_get(json_object_get(history, "directions"), key))
        history_set_metric(run, key, number);
}

static void set_number(json_t *run, const char *number)
{
    char name[64];
    snprintf(name, sizeof name, "trial %.40s", number);
    history_set_text(run, "name", name);
    history_set_text(run, "key", number);
}

/* ---- an SQLite file ---- */

struct study {
    sqlite3 *db;
    const char *path;
    json_t *history, *index;
    char id[64];
    char *why;
    bool local; /* times are local; they are UTC since version 5 */
};

/* Calls take with each row of a query about the study; the first column is the id of a trial. */
static bool each_row(struct study *s, const char *sql, void (*take)(struct study *s, json_t *run, struct query *row))
{
    struct query query = history_ask(s->db, s->path, s->why, sql, s->id);
    while (history_next(&query))
        take(s, json_object_get(s->index, history_column(&query, 0)), &query);
    return history_end(&query);
}

static void take_version(struct study *s, json_t *run, struct query *row)
{
    (void)run;
    history_set_text(s->history, "version", history_column(row, 1));
    s->local = atoi(history_column(row, 1)) < 5;
}

static void take_names(struct study *s, json_t *run, struct query *row)
{
    json_t *names = history_json(history_column(row, 1));
    (void)run;
    set_names(s->history, names);
    json_decref(names);
}

static void take_direction(struct study *s, json_t *run, struct query *row)
{
    (void)run;
    set_objective(s->history, (size_t)sqlite3_column_int64(row->stmt, 2), strcmp(history_column(row, 1), "MAXIMIZE") == 0);
}

static void take_trial(struct study *s, json_t *run, struct query *row)
{
    run = history_run_of(s->history, s->index, history_column(row, 0));
    set_number(run, history_column(row, 1));
    history_set_state(run, history_column(row, 2), "running");
    history_set_time(run, "started", history_time(history_column(row, 3), s->local));
    history_set_time(run, "ended", history_time(history_column(row, 4), s->local));
}

static void take_setting(struct study *s, json_t *run, struct query *row)
{
    (void)s;
    add_setting(run, history_column(row, 1), sqlite3_column_double(row->stmt, 2), history_column(row, 3));
}

/* From version 3 on infinite values are words in a column of their own. */
static double value_of(struct query *row)
{
    const char *kind = history_column(row, 3);
    if (strncmp(kind, "INF", 3) == 0)
        return strcmp(kind, "INF_NEG") == 0 ? -(double)INFINITY : (double)INFINITY;
    return sqlite3_column_type(row->stmt, 2) == SQLITE_NULL ? (double)NAN : sqlite3_column_double(row->stmt, 2);
}

static void take_value(struct study *s, json_t *run, struct query *row)
{
    set_value(s->history, run, (size_t)sqlite3_column_int64(row->stmt, 1), value_of(row));
}

static void take_step(struct study *s, json_t *run, struct query *row)
{
    (void)s;
    history_add_point(run, STEPS, sqlite3_column_int64(row->stmt, 1), value_of(row));
}

static void take_attribute(struct study *s, json_t *run, struct query *row)
{
    json_t *value = history_json(history_column(row, 2));
    (void)s;
    add_attribute(run, history_column(row, 1), value);
    json_decref(value);
}

static void take_note(struct study *s, json_t *run, struct query *row)
{
    json_t *value = history_json(history_column(row, 2));
    add_note(s->history, run, history_column(row, 1), value);
    json_decref(value);
}

#define OF_STUDY " JOIN trials t USING (trial_id) WHERE study_id = ?1"

static bool read_tables(struct study *s)
{
    const char *value = !history_has_column(s->db, "trial_values", "objective")
                            ? "SELECT trial_id, 0, value, '' FROM trial_values" OF_STUDY
                        : history_has_column(s->db, "trial_values", "value_type")
                            ? "SELECT trial_id, objective, value, value_type FROM trial_values" OF_STUDY
                            : "SELECT trial_id, objective, value, '' FROM trial_values" OF_STUDY;
    const char *step =
        history_has_column(s->db, "trial_intermediate_values", "intermediate_value_type")
            ? "SELECT trial_id, step, intermediate_value, intermediate_value_type FROM trial_intermediate_values" OF_STUDY
              " ORDER BY trial_id, step"
            : "SELECT trial_id, step, intermediate_value, '' FROM trial_intermediate_values" OF_STUDY " ORDER BY trial_id, step";
    const bool steps = history_has_column(s->db, "trial_intermediate_values", "step");
    s->local = true;
    return (!history_has_column(s->db, "version_info", "library_version") ||
            each_row(s, "SELECT 0, library_version FROM version_info WHERE ?1 IS NOT NULL", take_version)) &&
           (!history_has_column(s->db, "study_system_attributes", "key") ||
            each_row(s, "SELECT 0, value_json FROM study_system_attributes WHERE study_id = ?1 AND key = '" METRIC_NAMES "'",
                     take_names)) &&
           each_row(s, "SELECT 0, direction, objective FROM study_directions WHERE study_id = ?1 ORDER BY objective",
                    take_direction) &&
           each_row(s,
                    "SELECT trial_id, number, state, datetime_start, datetime_complete FROM trials WHERE study_id = ?1 ORDER BY "
                    "number",
                    take_trial) &&
           each_row(s,
                    "SELECT trial_id, param_name, param_value, distribution_json FROM trial_params" OF_STUDY " ORDER BY param_id",
                    take_setting) &&
           each_row(s, value, take_value) && (!steps || each_row(s, step, take_step)) &&
           (!history_has_column(s->db, "trial_system_attributes", "key") ||
            each_row(s, "SELECT trial_id, key, value_json FROM trial_system_attributes" OF_STUDY, take_attribute)) &&
           (!history_has_column(s->db, "trial_user_attributes", "key") ||
            each_row(s, "SELECT trial_id, key, value_json FROM trial_user_attributes" OF_STUDY " ORDER BY trial_id, key",
                     take_note));
}

json_t *read_optuna(const char *path, const struct history_options *options, char why[HISTORY_WHY_MAX])
{
    struct study s = {
        .db = history_database(path, why), .path = path, .history = history_new("optuna"), .index = json_object(), .why = why};
    bool good = s.db &&
                history_choose(s.id, s.history, s.db, path, "study", "SELECT study_id, study_name FROM studies ORDER BY study_id",
                               options, why) &&
                read_tables(&s);
    return history_done(s.history, s.index, s.db, good);
}

/* ---- a journal ---- */

enum {
    CREATE_STUDY,
    DELETE_STUDY,
    STUDY_USER,
    STUDY_SYSTEM,
    CREATE_TRIAL,
    SET_PARAM,
    SET_STATE,
    SET_STEP,
    TRIAL_USER,
    TRIAL_SYSTEM
};

struct journal {
    json_t *history;
    json_t *studies; /* a list by id; each is {"name": .., "trials": n}, or null if it was deleted */
    json_t *trials;  /* a list of runs by id; null for those of other studies */
    const char *wanted;
    long long chosen; /* id of the study; -1: not found yet */
    char names[256];
};

static const char *const states[] = {"RUNNING", "COMPLETE", "PRUNED", "FAIL", "WAITING"};

static void journal_study(struct journal *j, const json_t *line)
{
    const char *name = json_string_value(json_object_get(line, "study_name"));
    const json_t *direction, *study;
    size_t i;
    json_array_foreach(j->studies, i, study)
        if (name && json_is_string(json_object_get(study, "name")) &&
            strcmp(json_string_value(json_object_get(study, "name")), name) == 0)
            return; /* a process that lost the race to make the study */
    json_array_append_new(j->studies, json_pack("{s:s, s:i}", "name", name ? name : "", "trials", 0));
    if (j->wanted ? !name || strcmp(name, j->wanted) != 0 : j->chosen >= 0)
        return;
    j->chosen = (long long)json_array_size(j->studies) - 1;
    history_set_text(j->history, "study", name);
    json_array_foreach(json_object_get(line, "directions"), i, direction)
        set_objective(j->history, i, json_integer_value(direction) == 2);
}

static void set_values(json_t *history, json_t *run, const json_t *values)
{
    const json_t *value;
    size_t i;
    double number;
    json_array_foreach(values, i, value)
        if (history_number(&number, value))
            set_value(history, run, i, number);
}

static void journal_state(json_t *history, json_t *run, const json_t *line)
{
    const json_int_t state = json_integer_value(json_object_get(line, "state"));
    if (state >= 0 && state < (json_int_t)(sizeof states / sizeof *states))
        history_set_state(run, states[state], "running");
    history_set_time(run, "started", history_time(json_string_value(json_object_get(line, "datetime_start")), true));
    history_set_time(run, "ended", history_time(json_string_value(json_object_get(line, "datetime_complete")), true));
    set_values(history, run, json_object_get(line, "values"));
}

static void journal_attributes(json_t *history, json_t *run, const json_t *system, const json_t *user)
{
    const char *key;
    json_t *value;
    json_object_foreach((json_t *)(uintptr_t)system, key, value)
        add_attribute(run, key, value);
    json_object_foreach((json_t *)(uintptr_t)user, key, value)
        add_note(history, run, key, value);
}

/* A trial that was added whole (add_trial, enqueue_trial) has all of it in this line. */
static void journal_trial(struct journal *j, const json_t *line)
{
    const json_t *study = json_array_get(j->studies, (size_t)json_integer_value(json_object_get(line, "study_id")));
    const json_int_t n = json_integer_value(json_object_get(study, "trials"));
    const char *name, *step;
    json_t *run = NULL, *value, *distributions = json_object_get(line, "distributions");
    char number[32];
    double one;
    if (!json_is_object(study))
        return;
    json_object_set_new((json_t *)(uintptr_t)study, "trials", json_integer(n + 1));
    if (json_integer_value(json_object_get(line, "study_id")) == j->chosen) {
        snprintf(number, sizeof number, "%lld", (long long)n);
        run = history_add_run(j->history, number);
        set_number(run, number);
        history_set_text(run, "state", "running");
        journal_state(j->history, run, line);
        if (history_number(&one, json_object_get(line, "value")))
            set_value(j->history, run, 0, one);
        json_object_foreach(json_object_get(line, "params"), name, value) {
            const char *shape = json_string_value(json_object_get(distributions, name));
            if (json_is_number(value))
                add_setting(run, name, json_number_value(value), shape ? shape : "");
        }
        json_object_foreach(json_object_get(line, "intermediate_values"), step, value)
            if (history_number(&one, value))
                history_add_point(run, STEPS, strtoll(step, NULL, 10), one);
        journal_attributes(j->history, run, json_object_get(line, "system_attrs"), json_object_get(line, "user_attrs"));
    }
    json_array_append_new(j->trials, run ? json_incref(run) : json_null());
}

/* Optuna ignores lines about a trial that has ended, and the second of two workers that take the same waiting trial. */
static void journal_change(struct journal *j, int code, const json_t *line)
{
    json_t *run = json_array_get(j->trials, (size_t)json_integer_value(json_object_get(line, "trial_id")));
    const char *name = json_string_value(json_object_get(line, "param_name")),
               *shape = json_string_value(json_object_get(line, "distribution"));
    double number;
    if (!json_is_object(run) || strcmp(json_string_value(json_object_get(run, "state")), "running") != 0)
        return;
    if (code == SET_PARAM && name && history_number(&number, json_object_get(line, "param_value_internal")))
        add_setting(run, name, number, shape ? shape : "");
    else if (code == SET_STATE)
        journal_state(j->history, run, line);
    else if (code == SET_STEP && history_number(&number, json_object_get(line, "intermediate_value")))
        history_add_point(run, STEPS, json_integer_value(json_object_get(line, "step")), number);
    else if (code == TRIAL_SYSTEM || code == TRIAL_USER)
        journal_attributes(j->history, run, json_object_get(line, "system_attr"), json_object_get(line, "user_attr"));
}

static void journal_delete(struct journal *j, size_t study)
{
    json_array_set_new(j->studies, study, json_null());
    if ((long long)study != j->chosen)
        return;
    j->chosen = -1;
    json_array_clear(json_object_get(j->history, "runs"));
    json_object_clear(json_object_get(j->history, "aliases"));
    json_object_clear(json_object_get(j->history, "directions"));
}

static bool take_line(void *context, json_t *line)
{
    struct journal *j = context;
    const int code = (int)json_integer_value(json_object_get(line, "op_code"));
    const size_t study = (size_t)json_integer_value(json_object_get(line, "study_id"));
    if (code == CREATE_STUDY)
        journal_study(j, line);
    else if (code == DELETE_STUDY)
        journal_delete(j, study);
    else if (code == STUDY_SYSTEM && (long long)study == j->chosen)
        set_names(j->history, json_object_get(json_object_get(line, "system_attr"), METRIC_NAMES));
    else if (code == CREATE_TRIAL)
        journal_trial(j, line);
    else
        journal_change(j, code, line);
    return true;
}

/* Names that a study gets after its first trials are those of all its values. */
static void rename_objectives(json_t *history)
{
    json_t *aliases = json_object_get(history, "aliases"), *value, *run, *alias,
           *directions = json_object_get(history, "directions");
    const char *name, *score = json_string_value(json_object_get(history, "score"));
    size_t i;
    json_object_foreach(aliases, name, alias) {
        if ((value = json_object_get(directions, name))) {
            json_object_set(directions, json_string_value(alias), value);
            json_object_del(directions, name);
        }
        if (score && strcmp(score, name) == 0)
            json_object_set(history, "score", alias);
        json_array_foreach(json_object_get(history, "runs"), i, run)
            if ((value = json_object_get(json_object_get(run, "metrics"), name))) {
                json_object_set(json_object_get(run, "metrics"), json_string_value(alias), value);
                json_object_del(json_object_get(run, "metrics"), name);
            }
    }
}

static bool check_studies(struct journal *j, const char *path, char why[HISTORY_WHY_MAX])
{
    const json_t *study;
    size_t i, n = 0, length = 0;
    json_array_foreach(j->studies, i, study)
        if (json_is_object(study) && length < sizeof j->names)
            n++, length += (size_t)snprintf(j->names + length, sizeof j->names - length, "%s%.60s", length ? ", " : "",
                                            json_string_value(json_object_get(study, "name")));
    if (n > 1 && !j->wanted)
        history_fail(why, "%.150s has several; choose one by --study: %.250s", path, j->names);
    else if (j->chosen < 0 || !json_is_object(json_array_get(j->studies, (size_t)j->chosen)))
        history_fail(why, "%.150s has no study%s%.60s%s%.200s", path, j->wanted ? " " : "", j->wanted ? j->wanted : "",
                     n ? ", but: " : "", j->names);
    else
        return true;
    return false;
}

json_t *read_optuna_journal(const char *path, const struct history_options *options, char why[HISTORY_WHY_MAX])
{
    struct journal j = {.history = history_new("optuna"),
                        .studies = json_array(),
                        .trials = json_array(),
                        .wanted = options->study,
                        .chosen = -1};
    const bool good = history_each_value(path, take_line, &j, why) && check_studies(&j, path, why);
    if (good)
        rename_objectives(j.history);
    json_decref(j.studies);
    json_decref(j.trials);
    return history_done(j.history, NULL, NULL, good);
}
