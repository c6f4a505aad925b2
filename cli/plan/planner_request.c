/* planner_request.c: see planner_request.h. */
#include "plan/planner_request.h"

#include <math.h>
#include <stdlib.h>
#include <string.h>

#include <lineage/notes.h>
#include <lineage/render.h>

#include "plan/draw_parent.h"
#include "plan/planner_cost.h"
#include "plan/planner_facts.h"
#include "sweep/trial_files.h"

enum { BLOCK_BYTES = 12000, FAILURES = 12, NEAR_MISSES = 5, UNTRIED = 8, TEXT_CHARACTERS = 300 };

/* ---- trials ---- */

static json_t *short_text(const char *text)
{
    char *line = cli_text_line(text ? text : "", TEXT_CHARACTERS);
    json_t *json = cli_json_text(line ? line : "");
    free(line);
    return json;
}

static json_t *trial_json(const struct lineage_trial *trial)
{
    json_t *json =
        json_pack("{s:o, s:o, s:s, s:o, s:o}", "exp_id", cli_json_text(trial->exp_id), "parent",
                  cli_json_text(trial->parent_exp ? trial->parent_exp : ""), "status", lineage_label_name(trial->status),
                  "hypothesis", short_text(trial->hypothesis), "params", cli_json_params(trial->params, trial->n_params));
    if (trial->score.present)
        json_object_set_new(json, "score", cli_json_number(trial->score.value));
    if (trial->delta_vs_best.present)
        json_object_set_new(json, "delta_vs_best", cli_json_number(trial->delta_vs_best.value));
    if (trial->n_metrics)
        json_object_set_new(json, "metrics", cli_json_metrics(trial->metrics, trial->n_metrics));
    if (lineage_notes_cause(trial->notes))
        json_object_set_new(json, "cause", json_string(lineage_cause_name(lineage_notes_cause(trial->notes))));
    json_object_set_new(json, "notes", short_text(trial->notes));
    return json;
}

static bool add_trials(json_t *list, struct lineage_store *store, const struct lineage_query *query)
{
    struct lineage_cursor *cursor;
    struct lineage_trial row = {0};
    struct lineage_error err;
    if (lineage_query_open(&cursor, store, query, &err) != LINEAGE_OK)
        return cli_fail(&err), false;
    while (lineage_cursor_next(cursor, &row, &err) == LINEAGE_OK)
        json_array_append_new(list, trial_json(&row));
    lineage_cursor_close(cursor);
    return true;
}

/* Lists the failed trials by label, the newest trial first. */
static json_t *failures_json(struct lineage_store *store)
{
    json_t *failures = json_object();
    for (int label = 0; label < LINEAGE_N_LABELS; label++) {
        bool failure =
            !lineage_label_is_kept((enum lineage_label)label) && label != LINEAGE_DISCARD && label != LINEAGE_HARNESS_ABORT;
        const struct lineage_query query = {.labels = 1u << label, .sort = "-seq", .limit = FAILURES};
        json_t *list = json_array();
        if (failure && add_trials(list, store, &query) && json_array_size(list) > 0)
            json_object_set(failures, lineage_label_name((enum lineage_label)label), list);
        json_decref(list);
    }
    return failures;
}

/* Lists the discarded trials with the best scores. */
static json_t *near_misses_json(struct lineage_store *store)
{
    bool lower = lineage_store_config(store)->direction == LINEAGE_LOWER;
    const struct lineage_query query = {
        .labels = 1u << LINEAGE_DISCARD, .sort = lower ? "score" : "-score", .limit = NEAR_MISSES};
    json_t *list = json_array();
    add_trials(list, store, &query);
    return list;
}

static json_t *chain_json(struct lineage_store *store, const char *best)
{
    struct lineage_chain chain = {0};
    struct lineage_error err;
    json_t *list = json_array();
    if (best && lineage_chain_load(store, best, &chain, &err) == LINEAGE_OK)
        for (size_t i = 0; i < chain.n; i++)
            json_array_append_new(list, trial_json(&chain.trials[i]));
    lineage_chain_release(&chain);
    return list;
}

/* ---- what to try ---- */

static json_t *range_json(const struct propose_range *range)
{
    static const char *const scales[] = {"linear", "log", "integer", "log-integer"};
    json_t *values = json_array();
    for (size_t i = 0; i < range->n_choices; i++)
        json_array_append_new(values, propose_value_json(range, (double)i));
    if (range->scale == PROPOSE_CHOICE)
        return json_pack("{s:o}", "values", values);
    json_decref(values);
    return json_pack("{s:o, s:o, s:s}", "low", cli_json_number(range->low), "high", cli_json_number(range->high), "scale",
                     scales[range->scale]);
}

static json_t *ranges_json(const struct propose_space *space)
{
    json_t *ranges = json_object();
    for (size_t i = 0; i < space->n; i++) {
        json_t *range = range_json(&space->ranges[i]);
        if (space->conditions[i])
            json_object_set_new(range, "if", cli_json_text(space->conditions[i]));
        json_object_set_new(ranges, space->ranges[i].name, range);
    }
    return ranges;
}

/* Returns the next n proposals of a method, each made as if the previous proposals were already running. */
static json_t *proposals_json(const struct planning *planning, enum propose_method method, size_t n)
{
    const struct propose_space *space = &planning->list->sweep.space;
    struct propose_past past = {0};
    json_t *list = json_array();
    bool more = planning_read_past(&past, planning, false) == CLI_GO_ON;
    for (size_t i = 0; i < n && more; i++) {
        double x[PROPOSE_RANGES_MAX];
        struct lineage_error ignored;
        bool exhausted;
        more = propose_past_next(x, &exhausted, &past, method, planning->list->sweep.plan.seed, &ignored) == LINEAGE_OK &&
               !exhausted && propose_past_add(&past, x, space->n, PROPOSE_RUNNING);
        if (more)
            json_array_append_new(list, propose_setting_json(space, x));
    }
    propose_past_release(&past);
    return list;
}

/* Adds at most ten trials that are best in both scores, beside the best one, if the store has two. */
static void add_front(json_t *list, struct lineage_store *store, const struct lineage_trial *best)
{
    struct lineage_front front;
    struct lineage_error err;
    if (lineage_front_load(&front, store, &err) == LINEAGE_OK)
        for (size_t i = 0; i < front.n && i < 10; i++)
            if (!best->exp_id || strcmp(front.points[i].exp_id, best->exp_id) != 0)
                json_array_append_new(list, json_pack("{s:o, s:s}", "exp_id", cli_json_text(front.points[i].exp_id), "why",
                                                      "on the front of both scores"));
    lineage_front_release(&front);
}

static json_t *parents_json(const struct planning *planning, const struct lineage_trial *best)
{
    char *drawn = NULL;
    json_t *list = json_array();
    if (best->exp_id)
        json_array_append_new(list, json_pack("{s:o, s:s}", "exp_id", cli_json_text(best->exp_id), "why", "best"));
    add_front(list, planning->list->store, best);
    if (draw_parent(&drawn, planning->list->store, planning->list->sweep.plan.seed) == CLI_GO_ON && *drawn &&
        strcmp(drawn, best->exp_id ? best->exp_id : "") != 0)
        json_array_append_new(list,
                              json_pack("{s:o, s:s}", "exp_id", cli_json_text(drawn), "why", "drawn by score and children"));
    free(drawn);
    return list;
}

/* ---- all of it ---- */

static json_t *budget_json(struct planning *planning)
{
    double left = night_hours_left(planning->hours);
    size_t trials = planning_left(planning);
    json_t *budget = json_object();
    json_object_set_new(budget, "trials_left",
                        planning->list->sweep.plan.trials ? json_integer((json_int_t)trials) : json_null());
    if (planning->tokens)
        json_object_set_new(budget, "tokens_left", json_integer((json_int_t)planner_cost_tokens_left(planning)));
    json_object_set_new(budget, "seconds_left", isfinite(left) ? cli_json_number(left) : json_null());
    json_object_set_new(budget, "seconds_per_trial",
                        planning->list->pace > 0 && planning->list->sweep.of_commands ? cli_json_number(planning->list->pace)
                                                                                      : json_null());
    return budget;
}

/*
 * The files with which a trial that starts from the best trial begins. The planner makes its diff against these files.
 */
static json_t *files_json(const struct planning *planning, const struct lineage_trial *best)
{
    char why[NIGHT_WHY_MAX];
    struct trial_parent parent;
    const struct trial_files files = {&planning->list->sweep, planning->list->store, &parent, NULL};
    bool found = trial_parent_find(&parent, files.sweep, files.store, best->exp_id, why) == CLI_GO_ON && best->exp_id;
    json_t *json = json_pack("{s:s, s:o}", "parent", found ? best->exp_id : "base", "texts", trial_files_texts(&files));
    trial_parent_release(&parent);
    return json;
}

/* The sweep file without the keys that are elsewhere in the request. */
static json_t *template_json(const struct night_sweep *sweep)
{
    json_t *template = json_copy(sweep->root);
    json_object_del(template, "ranges");
    json_object_del(template, "propose");
    json_object_del(template, "trials");
    json_object_del(template, "grid");
    return template;
}

static json_t *block_json(const struct planning *planning)
{
    struct lineage_render_options options;
    struct lineage_error err;
    char *text;
    size_t length;
    lineage_render_options_init(&options);
    options.specialist = planning->list->sweep.name;
    options.max_bytes = BLOCK_BYTES;
    if (lineage_render(&text, &length, planning->list->store, &options, &err) != LINEAGE_OK)
        return cli_fail(&err), NULL;
    json_t *json = json_stringn_nocheck(text, length);
    lineage_free(text);
    return json;
}

json_t *planner_request(struct planning *planning, const json_t *refused)
{
    struct lineage_store *store = planning->list->store;
    struct lineage_trial best = {0};
    struct lineage_error err;
    json_t *block = block_json(planning);
    enum lineage_status status = lineage_best(store, &best, &err);
    if (!block || (status != LINEAGE_OK && status != LINEAGE_ENOTFOUND)) {
        json_decref(block);
        return block ? cli_fail(&err), NULL : NULL;
    }
    bool lower = lineage_store_config(store)->direction == LINEAGE_LOWER;
    json_t *request = json_pack(
        "{s:i, s:s, s:{s:s, s:s}, s:o, s:o, s:o, s:o, s:o, s:o, s:o, s:o, s:o}", "version", 1, "sweep",
        planning->list->sweep.name, "score", "name", lineage_store_metric(store), "better", lower ? "lower" : "higher", "budget",
        budget_json(planning), "template", template_json(&planning->list->sweep), "ranges",
        ranges_json(&planning->list->sweep.space), "chain", chain_json(store, best.exp_id), "failures", failures_json(store),
        "near_misses", near_misses_json(store), "parents", parents_json(planning, &best), "untried",
        proposals_json(planning, PROPOSE_GRID, UNTRIED), "suggestions", proposals_json(planning, planning->method, 1));
    json_object_set_new(request, "knowledge", block);
    json_t *facts = planner_facts(store);
    if (!facts) {
        json_decref(request);
        lineage_trial_release(&best);
        return NULL;
    }
    json_object_set_new(request, "ideas", facts);
    if (json_object_get(planning->list->sweep.root, "files"))
        json_object_set_new(request, "files", files_json(planning, &best));
    json_object_set_new(request, "refused", refused ? json_incref((json_t *)(uintptr_t)refused) : json_array());
    lineage_trial_release(&best);
    return request;
}
