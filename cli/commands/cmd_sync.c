/* cmd_sync.c: `lineage sync`. */
#include "cli.h"

/* What was delivered and refused is told by notices, one each; what is left is the result. */
static int work(struct cli_session *session, void *context)
{
    struct lineage_sync_stats stats;
    struct lineage_error err;
    (void)context;
    enum lineage_status status = lineage_sync(session->store, &stats, &err);
    printf("waiting %zu\n", stats.n_waiting);
    if (status != LINEAGE_OK)
        return cli_fail(&err);
    return stats.n_refused || stats.n_waiting ? CLI_NO : CLI_OK;
}

static int run(const struct cli_command *command, int argc, const char **argv)
{
    struct cli_session session = {.delivers_itself = true};
    struct poptOption options[] = {CLI_STORE_OPTIONS(&session.where), POPT_TABLEEND};
    return cli_on_store(&session, command, options, 0, 0, argc, argv, work, NULL);
}

const struct cli_command cmd_sync = {
    .name = "sync",
    .arguments = "",
    .description =
        "Delivers trials that were appended while the server of the log was away, each once, and\n"
        "says under which id; prints how many still wait. Every command on the store does the same\n"
        "when it starts. A trial that the rules refuse by now (its parent is not there, its id is\n"
        "taken) is kept in outbox/ with the ending .refused.\n"
        "\n"
        "Exit status 1: something was refused, or is being delivered by another process; 3: the\n"
        "server is away, and everything waits. A store whose log is a file has nothing to deliver.",
    .examples = "  lineage -C postgres://db.example/trials/atpo sync",
    .run = run,
};
