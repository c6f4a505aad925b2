/*
 * verdict_bench.c: how often a night keeps a trial that is not better, and how many better trials it finds, by the rules
 * of the store (lineage/evidence.h) and by two others.
 *
 *     verdict_bench [--json] [--nights N] [--effects N] [--trials N] [--runs N] [--seed N]
 *     verdict_bench --answers [--nights N] [--seed N] [--settings N] [--truth uniform|normal|clusters] [--noise N]
 *
 * A night has 100 trials of one seed each. The score of a run is its trial's true value plus normal noise of one standard
 * deviation, sigma, and more is better. The baseline has three seeds, from which the noise is estimated. A trial starts from
 * the best one so far, so its true value is that of the best one plus its effect. Three kinds of nights are simulated: without
 * any effect; with one trial whose effect is 1 sigma; with five of them. --effects N leaves out nights with more effects. The rules:
 *
 *     better       keep what is better than the best
 *     two errors   keep what is better by 2 sqrt(2) times the estimated noise, the rule of version 0.2
 *     one score    keep what exceeds lineage_threshold
 *     confirm      when all have run, trials run again where that helps to find the best, two runs for every three trials
 *                  (night --confirm); a trial is kept when it is confirmed
 *     race         as confirm, until the night has used --runs runs (default 700)
 *
 * `better` and `two errors` are shown a second time with as many seeds a trial as the runs of `race` allow. A keep is false
 * if its true value is not above that of the best trial before it. `luck` is how much the score of the best row is above
 * its true value at the end of the night. A better trial counts as found if it is kept or, with several runs, the best guess. No times are measured; the numbers are the same on every machine, up to the
 * last bits of libm.
 *
 * --answers: what the answer of a grid of 12 settings is worth, by its regret (the best true score minus that of the setting that is
 * named): one run each; one run each, then the best third once more, then the best two twice more; three runs each; and a night with
 * as many runs as by default and with three for each setting. The true scores are drawn from a range of 0.45, from a normal distribution
 * of the same variance, or half of them from the lowest 0.02 of the range and the others from its upper 0.1. Noises are 0.05, 0.1 and
 * 0.2, or thousandths that --noise gives.
 */
#include <math.h>
#include <stdbool.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include <lineage/evidence.h>

enum { TRIALS_MAX = 1000, BASELINE_SEEDS = 3, RULE_BETTER = 0, RULE_TWO_ERRORS, RULE_ONE_SCORE, RULE_CONFIRM, RULE_RACE };

/* A trial this many noises behind the best one need not run again. */
#define FAR 10

struct options {
    size_t nights, effects, trials, runs, settings, thousandths;
    uint64_t seed;
    const char *truth;
    bool json;
};

struct arm {
    uint64_t random; /* of its own, so that the runs of a trial are the same by all rules */
    double truth, sum, squares, fresh; /* fresh: sum without the first run */
    size_t n;
    bool kept;
};

struct night {
    const struct options *options;
    uint64_t random;
    struct arm arms[TRIALS_MAX + 1]; /* [n]; the first is the baseline */
    size_t n, best, named, runs, seeds; /* named: what `lineage best` names */
    double sure;     /* stated probability that it is the best */
    double best_row; /* score of the best row */
    size_t false_keeps, found, wasted; /* wasted: runs again of trials 10 noises behind */
};

/* xorshift64* (Vigna 2016) and the transform of Box and Muller. */
static double uniform(uint64_t *state)
{
    *state ^= *state >> 12;
    *state ^= *state << 25;
    *state ^= *state >> 27;
    return ((double)((*state * 2685821657736338717u) >> 11) + 0.5) / 9007199254740992.0;
}

/* States that are near each other have first numbers that are. */
static void warm_up(uint64_t *state)
{
    for (int i = 0; i < 16; i++)
        (void)uniform(state);
}

static double normal(uint64_t *state)
{
    double radius = sqrt(-2 * log(uniform(state)));
    return radius * cos(2 * 3.14159265358979324 * uniform(state));
}

static void start_arm(struct night *night, double truth)
{
    struct arm *arm = &night->arms[night->n++];
    (void)uniform(&night->random);
    *arm = (struct arm){.random = night->random * 0x9e3779b97f4a7c15u | 1, .truth = truth};
    warm_up(&arm->random);
}

static void run(struct night *night, struct arm *arm)
{
    double score = arm->truth + normal(&arm->random);
    arm->sum += score;
    arm->squares += score * score;
    if (arm->n++)
        arm->fresh += score;
    night->runs++;
}

static void find_noise(struct lineage_noise *noise, const struct night *night)
{
    static struct lineage_noise_group groups[TRIALS_MAX + 1];
    size_t n = 0;
    for (size_t i = 0; i < night->n; i++) {
        const struct arm *arm = &night->arms[i];
        double runs = (double)arm->n;
        if (arm->n > 1)
            groups[n++] = (struct lineage_noise_group){arm->n, fmax(0, arm->squares - arm->sum * arm->sum / runs) / (runs - 1)};
    }
    lineage_noise_pool(noise, groups, n);
}

static void keep(struct night *night, size_t i, double score)
{
    bool better = night->arms[i].truth > night->arms[night->best].truth + 1e-9;
    night->arms[i].kept = true;
    night->found += better;
    night->false_keeps += !better;
    night->best = i;
    night->best_row = score;
}

static void start_trial(struct night *night, bool effect)
{
    start_arm(night, night->arms[night->best].truth + (effect ? 1 : 0));
    run(night, &night->arms[night->n - 1]);
}

/* ---- one score a trial ---- */

static double threshold(const struct night *night, int rule)
{
    double scores[TRIALS_MAX + 1];
    size_t n = 0;
    const struct arm *base = &night->arms[0];
    const double seeds = BASELINE_SEEDS * (double)night->seeds;
    const double std = sqrt((base->squares - base->sum * base->sum / seeds) / (seeds - 1));
    if (rule == RULE_BETTER)
        return 0;
    if (rule == RULE_TWO_ERRORS)
        return 2 * std * sqrt(2 / (double)night->seeds);
    for (size_t i = 0; i + 1 < night->n; i++, n++)
        scores[n] = night->arms[i].sum / (double)night->arms[i].n;
    struct lineage_scatter scatter = lineage_scatter_of(n > 100 ? scores + n - 100 : scores, n > 100 ? 100 : n);
    const struct lineage_config config = {
        .noise_std = std, .noise_freedom = (unsigned)seeds - 1, .night_trials = (unsigned)night->options->trials};
    return lineage_threshold(&config, &scatter);
}

static void judge_score(struct night *night, int rule)
{
    size_t i = night->n - 1;
    struct arm *arm = &night->arms[i];
    while (arm->n < night->seeds)
        run(night, arm);
    double score = arm->sum / (double)arm->n;
    if (score - night->best_row > threshold(night, rule))
        keep(night, i, score);
}

/* ---- several runs a trial ---- */

/* Runs trials again where that helps to find the best one, until that is certain or the runs are used up. */
static void run_again(struct night *night, size_t runs)
{
    static struct lineage_evidence_trial list[TRIALS_MAX + 1];
    static bool skip[TRIALS_MAX + 1];
    double most = -INFINITY;
    struct lineage_evidence evidence = {
        .trials = list, .n = night->n, .rule = {.trials = night->options->trials, .higher = true}};
    for (;;) {
        find_noise(&evidence.noise, night);
        for (size_t i = 0; i < night->n; i++) {
            const struct arm *arm = &night->arms[i];
            const double fresh = arm->n > 1 ? arm->fresh / (double)(arm->n - 1) : 0;
            list[i] = (struct lineage_evidence_trial){.exp_id = "",
                                                      .kept_id = i == 0 || arm->kept ? "" : NULL,
                                                      .status = i == 0 ? LINEAGE_BASELINE : LINEAGE_DISCARD,
                                                      .again = arm->n - 1,
                                                      .runs = {arm->n, arm->sum / (double)arm->n},
                                                      .fresh = {arm->n - 1, fresh}};
            skip[i] = arm->n >= LINEAGE_RUNS_MAX;
        }
        if (!lineage_evidence_judge(&evidence))
            exit(3);
        night->best = evidence.best;
        night->named = evidence.answer;
        for (size_t i = 0; i < night->n; i++)
            if (lineage_evidence_is_ready(&evidence, i)) {
                keep(night, i, list[i].runs.mean);
                break; /* the others are compared with this one first */
            }
        night->sure = evidence.sure;
        size_t next = night->runs < runs ? lineage_evidence_next(&evidence, skip) : SIZE_MAX;
        if (next == SIZE_MAX)
            return;
        for (size_t i = 0; i < night->n; i++)
            most = fmax(most, night->arms[i].truth);
        night->wasted += night->arms[next].truth < most - FAR;
        run(night, &night->arms[next]);
    }
}

static void simulate(struct night *night, int rule, size_t effects)
{
    bool effect[TRIALS_MAX] = {false};
    const size_t trials = night->options->trials;
    for (size_t left = effects; left > 0;) {
        size_t i = (size_t)(uniform(&night->random) * (double)trials);
        left -= !effect[i];
        effect[i] = true;
    }
    start_arm(night, 0);
    while (night->arms[0].n < BASELINE_SEEDS * night->seeds)
        run(night, &night->arms[0]);
    night->best_row = night->arms[0].sum / (double)night->arms[0].n;
    for (size_t i = 0; i < trials; i++) {
        start_trial(night, effect[i]);
        if (rule < RULE_CONFIRM)
            judge_score(night, rule);
    }
    if (rule >= RULE_CONFIRM)
        run_again(night, rule == RULE_RACE ? night->options->runs : night->runs + 2 * trials / 3);
    if (night->named && !night->arms[night->named].kept) /* the best guess, though it is not kept */
        night->found += night->arms[night->named].truth > night->arms[night->best].truth + 1e-9;
}

/* ---- the answer of a grid night ---- */

#define RANGE 0.45

static int by_mean(const void *a, const void *b)
{
    const struct arm *x = a, *y = b;
    double mx = x->sum / (double)x->n, my = y->sum / (double)y->n;
    return (mx < my) - (mx > my);
}

/* Runs the best `left` settings `times` times and sorts them by their means, the best first. */
static void run_best(struct night *night, size_t left, size_t times)
{
    for (size_t i = 0; i < left; i++)
        for (size_t k = 0; k < times; k++)
            run(night, &night->arms[i]);
    qsort(night->arms, left, sizeof *night->arms, by_mean);
}

static double draw_truth(struct night *night)
{
    const double u = uniform(&night->random);
    switch (*night->options->truth) {
    case 'n': return RANGE / sqrt(12) * normal(&night->random);
    case 'c': return u < 0.5 ? 0.04 * u : RANGE - 0.2 * (u - 0.5);
    default: return RANGE * u;
    }
}

/* The regret of the setting that a rule names, in standard deviations of the noise. */
static double answer(struct night *night, size_t rule, double noise)
{
    const size_t settings = night->options->settings;
    double most = -INFINITY;
    while (night->n < settings) {
        const double truth = draw_truth(night) / noise;
        start_arm(night, truth);
        most = fmax(most, truth);
        run(night, &night->arms[night->n - 1]);
    }
    if (rule < 3)
        run_best(night, settings, rule == 2 ? 2 : 0);
    else
        run_again(night, rule != 3 ? 3 * settings : settings <= 6 ? 2 * settings : settings + (2 * settings + 2) / 3);
    if (rule == 1) {
        run_best(night, settings / 3, 1);
        run_best(night, 2, 2);
    }
    return most - night->arms[rule < 3 ? 0 : night->named].truth;
}

static void measure_answers(const struct options *options)
{
    static const char *const rules[] = {"one run each", "halving", "three each", "night, default", "night, three"};
    double noises[] = {0.05, 0.1, 0.2};
    const size_t n = options->thousandths ? 1 : sizeof noises / sizeof *noises;
    struct options grid = *options;
    struct night *night = malloc(sizeof *night);
    static const double bounds[] = {0, 0.5, 0.7, 0.85, 0.95, 1.01}; /* of what answers say */
    enum { BINS = sizeof bounds / sizeof *bounds - 1 };
    size_t said[BINS] = {0}, right[BINS] = {0}, kept = 0, wrong = 0, wasted = 0;
    double stated[BINS] = {0};
    if (!night)
        exit(3);
    grid.trials = options->settings;
    noises[0] = options->thousandths ? (double)options->thousandths / 1000 : noises[0];
    printf("%zu nights of %zu settings, %s\nregret at noise", options->nights, options->settings, options->truth);
    for (size_t k = 0; k < n; k++)
        printf("  %-5g (runs) ", noises[k]);
    puts("");
    for (size_t rule = 0; rule < sizeof rules / sizeof *rules; rule++) {
        printf("%-15s", rules[rule]);
        for (size_t k = 0; k < n; k++) {
            double regret = 0, runs = 0;
            for (size_t i = 0; i < options->nights; i++) {
                memset(night, 0, sizeof *night);
                night->options = &grid;
                night->random = (options->seed + i + 1) * 0x9e3779b97f4a7c15u | 1;
                warm_up(&night->random);
                const double lost = answer(night, rule, noises[k]);
                for (size_t b = 0; rule >= 3 && b < BINS; b++)
                    if (night->sure >= bounds[b] && night->sure < bounds[b + 1]) {
                        said[b]++;
                        stated[b] += night->sure;
                        right[b] += lost == 0;
                    }
                kept += night->found + night->false_keeps;
                wrong += night->false_keeps;
                wasted += night->wasted;
                regret += noises[k] * lost / (double)options->nights;
                runs += (double)night->runs / (double)options->nights;
            }
            printf("  %.4f (%.1f)", regret, runs);
        }
        puts("");
    }
    for (size_t b = 0; b < BINS; b++)
        printf("%zu answers say %.2f to %.2f, on average %.2f; %.1f %% of them are right\n", said[b], bounds[b],
               fmin(bounds[b + 1], 1), said[b] ? stated[b] / (double)said[b] : 0,
               said[b] ? 100 * (double)right[b] / (double)said[b] : 0);
    printf("of %zu kept settings, %zu are not better; %zu runs again of settings 10 noises behind\n", kept, wrong, wasted);
    free(night);
}

static void measure(const struct options *options, int rule, size_t seeds, bool first)
{
    static const char *const names[] = {"better", "two errors", "one score", "confirm", "race"};
    static const size_t effects[] = {0, 1, 5};
    struct night *night = malloc(sizeof *night);
    if (!night)
        exit(3);
    if (options->json)
        printf("%s\n  {\"rule\": \"%s\", \"seeds\": %zu", first ? "" : ",", names[rule], seeds);
    else
        printf("%-11s %5zu", names[rule], seeds);
    for (size_t k = 0; k < 3 && effects[k] <= options->effects; k++) {
        size_t wrong = 0, found = 0;
        double luck = 0, runs = 0;
        for (size_t i = 0; i < options->nights; i++) {
            memset(night, 0, sizeof *night);
            night->options = options;
            night->seeds = seeds;
            night->random = (options->seed + i + 1) * 0x9e3779b97f4a7c15u | 1; /* all rules see the same nights */
            warm_up(&night->random);
            simulate(night, rule, effects[k]);
            wrong += night->false_keeps > 0;
            found += night->found;
            runs += (double)night->runs;
            luck += night->best_row - night->arms[night->best].truth;
        }
        const double nights = (double)options->nights, share = effects[k] ? (double)found / (nights * (double)effects[k]) : 0;
        if (options->json)
            printf(", \"effects_%zu\": {\"false_nights\": %.4f, \"found\": %.4f, \"runs\": %.1f, \"luck\": %.3f}", effects[k],
                   (double)wrong / nights, share, runs / nights, luck / nights);
        else if (effects[k])
            printf(" | %5.1f %5.1f %5.0f %6.2f", 100 * share, 100 * (double)wrong / nights, runs / nights, luck / nights);
        else
            printf(" | %5.1f %5.0f %6.2f", 100 * (double)wrong / nights, runs / nights, luck / nights);
    }
    printf(options->json ? "}" : "\n");
    fflush(stdout);
    free(night);
}

static size_t read_number(const char *text, size_t low, size_t high)
{
    char *end;
    unsigned long long value = text ? strtoull(text, &end, 10) : 0;
    if (!text || *end || value < low || value > high) {
        fprintf(stderr, "verdict_bench: '%s' is not a number from %zu to %zu\n", text ? text : "", low, high);
        exit(2);
    }
    return (size_t)value;
}

int main(int argc, char **argv)
{
    struct options options = {.nights = 2000, .effects = 5, .trials = 100, .runs = 700, .settings = 12, .truth = "uniform"};
    bool answers = false;
    for (int i = 1; i < argc; i++)
        if (strcmp(argv[i], "--json") == 0)
            options.json = true;
        else if (strcmp(argv[i], "--answers") == 0)
            answers = true;
        else if (strcmp(argv[i], "--nights") == 0)
            options.nights = read_number(argv[++i], 1, 1000000);
        else if (strcmp(argv[i], "--effects") == 0)
            options.effects = read_number(argv[++i], 0, 5);
        else if (strcmp(argv[i], "--trials") == 0)
            options.trials = read_number(argv[++i], 5, TRIALS_MAX);
        else if (strcmp(argv[i], "--runs") == 0)
            options.runs = read_number(argv[++i], 1, 1000000);
        else if (strcmp(argv[i], "--seed") == 0)
            options.seed = read_number(argv[++i], 0, 1000000);
        else if (strcmp(argv[i], "--settings") == 0)
            options.settings = read_number(argv[++i], 6, TRIALS_MAX);
        else if (strcmp(argv[i], "--noise") == 0)
            options.thousandths = read_number(argv[++i], 1, 1000000);
        else if (strcmp(argv[i], "--truth") == 0 && i + 1 < argc && strchr("unc", *argv[i + 1]))
            options.truth = argv[++i];
        else {
            fputs("usage: verdict_bench [--json] [--nights N] [--effects N] [--trials N] [--runs N] [--seed N]\n"
                  "       verdict_bench --answers [--nights N] [--seed N] [--settings N] [--truth uniform|normal|clusters] "
                  "[--noise N]\n",
                  stderr);
            return 2;
        }
    if (answers) {
        measure_answers(&options);
        return 0;
    }
    if (options.json)
        printf("[");
    else
        printf("%zu nights of %zu trials; race: %zu runs\n"
               "rule        seeds |    no effect       | one effect of 1 sigma    | five effects of 1 sigma\n"
               "                  | false  runs   luck | found false  runs   luck | found false  runs   luck\n",
               options.nights, options.trials, options.runs);
    if (options.runs < 2 * options.trials)
        options.runs = 2 * options.trials;
    const size_t same = options.runs / options.trials > 1 ? options.runs / options.trials : 1;
    measure(&options, RULE_BETTER, 1, true);
    measure(&options, RULE_TWO_ERRORS, 1, false);
    measure(&options, RULE_ONE_SCORE, 1, false);
    if (same > 1) {
        measure(&options, RULE_BETTER, same, false);
        measure(&options, RULE_TWO_ERRORS, same, false);
    }
    measure(&options, RULE_CONFIRM, 1, false);
    measure(&options, RULE_RACE, 1, false);
    if (options.json)
        printf("\n]\n");
    return 0;
}
