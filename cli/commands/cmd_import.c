/* cmd_import.c: `lineage import`: appends the rows of another tool's results.tsv. */
#include <inttypes.h>

#include <lineage/move.h>

#include "cli.h"
#include "output/finding.h"

struct import_options {
    char *metric; /* of the imported file, not of the store */
    int exact;
};

static int import_exact(struct lineage_store *store, const char *path)
{
    struct lineage_error err;
    uint64_t n;
    if (lineage_import_exact(store, path, &n, &err) != LINEAGE_OK)
        return cli_fail(&err);
    printf("%" PRIu64 " bytes imported\n", n);
    return CLI_OK;
}

static int work(struct cli_session *session, void *context)
{
    struct import_options *o = context;
    struct lineage_import_stats stats;
    struct lineage_error err;
    if (o->exact && o->metric)
        return cli_error(CLI_USAGE, "--exact copies the file without reading it and cannot be used with "
                                    "--metric");
    if (o->exact)
        return import_exact(session->store, session->args.positional[0]);
    cli_deliver_waiting(session->store);
    /* The callback's context is not const, but the path is only read. */
    char *path = (char *)(uintptr_t)session->args.positional[0];
    if (lineage_import(session->store, path, o->metric, &stats, finding_print_import, path, &err) != LINEAGE_OK)
        return cli_fail(&err);
    printf("%zu rows imported, %zu left out\n", stats.n_rows, stats.n_left_out);
    return CLI_OK;
}

static int run(const struct cli_command *command, int argc, const char **argv)
{
    struct cli_session session = {.before_store = true};
    struct import_options o = {0};
    struct poptOption options[] = {
        {"directory", 'C', POPT_ARG_STRING, &session.where.dir, 0,
         "the store (default: the current directory)", "DIR"},
        {"metric", 0, POPT_ARG_STRING, &o.metric, 0, "score column of FILE (default: core_metric or val_bpb)",
         "COLUMN"},
        {"exact", 0, POPT_ARG_NONE, &o.exact, 0, "copy every byte, into a store that has no other rows", NULL},
        POPT_TABLEEND};
    return cli_on_store(&session, command, options, 1, 1, argc, argv, work, &o);
}

const struct cli_command cmd_import = {
    .name = "import",
    .arguments = "FILE",
    .description = "Appends every valid row of a fieldkit, blackboard or karpathy/autoresearch results.tsv\n"
                   "as a canonical row, in file order. Its score becomes core_metric, and delta_vs_best is\n"
                   "computed if the source lacks it. Other columns of FILE become extra columns of a new\n"
                   "store, which `query --param NAME=RANGE` and --sort find; a store with rows keeps its\n"
                   "header and takes their numbers as metrics. Rows and columns that are left out are\n"
                   "reported with their line number. Either all rows are written or none. With --exact the\n"
                   "store gets FILE byte for byte, damaged rows included, and has the same digests. If the\n"
                   "store already holds the beginning of FILE, only the rest is copied.",
    .examples = "  lineage -C new import old/results.tsv\n"
                "  lineage export | lineage -C ../copy import --exact /dev/stdin\n"
                "  lineage -C cifar import blackboard/results.tsv --metric train_s",
    .run = run,
};
