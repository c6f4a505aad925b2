/* cmd_serve.c: `lineage serve`. */
#include <string.h>

#include "cli.h"
#include "serve/live_server.h"

enum { PORT = 8790 };

static void print_notice(void *context, const struct lineage_notice *notice)
{
    (void)context;
    cli_say(notice->text);
}

/* Not by cli_on_store: the server opens the store itself, once signals are blocked, which the threads to come
 * inherit. */
static int run(const struct cli_command *command, int argc, const char **argv)
{
    struct cli_store_options where = {0};
    struct cli_args args;
    struct server_options server = {.port = PORT, .store.notice = print_notice};
    char *port = NULL;
    int no_token = 0;
    struct poptOption options[] = {
        CLI_STORE_OPTIONS(&where),
        {"port", 0, POPT_ARG_STRING, &port, 0, "port on 127.0.0.1 (default: 8790), 0 for any that is free", "N"},
        {"no-token", 0, POPT_ARG_NONE, &no_token, 0, "answer without the token of the printed address", NULL},
        POPT_TABLEEND};
    int status = cli_parse(&args, command, options, 0, 0, argc, argv);
    size_t number = PORT;
    if (status == CLI_GO_ON && port && !cli_count_parse(&number, "port", port))
        status = CLI_USAGE;
    if (status == CLI_GO_ON && number > 65535)
        status = cli_error(CLI_USAGE, "--port '%s' is no port: 0 to 65535", port);
    if (status == CLI_GO_ON && !cli_direction_parse(&server.store.direction, where.direction))
        status = CLI_USAGE;
    if (status == CLI_GO_ON) {
        server.port = (unsigned)number;
        server.no_token = no_token;
        server.dir = where.dir ? where.dir : ".";
        server.store.metric = where.metric;
        status = server_run(&server);
    }
    cli_args_release(&args);
    return status;
}

const struct cli_command cmd_serve = {
    .name = "serve",
    .arguments = "",
    .description = "Shows the page of `report` in a browser, brought up to date as rows are appended, and the\n"
                   "trials that run now with their curves. Prints its address and answers until it is\n"
                   "interrupted. It reads only, listens on 127.0.0.1 alone, and answers nobody who does not\n"
                   "have the token in the address, which is new each time; --no-token is for machines that\n"
                   "nobody else uses.",
    .examples = "  lineage serve -C runs/atpo\n  lineage serve --port 0 --no-token",
    .run = run,
};
