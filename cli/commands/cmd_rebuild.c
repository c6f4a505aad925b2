/* cmd_rebuild.c: `lineage rebuild`: builds the mirror anew. */
#include "output/show.h"

static void print_finding(void *context, const struct lineage_finding *finding)
{
    (void)context;
    finding_print(finding);
}

/* Prints the rows whose digests change, because afterwards nobody can find out which they were. */
static int rebuild_digests(struct lineage_store *store)
{
    struct lineage_digests digests;
    struct lineage_error err;
    size_t n;
    if (lineage_rebuild_digests(store, &digests, &n, print_finding, NULL, &err) != LINEAGE_OK)
        return cli_fail(&err);
    finding_print_digest(&digests);
    return CLI_OK;
}

static int work(struct cli_session *session, void *context)
{
    struct lineage_error err;
    const int *digests = context;
    if (*digests)
        return rebuild_digests(session->store);
    return lineage_rebuild(session->store, &err) == LINEAGE_OK ? CLI_OK : cli_fail(&err);
}

static struct cli_session asked;
static int digests;
static struct poptOption table[] = {
    CLI_FLAG("digests", &digests, "rebuild .results.tsv.digests instead, after rows were changed on purpose; prints those rows"),
    CLI_STORE_OPTIONS(&asked.where), POPT_TABLEEND};

const struct cli_command cmd_rebuild = {
    .name = "rebuild",
    .arguments = "",
    .description = "Deletes lineage.db and builds it anew from results.tsv and telemetry/. Only needed after\n"
                   "bytes of results.tsv changed that were already in the mirror, or to replace a lineage.db\n"
                   "that another user's commands made. `verify` keeps reporting that rows were changed until\n"
                   "the digests are rebuilt too (--digests).",
    .examples = "  lineage rebuild\n  lineage rebuild --digests",
    CLI_ON_STORE(asked, table, 0, 0, work, &digests),
};
