/*
 * read_trackio.c: the SQLite file of a trackio project. Each row of `metrics` is one call of log; early versions had a column
 * project_name, later ones have a table `configs`. trackio does not record how a run ended.
 */
#include "histories/readers.h"

/* Metrics may be objects, and infinities and nan are texts. */
static void add_log(json_t *run, const char *prefix, int64_t step, json_t *object)
{
    json_t *value;
    const char *name;
    double number;
    json_object_foreach(object, name, value) {
        char path[256];
        snprintf(path, sizeof path, "%s%s%s", prefix, *prefix ? "." : "", name);
        if (history_number(&number, value))
            history_add_point(run, path, step, number);
        else if (json_is_object(value) && !json_object_get(value, "_type")) /* pictures and tables have one */
            add_log(run, path, step, value);
    }
}

/* Two runs may have the same name. Since there are ids, they tell runs apart. */
static bool read_logs(json_t *history, json_t *index, sqlite3 *db, const char *path, const char *id, const char *project,
                      char why[HISTORY_WHY_MAX])
{
    char sql[200];
    snprintf(sql, sizeof sql, "SELECT %s, step, metrics, timestamp, run_name FROM metrics%s ORDER BY 1, step, id", id,
             project ? " WHERE project_name = ?1" : "");
    struct query rows = history_ask(db, path, why, sql, project);
    while (history_next(&rows)) {
        json_t *run = history_run_of(history, index, history_column(&rows, 0)), *log = history_json(history_column(&rows, 2));
        const double time = history_time(history_column(&rows, 3), true);
        history_set_text(run, "name", history_column(&rows, 4));
        if (!json_object_get(run, "started"))
            history_set_time(run, "started", time);
        history_set_time(run, "ended", time);
        add_log(run, "", sqlite3_column_int64(rows.stmt, 1), log);
        json_decref(log);
    }
    return history_end(&rows);
}

static bool read_configs(json_t *index, sqlite3 *db, const char *path, const char *id, char why[HISTORY_WHY_MAX])
{
    char sql[100];
    if (!history_has_column(db, "configs", "config"))
        return true;
    snprintf(sql, sizeof sql, "SELECT %s, config FROM configs", id);
    struct query rows = history_ask(db, path, why, sql, NULL);
    while (history_next(&rows)) {
        json_t *run = json_object_get(index, history_column(&rows, 0)), *config = history_json(history_column(&rows, 1)), *value;
        const char *name;
        json_object_foreach(config, name, value)
            if (run && name[0] != '_') /* what trackio itself records */
                history_add_param(run, name, json_incref(value));
        json_decref(config);
    }
    return history_end(&rows);
}

json_t *read_trackio(const char *path, const struct history_options *options, char why[HISTORY_WHY_MAX])
{
    char project[64];
    sqlite3 *db = history_database(path, why);
    json_t *history = history_without_ends("trackio"), *index = json_object();
    const bool several = db && history_has_column(db, "metrics", "project_name");
    const char *id = db && history_has_column(db, "metrics", "run_id") ? "coalesce(run_id, run_name)" : "run_name";
    const char *config = db && history_has_column(db, "configs", "run_id") ? "coalesce(run_id, run_name)" : "run_name";
    bool good = db && (!several || history_choose(project, history, db, path, "project",
                                                  "SELECT DISTINCT project_name, project_name FROM metrics", options, why));
    good = good && read_logs(history, index, db, path, id, several ? project : NULL, why) &&
           read_configs(index, db, path, config, why);
    return history_done(history, index, db, good);
}
