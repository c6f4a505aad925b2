/* cmd_sql.c: `lineage sql`. */
#include "cli.h"

struct sql_print {
    enum cli_format format;
    struct cli_list *list;
};

/* The list begins with the first row, because only then are the columns known. */
static bool print_row(void *context, size_t n, const char *const *names, const char *const *texts)
{
    struct sql_print *print = context;
    if (!print->list && !(print->list = cli_list_new(print->format, stdout, n, names)))
        return false;
    /* NULL is an absent number, which JSON has a word for; a text column would make it "". */
    for (size_t i = 0; i < n; i++)
        if (texts[i])
            cli_list_text(print->list, texts[i]);
        else
            cli_list_number(print->list, 0, false);
    return cli_list_end_row(print->list);
}

/* A limit that was passed is 2: the statement is to be changed, or the limit; what was found
 * until then has been printed. */
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
    /* No row, no list: a reader of JSON must get one all the same. */
    else if (status == LINEAGE_OK && session->format == CLI_JSON)
        puts("[]");
    if (status == LINEAGE_ELIMIT)
        return cli_error(CLI_USAGE, "%s; raise it by --max-seconds, --max-memory or --max-rows", err.text);
    return status == LINEAGE_OK ? result : cli_fail(&err);
}

struct sql_options {
    struct cli_session session;
    char *seconds, *memory, *rows;
};

/* None of the limits can be switched off: a number too large to matter does that. */
static int read_limits(struct cli_session *session, void *context)
{
    const struct sql_options *o = context;
    struct lineage_sql_limits *limits = &session->where.sql;
    size_t mib = 0;
    if ((o->seconds && !cli_amount_parse(&limits->seconds, "max-seconds", o->seconds)) ||
        (o->memory && !cli_count_parse(&mib, "max-memory", o->memory)) ||
        (o->rows && !cli_count_parse(&limits->rows, "max-rows", o->rows)))
        return CLI_USAGE;
    limits->bytes = mib < SIZE_MAX >> 20 ? mib << 20 : SIZE_MAX >> 1;
    if ((o->seconds && limits->seconds <= 0) || (o->memory && !mib) || (o->rows && !limits->rows))
        return cli_error(CLI_USAGE, "--max-seconds, --max-memory and --max-rows are larger than 0");
    return CLI_GO_ON;
}

static int run(const struct cli_command *command, int argc, const char **argv)
{
    struct sql_options o = {.session.before_open = read_limits};
    struct poptOption options[] = {
        CLI_SESSION_OPTIONS(&o.session),
        {"max-seconds", 0, POPT_ARG_STRING, &o.seconds, 0, "end it after this long (default: 60)", "SECONDS"},
        {"max-memory", 0, POPT_ARG_STRING, &o.memory, 0, "end it when it takes more (default: 1024)", "MIB"},
        {"max-rows", 0, POPT_ARG_STRING, &o.rows, 0, "end it behind so many rows (default: 1000000)", "N"},
        POPT_TABLEEND};
    return cli_on_store(&o.session, command, options, 1, 1, argc, argv, work, &o);
}

const struct cli_command cmd_sql = {
    .name = "sql",
    .arguments = "STATEMENT",
    .description = "One SELECT on lineage.db, brought up to date first. The tables are described in\n"
                   "schema/. Statements that could write anything are refused, and functions that do\n"
                   "more than compute. Values come as text, NULL as the empty cell or, in JSON, as null.\n"
                   "A statement that goes past a limit ends with status 2 and says which; what it had\n"
                   "found until then is printed.",
    .examples = "  lineage sql 'SELECT status, count(*) FROM trials GROUP BY status'\n"
                "  lineage sql \"SELECT exp_id, value FROM params WHERE key = 'alpha'\" --format json",
    .run = run,
};
