/*
 * trainer_gain.c: tests the information gain of a search against the number of facts still to find. In slots every
 * useful search gains its share, in any order; in hopworld hardly anything is gained before the last hop.
 */
#include "support/small_recipe.h"

#include "support/unit.h"

#include <stdio.h>
#include <stdlib.h>

enum { K = 3 };

/*
 * sum, n: gains of useful searches, indexed by the number of facts still to find. useless, n_useless: all other
 * searches.
 */
struct table {
    double sum[K + 1];
    int n[K + 1];
    double useless;
    int n_useless;
};

static struct trainer_recipe recipe_of(enum trainer_env_kind kind)
{
    struct trainer_recipe r = small_recipe(kind);
    r.model.width = 32;
    r.model.mlp = 64;
    r.tasks[0].algorithm.name = RL_ALGORITHM_JOINT;
    r.tasks[0].algorithm.gain = TRAINER_GAIN_LOG_PROB;
    r.tasks[0].env.k_min = r.tasks[0].env.k_max = r.warm_start.k_max = K;
    r.tasks[0].env.max_turns = 6;
    r.warm_start.demo.p_stop = 0;
    r.warm_start.demo.p_wrong = 0.2;
    check_recipe(&r);
    return r;
}

static void add_rollout(struct table *table, const struct trainer_rollout *r)
{
    int left = K;
    for (int32_t t = 0; t < r->n_turns; t++) {
        const int32_t *token = r->tokens;
        int32_t end = 0;
        for (int32_t i = 0; i < r->length && r->turn[i] <= t; i++)
            end = r->turn[i] == t ? i : end;
        bool found = trainer_env_judge(&r->episode, t) && token[end + 2] != TRAINER_NONE;
        double gain = r->value[t + 1] - r->value[t];
        if (found) {
            table->sum[left] += gain;
            table->n[left]++;
        } else {
            table->useless += gain;
            table->n_useless++;
        }
        left -= found;
    }
}

static struct table measure(enum trainer_env_kind kind, int32_t steps)
{
    struct table table = {0};
    struct trainer_recipe recipe = recipe_of(kind);
    float *params = warm_policy(&recipe, steps);
    struct trainer_rollouts *rollouts = sample(&recipe, params, 60, 9);
    for (size_t i = 0; i < trainer_rollouts_count(rollouts); i++) {
        struct trainer_rollout r = trainer_rollouts_get(rollouts, i);
        add_rollout(&table, &r);
    }
    printf("%s, left to find:", trainer_env_name(kind));
    for (int left = K; left > 0; left--) {
        table.sum[left] /= table.n[left] > 0 ? table.n[left] : 1;
        printf(" %d: %+.3f (%d)", left, table.sum[left], table.n[left]);
    }
    table.useless /= table.n_useless > 0 ? table.n_useless : 1;
    printf(", useless or failed: %+.3f (%d)\n", table.useless, table.n_useless);
    trainer_rollouts_free(rollouts);
    free(params);
    return table;
}

static void in_slots_every_useful_search_brings_its_share(void **state)
{
    (void)state;
    struct table table = measure(TRAINER_SLOTS, 400);
    double all = 0;
    for (int left = 1; left <= K; left++)
        all += table.sum[left];
    for (int left = 1; left <= K; left++) {
        assert_true(table.n[left] > 20);
        assert_true(table.sum[left] > 0.15 * all && table.sum[left] < 0.6 * all);
    }
    assert_true(table.useless < 0.2 * all / K);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(in_slots_every_useful_search_brings_its_share),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
