/* knowledge.h: the rendered block for the tool, the resource and the prompt. */
#ifndef MCP_KNOWLEDGE_H
#define MCP_KNOWLEDGE_H

#include "mcp/mcp.h"

#define MCP_KNOWLEDGE_BYTES 10000

/* Delimited and labelled, of about max_bytes; sections NULL: all. free; NULL after mcp_trouble. */
char *mcp_knowledge(struct mcp_call *call, const char *specialist, const char *sections, size_t max_bytes);

#endif
