/*
 * trainer_settings.c: tests that no setting is ignored silently: a setting that nothing reads is refused with what it
 * needs, and a setting that is read without an effect on the data is reported as inert.
 */
#include "support/unit.h"

#include <math.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include <trainer/train.h>

#include "recipe/recipe_conditions.h"
#include "recipe/recipe_foreign.h"
#include "recipe/recipe_value.h"
#include "recipe/recipe_variants.h"
#include "support/quotes.h"
#include "support/rng.h"
#include "support/small_recipe.h"
#include "support/warm_place.h"

static enum trainer_status parse(struct trainer_recipe *recipe, const char *text, struct trainer_error *err)
{
    char *json = quotes(text);
    enum trainer_status status = trainer_recipe_parse(recipe, "r.json", json, strlen(json), err);
    free(json);
    return status;
}

static void accepted(const char *text)
{
    struct trainer_recipe recipe;
    struct trainer_error err = {0};
    if (parse(&recipe, text, &err) != TRAINER_OK)
        fail_msg("%s: %s", text, err.text);
}

static void assert_refused(const char *text, const char *why)
{
    struct trainer_recipe recipe;
    struct trainer_error err = {0};
    assert_int_equal(parse(&recipe, text, &err), TRAINER_EINVAL);
    if (!strstr(err.text, why))
        fail_msg("%s: '%s' does not say '%s'", text, err.text, why);
}

#define TASK(text) "{'environments': [{'algorithm': {" text "}}]}"

/* The settings that changed nothing with grpo, each with what it needs, and a recipe in which it is read. */
static void settings_that_nothing_reads_are_refused(void **state)
{
    static const char *const cases[][3] = {
        {TASK("'length_penalty': 'anchor'"), "algorithm.length_penalty is anchor, but nothing reads it: it needs",
         "{'environments': [{'pool': {'questions': 64}, 'algorithm': {'length_penalty': 'anchor'}}]}"},
        {TASK("'length_coef': 0.5"), "needs algorithm.length_penalty uniform, group, anchor, linear or step",
         TASK("'length_coef': 0.5, 'length_penalty': 'uniform'")},
        {TASK("'adca': {'scheme': 'allocation'}"),
         "algorithm.adca.scheme is allocation, but nothing reads it: it needs "
         "algorithm.name adca",
         TASK("'name': 'adca', 'adca': {'scheme': 'allocation'}")},
        {TASK("'distill': {'coef': 2}"), "needs algorithm.distill.how advantage or loss",
         TASK("'teacher': 't', 'distill': {'how': 'loss', 'coef': 2}")},
        {TASK("'distill': {'pass_rate': 0.5}"), "needs algorithm.distill.how",
         TASK("'teacher': 't', 'distill': {'how': 'loss', 'pass_rate': 0.5}")},
        {TASK("'teacher': 't', 'distill': {'how': 'advantage'}, 'distill_clip': {'low': 0.5}"),
         "needs algorithm.distill.how loss", TASK("'teacher': 't', 'distill': {'how': 'loss'}, 'distill_clip': {'low': 0.5}")},
        {TASK("'endpoint': {'base_url': 'http://t/v1'}"),
         "needs algorithm.name opd, or algorithm.distill with the teacher checkpoint",
         TASK("'name': 'opd', 'teacher': {'name': 'm', 'base_url': 'http://t/v1'}")},
        {TASK("'name': 'opd', 'teacher': 't', 'endpoint': {'name': 'm'}"), "needs algorithm.endpoint.base_url",
         TASK("'name': 'opd', 'endpoint': {'name': 'm', 'base_url': 'http://t/v1'}")},
        {TASK("'passk_schedule': {'iterations': 9}"), "needs algorithm.passk.k above 1",
         TASK("'passk': {'k': 4}, 'passk_schedule': {'iterations': 9}")},
        {TASK("'passk': {'k': 4}, 'passk_schedule': {'gradual': true}"), "and algorithm.passk_schedule.iterations above 0",
         TASK("'passk': {'k': 4}, 'passk_schedule': {'iterations': 9, 'gradual': true}")},
        {TASK("'passk': {'k': 4}, 'passk_schedule': {'iterations': 120}"), "must be below training.iterations = 120",
         TASK("'passk': {'k': 4}, 'passk_schedule': {'iterations': 119}")},
        {TASK("'teacher': 'policy'"), "its distance to itself is 0", TASK("'name': 'opsd', 'teacher': 'policy'")},
        {"{'opsm': {'lower': 0.7}}", "opsm.lower is 0.7, but nothing reads it: it needs opsm.unit rollout or turn",
         "{'opsm': {'lower': 0.7, 'unit': 'turn'}}"},
        {"{'compose': {'per_turn': true}}", "compose.per_turn is true, but nothing reads it: it needs loss.name compose",
         "{'compose': {'per_turn': true}, 'loss': {'name': 'compose'}}"},
        {TASK("'target': {'length': 9}"), "needs algorithm.length_penalty step or anchor",
         TASK("'target': {'length': 9}, 'length_penalty': 'step'")},
        {TASK("'linear': {'turns': 0}"), "needs algorithm.length_penalty linear",
         TASK("'linear': {'turns': 0}, 'length_penalty': 'linear'")},
        {TASK("'echo': {'filter': 'found'}"), "needs algorithm.name echo", TASK("'name': 'echo', 'echo': {'filter': 'found'}")},
        {TASK("'name': 'echo', 'echo_weight': 0.2, 'echo': {'roles': 'tool=0.3'}"), "needs algorithm.name echo without",
         TASK("'name': 'echo', 'echo': {'roles': 'tool=0.3'}")},
        {"{'environments': [{'name': 'reverse', 'algorithm': {'filter': {'truncated': true}}}]}", "an environment with a tool",
         TASK("'filter': {'truncated': true}")},
        {TASK("'name': 'opsd', 'filter': {'zero_advantage': true}"), "an algorithm with advantages",
         TASK("'filter': {'zero_advantage': true}")},
        {TASK("'name': 'adca', 'prm': {'epochs': 20}"), "needs algorithm.name adca and pool.questions above 0",
         "{'environments': [{'pool': {'questions': 64}, 'algorithm': {'name': 'adca', 'prm': {'epochs': 20}}}]}"},
        {"{'environments': [{'pool': {'questions': 64}, 'algorithm': {'name': 'adca', 'prm_steps': 9, 'prm': {'epochs': 20}}}]}",
         "algorithm.prm_steps is 9, but nothing reads it: it needs algorithm.name adca without algorithm.prm.epochs",
         TASK("'name': 'adca', 'prm_steps': 9")},
        {TASK("'custom': {'command': 'true'}"), "needs algorithm.name custom without data.file",
         TASK("'name': 'custom', 'custom': {'command': 'true'}")},
        {"{'kl_gradient': {'straight_through': true}}", "needs loss.kl_coef above 0",
         "{'kl_gradient': {'straight_through': true}, 'loss': {'kl_coef': 0.1}}"},
        {"{'kl_gradient': {'straight_through': true}, 'kl': {'place': 'reward'}, 'loss': {'kl_coef': 0.1}}",
         "kl.place loss or weighted",
         "{'kl_gradient': {'straight_through': true}, 'kl': {'place': 'weighted'}, 'loss': {'kl_coef': 0.1}}"},
        {"{'icepop': {'floor': 0.5}}", "needs correction.name tis or decoupled",
         "{'icepop': {'floor': 0.5}, 'correction': {'name': 'tis'}}"},
        {"{'dppo': {'mask_low': 0.1}}", "needs loss.name dppo", "{'dppo': {'mask_low': 0.1}, 'loss': {'name': 'dppo'}}"},
        {"{'ipo': {'threshold': 0.2}, 'loss': {'name': 'dppo'}}", "needs loss.name ipo",
         "{'ipo': {'threshold': 0.2}, 'loss': {'name': 'ipo'}}"},
        {"{'sampler_kl': {'tau': 0}}", "needs loss.name dppo or ipo", "{'sampler_kl': {'tau': 0}, 'loss': {'name': 'ipo'}}"},
        {"{'dro': {'beta': 0.5}}", "needs loss.name dro", "{'dro': {'beta': 0.5}, 'loss': {'name': 'dro'}}"},
        {"{'vespo': {'k_neg': 0.5}}", "needs loss.name vespo", "{'vespo': {'k_neg': 0.5}, 'loss': {'name': 'vespo'}}"},
        {"{'loss': {'name': 'luspo', 'aggregation': 'seq-mean-token-mean'}}",
         "needs loss.name ppo, turn, cispo, gpg, reinforce, dppo_tv", "{'loss': {'name': 'luspo', 'clip_low': 0.1}}"},
        {"{'kl_gradient': {'straight_through': true}, 'kl': {'place': 'unbiased'}, 'loss': {'kl_coef': 0.1}}",
         "kl.place loss or weighted", "{'kl': {'place': 'unbiased'}, 'loss': {'kl_coef': 0.1}}"},
        {"{'kl': {'place': 'unbiased', 'estimator': 'k1'}, 'loss': {'kl_coef': 0.1}}",
         "loss.kl_coef above 0, and kl.place loss, weighted or reward",
         "{'kl': {'place': 'reward', 'estimator': 'k1'}, 'loss': {'kl_coef': 0.1}}"},
        {TASK("'echo_probability': {'below': 0.5}"), "needs algorithm.name echo",
         TASK("'name': 'echo', 'echo_probability': {'below': 0.5}")},
        {TASK("'name': 'custom', 'custom': {'command': 'c'}, 'hooks': {'score': 's'}"),
         "needs an algorithm with advantages from rewards",
         TASK("'name': 'custom', 'custom': {'command': 'c'}, 'hooks': {'weights': 'w'}")},
        {"{'reference': {'kind': 'ema'}}", "needs loss.kl_coef above 0",
         "{'reference': {'kind': 'ema', 'decay': 0.5}, 'loss': {'kl_coef': 0.1}}"},
        {"{'reference': {'every': 3}, 'loss': {'kl_coef': 0.1}}", "needs loss.kl_coef above 0 and reference.kind lagged or ema",
         "{'reference': {'kind': 'lagged', 'every': 3}, 'loss': {'kl_coef': 0.1}}"},
        {"{'reference': {'kind': 'lagged', 'decay': 0.5}, 'loss': {'kl_coef': 0.1}}", "and reference.kind ema",
         "{'reference': {'kind': 'lagged'}, 'loss': {'kl_coef': 0.1}}"},
        {"{'correction': {'name': 'bypass', 'cap': 3}}", "or bypass with loss.name reinforce",
         "{'correction': {'name': 'bypass', 'cap': 3}, 'loss': {'name': 'reinforce'}}"},
        {"{'correction': {'cap': 3}}", "needs correction.name tis or decoupled, or bypass",
         "{'correction': {'cap': 3, 'name': 'tis'}}"},
        {"{'judge': {'wrong': 0.1}}", "needs an algorithm that asks a judge (adca)",
         "{'judge': {'wrong': 0.1}, 'environments': [{'algorithm': {'name': 'adca'}}]}"},
        {"{'after_tool': {'clip_low': 0.1}}", "needs after_tool.own_clip true",
         "{'after_tool': {'clip_low': 0.1, 'own_clip': true}}"},
        {"{'value': {'coef': 1}}", "needs algorithm.name ppo",
         "{'value': {'coef': 1}, 'environments': [{'algorithm': {'name': 'ppo'}}]}"},
        {TASK("'schedule': {'kind': 'linear'}"), "needs algorithm.name turn-group-v1d or adca",
         TASK("'name': 'adca', 'schedule': {'kind': 'linear'}")},
        {TASK("'hierarchy': {'turns': 2}"), "needs algorithm.name hierarchical_grpo",
         TASK("'name': 'hierarchical_grpo', 'hierarchy': {'turns': 2}")},
        {TASK("'alpha': 0.9"), "algorithm.alpha is 0.9, but nothing reads it: it needs algorithm.name turn-group-v1d or adca",
         TASK("'name': 'turn-group-v1d', 'alpha': 0.9")},
        {TASK("'beta': 0"), "needs algorithm.name turn-group-v1d", TASK("'name': 'turn-group-v1d', 'beta': 0")},
        {TASK("'gae': {'lam': 0.9}"), "needs algorithm.name ppo", TASK("'name': 'ppo', 'gae': {'lam': 0.9}")},
        {TASK("'echo_weight': 0.5"), "needs algorithm.name echo", TASK("'name': 'echo', 'echo_weight': 0.5")},
    };
    (void)state;
    for (size_t i = 0; i < sizeof cases / sizeof *cases; i++) {
        assert_refused(cases[i][0], cases[i][1]);
        accepted(cases[i][2]);
    }
    assert_refused("{'loss': {'name': 'sapo', 'clip_low': 0.1}}",
                   "needs loss.name ppo, turn, gspo, cispo, geo_mean, dppo_tv, dppo_kl, luspo or compose");
    assert_refused("{'environments': [{}, {'algorithm': {'alpha': 0.9}}]}", "environments[1].algorithm.alpha is 0.9");
    assert_refused("{'opsm': {'lower': 0.7}, 'value': {'coef': 1}}", "; opsm.lower is 0.7, but nothing reads it");
}

/* A name without an index sets all environments, also those that do not read it. */
static void a_setting_of_all_environments_needs_one_that_reads_it(void **state)
{
    (void)state;
    accepted("{'alpha': 0.9, 'environments': [{}, {'algorithm': {'name': 'turn-group-v1d'}}]}");
    assert_refused("{'alpha': 0.9, 'environments': [{}, {}]}", "environments[0].algorithm.alpha is 0.9");
}

static enum trainer_status parse_with(const char *text, const char *setting, const char *value, struct trainer_error *err)
{
    const struct trainer_change change = {setting, value, false};
    struct trainer_recipe recipe;
    return trainer_recipe_parse_changed(&recipe, "r.json", text, strlen(text), &change, 1, err);
}

/* --set refuses a setting that nothing reads even at its default, because somebody asked for it. */
static void changes_are_refused_at_their_defaults_too(void **state)
{
    struct trainer_error err = {0};
    (void)state;
    assert_int_equal(parse_with("{}", "alpha", "0.3", &err), TRAINER_EINVAL);
    assert_non_null(strstr(err.text, "alpha is 0.3, but nothing reads it: it needs algorithm.name turn-group-v1d or adca"));
    assert_int_equal(parse_with("{\"start\": {\"checkpoint\": \"a\"}}", "start.warm_start.steps", "3", &err), TRAINER_EINVAL);
    assert_int_equal(parse_with("{}", "env1.alpha", "0.3", &err), TRAINER_EINVAL);
    assert_non_null(strstr(err.text, "no such place"));
    const char *two = "{\"environments\": [{}, {\"algorithm\": {\"name\": \"adca\"}}]}";
    assert_int_equal(parse_with(two, "env1.alpha", "0.9", &err), TRAINER_OK);
    assert_int_equal(parse_with(two, "env0.alpha", "0.9", &err), TRAINER_EINVAL);
}

/* The recipe of an earlier trial can be read, whatever it claims. */
static void recorded_recipes_are_accepted(void **state)
{
    static const char text[] = "{\"opsm\": {\"lower\": 0.7}}";
    struct trainer_recipe recipe;
    struct trainer_unread unread[4];
    (void)state;
    assert_int_equal(trainer_recipe_parse_recorded(&recipe, "r.json", text, sizeof text - 1, NULL, 0, NULL), TRAINER_OK);
    assert_int_equal(trainer_recipe_unread(&recipe, unread, 4), 1);
    assert_string_equal(unread[0].setting, "opsm.lower");
    assert_string_equal(unread[0].value, "0.7");
    assert_true(unread[0].refused);
    static const char beta[] = "{\"environments\": [{\"algorithm\": {\"beta\": 0.04}}]}";
    assert_int_equal(trainer_recipe_parse_recorded(&recipe, "r.json", beta, sizeof beta - 1, NULL, 0, NULL), TRAINER_OK);
    assert_int_equal(trainer_recipe_unread(&recipe, unread, 4), 1);
    assert_null(strstr(unread[0].needs, "TRL")); /* only messages have that remark */
}

/* A recipe file may describe a trial and its children, which start from its checkpoint; the row leaves out the rest. */
static void note_start(void *context, const struct trainer_setting *setting)
{
    bool *named = context;
    *named = *named || (setting->named && strncmp(setting->path, "start.warm_start.", 17) == 0);
}

static void a_warm_start_is_not_named_without_one(void **state)
{
    struct trainer_recipe recipe;
    bool named = false;
    (void)state;
    assert_int_equal(parse(&recipe, "{'start': {'warm_start': {'steps': 9}, 'checkpoint': 'a'}}", NULL), TRAINER_OK);
    trainer_recipe_settings(&recipe, note_start, &named);
    assert_false(named);
    assert_int_equal(parse(&recipe, "{'start': {'warm_start': {'steps': 9}}}", NULL), TRAINER_OK);
    trainer_recipe_settings(&recipe, note_start, &named);
    assert_true(named);
}

/* ipo's bound is named at its default, too, which has changed; no other loss has it. */
static void note_bound(void *context, const struct trainer_setting *setting)
{
    bool *named = context;
    *named = *named || (setting->named && strcmp(setting->path, "ipo.threshold") == 0);
}

static void a_changed_default_is_named(void **state)
{
    struct trainer_recipe recipe;
    bool named = false;
    (void)state;
    assert_int_equal(parse(&recipe, "{}", NULL), TRAINER_OK);
    trainer_recipe_settings(&recipe, note_bound, &named);
    assert_false(named);
    assert_int_equal(parse(&recipe, "{'loss': {'name': 'ipo'}}", NULL), TRAINER_OK);
    trainer_recipe_settings(&recipe, note_bound, &named);
    assert_true(named);
}

/* Every condition says what it needs, and holds in some recipe: the paths of the table are complete. */
static void every_field_says_what_it_needs(void **state)
{
    const struct recipe_table *const tables[] = {&recipe_root, &recipe_task};
    struct trainer_recipe initial;
    (void)state;
    trainer_recipe_init(&initial);
    for (size_t t = 0; t < 2; t++)
        for (size_t i = 0; i < tables[t]->n; i++) {
            const struct recipe_field *field = &tables[t]->fields[i];
            char needs[256];
            recipe_condition_text(needs, field);
            if (!recipe_is_read(&initial, t ? &initial.tasks[0] : NULL, field) && !needs[0])
                fail_msg("%s is not read by the default recipe, and says not what it needs", field->path);
        }
}

static void names_of_other_trainers_are_known(void **state)
{
    static const char *const cases[][2] = {
        {"{'loss_agg_mode': 'token-mean'}", "what verl calls loss_agg_mode is loss.aggregation here"},
        {"{'loss': {'dynamic_clip': true}}", "for dynamic_clip of A2TGPO there is algorithm.beta above 0"},
        {TASK("'orm_distribution': 'last_step'"), "what AgentEvolver calls orm_distribution is algorithm.adca.outcome here"},
        {"{'judge': {'skip_type': 'none'}}", "what AgentEvolver calls skip_type is judge.skip here"},
        {"{'num_generations': 8}", "what TRL calls num_generations is training.group_size here"},
        {"{'max_async_level': 2}", "what prime-rl calls max_async_level is sampler.staleness here"},
        /* nested, as in the files of these programs */
        {"{'actor': {'policy_loss_type': 'gspo'}}", "what SkyRL calls policy_loss_type is loss.name here"},
        {"{'trainer': {'loss': {'type': 'ipo', 'ipo_threshold': 0.2}}}", "what prime-rl calls loss.type is loss.name here"},
        {"{'trainer': {'loss': {'type': 'ipo', 'ipo_threshold': 0.2}}}",
         "; what prime-rl calls ipo_threshold is ipo.threshold here"},
        {"{'trainer': {'optim': {'lr': 1e-5, 'weight_decay': 0.1}, 'loss': {'kl_tau': 0.1}}}",
         "what prime-rl calls optim.lr is training.lr here; the nearest known one of trainer.optim.weight_decay is "
         "training.weight_decay; what prime-rl calls kl_tau is sampler_kl.tau here"},
        {"{'trainer': {'clip_ratio': 0.2, 'warmup_ratio': 0.1, 'total_epochs': 1, 'no_advantage_std_norm': true, 'min_lr': 0, "
         "'ppo_mini_batch_size': 8, 'num_substeps': 2}}",
         "; and more"},
        {"{'gae': {'lam': 0.9}}", "what verl calls lam is algorithm.gae.lam here"},
        {"{'data': {'train_batch_size': 32}}", "what verl calls train_batch_size is env.questions here"},
        {"{'optim': 'adamw_torch'}", "optim of TRL has no equal here"},
        /* another direction, unit or count, halves, and switches */
        {"{'ref_model_mixup_alpha': 0.6}", "reference.decay, as 1 - ref_model_mixup_alpha"},
        {"{'advantage': {'no_std_norm': true}}", "algorithm.norm_by_std, where false is what true is there"},
        {"{'no_advantage_std_norm': true}", "algorithm.norm_by_std, where false is what true is there"},
        {"{'num_substeps': 4}", "training.minibatch, as env.questions * training.group_size / num_substeps"},
        {"{'off_policy_mask_threshold': 0.5}", "opsm.lower, as exp(-off_policy_mask_threshold)"},
        {"{'min_lr': 1e-6}", "training.final_rate, as min_lr / training.lr"},
        {"{'lr_min': 1e-6}", "training.final_rate, as lr_min / training.lr"},
        {"{'actor': {'ppo_mini_batch_size': 8}}", "training.minibatch, as ppo_mini_batch_size * training.group_size"},
        {"{'ppo_micro_batch_size_per_gpu': 8}", "micro_batch.tokens, a number of tokens and not of sequences"},
        {"{'warmup_ratio': 0.1}", "training.warmup, as warmup_ratio * the number of updates"},
        {"{'trainer': {'total_epochs': 15}}", "training.iterations, as total_epochs * the questions of the data / env.questions"},
        {"{'max_steps': 100}", "training.iterations: as max_steps / the updates of an iteration from TRL, max_steps itself"},
        /* several settings of that name; flags; beginnings that are not ours */
        {"{'warmup': 10}", "the nearest known one is start.warm_start.warmup, training.warmup or algorithm.length.warmup"},
        {"{'horizon': 10000}", "the coefficient of the KL penalty is constant; algorithm.distill.horizon is a number of tokens"},
        {"{'n-samples-per-prompt': 8}", "what OpenRLHF calls n_samples_per_prompt is training.group_size here"},
        {"{'--Clip-Grad': 1}", "what verl calls clip_grad is training.clip_norm here"},
        {"{'actor_train': {'name': 'x'}}", "no setting has a name like it"},
        {"{'opsm_delta': 0.01}", "opsm.lower, as exp(-opsm_delta)"},
        {"{'dual_clip_loss': true}", "loss.clip_c, as 1 + 2 * pg_clip"},
        {"{'trainer': {'policy': {'optimizer_config': {'lr': 1}}}}", "what SkyRL calls optimizer_config.lr is training.lr here"},
        {"{'actor': {'adam': {'lr': 1}}}", "what OpenRLHF calls adam.lr is training.lr here"},
        {"{'actor': {'optimizer': {'beta2': 0.95}}}", "what AReaL calls optimizer.beta2 is training.adam_beta2 here"},
        {"{'orchestrator': {'eval': {'group_size': 4}}}", "what prime-rl calls eval.group_size is evaluation.seeds here"},
        {"{'algorithm': {'kl_ctrl': {'type': 'fixed', 'kl_coef': 0.001}}}", "loss.kl_coef with kl.place reward"},
        {"{'eps_clip': 0.2}", "for eps_clip of OpenRLHF there is loss.clip_low and loss.clip_high"},
        {"{'behave_imp_weight_cap': 5}", "correction.cap with a small icepop.floor"},
        {"{'use_kl_loss': true}", "loss.kl_coef above 0, with kl.place loss"},
        {"{'loss': {'type': 'ipo'}}", "what prime-rl calls loss.type is loss.name here"},
        {"{'loss': {'ipo_threshold': 0.2}}", "what prime-rl calls ipo_threshold is ipo.threshold here"},
        {"{'algorithm': {'filter_groups': {'enable': true}}}",
         "for filter_groups of verl there is algorithm.filter.zero_advantage, which leaves groups out and samples none"},
        {"{'actor_rollout_ref': {'rollout': {'n': 8}}}", "what verl calls rollout.n is training.group_size here"},
        {"{'vllm_gpu_memory_utilization': 0.9}", "without an engine for inference"},
        {"{'vllm_importance_sampling_clip_min': 0.5}", "icepop.floor, below which the weight is 0"},
        /* values, some of which are keys of another program */
        {"{'loss': {'name': 'vanilla'}}", "for vanilla of verl there is loss.name ppo"},
        {"{'correction': {'name': 'icepop'}}", "for icepop of Ring-1T there is correction.name tis with icepop.floor"},
        {"{'loss': {'name': 'IcePop'}}", "for icepop of Ring-1T there is correction.name tis with icepop.floor"},
        {"{'loss': {'name': 'flash-reinforce'}}", "flash_reinforce of OpenRLHF has no equal here"},
        {"{'loss': {'name': 'flash_reinforce'}}", "flash_reinforce of OpenRLHF has no equal here"},
        {"{'loss': {'name': 'rollout_is'}}", "rollout_is of SkyRL has no equal here: its ratio is to the sampler"},
        {"{'loss': {'name': 'dr_grpo'}}", "with loss.aggregation seq-mean-token-sum-norm"},
        {"{'loss': {'aggregation': 'prompt_mean'}}", "no aggregation has a mean per question"},
        {"{'kl': {'estimator': 'low_var_kl'}}", "for low_var_kl of verl there is kl.estimator k3"},
        {"{'algorithm': {'name': 'gae'}}", "for gae of verl there is algorithm.name ppo"},
        /* objects whose members have names of the policy's settings */
        {"{'critic': {'optim': {'lr': 1e-5}}}", "what verl calls critic.optim.lr is value.lr here"},
        {"{'critic': {'eps_clip': 0.5}}", "what AReaL calls critic.eps_clip is value.cliprange here"},
        {"{'critic': {'ppo_epochs': 1}}", "the value head shares layers, batches and updates with the policy"},
        {"{'reward_model': {'micro_batch_size': 1}}", "an environment has one reward"},
        /* settings with the name of ours and another meaning */
        {"{'epsilon': 1.2}", "must be a number from 0 to 1 (TRL's epsilon is loss.clip_low and loss.clip_high)"},
        {"{'beta': 0.04}", "(TRL's beta is loss.kl_coef)"},
        /* like none: naming the nearest of all would be misleading */
        {"{'zzz_of_nobody': 8}", "unknown key \"zzz_of_nobody\"; no setting has a name like it"},
        {"{'training': {'snapshot_every_hour': 8}}", "no setting has a name like it"},
        {"{'hysteresis': 2}", "no setting has a name like it"},
        {"{'n': 2}", "no setting has a name like it"},
    };
    (void)state;
    for (size_t i = 0; i < sizeof cases / sizeof *cases; i++)
        assert_refused(cases[i][0], cases[i][1]);
    struct trainer_error err;
    assert_int_equal(parse_with("{}", "actor.clip_ratio_high", "0.3", &err), TRAINER_EINVAL);
    assert_non_null(strstr(err.text, "loss.clip_high"));
    assert_int_equal(parse_with("{}", "algo.advantage.estimator", "x", &err), TRAINER_EINVAL);
    assert_non_null(strstr(err.text, "is algorithm.name here"));
    assert_int_equal(parse_with("{}", "algo.kl.estimator", "k3", &err), TRAINER_EINVAL);
    assert_non_null(strstr(err.text, "is kl.estimator here"));
    assert_int_equal(parse_with("{}", "entropy_coef", "0.1", &err), TRAINER_EINVAL);
    assert_non_null(strstr(err.text, "entropy_coef of TRL has no equal here: no loss has an entropy bonus"));
    assert_int_equal(parse_with("{}", "api_max_retries", "3", &err), TRAINER_EINVAL);
    assert_non_null(strstr(err.text, "for api_max_retries of AgentEvolver there is judge.deadline"));
    assert_int_equal(parse_with("{}", "loss.name", "m2po", &err), TRAINER_EINVAL);
    assert_non_null(strstr(err.text, "m2po of AReaL has no equal here"));
    assert_int_equal(parse_with("{}", "zzz.of.nobody", "1", &err), TRAINER_EINVAL);
    assert_non_null(strstr(err.text, "no setting has a name like it"));
    /* where a whole name is near, the last part alone does not decide */
    static const char *const nearest[][2] = {{"los.name", "loss.name"},
                                             {"algoritm.name", "algorithm.name"},
                                             {"corection.name", "correction.name"},
                                             {"traning.lr", "training.lr"},
                                             {"vaule.lr", "value.lr"},
                                             {"evalution.temperature", "evaluation.temperature"},
                                             {"algo.advantage.gamma", "gamma"},
                                             {"loss.beta", "dro.beta"},
                                             {"trainer.adam.weight_decay", "training.weight_decay"}};
    for (size_t i = 0; i < sizeof nearest / sizeof *nearest; i++) {
        char wanted[128];
        snprintf(wanted, sizeof wanted, "the nearest known one is %s", nearest[i][1]);
        assert_int_equal(parse_with("{}", nearest[i][0], "1", &err), TRAINER_EINVAL);
        if (strlen(err.text) < strlen(wanted) || strcmp(err.text + strlen(err.text) - strlen(wanted), wanted) != 0)
            fail_msg("%s: %s", nearest[i][0], err.text);
    }
}

/* No name is one of ours, which would be read, and every path exists. */
static void names_of_other_trainers_lead_to_settings(void **state)
{
    (void)state;
    for (struct recipe_foreign_name name = {.row = NULL}, other; recipe_foreign_next(&name);) {
        const char *path = name.row->path, *words = name.row->words;
        if (path ? !path[0] != (words != NULL) : !words)
            fail_msg("%s: a row has a path, or words, or \"\" with words", name.row->names);
        for (other = (struct recipe_foreign_name){.row = NULL}; recipe_foreign_next(&other) && other.text != name.text;)
            if (other.n == name.n && memcmp(other.text, name.text, name.n) == 0)
                fail_msg("%.*s is there twice", (int)name.n, name.text);
        if (!path || !path[0])
            continue;
        bool task = strncmp(path, "env.", 4) == 0 || strncmp(path, "algorithm.", 10) == 0;
        path += strncmp(path, "env.", 4) == 0 ? 4 : 0;
        if (!recipe_find(task ? &recipe_task : &recipe_root, path))
            fail_msg("%s: no setting %s", name.row->names, name.row->path);
    }
}

/* ---- the gradient trace ------------------------------------------------------------------- */

/* What a run reports: all numbers of its events that depend on its settings, and the inert settings. */
struct told {
    double numbers[512];
    size_t n;
    char inert[512];
    int32_t iterations;
};

static bool listen(void *context, const struct trainer_event *e)
{
    struct told *told = context;
    if (e->iteration && told->n + 4 < 512) {
        /* not the loss: the same gradient may come with a loss that was added up in another order */
        const double numbers[] = {e->iteration->reward, e->iteration->entropy, e->iteration->grad_norm, e->iteration->kl};
        memcpy(told->numbers + told->n, numbers, sizeof numbers);
        told->n += 4;
        told->iterations++;
    }
    if (e->kind == TRAINER_EVENT_DONE) {
        told->numbers[told->n++] = e->score;
        snprintf(told->inert, sizeof told->inert, "%s", e->inert ? e->inert : "");
    }
    return true;
}

static enum trainer_status tell(struct told *told, const struct trainer_recipe *recipe)
{
    const struct trainer_run_options options = {.event = listen, .context = told};
    struct trainer_error err;
    memset(told, 0, sizeof *told);
    return trainer_run(recipe, &options, &err);
}

/* The policy that all runs start from has seen enough demonstrations for rewards that differ. It is trained once: a warm start of
 * each run took most of the time of this test. */
static int open_trained_place(void **state)
{
    struct trainer_recipe recipe = small_recipe(TRAINER_HOPWORLD);
    struct warm_place *place;
    open_warm_place(state);
    place = *state;
    warm_checkpoint(&recipe, 150, place->warm);
    return 0;
}

static struct trainer_recipe traced_recipe(const struct warm_place *place, enum rl_algorithm_name name)
{
    struct trainer_recipe r = small_recipe(TRAINER_HOPWORLD);
    strcpy(r.checkpoint, place->warm);
    r.training.iterations = 4;
    r.training.learning_rate = 3e-3;
    r.evaluation.questions = 4;
    r.evaluation.seeds = 1;
    trainer_algorithm_init(&r.tasks[0].algorithm, name);
    check_recipe(&r);
    return r;
}

static void assert_inert(const struct trainer_recipe *recipe, const char *inert)
{
    struct told told;
    assert_int_equal(tell(&told, recipe), TRAINER_OK);
    assert_string_equal(told.inert, inert);
}

static void settings_without_effect_are_inert(void **state)
{
    struct trainer_recipe r = traced_recipe(*state, RL_ALGORITHM_TURN_GROUP_V1D);
    r.tasks[0].algorithm.alpha = 0.9;
    r.loss.clip_high = 0.5;
    assert_inert(&r, "");
    r.correction.name = TRAINER_CORRECTION_TIS;
    r.correction.cap = 1e6; /* never reached, on-policy */
    assert_inert(&r, "correction.cap");
    r.correction.cap = 2;
    r.correction.name = TRAINER_CORRECTION_NONE;
    r.tasks[0].env.kind = TRAINER_REVERSE; /* no turns, so no gain */
    r.checkpoint[0] = '\0';
    r.warm_start.steps = 150; /* the checkpoint has not learnt to reverse */
    r.tasks[0].algorithm.beta = 0.7;
    assert_inert(&r, "alpha, beta");
}

/* With one update per iteration on-policy, every ratio is 1 and no clip range acts. */
static void a_clip_range_without_a_second_update_is_inert(void **state)
{
    struct trainer_recipe r = traced_recipe(*state, RL_ALGORITHM_GRPO);
    r.loss.clip_low = 0.1;
    assert_inert(&r, "");
    r.training.epochs = 1;
    r.training.minibatch = 16;
    assert_inert(&r, "clip_low");
}

/* rae's decay changes the baseline of the next iteration; a schedule acts from the second iteration on. */
static void effects_on_later_iterations_are_found(void **state)
{
    struct trainer_recipe r = traced_recipe(*state, RL_ALGORITHM_RAE);
    r.tasks[0].algorithm.decay = 0.5;
    assert_inert(&r, "");
    r = traced_recipe(*state, RL_ALGORITHM_TURN_GROUP_V1D);
    r.tasks[0].algorithm.schedule.kind = TRAINER_LINEAR;
    r.tasks[0].algorithm.schedule.alpha_end = 0.7;
    assert_inert(&r, "");
}

/* A cap at its default is not traced, and a cap that no weight reaches is; both runs are the same. */
static void the_trace_changes_no_bit(void **state)
{
    struct told traced, plain;
    struct trainer_recipe r = traced_recipe(*state, RL_ALGORITHM_ECHO);
    r.correction.name = TRAINER_CORRECTION_TIS;
    assert_int_equal(tell(&plain, &r), TRAINER_OK);
    r.correction.cap = 1e6;
    assert_int_equal(tell(&traced, &r), TRAINER_OK);
    assert_string_equal(traced.inert, "correction.cap");
    assert_int_equal(traced.n, plain.n);
    assert_memory_equal(traced.numbers, plain.numbers, plain.n * sizeof *plain.numbers);
}

/* ---- random recipes ----------------------------------------------------------------------- */

static void draw_value(const struct recipe_field *field, void *base, struct trainer_rng *rng)
{
    char *member = (char *)base + field->offset;
    double number = recipe_number(field, base);
    if (field->kind == RECIPE_REAL) {
        double high = isinf(field->high.value) ? 4 : fmin(field->high.value, 4);
        double drawn = field->low.value + (high - field->low.value) * (0.05 + 0.9 * trainer_rng_uniform(rng));
        memcpy(member, &drawn, sizeof drawn);
    } else if (field->kind == RECIPE_BOOL) {
        *(bool *)(void *)member = !(number > 0);
    } else if (field->kind == RECIPE_CHOICE) {
        int32_t choice = trainer_rng_below(rng, (int32_t)field->high.value + 1);
        if (field->size == sizeof(bool))
            *(bool *)(void *)member = choice > 0;
        else
            memcpy(member, &choice, sizeof choice);
    }
}

/* Gives some of the traced settings random values. */
static struct trainer_recipe draw(const struct warm_place *place, uint64_t seed)
{
    static const enum rl_algorithm_name names[] = {RL_ALGORITHM_GRPO,   RL_ALGORITHM_TURN_GROUP_V1D,
                                                   RL_ALGORITHM_ECHO,   RL_ALGORITHM_RAE,
                                                   RL_ALGORITHM_ADCA,   RL_ALGORITHM_PPO,
                                                   RL_ALGORITHM_OPSD,   RL_ALGORITHM_JOINT,
                                                   RL_ALGORITHM_REWARD, RL_ALGORITHM_REINFORCE_PLUS_PLUS_BASELINE};
    struct trainer_rng rng = {trainer_seed(seed, 'p', 1)};
    struct trainer_recipe r = traced_recipe(place, names[trainer_rng_below(&rng, sizeof names / sizeof *names)]);
    r.loss.name = (enum trainer_loss_name)trainer_rng_below(&rng, TRAINER_N_LOSSES);
    r.training.epochs = 1 + trainer_rng_below(&rng, 2);
    r.training.iterations = 2;
    r.tasks[0].pool = trainer_rng_below(&rng, 2) ? 4 : 0;
    for (int t = 0; t < 2; t++) {
        const struct recipe_table *table = t ? &recipe_task : &recipe_root;
        for (size_t i = 0; i < table->n; i++)
            if (table->fields[i].when & RECIPE_TRACED && trainer_rng_below(&rng, 10) == 0 &&
                recipe_is_read(&r, t ? &r.tasks[0] : NULL, &table->fields[i]))
                draw_value(&table->fields[i], t ? (void *)&r.tasks[0] : &r, &rng);
    }
    return r;
}

/* Needs of the losses and corrections that do not fit together are refused too, so most drawn recipes are. */
static bool is_accepted(struct trainer_recipe *recipe)
{
    return trainer_recipe_check(recipe, NULL) == TRAINER_OK && recipe_check_read(recipe, NULL) == TRAINER_OK;
}

static bool is_named_inert(const char *inert, const char *name)
{
    const char *at = strstr(inert, name);
    return at && (at == inert || at[-1] == ' ') && (at[strlen(name)] == ',' || !at[strlen(name)]);
}

/*
 * Draws recipes. Those that are accepted are run; then each of their traced settings is set back to its default and the
 * recipe is run again. If not one bit of the run changes, the setting must have been reported as inert.
 */
static void random_recipes_have_no_unnamed_inert_setting(void **state)
{
    size_t ran = 0, compared = 0, inert = 0;
    for (uint64_t seed = 0; seed < 4000 && ran < 16; seed++) {
        struct trainer_recipe recipe = draw(*state, seed), variant;
        struct recipe_traced traced[RECIPE_TRACED_MAX];
        struct told told, other;
        if (!is_accepted(&recipe) || tell(&told, &recipe) != TRAINER_OK)
            continue;
        size_t n = recipe_traced(&recipe, traced);
        ran++;
        for (size_t i = 0; i < n; i++) {
            char name[160];
            recipe_traced_name(name, &traced[i]);
            recipe_variant(&variant, &recipe, &traced[i]);
            if (trainer_recipe_check(&variant, NULL) != TRAINER_OK || tell(&other, &variant) != TRAINER_OK)
                continue;
            bool same = other.n == told.n && memcmp(other.numbers, told.numbers, told.n * sizeof *told.numbers) == 0;
            compared++;
            inert += same;
            if (!same && is_named_inert(told.inert, name))
                fail_msg("recipe %d: %s is reported as inert, but changes the run", (int)seed, name);
            if (same && !is_named_inert(told.inert, name))
                fail_msg("recipe %d: %s changes no bit of the run, and is not reported as inert", (int)seed, name);
        }
    }
    print_message("%zu recipes, %zu settings compared, %zu without an effect on the run\n", ran, compared, inert);
    assert_true(ran >= 10 && compared >= 12);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(settings_that_nothing_reads_are_refused),
        cmocka_unit_test(a_setting_of_all_environments_needs_one_that_reads_it),
        cmocka_unit_test(changes_are_refused_at_their_defaults_too),
        cmocka_unit_test(recorded_recipes_are_accepted),
        cmocka_unit_test(a_warm_start_is_not_named_without_one),
        cmocka_unit_test(a_changed_default_is_named),
        cmocka_unit_test(every_field_says_what_it_needs),
        cmocka_unit_test(names_of_other_trainers_are_known),
        cmocka_unit_test(names_of_other_trainers_lead_to_settings),
        cmocka_unit_test(settings_without_effect_are_inert),
        cmocka_unit_test(a_clip_range_without_a_second_update_is_inert),
        cmocka_unit_test(effects_on_later_iterations_are_found),
        cmocka_unit_test(the_trace_changes_no_bit),
        cmocka_unit_test(random_recipes_have_no_unnamed_inert_setting),
    };
    return cmocka_run_group_tests(tests, open_trained_place, close_warm_place);
}
