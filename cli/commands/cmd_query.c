/* cmd_query.c: `lineage query`: lists trials that meet all conditions. */

#include <lineage/search.h>
#include <lineage/settings.h>
#include <lineage/text.h>

#include "cli.h"

#define MAX_CONDITIONS 48

struct query_options {
    char *alpha, *beta, *gamma, *status, *specialist, *since, *until, *sort, *limit, *text;
    char **params;
    char **metrics; /* ranges of the score; a column name selects the score column */
    int exit_status, front;
    struct lineage_front best_in_both;
    const char **ids; /* of best_in_both */
    struct lineage_query query;
    struct lineage_condition conditions[MAX_CONDITIONS];
    char names[MAX_CONDITIONS][LINEAGE_NAME_MAX];
    struct cli_texts texts;
};

/* Copies the name, because in the option text of --param (NAME=VALUE) it is not NUL-terminated. */
static bool next_condition(struct query_options *o, const char *name)
{
    size_t i = o->query.n_conditions;
    if (i == MAX_CONDITIONS)
        return cli_refuse("query: more than %d conditions", MAX_CONDITIONS);
    snprintf(o->names[i], LINEAGE_NAME_MAX, "%s", name);
    o->conditions[i].name = o->names[i];
    o->query.n_conditions++;
    return true;
}

/* alpha, beta, gamma and the score are numbers, so only ranges are accepted. */
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
    return cli_refuse("%s: %s", name, err.text);
}

static bool add_params(struct query_options *o)
{
    char name[LINEAGE_NAME_MAX];
    const char *condition;
    for (char **param = o->params; param && *param; param++) {
        size_t i = o->query.n_conditions;
        if (!cli_assignment_parse(name, &condition, "param", *param) || !next_condition(o, name) ||
            !cli_condition_parse(&o->conditions[i], &o->texts, name, condition))
            return false;
    }
    return true;
}

/* A range restricts the score (`--metric :1.08`); a name selects its column (`--metric val_bpb`). */
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

/* Dates are passed on unchanged: the store understands "yesterday" and rejects what it does not understand. */
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
    return add_condition(o, "alpha", o->alpha) && add_condition(o, "beta", o->beta) && add_condition(o, "gamma", o->gamma) &&
           add_params(o);
}

/* The front becomes a condition on the id, so that it goes with all others. An id cannot be empty, so an empty text finds
 * nothing. Returns false with *err, or after printing a message if err->status is LINEAGE_OK. */
static bool load_front(struct query_options *o, struct lineage_store *store, struct lineage_error *err)
{
    if (!lineage_store_config(store)->second[0])
        return cli_refuse("--front: the store has one score; `lineage init --second NAME:lower` makes one with two");
    if (o->query.n_conditions == MAX_CONDITIONS)
        return cli_refuse("--front: more than %d conditions", MAX_CONDITIONS - 1);
    if (lineage_front_load(&o->best_in_both, store, err) != LINEAGE_OK)
        return false;
    o->ids = calloc(o->best_in_both.n + 1, sizeof *o->ids);
    if (!o->ids)
        return cli_no_memory(), false;
    o->ids[0] = "";
    for (size_t i = 0; i < o->best_in_both.n; i++)
        o->ids[i] = o->best_in_both.points[i].exp_id;
    o->conditions[o->query.n_conditions++] =
        (struct lineage_condition){.name = "exp_id", .texts = o->ids, .n_texts = o->best_in_both.n ? o->best_in_both.n : 1};
    return true;
}

static int work(struct cli_session *session, void *context)
{
    struct query_options *o = context;
    struct lineage_cursor *cursor;
    struct lineage_error err = {.status = LINEAGE_OK};
    size_t n;
    if (!fill_query(o))
        return CLI_USAGE;
    if (o->limit && o->query.limit == 0)
        return cli_error(CLI_USAGE, "--limit 0 would print nothing; give at least 1");
    if (o->front && !load_front(o, session->store, &err))
        return err.status ? cli_fail(&err) : CLI_USAGE;
    enum lineage_status found = o->text ? lineage_search(&cursor, session->store, o->text, &o->query, &err)
                                        : lineage_query_open(&cursor, session->store, &o->query, &err);
    if (found != LINEAGE_OK)
        return cli_fail(&err);
    int status = cli_print_cursor(cursor, lineage_store_settings(session->store), session->format, &session->screen, &n);
    if (status == CLI_OK && n == 0 && session->format == CLI_TABLE) {
        struct cli_list *list = cli_trial_list_new(CLI_TABLE, NULL);
        cli_list_head(list);
        status = cli_list_finish(list);
    }
    /* An empty result gives exit status 1 only with --exit-status: it is a valid answer, and must not end a script that
     * runs under `set -e`. */
    return status == CLI_OK && o->exit_status && n == 0 ? CLI_NO : status;
}

/* The --metric options decide how the store is opened, so they are read before that. */
static int before_open(struct cli_session *session, void *context)
{
    return split_metrics(context, session) ? CLI_GO_ON : CLI_USAGE;
}

static int run(const struct cli_command *command, int argc, const char **argv)
{
    struct cli_session session = {.before_open = before_open};
    struct query_options o = {0};
    struct poptOption options[] = {
        CLI_DIR_OPTION(&session.where.dir),
        CLI_OPTION("direction", &session.where.direction, "lower|higher", "which score is better (default: the store's setting)"),
        CLI_FORMAT_OPTION(&session.format_text),
        CLI_OPTION("alpha", &o.alpha, "RANGE", "alpha is in RANGE"),
        CLI_OPTION("beta", &o.beta, "RANGE", "beta is in RANGE"),
        CLI_OPTION("gamma", &o.gamma, "RANGE", "gamma is in RANGE"),
        {"param", 'p', POPT_ARG_ARGV, &o.params, 0,
         "a parameter, setting, metric, column or extra column is in RANGE or equals a TEXT", "NAME=RANGE|TEXTS"},
        CLI_REPEATED("metric", &o.metrics, "RANGE|COLUMN", "the score is in RANGE; or the name of the score column"),
        CLI_OPTION("status", &o.status, "LABELS", "one of these labels, separated by commas"),
        CLI_OPTION("specialist", &o.specialist, "NAME", "this specialist only"),
        CLI_OPTION("text", &o.text, "WORDS",
                   "one of the trials that `lineage search WORDS` finds; best match first unless --sort is given"),
        CLI_OPTION("since", &o.since, "DATE", "timestamp at or after DATE: 2026-05-07, yesterday, 3 days ago"),
        CLI_OPTION("until", &o.until, "DATE", "timestamp before DATE"),
        CLI_OPTION("sort", &o.sort, "[-]NAME|best|newest",
                   "sort by a column, parameter or metric; -NAME: descending; best first, or newest first (default: file order, "
                   "the newest last)"),
        CLI_OPTION("limit", &o.limit, "N", "print at most N trials (default: all)"),
        CLI_FLAG("front", &o.front, "a kept trial that no other kept trial beats in both scores of the store"),
        CLI_FLAG("exit-status", &o.exit_status, "exit with 1 if nothing matches"),
        CLI_SCREEN_OPTIONS(&session.screen),
        POPT_TABLEEND};
    int status = cli_on_store(&session, command, options, 0, 0, argc, argv, work, &o);
    lineage_front_release(&o.best_in_both);
    free(o.ids);
    free(session.where.metric); /* set by split_metrics, not by popt */
    return status;
}

const struct cli_command cmd_query = {
    .name = "query",
    .arguments = "[NAME=RANGE|TEXTS...]",
    .description = "Lists the trials that meet all conditions. A RANGE is LOW:HIGH, LOW:, :HIGH or one\n"
                   "number, and includes its ends. TEXTS are exact values of a parameter, separated by commas\n"
                   "(adam,sgd); a text that does not begin with a letter needs single quotes, which must be\n"
                   "protected from the shell: --param \"size='7B'\". NAME=: matches every trial that has the\n"
                   "parameter. nan is in no range. Trials without a value to sort by are left out; equal\n"
                   "values keep file order.\n\n"
                   "A name that no trial declares as a parameter is looked up among the settings that trials\n"
                   "changed in words (`lineage knobs`). The answer then shows the source of each value:\n"
                   "measured, stated, or inherited from the trial that set it.\n\n"
                   "A DATE is ISO 8601 (2026-05-07, 2026-05-07T18:00+02:00, 2026-05, 2026-W19), or now,\n"
                   "today, yesterday, a weekday (the last one), '3 days ago', '12h', also with a time\n"
                   "(yesterday 18:00). Times are UTC unless they name an offset. 07.05.2026 and 05/07/2026\n"
                   "are refused, because day and month cannot be told apart.",
    .examples = "  lineage query --alpha 0.1:0.5 --gamma :1.0\n  lineage query --status keep,discard --sort best --limit 5\n"
                "  lineage query --sort newest --limit 20 --format csv\n"
                "  lineage query --param lr=1e-4: --metric :1.08 --format json\n"
                "  lineage query optimizer=adam,sgd lr=:0.01 --sort optimizer",
    .run = run,
};
