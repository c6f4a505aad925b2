/*
 * read_mlflow.c: what MLflow records, as a directory (mlruns) and as an SQLite file.
 *
 * In a directory, mlruns/EXPERIMENT/RUN/ has meta.yaml, a file for each of params/, tags/ and metrics/, and slashes in names are
 * directories. Deleted runs and experiments are left out.
 */
#include <dirent.h>

#include <lineage/text.h>

#include "histories/readers.h"

enum { META_BYTES = 1 << 20, METRIC_BYTES = 64 << 20 };

#define NAME_TAG "mlflow.runName"
#define NOTE_TAG "mlflow.note.content"
#define LARGEST 1.7976931348623157e308 /* what MLflow stores for an infinity */
#define PARENT_TAG "mlflow.parentRunId"

/* In directories a status is a number. */
static void set_state(json_t *run, const char *status)
{
    static const char *const numbers[] = {"", "RUNNING", "SCHEDULED", "FINISHED", "FAILED", "KILLED"};
    const bool is_number = status[0] >= '1' && status[0] <= '5' && !status[1];
    history_set_state(run, is_number ? numbers[status[0] - '0'] : status, "running");
}

static double milliseconds(const char *text)
{
    double value;
    return lineage_number_parse(&value, text, strlen(text)) ? value / 1000 : (double)NAN;
}

static void set_tag(json_t *run, const char *name, const char *value)
{
    if (strcmp(name, NAME_TAG) == 0)
        history_set_text(run, "name", value);
    else if (strcmp(name, NOTE_TAG) == 0)
        history_set_text(run, "notes", value);
    else if (strcmp(name, PARENT_TAG) == 0)
        history_set_text(run, "nested", value);
}

void history_mark_groups(json_t *history)
{
    json_t *runs = json_object_get(history, "runs"), *parents = json_object(), *run;
    size_t i;
    json_array_foreach(runs, i, run)
        if (json_object_get(run, "nested"))
            json_object_set_new(parents, json_string_value(json_object_get(run, "nested")), json_true());
    json_array_foreach(runs, i, run)
        if (json_object_get(parents, json_string_value(json_object_get(run, "key"))))
            json_object_set_new(run, "groups", json_true());
    json_decref(parents);
}

/* Copies the value of `key: value` of a flat YAML file, without quotes; "" if there is none. Returns false for a text of several lines, of
 * which out gets nothing. */
static bool yaml_value(char out[256], const char *text, const char *key)
{
    const size_t n = strlen(key);
    out[0] = '\0';
    for (const char *line = text; *line; line += strcspn(line, "\n"), line += *line == '\n') {
        if (strncmp(line, key, n) != 0 || line[n] != ':')
            continue;
        const char *from = line + n + 1, *to = line + strcspn(line, "\r\n");
        while (from < to && *from == ' ')
            from++;
        snprintf(out, 256, "%.*s", (int)(to - from < 255 ? to - from : 255), from);
        const char *next = to + strspn(to, "\r\n");
        if (!out[0] || (*next != ' ' && history_yaml_scalar(out)))
            return true;
        out[0] = '\0';
        return false;
    }
    return true;
}

struct point {
    double time, value;
    int64_t step;
};

/* As MLflow itself finds the last value. */
static int by_step(const void *a, const void *b)
{
    const struct point *x = a, *y = b;
    return x->step != y->step   ? (x->step < y->step ? -1 : 1)
           : x->time != y->time ? (x->time < y->time ? -1 : 1)
                                : (x->value > y->value) - (x->value < y->value);
}

/* A line is "MILLISECONDS VALUE STEP", in old files without the step, and may end with the name and digest of a data set. */
static bool read_point(struct point *point, const char *line)
{
    char word[64], *end;
    int used = 0;
    if (sscanf(line, "%lf %63s%n", &point->time, word, &used) < 2 || !lineage_number_parse(&point->value, word, strlen(word)))
        return false;
    line += used + (int)strspn(line + used, " ");
    point->step = *line ? strtoll(line, &end, 10) : 0;
    return !*line || (end > line && (!*end || *end == ' '));
}

/* A last line without a line end was cut off. Any other line that cannot be read is refused, as MLflow does. */
static bool add_metric_lines(json_t *run, const char *path, const char *name, char *text, char why[HISTORY_WHY_MAX])
{
    size_t n = 0, number = 0;
    char *rest = text, *line;
    struct point *points = malloc((strlen(text) / 3 + 1) * sizeof *points);
    bool good = points != NULL || history_fail(why, "out of memory");
    while (good && (line = strsep(&rest, "\n")) && rest) {
        number++;
        good =
            read_point(&points[n], line) ||
            history_fail(why, "%.300s:%zu: '%.60s' is not MILLISECONDS VALUE STEP; mend or remove the line", path, number, line);
        n += good;
    }
    if (good)
        qsort(points, n, sizeof *points, by_step);
    for (size_t i = 0; good && i < n; i++)
        history_add_point(run, name, points[i].step, points[i].value);
    free(points);
    return good;
}

/* Reads every file below the run's directory `kind`. */
static bool read_files(json_t *run, const char *dir, const char *kind, char why[HISTORY_WHY_MAX])
{
    char path[PATH_MAX];
    int n = snprintf(path, sizeof path, "%s/%s", dir, kind);
    FTS *tree = n > 0 && n < PATH_MAX ? history_tree(path, why) : NULL;
    bool good = true;
    for (FTSENT *entry; good && (entry = history_entry(tree, INT_MAX));) {
        size_t length;
        if (entry->fts_info != FTS_F)
            continue;
        char *text = history_file_text(entry->fts_path, METRIC_BYTES, &length, why);
        const char *name = entry->fts_path + n + 1;
        good = text != NULL;
        if (good && strcmp(kind, "metrics") == 0)
            good = add_metric_lines(run, entry->fts_path, name, text, why);
        else if (good && strcmp(kind, "params") == 0)
            history_add_param_text(run, name, text);
        else if (good)
            set_tag(run, name, text);
        free(text);
    }
    history_leave(tree);
    return good;
}

static bool read_run(json_t *history, const char *dir, const char *meta, char why[HISTORY_WHY_MAX])
{
    char value[256];
    yaml_value(value, meta, "run_id");
    if (!value[0])
        return history_leave_out(history, "runs with a damaged meta.yaml"), true;
    json_t *run = history_add_run(history, value);
    if (!yaml_value(value, meta, "run_name"))
        history_leave_out(history, "names of several lines in meta.yaml");
    history_set_text(run, "name", value);
    yaml_value(value, meta, "status");
    set_state(run, value);
    yaml_value(value, meta, "start_time");
    history_set_time(run, "started", milliseconds(value));
    yaml_value(value, meta, "end_time");
    history_set_time(run, "ended", milliseconds(value));
    return run && read_files(run, dir, "params", why) && read_files(run, dir, "metrics", why) &&
           read_files(run, dir, "tags", why);
}

static bool is_deleted(const char *meta)
{
    char value[256];
    yaml_value(value, meta, "lifecycle_stage");
    return strcmp(value, "deleted") == 0;
}

/* Reads the meta.yaml of a directory; NULL with errno 0 if there is none. */
static char *meta_of(const char *dir, char why[HISTORY_WHY_MAX])
{
    char path[PATH_MAX];
    size_t length;
    int n = snprintf(path, sizeof path, "%s/meta.yaml", dir);
    errno = 0;
    char *text = n > 0 && n < PATH_MAX ? history_file_text(path, META_BYTES, &length, why) : NULL;
    if (!text && errno == ENOENT)
        errno = 0;
    return text;
}

/* Calls `visit` with each directory in `dir` that has a meta.yaml. */
static bool each_dir(const char *dir, bool (*visit)(void *context, const char *path, const char *meta, char why[HISTORY_WHY_MAX]),
                     void *context, char why[HISTORY_WHY_MAX])
{
    struct dirent **entries = NULL;
    int n = scandir(dir, &entries, NULL, alphasort);
    bool good = n >= 0 || history_fail(why, "cannot read %.300s: %s", dir, strerror(errno));
    for (int i = 0; i < n; i++) {
        char path[PATH_MAX];
        int length = snprintf(path, sizeof path, "%s/%s", dir, entries[i]->d_name);
        if (good && entries[i]->d_name[0] != '.' && length > 0 && length < PATH_MAX) {
            char *meta = meta_of(path, why);
            good = meta ? visit(context, path, meta, why) : errno == 0 || errno == ENOTDIR;
            free(meta);
        }
        free(entries[i]);
    }
    free(entries);
    return good;
}

struct experiments {
    json_t *history;
    const char *wanted; /* NULL: the only one */
    char names[256], chosen[PATH_MAX];
    size_t n_found;
};

static bool visit_run(void *context, const char *path, const char *meta, char why[HISTORY_WHY_MAX])
{
    if (!is_deleted(meta))
        return read_run(context, path, meta, why);
    history_leave_out(context, "deleted runs");
    return true;
}

static bool has_runs(const char *dir)
{
    char path[PATH_MAX];
    bool any = false;
    DIR *in = opendir(dir);
    for (struct dirent *entry; in && !any && (entry = readdir(in));) {
        int n = snprintf(path, sizeof path, "%s/%s/meta.yaml", dir, entry->d_name);
        FILE *meta = entry->d_name[0] != '.' && n > 0 && n < PATH_MAX ? fopen(path, "re") : NULL;
        any = meta != NULL;
        if (meta)
            fclose(meta);
    }
    if (in)
        closedir(in);
    return any;
}

/* An experiment without runs, such as the `Default` that MLflow makes, is not one to choose from. */
static bool visit_experiment(void *context, const char *path, const char *meta, char why[HISTORY_WHY_MAX])
{
    struct experiments *e = context;
    char name[256];
    (void)why;
    yaml_value(name, meta, "name");
    size_t length = strlen(e->names);
    if (!has_runs(path) || is_deleted(meta))
        return true;
    snprintf(e->names + length, sizeof e->names - length, "%s%.60s", length ? ", " : "", name);
    if (e->wanted && strcmp(e->wanted, name) != 0)
        return true;
    snprintf(e->chosen, sizeof e->chosen, "%s", path);
    history_set_text(e->history, "study", name);
    e->n_found++;
    return true;
}

json_t *read_mlflow(const char *path, const struct history_options *options, char why[HISTORY_WHY_MAX])
{
    struct experiments e = {.history = history_new("mlflow"), .wanted = options->study};
    bool good = each_dir(path, visit_experiment, &e, why);
    if (good && e.n_found > 1)
        good = history_fail(why, "%.150s has several; choose one by --study: %.250s", path, e.names);
    else if (good && !e.n_found)
        good = history_fail(why, "%.150s has no experiment%s%.60s with runs%s%.200s", path, e.wanted ? " " : "",
                            e.wanted ? e.wanted : "", e.names[0] ? ", but: " : "", e.names);
    good = good && each_dir(e.chosen, visit_run, e.history, why);
    history_mark_groups(e.history);
    return history_done(e.history, NULL, NULL, good);
}

static bool read_runs(json_t *history, json_t *index, sqlite3 *db, const char *path, const char *experiment,
                      char why[HISTORY_WHY_MAX])
{
    struct query rows = history_ask(
        db, path, why,
        "SELECT run_uuid, name, status, start_time, end_time, lifecycle_stage = 'active' FROM runs WHERE experiment_id = ?1"
        " ORDER BY start_time, run_uuid",
        experiment);
    while (history_next(&rows)) {
        if (!sqlite3_column_int(rows.stmt, 5)) {
            history_leave_out(history, "deleted runs");
            continue;
        }
        json_t *run = history_run_of(history, index, history_column(&rows, 0));
        history_set_text(run, "name", history_column(&rows, 1));
        set_state(run, history_column(&rows, 2));
        history_set_time(run, "started", milliseconds(history_column(&rows, 3)));
        history_set_time(run, "ended", milliseconds(history_column(&rows, 4)));
    }
    return history_end(&rows);
}

/* Reads the table, each of whose rows belongs to a run. */
static bool read_rows(json_t *index, sqlite3 *db, const char *path, const char *sql, void (*take)(json_t *run, struct query *row),
                      char why[HISTORY_WHY_MAX])
{
    struct query rows = history_ask(db, path, why, sql, NULL);
    while (history_next(&rows)) {
        json_t *run = json_object_get(index, history_column(&rows, 0));
        if (run)
            take(run, &rows);
    }
    return history_end(&rows);
}

static void take_param(json_t *run, struct query *row)
{
    history_add_param_text(run, history_column(row, 1), history_column(row, 2));
}

static void take_metric(json_t *run, struct query *row)
{
    const double value = sqlite3_column_double(row->stmt, 2), infinite = (double)INFINITY;
    const bool is_nan = sqlite3_column_int(row->stmt, 4) != 0;
    history_add_point(run, history_column(row, 1), sqlite3_column_int64(row->stmt, 3),
                      is_nan              ? (double)NAN
                      : value >= LARGEST  ? infinite
                      : value <= -LARGEST ? -infinite
                                          : value);
}

static void take_tag(json_t *run, struct query *row)
{
    set_tag(run, history_column(row, 1), history_column(row, 2));
}

json_t *read_mlflow_database(const char *path, const struct history_options *options, char why[HISTORY_WHY_MAX])
{
    char experiment[64];
    sqlite3 *db = history_database(path, why);
    json_t *history = history_new("mlflow"), *index = json_object();
    bool good = db && history_choose(experiment, history, db, path, "experiment",
                                     "SELECT experiment_id, name FROM experiments e WHERE lifecycle_stage = 'active' AND EXISTS"
                                     " (SELECT 1 FROM runs r WHERE r.experiment_id = e.experiment_id) ORDER BY experiment_id",
                                     options, why);
    good = good && read_runs(history, index, db, path, experiment, why) &&
           read_rows(index, db, path, "SELECT run_uuid, key, value FROM params ORDER BY key", take_param, why) &&
           read_rows(index, db, path,
                     "SELECT run_uuid, key, value, step, is_nan FROM metrics ORDER BY run_uuid, key, step, timestamp, value",
                     take_metric, why) &&
           read_rows(index, db, path, "SELECT run_uuid, key, value FROM tags", take_tag, why);
    history_mark_groups(history);
    return history_done(history, index, db, good);
}
