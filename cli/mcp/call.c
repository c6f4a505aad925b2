/* call.c: what every method needs to answer: errors, parameters, texts that are written piece by piece. */

#include <lineage/render.h>
#include <lineage/text.h>

#include "mcp/mcp.h"
#include "mcp/untrusted.h"

/* Text from users and files must be valid in the answer. What it quotes stays unchanged, because no table is around it. */
static void __attribute__((format(printf, 2, 0))) fill_error(struct mcp_call *call, const char *format, va_list args)
{
    char text[sizeof call->error];
    vsnprintf(text, sizeof text, format, args);
    char *line = lineage_text_visible(text, strlen(text), sizeof text / 4), *safe = line ? mcp_escape_tags(line) : NULL;
    snprintf(call->error, sizeof call->error, "%s", safe ? safe : "out of memory");
    free(safe);
    lineage_free(line);
}

/* The code decides who sees the error: a JSON-RPC error goes to the client's program, which often does not show it to
 * the model; a result with isError (mcp_trouble, code 0) goes to the model, which can then correct its call. */
json_t *mcp_refuse(struct mcp_call *call, enum mcp_code code, const char *format, ...)
{
    va_list args;
    va_start(args, format);
    fill_error(call, format, args);
    va_end(args);
    call->code = code;
    return NULL;
}

json_t *mcp_trouble(struct mcp_call *call, const char *format, ...)
{
    va_list args;
    va_start(args, format);
    fill_error(call, format, args);
    va_end(args);
    call->code = 0;
    return NULL;
}

bool mcp_has_store(struct mcp_call *call)
{
    const char *dir = call->server->dir;
    if (cli_is_store(dir))
        return true;
    return mcp_trouble(call,
                       "there is no store in %s (no results.tsv, no lineage.json): nothing is known, which is not the same as "
                       "nothing tried. Start the server with -C DIR, or make a store with `lineage init`",
                       dir),
           false;
}

json_t *mcp_store_trouble(struct mcp_call *call, const struct lineage_error *err)
{
    if (err->status == LINEAGE_ECANCELLED && call->server->overdue)
        return mcp_trouble(call, "aborted after too long; narrow the question (a WHERE, a LIMIT, a smaller range)");
    return mcp_trouble(call, "%s", err->text);
}

const char *mcp_text_param(struct mcp_call *call, const char *name)
{
    const char *text = cli_json_string(call->message->params, name);
    if (!text)
        mcp_refuse(call, MCP_INVALID_PARAMS, "Invalid params: %s must be text", name);
    return text;
}

/* The empty cursor is valid and means the beginning. */
bool mcp_one_page(struct mcp_call *call)
{
    const json_t *cursor = json_object_get(call->message->params, "cursor");
    if (!cursor || (json_is_string(cursor) && json_string_length(cursor) == 0))
        return true;
    return mcp_refuse(call, MCP_INVALID_PARAMS, "Invalid cursor: the list has only one page"), false;
}

json_t *mcp_text_json(struct cli_writer *writer)
{
    return cli_json_own(cli_writer_close(writer));
}
