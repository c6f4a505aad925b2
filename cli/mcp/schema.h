/* schema.h: the arguments of a tool, described once; they are listed to clients as JSON Schema and checked against
 * it. */
#pragma once

#include "mcp.h"

enum mcp_type {
    MCP_TEXT,
    MCP_TEXTS,  /* a list of texts */
    MCP_NUMBER,
    MCP_COUNT,  /* a whole number */
    MCP_PARAMS, /* an object: parameter name -> number or text */
    MCP_RANGES  /* an object: name -> number, or text that holds a range or texts */
};

struct mcp_argument {
    const char *name; /* NULL ends a list */
    enum mcp_type type;
    bool required;
    const char *description;
    double min, max;            /* numbers and counts: limits if max > min; texts: at most max bytes if max > 0 */
    const char *const *choices; /* text and texts: the only values allowed, NULL-terminated; NULL: any */
};

/* Returns the list as the JSON Schema of an object. */
json_t *mcp_schema_of(const struct mcp_argument *arguments);

/* Checks that given is such an object; returns false after mcp_trouble. A null counts as absent. */
bool mcp_check_arguments(struct mcp_call *call, const struct mcp_argument *arguments, const json_t *given);

/* The values of checked arguments; NULL or the fallback if absent. */
const char *mcp_text_argument(const struct mcp_call *call, const char *name);
size_t mcp_count_argument(const struct mcp_call *call, const char *name, size_t fallback);
bool mcp_number_argument(double *value, const struct mcp_call *call, const char *name);
