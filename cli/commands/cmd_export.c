/* cmd_export.c: `lineage export`: prints results.tsv byte for byte, or its trials in another form. */
#include <errno.h>
#include <limits.h>
#include <string.h>

#include <lineage/move.h>

#include "cli.h"
#include "histories/history_write.h"

struct export_options {
    char *output, *format;
};

static bool print_piece(void *context, const void *bytes, size_t n)
{
    int *error = context;
    if (fwrite(bytes, 1, n, stdout) == n)
        return true;
    *error = errno;
    return false;
}

/* A file is written beside the one that it replaces, so that there is always a whole one. */
static int write_form(struct lineage_store *store, const struct export_options *o)
{
    char fresh[PATH_MAX];
    struct lineage_error err = {0};
    int n = snprintf(fresh, sizeof fresh, "%s.part", o->output ? o->output : "");
    FILE *out = !o->output ? stdout : n > 0 && (size_t)n < sizeof fresh ? fopen(fresh, "we") : NULL;
    if (!out)
        return cli_error(CLI_SYSTEM, "cannot write %s: %s", fresh, strerror(errno));
    enum lineage_status status =
        strcmp(o->format, "csv") == 0 ? history_write_csv(store, out, &err) : history_write_jsonl(store, out, &err);
    bool good = !o->output || fclose(out) == 0;
    if (status == LINEAGE_OK && good && (!o->output || rename(fresh, o->output) == 0))
        return CLI_OK;
    int error = errno;
    if (o->output)
        remove(fresh);
    return status != LINEAGE_OK ? cli_fail(&err) : cli_error(CLI_SYSTEM, "cannot write %s: %s", o->output, strerror(error));
}

static int check_format(struct cli_session *session, void *context)
{
    const struct export_options *o = context;
    (void)session;
    return !o->format || strcmp(o->format, "tsv") == 0 || strcmp(o->format, "csv") == 0 || strcmp(o->format, "jsonl") == 0
               ? CLI_GO_ON
               : cli_error(CLI_USAGE, "--format '%.40s': use tsv, csv or jsonl", o->format);
}

static int work(struct cli_session *session, void *context)
{
    const struct export_options *o = context;
    struct lineage_error err;
    int error = 0;
    if (o->format && strcmp(o->format, "tsv") != 0)
        return write_form(session->store, o);
    enum lineage_status status = o->output ? lineage_export_file(session->store, o->output, &err)
                                           : lineage_export(session->store, print_piece, &error, &err);
    if (error)
        return cli_error(CLI_SYSTEM, "cannot write the result: %s", strerror(error));
    return status == LINEAGE_OK ? CLI_OK : cli_fail(&err);
}

static int run(const struct cli_command *command, int argc, const char **argv)
{
    struct cli_session session = {.before_open = check_format};
    struct export_options o = {0};
    struct poptOption options[] = {
        {"directory", 'C', POPT_ARG_STRING, &session.where.dir, 0, "the store (default: the current directory or a parent)",
         "DIR"},
        {"output", 'o', POPT_ARG_STRING, &o.output, 0, "write to FILE, which is replaced as a whole or not at all", "FILE"},
        {"format", 0, POPT_ARG_STRING, &o.format, 0,
         "tsv: every byte of the log (default); csv: a table with parameters and metrics as columns; jsonl: an object a line",
         "tsv|csv|jsonl"},
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
                   "copied as files. --format csv and jsonl are for other programs and have sound rows only:\n"
                   "a table with a column for each parameter (param.NAME) and metric (metric.NAME), or the\n"
                   "object that `show --format json` prints on each line.",
    .examples = "  lineage export >copy.tsv\n"
                "  lineage -C postgres://host/lab/atpo export --output results.tsv\n"
                "  lineage export --format csv --output trials.csv",
    .run = run,
};
