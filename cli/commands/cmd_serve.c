/* cmd_serve.c: `lineage serve`: shows the report live in a browser. */

#include "cli.h"
#include "serve/live_server.h"

enum { PORT = 8790, PORTS = 20 };

static struct serve_options {
    struct cli_store_options where;
    char *port;
    int no_token, new_token;
} chosen;

/* Does not use cli_on_store: the server must block signals, which its threads inherit, before it opens the store. */
static int work(const struct cli_args *args, void *context)
{
    const struct serve_options *o = context;
    struct server_options server = {.port = PORT,
                                    .ports = o->port ? 1 : PORTS,
                                    .no_token = o->no_token,
                                    .new_token = o->new_token,
                                    .store = {.notice = cli_say_notice, .metric = o->where.metric}};
    char above[PATH_MAX];
    size_t number = PORT;
    if (o->port && !cli_count_parse(&number, "port", o->port))
        return CLI_USAGE;
    if (number > 65535)
        return cli_error(CLI_USAGE, "--port '%s' is not a port; use 0 to 65535", o->port);
    if (!cli_direction_parse(&server.store.direction, o->where.direction))
        return CLI_USAGE;
    if (args->n_positional && o->where.dir)
        return cli_error(CLI_USAGE, "serve: name the stores as arguments or one store with -C, not both");
    if (o->no_token && o->new_token)
        return cli_error(CLI_USAGE, "serve: --no-token and --new-token exclude each other");
    server.port = (unsigned)number;
    server.n_dirs = args->n_positional ? args->n_positional : 1;
    for (size_t i = 0; i < args->n_positional; i++)
        server.dirs[i] = args->positional[i];
    cli_store_above(above);
    if (!args->n_positional)
        server.dirs[0] = o->where.dir ? o->where.dir : *above ? above : ".";
    return server_run(&server);
}

static struct poptOption table[] = {
    CLI_STORE_OPTIONS(&chosen.where),
    CLI_OPTION("port", &chosen.port, "N", "port on 127.0.0.1; 0: any free port (default: the first free one from 8790 on)"),
    CLI_FLAG("no-token", &chosen.no_token, "answer requests that lack the token of the printed address"),
    CLI_FLAG("new-token", &chosen.new_token, "make a new token; addresses of earlier servers then stop working"), POPT_TABLEEND};

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
    CLI_ON_ARGS(table, 0, SERVER_STORES, work, &chosen),
};
