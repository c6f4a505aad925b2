/* cmd_verify.c: `lineage verify`. */
#include <stdlib.h>

#include "cli.h"

static const char *const columns[] = {"kind", "line", "exp_id", "text"};

struct verify_print {
    struct cli_list *list; /* TSV and JSON */
};

/* File and line first, as compilers have it: editors jump there. What a row holds is made harmless before it
 * reaches a terminal. */
static void print_finding(void *context, const struct lineage_finding *finding)
{
    struct verify_print *print = context;
    if (print->list) {
        cli_list_text(print->list, finding->kind);
        cli_list_count(print->list, (size_t)finding->line);
        cli_list_text(print->list, finding->exp_id);
        cli_list_text(print->list, finding->text);
        cli_list_end_row(print->list);
        return;
    }
    char *text = cli_text_line(finding->text, 0), *id = cli_text_line(finding->exp_id, 60);
    if (finding->line)
        printf("results.tsv:%llu: ", (unsigned long long)finding->line);
    printf("%s: %s%s%s\n", finding->kind, id ? id : "", id && *id ? ": " : "", text ? text : "");
    free(text);
    free(id);
}

static int work(struct cli_session *session, void *context)
{
    (void)context;
    struct verify_print print = {0};
    struct lineage_error err;
    size_t n = 0;
    if (session->format != CLI_TABLE)
        print.list = cli_list_new(session->format, stdout, sizeof columns / sizeof *columns, columns);
    enum lineage_status status = lineage_verify(session->store, &n, print_finding, &print, &err);
    int result = print.list ? cli_list_finish(print.list) : CLI_OK;
    if (status != LINEAGE_OK)
        return cli_fail(&err);
    /* 1 and not 2: the command did what it was asked, and the answer is that not all is well. */
    return result == CLI_OK && n ? CLI_NO : result;
}

static int run(const struct cli_command *command, int argc, const char **argv)
{
    struct cli_session session = {0};
    struct poptOption options[] = {CLI_SESSION_OPTIONS(&session), POPT_TABLEEND};
    return cli_on_store(&session, command, options, 0, 0, argc, argv, work, NULL);
}

const struct cli_command cmd_verify = {
    .name = "verify",
    .arguments = "",
    .description = "Checks format, ids, parents, cycles, statuses and numbers of results.tsv, the mirror\n"
                   "against it byte by byte, and that snapshots and telemetry are present. Writes\n"
                   "nothing. Exit status 0 if all is well, 1 if anything is wrong.",
    .examples = "  lineage verify\n  lineage verify --format json",
    .run = run,
};
