/* cmd_rollout.c: `lineage rollout`: prints what a policy writes and what the tool answers. */

#include "recipe/policy_source.h"
#include "recipe/rollout_print.h"

struct rollout_options {
    struct policy_source source;
    char *n, *seed, *format_text;
    int whole_group;
    bool lines; /* one trajectory per line */
    enum cli_format format;
};

static void print_line(const struct trainer_recipe *recipe, const struct trainer_rollout *r, size_t i)
{
    json_t *trajectory = rollout_trajectory(recipe, r);
    json_object_set_new(trajectory, "id", json_integer((json_int_t)i));
    cli_json_print(stdout, trajectory, false);
    json_decref(trajectory);
}

/* Prints the first rollout of each question or all rollouts; those of one question are adjacent. The task is compared
 * too, because groups of two environments may have the same number. */
static int print_all(const struct rollout_options *o, const struct trainer_rollouts *rollouts)
{
    json_t *list = json_array();
    int status = CLI_OK;
    for (size_t i = 0; i < trainer_rollouts_count(rollouts) && status == CLI_OK; i++) {
        struct trainer_rollout r = trainer_rollouts_get(rollouts, i);
        bool first = i == 0 || trainer_rollouts_get(rollouts, i - 1).group != r.group ||
                     trainer_rollouts_get(rollouts, i - 1).task != r.task;
        if (!first && !o->whole_group)
            continue;
        if (o->lines)
            print_line(&o->source.recipe, &r, i);
        else if (o->format == CLI_JSON)
            json_array_append_new(list, rollout_json(&o->source.recipe, &r));
        else
            status = rollout_print(&o->source.recipe, &r);
    }
    if (o->format == CLI_JSON)
        cli_json_answer(list);
    return status;
}

static int sample(const struct rollout_options *o, size_t n, size_t seed)
{
    struct trainer_rollouts *rollouts;
    struct trainer_error err;
    if (trainer_sample(&rollouts, &o->source.recipe, o->source.params, (int32_t)n, seed, &err) != TRAINER_OK)
        return policy_fail(&err);
    int status = print_all(o, rollouts);
    trainer_rollouts_free(rollouts);
    return status;
}

/* Checks the options before it loads the policy, which may train a warm start for minutes. By default it shows three
 * questions, which fit on a screen. */
static int work(void *context, const char *what)
{
    struct rollout_options *o = context;
    size_t n = 3, seed = 1;
    o->lines = o->format_text && strcmp(o->format_text, "jsonl") == 0;
    if ((!o->lines && !cli_format_parse(&o->format, o->format_text)) || (o->n && !cli_count_parse(&n, "n", o->n)) ||
        (o->seed && !cli_count_parse(&seed, "seed", o->seed)))
        return CLI_USAGE;
    if (cli_format_is_rows(o->format))
        return cli_error(CLI_USAGE, "rollout: --format must be table, json or jsonl");
    if (n < 1 || n > 65536)
        return cli_error(CLI_USAGE, "--n '%s' is not a number from 1 to 65536", o->n);
    int status = policy_source_open(&o->source, what);
    return status == CLI_GO_ON ? sample(o, n, seed) : status;
}

static int run(const struct cli_command *command, int argc, const char **argv)
{
    struct rollout_options o = {0};
    struct poptOption options[] = {
        {"n", 'n', POPT_ARG_STRING, &o.n, 0, "number of questions per environment, 1 to 65536 (default: 3)", "N"},
        CLI_FLAG("group", &o.whole_group, "print all rollouts of a question, not only the first"),
        CLI_OPTION("seed", &o.seed, "N", "seed of questions and sampling (default: 1)"),
        POLICY_OPTIONS(&o.source),
        CLI_OPTION("format", &o.format_text, "table|json|jsonl", "how to print the result (default: table)"),
        CLI_INPUT_OPTION,
        POPT_TABLEEND};
    return policy_command_run(&o.source, command, options, argc, argv, work, &o);
}

const struct cli_command cmd_rollout = {
    .name = "rollout",
    .arguments = "RECIPE|CHECKPOINT|ID",
    .description = "Samples rollouts in the same way as an iteration of training. For every turn it prints the\n"
                   "search or the answer, the tool's response, the log-prob of the policy's tokens, the\n"
                   "information gain, and the advantage and clip scale that the recipe's algorithm assigns\n"
                   "within the group of a question's rollouts (only the first one of a group is printed).\n"
                   "A recipe without a checkpoint trains its warm start first. A checkpoint uses the\n"
                   "recipe.json beside it. An ID is a kept trial of the store. jsonl prints one trajectory\n"
                   "per line, in the form that `lineage judge` reads (schema/trajectory.schema.json).",
    .examples = "  lineage rollout recipe.json --n 3\n  lineage rollout 004 -C runs/hop --n 1 --group",
    .run = run,
};
