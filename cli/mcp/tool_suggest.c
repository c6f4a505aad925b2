/*
 * tool_suggest.c: the tool `suggest`: which setting to try next. The proposer is that of `lineage suggest` and of
 * nights; this file has only the tool's arguments.
 */

#include "mcp/tools.h"
#include "propose/propose_answer.h"

enum { SUGGEST_MAX = 50 };

static const char *const methods[] = {"auto", "gp", "tpe", "sobol", "random", "grid", NULL};

static const struct mcp_argument arguments[] = {
    {"ranges", MCP_RANGES, true,
     "parameter -> \"LOW:HIGH[:linear|log|integer|log-integer]\", or choices \"adam,sgd\"; \"0:0.9 if optimizer=sgd\"", 0, 0,
     NULL},
    {"propose", MCP_TEXT, false, "default auto", 0, 0, methods},
    {"n", MCP_COUNT, false, "default 1", 1, SUGGEST_MAX, NULL},
    /* At most 2^53 - 1, because a client whose numbers are doubles would send another seed than it shows. */
    {"seed", MCP_COUNT, false, "default 0", 0, 9007199254740991.0, NULL},
    {.name = NULL}};

static bool read_ranges(struct propose_space *space, struct mcp_call *call)
{
    char why[PROPOSE_WHY_MAX];
    if (propose_space_read(space, json_object_get(call->arguments, "ranges"), why))
        return true;
    return mcp_trouble(call, "ranges.%s", why), false;
}

static json_t *answer(struct propose_question *question, struct mcp_call *call)
{
    struct lineage_error err;
    json_t *result;
    const char *method = mcp_text_argument(call, "propose");
    question->method = PROPOSE_AUTO;
    question->n = mcp_count_argument(call, "n", 1);
    question->seed = mcp_count_argument(call, "seed", 0);
    if (!read_ranges(&question->space, call))
        return NULL;
    if (method && !propose_method_parse(&question->method, method))
        return mcp_trouble(call, "propose: use " PROPOSE_METHOD_NAMES);
    return propose_answer_make(&result, question, call->server->store, &err) == LINEAGE_OK ? result
                                                                                           : mcp_store_trouble(call, &err);
}

/* On the heap, because the space of a question is too large for the stack. */
static json_t *call_suggest(struct mcp_call *call)
{
    struct propose_question *question = calloc(1, sizeof *question);
    json_t *result = question ? answer(question, call) : mcp_trouble(call, "out of memory");
    free(question);
    return result;
}

const struct mcp_tool mcp_tool_suggest = {
    .name = "suggest",
    .title = "What to try next",
    .description = "Settings that a proposer would run next in these ranges. They avoid failures; nothing is repeated.",
    .arguments = arguments,
    .output = "\"trials\":{\"type\":\"object\",\"description\":\"in the ranges, elsewhere\"},"
              "\"suggestions\":{\"type\":\"array\"},\"exhausted\":{\"type\":\"boolean\",\"description\":\"all was tried\"}",
    .needed = "\"suggestions\",\"exhausted\"",
    .call = call_suggest,
};
