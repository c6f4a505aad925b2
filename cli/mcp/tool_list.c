/*
 * tool_list.c: the tools query, tried, chain, best, trial, which show trials as rows. They are together because they
 * share the page with its fields and its cursor, and differ in what they select.
 */

#include <float.h>

#include <lineage/remarks.h>
#include <lineage/voids.h>

#include "mcp/page.h"
#include "mcp/tools.h"
#include "output/show.h"
#include "output/ideas_out.h"

/* ---- query ---- */

static const char *const labels[] = {"keep",
                                     "discard",
                                     "crash",
                                     "eval_budget_overrun",
                                     "train_budget_overrun",
                                     "size_blocked",
                                     "preflight_crash",
                                     "harness_abort",
                                     "disqualified",
                                     "baseline",
                                     NULL};

static const struct mcp_argument query_arguments[] = {
    {"where", MCP_RANGES, false,
     "parameter or numeric column -> number, range (ends included) or texts: "
     "{\"alpha\":\"0.1:0.5\",\"score\":\"0.9:\",\"optimizer\":\"adam,sgd\"}",
     0, 0, NULL},
    {"status", MCP_TEXTS, false, "", 0, 0, labels},
    {"specialist", MCP_TEXT, false, "", 0, 400, NULL},
    {"since", MCP_TEXT, false, "UTC date or time, e.g. 2026-05-12", 0, 40, NULL},
    {"until", MCP_TEXT, false, "", 0, 40, NULL},
    {"sort", MCP_TEXT, false,
     "best, column or parameter; `-` in front: descending. Trials without it are left out. Default: newest first", 0, 80, NULL},
    MCP_LIST_ARGUMENTS(
        "columns of results.tsv, score, margin, turns, row, verdict, cause, parameters; default " MCP_DEFAULT_FIELDS),
    {.name = NULL}};

/* Unknown labels cannot occur: the schema lists the labels, and the arguments were checked against it. */
static unsigned label_bits(const struct mcp_call *call)
{
    const json_t *status = json_object_get(call->arguments, "status");
    enum lineage_label label;
    unsigned bits = 0;
    for (size_t i = 0; i < json_array_size(status); i++)
        if (lineage_label_parse(&label, json_string_value(json_array_get(status, i))))
            bits |= 1u << label;
    return bits;
}

/* Clients know the row number as `row`; the store's column is called seq. */
static const char *sort_name(const char *sort)
{
    if (!sort || strcmp(sort, "-row") == 0)
        return "-seq";
    return strcmp(sort, "row") == 0 ? "seq" : sort;
}

static json_t *call_query(struct mcp_call *call)
{
    struct mcp_conditions conditions = {.n = 0};
    const char *sort = mcp_text_argument(call, "sort");
    struct lineage_query query = {.labels = label_bits(call),
                                  .specialist = mcp_text_argument(call, "specialist"),
                                  .since = mcp_text_argument(call, "since"),
                                  .until = mcp_text_argument(call, "until"),
                                  .conditions = conditions.list,
                                  .sort = sort_name(sort)};
    const bool word = sort && (strcmp(sort, "best") == 0 || strcmp(sort, "newest") == 0); /* as for `lineage query` */
    if (!mcp_conditions_read(&conditions, call, "where") || (sort && !word && !mcp_condition_name(call, sort + (sort[0] == '-'))))
        return NULL;
    query.n_conditions = conditions.n;
    return mcp_page_of_query(call, &query, MCP_DEFAULT_FIELDS);
}

const struct mcp_tool mcp_tool_query = {
    .name = "query",
    .title = "List trials",
    .description =
        "Lists trials by parameters, score, status, time. delta_vs_best: score minus the best before; train_s, total_s: seconds.",
    .arguments = query_arguments,
    .output = MCP_LIST_OUTPUT,
    .needed = "\"shown\",\"columns\",\"rows\"",
    .call = call_query,
};

/* ---- tried ---- */

static const struct mcp_argument tried_arguments[] = {
    {"params", MCP_PARAMS, true, "all must match: {\"alpha\":0.9,\"optimizer\":\"adam\"}", 0, 0, NULL},
    {"tolerance", MCP_NUMBER, false, "share of each value, 0.05: within 5 % (absolute if it is 0); default 1e-9", 0, 10, NULL},
    MCP_LIST_ARGUMENTS("as in query"),
    {.name = NULL}};

static bool read_wanted(struct mcp_conditions *conditions, const char *wanted_texts[MCP_MAX_CONDITIONS], struct mcp_call *call)
{
    double tolerance = LINEAGE_TOLERANCE;
    const char *name;
    json_t *value;
    mcp_number_argument(&tolerance, call, "tolerance");
    json_object_foreach(json_object_get(call->arguments, "params"), name, value) {
        double wanted = json_number_value(value), slack = lineage_slack(tolerance, wanted);
        struct lineage_condition *condition = &conditions->list[conditions->n++];
        *condition = (struct lineage_condition){.name = name, .range = {{true, wanted - slack}, {true, wanted + slack}}};
        if (json_is_string(value)) {
            wanted_texts[conditions->n - 1] = json_string_value(value);
            *condition = (struct lineage_condition){.name = name, .texts = &wanted_texts[conditions->n - 1], .n_texts = 1};
        }
    }
    if (!conditions->n)
        mcp_trouble(call, "params: name at least one parameter, e.g. {\"alpha\": 0.9}");
    return conditions->n > 0;
}

/* Adds the nearest tried values of a parameter or a setting in words. */
static void add_nearest(json_t *nearest, struct mcp_call *call, const char *name, const json_t *wanted)
{
    const double number = json_number_value(wanted);
    json_t *values = cli_nearest_values(call->server->store, name, json_is_number(wanted) ? &number : NULL), *value;
    size_t i;
    json_array_foreach(values, i, value)
        if (json_is_string(value))
            json_array_set_new(values, i, mcp_cell(json_string_value(value), 80));
    mcp_set_named(nearest, name, values);
}

/* Lists the trials that have most of the setting, because a part of it may have failed by itself. */
static void add_evidence(json_t *result, struct mcp_call *call, const struct mcp_conditions *conditions)
{
    size_t i;
    json_t *near, *list = cli_nearest_tried(call->server->store, conditions->list, conditions->n, 3);
    json_array_foreach(list, i, near)
        cli_json_set(near, "exp_id", mcp_cell(cli_json_string(near, "exp_id"), 80), "outcome",
                     mcp_cell(cli_json_string(near, "outcome"), 240), NULL);
    if (json_array_size(list))
        json_object_set(result, "evidence", list);
    json_decref(list);
}

/* A parameter that no trial has was not tried, which is an answer and not a mistake. It may be misspelt, so similar names are
 * in the answer. Returns NULL if all names are known. */
static json_t *untried_params(struct mcp_call *call)
{
    json_t *unknown = json_object(), *value, *near;
    const char *name;
    json_object_foreach(json_object_get(call->arguments, "params"), name, value)
        if (!mcp_knows_param(&near, call, name))
            mcp_set_named(unknown, name, near);
    if (json_object_size(unknown))
        return json_pack("{s:b, s:o, s:s, s:[], s:[]}", "tried", 0, "unknown", unknown, "shown", "0 of 0", "columns", "rows");
    json_decref(unknown);
    return NULL;
}

/* "nearest" is added only if nothing was found, because it costs two index lookups per parameter. */
static json_t *call_tried(struct mcp_call *call)
{
    json_t *untried = untried_params(call);
    if (untried)
        return untried;
    struct mcp_conditions conditions = {.n = 0};
    /* Counts all labels except harness_abort, because the setting was not tried if the machine failed. */
    struct lineage_query query = {
        .labels = (1u << LINEAGE_N_LABELS) - 1 - (1u << LINEAGE_HARNESS_ABORT), .conditions = conditions.list, .sort = "-seq"};
    const char *name, *texts[MCP_MAX_CONDITIONS];
    json_t *value;
    if (!read_wanted(&conditions, texts, call))
        return NULL;
    query.n_conditions = conditions.n;
    json_t *result = mcp_page_of_query(call, &query, MCP_DEFAULT_FIELDS);
    if (!result)
        return NULL;
    /* An empty page after a cursor does not mean untried: it is the end of a list that had rows. */
    bool tried = json_array_size(json_object_get(result, "rows")) > 0 || query.after;
    json_object_set_new(result, "tried", json_boolean(tried));
    if (tried)
        return result;
    json_t *nearest = json_object();
    struct lineage_error err;
    size_t aborted = 0;
    query.labels = 1u << LINEAGE_HARNESS_ABORT;
    if (lineage_query_count(&aborted, call->server->store, &query, &err) == LINEAGE_OK && aborted)
        json_object_set_new(result, "void_or_aborted", json_integer((json_int_t)aborted));
    json_object_foreach(json_object_get(call->arguments, "params"), name, value)
        add_nearest(nearest, call, name, value);
    json_object_set_new(result, "nearest", nearest);
    if (conditions.n > 1)
        add_evidence(result, call, &conditions);
    return result;
}

const struct mcp_tool mcp_tool_tried = {
    .name = "tried",
    .title = "Was it tried?",
    .description = "Whether a setting was tried, and how it ended. If not: the nearest values, similar names, and the trials "
                   "that have most of it.",
    .arguments = tried_arguments,
    .output = "\"tried\":{\"type\":\"boolean\"}," MCP_LIST_OUTPUT,
    .needed = "\"tried\",\"shown\",\"columns\",\"rows\"",
    .call = call_tried,
};

/* ---- chain ---- */

static const struct mcp_argument chain_arguments[] = {
    {"id", MCP_TEXT, false, "default: the best trial", 0, 400, NULL}, MCP_LIST_ARGUMENTS("as in query"), {.name = NULL}};

/* The index after the cursor's trial. */
static bool start_of(size_t *start, struct mcp_call *call, const struct lineage_chain *chain)
{
    uint64_t after;
    *start = 0;
    if (!mcp_cursor(&after, call))
        return false;
    if (!after)
        return true;
    while (*start < chain->n && chain->trials[*start].seq != after)
        ++*start;
    if (++*start <= chain->n)
        return true;
    return mcp_trouble(call, "cursor: that trial is not in this chain"), false;
}

static const char *const chain_ends[] = {"root", "missing parent", "cycle"};

/* Counts the ancestors that were not kept instead of listing them: a result builds on the kept ancestors, but a long
 * gap may be worth a question. */
static json_t *chain_page(struct mcp_call *call, const struct lineage_chain *chain)
{
    struct mcp_page page;
    json_t *result = NULL;
    size_t i;
    if (mcp_page_open(&page, call, MCP_DEFAULT_FIELDS) && start_of(&i, call, chain)) {
        size_t passed = 0;
        while (i < chain->n && mcp_page_add(&page, &chain->trials[i]))
            i++;
        for (size_t j = 0; j < chain->n; j++)
            passed += chain->passed_over[j];
        result = mcp_page_finish(&page, call, chain->n, i < chain->n);
        cli_json_set(result, "passed_over", json_integer((json_int_t)passed), "begins", json_string(chain_ends[chain->end]),
                     "keeps_before", chain->keeps ? json_integer((json_int_t)chain->keeps) : NULL, NULL);
    }
    mcp_page_release(&page);
    return result;
}

/* Looks up the id first, because the message of this look-up suggests the nearest ids; the store's message for a chain
 * does not. */
static json_t *call_chain(struct mcp_call *call)
{
    const char *id = mcp_text_argument(call, "id");
    struct lineage_chain chain = {0};
    struct lineage_error err;
    struct mcp_found found = {.cursor = NULL};
    if (id && !mcp_find_named(&found, call, id))
        return NULL;
    enum lineage_status status = id ? LINEAGE_OK : lineage_best(call->server->store, &found.trial, &err);
    if (status == LINEAGE_OK)
        status = lineage_chain_load(call->server->store, found.trial.exp_id, &chain, &err);
    json_t *result = status == LINEAGE_OK ? chain_page(call, &chain) : mcp_store_trouble(call, &err);
    lineage_chain_release(&chain);
    mcp_found_release(&found);
    return result;
}

const struct mcp_tool mcp_tool_chain = {
    .name = "chain",
    .title = "Kept ancestors",
    .description = "From the root to a trial through its kept ancestors: what the result builds on.",
    .arguments = chain_arguments,
    .output = "\"passed_over\":{\"type\":\"integer\",\"description\":\"ancestors not kept\"},"
              "\"begins\":{\"enum\":[\"root\",\"missing parent\",\"cycle\"]}," MCP_LIST_OUTPUT,
    .needed = "\"shown\",\"columns\",\"rows\",\"begins\"",
    .call = call_chain,
};

/* ---- one trial ---- */

enum { LONG_TEXT = 4000, SHORTEST_TEXT = 40 };

/* Whether a member is empty and therefore left out. */
static bool is_empty(const json_t *value)
{
    return json_is_null(value) || (json_is_string(value) && json_string_length(value) == 0) ||
           (json_is_object(value) && json_object_size(value) == 0);
}

/* Extra columns are included only if no fields were named. */
static json_t *trial_json(const struct lineage_trial *trial, const struct mcp_fields *fields, size_t max)
{
    json_t *object = json_object();
    for (size_t i = 0; i < fields->n; i++) {
        json_t *value = mcp_fields_value(fields, trial, i, max);
        if (is_empty(value))
            json_decref(value);
        else
            mcp_set_named(object, fields->names[i], value);
    }
    for (size_t i = 0; i < trial->n_extras && fields->n > LINEAGE_N_COLUMNS; i++)
        mcp_set_named(object, trial->extras[i].column, mcp_cell(trial->extras[i].text, max));
    return object;
}

/* Halves the limit of all texts together until they fit, because only the reader knows which text matters. */
static json_t *fitting_trial(struct mcp_call *call, const struct lineage_trial *trial, const struct mcp_fields *fields)
{
    size_t room = mcp_count_argument(call, "max_bytes", MCP_DEFAULT_BYTES) - 200;
    for (size_t max = LONG_TEXT;; max /= 2) {
        size_t length = 0;
        json_t *object = trial_json(trial, fields, max);
        free(cli_json_compact(object, &length));
        if (length <= room || max <= SHORTEST_TEXT)
            return object;
        json_decref(object);
    }
}

#define ALL_FIELDS                                                                                                               \
    "exp_id,timestamp,specialist,parent_exp,baseline_exp,domain,hypothesis,expected_delta,status,score,margin,"                  \
    "core_metric,val_bpb,delta_vs_best,train_s,total_s,job_name,snapshot_path,notes,params,metrics,turns,"                       \
    "ig_clip_scale_mean,ig_clip_scale_std,verdict"

/* Takes the first 20 remarks; false ends the reading of the file. */
static bool add_remark(void *context, const struct lineage_remark *remark)
{
    json_t *list = context;
    json_array_append_new(list, json_pack("{s:o, s:o, s:o}", "time", mcp_cell(remark->timestamp, 40), "author",
                                          mcp_cell(remark->author, 80), "text", mcp_cell(remark->text, 400)));
    return json_array_size(list) < 20;
}

static bool take_void(void *context, const struct lineage_void *entry)
{
    json_t *result = context;
    json_object_set_new(result, "void",
                        json_pack("{s:o, s:o, s:s, s:o}", "by", mcp_cell(entry->by, 80), "reason", mcp_cell(entry->reason, 400),
                                  "status", lineage_label_name(entry->label), "score",
                                  entry->score.present ? cli_json_number(entry->score.value) : json_null()));
    return false;
}

/* Remarks that cannot be read must not prevent the trial from being shown. */
static json_t *one_trial(struct mcp_call *call, const struct lineage_trial *trial, const char *fallback)
{
    struct mcp_fields fields;
    struct lineage_error err;
    if (!mcp_fields_choose(&fields, call, fallback))
        return NULL;
    json_t *result = json_pack("{s:o}", "trial", fitting_trial(call, trial, &fields)), *remarks = json_array();
    if (lineage_remarks_read(call->server->store, trial->exp_id, add_remark, remarks, &err) == LINEAGE_OK &&
        json_array_size(remarks))
        json_object_set(result, "remarks", remarks);
    json_decref(remarks);
    cli_json_set_claim(result, call->server->store, trial);
    if (trial->status == LINEAGE_HARNESS_ABORT &&
        lineage_voids_read(call->server->store, trial->exp_id, take_void, result, &err) != LINEAGE_OK)
        json_object_del(result, "void");
    return result;
}

#define ONE_TRIAL_ARGUMENTS                                                                                                      \
    {"fields", MCP_TEXTS, false, "as in query; default: all that are not empty", 0, 200, NULL},                                  \
    {                                                                                                                            \
        "max_bytes", MCP_COUNT, false, MCP_BYTES_DEFAULT, 500, 200000, NULL                                                      \
    }

#define ONE_TRIAL_OUTPUT "\"trial\":{\"type\":\"object\"},\"remarks\":{\"type\":\"array\"}"

static const struct mcp_argument trial_arguments[] = {
    {"id", MCP_TEXT, true, "exp_id, or @17: row 17", 0, 400, NULL}, ONE_TRIAL_ARGUMENTS, {.name = NULL}};

json_t *mcp_trial_by_id(struct mcp_call *call, const char *id)
{
    struct mcp_found found;
    if (!mcp_find_named(&found, call, id))
        return NULL;
    json_t *result = one_trial(call, &found.trial, ALL_FIELDS);
    mcp_found_release(&found);
    return result;
}

static json_t *call_trial(struct mcp_call *call)
{
    return mcp_trial_by_id(call, mcp_text_argument(call, "id"));
}

const struct mcp_tool mcp_tool_trial = {
    .name = "trial",
    .title = "One trial",
    .description = "One trial in full: columns, parameters, information gain by turn (mean ± std), remarks. Step curves: "
                   "resource lineage://trial/ID/steps.",
    .arguments = trial_arguments,
    .output = ONE_TRIAL_OUTPUT,
    .needed = "\"trial\"",
    .call = call_trial,
};

static const struct mcp_argument best_arguments[] = {ONE_TRIAL_ARGUMENTS, {.name = NULL}};

/* Adds the trials that are best in both scores, at most 20, if the store has two. */
static void add_front(json_t *result, struct lineage_store *store)
{
    struct lineage_front front;
    struct lineage_error err;
    if (lineage_store_config(store)->second[0] && lineage_front_load(&front, store, &err) == LINEAGE_OK) {
        front.n = front.n < 20 ? front.n : 20;
        json_object_set_new(result, "front",
                            json_pack("{s:o, s:o}", "second", mcp_cell(lineage_store_config(store)->second, 80), "trials",
                                      cli_front_json(&front)));
        lineage_front_release(&front);
    }
}

/* Makes the texts of all members cells, because a parameter's text may hold a delimiter of the fence. Takes the list over. */
static json_t *as_cells(json_t *list)
{
    json_t *object, *value;
    const char *key;
    size_t i;
    void *next;
    json_array_foreach(list, i, object)
        json_object_foreach_safe(object, next, key, value)
            if (json_is_string(value))
                json_object_set_new(object, key, mcp_cell(json_string_value(value), 400));
    return list;
}

/* The settings without a score, of all rows: what a bounded reading leaves out may have a score. Where every row has a
 * score, the rows are not read again. */
static json_t *without_score(struct lineage_store *store)
{
    const unsigned measured = 1u << LINEAGE_KEEP | 1u << LINEAGE_BASELINE | 1u << LINEAGE_DISCARD;
    const struct lineage_condition finite = {.name = "score", .range = {{true, -DBL_MAX}, {true, DBL_MAX}}};
    const struct lineage_query any = {0}, scored = {.labels = measured, .conditions = &finite, .n_conditions = 1};
    struct lineage_evidence all;
    struct lineage_error err;
    size_t n, n_scored;
    if (lineage_query_count(&n, store, &any, &err) == LINEAGE_OK &&
        lineage_query_count(&n_scored, store, &scored, &err) == LINEAGE_OK && n == n_scored)
        return NULL;
    if (lineage_evidence_load(&all, store, NULL, &err) != LINEAGE_OK)
        return NULL;
    json_t *list = as_cells(cli_failed_settings_json(&all, store, 10));
    lineage_evidence_release(&all);
    return list;
}

/* Where nothing was kept, what failed is all that there is to say. */
static json_t *no_best(struct mcp_call *call, const struct lineage_error *err)
{
    json_t *list = err->status == LINEAGE_ENOTFOUND ? without_score(call->server->store) : NULL;
    char *text = list ? json_dumps(list, JSON_COMPACT) : NULL;
    json_t *trouble = text ? mcp_trouble(call, "%s; without a score: %s", err->text, text) : mcp_store_trouble(call, err);
    free(text);
    json_decref(list);
    return trouble;
}

static json_t *call_best(struct mcp_call *call)
{
    struct lineage_trial best = {0};
    struct lineage_evidence evidence;
    struct lineage_error err;
    const struct lineage_config *config = lineage_store_config(call->server->store);
    if (lineage_best_of(call->server->store, &best, &evidence, &err) != LINEAGE_OK)
        return no_best(call, &err);
    json_t *result = one_trial(
        call, &best,
        "exp_id,timestamp,specialist,parent_exp,hypothesis,status,score,margin,delta_vs_best,train_s,total_s,notes,params,turns");
    if (result) {
        const char *name = lineage_store_score_name(call->server->store);
        json_t *failed = without_score(call->server->store);
        cli_json_set(result, "metric", mcp_cell(name ? name : lineage_store_metric(call->server->store), 80), "better",
                     json_string(config->direction == LINEAGE_HIGHER ? "higher" : "lower"), NULL);
        add_front(result, call->server->store);
        if (!isnan(evidence.sure))
            cli_json_set(result, "setting", cli_answer_json(&evidence), "settings",
                         as_cells(cli_ranked_json(&evidence, call->server->store, 10)), NULL);
        if (failed)
            json_object_set_new(result, "without_score", failed);
    }
    lineage_evidence_release(&evidence);
    lineage_trial_release(&best);
    return result;
}

const struct mcp_tool mcp_tool_best = {
    .name = "best",
    .title = "Best trial",
    .description = "The best kept trial, with the score's name and direction.",
    .arguments = best_arguments,
    .output = "\"metric\":{\"type\":\"string\"},\"better\":{\"enum\":[\"lower\",\"higher\"]}," ONE_TRIAL_OUTPUT,
    .needed = "\"trial\",\"metric\",\"better\"",
    .call = call_best,
};
