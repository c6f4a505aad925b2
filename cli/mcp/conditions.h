/* conditions.h: the argument `where` of the tools query and compare. */
#pragma once

#include <lineage/query.h>

#include "mcp/mcp.h"

#define MCP_MAX_CONDITIONS 32 /* schema.c accepts no more names */

struct mcp_conditions {
    struct lineage_condition list[MCP_MAX_CONDITIONS];
    size_t n;
    struct cli_texts texts;
};

/* Reads the checked argument of type MCP_RANGES. The conditions borrow its texts. Returns false after mcp_trouble. */
bool mcp_conditions_read(struct mcp_conditions *conditions, struct mcp_call *call, const char *argument);

/* Whether the name can be in a condition; else calls mcp_trouble with the nearest name. */
bool mcp_condition_name(struct mcp_call *call, const char *name);
