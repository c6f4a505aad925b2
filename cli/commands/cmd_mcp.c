/* cmd_mcp.c: `lineage mcp`: serves the store to agents over the Model Context Protocol. */
#include <unistd.h>

#include "mcp/mcp.h"

struct mcp_options {
    int allow_write;
    struct mcp_server server;
};

/* Whether the client cancelled the question; the store asks every few milliseconds. */
static bool is_cancelled(void *context)
{
    struct mcp_server *server = context;
    server->overdue = server->deadline > 0 && cli_now() > server->deadline;
    return server->overdue || (server->inbox && mcp_inbox_cancelled(server->inbox));
}

static int work(struct cli_session *session, void *context)
{
    struct mcp_options *o = context;
    struct mcp_server *server = &o->server;
    json_object_seed(0); /* must run before the second thread starts */
    if (o->allow_write)
        cli_deliver_waiting(session->store);
    server->store = session->store;
    server->dir = session->where.dir ? session->where.dir : ".";
    server->allow_write = o->allow_write;
    server->inbox = mcp_inbox_open(STDIN_FILENO, STDOUT_FILENO);
    if (!server->inbox)
        return cli_error(CLI_SYSTEM, "mcp: cannot start reading standard input");
    int status = mcp_serve(server);
    mcp_inbox_close(server->inbox);
    return status;
}

static struct mcp_options chosen;
static struct cli_session asked = {.cancelled = is_cancelled, .cancel_context = &chosen.server, .before_store = true};
static struct poptOption table[] = {CLI_STORE_OPTIONS(&asked.where),
                                    CLI_FLAG("allow-write", &chosen.allow_write, "offer the tools that write"), POPT_TABLEEND};

const struct cli_command cmd_mcp = {
    .name = "mcp",
    .arguments = "",
    .description = "Serves agent programs: JSON-RPC messages on standard input and output, one per line,\n"
                   "until the input ends. Messages for people go to standard error. Supports revision\n"
                   "2026-07-28 of the protocol, and with their handshake 2025-11-25, 2025-06-18, 2025-03-26\n"
                   "and 2024-11-05. Nothing is written unless --allow-write offers the tools append, note,\n"
                   "insight and void (`lineage help agents`).",
    .examples = "  lineage mcp -C runs/atpo\n  claude mcp add lineage -- lineage mcp -C runs/atpo",
    CLI_ON_STORE(asked, table, 0, 0, work, &chosen),
};
