/* cmd_compare.c: `lineage compare`: compares variants with a baseline, seed by seed. */

#include "output/show.h"
#include "run/run_parts.h"

enum { MAX_CONDITIONS = 32 };

struct compare_options {
    char *by, *over, *baseline, *confidence;
    char **params;
    int json, runs, examples;
    struct lineage_compare_options what;
    struct lineage_condition conditions[MAX_CONDITIONS];
    char names[MAX_CONDITIONS][LINEAGE_NAME_MAX];
    struct cli_texts texts;
};

/* Copies the names, because in the option text NAME=VALUE a name is not NUL-terminated. */
static bool add_conditions(struct compare_options *o)
{
    const char *range;
    for (char **param = o->params; param && *param; param++) {
        size_t i = o->what.n_conditions++;
        if (i == MAX_CONDITIONS)
            return cli_refuse("compare: more than %d conditions", MAX_CONDITIONS);
        if (!cli_assignment_parse(o->names[i], &range, "param", *param))
            return false;
        if (!cli_condition_parse(&o->conditions[i], &o->texts, o->names[i], range))
            return false;
        o->conditions[i].name = o->names[i];
    }
    o->what.conditions = o->conditions;
    return true;
}

/* Names and --by cannot be combined, because one would silently override the other. */
static bool fill_options(struct compare_options *o, const struct cli_args *args)
{
    o->what.variants = args->positional;
    o->what.n_variants = args->n_positional;
    o->what.by = o->by;
    o->what.over = o->over;
    o->what.baseline = o->baseline;
    if (o->by && args->n_positional)
        return cli_refuse("compare: give names of variants, or --by to find them, but not both");
    if (o->confidence && !cli_number_parse(&o->what.confidence, "confidence", o->confidence))
        return false;
    if (o->confidence && !(o->what.confidence > 0 && o->what.confidence < 1))
        return cli_refuse("--confidence '%s' is not between 0 and 1; use for example 0.95", o->confidence);
    return add_conditions(o);
}

/* Every trial against the best one, whatever its label. */
static int print_runs(struct cli_session *session, const struct compare_options *o)
{
    struct lineage_evidence evidence;
    struct lineage_error err;
    if (o->by || o->baseline || o->over || o->params || o->confidence || session->args.n_positional)
        return cli_error(
            CLI_USAGE,
            "compare: --runs compares every trial with the best one; it takes no variants and no other option of compare");
    if (o->json)
        session->format = CLI_JSON;
    if (lineage_evidence_load(&evidence, session->store, NULL, &err) != LINEAGE_OK)
        return cli_fail(&err);
    int status = cli_evidence_print(&evidence, session);
    lineage_evidence_release(&evidence);
    return status;
}

static int print_pair(struct cli_list *list, struct cli_session *session, const char *id, const struct examples *base)
{
    struct examples own;
    struct examples_difference difference;
    char why[EXAMPLES_WHY_MAX];
    if (!examples_of(&own, session->store, id, why))
        return cli_error(CLI_USAGE, "compare: %s", why);
    const bool good = examples_compare(&difference, &own, base, lineage_store_config(session->store), why);
    if (good)
        cli_list_row(list, CLI_TEXT(own.exp_id), CLI_TEXT(base->exp_id), CLI_COUNT(difference.n),
                     CLI_FIGURE(difference.mean, true), CLI_FIGURE(difference.low, true), CLI_FIGURE(difference.high, true),
                     CLI_FIGURE(difference.p, true), CLI_FIGURE(difference.error, true), CLI_FIGURE(difference.bar, true),
                     CLI_FIGURE(difference.seeds, difference.seeds > 0),
                     CLI_FIGURE(difference.seeds_bar, difference.seeds_bar > 0), CLI_TEXT(examples_verdict(&difference)));
    examples_release(&own);
    return good ? CLI_GO_ON : cli_error(CLI_USAGE, "compare: %.80s and %.80s are not comparable: %s", base->exp_id, id, why);
}

/* One run of each trial, example by example, against the first. */
static int print_examples(struct cli_session *session, const struct compare_options *o)
{
    const struct cli_args *args = &session->args;
    struct examples base;
    char why[EXAMPLES_WHY_MAX];
    if (o->by || o->baseline || o->over || o->params || o->confidence || o->runs || args->n_positional < 2)
        return cli_error(
            CLI_USAGE,
            "compare: --examples takes the ids of two trials or more, the baseline first, and no other option of compare");
    if (!examples_of(&base, session->store, args->positional[0], why))
        return cli_error(CLI_USAGE, "compare: %s", why);
    struct cli_list *list = cli_list_of(o->json ? CLI_JSON : session->format, NULL,
                                        "exp_id,baseline,examples,difference,low,high,p,error,bar,error_seeds,bar_seeds,verdict");
    int status = CLI_GO_ON;
    for (size_t i = 1; i < args->n_positional && status == CLI_GO_ON; i++)
        status = print_pair(list, session, args->positional[i], &base);
    examples_release(&base);
    const int finished = cli_list_finish(list);
    return status == CLI_GO_ON ? finished : status;
}

static int work(struct cli_session *session, void *context)
{
    struct compare_options *o = context;
    if (o->examples)
        return print_examples(session, o);
    if (o->runs)
        return print_runs(session, o);
    struct lineage_comparison comparison;
    struct lineage_error err;
    if (!fill_options(o, &session->args))
        return CLI_USAGE;
    if (lineage_compare(session->store, &o->what, &comparison, &err) != LINEAGE_OK)
        return cli_fail(&err);
    int status = cli_comparison_print(&comparison, o->over ? o->over : "seed", lineage_store_config(session->store),
                                      o->json ? CLI_JSON : session->format);
    lineage_comparison_release(&comparison);
    return status;
}

static struct cli_session asked;
static struct compare_options chosen;
static struct poptOption table[] = {
    CLI_SESSION_OPTIONS(&asked),
    CLI_FLAG("json", &chosen.json, "same as --format json (schema/compare.schema.json)"),
    CLI_OPTION("by", &chosen.by, "PARAMETER", "make every value of this parameter a variant (default: specialist)"),
    CLI_OPTION("baseline", &chosen.baseline, "VARIANT", "variant that the others are compared with (default: the first)"),
    CLI_FLAG("runs", &chosen.runs,
             "compare every trial with the best one by all its runs, and mark those that are worth another run"),
    CLI_FLAG("examples", &chosen.examples,
             "compare single trials with the first by the scores of their examples (`run --examples FILE`)"),
    CLI_OPTION("over", &chosen.over, "NAME[,NAME]", "parameters that pair the trials (default: seed)"),
    {"param", 'p', POPT_ARG_ARGV, &chosen.params, 0,
     "use only trials whose parameter is in RANGE or equals a TEXT; may be repeated", "NAME=RANGE|TEXTS"},
    CLI_OPTION("confidence", &chosen.confidence, "NUMBER", "confidence level of the intervals, 0 to 1 (default: 0.95)"),
    POPT_TABLEEND};

const struct cli_command cmd_compare = {
    .name = "compare",
    .arguments = "[VARIANT...]",
    .description = "A VARIANT is a specialist, a parameter's NAME=VALUE, both joined by a comma, an exp_id,\n"
                   "or several ids (003,007). The first variant is the baseline; without any, all specialists\n"
                   "(or all values of --by) are compared. A trial counts if it has a measured score (status\n"
                   "keep, discard or baseline) and a seed; the trials left out are counted. Scores are\n"
                   "subtracted seed by seed. Printed are the mean difference, Student's t interval, and both\n"
                   "corrected for the number of comparisons (Bonferroni's interval, and Holm's p, which\n"
                   "decides the verdict). With fewer than two common seeds the answer is n/a. Other\n"
                   "parameters in which the trials differ are listed.\n\n"
                   "--runs prints a line for each trial of the store, whatever its label: its runs, which are its\n"
                   "first row and those that run it again, their mean, the difference to the best trial with its\n"
                   "95 % interval, the odds that it is better, and `run_again` if more runs may decide\n"
                   "(`lineage help rules`).\n\n"
                   "--examples compares one run of each trial example by example: the mean difference with its\n"
                   "95 % interval, p, and the noise and the bar between examples and between seeds.",
    .examples = "  lineage compare grpo joint turn-group-v1d\n  lineage compare --by alpha --baseline 0.3 --param k_max=5\n"
                "  lineage compare optimizer=adam optimizer=sgd\n  lineage compare grpo,lr=0.0003 grpo,lr=0.0006 --json\n"
                "  lineage compare 000,004,008 001,005,009\n  lineage compare --runs\n  lineage compare --examples 003 014",
    CLI_ON_STORE(asked, table, 0, LINEAGE_COMPARE_MAX_VARIANTS, work, &chosen),
};
