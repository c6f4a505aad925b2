/* cmd_export.c: `lineage export`: prints results.tsv byte for byte. */
#include <errno.h>
#include <string.h>

#include <lineage/move.h>

#include "cli.h"

struct export_options {
    char *output;
};

static bool print_piece(void *context, const void *bytes, size_t n)
{
    int *error = context;
    if (fwrite(bytes, 1, n, stdout) == n)
        return true;
    *error = errno;
    return false;
}

static int work(struct cli_session *session, void *context)
{
    const struct export_options *o = context;
    struct lineage_error err;
    int error = 0;
    enum lineage_status status = o->output ? lineage_export_file(session->store, o->output, &err)
                                           : lineage_export(session->store, print_piece, &error, &err);
    if (error)
        return cli_error(CLI_SYSTEM, "cannot write the result: %s", strerror(error));
    return status == LINEAGE_OK ? CLI_OK : cli_fail(&err);
}

static int run(const struct cli_command *command, int argc, const char **argv)
{
    struct cli_session session = {0};
    struct export_options o = {0};
    struct poptOption options[] = {
        {"directory", 'C', POPT_ARG_STRING, &session.where.dir, 0,
         "the store (default: the current directory)", "DIR"},
        {"output", 'o', POPT_ARG_STRING, &o.output, 0,
         "write to FILE, which is replaced as a whole or not at all", "FILE"},
        POPT_TABLEEND};
    return cli_on_store(&session, command, options, 0, 0, argc, argv, work, &o);
}

const struct cli_command cmd_export = {
    .name = "export",
    .arguments = "",
    .description = "Prints results.tsv byte for byte, damaged rows included, wherever the store keeps its\n"
                   "rows. `import --exact` makes a store with the same digests from it. The files beside "
                   "the\n"
                   "rows (telemetry/, snapshots/, lineage_code/, logs/, provenance/, remarks.jsonl) must be\n"
                   "copied as files.",
    .examples = "  lineage export >copy.tsv\n"
                "  lineage -C postgres://host/lab/atpo export --output results.tsv",
    .run = run,
};
