/* schema.h: the arguments of a tool, described once: listed to clients as JSON Schema, and checked against it. */
#ifndef MCP_SCHEMA_H
#define MCP_SCHEMA_H

#include "mcp.h"

enum mcp_type {
    MCP_TEXT,
    MCP_TEXTS,  /* a list of text */
    MCP_NUMBER,
    MCP_COUNT,  /* a whole number */
    MCP_PARAMS, /* an object: parameter name -> number or text */
    MCP_RANGES  /* an object: name -> number, or a range or texts as text */
};

struct mcp_argument {
    const char *name; /* NULL ends a list */
    enum mcp_type type;
    bool required;
    const char *description;
    double min, max;            /* numbers and counts, where max > min; texts: bytes at most, where max > 0 */
    const char *const *choices; /* text and texts: the only ones allowed, NULL at the end */
};

/* The list as JSON Schema of an object. */
json_t *mcp_schema_of(const struct mcp_argument *arguments);

/* Whether given is such an object; false after mcp_trouble. A null counts as not given. */
bool mcp_check_arguments(struct mcp_call *call, const struct mcp_argument *arguments, const json_t *given);

/* Checked arguments: NULL or the fallback where not given. */
const char *mcp_text_argument(const struct mcp_call *call, const char *name);
size_t mcp_count_argument(const struct mcp_call *call, const char *name, size_t fallback);
bool mcp_number_argument(double *value, const struct mcp_call *call, const char *name);

#endif
