/* cmd_sync.c: `lineage sync`. */
#include <inttypes.h>

#include <lineage/blobs.h>

#include "cli.h"

struct sync {
    struct cli_session session;
    char *clean;
    double days;
};

static int read_options(struct cli_session *session, void *context)
{
    struct sync *o = context;
    (void)session;
    return !o->clean || cli_amount_parse(&o->days, "clean", o->clean) ? CLI_GO_ON : CLI_USAGE;
}

static int clean(struct lineage_store *store, double days)
{
    struct lineage_blob_stats stats;
    struct lineage_error err;
    if (lineage_blobs_clean(store, days, &stats, &err) != LINEAGE_OK)
        return cli_fail(&err);
    printf("removed %" PRIu64 " blobs, %" PRIu64 " bytes\n", stats.n_blobs, stats.n_bytes);
    return CLI_OK;
}

/* What was delivered and refused is told by notices, one each; what is left is the result. */
static int work(struct cli_session *session, void *context)
{
    struct lineage_sync_stats stats;
    struct lineage_error err;
    const struct sync *o = context;
    enum lineage_status status = lineage_sync(session->store, &stats, &err);
    printf("waiting %zu\n", stats.n_waiting);
    if (status != LINEAGE_OK)
        return cli_fail(&err);
    int cleaned = o->clean ? clean(session->store, o->days) : CLI_OK;
    if (cleaned != CLI_OK)
        return cleaned;
    return stats.n_refused || stats.n_waiting ? CLI_NO : CLI_OK;
}

static int run(const struct cli_command *command, int argc, const char **argv)
{
    struct sync o = {.session = {.delivers_itself = true, .before_open = read_options}};
    struct poptOption options[] = {CLI_STORE_OPTIONS(&o.session.where),
                                   {"clean", 0, POPT_ARG_STRING, &o.clean, 0,
                                    "remove from the server what nobody needs, and checkpoints older than this", "DAYS"},
                                   POPT_TABLEEND};
    return cli_on_store(&o.session, command, options, 0, 0, argc, argv, work, &o);
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
        "--clean removes snapshots from the server that no row names, checkpoints of nights made more\n"
        "than so many days ago, and bytes that belong to nothing; never what is younger than a day.\n"
        "\n"
        "Exit status 1: something was refused, or is being delivered by another process; 2: the server\n"
        "does not let this user in, or has no such store; 3: it is away. Then everything waits.\n"
        "A store whose log is a file has nothing to deliver.",
    .examples = "  lineage -C postgres://db.example/trials/atpo sync\n"
                "  lineage -C postgres://db.example/trials/atpo sync --clean 30",
    .run = run,
};
