/*
 * tool_write.c: the tools `append`, `note`, `lease` and `void`, offered only with --allow-write. Separate from the reading tools, so
 * that everything a client can change is in one file.
 */
#include <unistd.h>

#include <lineage/notes.h>
#include <lineage/remarks.h>
#include <lineage/voids.h>

#include "git/git.h"
#include "mcp/field.h"
#include "mcp/tools.h"
#include "output/ideas_out.h"
#include "output/lease_idea.h"
#include "output/show.h"
#include "support/secrets.h"

/* MAX_PARAMS is the limit of tools.c. TEXT limits the bytes of a text, because a huge row would burden every later
 * reader. */
enum { MAX_PARAMS = 32, TEXT = 20000, WORD = 400 };

/* ---- append ---- */

/* A client reports how a trial failed. Whether a measured trial is kept is always decided from its score. */
static const char *const labels[] = {
    "auto",         "crash", "eval_budget_overrun", "train_budget_overrun", "size_blocked", "preflight_crash", "harness_abort",
    "disqualified", NULL};

static const struct mcp_argument append_arguments[] = {
    {"status", MCP_TEXT, true, "auto: keep or discard according to the score and the store's noise floor; or how it failed", 0, 0,
     labels},
    {"hypothesis", MCP_TEXT, true, "what was tried and why", 0, TEXT, NULL},
    {"core_metric", MCP_NUMBER, false, "the score; omit it for a trial without one", 0, 0, NULL},
    {"val_bpb", MCP_NUMBER, false, "validation loss in bits per byte", 0, 0, NULL},
    {"parent", MCP_TEXT, false, "exp_id it started from", 0, WORD, NULL},
    {"specialist", MCP_TEXT, false, "person or agent that tried it", 0, WORD, NULL},
    {"domain", MCP_TEXT, false, "area of the change, e.g. optimizer", 0, WORD, NULL},
    {"expected_delta", MCP_TEXT, false, "expected improvement, e.g. +0.02", 0, WORD, NULL},
    {"params", MCP_PARAMS, false, "parameter -> value, e.g. {\"alpha\": 0.3, \"optimizer\": \"adam\"}", 0, 0, NULL},
    {"metrics", MCP_PARAMS, false, "metric -> number, e.g. {\"train_loss\": 2.1}", 0, 0, NULL},
    {"train_s", MCP_NUMBER, false, "training time in seconds", 0, 1e9, NULL},
    {"total_s", MCP_NUMBER, false, "total time in seconds", 0, 1e9, NULL},
    {"job_name", MCP_TEXT, false, "name of the job", 0, WORD, NULL},
    {"notes", MCP_TEXT, false, "free text", 0, TEXT, NULL},
    {.name = NULL}};

static struct lineage_number number_of(const struct mcp_call *call, const char *name)
{
    struct lineage_number number = {0};
    number.present = mcp_number_argument(&number.value, call, name);
    return number;
}

/* Names are checked here, so that the message can name the argument. A secret is refused: the row cannot be changed. */
static bool read_params(struct lineage_trial *trial, struct lineage_param *params, struct mcp_call *call)
{
    const char *const *harmless = lineage_store_harmless_names(call->server->store), *why;
    const char *name;
    json_t *value;
    trial->params = params;
    json_object_foreach(json_object_get(call->arguments, "params"), name, value) {
        if (!lineage_param_name_ok(name))
            return mcp_trouble(call, "params: '%.60s' is not a parameter name: a letter, then letters, digits, _ . -", name),
                   false;
        params[trial->n_params++] =
            (struct lineage_param){lineage_param_canonical(name), json_is_string(value) ? (double)NAN : json_number_value(value),
                                   json_string_value(value)};
        if ((why = secret_param(&params[trial->n_params - 1], harmless)))
            return mcp_trouble(call, "params: '%.60s' %s; the store keeps no secrets", name, why), false;
    }
    return true;
}

static bool read_metrics(struct lineage_trial *trial, struct lineage_param *metrics, struct mcp_call *call)
{
    const char *name;
    json_t *value;
    trial->metrics = metrics;
    json_object_foreach(json_object_get(call->arguments, "metrics"), name, value) {
        if (!lineage_param_name_ok(name) || !json_is_number(value))
            return mcp_trouble(call, "metrics: '%.60s' must be a number, and its name a letter, then letters, digits, _ . -",
                               name),
                   false;
        metrics[trial->n_metrics++] = (struct lineage_param){name, json_number_value(value), NULL};
    }
    return true;
}

static json_t *appended(const struct lineage_trial *row)
{
    json_t *result = json_pack("{s:o, s:s}", "exp_id", mcp_id(row), "status", lineage_label_name(row->status));
    cli_json_set(result, "score", mcp_field(row, "score", 0), "delta_vs_best", mcp_field(row, "delta_vs_best", 0), "baseline_exp",
                 mcp_field(row, "baseline_exp", 80), NULL);
    return result;
}

static json_t *call_append(struct mcp_call *call)
{
    struct lineage_param params[MAX_PARAMS], metrics[MAX_PARAMS];
    struct lineage_append_options options;
    struct lineage_noise before;
    struct lineage_error err;
    char text[LINEAGE_FLOOR_TEXT_MAX];
    struct lineage_trial row = {0}, trial = {.hypothesis = mcp_text_argument(call, "hypothesis"),
                                             .parent_exp = mcp_text_argument(call, "parent"),
                                             .specialist = mcp_text_argument(call, "specialist"),
                                             .domain = mcp_text_argument(call, "domain"),
                                             .expected_delta = mcp_text_argument(call, "expected_delta"),
                                             .job_name = mcp_text_argument(call, "job_name"),
                                             .notes = mcp_text_argument(call, "notes"),
                                             .core_metric = number_of(call, "core_metric"),
                                             .val_bpb = number_of(call, "val_bpb"),
                                             .train_s = number_of(call, "train_s"),
                                             .total_s = number_of(call, "total_s")};
    lineage_append_options_init(&options);
    /* "auto" is the only choice of the schema that is not a label. */
    options.auto_status = !lineage_label_parse(&trial.status, mcp_text_argument(call, "status"));
    if (!read_params(&trial, params, call) || !read_metrics(&trial, metrics, call))
        return NULL;
    if (!cli_take_score(&trial, options.auto_status, call->server->store, &err))
        return mcp_store_trouble(call, &err);
    /* Uses the same path as `lineage append`, so the row is either complete or absent. */
    call->server->deadline = 0; /* writing is not aborted halfway */
    trial_ref_pass(call->server->store, NULL, 0);
    struct lineage_trial parent = {0};
    enum lineage_status status = LINEAGE_OK;
    if (trial.parent_exp && strcmp(trial.parent_exp, "best") == 0) {
        status = lineage_find_named(call->server->store, "best", true, &parent, &err);
        trial.parent_exp = parent.exp_id;
    }
    if (status == LINEAGE_OK)
        status = lineage_store_append(call->server->store, &trial, &options, &row, &err);
    lineage_trial_release(&parent);
    if (status != LINEAGE_OK)
        return mcp_store_trouble(call, &err);
    json_t *result = appended(&row);
    if (options.auto_status)
        cli_json_set_claim(result, call->server->store, &row);
    lineage_noise_of_config(&before, lineage_store_config(call->server->store));
    if (lineage_noise_after_append(call->server->store, &row, 1, &err) != LINEAGE_OK) /* the row is in the log */
        json_object_set_new(result, "warning", mcp_cell(err.text, 400));
    else if (lineage_floor_moved(lineage_store_config(call->server->store), &before))
        json_object_set_new(result, "warning",
                            json_string(lineage_floor_text(text, lineage_store_config(call->server->store), before.std)));
    lineage_trial_release(&row);
    return result;
}

const struct mcp_tool mcp_tool_append = {
    .name = "append",
    .title = "Record a trial",
    .description = "Append one finished trial. The id, the time and the difference to the best are filled in. The row cannot be "
                   "changed or removed.",
    .arguments = append_arguments,
    .output = "\"exp_id\":{\"type\":\"string\"},\"status\":{\"type\":\"string\"},\"score\":{\"type\":[\"number\","
              "\"null\"]},\"delta_vs_best\":{\"type\":[\"number\",\"null\"]},\"baseline_exp\":{\"type\":\"string\"}",
    .needed = "\"exp_id\",\"status\"",
    .writes = true,
    .call = call_append,
};

/* ---- note ---- */

static const struct mcp_argument note_arguments[] = {
    {"id", MCP_TEXT, true, "exp_id of the trial", 0, 400, NULL},
    {"text", MCP_TEXT, true, "the remark: what was learned about this trial afterwards", 0, LINEAGE_REMARK_MAX, NULL},
    {"author", MCP_TEXT, false, "author of the remark", 0, LINEAGE_NAME_MAX, NULL},
    {.name = NULL}};

struct last_remark {
    json_t *json;
};

/* Keeps the last remark of the file, which becomes the answer. */
static bool keep_last(void *context, const struct lineage_remark *remark)
{
    struct last_remark *last = context;
    json_decref(last->json);
    last->json = json_pack("{s:o, s:o, s:o}", "exp_id", mcp_cell(remark->exp_id, 80), "time", mcp_cell(remark->timestamp, 40),
                           "text", mcp_cell(remark->text, 400));
    return true;
}

/* The remark gets the id as the store spells it; the request may spell it @17 or 014. */
static json_t *call_note(struct mcp_call *call)
{
    struct lineage_remark remark = {.author = mcp_text_argument(call, "author"), .text = mcp_text_argument(call, "text")};
    struct mcp_found found;
    struct last_remark last = {NULL};
    struct lineage_error err;
    if (!mcp_find(&found, call, mcp_text_argument(call, "id")))
        return NULL;
    remark.exp_id = found.trial.exp_id;
    enum lineage_status status = lineage_remark_append(call->server->store, &remark, &err);
    if (status == LINEAGE_OK)
        status = lineage_remarks_read(call->server->store, found.trial.exp_id, keep_last, &last, &err);
    mcp_found_release(&found);
    if (status == LINEAGE_OK && last.json)
        return last.json;
    json_decref(last.json);
    return mcp_store_trouble(call, &err);
}

const struct mcp_tool mcp_tool_note = {
    .name = "note",
    .title = "Remark on a trial",
    .description = "Add a remark to a recorded trial; `trial` and `knowledge` show it. It cannot be changed or removed.",
    .arguments = note_arguments,
    .output = "\"exp_id\":{\"type\":\"string\"},\"time\":{\"type\":\"string\"},\"text\":{\"type\":\"string\"}",
    .needed = "\"exp_id\",\"time\",\"text\"",
    .writes = true,
    .call = call_note,
};

/* ---- lease ---- */

enum { LEASE_SECONDS = 3600, LEASE_SECONDS_MAX = 604800 };

static const struct mcp_argument lease_arguments[] = {
    {"agent", MCP_TEXT, true, "who will train it", 0, LEASE_AGENT_MAX - 1, NULL},
    {"hypothesis", MCP_TEXT, false, "what will change, and why", 0, TEXT, NULL},
    {"params", MCP_PARAMS, false, "parameter -> value", 0, 0, NULL},
    {"seconds", MCP_COUNT, false, "default 3600", 1, LEASE_SECONDS_MAX, NULL},
    {"end", MCP_TEXT, false, "lease to end instead", 0, LEASE_ID_BYTES, NULL},
    {.name = NULL}};

/* The reasons are texts of other agents. */
static json_t *refuse_lease(const json_t *reasons)
{
    json_t *cells = json_array(), *reason;
    size_t i;
    json_array_foreach((json_t *)(uintptr_t)reasons, i, reason)
        json_array_append_new(cells, mcp_cell(json_string_value(reason), 400));
    return json_pack("{s:b, s:o}", "leased", 0, "reasons", cells);
}

static json_t *call_lease(struct mcp_call *call)
{
    struct lineage_param params[MAX_PARAMS];
    struct lineage_trial trial = {.hypothesis = mcp_text_argument(call, "hypothesis")};
    struct lineage_store *store = call->server->store;
    const char *end = mcp_text_argument(call, "end");
    char id[LEASE_ID_BYTES];
    if (!read_params(&trial, params, call))
        return NULL;
    if (!end && !trial.hypothesis && !trial.n_params)
        return mcp_trouble(call, "lease: give the idea: hypothesis, params or both");
    const struct lease_idea idea = {mcp_text_argument(call, "agent"), trial.hypothesis, params, trial.n_params};
    if (!*idea.agent)
        return mcp_trouble(call, "lease: agent is empty");
    int lock = leases_lock(lineage_store_dir(store));
    if (lock < 0)
        return mcp_trouble(call, "leases need a store in a directory that can be written");
    json_t *reasons = json_array(), *result = NULL;
    int status = end ? CLI_GO_ON : lease_reasons(reasons, store, &idea, true);
    if (status == CLI_GO_ON && !end && !json_array_size(reasons))
        status = cli_tried_reasons(reasons, store, idea.hypothesis, params, trial.n_params);
    if (status == CLI_GO_ON && end)
        result = json_pack("{s:b}", "ended", lease_remove(lineage_store_dir(store), end));
    else if (status == CLI_GO_ON && json_array_size(reasons))
        result = refuse_lease(reasons);
    else if (status == CLI_GO_ON &&
             lease_take(id, store, &idea, (double)mcp_count_argument(call, "seconds", LEASE_SECONDS), NULL) == CLI_GO_ON)
        result = json_pack("{s:b, s:s}", "leased", 1, "lease", id);
    json_decref(reasons);
    close(lock);
    return result ? result : mcp_trouble(call, "the lease cannot be taken");
}

const struct mcp_tool mcp_tool_lease = {
    .name = "lease",
    .title = "Claim an idea",
    .description = "Claim an idea that no agent has tried, runs or claims.",
    .arguments = lease_arguments,
    .output = "\"leased\":{\"type\":\"boolean\"}",
    .needed = "",
    .writes = true,
    .call = call_lease,
};

/* ---- void ---- */

static const char *const yes[] = {"yes", NULL};

static const struct mcp_argument void_arguments[] = {
    {"id", MCP_TEXT, true, "exp_id of the trial", 0, WORD, NULL},
    {"reason", MCP_TEXT, true, "why it says nothing about its settings", 0, LINEAGE_VOID_REASON_MAX, NULL},
    {"undo", MCP_TEXT, false, "take the void back", 0, 0, yes},
    {.name = NULL}};

static json_t *call_void(struct mcp_call *call)
{
    struct mcp_found found;
    struct lineage_trial row = {0};
    struct lineage_error err;
    const char *reason = mcp_text_argument(call, "reason");
    bool undo = json_object_get(call->arguments, "undo") != NULL;
    if (!mcp_find(&found, call, mcp_text_argument(call, "id")))
        return NULL;
    call->server->deadline = 0; /* writing is not aborted halfway */
    enum lineage_status status = undo ? lineage_void_take_back(call->server->store, found.trial.exp_id, reason, &row, &err)
                                      : lineage_void_append(call->server->store, found.trial.exp_id, reason, &row, &err);
    mcp_found_release(&found);
    if (status != LINEAGE_OK)
        return mcp_store_trouble(call, &err);
    json_t *result = json_pack("{s:o, s:o}", "exp_id", mcp_id(&row), "voids", mcp_cell(row.parent_exp, 80));
    if (lineage_noise_after_void(call->server->store, row.parent_exp, &err) != LINEAGE_OK) /* the row is in the log */
        json_object_set_new(result, "warning", mcp_cell(err.text, 400));
    lineage_trial_release(&row);
    return result;
}

const struct mcp_tool mcp_tool_void = {
    .name = "void",
    .title = "Take a trial out of the count",
    .description = "Append a row that voids a trial, because it says nothing about its settings (a missing module, a broken "
                   "evaluator): it is no longer ranked or tried.",
    .arguments = void_arguments,
    .output = "\"exp_id\":{\"type\":\"string\"},\"voids\":{\"type\":\"string\"}",
    .needed = "\"exp_id\",\"voids\"",
    .writes = true,
    .call = call_void,
};
