/*
 * tool_ideas.c: the tools search, similar and knobs, which find trials by words and ideas, whereas the other tools find
 * them by parameters. An agent calls them before it proposes a trial.
 */

#include <lineage/insights.h>
#include <lineage/knobs.h>
#include <lineage/search.h>

#include "mcp/page.h"
#include "mcp/tools.h"
#include "output/ideas_out.h"

enum { SIMILAR_MAX = 50, KNOBS_MAX = 200, TRIES_MAX = 40, TEXT_MAX = 160 };

static const struct mcp_argument search_arguments[] = {
    {"words", MCP_TEXT, true,
     "all must occur; \"phrase\", prefix*, OR, NOT, ( ), hypothesis:word, notes:word; parts of identifiers", 1, 2000, NULL},
    {"specialist", MCP_TEXT, false, "", 0, 400, NULL},
    {"fields", MCP_TEXTS, false, "as in query", 0, 200, NULL},
    {"limit", MCP_COUNT, false, "rows, default 20", 1, MCP_MAX_ROWS, NULL},
    {"max_bytes", MCP_COUNT, false, MCP_BYTES_DEFAULT, 500, 200000, NULL},
    {.name = NULL}};

/* There is no cursor, because the best matches come first: other words find better matches than a further page
 * would. */
static json_t *call_search(struct mcp_call *call)
{
    const struct lineage_query filter = {.specialist = mcp_text_argument(call, "specialist"), .limit = MCP_COUNT_MAX + 1};
    struct lineage_cursor *cursor = NULL;
    struct lineage_trial trial;
    struct lineage_error err;
    struct mcp_page page;
    json_t *result = NULL;
    size_t total = 0;
    if (!mcp_page_open(&page, call, MCP_DEFAULT_FIELDS)) {
        mcp_page_release(&page);
        return NULL;
    }
    enum lineage_status status = lineage_search(&cursor, call->server->store, mcp_text_argument(call, "words"), &filter, &err);
    while (status == LINEAGE_OK && (status = lineage_cursor_next(cursor, &trial, &err)) == LINEAGE_OK) {
        mcp_page_add(&page, &trial);
        total++;
    }
    lineage_cursor_close(cursor);
    if (status == LINEAGE_ENOTFOUND)
        result = mcp_page_finish(&page, call, total, false);
    else
        mcp_store_trouble(call, &err);
    mcp_page_release(&page);
    return result;
}

const struct mcp_tool mcp_tool_search = {
    .name = "search",
    .title = "Find trials by words",
    .description = "Full-text search in hypotheses, notes and remarks: best match first.",
    .arguments = search_arguments,
    .output = MCP_LIST_OUTPUT,
    .needed = "\"shown\",\"columns\",\"rows\"",
    .call = call_search,
};

static const struct mcp_argument similar_arguments[] = {
    {"idea", MCP_TEXT, true, "in words (\"raise grad_clip_norm 0.3 to 0.5\"), or an exp_id", 1, 20000, NULL},
    {"limit", MCP_COUNT, false, "default 5", 1, SIMILAR_MAX, NULL},
    {"strictness", MCP_NUMBER, false, "how sure `same` must be; default 0.4", 0, 1, NULL},
    {.name = NULL}};

static json_t *similar_json(const struct lineage_ideas *ideas, const struct lineage_similar *similar)
{
    const struct lineage_idea *idea = lineage_ideas_get(ideas, similar->trial);
    return json_pack("{s:o, s:b, s:o, s:s, s:o, s:o}", "exp_id", mcp_cell(idea->exp_id, TEXT_MAX), "same", similar->same, "why",
                     mcp_cell(similar->why, TEXT_MAX), "status", idea->running ? "running" : lineage_label_name(idea->status),
                     "delta_vs_best", cli_json_figure(idea->delta_vs_best), "hypothesis", mcp_cell(idea->hypothesis, TEXT_MAX));
}

static json_t *call_similar(struct mcp_call *call)
{
    const char *what = mcp_text_argument(call, "idea");
    size_t limit = mcp_count_argument(call, "limit", 5), trial;
    double strictness = LINEAGE_STRICTNESS;
    struct lineage_similar_list list = {0};
    struct lineage_ideas *ideas;
    struct lineage_error err;
    json_t *result = NULL, *trials;
    bool tried = false;
    if (cli_ideas_alike(&ideas, call->server->store, what, &err) != LINEAGE_OK)
        return mcp_store_trouble(call, &err);
    mcp_number_argument(&strictness, call, "strictness");
    enum lineage_status status = lineage_ideas_set_strictness(ideas, strictness, &err);
    if (status == LINEAGE_OK)
        status = lineage_ideas_find(&trial, ideas, what) ? lineage_ideas_similar(&list, ideas, trial, false, limit, &err)
                                                         : lineage_ideas_similar_text(&list, ideas, what, limit, &err);
    if (status == LINEAGE_OK) {
        trials = json_array();
        for (size_t i = 0; i < list.n; i++) {
            json_array_append_new(trials, similar_json(ideas, &list.items[i]));
            tried = tried || list.items[i].same;
        }
        result = json_pack("{s:b, s:o}", "tried", tried, "trials", trials);
        if (list.remark)
            json_object_set_new(result, "remark", mcp_cell(list.remark, TEXT_MAX));
    } else {
        mcp_store_trouble(call, &err);
    }
    lineage_similar_release(&list);
    lineage_ideas_release(ideas);
    return result;
}

const struct mcp_tool mcp_tool_similar = {
    .name = "similar",
    .title = "Was this idea tried?",
    .description = "The trials nearest to an idea, with outcomes; `same`: that trial already made the whole change. Ask it "
                   "before you propose a trial.",
    .arguments = similar_arguments,
    .output = "\"tried\":{\"type\":\"boolean\"},\"trials\":{\"type\":\"array\"}",
    .needed = "\"tried\",\"trials\"",
    .call = call_similar,
};

static const struct mcp_argument knobs_arguments[] = {
    {"name", MCP_TEXT, false, "only settings whose name has these words", 1, 200, NULL},
    {"limit", MCP_COUNT, false, "default 30", 1, KNOBS_MAX, NULL},
    {.name = NULL}};

/* Whether each word of the wanted name is in the knob's name; '_', '-' and blanks separate words. */
static bool matches(const char *knob, const char *wanted)
{
    for (const char *at = wanted; *(at += strspn(at, " _-."));) {
        size_t length = strcspn(at, " _-.");
        bool found = false;
        for (const char *in = knob; *in && !found; in++)
            found = strncasecmp(in, at, length) == 0;
        if (!found)
            return false;
        at += length;
    }
    return true;
}

static json_t *knob_json(const struct lineage_ideas *ideas, const struct lineage_knob *knob)
{
    json_t *tries = json_array();
    for (size_t i = 0; i < knob->n_tries && i < TRIES_MAX; i++) {
        const struct lineage_idea *idea = lineage_ideas_get(ideas, knob->tries[i].trial);
        json_array_append_new(
            tries, json_pack("[o, o, s, o]", mcp_cell(knob->tries[i].change->to, 40), mcp_cell(idea->exp_id, 40),
                             idea->running ? "running" : lineage_label_name(idea->status), cli_json_figure(idea->delta_vs_best)));
    }
    return json_pack("{s:o, s:o, s:i, s:o}", "name", mcp_cell(knob->name, 80), "value",
                     knob->value ? mcp_cell(knob->value, 40) : json_null(), "trials", (int)knob->n, "tries", tries);
}

static json_t *call_knobs(struct mcp_call *call)
{
    const char *name = mcp_text_argument(call, "name");
    size_t limit = mcp_count_argument(call, "limit", 30), n = 0, found = 0;
    struct lineage_knobs knobs = {0};
    struct lineage_ideas *ideas;
    struct lineage_error err;
    json_t *result = NULL;
    if (cli_ideas_read(&ideas, call->server->store, NULL, NULL, &err) != LINEAGE_OK)
        return mcp_store_trouble(call, &err);
    if (lineage_knobs_find(&knobs, ideas, cli_ideas_best(ideas, call->server->store), 0, &err) == LINEAGE_OK) {
        json_t *list = json_array();
        const struct lineage_knob *named = name ? lineage_knobs_named(&knobs, ideas, name) : NULL;
        if (named) { /* the one that the name means comes first, in any spelling */
            json_array_append_new(list, knob_json(ideas, named));
            n = found = 1;
        }
        for (size_t i = 0; i < knobs.n; i++) {
            if (&knobs.items[i] == named || (name && !matches(knobs.items[i].name, name)))
                continue;
            if (found++ < limit && json_array_append_new(list, knob_json(ideas, &knobs.items[i])) == 0)
                n++;
        }
        result = json_pack("{s:o, s:o}", "shown", mcp_shown(n, found), "knobs", list);
    } else {
        mcp_store_trouble(call, &err);
    }
    lineage_knobs_release(&knobs);
    lineage_ideas_release(ideas);
    return result;
}

const struct mcp_tool mcp_tool_knobs = {
    .name = "knobs",
    .title = "Settings and the values tried",
    .description = "Settings that trials changed in parameters or words: the value in force for the best trial, and each value "
                   "tried as [value, exp_id, status, delta_vs_best]. Most trials first.",
    .arguments = knobs_arguments,
    .output = "\"shown\":{\"type\":\"string\"},\"knobs\":{\"type\":\"array\"}",
    .needed = "\"shown\",\"knobs\"",
    .call = call_knobs,
};

static const struct mcp_argument insight_arguments[] = {
    {"text", MCP_TEXT, true, "the claim, e.g. \"more than 4 epochs exceed the evaluation budget\"", 1, LINEAGE_INSIGHT_MAX, NULL},
    {"evidence", MCP_TEXTS, true, "exp_ids of the trials that show it", 0, 400, NULL},
    {"supersedes", MCP_COUNT, false, "number of the insight that this one replaces", 1, 9007199254740991.0, NULL},
    {"author", MCP_TEXT, false, "author of the insight", 0, LINEAGE_NAME_MAX, NULL},
    {.name = NULL}};

static json_t *call_insight(struct mcp_call *call)
{
    const json_t *evidence = json_object_get(call->arguments, "evidence");
    const char *ids[LINEAGE_EVIDENCE_MAX + 1];
    struct lineage_insight insight = {.text = mcp_text_argument(call, "text"),
                                      .author = mcp_text_argument(call, "author"),
                                      .evidence = ids,
                                      .supersedes = mcp_count_argument(call, "supersedes", 0)};
    struct lineage_error err;
    uint64_t number;
    for (size_t i = 0; i < json_array_size(evidence) && i <= LINEAGE_EVIDENCE_MAX; i++)
        ids[insight.n_evidence++] = json_string_value(json_array_get(evidence, i));
    call->server->deadline = 0; /* writing is not aborted halfway */
    if (lineage_insight_append(call->server->store, &insight, &number, &err) != LINEAGE_OK)
        return mcp_store_trouble(call, &err);
    return json_pack("{s:I}", "insight", (json_int_t)number);
}

const struct mcp_tool mcp_tool_insight = {
    .name = "insight",
    .title = "Record what trials show",
    .description = "Record a claim with the trials that show it. Every later agent reads it in `knowledge` until another "
                   "supersedes it; it is flagged when later trials contradict it.",
    .arguments = insight_arguments,
    .output = "\"insight\":{\"type\":\"integer\"}",
    .needed = "\"insight\"",
    .writes = true,
    .call = call_insight,
};
