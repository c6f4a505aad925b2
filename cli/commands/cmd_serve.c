/* cmd_serve.c: `lineage serve`: shows the report live in a browser. */

#include "cli.h"
#include "serve/live_server.h"

enum { PORT = 8790, PORTS = 20 };

/* Does not use cli_on_store: the server must block signals, which its threads inherit, before it opens the store. */
static int run(const struct cli_command *command, int argc, const char **argv)
{
    struct cli_store_options where = {0};
    struct cli_args args;
    struct server_options server = {.port = PORT, .store.notice = cli_say_notice};
    char *port = NULL, above[PATH_MAX];
    int no_token = 0, new_token = 0;
    struct poptOption options[] = {
        CLI_STORE_OPTIONS(&where),
        CLI_OPTION("port", &port, "N", "port on 127.0.0.1; 0: any free port (default: the first free one from 8790 on)"),
        CLI_FLAG("no-token", &no_token, "answer requests that lack the token of the printed address"),
        CLI_FLAG("new-token", &new_token, "make a new token; addresses of earlier servers then stop working"), POPT_TABLEEND};
    size_t number = PORT;
    int status = cli_parse(&args, command, options, 0, SERVER_STORES, argc, argv);
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
    if (args.n_positional && where.dir) {
        cli_error(CLI_USAGE, "serve: name the stores as arguments or one store with -C, not both");
        goto done;
    }
    if (no_token && new_token) {
        cli_error(CLI_USAGE, "serve: --no-token and --new-token exclude each other");
        goto done;
    }
    server.new_token = new_token;
    server.n_dirs = args.n_positional ? args.n_positional : 1;
    for (size_t i = 0; i < args.n_positional; i++)
        server.dirs[i] = args.positional[i];
    cli_store_above(above);
    if (!args.n_positional)
        server.dirs[0] = where.dir ? where.dir : *above ? above : ".";
    server.store.metric = where.metric;
    status = server_run(&server);
done:
    cli_args_release(&args);
    return status;
}

const struct cli_command cmd_serve = {
    .name = "serve",
    .arguments = "[STORE...]",
    .description = "Shows the page of `report` in a browser and updates it when rows are appended. Trials that\n"
                   "are running are shown with their curves. Several stores are shown in one page. Prints its\n"
                   "address and answers until it is interrupted; a page connects again when the server is\n"
                   "back. It only reads, listens only on 127.0.0.1, refuses requests of other sites, and\n"
                   "answers only requests that have the token of the printed address. The token is the same\n"
                   "at each start; it is kept in the state directory, which only you can read, until you use\n"
                   "--new-token. Use --no-token only on a machine that nobody else uses.",
    .examples = "  lineage serve -C runs/atpo\n  lineage serve runs/atpo runs/hop\n  lineage serve --port 0 --no-token",
    .run = run,
};
