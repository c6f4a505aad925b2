/* cmd_restore.c: `lineage restore`: puts back a record that was moved aside as torn. */
#include "cli.h"

static int work(struct cli_session *session, void *context)
{
    struct lineage_error err;
    size_t n;
    (void)context;
    cli_deliver_waiting(session->store);
    if (lineage_restore(session->store, session->args.positional[0], &n, &err) != LINEAGE_OK)
        return cli_fail(&err);
    printf("%zu row%s put back\n", n, n == 1 ? "" : "s");
    return CLI_OK;
}

static int run(const struct cli_command *command, int argc, const char **argv)
{
    struct cli_session session = {0};
    struct poptOption options[] = {CLI_STORE_OPTIONS(&session.where), POPT_TABLEEND};
    return cli_on_store(&session, command, options, 1, 1, argc, argv, work, NULL);
}

const struct cli_command cmd_restore = {
    .name = "restore",
    .arguments = "FILE",
    .description = "A record without a line end may be incomplete, so the next append moves it to a file\n"
                   "results.tsv.torn-N in the store and reports that. If you know that the record is "
                   "complete,\n"
                   "`restore` appends it and removes the file. Its rows must be valid and their ids unused.",
    .examples = "  lineage restore results.tsv.torn-1",
    .run = run,
};
