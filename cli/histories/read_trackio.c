/*
 * read_trackio.c: the SQLite file of a trackio project. Each row of `metrics` is one call of log; early versions had a column
 * project_name, later ones have a table `configs`. trackio does not record how a run ended.
 */
#include <math.h>
#include <stdio.h>
#include <string.h>

#include "histories/readers.h"

static void add_log(json_t *run, int64_t step, const char *text)
{
    json_t *object = json_loads(text, 0, NULL), *value;
    const char *name;
    json_object_foreach(object, name, value)
        if (json_is_number(value))
            history_add_point(run, name, step, json_number_value(value));
    json_decref(object);
}

static bool read_logs(json_t *history, json_t *index, sqlite3 *db, const char *path, const char *project, char why[HISTORY_WHY_MAX])
{
    bool failed = false;
    sqlite3_stmt *stmt = history_query(db, path, why,
                                       project ? "SELECT run_name, step, metrics, timestamp FROM metrics WHERE project_name = ?1 ORDER BY run_name, step, id"
                                               : "SELECT run_name, step, metrics, timestamp FROM metrics ORDER BY run_name, step, id",
                                       project, NULL);
    while (history_next(stmt, path, &failed, why)) {
        json_t *run = history_run_of(history, index, history_column(stmt, 0));
        const double time = history_time(history_column(stmt, 3), true);
        history_set_text(run, "name", history_column(stmt, 0));
        if (!json_object_get(run, "started"))
            history_set_time(run, "started", time);
        history_set_time(run, "ended", time);
        add_log(run, sqlite3_column_int64(stmt, 1), history_column(stmt, 2));
    }
    sqlite3_finalize(stmt);
    return !failed;
}

static bool read_configs(json_t *index, sqlite3 *db, const char *path, char why[HISTORY_WHY_MAX])
{
    bool failed = false;
    if (!history_has_column(db, "configs", "config"))
        return true;
    sqlite3_stmt *stmt = history_query(db, path, why, "SELECT run_name, config FROM configs", NULL, NULL);
    while (history_next(stmt, path, &failed, why)) {
        json_t *run = json_object_get(index, history_column(stmt, 0)), *config = json_loads(history_column(stmt, 1), 0, NULL), *value;
        const char *name;
        json_object_foreach(config, name, value)
            if (run && name[0] != '_') /* what trackio itself records */
                history_add_param(run, name, json_incref(value));
        json_decref(config);
    }
    sqlite3_finalize(stmt);
    return !failed;
}

json_t *read_trackio(const char *path, const struct history_options *options, char why[HISTORY_WHY_MAX])
{
    char project[64];
    sqlite3 *db = history_database(path, why);
    json_t *history = history_new("trackio"), *index = json_object();
    const bool several = db && history_has_column(db, "metrics", "project_name");
    bool good = db && (!several || history_choose(project, history, db, path, "project",
                                                  "SELECT DISTINCT project_name, project_name FROM metrics", options, why));
    good = good && read_logs(history, index, db, path, several ? project : NULL, why) && read_configs(index, db, path, why);
    return history_done(history, index, db, good);
}
