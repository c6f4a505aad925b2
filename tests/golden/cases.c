/*
 * cases.c: runs every case folder of the format's reference set (fixtures/cases, and ../shared/lineage-cases if it
 * exists), found at run time. fk-* and run-* are rendered in fieldkit style, and best and chain are compared natively.
 * Then come the blackboard files of bb-* and run-*, imports, queries and reports of bad lines. All output is compared
 * byte for byte.
 */
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>

#include <lineage/query.h>
#include <lineage/render.h>
#include <lineage/verify.h>

#include "support/files.h"

static unsigned n_checks, n_failures;

static void check(bool ok, const char *name, const char *what)
{
    n_checks++;
    if (!ok) {
        n_failures++;
        printf("FAIL %s: %s\n", name, what);
    }
}

static void check_bytes(const char *got, size_t got_length, const char *want_path, const char *name)
{
    size_t length;
    char *want = read_file(want_path, &length);
    bool same = got_length == length && memcmp(got, want, length) == 0;
    check(same, name, want_path);
    for (size_t i = 0; !same && i <= got_length && i <= length; i++)
        if (i == got_length || i == length || got[i] != want[i]) {
            printf("  first difference at byte %zu: got '%.40s', want '%.40s'\n", i, got + i, want + i);
            break;
        }
    free(want);
}

static const char *text(const json_t *object, const char *key)
{
    const char *value = json_string_value(json_object_get(object, key));
    return value ? value : "";
}

static size_t count(const json_t *object, const char *key)
{
    return (size_t)json_integer_value(json_object_get(object, key));
}

static enum lineage_direction direction(const json_t *params)
{
    return json_is_false(json_object_get(params, "lower_is_better")) ? LINEAGE_HIGHER : LINEAGE_LOWER;
}

/* Opens a scratch store with a copy of the file `results`, if that file exists. */
static struct lineage_store *open_copy(const char *dir, const char *results, enum lineage_direction better, const char *metric)
{
    struct lineage_open_options options = {.direction = better, .metric = metric};
    struct lineage_store *store;
    struct lineage_error err;
    char *to = join(dir, "results.tsv");
    if (results && file_exists(results))
        copy_file(results, to);
    free(to);
    if (lineage_store_open(&store, dir, &options, &err) != LINEAGE_OK) {
        printf("FAIL cannot open the copy of %s: %s\n", results ? results : "nothing", err.text);
        exit(1);
    }
    return store;
}

/* ---- fieldkit style ---- */

static void render_case(const char *folder, const char *name, const char *params_name)
{
    const char *suffix = params_name + strlen("params"); /* "-NAME.json" or ".json" */
    char expected[256];
    int stem = (int)strlen(suffix) - 5;
    char *params_path = join(folder, params_name), *input = join(folder, "input.tsv");
    snprintf(expected, sizeof expected, "expected-good-rows%.*s.md", stem, suffix);
    char *want = join(folder, expected);
    if (!file_exists(want)) {
        free(want);
        snprintf(expected, sizeof expected, "expected%.*s.md", stem, suffix);
        want = join(folder, expected);
    }
    json_t *params = read_json(params_path);
    char *dir = make_dir(), *block;
    size_t length;
    struct lineage_error err;
    struct lineage_store *store = open_copy(dir, input, direction(params), NULL);
    struct lineage_render_options options = {.style = LINEAGE_STYLE_FIELDKIT,
                                             .specialist = text(params, "for_specialist"),
                                             .timestamp = text(params, "session_timestamp"),
                                             .top_k = count(params, "top_k"),
                                             .recent = count(params, "recent_n"),
                                             .full = count(params, "last_m_full")};
    check(lineage_render(&block, &length, store, &options, &err) == LINEAGE_OK, name, "render");
    check_bytes(block ? block : "", length, want, name);
    lineage_free(block);
    lineage_store_close(store);
    remove_dir(dir);
    json_decref(params);
    free(want);
    free(params_path);
    free(input);
}

/* ---- best, chain, lines to report ---- */

static const char *end_text(char out[300], const struct lineage_chain *chain)
{
    if (chain->end == LINEAGE_CHAIN_ROOT)
        return "root";
    snprintf(out, 300, "%s %s", chain->end == LINEAGE_CHAIN_CYCLE ? "cycle at" : "missing", chain->end_id);
    return out;
}

static void check_chain(const struct lineage_chain *chain, const json_t *native, const char *name)
{
    char end[300];
    const json_t *ids = json_object_get(native, "chain_root_first");
    const json_t *passed = json_object_get(native, "passed_over_before_child");
    bool same = json_array_size(ids) == chain->n;
    for (size_t i = 0; same && i < chain->n; i++)
        same = strcmp(json_string_value(json_array_get(ids, i)), chain->trials[i].exp_id) == 0;
    check(same, name, "chain");
    for (size_t i = 1; same && i < chain->n; i++)
        check(count(passed, chain->trials[i - 1].exp_id) == chain->passed_over[i], name, "passed over");
    check(!chain->n || count(native, "passed_over_above_chain_top") == chain->passed_over[0], name, "above top");
    check(strcmp(text(native, "walk_ended"), end_text(end, chain)) == 0, name, "end of the walk");
}

static void check_native(struct lineage_store *store, const json_t *native, const char *name)
{
    struct lineage_trial best;
    struct lineage_chain chain;
    struct lineage_error err;
    const json_t *id = json_object_get(native, "best");
    if (!id)
        return; /* the case does not say which trial is the best */
    enum lineage_status status = lineage_best(store, &best, &err);
    if (json_is_null(id)) {
        check(status == LINEAGE_ENOTFOUND, name, "no best");
        return;
    }
    check(status == LINEAGE_OK && strcmp(best.exp_id, json_string_value(id)) == 0, name, "best");
    if (status == LINEAGE_OK && lineage_chain_load(store, best.exp_id, &chain, &err) == LINEAGE_OK) {
        check_chain(&chain, native, name);
        lineage_chain_release(&chain);
    }
    lineage_trial_release(&best);
}

struct lines {
    uint64_t line[64];
    size_t n;
};

static void take_line(void *context, const struct lineage_finding *finding)
{
    struct lines *lines = context;
    static const char *const kinds[] = {"short", "long", "status", "utf8", "header", "number"};
    for (size_t i = 0; i < sizeof kinds / sizeof *kinds; i++)
        if (strcmp(kinds[i], finding->kind) == 0 && lines->n < 64)
            lines->line[lines->n++] = finding->line;
}

static void check_lines(struct lineage_store *store, const json_t *wanted, const char *key, const char *name)
{
    struct lines lines = {.n = 0};
    struct lineage_error err;
    bool same = lineage_findings(store, take_line, &lines, &err) == LINEAGE_OK && lines.n == json_array_size(wanted);
    for (size_t i = 0; same && i < lines.n; i++) {
        const json_t *item = json_array_get(wanted, i);
        same = (json_int_t)lines.line[i] == json_integer_value(key ? json_object_get(item, key) : item);
    }
    check(same, name, "lines to report");
}

static void facts_of_case(const char *folder, const char *name)
{
    char *native_path = join(folder, "native.json"), *bad_path = join(folder, "bad-rows.json");
    char *input = join(folder, "input.tsv"), *dir = make_dir();
    char **params_names = list_dir(folder, "params");
    char *params_path = join(folder, params_names[0]);
    json_t *params = read_json(params_path);
    struct lineage_store *store = open_copy(dir, input, direction(params), NULL);
    if (file_exists(native_path)) {
        json_t *native = read_json(native_path);
        check_native(store, native, name);
        check_lines(store, json_object_get(native, "report_lines"), NULL, name);
        json_decref(native);
    }
    if (file_exists(bad_path)) {
        json_t *bad = read_json(bad_path);
        check_lines(store, bad, "line", name);
        json_decref(bad);
    }
    lineage_store_close(store);
    json_decref(params);
    free_list(params_names);
    free(params_path);
    free(native_path);
    free(bad_path);
    free(input);
    remove_dir(dir);
}

/* ---- real runs ---- */

static struct lineage_number end_of(const json_t *end)
{
    return (struct lineage_number){json_is_number(end), json_number_value(end)};
}

static void run_query(struct lineage_store *store, const json_t *q, const char *name)
{
    static const char *const plain[] = {"ids", "note", "limit", "status", "specialist", "since", "sort", "metric_range"};
    struct lineage_condition conditions[8];
    struct lineage_query query = {.conditions = conditions, .limit = count(q, "limit")};
    struct lineage_cursor *cursor;
    struct lineage_trial trial;
    struct lineage_error err;
    const char *key;
    json_t *value;
    query.specialist = json_string_value(json_object_get(q, "specialist"));
    query.since = json_string_value(json_object_get(q, "since"));
    query.sort = json_string_value(json_object_get(q, "sort"));
    for (size_t i = 0; i < json_array_size(json_object_get(q, "status")); i++) {
        enum lineage_label label;
        check(lineage_label_parse(&label, json_string_value(json_array_get(json_object_get(q, "status"), i))), name, "label");
        query.labels |= 1u << label;
    }
    json_object_foreach((json_t *)(uintptr_t)q, key, value) {
        bool is_plain = false;
        for (size_t i = 0; i < sizeof plain / sizeof *plain - 1; i++)
            is_plain = is_plain || strcmp(plain[i], key) == 0;
        if (!is_plain)
            conditions[query.n_conditions++] =
                (struct lineage_condition){.name = strcmp(key, "metric_range") == 0 ? "score" : key,
                                           .range = {end_of(json_array_get(value, 0)), end_of(json_array_get(value, 1))}};
    }
    const json_t *ids = json_object_get(q, "ids");
    size_t n = 0;
    bool same = lineage_query_open(&cursor, store, &query, &err) == LINEAGE_OK;
    while (same && lineage_cursor_next(cursor, &trial, &err) == LINEAGE_OK) {
        const char *id = json_string_value(json_array_get(ids, n++));
        same = id && strcmp(trial.exp_id, id) == 0;
    }
    lineage_cursor_close(cursor);
    check(same && n == json_array_size(ids), name, "query");
}

static void facts_of_run(const char *folder, const char *name)
{
    char *facts_path = join(folder, "facts.json"), *input = join(folder, "input.tsv"), *dir = make_dir();
    char *params_path = join(folder, "params-defaults.json");
    json_t *facts = read_json(facts_path), *params = read_json(params_path);
    struct lineage_store *store = open_copy(dir, input, direction(params), NULL);
    check_native(store, json_object_get(facts, "native"), name);
    for (size_t i = 0; i < json_array_size(json_object_get(facts, "queries")); i++)
        run_query(store, json_array_get(json_object_get(facts, "queries"), i), name);
    for (size_t i = 0; i < json_array_size(json_object_get(facts, "param_queries")); i++)
        run_query(store, json_array_get(json_object_get(facts, "param_queries"), i), name);
    lineage_store_close(store);
    json_decref(facts);
    json_decref(params);
    free(facts_path);
    free(params_path);
    free(input);
    remove_dir(dir);
}

/* Removes the cells behind the 17th of each record, in place. The expected files have only the 17 columns. */
static size_t keep_17_columns(char *bytes, size_t length)
{
    bool quoted = false, first = true;
    size_t n = 0, cell = 0;
    for (size_t i = 0; i < length; i++) {
        char c = bytes[i];
        quoted = c == '"' && (quoted || first) ? !quoted : quoted;
        cell += c == '\t' && !quoted;
        first = c == '\t' && !quoted;
        if (c == '\n' && !quoted) {
            cell = 0;
            first = true;
        }
        if (cell < LINEAGE_N_COLUMNS)
            bytes[n++] = c;
    }
    return n;
}

static void import_run(const char *folder, const char *name)
{
    char *facts_path = join(folder, "import.json"), *raw = join(folder, "raw/results.tsv");
    char *want = join(folder, "input.tsv"), *dir = make_dir(), *made = join(dir, "results.tsv");
    if (file_exists(facts_path)) {
        json_t *facts = read_json(facts_path);
        struct lineage_store *store = open_copy(dir, NULL, LINEAGE_LOWER, NULL);
        struct lineage_import_stats stats;
        struct lineage_error err;
        struct lines lines = {.n = 0};
        check(lineage_import(store, raw, text(facts, "score_field"), &stats, take_line, &lines, &err) == LINEAGE_OK, name,
              "import");
        check(stats.n_rows == count(facts, "rows_in_input_tsv"), name, "rows imported");
        check(stats.n_left_out == json_array_size(json_object_get(facts, "rows_left_out")), name, "rows left out");
        lineage_store_close(store);
        size_t length;
        char *got = read_file(made, &length);
        length = keep_17_columns(got, length);
        check_bytes(got, length, want, name);
        free(got);
        json_decref(facts);
    }
    free(facts_path);
    free(raw);
    free(want);
    free(made);
    remove_dir(dir);
}

/* ---- blackboard ---- */

struct bb_case {
    const char *name, *folder;   /* folder: holds params.json, and relative paths start there */
    const char *results, *best;  /* paths */
    const char *old_knowledge;   /* NULL: none */
    const char *expected;        /* folder */
    const char *knowledge;       /* name of the expected KNOWLEDGE.md */
};

static void check_output(const struct bb_case *c, const char *output, const char *file, const char *expected)
{
    char *got_path = join(output, file), *want_path = join(c->expected, expected);
    size_t length;
    if (file_exists(want_path)) {
        char *got = read_file(got_path, &length);
        check_bytes(got, length, want_path, c->name);
        free(got);
    }
    free(got_path);
    free(want_path);
}

static void run_blackboard(const struct bb_case *c, const json_t *params)
{
    struct lineage_error err;
    struct lineage_blackboard_options options = {.tree_path = text(params, "tree_path"),
                                                 .metric_label = text(params, "score_short_label")};
    char *dir = make_dir(), *output = make_dir(), *best = join(dir, "best.json");
    char *knowledge = join(output, "KNOWLEDGE.md");
    if (c->best && file_exists(c->best))
        copy_file(c->best, best);
    if (c->old_knowledge && file_exists(c->old_knowledge))
        copy_file(c->old_knowledge, knowledge);
    struct lineage_store *store = open_copy(dir, c->results, direction(params), text(params, "score_field"));
    check(lineage_render_blackboard(store, output, &options, &err) == LINEAGE_OK, c->name, "blackboard");
    check_output(c, output, "LEADERBOARD.md", "LEADERBOARD.md");
    check_output(c, output, "tree.tsv", "tree.tsv");
    check_output(c, output, "KNOWLEDGE.md", c->knowledge);
    lineage_store_close(store);
    free(best);
    free(knowledge);
    remove_dir(dir);
    remove_dir(output);
}

static void bb_folder(const char *folder, const char *name)
{
    char *params_path = join(folder, "params.json"), *results = join(folder, "results.tsv");
    char *best = join(folder, "best.json"), *old = join(folder, "existing-KNOWLEDGE.md");
    char *expected = join(folder, "expected");
    json_t *params = read_json(params_path);
    struct bb_case c = {name, folder, results, best, old, expected, "KNOWLEDGE.md"};
    run_blackboard(&c, params);
    json_decref(params);
    free(params_path);
    free(results);
    free(best);
    free(old);
    free(expected);
}

static void blackboard_of_run(const char *run, const char *name)
{
    char *folder = join(run, "blackboard"), *params_path = join(folder, "params.json");
    if (file_exists(params_path)) {
        json_t *params = read_json(params_path);
        char *results = join(folder, text(params, "results")), *best = join(folder, text(params, "best"));
        char *old = join(folder, text(params, "existing_knowledge"));
        struct bb_case first = {name, folder, results, best, NULL, folder, "KNOWLEDGE-first.md"};
        struct bb_case later = {name, folder, results, best, old, folder, "KNOWLEDGE.md"};
        run_blackboard(&first, params);
        run_blackboard(&later, params);
        free(results);
        free(best);
        free(old);
        json_decref(params);
    }
    free(folder);
    free(params_path);
}

/* ---- folders ---- */

static void render_all(const char *folder, const char *name)
{
    char **params = list_dir(folder, "params");
    for (size_t i = 0; params[i]; i++)
        render_case(folder, name, params[i]);
    free_list(params);
}

static void run_folder(const char *root, const char *name)
{
    char *folder = join(root, name);
    if (strncmp(name, "bb-", 3) == 0) {
        bb_folder(folder, name);
    } else {
        render_all(folder, name);
        if (strncmp(name, "fk-", 3) == 0) {
            facts_of_case(folder, name);
        } else {
            facts_of_run(folder, name);
            import_run(folder, name);
            blackboard_of_run(folder, name);
        }
    }
    free(folder);
}

enum { KINDS = 3 };
static const char *const kinds[KINDS] = {"fk-", "bb-", "run-"};

static void run_root(const char *root, bool found[KINDS])
{
    for (size_t k = 0; k < KINDS; k++) {
        char **names = list_dir(root, kinds[k]);
        if (!names) {
            printf("SKIP %s: not there\n", root);
            return;
        }
        for (size_t i = 0; names[i]; i++)
            run_folder(root, names[i]);
        found[k] |= names[0] != NULL;
        free_list(names);
    }
}

int main(int argc, char **argv)
{
    bool found[KINDS] = {false};
    for (int i = 1; i < argc; i++)
        run_root(argv[i], found);
    for (size_t k = 0; k < KINDS; k++)
        if (!found[k])
            printf("SKIP %s*: in no folder\n", kinds[k]);
    printf("%u checks, %u failures\n", n_checks, n_failures);
    return n_failures || n_checks < 100;
}
