/* cmd_sync.c: `lineage sync`: delivers trials from the outbox to the log's server. */
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

/* Delivered and refused trials are reported by notices; the result is the number of trials that still wait. */
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
                                    "also remove unused data and checkpoints older than DAYS from the server", "DAYS"},
                                   POPT_TABLEEND};
    return cli_on_store(&o.session, command, options, 0, 0, argc, argv, work, &o);
}

const struct cli_command cmd_sync = {
    .name = "sync",
    .arguments = "",
    .description =
        "Delivers the trials that were appended while the log's server could not be reached, each\n"
        "one once, and reports the id that each one gets. Prints how many still wait. Every command\n"
        "on the store does the same when it starts. A trial that the rules refuse by now (its\n"
        "parent does not exist, its id is taken) is kept in outbox/ with the ending .refused.\n"
        "\n"
        "--clean removes snapshots that no row names, checkpoints of nights older than DAYS days,\n"
        "and bytes without an owner from the server; it keeps everything younger than a day.\n"
        "\n"
        "A file of the outbox that is damaged is kept with the ending .damaged: it holds a trial that was\n"
        "acknowledged. `verify` names it too, until you remove it.\n"
        "\n"
        "Exit status 1: a trial was refused, or another process is delivering. 2: the server denies\n"
        "access, or has no such store, or a file of the outbox is damaged. 3: the server cannot be\n"
        "reached, and all trials wait. A store whose log is a file has nothing to deliver.",
    .examples = "  lineage -C postgres://db.example/trials/atpo sync\n"
                "  lineage -C postgres://db.example/trials/atpo sync --clean 30",
    .run = run,
};
