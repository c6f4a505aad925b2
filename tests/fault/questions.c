/* questions.c: see questions.h. */
#include "questions.h"

#include <stdlib.h>
#include <string.h>

#include <lineage/query.h>
#include <lineage/render.h>
#include <lineage/verify.h>

#include "support/files.h"

static void hear_finding(void *context, const struct lineage_finding *finding)
{
    fprintf(context, "%s:%llu:%s:%s\n", finding->kind, (unsigned long long)finding->line, finding->exp_id, finding->text);
}

void print_trial(FILE *out, const struct lineage_trial *trial)
{
    const struct lineage_number *const numbers[] = {&trial->core_metric, &trial->val_bpb, &trial->delta_vs_best, &trial->train_s,
                                                    &trial->total_s};
    for (size_t i = 0; i < LINEAGE_N_COLUMNS; i++) {
        const char *text = lineage_trial_text(trial, i);
        fprintf(out, "%s|", text ? text : "");
    }
    for (size_t i = 0; i < sizeof numbers / sizeof *numbers; i++)
        fprintf(out, "%d %.17g|", numbers[i]->present, numbers[i]->value);
    fprintf(out, "%d|", (int)trial->status);
    for (size_t i = 0; i < trial->n_params; i++)
        fprintf(out, "%s=%.17g|", trial->params[i].name, trial->params[i].value);
    for (size_t i = 0; i < trial->n_turns; i++)
        fprintf(out, "%d:%.17g|", (int)trial->turns[i].turn, trial->turns[i].mean);
    fprintf(out, "%d %.17g %llu\n", trial->score.present, trial->score.value, (unsigned long long)trial->line);
}

enum lineage_status print_trials(FILE *out, struct lineage_cursor *cursor, struct lineage_error *err)
{
    struct lineage_trial trial;
    enum lineage_status status;
    while ((status = lineage_cursor_next(cursor, &trial, err)) == LINEAGE_OK)
        print_trial(out, &trial);
    lineage_cursor_close(cursor);
    return status == LINEAGE_ENOTFOUND ? LINEAGE_OK : status;
}

static bool print_node(void *context, const struct lineage_tree_node *node)
{
    fprintf(context, "%zu %zu %d %d ", node->depth, node->n_children, node->parent_missing, node->in_cycle);
    print_trial(context, node->trial);
    return true;
}

static bool print_sql(void *context, size_t n, const char *const *names, const char *const *texts)
{
    for (size_t i = 0; i < n; i++)
        fprintf(context, "%s=%s|", names[i], texts[i] ? texts[i] : "NULL");
    fputc('\n', context);
    return true;
}

static enum lineage_status ask_best(struct lineage_store *store, FILE *out, struct lineage_error *err)
{
    struct lineage_trial trial;
    enum lineage_status status = lineage_best(store, &trial, err);
    if (status == LINEAGE_OK) {
        print_trial(out, &trial);
        lineage_trial_release(&trial);
    }
    return status;
}

static enum lineage_status ask_find(struct lineage_store *store, FILE *out, struct lineage_error *err)
{
    struct lineage_trial trial;
    enum lineage_status status = lineage_find(store, "exp_003", &trial, err);
    if (status == LINEAGE_OK) {
        print_trial(out, &trial);
        lineage_trial_release(&trial);
    }
    return status;
}

static enum lineage_status ask_chain(struct lineage_store *store, FILE *out, struct lineage_error *err)
{
    struct lineage_chain chain;
    enum lineage_status status = lineage_chain_load(store, "006", &chain, err);
    if (status != LINEAGE_OK)
        return status;
    for (size_t i = 0; i < chain.n; i++) {
        fprintf(out, "%zu ", chain.passed_over[i]);
        print_trial(out, &chain.trials[i]);
    }
    fprintf(out, "%d %s\n", (int)chain.end, chain.end_id);
    lineage_chain_release(&chain);
    return LINEAGE_OK;
}

static enum lineage_status ask_tree(struct lineage_store *store, FILE *out, struct lineage_error *err)
{
    return lineage_tree_walk(store, print_node, out, err);
}

static enum lineage_status ask_query(struct lineage_store *store, const struct lineage_query *query, FILE *out,
                                     struct lineage_error *err)
{
    struct lineage_cursor *cursor;
    enum lineage_status status = lineage_query_open(&cursor, store, query, err);
    return status == LINEAGE_OK ? print_trials(out, cursor, err) : status;
}

static enum lineage_status ask_all(struct lineage_store *store, FILE *out, struct lineage_error *err)
{
    return ask_query(store, &(struct lineage_query){0}, out, err);
}

static enum lineage_status ask_sorted(struct lineage_store *store, FILE *out, struct lineage_error *err)
{
    return ask_query(store, &(struct lineage_query){.sort = "-score"}, out, err);
}

static enum lineage_status ask_range(struct lineage_store *store, FILE *out, struct lineage_error *err)
{
    const struct lineage_condition condition = {.name = "alpha", .range = {{true, 0.2}, {true, 0.5}}};
    return ask_query(store, &(struct lineage_query){.conditions = &condition, .n_conditions = 1, .sort = "alpha"}, out, err);
}

static enum lineage_status ask_since(struct lineage_store *store, FILE *out, struct lineage_error *err)
{
    return ask_query(store, &(struct lineage_query){.since = "2026-01-03", .specialist = "opt"}, out, err);
}

static enum lineage_status ask_tried(struct lineage_store *store, FILE *out, struct lineage_error *err)
{
    const struct lineage_param wanted = {"alpha", 0.3, NULL};
    struct lineage_cursor *cursor;
    enum lineage_status status = lineage_tried(&cursor, store, &wanted, 1, 1e-9, err);
    return status == LINEAGE_OK ? print_trials(out, cursor, err) : status;
}

static enum lineage_status ask_sweep(struct lineage_store *store, FILE *out, struct lineage_error *err)
{
    struct lineage_sweep sweep;
    enum lineage_status status = lineage_sweep_load(store, "alpha", "gamma", &sweep, err);
    if (status != LINEAGE_OK)
        return status;
    for (size_t i = 0; i < sweep.n_cells; i++)
        fprintf(out, "%.17g %.17g %zu %.17g %s\n", sweep.cells[i].x, sweep.cells[i].y, sweep.cells[i].count,
                sweep.cells[i].best.value, sweep.cells[i].best_id ? sweep.cells[i].best_id : "-");
    fprintf(out, "%zu\n", sweep.without);
    lineage_sweep_release(&sweep);
    return LINEAGE_OK;
}

static enum lineage_status ask_render(struct lineage_store *store, enum lineage_style style, FILE *out, struct lineage_error *err)
{
    struct lineage_render_options options;
    char *text;
    size_t length;
    lineage_render_options_init(&options);
    options.style = style;
    options.specialist = "opt";
    enum lineage_status status = lineage_render(&text, &length, store, &options, err);
    if (status == LINEAGE_OK) {
        fwrite(text, 1, length, out);
        lineage_free(text);
    }
    return status;
}

static enum lineage_status ask_native(struct lineage_store *store, FILE *out, struct lineage_error *err)
{
    return ask_render(store, LINEAGE_STYLE_NATIVE, out, err);
}

static enum lineage_status ask_fieldkit(struct lineage_store *store, FILE *out, struct lineage_error *err)
{
    return ask_render(store, LINEAGE_STYLE_FIELDKIT, out, err);
}

static enum lineage_status ask_findings(struct lineage_store *store, FILE *out, struct lineage_error *err)
{
    return lineage_findings(store, hear_finding, out, err);
}

static enum lineage_status ask_steps(struct lineage_store *store, FILE *out, struct lineage_error *err)
{
    return lineage_sql(store, "SELECT * FROM step_metrics", print_sql, out, err);
}

static enum lineage_status ask_sums(struct lineage_store *store, FILE *out, struct lineage_error *err)
{
    return lineage_sql(store,
                       "SELECT specialist, status, n FROM label_counts UNION ALL SELECT key, value, n FROM"
                       " param_values UNION ALL SELECT name, value, number FROM extras",
                       print_sql, out, err);
}

const struct question questions[] = {{"best", ask_best},         {"find", ask_find},       {"chain", ask_chain},
                                     {"tree", ask_tree},         {"query", ask_all},       {"sorted", ask_sorted},
                                     {"range", ask_range},       {"since", ask_since},     {"tried", ask_tried},
                                     {"sweep", ask_sweep},       {"render", ask_native},   {"fieldkit", ask_fieldkit},
                                     {"findings", ask_findings}, {"telemetry", ask_steps}, {"sums", ask_sums}};
const size_t n_questions = sizeof questions / sizeof *questions;

void make_asked_store(const char *dir)
{
    static const struct {
        const char *parent, *specialist, *timestamp, *notes;
        enum lineage_label status;
        double score, alpha;
    } rows[] = {{"", "opt", "2026-01-01", "first", LINEAGE_BASELINE, 2.0, 0.1},
                {"000", "opt", "2026-01-02", "info_gain turn=0 mean=0.25 std=0.5 n=4", LINEAGE_KEEP, 1.5, 0.3},
                {"001", "data", "2026-01-03", "clip", LINEAGE_DISCARD, 1.75, 0.3},
                {"001", "opt", "2026-01-04", "wider", LINEAGE_KEEP, 1.25, 0.5},
                {"003", "opt", "2026-01-05", "died", LINEAGE_CRASH, 0, 0.9},
                {"003", "data", "2026-01-06", "more", LINEAGE_DISCARD, 1.3, 0.4},
                {"004", "opt", "2026-01-07", "less", LINEAGE_KEEP, 1.24, 0.2}};
    struct lineage_config config = {.direction = LINEAGE_LOWER, .min_delta = 0.01};
    struct lineage_append_options options;
    struct lineage_error err;
    struct lineage_store *store;
    char *work = make_dir(), *file = join(work, "train.py");
    write_file(file, "print(1)\n", 9);
    if (lineage_store_create(dir, &config, &err) != LINEAGE_OK || lineage_store_open(&store, dir, NULL, &err) != LINEAGE_OK)
        abort();
    for (size_t i = 0; i < sizeof rows / sizeof *rows; i++) {
        struct lineage_param params[] = {{"alpha", rows[i].alpha, NULL}, {"gamma", 1.0, NULL}};
        struct lineage_trial trial = {.parent_exp = rows[i].parent,
                                      .specialist = rows[i].specialist,
                                      .timestamp = rows[i].timestamp,
                                      .notes = rows[i].notes,
                                      .status = rows[i].status,
                                      .core_metric = {rows[i].score > 0, rows[i].score},
                                      .params = params,
                                      .n_params = 2,
                                      .hypothesis = "a hypothesis\twith a tab",
                                      .expected_delta = "-0.2"};
        lineage_append_options_init(&options);
        options.telemetry = i == 1 ? "{\"steps\": [{\"step\": 0, \"loss\": 1.5}, {\"step\": 1, \"loss\": 1.25}]}" : NULL;
        options.telemetry_length = options.telemetry ? strlen(options.telemetry) : 0;
        options.snapshot_dir = i == 3 ? work : NULL;
        if (lineage_store_append(store, &trial, &options, NULL, &err) != LINEAGE_OK)
            abort();
    }
    lineage_store_close(store);
    free(file);
    remove_dir(work);
}
