/* history_tools.c: which tool wrote a file, and its runs in order; see history.h. */
#include "histories/history.h"

#include <dirent.h>
#include <errno.h>
#include <fts.h>
#include <limits.h>
#include <math.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>

#include "histories/readers.h"

/* ---- which tool ---- */

static bool has_table(const char *path, const char *table, const char *column)
{
    char why[HISTORY_WHY_MAX];
    sqlite3 *db = history_database(path, why);
    bool has = db && history_has_column(db, table, column);
    sqlite3_close(db);
    return has;
}

static bool is_optuna(const char *path)
{
    return has_table(path, "trial_params", "distribution_json");
}

static bool is_mlflow_database(const char *path)
{
    return has_table(path, "runs", "run_uuid");
}

static bool is_trackio(const char *path)
{
    return has_table(path, "metrics", "run_name");
}

/* A directory of MLflow has directories with a meta.yaml, those of the experiments. */
static bool is_mlflow(const char *path)
{
    char name[PATH_MAX];
    struct stat st;
    bool any = false;
    DIR *dir = opendir(path);
    for (struct dirent *entry; dir && !any && (entry = readdir(dir));) {
        int n = snprintf(name, sizeof name, "%s/%s/meta.yaml", path, entry->d_name);
        any = entry->d_name[0] != '.' && n > 0 && n < PATH_MAX && stat(name, &st) == 0;
    }
    if (dir)
        closedir(dir);
    return any;
}

static bool is_tensorboard(const char *path)
{
    char *const paths[] = {(char *)(uintptr_t)path, NULL};
    FTS *tree = fts_open(paths, FTS_PHYSICAL | FTS_NOCHDIR | FTS_COMFOLLOW, NULL);
    bool any = false;
    for (FTSENT *entry; tree && !any && (entry = fts_read(tree));)
        any = entry->fts_info == FTS_F && strstr(entry->fts_name, ".tfevents.");
    if (tree)
        fts_close(tree);
    return any;
}

static bool is_wandb(const char *path)
{
    FILE *in = fopen(path, "re");
    char head[64] = "";
    if (in) {
        head[fread(head, 1, sizeof head - 1, in)] = '\0';
        fclose(in);
    }
    const char first = head[strspn(head, " \t\r\n\xef\xbb\xbf")];
    return first == '{' || first == '[';
}

static bool is_table(const char *path)
{
    const char *dot = strrchr(path, '.');
    return dot && strcmp(dot, ".csv") == 0;
}

enum kind { DIRECTORY, DATABASE, TEXT };

/* The order of the rows is that of the questions. */
static const struct {
    const char *name;
    enum kind kind;
    bool (*is)(const char *path);
    history_reader *read;
} tools[] = {
    {"mlflow", DIRECTORY, is_mlflow, read_mlflow},
    {"tensorboard", DIRECTORY, is_tensorboard, read_tensorboard},
    {"optuna", DATABASE, is_optuna, read_optuna},
    {"mlflow", DATABASE, is_mlflow_database, read_mlflow_database},
    {"trackio", DATABASE, is_trackio, read_trackio},
    {"tensorboard", TEXT, is_tensorboard, read_tensorboard}, /* one event file */
    {"csv", TEXT, is_table, read_table},
    {"wandb", TEXT, is_wandb, read_wandb},
};
enum { N_TOOLS = sizeof tools / sizeof *tools };

const char *history_tool_at(size_t i)
{
    static const char *const names[] = {"wandb", "mlflow", "optuna", "tensorboard", "trackio", "csv"};
    return i < sizeof names / sizeof *names ? names[i] : NULL;
}

/* Returns false with errno if the path cannot be looked at. */
static bool kind_of(enum kind *kind, const char *path)
{
    static const char magic[] = "SQLite format 3";
    struct stat st;
    char head[sizeof magic] = "";
    if (stat(path, &st) != 0)
        return false;
    *kind = S_ISDIR(st.st_mode) ? DIRECTORY : TEXT;
    FILE *in = S_ISREG(st.st_mode) ? fopen(path, "re") : NULL;
    if (S_ISREG(st.st_mode) && !in)
        return false;
    if (in && fread(head, 1, sizeof head, in) == sizeof head && memcmp(head, magic, sizeof magic) == 0)
        *kind = DATABASE;
    if (in)
        fclose(in);
    return true;
}

static const char *find(const char *path, const char *tool, history_reader **read)
{
    enum kind kind;
    if (!kind_of(&kind, path))
        return NULL;
    errno = 0;
    for (size_t i = 0; i < N_TOOLS; i++)
        if (tools[i].kind == kind && (tool ? strcmp(tool, tools[i].name) == 0 : tools[i].is(path)) &&
            !(tool && kind == DATABASE && !tools[i].is(path))) {
            *read = tools[i].read;
            return tools[i].name;
        }
    errno = 0;
    return NULL;
}

const char *history_tool_of(const char *path)
{
    history_reader *read;
    return find(path, NULL, &read);
}

/* ---- the order ---- */

struct place {
    double started;
    size_t i;
};

static int by_start(const void *a, const void *b)
{
    const struct place *x = a, *y = b;
    return x->started < y->started ? -1 : x->started > y->started ? 1 : x->i < y->i ? -1 : x->i > y->i;
}

/* Runs without a time stay behind those with one, in the order of the file. */
static bool sort_runs(json_t *history)
{
    json_t *runs = json_object_get(history, "runs"), *sorted = json_array();
    const size_t n = json_array_size(runs);
    struct place *places = calloc(n + 1, sizeof *places);
    for (size_t i = 0; places && i < n; i++) {
        const json_t *started = json_object_get(json_array_get(runs, i), "started");
        places[i] = (struct place){started ? json_number_value(started) : (double)INFINITY, i};
    }
    if (places)
        qsort(places, n, sizeof *places, by_start);
    for (size_t i = 0; places && i < n; i++)
        json_array_append(sorted, json_array_get(runs, places[i].i));
    const bool good = places && json_array_size(sorted) == n;
    free(places);
    return json_object_set_new(history, "runs", sorted) == 0 && good;
}

json_t *history_read(const char *path, const struct history_options *options, char why[HISTORY_WHY_MAX])
{
    history_reader *read = NULL;
    const char *tool = find(path, options->tool, &read);
    if (!tool && errno)
        return history_fail(why, "cannot open %.300s: %s", path, strerror(errno));
    if (!tool && options->tool)
        return history_fail(why, "%.300s is not what %s writes", path, options->tool);
    if (!tool)
        return history_fail(why, "%.300s is neither a results.tsv nor a history of W&B (JSON), MLflow, Optuna, TensorBoard or trackio, nor a .csv", path);
    if (options->map && options->map[0] && read != read_table)
        return history_fail(why, "--map is for tables; %.300s is of %s", path, tool);
    json_t *history = read(path, options, why);
    if (history && !sort_runs(history)) {
        json_decref(history);
        return history_fail(why, "out of memory");
    }
    return history;
}
