/* cmd_passk.c: `lineage passk`: measures pass@k of policies. */
#include <stdlib.h>
#include <string.h>

#include <rlcore/passk.h>

#include "cli.h"
#include "recipe/passk_ranking.h"
#include "recipe/policy_source.h"

enum { K_MAX = 64, POLICIES_MAX = 64 };

struct passk_options {
    struct policy_source source;
    char *samples, *k_text, *seed, *questions, *enough, *format_text;
    int dynamic;
    enum cli_format format;
    size_t budget, first_seed, n_enough;
    int64_t k[K_MAX];
    size_t n_k;
};

/* How often each question was asked and answered correctly. The counts are kept per question, because pass@k is a mean
 * over questions of a function that is not linear in their rates (arXiv:2107.03374, section 2.1). */
struct counts {
    size_t n;
    int64_t *asked, *right, *more;
    size_t *which;  /* [n]; the questions of a round */
    uint8_t *round; /* [n]; whether each was answered correctly in that round */
};

/* The exit status is CLI_USAGE, because the core refuses only values that the user gave: the counts or k. */
static int core_fail(const struct rl_error *err)
{
    return cli_error(CLI_USAGE, "%s", err->text);
}

/* ---- sampling ---- */

static int allocate(struct counts *counts, const struct trainer_recipe *recipe)
{
    counts->n = (size_t)recipe->evaluation.questions * (size_t)recipe->n_tasks;
    counts->asked = calloc(counts->n, sizeof *counts->asked);
    counts->right = calloc(counts->n, sizeof *counts->right);
    counts->more = calloc(counts->n, sizeof *counts->more);
    counts->which = calloc(counts->n, sizeof *counts->which);
    counts->round = calloc(counts->n, sizeof *counts->round);
    bool all = counts->asked && counts->right && counts->more && counts->which && counts->round;
    return all ? CLI_GO_ON : cli_no_memory();
}

static void counts_release(struct counts *counts)
{
    free(counts->asked);
    free(counts->right);
    free(counts->more);
    free(counts->which);
    free(counts->round);
}

/* Sample s has seed first + s, so a call with 32 samples begins with the same 16 as an earlier call with 16. */
static int ask_all(const struct passk_options *o, struct counts *counts)
{
    const struct trainer_recipe *recipe = &o->source.recipe;
    struct trainer_error err;
    if (trainer_evaluate(recipe, o->source.params, (int32_t)o->budget, o->first_seed,
                         recipe->evaluation.temperature, counts->right, &err) != TRAINER_OK)
        return policy_fail(&err);
    for (size_t i = 0; i < counts->n; i++)
        counts->asked[i] = (int64_t)o->budget;
    return CLI_GO_ON;
}

/* Asks every question that needs more answers once; *n is set to their number. */
static int ask_round(const struct passk_options *o, struct counts *counts, uint64_t seed, size_t *n)
{
    const struct trainer_recipe *recipe = &o->source.recipe;
    struct trainer_error err;
    *n = 0;
    for (size_t i = 0; i < counts->n; i++)
        if (counts->more[i])
            counts->which[(*n)++] = i;
    if (trainer_evaluate_some(recipe, o->source.params, *n, counts->which, seed,
                              recipe->evaluation.temperature, counts->round, &err) != TRAINER_OK)
        return policy_fail(&err);
    for (size_t k = 0; k < *n; k++) {
        counts->asked[counts->which[k]]++;
        counts->right[counts->which[k]] += counts->round[k];
    }
    return CLI_GO_ON;
}

/* Samples each question until enough answers are correct or the budget is spent. Each round draws one sample per
 * question, because whether a question needs more depends on its last answer. Each round has its own seed; otherwise
 * every answer would repeat the first. */
static int ask_until_enough(const struct passk_options *o, struct counts *counts)
{
    struct rl_passk_sampling sampling = {(int64_t)o->n_enough, (int64_t)o->budget, 1};
    struct rl_error err;
    size_t n = 1;
    for (size_t round = 0; n > 0; round++) {
        if (rl_passk_more(&sampling, counts->n, counts->asked, counts->right, counts->more, &err) !=
            RL_OK)
            return core_fail(&err);
        int status = ask_round(o, counts, o->first_seed + round, &n);
        if (status != CLI_GO_ON)
            return status;
    }
    return CLI_GO_ON;
}

/* The number of values of k that have an unbiased estimate, because there are at least k samples. The others need the
 * fit. */
static size_t k_within(const struct passk_options *o)
{
    size_t within = 0;
    while (within < o->n_k && o->k[within] <= (int64_t)o->budget)
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
static int fit_curves(struct curves *curves, const struct passk_options *o,
                      const struct counts *counts)
{
    struct rl_error err;
    size_t within = k_within(o);
    /* Stopping at a success makes n depend on the answers, but the unbiased estimate assumes a fixed n. */
    curves->has_unbiased = !o->dynamic;
    if (!o->dynamic && within &&
        rl_passk(RL_PASSK_UNBIASED, counts->n, counts->asked, counts->right, within, o->k, NULL,
                 curves->unbiased, &err) != RL_OK)
        return core_fail(&err);
    curves->has_fit =
        rl_passk_beta_fit(counts->n, counts->asked, counts->right, &curves->fit, &err) == RL_OK;
    if (!curves->has_fit)
        snprintf(curves->why, sizeof curves->why, "%s", err.text);
    else if (rl_passk_beta(curves->fit.alpha, curves->fit.beta, o->n_k, o->k, curves->beta, &err) !=
             RL_OK)
        return core_fail(&err);
    return CLI_GO_ON;
}

static bool is_measured(const struct passk_options *o, const struct curves *curves, size_t i)
{
    return curves->has_unbiased && o->k[i] <= (int64_t)o->budget;
}

static int print_list(const struct passk_options *o, const struct curves *curves)
{
    static const char *const columns[] = {"k", "unbiased", "beta"};
    struct cli_list *list = cli_list_new(o->format, stdout, 3, columns);
    if (!list)
        return cli_no_memory();
    for (size_t i = 0; i < o->n_k; i++) {
        cli_list_count(list, (size_t)o->k[i]);
        cli_list_number(list, curves->unbiased[i], is_measured(o, curves, i));
        cli_list_number(list, curves->beta[i], curves->has_fit);
        cli_list_end_row(list);
    }
    return cli_list_finish(list);
}

static json_t *curve_json(const struct passk_options *o, const struct curves *curves)
{
    json_t *list = json_array();
    for (size_t i = 0; i < o->n_k; i++) {
        json_t *point = json_pack("{s:I}", "k", (json_int_t)o->k[i]);
        json_object_set_new(point, "unbiased",
                            is_measured(o, curves, i) ? cli_json_number(curves->unbiased[i])
                                                      : json_null());
        json_object_set_new(point, "beta",
                            curves->has_fit ? cli_json_number(curves->beta[i]) : json_null());
        json_array_append_new(list, point);
    }
    return list;
}

static int64_t total(const int64_t *values, size_t n)
{
    int64_t sum = 0;
    for (size_t i = 0; i < n; i++)
        sum += values[i];
    return sum;
}

static void print_json(const struct passk_options *o, const struct counts *counts,
                       const struct curves *curves)
{
    json_t *root = json_pack("{s:I, s:I, s:I}", "questions", (json_int_t)counts->n, "samples",
                             (json_int_t)total(counts->asked, counts->n), "correct",
                             (json_int_t)total(counts->right, counts->n));
    json_t *fit = json_null();
    if (curves->has_fit)
        fit = json_pack("{s:f, s:f, s:f}", "alpha", curves->fit.alpha, "beta", curves->fit.beta,
                        "log_likelihood", curves->fit.log_likelihood);
    json_object_set_new(root, "beta_fit", fit);
    json_object_set_new(root, "passk", curve_json(o, curves));
    cli_json_print(stdout, root, true);
    json_decref(root);
}

static int print_curves(const struct passk_options *o, const struct counts *counts,
                        const struct curves *curves)
{
    if (!curves->has_fit)
        fprintf(stderr, "lineage: no Beta-binomial curve: %s\n", curves->why);
    if (o->format == CLI_JSON)
        return print_json(o, counts, curves), CLI_OK;
    if (o->format == CLI_TABLE) {
        printf("%lld of %lld samples of %zu questions correct",
               (long long)total(counts->right, counts->n),
               (long long)total(counts->asked, counts->n), counts->n);
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
    for (int64_t k = 1; !o->k_text && k <= 8 * (int64_t)o->budget && o->n_k < K_MAX; k *= 2)
        o->k[o->n_k++] = k;
    while (*text) {
        char *end;
        long long k = strtoll(text, &end, 10);
        if (end == text || (*end && *end != ',') || k < 1 || o->n_k == K_MAX ||
            (o->n_k && k <= o->k[o->n_k - 1])) {
            cli_error(CLI_USAGE, "--k '%s' is not a list of at most %d ascending numbers, at least 1",
                      o->k_text, K_MAX);
            return false;
        }
        o->k[o->n_k++] = k;
        text = end + (*end == ',');
    }
    return true;
}

/* The default of 16 samples costs as much as 16 evaluations. With --dynamic it is 64, because that limit is rarely
 * reached. */
static int parse(struct passk_options *o, size_t *questions)
{
    o->budget = o->dynamic ? 64 : 16;
    o->n_enough = 2;
    o->first_seed = 1;
    if (!cli_format_parse(&o->format, o->format_text) ||
        (o->samples && !cli_count_parse(&o->budget, "samples", o->samples)) ||
        (o->enough && !cli_count_parse(&o->n_enough, "enough", o->enough)) ||
        (o->seed && !cli_count_parse(&o->first_seed, "seed", o->seed)) ||
        (o->questions && !cli_count_parse(questions, "questions", o->questions)))
        return CLI_USAGE;
    if (o->budget < 1 || o->budget > 65536 || o->n_enough < 1 || *questions > 1000000)
        return cli_error(CLI_USAGE, "passk: --samples must be 1 to 65536, --enough at least 1, --questions 1 "
                                    "to 1000000");
    return parse_k(o) ? CLI_GO_ON : CLI_USAGE;
}

static int measure(const struct passk_options *o)
{
    struct counts counts = {0};
    struct curves curves = {0};
    int status = allocate(&counts, &o->source.recipe);
    if (status != CLI_GO_ON)
        goto done;
    status = o->dynamic ? ask_until_enough(o, &counts) : ask_all(o, &counts);
    if (status != CLI_GO_ON)
        goto done;
    if ((status = fit_curves(&curves, o, &counts)) == CLI_GO_ON)
        status = print_curves(o, &counts, &curves);
done:
    counts_release(&counts);
    return status;
}

/* Opens the policy to measure and applies the command's own options to its recipe. */
static int open_policy(struct passk_options *o, const char *what, size_t questions)
{
    int status = policy_source_open(&o->source, what);
    if (questions)
        o->source.recipe.evaluation.questions = (int32_t)questions;
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
        same = x->kind == y->kind && x->world.regions == y->world.regions &&
               x->world.region_size == y->world.region_size && x->world.relations == y->world.relations &&
               x->k_min == y->k_min && x->k_max == y->k_max && x->max_turns == y->max_turns &&
               x->facts == y->facts && !(x->p_fail < y->p_fail) && !(x->p_fail > y->p_fail);
    }
    return same;
}

struct contest {
    size_t questions; /* from the command line; 0: the recipe's */
    struct trainer_recipe first;
    struct passk_ranking ranking;
    double *per_question;
};

static int take_counts(const struct passk_options *o, struct contest *contest, size_t place, const struct counts *counts)
{
    struct passk_ranking *r = &contest->ranking;
    struct rl_error err;
    if (place == 0) {
        contest->first = o->source.recipe;
        r->n_questions = counts->n;
        r->per_question = contest->per_question = calloc(r->n * r->n_questions * r->n_k, sizeof *contest->per_question);
    }
    if (!contest->per_question)
        return cli_no_memory();
    if (!asks_the_same(&contest->first, &o->source.recipe))
        return cli_error(CLI_USAGE, "passk: %s and %s are asked different questions (environments, "
                                    "evaluation.questions, question_seed); compare policies of the same "
                                    "evaluation",
                         r->names[0], r->names[place]);
    double *to = contest->per_question + place * r->n_questions * r->n_k;
    return rl_passk(RL_PASSK_UNBIASED, counts->n, counts->asked, counts->right, r->n_k, r->k, to, NULL, &err) == RL_OK
               ? CLI_GO_ON
               : core_fail(&err);
}

/* Measures one policy after another, so that only one is in memory. */
static int enter(struct passk_options *o, struct contest *contest, size_t place)
{
    struct counts counts = {0};
    int status = open_policy(o, contest->ranking.names[place], contest->questions);
    if (status != CLI_GO_ON || (status = allocate(&counts, &o->source.recipe)) != CLI_GO_ON)
        goto done;
    if ((status = ask_all(o, &counts)) == CLI_GO_ON)
        status = take_counts(o, contest, place, &counts);
done:
    counts_release(&counts);
    policy_source_release(&o->source);
    return status;
}

static int rank(struct passk_options *o, size_t questions, const char *const *what, size_t n)
{
    struct contest contest = {.questions = questions,
                              .ranking = {.n = n, .n_k = k_within(o), .names = what, .k = o->k}};
    if (o->dynamic || o->source.checkpoint)
        return cli_error(CLI_USAGE, "passk: %s works with one policy only", o->dynamic ? "--dynamic" : "--checkpoint");
    if (o->k_text && contest.ranking.n_k < o->n_k)
        return cli_error(CLI_USAGE, "passk: --k %lld is above --samples %zu: several policies are ranked by unbiased "
                                    "estimates, which need at least k samples; raise --samples",
                         (long long)o->k[contest.ranking.n_k], o->budget);
    if (contest.ranking.n_k == 0)
        return cli_error(CLI_USAGE, "passk: several policies are ranked by values of k up to --samples, but "
                                    "--k has none of those");
    int status = CLI_GO_ON;
    for (size_t i = 0; i < n && status == CLI_GO_ON; i++)
        status = enter(o, &contest, i);
    if (status == CLI_GO_ON)
        status = passk_ranking_print(&contest.ranking, o->format);
    free(contest.per_question);
    return status;
}

static int work(void *context, const char *const *what, size_t n)
{
    struct passk_options *o = context;
    size_t questions = 0;
    int status = parse(o, &questions);
    if (status != CLI_GO_ON)
        return status;
    if (n > 1)
        return rank(o, questions, what, n);
    status = open_policy(o, what[0], questions);
    return status == CLI_GO_ON ? measure(o) : status;
}

static int run(const struct cli_command *command, int argc, const char **argv)
{
    struct passk_options o = {0};
    struct poptOption options[] = {
        {"samples", 'n', POPT_ARG_STRING, &o.samples, 0,
         "samples per question (default: 16); with --dynamic the most (default: 64)", "N"},
        {"k", 0, POPT_ARG_STRING, &o.k_text, 0,
         "values of k, ascending (default: powers of two up to 8 times the samples)", "K,..."},
        {"dynamic", 0, POPT_ARG_NONE, &o.dynamic, 0, "stop asking a question after --enough correct answers", NULL},
        {"enough", 0, POPT_ARG_STRING, &o.enough, 0, "with --dynamic: number of correct answers (default: 2)", "N"},
        {"seed", 0, POPT_ARG_STRING, &o.seed, 0, "first sampling seed (default: 1)", "N"},
        {"questions", 0, POPT_ARG_STRING, &o.questions, 0,
         "number of questions, 1 to 1000000 (default: the recipe's)", "N"},
        POLICY_OPTIONS(&o.source),
        CLI_FORMAT_OPTION(&o.format_text),
        CLI_INPUT_OPTION, POPT_TABLEEND};
    return policies_command_run(&o.source, command, options, POLICIES_MAX, argc, argv, work, &o);
}

const struct cli_command cmd_passk = {
    .name = "passk",
    .arguments = "RECIPE|CHECKPOINT|ID...",
    .description =
        "Samples every evaluation question of the recipe and prints two estimates of pass@k for\n"
        "each k: the unbiased one (for k up to the samples), and that of the Beta-binomial\n"
        "distribution of pass rates with the greatest likelihood, which also reaches beyond the\n"
        "samples. --dynamic samples a question until --enough answers are correct; the unbiased\n"
        "estimate is not valid then and is left out. Nothing is recorded.\n"
        "Several policies are ranked for each k up to the samples: unbiased estimates on the same\n"
        "questions with 95 % intervals, and the distance to the best policy with the interval of\n"
        "that difference, taken question by question (both intervals are normal, over questions).",
    .examples = "  lineage passk 004 007 011 -C runs/hop --samples 32 --k 1,8,32\n"
                "  lineage passk policy.ckpt --samples 32 --k 1,4,16,64,256\n"
                "  lineage passk 004 -C runs/hop --dynamic --samples 128 --format json",
    .run = run,
};
