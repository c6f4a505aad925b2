/* cmd_sql.c: `lineage sql`: runs a read-only SELECT on the mirror. */
#include <lineage/voids.h>

#include "cli.h"

struct sql_print {
    enum cli_format format;
    struct cli_list *list;
};

/* Creates the list at the first call, because the columns are known only then. */
static bool print_row(void *context, size_t n, const char *const *names, const char *const *texts, const bool *numbers)
{
    struct sql_print *print = context;
    if (!print->list)
        print->list = cli_list_new(print->format, n, names);
    if (!texts) {
        cli_list_head(print->list);
        return true;
    }
    /* NULL is printed as an absent number, because that is null in JSON; a text cell would be "". */
    for (size_t i = 0; i < n; i++)
        if (texts[i] && !numbers[i])
            cli_list_text(print->list, texts[i]);
        else
            cli_list_digits(print->list, texts[i] ? texts[i] : "");
    return cli_list_end_row(print->list);
}

static bool count_void(void *context, const struct lineage_void *entry)
{
    (void)entry;
    ++*(size_t *)context;
    return true;
}

/* Exceeding a limit gives exit status 2, because the statement or the limit must be changed. The rows found until then
 * are printed. */
static int work(struct cli_session *session, void *context)
{
    struct sql_print print = {.format = session->format};
    struct lineage_error err;
    (void)context;
    enum lineage_status status = lineage_sql_typed(session->store, session->args.positional[0], print_row, &print, &err);
    int result = CLI_OK;
    if (print.list)
        result = cli_list_finish(print.list);
    if (status == LINEAGE_ELIMIT)
        return cli_error(CLI_USAGE, "%s; raise the limit with --max-seconds, --max-memory or --max-rows", err.text);
    if (status != LINEAGE_OK)
        return cli_fail(&err);
    size_t n = 0;
    const char *sql = session->args.positional[0];
    const bool counted = session->format == CLI_TABLE && strstr(sql, "trials") && strstr(sql, "status") && !strstr(sql, "void") &&
                         lineage_voids_read(session->store, NULL, count_void, &n, &err) == LINEAGE_OK;
    if (counted && n)
        cli_tell("%zu void trial%s: status in `trials` is harness_abort, and `voided` has what %s", n, n > 1 ? "s" : "",
                 n > 1 ? "they were" : "it was");
    return result;
}

struct sql_options {
    struct cli_session session;
    char *seconds, *memory, *rows;
};

/* Limits cannot be switched off; a very large number has the same effect. */
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
        return cli_error(CLI_USAGE, "--max-seconds, --max-memory and --max-rows must be greater than 0");
    return CLI_GO_ON;
}

static struct sql_options chosen = {.session.before_open = read_limits};
static struct poptOption table[] = {
    CLI_SESSION_OPTIONS(&chosen.session),
    CLI_OPTION("max-seconds", &chosen.seconds, "SECONDS", "stop after this time, in seconds (default: 60)"),
    CLI_OPTION("max-memory", &chosen.memory, "MIB", "stop if it needs more memory than this, in MiB (default: 1024)"),
    CLI_OPTION("max-rows", &chosen.rows, "N", "stop after N rows (default: 1000000)"), POPT_TABLEEND};

const struct cli_command cmd_sql = {
    .name = "sql",
    .arguments = "STATEMENT",
    .description = "Runs one SELECT on lineage.db, which is brought up to date first. The tables are described\n"
                   "in schema/. Statements that could write are refused, and so are functions that do more\n"
                   "than compute. A number is printed as the shortest decimal that reads back as itself; NULL\n"
                   "is an empty cell, or null in JSON. Without a row the columns are still named. A\n"
                   "statement that exceeds a limit ends with exit status 2 and names the limit; the rows\n"
                   "found until then are printed. A value has 1 MiB at most.",
    .examples = "  lineage sql 'SELECT status, count(*) FROM trials GROUP BY status'\n"
                "  lineage sql \"SELECT exp_id, value FROM params WHERE key = 'alpha'\" \\\n      --format json",
    CLI_ON_STORE(chosen.session, table, 1, 1, work, &chosen),
};
