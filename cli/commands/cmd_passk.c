/* cmd_passk.c: `lineage passk`: measures pass@k of a policy. */

#include <rlcore/passk.h>

#include "recipe/policy_source.h"

/* How often each evaluation question was asked and answered correctly. The counts are kept per question,
 * because pass@k is a mean over questions of a function that is not linear in their rates (arXiv:2107.03374, section 2.1). */

struct passk_counts {
    size_t n;              /* questions */
    int64_t *asked, *right; /* [n] */
};

/* How questions are asked. */
struct passk_sampling {
    size_t budget;  /* samples of each question; with `dynamic` the most */
    size_t enough;  /* with `dynamic`: number of correct answers after which a question is not asked again */
    size_t seed;    /* sample s has seed + s, so a call with 32 samples begins with the same 16 as one with 16 */
    bool dynamic;
};

/* The questions of a round, and the answers to them. */
struct round {
    int64_t *more;   /* [n] samples that a question still needs */
    size_t *which;   /* [n] the questions that are asked */
    uint8_t *answer; /* [n] whether each of these was answered correctly */
};

static int ask_all(struct passk_counts *counts, const struct policy_source *source, const struct passk_sampling *sampling)
{
    const struct trainer_recipe *recipe = &source->recipe;
    struct trainer_error err;
    if (trainer_evaluate(recipe, source->params, (int32_t)sampling->budget, sampling->seed, recipe->evaluation.temperature,
                         counts->right, &err) != TRAINER_OK)
        return policy_fail(&err);
    for (size_t i = 0; i < counts->n; i++)
        counts->asked[i] = (int64_t)sampling->budget;
    return CLI_GO_ON;
}

/* Asks every question that needs more answers once; *n is set to their number. */
static int ask_round(struct passk_counts *counts, struct round *round, const struct policy_source *source, uint64_t seed,
                     size_t *n)
{
    struct trainer_error err;
    *n = 0;
    for (size_t i = 0; i < counts->n; i++)
        if (round->more[i])
            round->which[(*n)++] = i;
    if (trainer_evaluate_some(&source->recipe, source->params, *n, round->which, seed, source->recipe.evaluation.temperature,
                              round->answer, &err) != TRAINER_OK)
        return policy_fail(&err);
    for (size_t k = 0; k < *n; k++) {
        counts->asked[round->which[k]]++;
        counts->right[round->which[k]] += round->answer[k];
    }
    return CLI_GO_ON;
}

/*
 * Samples each question until enough answers are correct or the budget is spent. Each round draws one sample per
 * question, because whether a question needs more depends on its last answer. Each round has its own seed; otherwise
 * every answer would repeat the first.
 */
static int ask_until_enough(struct passk_counts *counts, struct round *round, const struct policy_source *source,
                            const struct passk_sampling *sampling)
{
    const struct rl_passk_sampling limits = {(int64_t)sampling->enough, (int64_t)sampling->budget, 1};
    struct rl_error err;
    size_t n = 1;
    for (size_t i = 0; n > 0; i++) {
        if (rl_passk_more(&limits, counts->n, counts->asked, counts->right, round->more, &err) != RL_OK)
            return cli_error(CLI_USAGE, "%s", err.text);
        int status = ask_round(counts, round, source, sampling->seed + i, &n);
        if (status != CLI_GO_ON)
            return status;
    }
    return CLI_GO_ON;
}

/* Asks every evaluation question of an open source. Returns CLI_GO_ON, or an exit status after an error. Call
 * passk_counts_release in either case; a zeroed struct may be released, too. */
static int passk_counts_take(struct passk_counts *counts, const struct policy_source *source,
                             const struct passk_sampling *sampling)
{
    const struct trainer_recipe *recipe = &source->recipe;
    counts->n = (size_t)recipe->evaluation.questions * (size_t)recipe->n_tasks;
    counts->asked = calloc(counts->n, sizeof *counts->asked);
    counts->right = calloc(counts->n, sizeof *counts->right);
    struct round round = {calloc(counts->n, sizeof *round.more), calloc(counts->n, sizeof *round.which),
                          calloc(counts->n, sizeof *round.answer)};
    int status = CLI_GO_ON;
    if (!counts->asked || !counts->right || !round.more || !round.which || !round.answer)
        status = cli_no_memory();
    if (status == CLI_GO_ON)
        status = sampling->dynamic ? ask_until_enough(counts, &round, source, sampling) : ask_all(counts, source, sampling);
    free(round.more);
    free(round.which);
    free(round.answer);
    return status;
}

static void passk_counts_release(struct passk_counts *counts)
{
    free(counts->asked);
    free(counts->right);
    *counts = (struct passk_counts){0};
}

static int64_t passk_total(const int64_t *values, size_t n)
{
    int64_t sum = 0;
    for (size_t i = 0; i < n; i++)
        sum += values[i];
    return sum;
}

enum { K_MAX = 64 };

struct passk_options {
    struct policy_source source;
    char *samples, *k_text, *seed, *questions, *enough, *format_text;
    int dynamic;
    enum cli_format format;
    struct passk_sampling sampling;
    size_t n_questions; /* from the command line; 0: the recipe's */
    int64_t k[K_MAX];
    size_t n_k;
};

/* The exit status is CLI_USAGE, because the core refuses only values that the user gave: the counts or k. */
static int core_fail(const struct rl_error *err)
{
    return cli_error(CLI_USAGE, "%s", err->text);
}

/* The number of values of k that have an unbiased estimate, because there are at least k samples. The others need the
 * fit. */
static size_t k_within(const struct passk_options *o)
{
    size_t within = 0;
    while (within < o->n_k && o->k[within] <= (int64_t)o->sampling.budget)
        within++;
    return within;
}

/* ---- curves ---- */

struct curves {
    double unbiased[K_MAX], beta[K_MAX];
    struct rl_beta_fit fit;
    bool has_unbiased, has_fit;
    char why[256]; /* why the fit is missing */
};

/* A missing fit is not an error: if all questions are answered correctly, or all at the same rate, the likelihood has
 * no maximum. The unbiased estimate is valid anyway. */
static int fit_curves(struct curves *curves, const struct passk_options *o, const struct passk_counts *counts)
{
    struct rl_error err;
    size_t within = k_within(o);
    /* Stopping at a success makes n depend on the answers, but the unbiased estimate assumes a fixed n. */
    curves->has_unbiased = !o->dynamic;
    if (!o->dynamic && within &&
        rl_passk(RL_PASSK_UNBIASED, counts->n, counts->asked, counts->right, within, o->k, NULL, curves->unbiased, &err) != RL_OK)
        return core_fail(&err);
    curves->has_fit = rl_passk_beta_fit(counts->n, counts->asked, counts->right, &curves->fit, &err) == RL_OK;
    if (!curves->has_fit)
        snprintf(curves->why, sizeof curves->why, "%s", err.text);
    else if (rl_passk_beta(curves->fit.alpha, curves->fit.beta, o->n_k, o->k, curves->beta, &err) != RL_OK)
        return core_fail(&err);
    return CLI_GO_ON;
}

static bool is_measured(const struct passk_options *o, const struct curves *curves, size_t i)
{
    return curves->has_unbiased && o->k[i] <= (int64_t)o->sampling.budget;
}

static int print_list(const struct passk_options *o, const struct curves *curves)
{
    struct cli_list *list = cli_list_of(o->format, NULL, "k,unbiased,beta");
    for (size_t i = 0; i < o->n_k; i++)
        cli_list_row(list, CLI_COUNT((size_t)o->k[i]), CLI_NUMBER(curves->unbiased[i], is_measured(o, curves, i)),
                     CLI_NUMBER(curves->beta[i], curves->has_fit));
    return cli_list_finish(list);
}

static json_t *curve_json(const struct passk_options *o, const struct curves *curves)
{
    json_t *list = json_array();
    for (size_t i = 0; i < o->n_k; i++) {
        json_t *point = json_pack("{s:I}", "k", (json_int_t)o->k[i]);
        cli_json_set(point, "unbiased", is_measured(o, curves, i) ? cli_json_number(curves->unbiased[i]) : json_null(), "beta",
                     curves->has_fit ? cli_json_number(curves->beta[i]) : json_null(), NULL);
        json_array_append_new(list, point);
    }
    return list;
}

static void print_json(const struct passk_options *o, const struct passk_counts *counts, const struct curves *curves)
{
    json_t *root = json_pack("{s:I, s:I, s:I}", "questions", (json_int_t)counts->n, "samples",
                             (json_int_t)passk_total(counts->asked, counts->n), "correct",
                             (json_int_t)passk_total(counts->right, counts->n));
    json_t *fit = json_null();
    if (curves->has_fit)
        fit = json_pack("{s:f, s:f, s:f}", "alpha", curves->fit.alpha, "beta", curves->fit.beta, "log_likelihood",
                        curves->fit.log_likelihood);
    cli_json_set(root, "beta_fit", fit, "passk", curve_json(o, curves), NULL);
    cli_json_answer(root);
}

static int print_curves(const struct passk_options *o, const struct passk_counts *counts, const struct curves *curves)
{
    if (!curves->has_fit)
        fprintf(stderr, "lineage: no Beta-binomial curve: %s\n", curves->why);
    if (o->format == CLI_JSON)
        return print_json(o, counts, curves), CLI_OK;
    if (o->format == CLI_TABLE) {
        printf("%lld of %lld samples of %zu questions correct", (long long)passk_total(counts->right, counts->n),
               (long long)passk_total(counts->asked, counts->n), counts->n);
        if (curves->has_fit)
            printf("; pass rates are Beta(%.4g, %.4g)", curves->fit.alpha, curves->fit.beta);
        putchar('\n');
    }
    return print_list(o, curves);
}

/* ---- options ---- */

/* Ascending numbers separated by commas; the default is powers of two up to eight times the samples, which is as far as
 * a fitted curve is worth printing. They ascend so that the values covered by the samples come first. */
static bool parse_k(struct passk_options *o)
{
    const char *text = o->k_text ? o->k_text : "";
    for (int64_t k = 1; !o->k_text && k <= 8 * (int64_t)o->sampling.budget && o->n_k < K_MAX; k *= 2)
        o->k[o->n_k++] = k;
    while (*text) {
        char *end;
        long long k = strtoll(text, &end, 10);
        if (end == text || (*end && *end != ',') || k < 1 || o->n_k == K_MAX || (o->n_k && k <= o->k[o->n_k - 1]))
            return cli_refuse("--k '%s' is not a list of at most %d ascending numbers, at least 1", o->k_text, K_MAX);
        o->k[o->n_k++] = k;
        text = end + (*end == ',');
    }
    return true;
}

/* The default of 16 samples costs as much as 16 evaluations. With --dynamic it is 64, because that limit is rarely
 * reached. */
static int parse(struct passk_options *o)
{
    struct passk_sampling *sampling = &o->sampling;
    *sampling = (struct passk_sampling){.budget = o->dynamic ? 64 : 16, .enough = 2, .seed = 1, .dynamic = o->dynamic};
    if (!cli_format_parse(&o->format, o->format_text) ||
        (o->samples && !cli_count_parse(&sampling->budget, "samples", o->samples)) ||
        (o->enough && !cli_count_parse(&sampling->enough, "enough", o->enough)) ||
        (o->seed && !cli_count_parse(&sampling->seed, "seed", o->seed)) ||
        (o->questions && !cli_count_parse(&o->n_questions, "questions", o->questions)))
        return CLI_USAGE;
    if (o->enough && !o->dynamic)
        return cli_error(CLI_USAGE, "--enough needs --dynamic");
    if (sampling->budget < 1 || sampling->budget > 65536 || sampling->enough < 1 || o->n_questions > 1000000)
        return cli_error(CLI_USAGE, "passk: --samples must be 1 to 65536, --enough at least 1, --questions 1 to 1000000");
    return parse_k(o) ? CLI_GO_ON : CLI_USAGE;
}

/* The command's own options override the recipe after it was checked. */
static int work(void *context, const char *what)
{
    struct passk_options *o = context;
    struct passk_counts counts = {0};
    struct curves curves = {0};
    int status = parse(o);
    if (status == CLI_GO_ON)
        status = policy_source_open(&o->source, what);
    if (status == CLI_GO_ON && o->n_questions)
        o->source.recipe.evaluation.questions = (int32_t)o->n_questions;
    if (status == CLI_GO_ON)
        status = passk_counts_take(&counts, &o->source, &o->sampling);
    if (status == CLI_GO_ON)
        status = fit_curves(&curves, o, &counts);
    if (status == CLI_GO_ON)
        status = print_curves(o, &counts, &curves);
    passk_counts_release(&counts);
    return status;
}

static int run(const struct cli_command *command, int argc, const char **argv)
{
    struct passk_options o = {0};
    struct poptOption options[] = {
        {"samples", 'n', POPT_ARG_STRING, &o.samples, 0,
         "samples per question (default: 16); with --dynamic the most (default: 64)", "N"},
        CLI_OPTION("k", &o.k_text, "K,...", "values of k, ascending (default: powers of two up to 8 times the samples)"),
        CLI_FLAG("dynamic", &o.dynamic, "stop asking a question after --enough correct answers"),
        CLI_OPTION("enough", &o.enough, "N", "with --dynamic: number of correct answers (default: 2)"),
        CLI_OPTION("seed", &o.seed, "N", "first sampling seed (default: 1)"),
        CLI_OPTION("questions", &o.questions, "N", "number of questions, 1 to 1000000 (default: the recipe's)"),
        POLICY_OPTIONS(&o.source),
        CLI_FORMAT_OPTION(&o.format_text),
        CLI_INPUT_OPTION,
        POPT_TABLEEND};
    return policy_command_run(&o.source, command, options, argc, argv, work, &o);
}

const struct cli_command cmd_passk = {
    .name = "passk",
    .arguments = "RECIPE|CHECKPOINT|ID",
    .description = "Samples every evaluation question of the recipe and prints two estimates of pass@k for\n"
                   "each k: the unbiased one (for k up to the samples), and that of the Beta-binomial\n"
                   "distribution of pass rates with the greatest likelihood, which also reaches beyond the\n"
                   "samples. --dynamic samples a question until --enough answers are correct; the unbiased\n"
                   "estimate is not valid then and is left out. Nothing is recorded.",
    .examples = "  lineage passk policy.ckpt --samples 32 --k 1,4,16,64,256\n"
                "  lineage passk 004 -C runs/hop --dynamic --samples 128 --format json",
    .run = run,
};
