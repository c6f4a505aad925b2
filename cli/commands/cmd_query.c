/* cmd_query.c: `lineage query`. */
#include <stdlib.h>
#include <string.h>

#include <lineage/text.h>

#include "cli.h"

#define MAX_CONDITIONS 48

struct query_options {
    char *alpha, *beta, *gamma, *status, *specialist, *since, *until, *sort, *limit;
    char **params;
    char **metrics; /* ranges over the score; a column name chooses the score column */
    int exit_status;
    struct lineage_query query;
    struct lineage_condition conditions[MAX_CONDITIONS];
    char names[MAX_CONDITIONS][LINEAGE_NAME_MAX];
    struct cli_texts texts;
};

/* Names are copied: that of a --param ends at its =, which popt's text does not. */
static bool next_condition(struct query_options *o, const char *name)
{
    size_t i = o->query.n_conditions;
    if (i == MAX_CONDITIONS) {
        cli_error(CLI_USAGE, "query: more than %d conditions", MAX_CONDITIONS);
        return false;
    }
    snprintf(o->names[i], LINEAGE_NAME_MAX, "%s", name);
    o->conditions[i].name = o->names[i];
    o->query.n_conditions++;
    return true;
}

/* Ranges only: alpha, beta, gamma and the score are numbers. */
static bool add_condition(struct query_options *o, const char *name, const char *text)
{
    struct lineage_error err;
    size_t i = o->query.n_conditions;
    if (!text)
        return true;
    if (!next_condition(o, name))
        return false;
    if (lineage_range_parse(&o->conditions[i].range, text, &err) == LINEAGE_OK)
        return true;
    cli_error(CLI_USAGE, "%s: %s", name, err.text);
    return false;
}

static bool add_param(struct query_options *o, const char *name, const char *text)
{
    size_t i = o->query.n_conditions;
    return next_condition(o, name) && cli_condition_parse(&o->conditions[i], &o->texts, name, text);
}

static bool add_params(struct query_options *o)
{
    char name[LINEAGE_NAME_MAX];
    const char *range;
    for (char **param = o->params; param && *param; param++)
        if (!cli_assignment_parse(name, &range, "param", *param) || !add_param(o, name, range))
            return false;
    return true;
}

/* `--metric :1.08` is a range over the score, `--metric val_bpb` names its column. */
static bool is_column_name(const char *text)
{
    double value;
    return !strchr(text, ':') && !lineage_number_parse(&value, text, strlen(text));
}

static bool split_metrics(struct query_options *o, struct cli_session *session)
{
    for (char **metric = o->metrics; metric && *metric; metric++) {
        if (!is_column_name(*metric)) {
            if (!add_condition(o, "score", *metric))
                return false;
            continue;
        }
        free(session->where.metric);
        session->where.metric = strdup(*metric);
    }
    return true;
}

/* Dates go to the store as they were typed: it knows "yesterday", and refuses what it does not know. */
static bool fill_query(struct query_options *o)
{
    if ((o->status && !cli_labels_parse(&o->query.labels, o->status)) ||
        (o->limit && !cli_count_parse(&o->query.limit, "limit", o->limit)))
        return false;
    o->query.specialist = o->specialist;
    o->query.since = o->since;
    o->query.until = o->until;
    o->query.sort = o->sort;
    o->query.conditions = o->conditions;
    return add_condition(o, "alpha", o->alpha) && add_condition(o, "beta", o->beta) &&
           add_condition(o, "gamma", o->gamma) && add_params(o);
}

static int work(struct cli_session *session, void *context)
{
    struct query_options *o = context;
    struct lineage_cursor *cursor;
    struct lineage_error err;
    size_t n;
    if (!fill_query(o))
        return CLI_USAGE;
    if (o->limit && o->query.limit == 0)
        return cli_error(CLI_USAGE, "--limit 0 asks for nothing");
    if (lineage_query_open(&cursor, session->store, &o->query, &err) != LINEAGE_OK)
        return cli_fail(&err);
    int status = cli_print_cursor(cursor, session->format, &session->screen, &n);
    /* Only if asked for: no match is an answer, and a script under `set -e` must not end by it. */
    return status == CLI_OK && o->exit_status && n == 0 ? CLI_NO : status;
}

/* The metric options decide how the store is opened, so they are looked at between parsing and opening. */
static int before_open(struct cli_session *session, void *context)
{
    return split_metrics(context, session) ? CLI_GO_ON : CLI_USAGE;
}

static int run(const struct cli_command *command, int argc, const char **argv)
{
    struct cli_session session = {.before_open = before_open};
    struct query_options o = {0};
    struct poptOption options[] = {
        {"directory", 'C', POPT_ARG_STRING, &session.where.dir, 0, "the store (default: current directory)", "DIR"},
        {"direction", 0, POPT_ARG_STRING, &session.where.direction, 0, "which score is better", "lower|higher"},
        CLI_FORMAT_OPTION(&session.format_text),
        {"alpha", 0, POPT_ARG_STRING, &o.alpha, 0, "alpha in RANGE", "RANGE"},
        {"beta", 0, POPT_ARG_STRING, &o.beta, 0, "beta in RANGE", "RANGE"},
        {"gamma", 0, POPT_ARG_STRING, &o.gamma, 0, "gamma in RANGE", "RANGE"},
        {"param", 0, POPT_ARG_ARGV, &o.params, 0, "any parameter, column or extra column in RANGE, or one of TEXTS",
         "NAME=RANGE|TEXTS"},
        {"metric", 0, POPT_ARG_ARGV, &o.metrics, 0, "score in RANGE, or the name of the score column",
         "RANGE|COLUMN"},
        {"status", 0, POPT_ARG_STRING, &o.status, 0, "labels, comma-separated", "LABELS"},
        {"specialist", 0, POPT_ARG_STRING, &o.specialist, 0, "exactly this specialist", "NAME"},
        {"since", 0, POPT_ARG_STRING, &o.since, 0, "timestamp from DATE on: 2026-05-07, yesterday, 3 days ago", "DATE"},
        {"until", 0, POPT_ARG_STRING, &o.until, 0, "timestamp before DATE", "DATE"},
        {"sort", 0, POPT_ARG_STRING, &o.sort, 0, "column or parameter; -NAME sorts down", "[-]NAME"},
        {"limit", 0, POPT_ARG_STRING, &o.limit, 0, "at most N trials", "N"},
        {"exit-status", 0, POPT_ARG_NONE, &o.exit_status, 0, "exit 1 if nothing matched", NULL},
        CLI_SCREEN_OPTIONS(&session.screen),
        POPT_TABLEEND};
    int status = cli_on_store(&session, command, options, 0, 0, argc, argv, work, &o);
    free(session.where.metric); /* chosen by split_metrics, not by an option of its own */
    return status;
}

const struct cli_command cmd_query = {
    .name = "query",
    .arguments = "",
    .description = "A RANGE is LOW:HIGH, LOW:, :HIGH or one number; both ends belong to it. TEXTS are what a\n"
                   "parameter is exactly, one of several (adam,sgd); text that does not begin with a letter\n"
                   "stands in single quotes, which the shell must let through: --param \"size='7B'\".\n"
                   "NAME=: is true of all trials that have the parameter. Conditions are\n"
                   "joined by and. nan matches no range. Rows without a value to sort by are left out;\n"
                   "ties keep file order.\n\n"
                   "A DATE is ISO 8601 (2026-05-07, 2026-05-07T18:00+02:00, 2026-05, 2026-W19), or now,\n"
                   "today, yesterday, a weekday (the last one), '3 days ago', '12h', also with a time\n"
                   "(yesterday 18:00). All of it is UTC unless it says otherwise. 07.05.2026 and 05/07/2026\n"
                   "are refused: day and month cannot be told apart.",
    .examples = "  lineage query --alpha 0.1:0.5 --gamma :1.0\n"
                "  lineage query --status keep,discard --sort -core_metric --limit 5\n"
                "  lineage query --param lr=1e-4: --metric :1.08 --format json\n"
                "  lineage query --param optimizer=adam,sgd --sort optimizer",
    .run = run,
};
