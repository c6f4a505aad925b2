/* planner_facts.c: see planner_facts.h. */
#include "plan/planner_facts.h"

#include <stdlib.h>
#include <string.h>

#include <lineage/facts.h>
#include <lineage/insights.h>

#include "cli.h"
#include "output/measured_out.h"

/* Bounds of the lists, and of texts in characters. */
enum {
    KNOBS = 60,
    TRIES = 12,
    SPECIALISTS = 20,
    BESIDE = 20,
    CITED_BY = 8,
    WALLS = 12,
    AGAIN = 20,
    AGAIN_TRIALS = 12,
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
    json_object_set_new(json, "last_kept", id_json(facts, facts->last_kept));
    json_object_set_new(json, "since_kept",
                        facts->last_kept == SIZE_MAX ? json_null() : count_json(count - 1 - facts->last_kept));
    json_object_set_new(json, "noise",
                        facts->noise > 0 ? json_pack("{s:o, s:b, s:o, s:o}", "std", cli_json_number(facts->noise), "estimated",
                                                     facts->noise_estimated, "replicas", count_json(facts->n_replicas),
                                                     "degrees_of_freedom", count_json(facts->freedom))
                                         : json_null());
    json_object_set_new(json, "gains", count_json(facts->gains));
    json_object_set_new(json, "gains_above_noise", facts->noise > 0 ? count_json(facts->large_gains) : json_null());
    json_object_set_new(json, "specialists", specialists_json(facts));
    return json;
}

/* ---- trials ---- */

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
        if (blocked->column) {
            json_object_set_new(json, "column", text_json(blocked->column, VALUE_CHARACTERS));
            json_object_set_new(json, "value", cli_json_number(blocked->value));
            json_object_set_new(json, "largest_kept", cli_json_number(blocked->largest_kept));
        }
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
        for (size_t k = 0; k < knob->n_tries && k < AGAIN_TRIALS; k++)
            json_array_append_new(ids, id_json(facts, knob->tries[k].trial));
        json_array_append_new(list, json_pack("{s:o, s:o, s:o, s:o, s:o, s:o}", "name", text_json(knob->name, VALUE_CHARACTERS),
                                              "trials", count_json(knob->n), "failed", count_json(again->failed), "low",
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

/* ---- all of it ---- */

json_t *planner_facts(struct lineage_store *store)
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
    json_object_set_new(json, "unread", json_integer((json_int_t)facts.unread));
    json_object_set_new(json, "standing", facts.stated ? standing_json(&facts) : json_null());
    json_object_set_new(json, "knobs", knobs_json(&facts));
    json_object_set_new(json, "more_knobs", count_json(facts.knobs.n > KNOBS ? facts.knobs.n - KNOBS : 0));
    json_object_set_new(json, "kept_elsewhere", beside_json(&facts));
    json_object_set_new(json, "walls", walls_json(&facts));
    json_object_set_new(json, "again", again_json(&facts));
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
