/* cmd_passk.c: `lineage passk`: measures pass@k of policies, and chooses among them. */

#include <rlcore/passk.h>

#include "recipe/passk_selection.h"
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

/* ---- `lineage passk`: measures pass@k of policies, and chooses among them ---- */

/* With 1000 resamples, a probability of being the best has a standard error of at most 0.016. */
enum { K_MAX = 64, POLICIES_MAX = 64, RESAMPLES = 1000 };

struct passk_options {
    struct policy_source source;
    char *samples, *k_text, *seed, *questions, *enough, *format_text, *estimate_text, *counts_file, *rates_file;
    int dynamic, select;
    enum cli_format format;
    enum passk_estimate estimate;
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
    static const char *const columns[] = {"k", "unbiased", "beta"};
    struct cli_list *list = cli_list_new(o->format, stdout, 3, columns);
    if (!list)
        return cli_no_memory();
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
    cli_json_print(stdout, root, true);
    json_decref(root);
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

static int parse_estimate(struct passk_options *o)
{
    const char *text = o->estimate_text ? o->estimate_text : "beta";
    bool is_bernoulli = strcmp(text, "bernoulli") == 0;
    if (!is_bernoulli && strcmp(text, "beta") != 0)
        return cli_error(CLI_USAGE, "--estimate must be beta or bernoulli, not '%s'", text);
    if (!o->select && o->estimate_text)
        return cli_error(CLI_USAGE, "--estimate needs --select");
    if (is_bernoulli && o->dynamic)
        return cli_error(CLI_USAGE, "--estimate bernoulli does not work with --dynamic: sampling until an answer is correct "
                                    "makes the share of correct answers too large");
    o->estimate = is_bernoulli ? PASSK_BERNOULLI : PASSK_BETA;
    return CLI_GO_ON;
}

/* With --counts nothing is sampled, so every option that says how to sample would be ignored. */
static int check_counts(const struct passk_options *o, size_t n_policies)
{
    const struct policy_source *source = &o->source;
    const struct {
        const char *name;
        bool given;
    } options[] = {{"a policy", n_policies > 0},      {"--samples", o->samples},     {"--dynamic", o->dynamic},
                   {"--enough", o->enough},           {"--questions", o->questions}, {"--checkpoint", source->checkpoint},
                   {"--recipe", source->recipe_file}, {"--set", source->sets},       {"--threads", source->threads},
                   {"--directory", source->store}};
    for (size_t i = 0; i < sizeof options / sizeof *options; i++)
        if (o->counts_file && options[i].given)
            return cli_error(CLI_USAGE, "passk: %s does not work with --counts, whose samples are already drawn",
                             options[i].name);
    if (!o->counts_file && n_policies == 0)
        return cli_error(CLI_USAGE, "passk: needs a RECIPE, CHECKPOINT or ID");
    return CLI_GO_ON;
}

/* The default of 16 samples costs as much as 16 evaluations. With --dynamic it is 64, because that limit is rarely
 * reached. */
static int parse(struct passk_options *o, size_t n_policies)
{
    struct passk_sampling *sampling = &o->sampling;
    int status = parse_estimate(o);
    if (status == CLI_GO_ON)
        status = check_counts(o, n_policies);
    if (status != CLI_GO_ON)
        return status;
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
    return o->counts_file || parse_k(o) ? CLI_GO_ON : CLI_USAGE;
}

/* Opens a policy, applies the command's own options to its recipe, and asks its questions. */
static int take_counts(struct passk_options *o, const char *what, struct passk_counts *counts)
{
    int status = policy_source_open(&o->source, what);
    if (status == CLI_GO_ON && o->n_questions)
        o->source.recipe.evaluation.questions = (int32_t)o->n_questions;
    return status == CLI_GO_ON ? passk_counts_take(counts, &o->source, &o->sampling) : status;
}

/* The file must not exist, because it is written after sampling, and a measurement that took an hour may be in it. */
static int write_rates(const struct passk_options *o, const struct passk_selection *selection)
{
    FILE *out = o->rates_file ? fopen(o->rates_file, "wxe") : NULL;
    if (!o->rates_file)
        return CLI_GO_ON;
    if (!out)
        return cli_error(CLI_USAGE, "--rates: cannot write %s: %s", o->rates_file, strerror(errno));
    int status = passk_rates_print(selection, out, o->format == CLI_JSON || o->format == CLI_CSV ? o->format : CLI_TSV);
    bool written = !ferror(out);
    written = fclose(out) == 0 && written;
    if (status == CLI_OK && !written)
        status = cli_error(CLI_USAGE, "--rates: cannot write %s: %s", o->rates_file, strerror(errno));
    return status == CLI_OK ? CLI_GO_ON : status;
}

/* Found before anything is sampled, which can take an hour. */
static int check_rates_file(const struct passk_options *o)
{
    if (o->rates_file && strcmp(o->rates_file, "-") == 0)
        return cli_error(CLI_USAGE, "--rates needs a file; standard output has the ranking");
    FILE *there = o->rates_file ? fopen(o->rates_file, "re") : NULL;
    if (!there)
        return CLI_GO_ON;
    fclose(there);
    return cli_error(CLI_USAGE, "--rates: %s exists already", o->rates_file);
}

/* ---- one policy ---- */

static int measure(struct passk_options *o, const char *what)
{
    struct passk_counts counts = {0};
    struct curves curves = {0};
    int status = take_counts(o, what, &counts);
    if (status == CLI_GO_ON)
        status = fit_curves(&curves, o, &counts);
    const struct passk_selection rates = {
        .n = 1, .n_questions = counts.n, .names = &what, .asked = counts.asked, .right = counts.right};
    if (status == CLI_GO_ON)
        status = write_rates(o, &rates);
    if (status == CLI_GO_ON)
        status = print_curves(o, &counts, &curves);
    passk_counts_release(&counts);
    return status;
}

/* ---- several policies ---- */

/* Whether two recipes ask the same questions. Policies can be compared only on the same questions. */
static bool asks_the_same(const struct trainer_recipe *a, const struct trainer_recipe *b)
{
    bool same = a->n_tasks == b->n_tasks && a->evaluation.questions == b->evaluation.questions &&
                a->evaluation.question_seed == b->evaluation.question_seed;
    for (int32_t i = 0; same && i < a->n_tasks; i++) {
        const struct trainer_env *x = &a->tasks[i].env, *y = &b->tasks[i].env;
        same = x->kind == y->kind && x->world.regions == y->world.regions && x->world.region_size == y->world.region_size &&
               x->world.relations == y->world.relations && x->k_min == y->k_min && x->k_max == y->k_max &&
               x->max_turns == y->max_turns && x->facts == y->facts && !(x->p_fail < y->p_fail) && !(x->p_fail > y->p_fail);
    }
    return same;
}

/* The counts of all policies. */
struct contest {
    const char *const *names;     /* [n] */
    const char *const *questions; /* [n_questions], or NULL */
    size_t n, n_questions;
    struct trainer_recipe first;
    int64_t *asked, *right; /* [n][n_questions] */
};

/* Measures one policy after another, so that only one is in memory. */
static int enter(struct passk_options *o, struct contest *contest, size_t place)
{
    struct passk_counts counts = {0};
    int status = take_counts(o, contest->names[place], &counts);
    if (status == CLI_GO_ON && place == 0) {
        contest->first = o->source.recipe;
        contest->n_questions = counts.n;
        contest->asked = calloc(contest->n * counts.n, sizeof *contest->asked);
        contest->right = calloc(contest->n * counts.n, sizeof *contest->right);
        if (!contest->asked || !contest->right)
            status = cli_no_memory();
    }
    if (status == CLI_GO_ON && !asks_the_same(&contest->first, &o->source.recipe))
        status = cli_error(CLI_USAGE,
                           "passk: %s and %s are asked different questions (environments, evaluation.questions, question_seed); "
                           "compare policies of the same evaluation",
                           contest->names[0], contest->names[place]);
    if (status == CLI_GO_ON) {
        memcpy(contest->asked + place * counts.n, counts.asked, counts.n * sizeof *counts.asked);
        memcpy(contest->right + place * counts.n, counts.right, counts.n * sizeof *counts.right);
    }
    passk_counts_release(&counts);
    policy_source_release(&o->source);
    return status;
}

static int print_selection(const struct passk_options *o, const struct passk_selection *selection)
{
    int status = write_rates(o, selection);
    if (status != CLI_GO_ON)
        return status;
    if (o->format == CLI_TABLE)
        printf("pass@k %s, on %zu questions; best: the share of %d resamples of the questions in which a policy is first\n",
               o->estimate == PASSK_BETA ? "by Beta-binomial fits" : "as 1 - (1 - c/n)^k", selection->n_questions, RESAMPLES);
    return passk_selection_print(selection, o->format);
}

static struct passk_selection selection_of(const struct passk_options *o, const struct contest *contest)
{
    return (struct passk_selection){.n = contest->n,
                                    .n_questions = contest->n_questions,
                                    .n_k = o->n_k,
                                    .names = contest->names,
                                    .questions = contest->questions,
                                    .asked = contest->asked,
                                    .right = contest->right,
                                    .k = o->k,
                                    .estimate = o->estimate,
                                    .resamples = RESAMPLES,
                                    .seed = o->sampling.seed};
}

static int compare(struct passk_options *o, const char *const *names, size_t n)
{
    struct contest contest = {.names = names, .n = n};
    if (o->source.checkpoint && n > 1)
        return cli_error(CLI_USAGE, "passk: --checkpoint works with one policy only");
    int status = CLI_GO_ON;
    for (size_t i = 0; i < n && status == CLI_GO_ON; i++)
        status = enter(o, &contest, i);
    const struct passk_selection selection = selection_of(o, &contest);
    if (status == CLI_GO_ON)
        status = print_selection(o, &selection);
    free(contest.asked);
    free(contest.right);
    return status;
}

/* The default values of k depend on the largest number of samples in the file. */
static int select_counted(struct passk_options *o)
{
    struct passk_table table;
    int status = passk_table_read(&table, o->counts_file);
    for (size_t i = 0; status == CLI_GO_ON && i < table.n * table.n_questions; i++)
        if ((size_t)table.asked[i] > o->sampling.budget || i == 0)
            o->sampling.budget = (size_t)table.asked[i];
    if (status == CLI_GO_ON && !parse_k(o))
        status = CLI_USAGE;
    if (status == CLI_GO_ON) {
        const struct contest contest = {.names = (const char *const *)table.names,
                                        .questions = table.questions,
                                        .n = table.n,
                                        .n_questions = table.n_questions,
                                        .asked = table.asked,
                                        .right = table.right};
        const struct passk_selection selection = selection_of(o, &contest);
        status = print_selection(o, &selection);
    }
    passk_table_release(&table);
    return status;
}

static int work(void *context, const char *const *what, size_t n)
{
    struct passk_options *o = context;
    o->select |= n > 1 || o->counts_file;
    int status = parse(o, n);
    if (status == CLI_GO_ON)
        status = check_rates_file(o);
    if (status != CLI_GO_ON)
        return status;
    if (o->counts_file)
        return select_counted(o);
    return o->select ? compare(o, what, n) : measure(o, what[0]);
}

static int run(const struct cli_command *command, int argc, const char **argv)
{
    struct passk_options o = {0};
    struct poptOption options[] = {
        {"samples", 'n', POPT_ARG_STRING, &o.samples, 0,
         "samples per question (default: 16); with --dynamic the most (default: 64)", "N"},
        {"k", 0, POPT_ARG_STRING, &o.k_text, 0, "values of k, ascending (default: powers of two up to 8 times the samples)",
         "K,..."},
        {"select", 0, POPT_ARG_NONE, &o.select, 0, "print one policy as several are: for every k, with its interval", NULL},
        {"estimate", 0, POPT_ARG_STRING, &o.estimate_text, 0, "of several policies: beta (default) or bernoulli", "NAME"},
        {"counts", 0, POPT_ARG_STRING, &o.counts_file, 0,
         "rank by samples drawn elsewhere, a CSV file with the columns policy, question, samples, correct", "FILE"},
        {"rates", 0, POPT_ARG_STRING, &o.rates_file, 0, "also write the pass rate of each question to a new file", "FILE"},
        {"dynamic", 0, POPT_ARG_NONE, &o.dynamic, 0, "stop asking a question after --enough correct answers", NULL},
        {"enough", 0, POPT_ARG_STRING, &o.enough, 0, "with --dynamic: number of correct answers (default: 2)", "N"},
        {"seed", 0, POPT_ARG_STRING, &o.seed, 0, "first sampling seed (default: 1)", "N"},
        {"questions", 0, POPT_ARG_STRING, &o.questions, 0, "number of questions, 1 to 1000000 (default: the recipe's)", "N"},
        POLICY_OPTIONS(&o.source),
        CLI_FORMAT_OPTION(&o.format_text),
        CLI_INPUT_OPTION,
        POPT_TABLEEND};
    return policies_command_run(&o.source, command, options, 0, POLICIES_MAX, argc, argv, work, &o);
}

const struct cli_command cmd_passk = {
    .name = "passk",
    .arguments = "RECIPE|CHECKPOINT|ID...",
    .description = "Samples every evaluation question of the recipe and prints two estimates of pass@k for\n"
                   "each k: the unbiased one (for k up to the samples), and that of the Beta-binomial\n"
                   "distribution of pass rates with the greatest likelihood, which also reaches beyond the\n"
                   "samples. --dynamic samples a question until --enough answers are correct; the unbiased\n"
                   "estimate is not valid then and is left out. Nothing is recorded.\n"
                   "Several policies are ranked for each k by Beta-binomial fits, or by 1 - (1 - c/n)^k with\n"
                   "--estimate bernoulli. Intervals, and the probability that a policy is the best, come from\n"
                   "1000 resamples of the questions. --counts ranks by counts of any other program.",
    .examples = "  lineage passk 004 007 011 -C runs/hop --samples 32 --k 1,8,32\n"
                "  lineage passk 004 007 -C runs/hop --dynamic --k 1,64,256\n"
                "  lineage passk --counts counts.csv --k 1,16,128\n"
                "  lineage passk policy.ckpt --samples 32 --k 1,4,16,64,256\n"
                "  lineage passk 004 -C runs/hop --dynamic --samples 128 --format json",
    .run = run,
};
