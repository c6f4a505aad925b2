/*
 * prune_bench.c: how much time `--prune` saves in nights that ran without it, and which keeps it would have lost.
 *
 *   prune_bench [--json] [--orders N] [--rule RULE].. STORE..
 *
 * Each STORE is a night whose trials ran to their end, so that their curves (telemetry/ID.json) are complete. The trials
 * are run again on paper, in the order of the log and in N - 1 random ones (default: 200 in all; seed 1): a trial sees the
 * curves of the trials before it, those that were pruned only up to that step, and the rule of cli/trial decides. A pruned
 * trial costs its share of steps. Keeps are those of the same order without pruning, by the store's threshold; a keep is
 * lost if its trial is pruned. Without --rule: median and halving with their defaults, and variants of them.
 *
 * Prints a line for each store and rule: the share of the time that is saved (mean and standard deviation over orders),
 * the trials pruned, the keeps that were lost of all, and in how many orders the best trial of the night was lost.
 */
#include <math.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include <jansson.h>
#include <lineage/query.h>

#include "trial/pruning.h"

enum { RULES_MAX = 16 };

struct night {
    struct prune_curves curves;
    double score[PRUNE_CURVES_READ + 2], seconds[PRUNE_CURVES_READ + 2];
    double threshold;
    char key[LINEAGE_NAME_MAX];
};

struct sums {
    double saved, saved_squares;
    size_t orders, trials, pruned, keeps, lost, best_lost;
};

static bool is_better(const struct night *night, double a, double than, double by)
{
    return night->curves.higher ? a - than > by : than - a > by;
}

/* The score's name in telemetry: the first of these that a curve has. */
static bool read_night(struct night *night, struct lineage_store *store)
{
    static const char *const keys[] = {"score", "em", "val_loss", "loss", "val_bpb"};
    const struct lineage_config *config = lineage_store_config(store);
    struct lineage_error err;
    for (size_t i = 0; i < sizeof keys / sizeof *keys && !night->curves.n; i++) {
        prune_curves_release(&night->curves);
        if (!prune_curves_read(&night->curves, store, NULL, keys[i]))
            return false;
        snprintf(night->key, sizeof night->key, "%s", keys[i]);
    }
    night->threshold = lineage_threshold(config, NULL);
    for (size_t i = 0; i < night->curves.n; i++) {
        struct lineage_trial row = {0};
        if (lineage_find(store, night->curves.items[i].id, &row, &err) != LINEAGE_OK)
            return fprintf(stderr, "prune_bench: %s\n", err.text), false;
        night->score[i] = row.score.value;
        night->seconds[i] = row.total_s.present ? row.total_s.value : 1;
        lineage_trial_release(&row);
    }
    return night->curves.n > 0;
}

/* Runs trial i beside the curves that are there. Returns the number of its points until it is pruned; all of them if it
 * is not. */
static size_t run_trial(const struct night *night, const struct prune_rule *rule, struct prune_curves *there, size_t i)
{
    const struct prune_curve *curve = &night->curves.items[i];
    struct pruning pruning;
    char why[512];
    size_t n = 0;
    pruning_init(&pruning, rule, there);
    while (n < curve->n && !pruning_judge(&pruning, curve->points[n].step, curve->points[n].value, why, sizeof why))
        n++;
    return n < curve->n ? n + 1 : n;
}

/* Runs the night in one order. The curves of `there` share the points of the night. */
static void run_order(struct sums *sums, const struct night *night, const struct prune_rule *rule, const size_t *order)
{
    struct prune_curve items[PRUNE_CURVES_READ + 2];
    struct prune_curves there = {.items = items, .parent = SIZE_MAX, .best = SIZE_MAX, .higher = night->curves.higher};
    double best = NAN, best_without = NAN, cost = 0, whole = 0;
    size_t best_trial = SIZE_MAX;
    bool pruned[PRUNE_CURVES_READ + 2] = {false};
    for (size_t k = 0; k < night->curves.n; k++) {
        size_t i = order[k];
        const struct prune_curve *curve = &night->curves.items[i];
        bool keep = isnan(best_without) || is_better(night, night->score[i], best_without, night->threshold);
        size_t n = run_trial(night, rule, &there, i);
        pruned[i] = n < curve->n;
        whole += night->seconds[i];
        cost += night->seconds[i] * (double)curve->points[n - 1].step / (double)curve->points[curve->n - 1].step;
        sums->keeps += keep && k > 0;
        sums->lost += keep && k > 0 && pruned[i];
        if (keep) {
            best_without = night->score[i];
            best_trial = i;
        }
        items[there.n] = *curve;
        items[there.n].n = n;
        items[there.n].finished = !pruned[i];
        if (!pruned[i] && (isnan(best) || is_better(night, night->score[i], best, night->threshold))) {
            best = night->score[i];
            there.best = there.n;
        }
        there.n++;
        sums->pruned += pruned[i];
    }
    double saved = 1 - cost / whole;
    sums->saved += saved;
    sums->saved_squares += saved * saved;
    sums->best_lost += pruned[best_trial];
    sums->trials += night->curves.n;
    sums->orders++;
}

/* xorshift64*: the same orders on every machine. */
static size_t draw(uint64_t *state, size_t n)
{
    *state ^= *state >> 12;
    *state ^= *state << 25;
    *state ^= *state >> 27;
    return (size_t)((*state * 2685821657736338717ull) >> 33) % n;
}

static void run_rule(struct sums *sums, const struct night *night, const struct prune_rule *rule, size_t orders)
{
    size_t order[PRUNE_CURVES_READ + 2], n = night->curves.n;
    uint64_t state = 1;
    for (size_t i = 0; i < n; i++)
        order[i] = n - 1 - i; /* the curves were read newest first */
    for (size_t o = 0; o < orders; o++) {
        run_order(sums, night, rule, order);
        for (size_t i = n - 1; i > 0; i--) {
            size_t j = draw(&state, i + 1), kept = order[i];
            order[i] = order[j];
            order[j] = kept;
        }
    }
}

static void print(const char *store, const struct night *night, const char *rule, const struct sums *s, bool json)
{
    double n = (double)s->orders, mean = s->saved / n, variance = fmax(0, s->saved_squares / n - mean * mean);
    if (!json) {
        printf("| %s | %s | %zu | %.0f ± %.0f %% | %.1f | %zu of %zu (%.1f %%) | %zu of %zu |\n", store, rule, night->curves.n,
               100 * mean, 100 * sqrt(variance), (double)s->pruned / n, s->lost, s->keeps,
               s->keeps ? 100.0 * (double)s->lost / (double)s->keeps : 0, s->best_lost, s->orders);
        return;
    }
    json_t *object = json_pack("{s:s, s:s, s:s, s:I, s:f, s:f, s:f, s:I, s:I, s:I, s:I}", "store", store, "rule", rule, "metric",
                               night->key, "trials", (json_int_t)night->curves.n, "saved", mean, "saved_std", sqrt(variance),
                               "pruned", (double)s->pruned / n, "keeps", (json_int_t)s->keeps, "lost", (json_int_t)s->lost,
                               "best_lost", (json_int_t)s->best_lost, "orders", (json_int_t)s->orders);
    json_dumpf(object, stdout, JSON_COMPACT | JSON_REAL_PRECISION(6));
    putchar('\n');
    json_decref(object);
}

static int measure(const char *place, const char *const *rules, size_t n_rules, size_t orders, bool json)
{
    struct lineage_store *store = NULL;
    struct lineage_error err;
    struct prune_rule rule;
    char why[256];
    struct night *night = calloc(1, sizeof *night);
    int status = 3;
    if (!night || lineage_store_open(&store, place, NULL, &err) != LINEAGE_OK)
        fprintf(stderr, "prune_bench: %s: %s\n", place, night ? err.text : "out of memory");
    else if (!read_night(night, store))
        fprintf(stderr, "prune_bench: %s has no curves\n", place);
    else
        status = 0;
    for (size_t i = 0; !status && i < n_rules; i++) {
        struct sums sums = {0};
        if (!prune_rule_parse(&rule, rules[i], why, sizeof why)) {
            fprintf(stderr, "prune_bench: %s\n", why);
            status = 2;
            break;
        }
        run_rule(&sums, night, &rule, orders);
        print(place, night, rules[i], &sums, json);
    }
    if (night)
        prune_curves_release(&night->curves);
    free(night);
    lineage_store_close(store);
    return status;
}

int main(int argc, char **argv)
{
    static const char *const usual[] = {"median",          "median,patience=1", "median,warmup=0,patience=1",
                                        "median,curves=2", "halving",           "halving,factor=2",
                                        "halving,factor=4"};
    const char *rules[RULES_MAX];
    size_t n = 0, orders = 200;
    bool json = false;
    int i = 1, status = 0;
    for (; i < argc && strncmp(argv[i], "--", 2) == 0; i++) {
        if (strcmp(argv[i], "--json") == 0)
            json = true;
        else if (strcmp(argv[i], "--rule") == 0 && i + 1 < argc && n < RULES_MAX)
            rules[n++] = argv[++i];
        else if (strcmp(argv[i], "--orders") == 0 && i + 1 < argc && atoi(argv[i + 1]) > 0)
            orders = (size_t)atoi(argv[++i]);
        else
            i = argc + 1;
    }
    if (i >= argc) {
        fputs("usage: prune_bench [--json] [--orders N] [--rule RULE].. STORE..\n", stderr);
        return 2;
    }
    if (!n)
        for (; n < sizeof usual / sizeof *usual; n++)
            rules[n] = usual[n];
    if (!json)
        puts("| night | rule | trials | time saved | pruned | keeps lost | best lost |\n|---|---|---|---|---|---|---|");
    for (; i < argc && !status; i++)
        status = measure(argv[i], rules, n, orders, json);
    return status;
}
