/* cmd_sql.c: `lineage sql`. */
#include "cli.h"

struct sql_print {
    enum cli_format format;
    struct cli_list *list;
};

static bool print_row(void *context, size_t n, const char *const *names, const char *const *texts)
{
    struct sql_print *print = context;
    if (!print->list && !(print->list = cli_list_new(print->format, stdout, n, names)))
        return false;
    for (size_t i = 0; i < n; i++)
        if (texts[i])
            cli_list_text(print->list, texts[i]);
        else
            cli_list_number(print->list, 0, false);
    return cli_list_end_row(print->list);
}

static int work(struct cli_session *session, void *context)
{
    struct sql_print print = {.format = session->format};
    struct lineage_error err;
    (void)context;
    enum lineage_status status =
        lineage_sql(session->store, session->args.positional[0], print_row, &print, &err);
    int result = CLI_OK;
    if (print.list)
        result = cli_list_finish(print.list);
    else if (status == LINEAGE_OK && session->format == CLI_JSON)
        puts("[]");
    return status == LINEAGE_OK ? result : cli_fail(&err);
}

static int run(const struct cli_command *command, int argc, const char **argv)
{
    struct cli_session session = {0};
    struct poptOption options[] = {CLI_SESSION_OPTIONS(&session), POPT_TABLEEND};
    return cli_on_store(&session, command, options, 1, 1, argc, argv, work, NULL);
}

const struct cli_command cmd_sql = {
    .name = "sql",
    .arguments = "STATEMENT",
    .summary = "run a read-only SELECT on the mirror",
    .description = "One SELECT on lineage.db, brought up to date first. The tables are described in\n"
                   "schema/. Statements that could write anything are refused. Values come as text,\n"
                   "NULL as the empty cell or, in JSON, as null.",
    .examples = "  lineage sql 'SELECT status, count(*) FROM trials GROUP BY status'\n"
                "  lineage sql \"SELECT exp_id, value FROM params WHERE key = 'alpha'\" --format json",
    .run = run,
};
