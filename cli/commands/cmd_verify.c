/* cmd_verify.c: `lineage verify`: checks the whole store. */
#include "cli.h"
#include "output/finding.h"

static const char *const columns[] = {"kind", "line", "exp_id", "text"};

struct verify_options {
    char *head;  /* --head: a digest that was noted earlier */
    int digest;  /* --digest: print the digest of the present rows */
};

struct verify_print {
    struct cli_list *list; /* TSV and JSON only */
};

static void print_finding(void *context, const struct lineage_finding *finding)
{
    struct verify_print *print = context;
    if (!print->list) {
        finding_print(finding);
        return;
    }
    cli_list_text(print->list, finding->kind);
    cli_list_count(print->list, (size_t)finding->line);
    cli_list_text(print->list, finding->exp_id);
    cli_list_text(print->list, finding->text);
    cli_list_end_row(print->list);
}

static int work(struct cli_session *session, void *context)
{
    const struct verify_options *o = context;
    struct verify_print print = {0};
    struct lineage_digests digests = {0};
    struct lineage_error err;
    size_t n = 0;
    if (o->digest && session->format != CLI_TABLE)
        return cli_error(CLI_USAGE, "--digest prints one line and needs --format table");
    if (session->format != CLI_TABLE)
        print.list = cli_list_new(session->format, stdout, sizeof columns / sizeof *columns, columns);
    enum lineage_status status = lineage_verify_digests(session->store, o->head, &digests, &n, print_finding, &print, &err);
    int result = print.list ? cli_list_finish(print.list) : CLI_OK;
    if (status != LINEAGE_OK)
        return cli_fail(&err);
    if (o->digest)
        finding_print_digest(&digests);
    /* The exit status is 1 instead of 2, because the command worked: its answer is that the store has faults. */
    return result == CLI_OK && n ? CLI_NO : result;
}

static int run(const struct cli_command *command, int argc, const char **argv)
{
    struct cli_session session = {0};
    struct verify_options o = {0};
    struct poptOption options[] = {
        {"head", 0, POPT_ARG_STRING, &o.head, 0, "also check that the rows up to this digest are unchanged", "DIGEST"},
        {"digest", 0, POPT_ARG_NONE, &o.digest, 0,
         "print the digest of all rows, to be noted elsewhere for --head", NULL},
        CLI_SESSION_OPTIONS(&session),
        POPT_TABLEEND};
    return cli_on_store(&session, command, options, 0, 0, argc, argv, work, &o);
}

const struct cli_command cmd_verify = {
    .name = "verify",
    .arguments = "",
    .description = "Checks the format, ids, parents, cycles, statuses and numbers of results.tsv; compares "
                   "the\n"
                   "mirror with it byte by byte and the rows with their digests (.results.tsv.digests); "
                   "checks\n"
                   "that snapshots and telemetry exist. Prints one line per fault. Writes nothing. Exit "
                   "status\n"
                   "0 if no fault was found, 1 otherwise.",
    .examples = "  lineage verify\n  lineage verify --format json\n  lineage verify --digest",
    .run = run,
};
