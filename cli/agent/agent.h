/*
 * agent.h: a language model that plans the next trial of a night, as a planner does (schema/planner.schema.json).
 *
 *   agent         the conversation: the model calls functions until it proposes a trial or a budget is used up
 *   agent_prompt  the first messages to the model, and the functions that propose
 *   exchanges     every request and response in a file that is named by the request's digest
 *   tool_server   a process of `lineage mcp`, whose tools are the model's functions
 *
 * What the model reads from the store is labelled as data. It can neither write to the store nor run anything: the planner's
 * gate checks what it proposes.
 */
#pragma once

#include <jansson.h>
#include <lineage/store.h>

enum { AGENT_WHY_MAX = 400 };

struct agent_settings {
    const char *endpoint, *model;
    const char *key_env; /* NULL: LINEAGE_JUDGE_KEY, if it is set */
    const char *prompt;  /* the text that replaces the built-in prompt; NULL: none */
    double seconds;      /* for the whole conversation */
    double backoff;      /* before a second attempt of a request */
    size_t tokens;       /* of the conversation, as the endpoint counts them */
    size_t rounds;       /* requests at most */
};

/* What a conversation has cost. Answers that come from an earlier exchange cost nothing. */
struct agent_cost {
    size_t requests, replayed;
    uint64_t prompt_tokens, completion_tokens;
    double seconds;
    char exchange[33]; /* digest of the last request, whose messages are the whole conversation; "" without any */
};

/*
 * Asks the model for proposals. request is what a planner reads; store is where exchanges are kept, and what the model's
 * functions read. Returns a list of at least one proposal (a new reference), or NULL with the reason in why. *cost is set in
 * either case.
 */
json_t *agent_plan(const struct agent_settings *settings, struct lineage_store *store, const json_t *request,
                   struct agent_cost *cost, char why[AGENT_WHY_MAX]);
