/* cmd_serve.c: `lineage serve`: shows the report live in a browser. */
#include <string.h>

#include "cli.h"
#include "serve/live_server.h"

enum { PORT = 8790, PORTS = 20 };

static void print_notice(void *context, const struct lineage_notice *notice)
{
    (void)context;
    cli_say(notice->text);
}

/* Does not use cli_on_store: the server must block signals, which its threads inherit, before it opens the store. */
static int run(const struct cli_command *command, int argc, const char **argv)
{
    struct cli_store_options where = {0};
    struct cli_args args;
    struct server_options server = {.port = PORT, .store.notice = print_notice};
    char *port = NULL;
    int no_token = 0;
    struct poptOption options[] = {
        CLI_STORE_OPTIONS(&where),
        {"port", 0, POPT_ARG_STRING, &port, 0, "port on 127.0.0.1; 0: any free port (default: the first free one from 8790 on)", "N"},
        {"no-token", 0, POPT_ARG_NONE, &no_token, 0,
         "answer requests that lack the token of the printed address", NULL},
        POPT_TABLEEND};
    size_t number = PORT;
    int status = cli_parse(&args, command, options, 0, 0, argc, argv);
    if (status != CLI_GO_ON)
        goto done;
    status = CLI_USAGE;
    if (port && !cli_count_parse(&number, "port", port))
        goto done;
    if (number > 65535) {
        cli_error(CLI_USAGE, "--port '%s' is not a port; use 0 to 65535", port);
        goto done;
    }
    if (!cli_direction_parse(&server.store.direction, where.direction))
        goto done;
    server.port = (unsigned)number;
    server.ports = port ? 1 : PORTS;
    server.no_token = no_token;
    server.dir = where.dir ? where.dir : ".";
    server.store.metric = where.metric;
    status = server_run(&server);
done:
    cli_args_release(&args);
    return status;
}

const struct cli_command cmd_serve = {
    .name = "serve",
    .arguments = "",
    .description = "Shows the page of `report` in a browser and updates it when rows are appended. Trials "
                   "that\n"
                   "are running are shown with their curves. Prints its address and answers until it is\n"
                   "interrupted. It only reads, listens only on 127.0.0.1, and answers only requests that\n"
                   "have the token of the printed address, which is new at each start. Use --no-token only\n"
                   "on a machine that nobody else uses.",
    .examples = "  lineage serve -C runs/atpo\n  lineage serve --port 0 --no-token",
    .run = run,
};
