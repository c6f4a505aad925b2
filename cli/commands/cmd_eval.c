/* cmd_eval.c: `lineage eval`: measures how often a policy answers correctly. */

#include "recipe/policy_source.h"

/* These are the seeds of a trial's final evaluation, so that evaluating its checkpoint again gives exactly its
 * score. */
enum { FIRST_SEED = 11, GREEDY_SEED = 1 };

struct eval_options {
    struct policy_source source;
    char *seeds, *seed, *questions, *format_text;
    enum cli_format format;
    size_t n_seeds, first_seed;
};

/* Shares of correct answers: one row per sampling seed, the last row greedy; one column per environment. */
struct scores {
    size_t n_rows, n_tasks;
    double *share; /* [n_rows][n_tasks] */
    int64_t *correct;
};

/* Draws one sample per question and seed, so that the rows are independent and their spread is the spread of a
 * score. */
static int evaluate_row(const struct eval_options *o, struct scores *s, size_t row)
{
    const struct trainer_recipe *recipe = &o->source.recipe;
    size_t questions = (size_t)recipe->evaluation.questions;
    bool greedy = row + 1 == s->n_rows;
    struct trainer_error err;
    if (trainer_evaluate(recipe, o->source.params, 1, greedy ? GREEDY_SEED : o->first_seed + row,
                         greedy ? 0 : recipe->evaluation.temperature, s->correct, &err) != TRAINER_OK)
        return policy_fail(&err);
    for (size_t task = 0; task < s->n_tasks; task++) {
        double sum = 0;
        for (size_t q = 0; q < questions; q++)
            sum += (double)s->correct[task * questions + q];
        s->share[row * s->n_tasks + task] = sum / (double)questions;
    }
    return CLI_GO_ON;
}

/* Returns the mean over the environments from .. until - 1. */
static double row_mean(const struct scores *s, size_t row, size_t from, size_t until)
{
    double sum = 0;
    for (size_t task = from; task < until; task++)
        sum += s->share[row * s->n_tasks + task];
    return sum / (double)(until - from);
}

/* The spread is the sample standard deviation (n - 1), as in a trial's row. With one seed it is missing, not 0. */
static void add_row(struct cli_list *list, const struct eval_options *o, const struct scores *s, const char *name, size_t from,
                    size_t until)
{
    double mean = 0, squares = 0, n = (double)o->n_seeds;
    for (size_t row = 0; row < o->n_seeds; row++)
        mean += row_mean(s, row, from, until) / n;
    for (size_t row = 0; row < o->n_seeds; row++)
        squares += pow(row_mean(s, row, from, until) - mean, 2);
    cli_list_row(list, CLI_TEXT(name), CLI_COUNT((size_t)o->source.recipe.evaluation.questions), CLI_COUNT(o->n_seeds),
                 CLI_NUMBER(mean, true), CLI_NUMBER(n > 1 ? sqrt(squares / (n - 1)) : 0, n > 1),
                 CLI_NUMBER(row_mean(s, o->n_seeds, from, until), true));
}

/* "all" is the mean over the environments with equal weights, like the score of a trial with several environments. */
static int print_scores(const struct eval_options *o, const struct scores *s)
{
    struct cli_list *list = cli_list_of(o->format, NULL, "environment,questions,seeds,em,em_std,em_greedy");
    for (size_t task = 0; task < s->n_tasks; task++)
        add_row(list, o, s, trainer_env_name(o->source.recipe.tasks[task].env.kind), task, task + 1);
    if (s->n_tasks > 1)
        add_row(list, o, s, "all", 0, s->n_tasks);
    return cli_list_finish(list);
}

static int evaluate(struct eval_options *o)
{
    const struct trainer_recipe *recipe = &o->source.recipe;
    struct scores s = {.n_rows = o->n_seeds + 1, .n_tasks = (size_t)recipe->n_tasks};
    s.share = calloc(s.n_rows * s.n_tasks, sizeof *s.share);
    s.correct = calloc((size_t)recipe->evaluation.questions * s.n_tasks, sizeof *s.correct);
    int status = s.share && s.correct ? CLI_GO_ON : cli_no_memory();
    for (size_t row = 0; row < s.n_rows && status == CLI_GO_ON; row++)
        status = evaluate_row(o, &s, row);
    if (status == CLI_GO_ON)
        status = print_scores(o, &s);
    free(s.share);
    free(s.correct);
    return status;
}

/* The options of this command override the recipe after the recipe was checked, so their ranges are checked here. */
static int work(void *context, const char *what)
{
    struct eval_options *o = context;
    size_t questions = 0;
    o->first_seed = FIRST_SEED;
    if (!cli_format_parse(&o->format, o->format_text) || (o->seeds && !cli_count_parse(&o->n_seeds, "seeds", o->seeds)) ||
        (o->seed && !cli_count_parse(&o->first_seed, "seed", o->seed)) ||
        (o->questions && !cli_count_parse(&questions, "questions", o->questions)))
        return CLI_USAGE;
    if ((o->seeds && o->n_seeds < 1) || o->n_seeds > 4096 || questions > 1000000)
        return cli_error(CLI_USAGE, "eval: --seeds must be 1 to 4096, --questions 1 to 1000000");
    CLI_TRY(policy_source_open(&o->source, what));
    if (questions)
        o->source.recipe.evaluation.questions = (int32_t)questions;
    if (!o->seeds)
        o->n_seeds = (size_t)o->source.recipe.evaluation.seeds;
    return evaluate(o);
}

static int run(const struct cli_command *command, int argc, const char **argv)
{
    struct eval_options o = {0};
    struct poptOption options[] = {
        CLI_OPTION("seeds", &o.seeds, "N", "number of sampling seeds, 1 to 4096 (default: the recipe's)"),
        CLI_OPTION("seed", &o.seed, "N", "first sampling seed (default: 11, as in a trial)"),
        CLI_OPTION("questions", &o.questions, "N", "number of questions, 1 to 1000000 (default: the recipe's)"),
        POLICY_OPTIONS(&o.source),
        CLI_FORMAT_OPTION(&o.format_text),
        CLI_INPUT_OPTION,
        POPT_TABLEEND};
    return policy_command_run(&o.source, command, options, argc, argv, work, &o);
}

const struct cli_command cmd_eval = {
    .name = "eval",
    .arguments = "RECIPE|CHECKPOINT|ID",
    .description = "Answers the recipe's evaluation questions once per sampling seed and once greedily. EM\n"
                   "(exact match) is the share of correct answers, em_std its sample standard deviation\n"
                   "between seeds. With the defaults, a trial's checkpoint gets exactly the trial's score.\n"
                   "Nothing is recorded. A recipe without a checkpoint trains its warm start first. A\n"
                   "checkpoint uses the recipe.json beside it. An ID is a kept trial of the store.",
    .examples = "  lineage eval recipe.json --checkpoint policy.ckpt --seeds 8\n  lineage eval 004 -C runs/hop --format json",
    .run = run,
};
