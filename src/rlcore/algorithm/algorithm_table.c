/*
 * algorithm_table.c: the algorithms, one row each, and the questions that can be asked about a row.
 *
 * The properties of an algorithm (does it compare within a group? is alpha one of its settings? can
 * a recipe use it?) are data, so that no other file needs a list of names, in which the next
 * algorithm would be missing.
 *
 * Names are those of the sources, so that they can be looked up in a paper or in the configuration
 * of another program. `source` says which definition is used, because verl, prime-rl and the papers
 * differ under one name.
 */
#include "algorithm/algorithm_code.h"

#include <rlcore/advantage.h>

#include "support/fail.h"

#define CODE(...)                                                                                                                \
    .code = &(const struct rl_algorithm_code)                                                                                    \
    {                                                                                                                            \
        __VA_ARGS__                                                                                                              \
    }
/* clang-format off */
/* What follows `reads` are further members, last of them the code. */
#define ROW(index, name_, summary_, source_, needs_, reads_, ...)                                                                \
    [RL_ALGORITHM_##index] = {                                                                                                   \
        .name = name_, .summary = summary_, .source = source_, .needs = needs_, .reads = reads_, __VA_ARGS__}
/* clang-format on */

/*
 * Rows are placed by designated index: callers store the numbers, and lists print in this order.
 * `reads` names only the settings that the kernel uses; other settings are left out of the
 * lineage's rows instead of suggesting that they mattered.
 */
static const struct rl_algorithm table[] = {
    ROW(GRPO, "grpo", "z-score of the outcome in its group; on trees without the division", "arXiv 2402.03300; verl, prime-rl",
        RL_NEED_GROUP, "norm_by_std epsilon", CODE(.rows = RL_ROWS_GROUP, .variant = RL_GRPO, .values = rl_values_grpo)),
    /* dr_grpo never divides, so norm_by_std is off by default and not one of its settings. */
    ROW(DR_GRPO, "dr_grpo", "outcome minus the mean of its group", "arXiv 2503.20783; verl", RL_NEED_GROUP, "",
        CODE(.rows = RL_ROWS_GROUP, .variant = RL_GRPO, .own = {"norm_by_std", 0})),
    ROW(RLOO, "rloo", "outcome minus the mean of the others of its group", "arXiv 2402.14740; verl", RL_NEED_GROUP, "",
        CODE(.rows = RL_ROWS_GROUP, .variant = RL_RLOO)),
    ROW(REINFORCE_PLUS_PLUS, "reinforce_plus_plus", "discounted returns, whitened over the batch", "arXiv 2501.03262; verl", 0,
        "gamma", CODE(.rows = RL_ROWS_RETURNS)),
    ROW(GRPO_PASSK, "grpo_passk", "the best of a group gets its lead over the second", "arXiv 2503.19595; verl", RL_NEED_GROUP,
        "norm_by_std epsilon", CODE(.rows = RL_ROWS_GROUP, .variant = RL_GRPO_PASSK)),
    ROW(MAX_RL, "max_rl", "reward minus group mean, divided by the mean", "prime-rl", RL_NEED_GROUP, "",
        CODE(.rows = RL_ROWS_VALUES, .values = rl_values_max_rl)),
    ROW(HIERARCHICAL_GRPO, "hierarchical_grpo", "reward minus the mean of the same agent, for listed agents of the same episode",
        "prime-rl", RL_NEED_GROUP | RL_NEED_AGENTS, "", CODE(.rows = RL_ROWS_EPISODES, .values = rl_values_hierarchical)),
    ROW(RAE, "rae", "reward minus a moving baseline per agent, kept from group to group", "prime-rl", RL_NEED_MEMORY, "decay",
        CODE(.rows = RL_ROWS_VALUES, .values = rl_values_rae)),
    ROW(REWARD, "reward", "the reward, without a baseline", "prime-rl", 0, "",
        CODE(.rows = RL_ROWS_VALUES, .values = rl_values_reward)),
    ROW(CUSTOM, "custom", "advantages per token from a function of the caller", "prime-rl", RL_NEED_CALLBACK, "",
        CODE(.rows = RL_ROWS_NONE)),
    ROW(JOINT, "joint", "A2TGPO: gains and outcome normalised in one set, summed ahead", "arXiv 2605.06200",
        RL_NEED_GROUP | RL_NEED_GAINS, "gamma norm_by_std epsilon", CODE(.rows = RL_ROWS_GAINS, .variant = RL_A2TGPO_JOINT)),
    ROW(SEPARATE, "separate", "A2TGPO: gains and outcome normalised apart, summed ahead", "arXiv 2605.06200",
        RL_NEED_GROUP | RL_NEED_GAINS, "gamma norm_by_std epsilon", CODE(.rows = RL_ROWS_GAINS, .variant = RL_A2TGPO_SEPARATE)),
    ROW(TURN_GROUP, "turn-group", "A2TGPO: gains on the outcomes' scale, normalised by turn index", "arXiv 2605.06200",
        RL_NEED_GROUP | RL_NEED_GAINS, "gamma norm_by_std epsilon", CODE(.rows = RL_ROWS_GAINS, .variant = RL_A2TGPO_TURN_GROUP)),
    ROW(TURN_GROUP_V1D, "turn-group-v1d", "A2TGPO: rescaled sums of gains normalised by turn index, adaptive clip scale",
        "arXiv 2605.06200", RL_NEED_GROUP | RL_NEED_GAINS, "alpha beta gamma norm_by_std epsilon",
        CODE(.rows = RL_ROWS_GAINS, .variant = RL_A2TGPO_TURN_GROUP_V1D)),
    ROW(PROCESS, "process", "gains and outcome normalised apart, summed over what follows", "definition (rlcore/process.h)",
        RL_NEED_GROUP | RL_NEED_GAINS, "", CODE(.rows = RL_ROWS_PROCESS)),
    ROW(ADCA, "adca", "step flags of a judge beside the outcome; grpo after prm_steps", "AgentEvolver",
        RL_NEED_GROUP | RL_NEED_JUDGE, "alpha norm_by_std epsilon prm_steps", CODE(.rows = RL_ROWS_JUDGE, .own = {"alpha", 1})),
    ROW(ECHO, "echo", "grpo, and cross-entropy on answers of tools and users by role", "prime-rl", RL_NEED_GROUP,
        "norm_by_std epsilon echo_weight", .observes = true,
        CODE(.rows = RL_ROWS_GROUP, .variant = RL_GRPO, .values = rl_values_grpo)),
    ROW(OPD, "opd", "reverse KL to a frozen reference on the policy's own tokens", "prime-rl", RL_NEED_FROZEN_REFERENCE, "",
        .loss = RL_COMPONENT_REF_KL, CODE(.rows = RL_ROWS_ZERO)),
    ROW(OPSD, "opsd", "the same towards the live policy, which is shown more", "prime-rl", RL_NEED_POLICY_REFERENCE, "",
        .loss = RL_COMPONENT_REF_KL, CODE(.rows = RL_ROWS_ZERO)),
    ROW(SFT, "sft", "cross-entropy on tokens sampled by a frozen model", "prime-rl", RL_NEED_FROZEN_SOURCE, "",
        .loss = RL_COMPONENT_CE, CODE(.rows = RL_ROWS_ZERO)),
    ROW(PPO, "ppo", "generalised advantage estimation over the values of a value head, whitened",
        "arXiv 1506.02438, 1707.06347; verl (gae)", RL_NEED_VALUES, "gamma lam", CODE(.rows = RL_ROWS_GAE)),
    ROW(REMAX, "remax", "outcome minus that of the prompt's greedy response", "arXiv 2310.10505; verl", RL_NEED_GREEDY, "",
        CODE(.rows = RL_ROWS_GREEDY)),
    ROW(OPO, "opo", "outcome minus the mean of its group weighted by length", "arXiv 2505.23585; verl", RL_NEED_GROUP, "",
        CODE(.rows = RL_ROWS_GROUP, .variant = RL_OPO)),
    ROW(GPG, "gpg", "outcome minus group mean, times rows per outcome that is not 0", "arXiv 2504.02546; verl", RL_NEED_GROUP, "",
        CODE(.rows = RL_ROWS_GROUP, .variant = RL_GPG)),
    ROW(VINEPPO, "vineppo", "what each turn added to the value of its prefix, the last up to the outcome", "arXiv 2410.01679",
        RL_NEED_GAINS, "", CODE(.rows = RL_ROWS_PREFIX)),
    ROW(REINFORCE_PLUS_PLUS_BASELINE, "reinforce_plus_plus_baseline",
        "outcome minus the mean of its group, whitened over the batch", "arXiv 2501.03262; verl", RL_NEED_GROUP, "",
        CODE(.rows = RL_ROWS_GROUP, .variant = RL_REINFORCE_PLUS_PLUS_BASELINE)),
};
_Static_assert(sizeof table / sizeof *table == RL_N_ALGORITHMS, "a row for every name");

const struct rl_algorithm *rl_algorithm_at(size_t index)
{
    return index < RL_N_ALGORITHMS ? &table[index] : NULL;
}

/*
 * An unknown name has no default: a misspelt algorithm that trained by GRPO would give a night of
 * trials under the wrong name.
 */
enum rl_status rl_algorithm_find(const char *name, const struct rl_algorithm **algorithm, struct rl_error *err)
{
    const struct rl_algorithm *nearest = table;
    *algorithm = NULL;
    for (size_t i = 0; i < RL_N_ALGORITHMS; i++) {
        if (strcmp(table[i].name, name) == 0) {
            *algorithm = &table[i];
            return RL_OK;
        }
        if (rl_name_distance(name, table[i].name) < rl_name_distance(name, nearest->name))
            nearest = &table[i];
    }
    return rl_fail(err, RL_EINVAL, "no algorithm '%.40s'; the nearest known one is %s", name, nearest->name);
}

/* ---- needs -------------------------------------------------------------------------------- */

/*
 * The message names both what is needed and what was found, because its reader knows only one of
 * them.
 */
static enum rl_status wrong_model(const struct rl_algorithm *algorithm, const char *wanted, enum rl_model model,
                                  struct rl_error *err)
{
    static const char *const names[] = {
        [RL_MODEL_POLICY] = "the live policy", [RL_MODEL_FROZEN] = "a frozen model", [RL_MODEL_NONE] = "none"};
    return rl_fail(err, RL_EINVAL, "%s needs %s, not %s", algorithm->name, wanted, names[model]);
}

/*
 * Each of these settings would train without an error but learn nothing; for example the
 * differences within a group of one are 0. The check runs before a run, on the recipe. Agents and
 * callbacks must be refused by the caller, because only the caller knows whether it can provide
 * them.
 */
enum rl_status rl_algorithm_check(const struct rl_algorithm *algorithm, const struct rl_algorithm_setting *setting,
                                  struct rl_error *err)
{
    size_t least = algorithm->needs & RL_NEED_GROUP ? 2 : 1;
    if (setting->group_size < least)
        return rl_fail(err, RL_EINVAL, "%s needs groups of at least %zu rollouts, not %zu", algorithm->name, least,
                       setting->group_size);
    if (algorithm->needs & RL_NEED_FROZEN_SOURCE && setting->source != RL_MODEL_FROZEN)
        return wrong_model(algorithm, "a frozen model as source of its rollouts", setting->source, err);
    /*
     * Advantages, and a distance to a reference on the policy's own tokens, say what the policy should have sampled; a
     * gradient from tokens of another model has neither the right expectation nor a ratio that could correct it.
     */
    if (!(algorithm->needs & RL_NEED_FROZEN_SOURCE) && setting->source != RL_MODEL_POLICY)
        return wrong_model(algorithm, "the live policy as source of its rollouts", setting->source, err);
    if (algorithm->needs & RL_NEED_FROZEN_REFERENCE && setting->reference != RL_MODEL_FROZEN)
        return wrong_model(algorithm, "a frozen model as reference", setting->reference, err);
    if (algorithm->needs & RL_NEED_POLICY_REFERENCE && setting->reference != RL_MODEL_POLICY)
        return wrong_model(algorithm, "the live policy as reference", setting->reference, err);
    return RL_OK;
}

/* ---- settings ----------------------------------------------------------------------------- */

/*
 * The defaults of most algorithms, which are those of the sources, so that an omitted setting has
 * the same meaning there. An algorithm with another default has that default in its row of the
 * table (.code.own). prm_steps 0 uses the judge in every iteration.
 */
static const struct {
    const char *name;
    double value;
} settings[] = {
    {"alpha", 0.3},  {"gamma", 1},         {"beta", 0.3},    {"norm_by_std", 1}, {"epsilon", 1e-6},
    {"decay", 0.95}, {"echo_weight", 0.1}, {"prm_steps", 0}, {"lam", 1},
};
enum { N_SETTINGS = sizeof settings / sizeof *settings };

/* NULL ends the list, so that callers need no count. */
const char *rl_algorithm_setting_name(size_t index)
{
    return index < N_SETTINGS ? settings[index].name : NULL;
}

/* Searches for a whole word: "beta" is not contained in "alpha_beta". */
bool rl_algorithm_reads(const struct rl_algorithm *algorithm, const char *setting)
{
    size_t length = strlen(setting);
    for (const char *word = algorithm->reads; *word; word += strspn(word, " ")) {
        size_t n = strcspn(word, " ");
        if (n == length && strncmp(word, setting, n) == 0)
            return true;
        word += n;
    }
    return false;
}

/* Returns NaN and not 0 for an unknown name, because 0 is a possible default. */
double rl_algorithm_default(const struct rl_algorithm *algorithm, const char *setting)
{
    const char *own = algorithm ? algorithm->code->own.setting : NULL;
    if (own && strcmp(own, setting) == 0)
        return algorithm->code->own.value;
    for (size_t i = 0; i < N_SETTINGS; i++)
        if (strcmp(settings[i].name, setting) == 0)
            return settings[i].value;
    return NAN;
}

/*
 * Every member is set by name: a table of offsets would save lines but hide them from a search. In
 * echo only the role tool has a weight, because a tool's answer follows from the policy's action,
 * and a user's answer need not.
 */
void rl_algorithm_options_init(struct rl_algorithm_options *options, const struct rl_algorithm *algorithm)
{
    static const struct rl_role_weight roles[] = {{"tool", 0.1}};
    *options = (struct rl_algorithm_options){
        .alpha = rl_algorithm_default(algorithm, "alpha"),
        .gamma = rl_algorithm_default(algorithm, "gamma"),
        .beta = rl_algorithm_default(algorithm, "beta"),
        .norm_by_std = rl_algorithm_default(algorithm, "norm_by_std") > 0,
        .epsilon = rl_algorithm_default(algorithm, "epsilon"),
        .decay = rl_algorithm_default(algorithm, "decay"),
        .echo_weight = rl_algorithm_default(algorithm, "echo_weight"),
        .prm_steps = rl_algorithm_default(algorithm, "prm_steps"),
        .lam = rl_algorithm_default(algorithm, "lam"),
        .roles = roles,
        .n_roles = 1,
    };
}
