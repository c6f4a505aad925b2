/* cmd_trust.c: `lineage trust`: lets a directory name the server of its log. */

#include <lineage/render.h>
#include <lineage/trust.h>

#include "cli.h"

struct trust_options {
    const char *dir; /* -C */
    char *format;
    int list, withdraw;
};

static bool print_one(void *context, const char *dir, const char *server)
{
    struct cli_list *list = context;
    cli_list_row(list, CLI_TEXT(dir), CLI_TEXT(server));
    return true;
}

static int list_all(const struct trust_options *o)
{
    enum cli_format format;
    struct lineage_error err;
    if (!cli_format_parse(&format, o->format))
        return CLI_USAGE;
    struct cli_list *list = cli_list_of(format, NULL, "directory,server");
    enum lineage_status status = lineage_trust_each(print_one, list, &err);
    int listed = cli_list_finish(list);
    return status == LINEAGE_OK ? listed : cli_fail(&err);
}

static int withdraw(const char *dir)
{
    bool was;
    struct lineage_error err;
    if (lineage_trust_withdraw(dir, &was, &err) != LINEAGE_OK)
        return cli_fail(&err);
    printf("%s %s\n", dir, was ? "is no longer trusted" : "was not trusted");
    return was ? CLI_OK : CLI_NO;
}

static int trust(const char *dir)
{
    char *server;
    struct lineage_error err;
    if (lineage_trust(dir, &server, &err) != LINEAGE_OK)
        return cli_fail(&err);
    printf("%s is trusted with the log %s\n", dir, server);
    lineage_free(server);
    return CLI_OK;
}

static int work(const struct cli_args *args, void *context)
{
    const struct trust_options *o = context;
    const char *dir = args->n_positional ? args->positional[0] : o->dir ? o->dir : ".";
    if (o->list && (o->withdraw || args->n_positional))
        return cli_error(CLI_USAGE, "trust: --list takes no directory and excludes --withdraw");
    if (o->format && !o->list)
        return cli_error(CLI_USAGE, "trust: --format belongs to --list");
    if (!o->list && lineage_is_server(dir))
        return cli_error(CLI_USAGE, "trust: %s is a server, which you name yourself; only directories need trust", dir);
    return o->list ? list_all(o) : o->withdraw ? withdraw(dir) : trust(dir);
}

static struct trust_options chosen;
static struct poptOption table[] = {
    {"directory", 'C', POPT_ARG_STRING, (void *)&chosen.dir, 0, "the directory, if DIR is not given (default: .)", "DIR"},
    CLI_FLAG("list", &chosen.list, "list the trusted directories with their servers"),
    CLI_FLAG("withdraw", &chosen.withdraw, "do not trust the directory any more; it need not exist"),
    CLI_OPTION("format", &chosen.format, "FORMAT", "with --list: table, json or tsv (default: table)"),
    POPT_TABLEEND};

const struct cli_command cmd_trust = {
    .name = "trust",
    .arguments = "[DIR]",
    .description = "Lets the directory name the server of its log: lineage.json may be {\"log\": \"postgres://..\"}.\n"
                   "Commands obey such a name only in a directory that you trusted, because libpq sends\n"
                   "passwords to that server, and its rows become the answers. Look at lineage.json first if\n"
                   "the directory comes from somebody else. The trust holds for this directory and this server,\n"
                   "for your user on this machine, also after the directory was moved within its file system.\n"
                   "Nothing is sent to the server. Names of servers on the command line (-C postgres://..) need\n"
                   "no trust.\n\n"
                   "Exit status: 1 if --withdraw finds that the directory was not trusted, 2 if its log is a\n"
                   "file.",
    .examples = "  lineage trust runs/atpo\n  lineage trust --list\n  lineage trust --withdraw runs/atpo",
    CLI_ON_ARGS(table, 0, 1, work, &chosen),
};
