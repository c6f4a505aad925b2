/*
 * tools.c: which tools exist, in which order, and how one is called. Each tool is a struct in its own file. The list of
 * tools, the check of arguments and the call use the same structs, so that what is advertised is what is enforced.
 */
#include "mcp/tools.h"

/*
 * The order is part of what is sent and must not change: clients keep the list in a model's prompt, where another order
 * is another prompt. Reading tools come first, in the order in which an agent that plans a night needs them. There are
 * few, because every definition costs each session tokens.
 */
static const struct mcp_tool *const tools[] = {&mcp_tool_knowledge, &mcp_tool_best,    &mcp_tool_trial,   &mcp_tool_chain,
                                               &mcp_tool_query,     &mcp_tool_sweep,   &mcp_tool_tried,   &mcp_tool_search,
                                               &mcp_tool_similar,   &mcp_tool_knobs,   &mcp_tool_diff,    &mcp_tool_sql,
                                               &mcp_tool_suggest,   &mcp_tool_compare, &mcp_tool_running, &mcp_tool_append,
                                               &mcp_tool_note,      &mcp_tool_insight, &mcp_tool_void,    &mcp_tool_lease};
enum { N_TOOLS = sizeof tools / sizeof *tools };

/* A tool that may not be used is not listed, because a model tries what it sees. */
static bool offered(const struct mcp_tool *tool, const struct mcp_call *call)
{
    return !tool->writes || call->server->allow_write;
}

/* Written as JSON text, which is shorter in the table than calls of json_pack. A result may have further members, so
 * that a later version can add one without breaking a client that checks. */
static json_t *output_schema(const struct mcp_tool *tool)
{
    struct cli_writer text = {0};
    if (!cli_writer_open(&text))
        return NULL;
    fprintf(text.out, "{\"type\":\"object\",\"properties\":{%s},\"required\":[%s]}", tool->output, tool->needed);
    cli_writer_close(&text);
    json_t *schema = text.text ? json_loads(text.text, 0, NULL) : NULL;
    free(text.text);
    return schema;
}

/* An omitted hint counts as the worst case, so all that mean something are given: whether a tool destroys or may be repeated is
 * asked only of one that writes. Nothing is ever destroyed: trials and notes are only added, and nothing outside the store is
 * touched. */
static json_t *tool_json(const struct mcp_tool *tool)
{
    json_t *json = json_pack("{s:s, s:s, s:s, s:o}", "name", tool->name, "title", tool->title, "description", tool->description,
                             "inputSchema", mcp_schema_of(tool->arguments));
    json_t *hints = json_pack("{s:b, s:b}", "readOnlyHint", !tool->writes, "openWorldHint", 0);
    if (tool->writes)
        json_object_update_new(hints, json_pack("{s:b, s:b}", "destructiveHint", 0, "idempotentHint", 0));
    cli_json_set(json, "outputSchema", tool->output ? output_schema(tool) : NULL, "annotations", hints, NULL);
    return json;
}

json_t *mcp_tools_list(struct mcp_call *call)
{
    if (!mcp_one_page(call))
        return NULL;
    json_t *list = json_array();
    for (size_t i = 0; i < N_TOOLS; i++)
        if (offered(tools[i], call))
            json_array_append_new(list, tool_json(tools[i]));
    return json_pack("{s:o}", "tools", list);
}

/* Answers with a protocol error instead of isError, because the protocol defines an unknown name as the client's
 * mistake. The message suggests the nearest name, so that a model can correct a misspelt one. */
static json_t *unknown_tool(struct mcp_call *call, const char *name)
{
    const char *known[N_TOOLS + 1] = {0};
    size_t n = 0;
    for (size_t i = 0; i < N_TOOLS; i++) {
        if (strcmp(tools[i]->name, name) == 0) /* exists, but is not offered */
            return mcp_refuse(call, MCP_INVALID_PARAMS, "Unknown tool: %s (the server was started without --allow-write)", name);
        if (offered(tools[i], call))
            known[n++] = tools[i]->name;
    }
    const char *near = cli_nearest(name, known);
    return mcp_refuse(call, MCP_INVALID_PARAMS, "Unknown tool: %.80s%s%s", name, near ? "; did you mean " : "", near ? near : "");
}

/* A text result is sent alone. Structured content is also sent as text, for clients that read only text. The note that
 * its texts are data comes before them, in every answer. */
static json_t *tool_result(json_t *value)
{
    size_t length = 0;
    if (json_is_string(value))
        return json_pack("{s:[{s:s, s:o}]}", "content", "type", "text", "text", value);
    value = mcp_noted(value);
    char *text = cli_json_compact(value, &length);
    json_t *result =
        json_pack("{s:[{s:s, s:s}], s:o}", "content", "type", "text", "text", text ? text : "", "structuredContent", value);
    free(text);
    return result;
}

/* Reads new rows before the time limit of the question begins, because after a long import this takes long, cannot be
 * aborted, and is not the question's fault. An error is ignored here: it occurs again in the tool, which reports it. */
static void catch_up(struct mcp_server *server)
{
    const struct lineage_query any = {.limit = 1};
    size_t n;
    if (lineage_query_count(&n, server->store, &any, NULL) != LINEAGE_OK)
        return;
}

static json_t *run_tool(struct mcp_call *call, const struct mcp_tool *tool)
{
    json_t *value = NULL;
    catch_up(call->server);
    call->server->overdue = false;
    /* The deadline is set for each call and cleared after it, because the store's interrupt handler checks it during
     * every later statement too. */
    call->server->deadline = cli_now() + (tool->patience_s > 0 ? tool->patience_s : MCP_PATIENCE_S);
    call->code = 0;
    if (mcp_has_store(call) && mcp_check_arguments(call, tool->arguments, call->arguments))
        value = tool->call(call);
    call->server->deadline = 0;
    if (value)
        return tool_result(value);
    if (call->code)
        return NULL;
    /* Code 0 means mcp_trouble: a result that the model sees, because it can correct its arguments. */
    return json_pack("{s:[{s:s, s:o}], s:b}", "content", "type", "text", "text", cli_json_text(call->error), "isError", 1);
}

json_t *mcp_tools_call(struct mcp_call *call)
{
    const char *name = mcp_text_param(call, "name");
    call->arguments = json_object_get(call->message->params, "arguments");
    if (!name)
        return NULL;
    /* The client program is responsible for the shape of the message, so a wrong shape is a protocol error. The model
     * is responsible for the values, so a wrong value is reported with isError. */
    if (call->arguments && !json_is_object(call->arguments))
        return mcp_refuse(call, MCP_INVALID_PARAMS, "Invalid params: arguments must be an object");
    for (size_t i = 0; i < N_TOOLS; i++)
        if (offered(tools[i], call) && strcmp(tools[i]->name, name) == 0)
            return run_tool(call, tools[i]);
    return unknown_tool(call, name);
}
