/* agent_prompt.h: the first messages to the model, and the functions by which it answers. */
#pragma once

#include <jansson.h>

#define AGENT_PROPOSE "propose"
#define AGENT_RUN_AGAIN "run_again"

/* The built-in prompt. */
extern const char agent_prompt_text[];

/* The first messages: the prompt (NULL: the built-in one), and the planner's request as labelled data. */
json_t *agent_messages(const char *prompt, const json_t *request);

/* The functions `propose` and `run_again`, with the ranges of the request. */
json_t *agent_own_functions(const json_t *request);

/* A function of the endpoint's form. Takes over the reference to the schema. */
json_t *agent_function(const char *name, const char *description, json_t *parameters);
