/* tools.h: the table of tools. */
#pragma once

#include "mcp/mcp.h"
#include "mcp/schema.h"
#include "mcp/untrusted.h"

struct mcp_tool {
    const char *name, *title, *description;
    const struct mcp_argument *arguments;
    const char *output; /* members of the result's JSON Schema as JSON text; NULL: the result is text */
    const char *needed; /* which of these members are always present, as a JSON list in text form */
    bool writes;        /* listed and called only if writing is allowed */
    double patience_s;  /* seconds after which a question is aborted; 0: MCP_PATIENCE_S */
    json_t *(*call)(struct mcp_call *call); /* returns an object or text; NULL after mcp_trouble */
};

#define MCP_PATIENCE_S 30.0

extern const struct mcp_tool mcp_tool_knowledge, mcp_tool_best, mcp_tool_trial, mcp_tool_chain, mcp_tool_query, mcp_tool_sweep,
    mcp_tool_tried, mcp_tool_search, mcp_tool_similar, mcp_tool_knobs, mcp_tool_diff, mcp_tool_sql, mcp_tool_suggest,
    mcp_tool_compare, mcp_tool_running, mcp_tool_append, mcp_tool_note, mcp_tool_insight, mcp_tool_void, mcp_tool_lease;

/* ---- knowledge ---- */

/* The rendered block, for the tool, the resource and the prompt. */

#define MCP_KNOWLEDGE_BYTES 10000

/* Returns the delimited and labelled block, about max_bytes long; sections NULL means all. free it. Returns NULL after
 * mcp_trouble. */
char *mcp_knowledge(struct mcp_call *call, const char *specialist, const char *sections, size_t max_bytes);
