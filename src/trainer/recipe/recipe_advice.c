/*
 * recipe_advice.c: the values that the papers and systems of a recipe's algorithm and losses recommend. They are printed
 * beside the recipe's own values and never enforced: our environments are small, and the values are for language models.
 */
#include <stdio.h>
#include <string.h>

#include "recipe/recipe_conditions.h"
#include "recipe/recipe_foreign.h"
#include "recipe/recipe_needs.h"
#include "recipe/recipe_value.h"

/* When a recommendation applies: 0 always, otherwise one more than the loss or the algorithm. */
#define FOR_LOSS(name) TRAINER_LOSS_##name + 1
#define FOR_ALGORITHM(name) RL_ALGORITHM_##name + 1

/* The first row that applies to a setting counts. */
static const struct {
    const char *path; /* of the root table, or "algorithm.*" */
    unsigned loss, algorithm;
    const char *value, *source;
} table[] = {
    {"loss.name", 0, FOR_ALGORITHM(TURN_GROUP_V1D), "turn", "A2TGPO, arXiv 2605.06200"},
    {"loss.name", 0, FOR_ALGORITHM(PPO), "ppo", "arXiv 1707.06347"},
    {"loss.name", 0, FOR_ALGORITHM(GPG), "gpg", "arXiv 2504.02546"},
    {"loss.aggregation", 0, FOR_ALGORITHM(DR_GRPO), "seq-mean-token-sum", "Dr. GRPO, arXiv 2503.20783"},
    {"loss.aggregation", 0, FOR_ALGORITHM(TURN_GROUP_V1D), "seq-mean-token-mean", "A2TGPO, arXiv 2605.06200"},
    {"loss.aggregation", FOR_LOSS(PPO), 0, "token-mean", "DAPO, arXiv 2503.14476"},
    {"loss.clip_low", FOR_LOSS(GSPO), 0, "0.0003", "GSPO, arXiv 2507.18071"},
    {"loss.clip_high", FOR_LOSS(GSPO), 0, "0.0004", "GSPO, arXiv 2507.18071"},
    {"loss.clip_low", FOR_LOSS(GEO_MEAN), 0, "0.4", "GMPO, arXiv 2507.20673"},
    {"loss.clip_high", FOR_LOSS(GEO_MEAN), 0, "0.4", "GMPO, arXiv 2507.20673"},
    {"loss.clip_low", FOR_LOSS(LUSPO), 0, "0.0003", "GSPO, arXiv 2507.18071"},
    {"loss.clip_high", FOR_LOSS(LUSPO), 0, "0.0004", "GSPO, arXiv 2507.18071"},
    /* Not a range of ratios: bounds of a difference of probabilities, and of a divergence. */
    {"loss.clip_low", FOR_LOSS(DPPO_TV), 0, "0.15", "DPPO, verl's example"},
    {"loss.clip_high", FOR_LOSS(DPPO_TV), 0, "0.15", "DPPO, verl's example"},
    {"loss.clip_low", FOR_LOSS(DPPO_KL), 0, "0.05", "DPPO, verl's example"},
    {"loss.clip_high", FOR_LOSS(DPPO_KL), 0, "0.05", "DPPO, verl's example"},
    {"loss.clip_c", FOR_LOSS(DPPO_TV), 0, "20", "DPPO, arXiv 2602.04879; verl"},
    {"loss.clip_c", FOR_LOSS(DPPO_KL), 0, "20", "DPPO, arXiv 2602.04879; verl"},
    {"sampler_kl.tau", 0, 0, "0.001", "prime-rl"},
    {"dppo.mask_low", 0, 0, "0.2", "prime-rl"},
    {"dppo.mask_high", 0, 0, "0.2", "prime-rl"},
    {"ipo.threshold", 0, 0, "0.1", "prime-rl"},
    {"vespo.k_pos", 0, 0, "2", "TRL"},
    {"vespo.lambda_pos", 0, 0, "3", "TRL"},
    {"vespo.k_neg", 0, 0, "3", "TRL"},
    {"vespo.lambda_neg", 0, 0, "2", "TRL"},
    {"loss.clip_low", 0, 0, "0.2", "PPO, arXiv 1707.06347"},
    {"loss.clip_high", FOR_LOSS(PPO), FOR_ALGORITHM(PPO), "0.2", "PPO, arXiv 1707.06347"},
    {"loss.clip_high", FOR_LOSS(PPO), 0, "0.28", "DAPO, arXiv 2503.14476"},
    {"loss.clip_c", 0, 0, "3", "dual clip, arXiv 1912.09729; verl"},
    {"kl.estimator", 0, 0, "k3", "GRPO, arXiv 2402.03300"},
    {"sampler.max_staleness", 0, 0, "4 for code, 8 for mathematics", "AReaL, arXiv 2505.24298"},
    {"correction.cap", 0, 0, "2", "truncated importance sampling, verl"},
    {"compose.backend_cap", 0, 0, "2", "truncated importance sampling, verl"},
    {"value.cliprange", 0, 0, "0.5", "verl"},
    {"algorithm.alpha", 0, FOR_ALGORITHM(TURN_GROUP_V1D), "0.3", "A2TGPO, arXiv 2605.06200"},
    {"algorithm.beta", 0, FOR_ALGORITHM(TURN_GROUP_V1D), "0.3", "A2TGPO, arXiv 2605.06200"},
    {"algorithm.gain", 0, FOR_ALGORITHM(TURN_GROUP_V1D), "log_prob", "A2TGPO, arXiv 2605.06200"},
    {"algorithm.alpha", 0, FOR_ALGORITHM(ADCA), "0.1", "AgentEvolver"},
    {"algorithm.prm.epochs", 0, FOR_ALGORITHM(ADCA), "20", "AgentEvolver"},
    {"algorithm.prm_steps", 0, FOR_ALGORITHM(ADCA), "20 epochs", "AgentEvolver"},
    {"algorithm.outcome.weight", 0, FOR_ALGORITHM(ADCA), "1", "AgentEvolver"},
    {"judge.skip", 0, FOR_ALGORITHM(ADCA), "small_adv", "AgentEvolver"},
    {"judge.unjudged", 0, FOR_ALGORITHM(ADCA), "outcome", "AgentEvolver"},
    {"algorithm.adca.fix_base", 0, 0, "0.2", "AgentEvolver"},
    {"algorithm.adca.batch_norm", 0, 0, "true", "AgentEvolver"},
    {"algorithm.gamma", 0, 0, "1", "verl, A2TGPO"},
    {"algorithm.gae.lam", 0, 0, "1", "verl"},
    {"algorithm.norm_by_std", 0, 0, "true", "GRPO, arXiv 2402.03300"},
    {"algorithm.epsilon", 0, 0, "1e-06", "GRPO, verl"},
    {"algorithm.echo_weight", 0, 0, "0.1", "prime-rl"},
    {"algorithm.linear.output", 0, 0, "0.25", "prime-rl"},
    {"algorithm.linear.input", 0, 0, "0.1", "prime-rl"},
    {"algorithm.linear.turns", 0, 0, "0.1", "prime-rl"},
    {"algorithm.decay", 0, 0, "0.95", "prime-rl"},
};

static bool applies(size_t row, const struct trainer_recipe *recipe, const struct trainer_task *task)
{
    return (!table[row].loss || table[row].loss == (unsigned)recipe->loss.name + 1) &&
           (!table[row].algorithm || table[row].algorithm == task->algorithm.name + 1);
}

static bool is_listed(const struct trainer_advice *items, size_t n, const char *setting)
{
    bool found = false;
    for (size_t i = 0; i < n; i++)
        found = found || strcmp(items[i].setting, setting) == 0;
    return found;
}

/* Adds a row if its setting is read and not listed yet. */
static size_t add(struct trainer_advice *items, size_t n, size_t row, const struct trainer_recipe *recipe, int32_t t)
{
    const struct trainer_task *task = &recipe->tasks[t];
    bool of_task = strncmp(table[row].path, "algorithm.", 10) == 0;
    const struct recipe_field *field = recipe_find(of_task ? &recipe_task : &recipe_root, table[row].path);
    struct trainer_advice *item = &items[n];
    *item = (struct trainer_advice){.recommended = table[row].value, .source = table[row].source};
    snprintf(item->setting, sizeof item->setting, "%.*s%s", of_task && t > 0 ? 5 : 0,
             (const char *const[]){"", "env1.", "env2.", "env3."}[t], table[row].path + (of_task && t > 0 ? 10 : 0));
    if (!applies(row, recipe, task) || !recipe_is_read(recipe, of_task ? task : NULL, field) ||
        is_listed(items, n, item->setting))
        return n;
    recipe_value_words(item->value, field, of_task ? (const void *)task : recipe);
    item->follows = strcmp(item->value, table[row].value) == 0;
    return n + 1;
}

size_t trainer_recipe_advice(const struct trainer_recipe *recipe, struct trainer_advice items[TRAINER_ADVICE_MAX])
{
    size_t n = 0;
    for (int32_t t = 0; t < recipe->n_tasks; t++)
        for (size_t row = 0; row < sizeof table / sizeof *table && n + 1 < TRAINER_ADVICE_MAX; row++)
            n = add(items, n, row, recipe, t);
    return n;
}

/* ---- cautions ---- */

static size_t add_caution(struct trainer_caution *items, size_t n, const struct trainer_task *task, int32_t t, const char *path,
                          double number)
{
    static const char *const environments[] = {"", "env1.", "env2.", "env3."};
    const struct recipe_field *field = recipe_find(&recipe_task, path);
    const char *ours = recipe_foreign_mistaken(path, number);
    char value[64];
    if (!ours)
        return n;
    recipe_value_words(value, field, task);
    snprintf(items[n].text, sizeof items[n].text, "%s%s is %s: here it is %s%s", environments[t], path, value, ours,
             recipe_foreign_namesake(path));
    return n + 1;
}

size_t trainer_recipe_cautions(const struct trainer_recipe *recipe, struct trainer_caution items[TRAINER_CAUTIONS_MAX])
{
    size_t n = 0;
    if (recipe->loss.ipo.absent && recipe_is_read(recipe, NULL, recipe_find(&recipe_root, "ipo.threshold")))
        snprintf(
            items[n++].text, sizeof items->text,
            "ipo.threshold is not in the recipe and is 0.1, prime-rl's; a recipe.json that an earlier version wrote means 0.2");
    for (int32_t t = 0; t < recipe->n_tasks; t++) {
        const struct trainer_task *task = &recipe->tasks[t];
        if (recipe_is_read(recipe, task, recipe_find(&recipe_task, "algorithm.epsilon")))
            n = add_caution(items, n, task, t, "algorithm.epsilon", task->algorithm.epsilon);
        if (recipe_is_read(recipe, task, recipe_find(&recipe_task, "algorithm.beta")))
            n = add_caution(items, n, task, t, "algorithm.beta", task->algorithm.beta);
    }
    return n;
}
