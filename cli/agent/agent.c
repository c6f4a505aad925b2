/*
 * agent.c: the conversation. Each round sends all messages so far and takes one answer: calls of functions, whose results
 * become further messages, or a proposal, which ends it. A model that neither asks nor proposes is reminded twice.
 */
#include "agent/agent.h"

#include <math.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include <lineage/text.h>

#include "agent/agent_prompt.h"
#include "agent/exchanges.h"
#include "agent/tool_server.h"
#include "cli.h"
#include "judge/answer.h"
#include "judge/chat.h"
#include "plan/spent_tokens.h"

/* CALLS: function calls in one answer. RESULT_BYTES: of one result; lists have cursors. ANSWER_TOKENS: of one answer. */
enum { CALLS = 16, PROPOSALS = 8, REMINDERS = 2, RESULT_BYTES = 16000, ANSWER_TOKENS = 16384, LEAST_TOKENS = 256 };

struct conversation {
    const struct agent_settings *settings;
    struct lineage_store *store;
    const char *sweep; /* whose tokens are counted; NULL: nobody's */
    struct agent_cost *cost;
    struct chat chat;
    struct tool_server server;
    json_t *messages, *functions, *proposals;
    double end;
    unsigned reminders;
    char *why; /* [AGENT_WHY_MAX] */
};

static bool give_up(struct conversation *c, const char *why)
{
    snprintf(c->why, AGENT_WHY_MAX, "%s", why);
    return false;
}

static size_t tokens_left(const struct conversation *c)
{
    uint64_t used = c->cost->prompt_tokens + c->cost->completion_tokens;
    return used < c->settings->tokens ? c->settings->tokens - (size_t)used : 0;
}

static void add_message(struct conversation *c, json_t *message)
{
    json_array_append_new(c->messages, message);
}

/* ---- functions ---- */

/* The tools of the server under the endpoint's form, then the functions that propose. */
static bool make_functions(struct conversation *c, const json_t *request)
{
    size_t i;
    json_t *tool, *own = agent_own_functions(request);
    c->functions = json_array();
    json_array_foreach(c->server.tools, i, tool)
        json_array_append_new(c->functions, agent_function(json_string_value(json_object_get(tool, "name")),
                                                           json_string_value(json_object_get(tool, "description")),
                                                           json_incref(json_object_get(tool, "inputSchema"))));
    bool made = own && json_array_extend(c->functions, own) == 0;
    json_decref(own);
    return made;
}

static void add_proposal(struct conversation *c, json_t *proposal)
{
    json_object_set_new(proposal, "proposer", json_string("agent"));
    if (json_array_size(c->proposals) < PROPOSALS)
        json_array_append(c->proposals, proposal);
}

/* Returns the answer to the call, free it; NULL if the conversation must end. */
static char *call_function(struct conversation *c, const char *name, json_t *arguments)
{
    if (!json_is_object(arguments))
        return strdup("the arguments are not a JSON object; nothing was done");
    if (strcmp(name, AGENT_PROPOSE) == 0) {
        add_proposal(c, arguments);
        return strdup("taken");
    }
    if (strcmp(name, AGENT_RUN_AGAIN) == 0) {
        json_t *again = json_pack("{s:O?}", "replicate", json_object_get(arguments, "exp_id"));
        add_proposal(c, again);
        json_decref(again);
        return strdup("taken");
    }
    if (!tool_server_has(&c->server, name))
        return strdup("there is no such function");
    return tool_server_call(&c->server, name, arguments);
}

static bool take_call(struct conversation *c, const json_t *call)
{
    const json_t *function = json_object_get(call, "function");
    const char *name = json_string_value(json_object_get(function, "name"));
    const char *text = json_string_value(json_object_get(function, "arguments"));
    json_t *given = json_object_get(function, "arguments");
    json_t *arguments = text ? json_loads(*text ? text : "{}", JSON_REJECT_DUPLICATES, NULL) : json_incref(given);
    char *result = call_function(c, name ? name : "", arguments);
    json_decref(arguments);
    if (!result)
        return give_up(c, "the server of the model's functions is gone");
    size_t length = strlen(result);
    size_t kept = length > RESULT_BYTES ? lineage_text_prefix(result, RESULT_BYTES, RESULT_BYTES) : length;
    add_message(c, json_pack("{s:s, s:O?, s:o}", "role", "tool", "tool_call_id", json_object_get(call, "id"), "content",
                             json_sprintf("%.*s%s", (int)kept, result, kept < length ? "\n(cut; ask for less)" : "")));
    free(result);
    return true;
}

/* ---- answers ---- */

static uint64_t count_of(const json_t *usage, const char *name)
{
    json_int_t n = json_integer_value(json_object_get(usage, name));
    return n > 0 ? (uint64_t)n : 0;
}

/* An endpoint that does not count tokens is counted for: four bytes are about one token. */
static void count_tokens(struct conversation *c, const json_t *request, const json_t *response)
{
    const json_t *usage = json_object_get(response, "usage");
    uint64_t prompt = count_of(usage, "prompt_tokens"), completion = count_of(usage, "completion_tokens");
    if (!prompt)
        prompt = json_dumpb(request, NULL, 0, JSON_COMPACT) / 4;
    if (!completion)
        completion = json_dumpb(response, NULL, 0, JSON_COMPACT) / 4;
    c->cost->prompt_tokens += prompt;
    c->cost->completion_tokens += completion;
    if (c->sweep)
        (void)spent_tokens_add(c->store, c->sweep, c->settings->model, prompt, completion);
}

/* Models without functions, and some with them, write the proposal as text. Each line or the whole text may be an object. */
static void take_text(struct conversation *c, const char *text)
{
    const char *open = strchr(text, '{'), *shut = strrchr(text, '}');
    json_t *whole = open && shut > open ? json_loadb(open, (size_t)(shut - open) + 1, JSON_REJECT_DUPLICATES, NULL) : NULL;
    if (json_object_get(whole, "params") || json_object_get(whole, "diff") || json_object_get(whole, "replicate"))
        add_proposal(c, whole);
    json_decref(whole);
}

static bool remind(struct conversation *c)
{
    if (c->reminders++ == REMINDERS)
        return give_up(c, "the model made no proposal, though it was reminded twice");
    add_message(c, json_pack("{s:s, s:s}", "role", "user", "content",
                             "Call the function " AGENT_PROPOSE " with the next trial; only that is read."));
    return true;
}

/* Results refer to calls by id, and llama-server and OpenAI refuse a result without one. */
static void name_calls(const struct conversation *c, const json_t *calls)
{
    size_t i;
    json_t *call;
    json_array_foreach(calls, i, call)
        if (!json_is_string(json_object_get(call, "id")))
            json_object_set_new(call, "id", json_sprintf("call_%zu_%zu", json_array_size(c->messages), i));
}

/*
 * The model's message goes back to it in the next request. DeepSeek refuses a call of a function without the reasoning that led to
 * it, which endpoints return under three names. A content that is null is refused beside no call.
 */
static json_t *returned_message(const json_t *message, const json_t *calls)
{
    static const char *const reasoning[] = {"reasoning_content", "reasoning", "reasoning_details", NULL};
    json_t *content = json_object_get(message, "content");
    bool none = !content || json_is_null(content);
    json_t *back = json_pack("{s:s, s:o, s:O*}", "role", "assistant", "content",
                             none && !calls ? json_string("")
                             : none         ? json_null()
                                            : json_incref(content),
                             "tool_calls", calls);
    for (size_t i = 0; reasoning[i]; i++)
        if (json_object_get(message, reasoning[i]))
            json_object_set(back, reasoning[i], json_object_get(message, reasoning[i]));
    return back;
}

static bool take_answer(struct conversation *c, const json_t *response)
{
    const json_t *choice = json_array_get(json_object_get(response, "choices"), 0);
    json_t *message = json_object_get(choice, "message"), *call;
    const json_t *calls = json_object_get(message, "tool_calls");
    size_t i;
    if (!json_is_object(message))
        return give_up(c, "the response has no message");
    calls = json_array_size(calls) ? calls : NULL;
    name_calls(c, calls);
    add_message(c, returned_message(message, calls));
    if (json_array_size(calls) > CALLS)
        return give_up(c, "the model called more than 16 functions at once");
    json_array_foreach(calls, i, call)
        if (!take_call(c, call))
            return false;
    char *text = calls ? NULL : answer_text(json_object_get(message, "content"));
    if (text)
        take_text(c, answer_after_thinking(text));
    free(text);
    return json_array_size(c->proposals) || calls || remind(c);
}

/* ---- rounds ---- */

/* In the last round the request asks for a proposal only; an endpoint may ignore that. */
static json_t *make_request(const struct conversation *c, bool last)
{
    json_t *request = json_pack("{s:s, s:O, s:O}", "model", c->settings->model, "messages", c->messages, "tools", c->functions);
    if (last)
        json_object_set_new(request, "tool_choice",
                            json_pack("{s:s, s:{s:s}}", "type", "function", "function", "name", AGENT_PROPOSE));
    /* The messages grow later, and the request is kept. */
    json_t *copy = json_deep_copy(request);
    json_decref(request);
    return copy;
}

/* Returns the response, from an earlier exchange or from the endpoint. */
static json_t *exchange(struct conversation *c, const json_t *request)
{
    char digest[EXCHANGE_DIGEST_MAX];
    double begun = cli_now();
    if (!exchange_digest(digest, c->chat.at.url, request))
        return give_up(c, "out of memory"), NULL;
    json_t *response = exchange_find(c->store, digest);
    snprintf(c->cost->exchange, sizeof c->cost->exchange, "%s", digest);
    if (response) {
        c->cost->replayed++;
        return response;
    }
    size_t most = tokens_left(c) < ANSWER_TOKENS ? tokens_left(c) : ANSWER_TOKENS;
    c->cost->requests++;
    response = chat_ask(&c->chat, request, most, c->end);
    if (!response) {
        snprintf(c->why, AGENT_WHY_MAX, "%s (after %u attempt%s)", c->chat.why, c->chat.attempts,
                 c->chat.attempts == 1 ? "" : "s");
        return NULL;
    }
    count_tokens(c, request, response);
    (void)exchange_keep(c->store, digest, request, response, cli_now() - begun);
    return response;
}

static bool converse(struct conversation *c)
{
    for (size_t round = 1; round <= c->settings->rounds && !json_array_size(c->proposals); round++) {
        if (tokens_left(c) < LEAST_TOKENS)
            return give_up(c, "the model used up its tokens without a proposal");
        json_t *request = make_request(c, round == c->settings->rounds);
        json_t *response = request ? exchange(c, request) : NULL;
        bool good = response && take_answer(c, response);
        json_decref(request);
        json_decref(response);
        if (!good)
            return false;
    }
    return json_array_size(c->proposals) || give_up(c, "the model made no proposal in its last round");
}

json_t *agent_plan(const struct agent_settings *settings, struct lineage_store *store, const json_t *request,
                   struct agent_cost *cost, char why[AGENT_WHY_MAX])
{
    double begun = cli_now();
    struct conversation c = {.settings = settings,
                             .store = store,
                             .cost = cost,
                             .sweep = json_string_value(json_object_get(request, "sweep")),
                             .end = begun + settings->seconds,
                             .why = why};
    *cost = (struct agent_cost){.requests = 0};
    snprintf(why, AGENT_WHY_MAX, "out of memory");
    c.proposals = json_array();
    c.messages = agent_messages(settings->prompt, request);
    bool good = c.messages && (chat_open(&c.chat, settings->endpoint, ENDPOINT_CHAT, settings->key_env, settings->backoff) ||
                               give_up(&c, c.chat.why));
    good = good && (tool_server_start(&c.server, lineage_store_dir(store), settings->key_env) ||
                    give_up(&c, "`lineage mcp`, which answers the model's functions, cannot be started"));
    good = good && make_functions(&c, request) && converse(&c);
    tool_server_stop(&c.server);
    chat_close(&c.chat);
    cost->seconds = cli_now() - begun;
    json_decref(c.messages);
    json_decref(c.functions);
    if (good)
        return c.proposals;
    json_decref(c.proposals);
    return NULL;
}
