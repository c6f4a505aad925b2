#include <lineage/facts.h>
#include <lineage/insights.h>
#include <lineage/render.h>

#include "output/ideas_out.h"
#include "plan/planning.h"
#include "sweep/night_sweep.h"

/* ---- planner ideas ---- */

struct elsewhere {
    const struct planning *planning;
    struct lineage_ideas *set;
    enum lineage_status status;
    struct lineage_error *err;
};

/* A trial of this machine is found by its work directory. */
static bool add_claim(void *context, const struct lineage_claim *claim)
{
    struct elsewhere *e = context;
    if (claim->free || other_workers_is_here(claim) || strcmp(claim->night, e->planning->list->sweep.name) != 0)
        return true;
    json_t *about = json_loads(claim->about, 0, NULL);
    const struct lineage_trial trial = {.exp_id = cli_json_member(about, "name"),
                                        .hypothesis = cli_json_member(about, "hypothesis")};
    if (*trial.exp_id && *trial.hypothesis)
        e->status = lineage_ideas_add(e->set, &trial, true, e->err);
    json_decref(about);
    return e->status == LINEAGE_OK;
}

/* Planning goes on if the queue does not answer now: the claim that follows waits for it. */
static enum lineage_status add_elsewhere(void *context, struct lineage_ideas *set, struct lineage_error *err)
{
    struct elsewhere e = {.planning = context, .set = set, .err = err};
    struct lineage_error ignored;
    if (lineage_queue_each(e.planning->claims->queue, add_claim, &e, &ignored) != LINEAGE_OK && e.status == LINEAGE_OK)
        return LINEAGE_OK;
    return e.status;
}

int planner_ideas_load(struct planner_ideas *ideas)
{
    if (ideas->set)
        return CLI_GO_ON;
    struct lineage_error err;
    enum lineage_status status =
        cli_ideas_read(&ideas->set, ideas->planning->list->store, add_elsewhere, (void *)(uintptr_t)ideas->planning, &err);
    return status == LINEAGE_OK ? CLI_GO_ON : cli_fail(&err);
}

void planner_ideas_release(struct planner_ideas *ideas)
{
    lineage_ideas_release(ideas->set);
    ideas->set = NULL;
}

/* ---- the facts of the block about ideas, as JSON for a planner ---- */

/* Bounds of the lists, and of texts in characters. */
enum {
    KNOBS = 60,
    TRIES = 12,
    SPECIALISTS = 20,
    BESIDE = 20,
    CITED_BY = 8,
    WALLS = 12,
    AGAIN = 20,
    AGAIN_TRIALS = LINEAGE_AGAIN_LISTED,
    INSIGHTS = 30,
    AGAINST = 6,
    FILES = 20,
    PARTS = 12,
    TEXT_CHARACTERS = 200,
    VALUE_CHARACTERS = 60
};

static json_t *text_json(const char *text, size_t characters)
{
    char *line = text ? cli_text_line(text, characters) : NULL;
    json_t *json = line ? cli_json_text(line) : json_null();
    free(line);
    return json;
}

static json_t *id_json(const struct lineage_facts *facts, size_t trial)
{
    return trial == SIZE_MAX ? json_null() : cli_json_text(lineage_ideas_get(facts->ideas, trial)->exp_id);
}

static json_t *count_json(size_t n)
{
    return json_integer((json_int_t)n);
}

/* ---- settings ---- */

static json_t *try_json(const struct lineage_facts *facts, const struct lineage_knob_try *attempt)
{
    const struct lineage_idea *idea = lineage_ideas_get(facts->ideas, attempt->trial);
    json_t *json = json_pack("{s:o, s:o, s:s, s:o, s:s}", "to", text_json(attempt->change->to, VALUE_CHARACTERS), "exp_id",
                             cli_json_text(idea->exp_id), "status", lineage_label_name(idea->status), "delta_vs_best",
                             cli_json_figure(idea->delta_vs_best), "source", lineage_change_source_name(attempt->change->source));
    return json;
}

static json_t *knob_json(const struct lineage_facts *facts, const struct lineage_knob *knob)
{
    json_t *tries = json_array();
    for (size_t i = 0; i < knob->n_tries && i < TRIES; i++)
        json_array_append_new(tries, try_json(facts, &knob->tries[i]));
    return json_pack("{s:o, s:o, s:o, s:o, s:{s:o, s:o}, s:{s:o, s:o}, s:o}", "name", text_json(knob->name, VALUE_CHARACTERS),
                     "value", text_json(knob->value, VALUE_CHARACTERS), "set_by", id_json(facts, knob->set_by), "trials",
                     count_json(knob->n), "raised", "trials", count_json(knob->up), "kept", count_json(knob->up_kept), "lowered",
                     "trials", count_json(knob->down), "kept", count_json(knob->down_kept), "tries", tries);
}

static json_t *knobs_json(const struct lineage_facts *facts)
{
    json_t *list = json_array();
    for (size_t i = 0; i < facts->knobs.n && i < KNOBS; i++)
        json_array_append_new(list, knob_json(facts, &facts->knobs.items[i]));
    return list;
}

/* ---- the state of the search ---- */

static json_t *rate_json(const struct lineage_facts *facts, const char *specialist)
{
    struct lineage_rate rate;
    lineage_facts_rate(&rate, facts, specialist);
    return json_pack("{s:o, s:o, s:o, s:o}", "trials", count_json(rate.trials), "kept", count_json(rate.kept), "recent",
                     count_json(rate.recent), "recent_kept", count_json(rate.recent_kept));
}

/* Lists specialists in the order of their first trials. */
static json_t *specialists_json(const struct lineage_facts *facts)
{
    json_t *object = json_object();
    for (size_t i = 0; i < lineage_ideas_count(facts->ideas) && json_object_size(object) < SPECIALISTS; i++) {
        const char *specialist = lineage_ideas_get(facts->ideas, i)->specialist;
        json_t *name = text_json(specialist, VALUE_CHARACTERS);
        if (*specialist && !json_object_get(object, json_string_value(name)))
            json_object_set_new(object, json_string_value(name), rate_json(facts, specialist));
        json_decref(name);
    }
    return object;
}

static json_t *standing_json(const struct lineage_facts *facts)
{
    size_t count = lineage_ideas_count(facts->ideas);
    json_t *json = rate_json(facts, NULL);
    cli_json_set(json, "last_kept", id_json(facts, facts->last_kept), "since_kept",
                 facts->last_kept == SIZE_MAX ? json_null() : count_json(count - 1 - facts->last_kept), "noise",
                 facts->noise > 0 ? json_pack("{s:o, s:b, s:o, s:o}", "std", cli_json_number(facts->noise), "estimated",
                                              facts->noise_estimated, "replicas", count_json(facts->n_replicas),
                                              "degrees_of_freedom", count_json(facts->freedom))
                                  : json_null(),
                 "gains", count_json(facts->gains), "gains_above_noise",
                 facts->noise > 0 ? count_json(facts->large_gains) : json_null(), "specialists", specialists_json(facts), NULL);
    return json;
}

static json_t *beside_json(const struct lineage_facts *facts)
{
    json_t *list = json_array();
    for (size_t i = 0; i < facts->n_beside && i < BESIDE; i++) {
        const struct lineage_idea *idea = lineage_ideas_get(facts->ideas, facts->beside[i]);
        json_t *cited_by = json_array();
        for (size_t k = 0; k < idea->n_cited_by && k < CITED_BY; k++) {
            const struct lineage_idea *citing = lineage_ideas_get(facts->ideas, idea->cited_by[k]);
            json_array_append_new(cited_by, json_pack("{s:o, s:s, s:o}", "exp_id", cli_json_text(citing->exp_id), "status",
                                                      lineage_label_name(citing->status), "delta_vs_best",
                                                      cli_json_figure(citing->delta_vs_best)));
        }
        json_array_append_new(list, json_pack("{s:o, s:o, s:o, s:o}", "exp_id", cli_json_text(idea->exp_id), "delta_vs_best",
                                              cli_json_figure(idea->delta_vs_best), "hypothesis",
                                              text_json(idea->hypothesis, TEXT_CHARACTERS), "cited_by", cited_by));
    }
    return list;
}

/* The newest come first. */
static json_t *walls_json(const struct lineage_facts *facts)
{
    json_t *list = json_array();
    for (size_t i = facts->n_blocked; i-- > 0 && json_array_size(list) < WALLS;) {
        const struct lineage_blocked *blocked = &facts->blocked[i];
        const struct lineage_idea *idea = lineage_ideas_get(facts->ideas, blocked->trial);
        json_t *json =
            json_pack("{s:o, s:s, s:o, s:o}", "exp_id", cli_json_text(idea->exp_id), "status", lineage_label_name(idea->status),
                      "score", cli_json_figure(idea->score), "hypothesis", text_json(idea->hypothesis, TEXT_CHARACTERS));
        if (blocked->column)
            cli_json_set(json, "column", text_json(blocked->column, VALUE_CHARACTERS), "value", cli_json_number(blocked->value),
                         "largest_kept", cli_json_number(blocked->largest_kept), NULL);
        json_array_append_new(list, json);
    }
    return list;
}

static json_t *again_json(const struct lineage_facts *facts)
{
    json_t *list = json_array();
    for (size_t i = 0; i < facts->n_again && i < AGAIN; i++) {
        const struct lineage_again *again = &facts->again[i];
        const struct lineage_knob *knob = &facts->knobs.items[again->knob];
        json_t *ids = json_array();
        for (size_t k = 0; k < again->trials && k < AGAIN_TRIALS; k++)
            json_array_append_new(ids, id_json(facts, again->listed[k]));
        json_array_append_new(list, json_pack("{s:o, s:o, s:o, s:o, s:o, s:o}", "name", text_json(knob->name, VALUE_CHARACTERS),
                                              "trials", count_json(again->trials), "failed", count_json(again->failed), "low",
                                              cli_json_figure(again->low), "high", cli_json_figure(again->high), "exp_ids", ids));
    }
    return list;
}

/* ---- insights ---- */

struct insights {
    const struct lineage_facts *facts;
    json_t *list;
};

/* Keeps the newest: the file is in the order of time. */
static bool add_insight(void *context, const struct lineage_insight *insight)
{
    struct insights *in = context;
    const struct lineage_facts *facts = in->facts;
    size_t found[AGAINST], n = 0;
    if (insight->superseded_by)
        return true;
    json_t *evidence = json_array(), *against = json_array();
    for (size_t i = 0; i < insight->n_evidence; i++)
        json_array_append_new(evidence, cli_json_text(insight->evidence[i]));
    if (facts->stated)
        n = lineage_knobs_against(found, AGAINST, &facts->knobs, facts->ideas, insight->evidence, insight->n_evidence,
                                  insight->rows);
    for (size_t i = 0; i < n; i++)
        json_array_append_new(against, id_json(facts, found[i]));
    json_array_append_new(in->list, json_pack("{s:I, s:o, s:o, s:o}", "number", (json_int_t)insight->number, "text",
                                              text_json(insight->text, 2 * TEXT_CHARACTERS), "evidence", evidence,
                                              "contradicted_by", against));
    if (json_array_size(in->list) > INSIGHTS)
        json_array_remove(in->list, 0);
    return true;
}

/* Returns the member `ideas` of a planner's request (schema/planner.schema.json): settings with the values tried and
 * their outcomes, the state of the search, walls, repetitions, insights. Every list has a bound, and texts are shortened.
 * The same store gives the same object. Returns a new reference, or NULL after printing the error. */
static json_t *planner_facts(struct lineage_store *store)
{
    struct lineage_report *report = NULL;
    struct lineage_facts facts = {.code = {.against = ""}};
    struct lineage_error err;
    json_t *json = NULL, *insights = json_array();
    struct insights in = {&facts, insights};
    enum lineage_status status = lineage_report_load(&report, store, NULL, &err);
    if (status == LINEAGE_OK)
        status = lineage_facts_load(&facts, store, report, &err);
    if (status == LINEAGE_OK)
        status = lineage_insights_read(store, add_insight, &in, &err);
    if (status != LINEAGE_OK) {
        cli_fail(&err);
        goto done;
    }
    json = json_object();
    cli_json_set(json, "unread", json_integer((json_int_t)facts.unread), "standing",
                 facts.stated ? standing_json(&facts) : json_null(), "knobs", knobs_json(&facts), "more_knobs",
                 count_json(facts.knobs.n > KNOBS ? facts.knobs.n - KNOBS : 0), "kept_elsewhere", beside_json(&facts), "walls",
                 walls_json(&facts), "again", again_json(&facts), NULL);
    json_object_set(json, "insights", insights);
    json_object_set_new(json, "code",
                        *facts.code.against ? json_pack("{s:o, s:o}", "against", cli_json_text(facts.code.against), "files",
                                                        cli_measured_lines_json(&facts.code, FILES, PARTS))
                                            : json_null());

done:
    json_decref(insights);
    lineage_facts_release(&facts);
    lineage_report_release(report);
    return json;
}

/* ---- the request ---- */

enum { BLOCK_BYTES = 12000, FAILURES = 12, NEAR_MISSES = 5, UNTRIED = 8, LINE_CHARACTERS = 300 };

/* ---- trials ---- */

static json_t *short_text(const char *text)
{
    char *line = cli_text_line(text ? text : "", LINE_CHARACTERS);
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
    cli_json_set(json, "score", trial->score.present ? cli_json_number(trial->score.value) : NULL, "delta_vs_best",
                 trial->delta_vs_best.present ? cli_json_number(trial->delta_vs_best.value) : NULL, "metrics",
                 trial->n_metrics ? cli_json_metrics(trial->metrics, trial->n_metrics) : NULL, "cause",
                 lineage_notes_cause(trial->notes) ? json_string(lineage_cause_name(lineage_notes_cause(trial->notes))) : NULL,
                 "notes", short_text(trial->notes), NULL);
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
    return json_pack("{s:o, s:o, s:s}", "low", cli_json_setting(range->low), "high", cli_json_setting(range->high), "scale",
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
    cli_json_set(budget, "trials_left", planning->list->sweep.plan.trials ? json_integer((json_int_t)trials) : json_null(),
                 "tokens_left", planning->tokens ? json_integer((json_int_t)planner_cost_tokens_left(planning)) : NULL,
                 "seconds_left", isfinite(left) ? cli_json_number(left) : json_null(), "seconds_per_trial",
                 planning->list->pace > 0 && planning->list->sweep.of_commands ? cli_json_number(planning->list->pace)
                                                                               : json_null(),
                 NULL);
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
    cli_json_set(request, "ideas", facts, "files",
                 json_object_get(planning->list->sweep.root, "files") ? files_json(planning, &best) : NULL, "refused",
                 refused ? json_incref((json_t *)(uintptr_t)refused) : json_array(), NULL);
    lineage_trial_release(&best);
    return request;
}
