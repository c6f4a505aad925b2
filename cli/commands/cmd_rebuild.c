/* cmd_rebuild.c: `lineage rebuild`. */
#include "cli.h"

static int work(struct cli_session *session, void *context)
{
    struct lineage_error err;
    (void)context;
    return lineage_rebuild(session->store, &err) == LINEAGE_OK ? CLI_OK : cli_fail(&err);
}

static int run(const struct cli_command *command, int argc, const char **argv)
{
    struct cli_session session = {0};
    struct poptOption options[] = {CLI_STORE_OPTIONS(&session.where), POPT_TABLEEND};
    return cli_on_store(&session, command, options, 0, 0, argc, argv, work, NULL);
}

const struct cli_command cmd_rebuild = {
    .name = "rebuild",
    .arguments = "",
    .description = "Throws lineage.db away and makes it again from results.tsv and telemetry/. Needed\n"
                   "only after bytes of results.tsv that were already mirrored have changed.",
    .examples = "  lineage rebuild",
    .run = run,
};
