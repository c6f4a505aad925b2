/* cmd_sync.c: `lineage sync`: delivers trials from the outbox to the log's server. */

#include <lineage/blobs.h>

#include "cli.h"

struct sync {
    struct cli_session session;
    char *clean;
    int foreign;
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
    enum lineage_status status =
        o->foreign ? lineage_sync_all(session->store, &stats, &err) : lineage_sync(session->store, &stats, &err);
    printf("waiting %zu\n", stats.n_waiting + stats.n_foreign);
    if (status != LINEAGE_OK)
        return cli_fail(&err);
    int cleaned = o->clean ? clean(session->store, o->days) : CLI_OK;
    if (cleaned != CLI_OK)
        return cleaned;
    return stats.n_refused || stats.n_waiting || stats.n_foreign ? CLI_NO : CLI_OK;
}

static struct sync chosen = {.session = {.before_open = read_options}};
static struct poptOption table[] = {
    CLI_STORE_OPTIONS(&chosen.session.where),
    CLI_FLAG("foreign", &chosen.foreign, "also deliver trials that this user did not write on this machine for this server"),
    CLI_OPTION("clean", &chosen.clean, "DAYS", "also remove unused data and checkpoints older than DAYS from the server"),
    POPT_TABLEEND};

const struct cli_command cmd_sync = {
    .name = "sync",
    .arguments = "",
    .description = "Delivers the trials that were appended while the log's server could not be reached, each\n"
                   "one once, and reports the id that each one gets. Prints how many still wait. Every command\n"
                   "that appends does the same when it starts; commands that read send nothing. A trial that\n"
                   "the rules refuse by now (its parent does not exist, its id is taken) is kept in outbox/ with\n"
                   "the ending .refused. A trial that another user or machine wrote, or that was written for\n"
                   "another server, waits until --foreign says that it is yours; an earlier version of lineage\n"
                   "wrote trials that count as such too.\n\n"
                   "--clean removes snapshots that no row names, checkpoints of nights older than DAYS days,\n"
                   "and bytes without an owner from the server; it keeps everything younger than a day.\n\n"
                   "A file of the outbox that is damaged is kept with the ending .damaged: it holds a trial that was\n"
                   "acknowledged. `verify` names it too, until you remove it.\n\n"
                   "Exit status 1: a trial was refused or is foreign, or another process is delivering. 2: the\n"
                   "server denies access, or has no such store, or a file of the outbox is damaged. 3: the\n"
                   "server cannot be reached, and all trials wait. A store whose log is a file has nothing to\n"
                   "deliver.",
    .examples = "  lineage -C postgres://db.example/trials/atpo sync\n"
                "  lineage -C postgres://db.example/trials/atpo sync --clean 30",
    CLI_ON_STORE(chosen.session, table, 0, 0, work, &chosen),
};
