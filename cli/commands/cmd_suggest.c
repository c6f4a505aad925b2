/* cmd_suggest.c: `lineage suggest`: prints the setting that a proposer would try next. */

#include <lineage/text.h>

#include "propose/propose_answer.h"

struct suggest_options {
    struct cli_session session;
    char **ranges;
    char *method, *seed, *n;
    struct propose_question question;
};

/* Uses the reader of a sweep's "ranges", so that both have one grammar. */
static bool read_ranges(struct suggest_options *o)
{
    char name[LINEAGE_NAME_MAX], why[PROPOSE_WHY_MAX];
    const char *text;
    for (char **range = o->ranges; range && *range; range++) {
        if (!strchr(*range, '='))
            return cli_refuse("--range '%s' is not NAME=LOW:HIGH, such as lr=1e-5:1e-2:log", *range);
        if (!cli_assignment_parse(name, &text, "range", *range))
            return false;
        if (!propose_space_add(&o->question.space, name, text, why))
            return cli_refuse("--range %s", why);
    }
    if (propose_space_link(&o->question.space, why))
        return true;
    return cli_refuse("--range %s", why);
}

static bool read_sweep(struct suggest_options *o, const char *path)
{
    struct propose_plan plan;
    char why[PROPOSE_WHY_MAX];
    json_t *sweep = cli_json_load(path);
    if (!sweep)
        return false;
    bool good = propose_plan_read(&plan, json_object_get(sweep, "propose"), why) &&
                propose_space_read(&o->question.space, json_object_get(sweep, "ranges"), why);
    if (!good)
        cli_error(CLI_USAGE, "%s: %s", path, why);
    o->question.method = plan.method;
    o->question.seed = plan.seed;
    json_decref(sweep);
    return good;
}

static bool read_numbers(struct suggest_options *o)
{
    size_t seed = (size_t)o->question.seed;
    o->question.n = 1;
    if ((o->seed && !cli_count_parse(&seed, "seed", o->seed)) || (o->n && !cli_count_parse(&o->question.n, "n", o->n)))
        return false;
    o->question.seed = seed;
    if (o->question.n >= 1 && o->question.n <= PROPOSE_AT_ONCE_MAX)
        return true;
    return cli_refuse("--n must be 1 to %d", PROPOSE_AT_ONCE_MAX);
}

/* Reads the sweep first; options of the command line override it. */
static int read_question(struct cli_session *session, void *context)
{
    struct suggest_options *o = context;
    const char *sweep = session->args.n_positional ? session->args.positional[0] : NULL;
    o->question.method = PROPOSE_AUTO;
    if ((sweep && !read_sweep(o, sweep)) || !read_ranges(o) || !read_numbers(o))
        return CLI_USAGE;
    if (o->method && !propose_method_parse(&o->question.method, o->method))
        return cli_error(CLI_USAGE, "--propose '%s': use " PROPOSE_METHOD_NAMES, o->method);
    if (o->question.space.n == 0)
        return cli_error(CLI_USAGE, "suggest: give at least one range, e.g. --range lr=1e-5:1e-2:log");
    return CLI_GO_ON;
}

static int print_list(const json_t *suggestions, const struct propose_space *space, enum cli_format format)
{
    const char *columns[PROPOSE_RANGES_MAX];
    size_t i;
    json_t *setting;
    for (i = 0; i < space->n; i++)
        columns[i] = space->ranges[i].name;
    char number[LINEAGE_NUMBER_MAX];
    struct cli_list *list = cli_list_new(format, space->n, columns);
    json_array_foreach(suggestions, i, setting) {
        for (size_t r = 0; r < space->n; r++) {
            const json_t *value = json_object_get(setting, columns[r]);
            if (!value)
                cli_list_text(list, "");
            else if (json_is_string(value))
                cli_list_text(list, json_string_value(value));
            else
                cli_list_digits(list, lineage_setting_format(number, json_number_value(value)));
        }
        cli_list_end_row(list);
    }
    return cli_list_finish(list);
}

/* Prints to standard error what the suggestion is based on; scripts read only the list on standard output. The number
 * of trials outside the ranges shows if the ranges miss most of what was tried. */
static void print_basis(const json_t *answer)
{
    json_t *trials = json_object_get(answer, "trials");
    fprintf(stderr,
            "lineage: %s, after %" JSON_INTEGER_FORMAT " measured and %" JSON_INTEGER_FORMAT
            " failed trials in these ranges, %" JSON_INTEGER_FORMAT " running; %" JSON_INTEGER_FORMAT " outside of them",
            cli_json_string(answer, "method"), json_integer_value(json_object_get(trials, "measured")),
            json_integer_value(json_object_get(trials, "failed")), json_integer_value(json_object_get(trials, "running")),
            json_integer_value(json_object_get(trials, "elsewhere")));
    const json_int_t unread = json_integer_value(json_object_get(trials, "unread"));
    if (unread)
        fprintf(stderr, "; %" JSON_INTEGER_FORMAT " more were not read", unread);
    fputc('\n', stderr);
    const char *name;
    json_t *sources;
    json_object_foreach(json_object_get(answer, "source"), name, sources) {
        json_int_t n = 0;
        const char *source;
        json_t *count;
        json_object_foreach(sources, source, count)
            n += json_integer_value(count);
        fprintf(stderr, "lineage: %" JSON_INTEGER_FORMAT " trial%s changed %s in words or in their programs\n", n,
                n == 1 ? "" : "s", name);
    }
}

static int work(struct cli_session *session, void *context)
{
    struct suggest_options *o = context;
    struct lineage_error err;
    json_t *answer;
    int status = CLI_OK;
    if (propose_answer_make(&answer, &o->question, session->store, &err) != LINEAGE_OK)
        return cli_fail(&err);
    const json_t *suggestions = json_object_get(answer, "suggestions");
    if (session->format == CLI_JSON) {
        cli_json_print(stdout, answer, true);
    } else if (json_array_size(suggestions)) {
        status = print_list(suggestions, &o->question.space, session->format);
        print_basis(answer);
    }
    if (json_array_size(suggestions) == 0)
        status = cli_error(CLI_NO,
                           "every setting that %s can propose in these ranges was tried; widen the ranges or use another method",
                           propose_method_name(o->question.method));
    json_decref(answer);
    return status;
}

static struct suggest_options chosen = {.session.before_open = read_question};
static struct poptOption table[] = {
    CLI_SESSION_OPTIONS(&chosen.session),
    CLI_REPEATED("range", &chosen.ranges, "NAME=RANGE", "a parameter and its range or values; may be repeated"),
    CLI_OPTION("propose", &chosen.method, "auto|gp|tpe|sobol|random|grid", "method (default: the sweep's, else auto)"),
    {"n", 'n', POPT_ARG_STRING, &chosen.n, 0, "print N settings; each one counts as running for the next (default: 1)", "N"},
    CLI_OPTION("seed", &chosen.seed, "N", "seed of random choices (default: the sweep's, else 0)"),
    CLI_INPUT_OPTION,
    POPT_TABLEEND};

const struct cli_command cmd_suggest = {
    .name = "suggest",
    .arguments = "[SWEEP]",
    .description = "Prints the setting to try next, as `lineage night --propose` would choose it, from the\n"
                   "trials of the store that have all parameters of the ranges. Of a parameter that no trial\n"
                   "declares, the values that trials state in words count. A RANGE is LOW:HIGH,\n"
                   "LOW:HIGH:SCALE or LOW:HIGH:SCALE:STEPS (SCALE is linear, log, integer or log-integer;\n"
                   "STEPS is the number of points of a grid), or a list of values (8,16,32; adam,sgd). A range\n"
                   "that ends with ` if NAME=VALUES` has a value only where the range NAME has one of these.\n"
                   "SWEEP is a file whose `ranges` and `propose` are used (schema/sweep.schema.json).\n\n"
                   "From more than 1000 trials, the newest 950 that declare the ranges and the 50 best are\n"
                   "read, so the answer takes the same time for any size of the store.\n\n"
                   "auto learns with a Gaussian process from up to 150 measured trials, and with tpe from more.\n"
                   "gp and tpe (the tree-structured Parzen estimator over all ranges together) choose one of\n"
                   "the two. They keep away from settings near failures and near trials that still run. Trials\n"
                   "with other settings outside of the ranges weigh less. A setting that was tried is never\n"
                   "printed. The same store and seed give the same answer on every machine. Exit status 1 if\n"
                   "nothing is left to try.",
    .examples = "  lineage suggest --range lr=1e-5:1e-2:log --range optimizer=adam,sgd \\\n"
                "      --range 'momentum=0:0.99 if optimizer=sgd'\n"
                "  lineage suggest sweep.json --propose sobol -n 8 --format json",
    CLI_ON_STORE(chosen.session, table, 0, 1, work, &chosen),
};
