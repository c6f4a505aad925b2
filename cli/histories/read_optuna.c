/*
 * read_optuna.c: the SQLite storage of Optuna (tables of its versions 2 to 4). A categorical setting is stored as the index of a
 * choice, and the choices in the JSON of its distribution.
 */
#include <math.h>
#include <stdio.h>
#include <string.h>

#include "histories/readers.h"

#define VALUE "value" /* the name of the score; further objectives are value_1, value_2 .. */
#define STEPS "intermediate"

static const char *state_of(const char *state)
{
    return strcmp(state, "COMPLETE") == 0 ? "finished"
           : strcmp(state, "PRUNED") == 0 ? "pruned"
           : strcmp(state, "FAIL") == 0   ? "failed"
                                          : "running";
}

static bool read_trials(json_t *history, json_t *index, sqlite3 *db, const char *path, const char *study, char why[HISTORY_WHY_MAX])
{
    bool failed = false;
    char name[64];
    sqlite3_stmt *stmt = history_query(db, path, why,
                                       "SELECT trial_id, number, state, datetime_start, datetime_complete FROM trials"
                                       " WHERE study_id = ?1 ORDER BY number", study, NULL);
    while (history_next(stmt, path, &failed, why)) {
        json_t *run = history_run_of(history, index, history_column(stmt, 0));
        snprintf(name, sizeof name, "trial %.40s", history_column(stmt, 1));
        history_set_text(run, "name", name);
        history_set_text(run, "key", history_column(stmt, 1));
        history_set_text(run, "state", state_of(history_column(stmt, 2)));
        history_set_time(run, "started", history_time(history_column(stmt, 3), true));
        history_set_time(run, "ended", history_time(history_column(stmt, 4), true));
    }
    sqlite3_finalize(stmt);
    return !failed;
}

static void add_setting(json_t *run, sqlite3_stmt *stmt)
{
    const char *name = history_column(stmt, 1);
    json_t *distribution = json_loads(history_column(stmt, 3), 0, NULL);
    json_t *choices = json_object_get(json_object_get(distribution, "attributes"), "choices");
    json_t *choice = json_array_get(choices, (size_t)sqlite3_column_int64(stmt, 2));
    history_add_param(run, name, choice ? json_incref(choice) : json_real(sqlite3_column_double(stmt, 2)));
    json_decref(distribution);
}

static bool read_settings(json_t *index, sqlite3 *db, const char *path, const char *study, char why[HISTORY_WHY_MAX])
{
    bool failed = false;
    sqlite3_stmt *stmt = history_query(db, path, why,
                                       "SELECT p.trial_id, param_name, param_value, distribution_json FROM trial_params p"
                                       " JOIN trials t ON t.trial_id = p.trial_id WHERE study_id = ?1 ORDER BY p.param_id", study, NULL);
    while (history_next(stmt, path, &failed, why))
        add_setting(json_object_get(index, history_column(stmt, 0)), stmt);
    sqlite3_finalize(stmt);
    return !failed;
}

/* From version 3 on infinite values are words in a column of their own. */
static double value_of(sqlite3_stmt *stmt)
{
    bool none = sqlite3_column_type(stmt, 2) == SQLITE_NULL;
    return none || strncmp(history_column(stmt, 3), "INF", 3) == 0 ? (double)NAN : sqlite3_column_double(stmt, 2);
}

static bool read_values(json_t *index, sqlite3 *db, const char *path, const char *study, char why[HISTORY_WHY_MAX])
{
    const bool typed = history_has_column(db, "trial_values", "value_type");
    bool failed = false;
    char name[64];
    sqlite3_stmt *stmt = history_query(db, path, why,
                                       typed ? "SELECT v.trial_id, objective, value, value_type FROM trial_values v"
                                               " JOIN trials t ON t.trial_id = v.trial_id WHERE study_id = ?1"
                                             : "SELECT v.trial_id, objective, value, '' FROM trial_values v"
                                               " JOIN trials t ON t.trial_id = v.trial_id WHERE study_id = ?1", study, NULL);
    while (history_next(stmt, path, &failed, why)) {
        snprintf(name, sizeof name, sqlite3_column_int(stmt, 1) ? VALUE "_%d" : VALUE, sqlite3_column_int(stmt, 1));
        history_set_metric(json_object_get(index, history_column(stmt, 0)), name, value_of(stmt));
    }
    sqlite3_finalize(stmt);
    return !failed;
}

static bool read_steps(json_t *index, sqlite3 *db, const char *path, const char *study, char why[HISTORY_WHY_MAX])
{
    bool failed = false;
    if (!history_has_column(db, "trial_intermediate_values", "step"))
        return true;
    sqlite3_stmt *stmt = history_query(db, path, why,
                                       "SELECT v.trial_id, step, intermediate_value, '' FROM trial_intermediate_values v"
                                       " JOIN trials t ON t.trial_id = v.trial_id WHERE study_id = ?1 ORDER BY v.trial_id, step", study, NULL);
    while (history_next(stmt, path, &failed, why)) {
        json_t *run = json_object_get(index, history_column(stmt, 0));
        history_add_point(run, STEPS, sqlite3_column_int64(stmt, 1), value_of(stmt));
    }
    sqlite3_finalize(stmt);
    return !failed;
}

json_t *read_optuna(const char *path, const struct history_options *options, char why[HISTORY_WHY_MAX])
{
    char study[64];
    bool failed = false;
    sqlite3 *db = history_database(path, why);
    json_t *history = history_new("optuna"), *index = json_object();
    bool good = db && history_choose(study, history, db, path, "study", "SELECT study_id, study_name FROM studies ORDER BY study_id", options, why);
    sqlite3_stmt *stmt = good ? history_query(db, path, why, "SELECT direction FROM study_directions WHERE study_id = ?1 AND objective = 0",
                                              study, NULL) : NULL;
    if (good && history_next(stmt, path, &failed, why))
        history_set_text(history, "direction", strcmp(history_column(stmt, 0), "MAXIMIZE") == 0 ? "maximize" : "minimize");
    sqlite3_finalize(stmt);
    history_set_text(history, "score", VALUE);
    good = good && !failed && read_trials(history, index, db, path, study, why) && read_settings(index, db, path, study, why) &&
           read_values(index, db, path, study, why) && read_steps(index, db, path, study, why);
    return history_done(history, index, db, good);
}
