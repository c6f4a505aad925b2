/*
 * read_programs.c: agents that search for programs: the journal of AIDE, a database of OpenEvolve (a folder with programs/ID.json), and
 * the SQLite file of ShinkaEvolve. Their runs are lineages: parents and code are kept.
 */
#include <ctype.h>

#include "histories/readers.h"

#define SCORE "combined_score"

static void set_code(json_t *run, const char *file, const char *code)
{
    if (code && *code)
        json_object_set_new(run, "code", json_pack("{s:o}", file, history_text(code)));
}

#define COPIES "copies" /* of the history: originals by the ids of their copies */

/* A copy that moved to another island was not measured again; what descends from it descends from the original. */
static void add_copy(json_t *history, const char *id, const char *original)
{
    if (!json_object_get(history, COPIES))
        json_object_set_new(history, COPIES, json_object());
    json_object_set_new(json_object_get(history, COPIES), id, json_string(original));
    history_leave_out(history, "copies of programs on other islands");
}

static void find_originals(json_t *history)
{
    const json_t *copies = json_object_get(history, COPIES);
    json_t *run;
    size_t i;
    json_array_foreach(json_object_get(history, "runs"), i, run) {
        json_t *original = json_object_get(copies, json_string_value(json_object_get(run, "parent")));
        for (size_t k = 0; original && k < json_object_size(copies); k++) {
            json_object_set(run, "parent", original);
            original = json_object_get(copies, json_string_value(original));
        }
    }
}

static double number_of(const json_t *object, const char *member)
{
    const json_t *value = json_object_get(object, member);
    return json_is_number(value) ? json_number_value(value) : (double)NAN;
}

/* A node without a metric, or with an exception, is buggy. */
static void add_node(json_t *history, const json_t *node, const json_t *parents)
{
    const char *id = cli_json_string(node, "id");
    const json_t *metric = json_object_get(node, "metric");
    double value;
    json_t *run = history_add_run(history, id ? id : "");
    history_set_text(run, "name", cli_json_string(node, "plan"));
    history_set_text(run, "notes",
                     cli_json_string(node, "exc_type") ? cli_json_string(node, "exc_type") : cli_json_string(node, "analysis"));
    history_set_time(run, "started", number_of(node, "ctime"));
    history_set_time(run, "seconds", number_of(node, "exec_time"));
    history_set_text(run, "state", json_is_true(json_object_get(node, "is_buggy")) ? "failed" : "finished");
    history_set_text(run, "parent", id ? cli_json_string(parents, id) : NULL);
    set_code(run, "solution.py", cli_json_string(node, "code"));
    if (history_number(&value, json_object_get(metric, "value")))
        history_set_metric(run, "metric", value);
    if (json_is_boolean(json_object_get(metric, "maximize")))
        history_set_direction(history, "metric", json_is_true(json_object_get(metric, "maximize")));
}

static bool take_journal(void *context, json_t *journal)
{
    const json_t *node;
    size_t i;
    json_array_foreach(json_object_get(journal, "nodes"), i, node)
        add_node(context, node, json_object_get(journal, "node2parent"));
    return true;
}

json_t *read_aide(const char *path, const struct history_options *options, char why[HISTORY_WHY_MAX])
{
    json_t *history = history_new("aide");
    (void)options;
    history_set_text(history, "score", "metric");
    return history_done(history, NULL, NULL, history_each_value(path, take_journal, history, why));
}

static void set_island(json_t *run, const json_t *island, const json_t *generation)
{
    if (json_is_integer(island))
        history_add_param(run, "island", json_incref((json_t *)(uintptr_t)island));
    if (json_is_integer(generation))
        history_add_param(run, "generation", json_incref((json_t *)(uintptr_t)generation));
}

/* An evaluation that failed has the metrics {"error": 0.0}, with "timeout": true if it took too long. */
static bool take_program(void *context, json_t *program)
{
    json_t *history = context, *metrics = json_object_get(program, "metrics"), *metadata = json_object_get(program, "metadata");
    const char *changes = cli_json_string(program, "changes_description"), *id = cli_json_string(program, "id");
    const json_t *error = json_object_get(metrics, "error");
    if (id && json_is_true(json_object_get(metadata, "migrant")) && cli_json_string(program, "parent_id"))
        return add_copy(history, id, cli_json_string(program, "parent_id")), true;
    json_t *run = history_add_run(history, id ? id : "");
    history_set_text(run, "name",
                     changes && *changes                    ? changes
                     : cli_json_string(metadata, "changes") ? cli_json_string(metadata, "changes")
                                                            : id);
    history_set_time(run, "started", number_of(program, "timestamp"));
    history_set_text(run, "state", json_is_string(error) || (error && !json_object_get(metrics, SCORE)) ? "failed" : "finished");
    history_set_text(run, "notes", json_string_value(error));
    history_set_text(run, "parent", cli_json_string(program, "parent_id"));
    set_island(run, json_object_get(metadata, "island"), json_object_get(program, "generation"));
    set_code(run, "program", cli_json_string(program, "code"));
    history_add_metrics(run, "", metrics, true);
    return true;
}

/* The last checkpoint of a run has all programs. */
static bool newest_checkpoint(char path[PATH_MAX])
{
    char why[HISTORY_WHY_MAX], best[PATH_MAX] = "";
    long newest = -1;
    FTS *tree = history_tree(path, why);
    for (FTSENT *entry; (entry = history_entry(tree, 2));) {
        const long n = strncmp(entry->fts_name, "checkpoint_", 11) == 0 ? strtol(entry->fts_name + 11, NULL, 10) : -1;
        if (entry->fts_info == FTS_D && n > newest) {
            newest = n;
            snprintf(best, sizeof best, "%s", entry->fts_path);
        }
    }
    history_leave(tree);
    if (newest >= 0)
        snprintf(path, PATH_MAX, "%s", best);
    return newest >= 0;
}

json_t *read_openevolve(const char *path, const struct history_options *options, char why[HISTORY_WHY_MAX])
{
    char dir[PATH_MAX];
    json_t *history = history_new("openevolve");
    (void)options;
    snprintf(dir, sizeof dir, "%s", path);
    newest_checkpoint(dir);
    FTS *tree = history_tree(dir, why);
    bool good = tree != NULL;
    for (FTSENT *entry; good && (entry = history_entry(tree, INT_MAX));)
        if (entry->fts_info == FTS_F && strcmp(entry->fts_parent->fts_name, "programs") == 0 && strstr(entry->fts_name, ".json"))
            good = history_each_value(entry->fts_path, take_program, history, why);
    history_leave(tree);
    if (good && !json_array_size(json_object_get(history, "runs")))
        good = history_fail(why, "%.300s has no programs/ID.json of OpenEvolve", path);
    find_originals(history);
    history_set_direction(history, SCORE, true);
    history_set_text(history, "score", SCORE);
    return history_done(history, NULL, NULL, good);
}

/* A program that is not correct has failed, whatever its score. */
static void take_row(json_t *history, struct query *row)
{
    json_t *metadata = history_json(history_column(row, 8));
    if (cli_json_string(metadata, "_original_program_id")) {
        add_copy(history, history_column(row, 0), cli_json_string(metadata, "_original_program_id"));
        json_decref(metadata);
        return;
    }
    json_t *run = history_add_run(history, history_column(row, 0));
    json_t *metrics = history_json(history_column(row, 7)), *island = json_integer(sqlite3_column_int64(row->stmt, 4)),
           *generation = json_integer(sqlite3_column_int64(row->stmt, 3));
    const char *name = cli_json_string(metadata, "patch_name"), *about = cli_json_string(metadata, "patch_description");
    char file[64];
    history_set_text(run, "name", about ? about : name ? name : history_column(row, 0));
    history_set_time(run, "started", sqlite3_column_double(row->stmt, 5));
    history_set_time(run, "seconds", number_of(metadata, "compute_time"));
    history_set_text(run, "state", sqlite3_column_int(row->stmt, 9) ? "finished" : "failed");
    history_set_text(run, "notes", history_column(row, 10));
    history_set_text(run, "parent", history_column(row, 2));
    set_island(run, sqlite3_column_type(row->stmt, 4) == SQLITE_NULL ? NULL : island, generation);
    snprintf(file, sizeof file, "program.%.20s", history_column(row, 11));
    for (char *c = file + 8; *c; c++)
        *c = isalnum((unsigned char)*c) ? *c : '_'; /* a stranger's word becomes the name of a file */
    set_code(run, file, history_column(row, 1));
    if (sqlite3_column_type(row->stmt, 6) != SQLITE_NULL)
        history_set_metric(run, SCORE, sqlite3_column_double(row->stmt, 6));
    history_add_metrics(run, "", metrics, true);
    json_decref(metadata);
    json_decref(metrics);
    json_decref(island);
    json_decref(generation);
}

json_t *read_shinka(const char *path, const struct history_options *options, char why[HISTORY_WHY_MAX])
{
    sqlite3 *db = history_database(path, why);
    json_t *history = history_new("shinka");
    (void)options;
    struct query rows =
        history_ask(db, path, why,
                    "SELECT id, code, parent_id, generation, island_idx, timestamp, combined_score, public_metrics, metadata,"
                    " correct, text_feedback, language FROM programs ORDER BY timestamp, id",
                    NULL);
    while (history_next(&rows))
        take_row(history, &rows);
    const bool good = history_end(&rows);
    find_originals(history);
    history_set_direction(history, SCORE, true);
    history_set_text(history, "score", SCORE);
    return history_done(history, NULL, db, good);
}
