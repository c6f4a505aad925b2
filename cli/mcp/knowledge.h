/* knowledge.h: the rendered block, for the tool, the resource and the prompt. */
#pragma once

#include "mcp/mcp.h"

#define MCP_KNOWLEDGE_BYTES 10000

/* Returns the delimited and labelled block, about max_bytes long; sections NULL means all. free it. Returns NULL after
 * mcp_trouble. */
char *mcp_knowledge(struct mcp_call *call, const char *specialist, const char *sections, size_t max_bytes);
