/*
 * trainer_recipe.c: tests which recipes are accepted, with which message the others are refused, and that a recipe
 * written as text is read back unchanged.
 */
#include "support/judged_iterations.h"
#include "support/unit.h"

#include <jansson.h>
#include <math.h>
#include <stdlib.h>
#include <string.h>

#include <rlcore/algorithm.h>
#include <trainer/recipe.h>

#include "recipe/recipe_names.h"
#include "recipe/recipe_nearest.h"
#include "recipe/recipe_value.h"
#include "support/files.h"
#include "support/quotes.h"
#include "support/recipe_schema.h"

#define SCHEMA FIXTURES_DIR "/../schema/recipe.schema.json"

/* Parses JSON that is written with single quotes. */
static enum trainer_status parse(struct trainer_recipe *recipe, const char *text, struct trainer_error *err)
{
    char *json = quotes(text);
    enum trainer_status status = trainer_recipe_parse(recipe, "r.json", json, strlen(json), err);
    free(json);
    return status;
}

static struct trainer_recipe accepted(const char *text)
{
    struct trainer_recipe recipe;
    struct trainer_error err = {0};
    if (parse(&recipe, text, &err) != TRAINER_OK)
        fail_msg("%s", err.text);
    return recipe;
}

/* Like accepted, for the recipe of an earlier trial, which may have settings that nothing reads. */
static struct trainer_recipe recorded(const char *text)
{
    struct trainer_recipe recipe;
    struct trainer_error err = {0};
    char *json = quotes(text);
    if (trainer_recipe_parse_recorded(&recipe, "r.json", json, strlen(json), NULL, 0, &err) != TRAINER_OK)
        fail_msg("%s", err.text);
    free(json);
    return recipe;
}

static void assert_refused(const char *text, const char *why)
{
    struct trainer_recipe recipe;
    struct trainer_error err = {0};
    assert_int_equal(parse(&recipe, text, &err), TRAINER_EINVAL);
    assert_int_equal(err.status, TRAINER_EINVAL);
    if (!strstr(err.text, why) || strncmp(err.text, "r.json:", 7) != 0 || strchr(err.text, '\n'))
        fail_msg("'%s' does not say '%s'", err.text, why);
}

/* ---- defaults ---- */

static void an_empty_recipe_is_the_default(void **state)
{
    struct trainer_recipe initial, recipe = accepted("{}");
    (void)state;
    trainer_recipe_init(&initial);
    char *a = trainer_recipe_text(&initial), *b = trainer_recipe_text(&recipe);
    assert_string_equal(a, b);
    assert_string_equal(recipe.name, "trial");
    assert_int_equal(recipe.n_tasks, 1);
    assert_int_equal(recipe.tasks[0].questions, 32);
    assert_true(recipe.tasks[0].algorithm.alpha == 0.3);
    assert_true(recipe.training.learning_rate == 3e-4 && recipe.warm_start.learning_rate == 4e-3);
    assert_int_equal(recipe.evaluation.question_seed, 777);
    free(a);
    free(b);
}

static void defaults_are_those_of_the_parts(void **state)
{
    struct trainer_env env;
    struct trainer_model model;
    struct trainer_demo_options demo;
    struct trainer_recipe r = accepted("{}");
    (void)state;
    trainer_env_init(&env, TRAINER_HOPWORLD);
    trainer_model_init(&model);
    trainer_demo_options_init(&demo);
    const struct trainer_env *e = &r.tasks[0].env;
    assert_true(e->kind == env.kind && e->k_min == env.k_min && e->k_max == env.k_max);
    assert_true(e->max_turns == env.max_turns && e->facts == env.facts && e->p_fail == env.p_fail);
    assert_memory_equal(&e->world, &env.world, sizeof env.world);
    assert_true(r.model.width == model.width && r.model.layers == model.layers);
    assert_true(r.model.heads == model.heads && r.model.mlp == model.mlp);
    assert_true(r.model.rope_base == model.rope_base && r.model.previous_token == model.previous_token);
    assert_memory_equal(&r.warm_start.demo, &demo, sizeof demo);
}

static void the_model_follows_from_world_and_environments(void **state)
{
    struct trainer_recipe r = accepted("{'environments': [{'k_max': 4}, {'name': 'reverse', 'k_max': 12}],"
                                       " 'world': {'regions': 3, 'region_size': 5, 'relations': 7}, 'start': "
                                       "{'checkpoint': 'a'}}");
    (void)state;
    assert_int_equal(r.model.tokens, TRAINER_N_MARKERS + 7 + 15);
    assert_int_equal(r.tasks[0].env.world.regions, 3);
    assert_int_equal(r.tasks[1].env.world.relations, 7);
    r.tasks[0].env.k_max = 5; /* k_max of the warm start, which is larger */
    assert_int_equal(r.model.max_tokens, trainer_env_max_tokens(&r.tasks[0].env));
    r = accepted("{'environments': [{'name': 'reverse', 'k_max': 12}]}");
    assert_int_equal(r.model.max_tokens, trainer_env_max_tokens(&r.tasks[0].env));
}

/* ---- the way round ---- */

/* Every key, with a value other than its default. */
static const char everything[] =
    "{'name':'n \\u0022x\\u0022 \xc3\xa9', 'domain':'d', 'hypothesis':'h', 'expected_delta':"
    "'+1',"
    " 'seed':9007199254740991, 'threads':3,"
    " 'world':{'regions':15, 'region_size':7, 'relations':17},"
    " 'model':{'width':96, 'layers':3, 'heads':4, 'mlp':100, 'rope_base':10.5,"
    "  'previous_token':false, 'experts':{'count':8, 'per_token':3, 'renormalise':false,"
    "  'balance':0.5}},"
    " 'icepop':{'floor':0.4}, 'dppo':{'mask_low':0.1, 'mask_high':0.3}, 'ipo':{'threshold':0.15}, 'sampler_kl':{'tau':0.002}, "
    "'dro':{'beta':0.2}, "
    "'vespo':{'k_pos':1, 'lambda_pos':1.5, 'k_neg':2.5, 'lambda_neg':1.25},"
    " 'kl':{'place':'weighted', 'estimator':'k2'}, 'kl_gradient':{'straight_through':true},"
    " 'reference':{'kind':'ema', 'every':3, 'decay':0.5},"
    " 'opsm':{'unit':'turn', 'per_token':false, 'lower':0.1, 'upper':9, 'negative_only':false},"
    " 'compose':{'backend_cap':5, 'staleness_cap':6, 'per_turn':true},"
    " 'after_tool':{'own_clip':true, 'clip_low':0.11, 'clip_high':0.12},"
    " 'routing':{'replay':'R2'},"
    " 'start':{'checkpoint':'a/b.ckpt', 'warm_start':{'steps':1, 'batch':2,"
    "  'lr':0.1, 'matrix_rate':0.03, 'warmup':4, 'k_min':1, 'k_max':6, 'demonstrator':"
    "{'p_stop':0.01,"
    "   'p_wrong':0.02, 'p_needless':0.03, 'p_hindsight':0.04, 'p_belief':0.05}, 'shown':{'share':0.2}}},"
    " 'environments':[{'name':'reverse', 'questions':5, 'k_min':2, 'k_max':4, 'max_turns':3,"
    "  'facts':1, 'p_fail':0.7, 'pool':{'questions':8}, 'data':{'file':'d.jsonl'}, 'allocation':{'hardness':1.5, "
    "'drop_above':0.9, 'drop_below':0.1},"
    "  'groups':{'sizes':'mixed', 'least':6}, 'algorithm':{'name':'adca', 'alpha':0.31, 'gamma':0.9,"
    "   'beta':0.2, 'norm_by_std':false, 'epsilon':0.001, 'advantage_scale':2.5,"
    "   'gain':'log_prob', 'decay':0.8, 'echo_weight':0.4, 'prm_steps':9, 'teacher':'t',"
    "   'length_penalty':'anchor', 'length_coef':0.06, 'length':{'warmup':7}, 'passk':{'k':3},"
    "   'prefix':{'value':'continuations', 'continuations':6},"
    "   'distill':{'how':'loss', 'teacher':'policy', 'shown':'demonstration', 'pass_rate':0.4,"
    "    'horizon':5, 'normalise':false, 'coef':0.7},"
    "   'distill_clip':{'low':0.3, 'high':0.4, 'gap':5},"
    "   'endpoint':{'base_url':'http://t/v1', 'name':'m', 'key_env':'T', 'concurrency':3, 'deadline':9, 'backoff':0.25},"
    "   'passk_schedule':{'iterations':4, 'gradual':true},"
    "   'adca':{'scheme':'allocation', 'outcome':'all_steps', 'fix_base':0.3,"
    "    'consistent_scale':0.9, 'pos_unconsistent_scale':0.4, 'neg_unconsistent_scale':0.5,"
    "    'batch_norm':false, 'equal_trajectory_weight':false, 'length_normalisation':true},"
    "   'outcome':{'weight':0.7}, 'prm':{'epochs':3}, 'schedule':{'kind':'cosine', 'alpha_end':0.1, 'beta_end':0.2}, "
    "'gae':{'lam':0.9}, 'hierarchy':{'branches':4, 'turns':2},"
    "   'target':{'length':21}, 'linear':{'output':0.5, 'input':0.6, 'turns':0.7},"
    "   'echo':{'roles':'tool=0.2', 'filter':'content'}, 'echo_probability':{'below':0.6},"
    "   'hooks':{'score':'s', 'weights':'w'}, 'custom':{'command':'c'}, 'filter':{'truncated':true, "
    "'zero_advantage':true}}}],"
    " 'training':{'iterations':11, 'group_size':12, 'epochs':13, 'minibatch':14,"
    "  'lr':0.15, 'warmup':16, 'final_rate':0.17, 'adam_beta1':0.18,"
    "  'adam_beta2':0.19, 'weight_decay':0.21, 'clip_norm':0.22, 'temperature':0.23},"
    " 'micro_batch':{'tokens':4096, 'activation_bytes':3000000000},"
    " 'loss':{'name':'cispo', 'aggregation':'seq-mean-token-sum-norm', 'clip_low':0.24,"
    "  'clip_high':0.25, 'clip_c':2.6, 'kl_coef':0.27},"
    " 'value':{'coef':0.7, 'cliprange':0.3, 'lr':0.01},"
    " 'sampler':{'precision':'int8', 'staleness':4, 'max_staleness':5},"
    " 'correction':{'name':'decoupled', 'level':'sequence', 'cap':2.9,"
    "  'reject':'token_k1,seq_max_k2', 'reject_threshold':'0.5_2,1.5'},"
    " 'judge':{'endpoint':'http://h/v1', 'model':'m', 'key_env':'K', 'prompt':'p', 'cache':'c',"
    "  'concurrency':9, 'max_tokens':10, 'deadline':11, 'timeout':12, 'backoff':13, 'skip':'all_neg',"
    "  'unjudged':'outcome', 'max_failed_share':0.4, 'wrong':0.5},"
    " 'evaluation':{'questions':31, 'question_seed':32, 'every':33, 'seeds':34,"
    "  'temperature':0.35},"
    " 'row':{'ends':true, 'passk':true}, 'cost':{'phases':true}, 'envelope':{'parts':'weights=1'},"
    " 'budget':{'train_seconds':36, 'eval_seconds':37, 'artifact_bytes':38, 'memory_bytes':"
    "39}}";

static void every_key_reads_back(void **state)
{
    struct trainer_recipe recipe = recorded(everything);
    (void)state;
    char *text = trainer_recipe_text(&recipe);
    char *json = quotes(everything);
    json_t *in = json_loads(json, 0, NULL), *out = json_loads(text, 0, NULL);
    assert_non_null(in);
    assert_true(json_equal(in, out));
    struct trainer_recipe again = recorded(text);
    assert_memory_equal(&recipe, &again, sizeof recipe);
    json_decref(in);
    json_decref(out);
    free(json);
    free(text);
}

/*
 * Proves that the test above would notice a key that is not read, or two keys that share a member. Markers are tested
 * by the next test, because they exclude a judge.
 */
static void everything_differs_from_the_defaults(void **state)
{
    struct trainer_recipe recipe = recorded(everything), initial = accepted("{}");
    const struct recipe_table *tables[] = {&recipe_root, &recipe_task};
    const void *bases[][2] = {{&recipe, &initial}, {&recipe.tasks[0], &initial.tasks[0]}};
    (void)state;
    for (size_t t = 0; t < 2; t++)
        for (size_t i = 0; i < tables[t]->n; i++) {
            const struct recipe_field *field = &tables[t]->fields[i];
            char a[2][256] = {"", ""};
            for (size_t k = 0; k < 2 && field->size > 0; k++) {
                FILE *out = fmemopen(a[k], sizeof a[k], "w");
                recipe_value_print(out, field, bases[t][k]);
                fclose(out);
            }
            bool elsewhere = strcmp(field->path, "algorithm.episodes.markers") == 0;
            if (field->size > 0 && strcmp(a[0], a[1]) == 0 && !elsewhere)
                fail_msg("%s is %s", field->path, a[0]);
        }
}

static void several_environments_read_back(void **state)
{
    struct trainer_recipe recipe = accepted("{'environments': [{}, {'name': 'reverse', "
                                            "'algorithm': {'name': 'max_rl'}}, {'k_max': 4, 'algorithm': "
                                            "{'name': 'vineppo', 'episodes': {'markers': 'S,ANS'}}}]}");
    (void)state;
    char *text = trainer_recipe_text(&recipe);
    struct trainer_recipe again = accepted(text);
    assert_int_equal(again.n_tasks, 3);
    assert_int_equal(again.tasks[1].env.kind, TRAINER_REVERSE);
    assert_int_equal(again.tasks[1].algorithm.name, RL_ALGORITHM_MAX_RL);
    assert_int_equal(again.tasks[2].env.k_max, 4);
    assert_string_equal(again.tasks[2].algorithm.episodes.markers, "S,ANS");
    assert_memory_equal(&recipe, &again, sizeof recipe);
    free(text);
}

static void numbers_are_the_shortest_that_read_back(void **state)
{
    static const char *const texts[] = {"0",
                                        "-1",
                                        "0.1",
                                        "0.0003",
                                        "1e-06",
                                        "0.3333333333333333",
                                        "1e+300",
                                        "5e-324",
                                        "9007199254740991",
                                        "1000000",
                                        "0.30000000000000004"};
    (void)state;
    for (size_t i = 0; i < sizeof texts / sizeof *texts; i++) {
        char text[32];
        recipe_number_text(text, strtod(texts[i], NULL));
        if (strtod(texts[i], NULL) > 1e-323)
            assert_string_equal(text, texts[i]);
        assert_true(strtod(text, NULL) == strtod(texts[i], NULL));
    }
}

static void names_are_those_of_the_environments_and_algorithms(void **state)
{
    (void)state;
    const struct recipe_field *env = recipe_find(&recipe_task, "name");
    const struct recipe_field *algorithm = recipe_find(&recipe_task, "algorithm.name");
    for (int i = 0; i < TRAINER_N_ENVS; i++)
        assert_string_equal(env->choices[i], trainer_env_name((enum trainer_env_kind)i));
    for (size_t i = 0; i < RL_N_ALGORITHMS; i++)
        assert_string_equal(recipe_choice(algorithm, i), rl_algorithm_at(i)->name);
    assert_string_equal(rl_algorithm_at(RL_ALGORITHM_TURN_GROUP_V1D)->name, "turn-group-v1d");
    assert_string_equal(rl_algorithm_at(RL_ALGORITHM_GRPO_PASSK)->name, "grpo_passk");
    assert_string_equal(rl_algorithm_at(RL_ALGORITHM_ECHO)->name, "echo");
    assert_null(recipe_choice(algorithm, RL_N_ALGORITHMS));
    struct trainer_recipe r = accepted("{'loss': {'name': 'geo_mean'}, 'sampler': {'precision': 'bf16'}}");
    assert_true(r.loss.name == TRAINER_LOSS_GEO_MEAN && r.sampler.precision == TRAINER_BF16);
    r = accepted("{'loss': {'name': 'ipo'}, 'correction': {'level': 'token'}}");
    assert_true(r.loss.name == TRAINER_LOSS_IPO && !r.correction.sequence_level);
}

/* The text of a recipe identifies it. Therefore a recipe without a judge has the same text as before judges existed. */
static void a_judge_is_written_only_where_there_is_one(void **state)
{
    (void)state;
    struct trainer_recipe r = accepted("{'judge': {'wrong': 0}}");
    char *text = trainer_recipe_text(&r);
    assert_null(strstr(text, "judge"));
    free(text);
    r = accepted("{'judge': {'wrong': 0.25}, 'environments': [{'algorithm': {'name': 'adca'}}]}");
    text = trainer_recipe_text(&r);
    assert_non_null(strstr(text, "  \"judge\": {\n    \"endpoint\": \"\",\n"));
    assert_non_null(strstr(text, "\"wrong\": 0.25\n  },\n  \"evaluation\""));
    struct trainer_recipe again = accepted(text);
    assert_memory_equal(&r, &again, sizeof r);
    free(text);
}

static void a_judge_needs_address_model_and_an_algorithm_that_asks(void **state)
{
    (void)state;
    static const char *const rest = ", 'environments': [{'algorithm': {'name': 'adca'}}]}";
    static const char *const judges[][2] = {
        {"{'judge': {'model': 'm'}", "judge.model needs judge.endpoint"},
        {"{'judge': {'endpoint': 'http://h'}", "judge.endpoint needs judge.model"},
        {"{'judge': {'endpoint': 'ftp://h', 'model': 'm'}", "must begin with http"},
        {"{'judge': {'endpoint': 'https://', 'model': 'm'}", "must begin with http"},
        {"{'judge': {'endpoint': 'https://me:secret@h/v1', 'model': 'm'}", "must not hold a password"},
        {"{'judge': {'endpoint': 'https://h/v1?key=secret', 'model': 'm'}", "without ? and #"}};
    for (size_t i = 0; i < sizeof judges / sizeof *judges; i++) {
        char text[256];
        snprintf(text, sizeof text, "%s%s", judges[i][0], rest);
        assert_refused(text, judges[i][1]);
    }
    accepted("{'judge': {'endpoint': 'http://h/a@b', 'model': 'm'}, 'environments': [{'algorithm': {'name': 'adca'}}]}");
    assert_refused("{'judge': {'endpoint': 'http://h', 'model': 'm'}}", "an algorithm that asks a judge");
    assert_refused("{'environments': [{'algorithm': {'distill': {'how': 'loss'}}}]}", "needs a checkpoint");
    assert_refused("{'environments': [{'algorithm': {'name': 'opsd', 'distill': {'how': 'loss'}}}]}",
                   "must be none with algorithm.name opsd");
    assert_refused("{'environments': [{'algorithm': {'distill': {'shown': 'demonstration'}}}]}",
                   "distill.shown needs algorithm.name opsd");
    assert_refused("{'environments': [{'algorithm': {'name': 'hierarchical_grpo', 'prefix': {'value': 'continuations'}}}]}",
                   "must be policy with algorithm.name hierarchical_grpo");
    assert_refused("{'environments': [{'allocation': {'hardness': 1}}]}", "needs pool.questions");
    assert_refused("{'environments': [{'allocation': {'drop_above': 0.9}}]}", "pool.questions above 0");
    assert_refused("{'environments': [{'pool': {'questions': 64}, 'allocation': {'drop_above': 0.1, 'drop_below': 0.2}}]}",
                   "no question would be left");
    assert_refused("{'environments': [{'groups': {'sizes': 'solved'}}]}", "needs pool.questions");
    assert_refused("{'environments': [{'algorithm': {'schedule': {'kind': 'adaptive'}}}]}",
                   "adaptive needs algorithm.name turn-group-v1d");
    static const char *const episodes[][2] = {
        {"'joint', 'episodes': {'markers': 'S,,ANS'}", "at most 8 tokens"},
        {"'joint', 'episodes': {'markers': 'S,S,S,S,S,S,S,S,S'}", "at most 8 tokens"},
        {"'joint', 'episodes': {'markers': 'S ANS'}", "unknown token S ANS "},
        {"'joint', 'episodes': {'markers': 'e96'}", "unknown token e96 "},
        {"'joint', 'episodes': {'marker': 'S'}", "markers"},
        {"'grpo', 'episodes': {'markers': 'S'}", "which grpo does not"},
        {"'adca', 'episodes': {'markers': 'S'}", "which adca does not"},
        {"'vineppo', 'prefix': {'value': 'continuations'}, 'episodes': {'markers': 'S'}", "must be policy"}};
    for (size_t i = 0; i < sizeof episodes / sizeof *episodes; i++) {
        char text[200];
        snprintf(text, sizeof text, "{'environments': [{'algorithm': {'name': %s}}]}", episodes[i][0]);
        assert_refused(text, episodes[i][1]);
    }
    accepted("{'environments': [{'algorithm': {'name': 'vineppo', 'episodes': {'markers': 'e95,/OBS'}}}]}");
    accepted("{'environments': [{'algorithm': {'name': 'turn-group-v1d', 'schedule': {'kind': 'adaptive'}}}]}");
    static const char *const groups[][2] = {
        {"'least': 9}", "at most training.group_size = 8"},
        {"'least': 1}", "compares the rollouts of a group"},
        {"'least': 3}, 'algorithm': {'passk': {'k': 2}}", "a multiple of algorithm.passk.k = 2"},
        {"'least': 2}, 'algorithm': {'passk': {'k': 2}}", "and above it"},
        {"'least': 0}", "groups.least is 0"},
        {"'most': 2}", "most"},
        {"'least': 2}, 'algorithm': {'name': 'hierarchical_grpo'}", "must be equal"}};
    for (size_t i = 0; i < sizeof groups / sizeof *groups; i++) {
        char text[200];
        snprintf(text, sizeof text, "{'environments': [{'pool': {'questions': 64}, 'groups': {'sizes': 'solved', %s}]}",
                 groups[i][0]);
        assert_refused(text, groups[i][1]);
    }
    assert_refused("{'micro_batch': {'tokens': 50}}", "but the longest sequence has");
    assert_refused("{'micro_batch': {'tokens': -1}}", "micro_batch.tokens is -1");
    assert_refused("{'micro_batch': {'activation_bytes': -1}}", "must be a number from 0 on");
    assert_refused("{'micro_batch': {'activation_bytes': 1e6}}", "one micro-batch of 640 tokens needs");
    accepted("{'micro_batch': {'tokens': 200, 'activation_bytes': 6e6}}");
    assert_refused("{'environments': [{'algorithm': {'passk': {'k': 3}}}]}", "must divide training.group_size = 8");
    assert_refused("{'environments': [{'algorithm': {'passk': {'k': 8}}}]}", "must divide training.group_size = 8");
}

/* ---- refusals ---- */

static void bad_json_is_refused_with_its_line(void **state)
{
    (void)state;
    assert_refused("{\n'seed': }", "r.json:2:");
    assert_refused("[]", "must be a JSON object");
    assert_refused("{'seed': 1, 'seed': 2}", "duplicate");
    assert_refused("{'environments': {}}", "environments is {}, but must be a list of 1 to 4 objects");
    assert_refused("{'environments': []}", "a list of 1 to 4 objects");
    assert_refused("{'environments': [{},{},{},{},{}]}", "a list of 1 to 4 objects");
    assert_refused("{'environments': [{}, 3]}", "environments[1] is 3, but must be an object");
    assert_refused("{'training': 3}", "training is 3, but must be an object");
    assert_refused("{'start': {'warm_start': []}}", "start.warm_start is [], but must be an object");
}

static void environments_inherit_the_algorithm_of_the_run(void **state)
{
    (void)state;
    struct trainer_recipe r =
        accepted("{'algorithm': {'name': 'turn-group-v1d', 'alpha': 0.7}, 'environments': [{}, {'name': 'reverse', "
                 "'algorithm': {'name': 'grpo'}}, {'name': 'reverse', 'algorithm': {'alpha': 0.2}}]}");
    assert_string_equal(rl_algorithm_at(r.tasks[0].algorithm.name)->name, "turn-group-v1d");
    assert_true(r.tasks[0].algorithm.alpha > 0.69 && r.tasks[2].algorithm.alpha < 0.21);
    assert_string_equal(rl_algorithm_at(r.tasks[1].algorithm.name)->name, "grpo");
    assert_int_equal(r.tasks[2].algorithm.name, r.tasks[0].algorithm.name);
    r = accepted("{'algorithm': 'rloo'}");
    assert_string_equal(rl_algorithm_at(r.tasks[0].algorithm.name)->name, "rloo");
    r = accepted("{'algorithm': {'name': 'rloo'}}");
    assert_string_equal(rl_algorithm_at(r.tasks[0].algorithm.name)->name, "rloo");
    assert_refused("{'algorithm': 'rloo', 'environments': [{'algorithm': {'name': 'grpo'}}]}", "algorithm has no effect");
    assert_refused("{'algorithm': {'name': 'grop'}, 'environments': [{}]}", "nearest known one is grpo");
}

static void an_unknown_key_is_refused_with_the_nearest(void **state)
{
    (void)state;
    assert_refused("{'sede': 1}", "unknown key \"sede\"; the nearest known one is seed");
    assert_refused("{'training': {'epoch': 1}}", "training: unknown key \"epoch\"; the nearest known one is training.epochs");
    assert_refused("{'environments': [{}, {'algoritm': {}}]}",
                   "environments[1]: unknown key \"algoritm\"; the nearest known one is "
                   "environments[1].algorithm");
    assert_refused("{'environments': [{'algorithm': {'alhpa': 1}}]}",
                   "environments[0].algorithm: unknown key \"alhpa\"; the nearest known one is "
                   "environments[0].algorithm.alpha");
    assert_refused("{'training': {'alpha': 1}}", "nearest known one is environments[0].algorithm.alpha");
    assert_refused("{'environments': [{'algorithm': {'name': 'grop'}}]}",
                   "algorithm.name is \"grop\" (the nearest known one is grpo)");
    assert_refused("{'environments': [{'algorithm': {'name': 'custom'}}]}",
                   "custom needs algorithm.custom.command, or data.file");
    assert_refused("{'training.epochs': 1}", "nearest known one is training.epochs");
    assert_refused("{'loss': {'clip': 1}}", "nearest known one is loss.clip_low");
    assert_refused("{'a\\nb': 1}", "unknown key \"a\\nb\"");
    assert_refused("{'': 1}", "unknown key \"\"");
    assert_refused("{'start': {'warm_start': {'demonstrator': {'p_stpo': 1}}}}",
                   "nearest known one is start.warm_start.demonstrator.p_stop");
}

static void wrong_values_are_refused_with_their_path(void **state)
{
    (void)state;
    assert_refused("{'environments': [{'algorithm': {'alpha': 'x'}}]}",
                   "environments[0].algorithm.alpha is \"x\", but must be a number from 0 to 100");
    assert_refused("{'training': {'epochs': 1.5}}", "training.epochs is 1.5, but must be a whole number from 1 to 1024");
    assert_refused("{'training': {'epochs': 0}}", "training.epochs is 0");
    assert_refused("{'training': {'epochs': 1e300}}", "training.epochs is 1");
    assert_refused("{'training': {'epochs': null}}", "training.epochs is null");
    assert_refused("{'training': {'adam_beta1': 1}}", "must be a number from 0 and below 1");
    assert_refused("{'training': {'temperature': 0}}", "must be a number above 0 and at most 100");
    assert_refused("{'training': {'clip_norm': 0}}", "must be a number above 0");
    assert_refused("{'loss': {'clip_c': 1}}", "must be a number above 1");
    assert_refused("{'loss': {'kl_coef': -1e-9}}", "must be a number from 0 on");
    assert_refused("{'seed': -1}", "seed is -1");
    assert_refused("{'seed': 9007199254740992}", "seed is 9007199254740992");
    assert_refused("{'seed': '1'}", "seed is \"1\"");
    assert_refused("{'model': {'previous_token': 1}}", "model.previous_token is 1, but must be true or false");
    assert_refused("{'name': 3}", "name is 3, but must be one line of UTF-8 of at most 63 bytes");
    assert_refused("{'hypothesis': 'a\\nb'}", "hypothesis is \"a\\nb\"");
    assert_refused("{'name': '0123456789012345678901234567890123456789012345678901234567890123'}", "at most 63 bytes");
    assert_refused("{'loss': {'name': 'pop'}}",
                   "loss.name is \"pop\" (the nearest known one is ppo), but must be one of ppo, turn, gspo");
    assert_refused("{'loss': {'name': 0}}", "loss.name is 0");
    assert_refused("{'correction': {'level': 'row'}}", "one of token, sequence");
    accepted("{'training': {'epochs': 2.0}}");
}

static void settings_that_do_not_go_together_are_refused(void **state)
{
    (void)state;
#define ENV(text) "{'environments': [{}, {" text "}]}"
    assert_refused(ENV("'algorithm': {'name': 'opd'}"), "environments[1]: algorithm.teacher is missing: opd needs a checkpoint");
    assert_refused(ENV("'algorithm': {'name': 'sft'}"), "algorithm.teacher is missing: sft needs a checkpoint");
    assert_refused(ENV("'algorithm': {'name': 'sft', 'teacher': {'name': 'm', 'base_url': 'http://h/v1'}}"),
                   "let the model write rollouts to a file, and name it in data.file");
    assert_refused(ENV("'algorithm': {'teacher': {}}"), "algorithm.teacher is an object without base_url");
    assert_refused(ENV("'k_min': 5, 'k_max': 4"), "environments[1]: k_min 5, k_max 4");
    assert_refused(ENV("'k_max': 6"), "environments[1]: k_min..k_max is 3..6, which start.warm_start with 2..5");
    assert_refused(ENV("'k_min': 1"), "k_min..k_max is 1..5, which start.warm_start with 2..5");
    accepted("{'environments': [{'k_min': 1, 'k_max': 6}], 'start': {'checkpoint': 'a'}}");
    accepted("{'environments': [{'k_min': 1, 'k_max': 6}], 'start': {'warm_start': {'steps': 0}}}");
    accepted(ENV("'name': 'reverse', 'k_min': 1, 'k_max': 12"));
    accepted(ENV("'algorithm': {'name': 'opd', 'teacher': 't'}"));
    assert_refused("{'world': {'relations': 4}, 'start': {'checkpoint': 'a'}}", "k_max 5");
    assert_refused("{'world': {'relations': 4}, 'environments': [{'k_max': 4}]}", "start.warm_start.k_max is 5");
    assert_refused("{'world': {'regions': 4096, 'region_size': 4096}}", "more than 65536 entities");
    assert_refused("{'start': {'warm_start': {'k_min': 6}}}", "start.warm_start.k_min 6 is above k_max 5");
    assert_refused("{'start': {'warm_start': {'steps': 1000000, 'batch': 65536}}}", "65536000000 demonstrations");
    assert_refused("{'training': {'minibatch': 257}}", "training.minibatch is 257, but an iteration has only 256");
    accepted("{'training': {'minibatch': 512}, 'environments': [{}, {}]}");
    assert_refused("{'training': {'iterations': 1000000, 'epochs': 1000, 'minibatch': 1}}", "are more than 2147483647");
    assert_refused("{'loss': {'name': 'ipo'}, 'opsm': {'unit': 'turn'}}", "opsm.unit");
    assert_refused("{'opsm': {'unit': 'turn', 'lower': 3}}", "opsm.lower 3 is above opsm.upper 2");
    assert_refused("{'loss': {'name': 'gspo'}, 'after_tool': {'own_clip': true}}", "after_tool");
    assert_refused("{'loss': {'name': 'compose'}, 'correction': {'name': 'tis'}}", "must be none with loss.name compose");
    assert_refused("{'kl': {'place': 'reward'}}", "kl.place needs loss.kl_coef");
#define WEIGHED(loss, level, floor)                                                                                              \
    "{'loss': {'name': '" loss "'}, 'correction': {'name': 'tis', 'level': '" level "'}, 'icepop': {'floor': " floor "}}"
    assert_refused(WEIGHED("vespo", "sequence", "0"), "correction.level must be token with loss.name vespo");
    assert_refused(WEIGHED("vespo", "token", "0.5"), "icepop.floor must be 0 with loss.name vespo");
    assert_refused(WEIGHED("geo_mean", "token", "0.5"), "icepop.floor must be 0 with loss.name geo_mean");
    accepted(WEIGHED("vespo", "token", "0"));
    accepted(WEIGHED("geo_mean", "sequence", "0.5"));
    accepted(WEIGHED("ppo", "token", "0.5"));
    assert_refused(ENV("'algorithm': {'name': 'remax', 'hooks': {'score': 's'}}"),
                   "environments[1]: algorithm.hooks.score cannot");
    assert_refused(ENV("'algorithm': {'name': 'vineppo', 'hooks': {'score': 's'}}"), "with algorithm.name vineppo");
    accepted(ENV("'algorithm': {'name': 'remax', 'hooks': {'weights': 'w'}}"));
    assert_refused("{'loss': {'name': 'sapo'}, 'environments': [{'algorithm': {'name': 'turn-group-v1d'}}]}",
                   "environments[0].algorithm.beta scales the clip range, which loss.name sapo does not have");
    accepted("{'loss': {'name': 'sapo'}, 'environments': [{'algorithm': {'name': 'turn-group-v1d', 'beta': 0}}]}");
    accepted("{'loss': {'name': 'cispo'}, 'environments': [{'algorithm': {'name': 'turn-group-v1d'}}]}");
    assert_refused("{'routing': {'replay': 'R2'}}", "routing.replay needs model.experts.count");
    assert_refused("{'loss': {'name': 'dppo', 'aggregation': 'seq-mean-token-sum'}}", "must be token-mean with loss.name dppo");
    assert_refused("{'loss': {'name': 'ipo'}, 'correction': {'name': 'tis'}}", "none with loss.name ipo");
    assert_refused("{'model': {'width': 66, 'heads': 4}}", "model.width 66");
    assert_refused("{'model': {'width': 6, 'heads': 2}}", "model.width 6");
}

static void only_algorithms_that_compare_need_a_group(void **state)
{
    static const char *const alone[] = {
        "reinforce_plus_plus", "rae", "reward", "opd", "opsd", "sft", "remax", "vineppo", "ppo", NULL};
    (void)state;
    for (int i = 0; i < RL_N_ALGORITHMS; i++) {
        const char *name = rl_algorithm_at((size_t)i)->name;
        struct trainer_recipe recipe;
        char text[256];
        bool needs = true;
        if (i == RL_ALGORITHM_CUSTOM)
            continue; /* it needs a data set (trainer_data.c) */
        for (size_t k = 0; alone[k]; k++)
            needs = needs && strcmp(name, alone[k]) != 0;
        snprintf(text, sizeof text,
                 "{'environments': [{'questions': 64, 'algorithm': {'name': '%s'%s}}],"
                 " 'training': {'group_size': 1}}",
                 name, i == RL_ALGORITHM_OPD || i == RL_ALGORITHM_SFT ? ", 'teacher': 't'" : "");
        if (needs)
            assert_refused(text, "needs groups of at least 2 rollouts, not 1 (training.group_size");
        else
            assert_int_equal(parse(&recipe, text, NULL), TRAINER_OK);
    }
}

static void rejections_are_those_of_the_core(void **state)
{
    (void)state;
#define REJECT(name, reject, threshold)                                                                                          \
    "{'correction': {'name': '" name "', 'reject': '" reject "', 'reject_threshold': '" threshold "'}}"
    accepted(REJECT("decoupled", "token_k1", "0.5_2"));
    accepted(REJECT("decoupled", "seq_sum_k1,seq_mean_k2,seq_max_k3", "2,1,1"));
    assert_refused(REJECT("tis", "token_k1", "2"), "correction.reject needs correction.name decoupled");
    assert_refused(REJECT("decoupled", "token_k1", ""), "set both correction.reject");
    assert_refused(REJECT("decoupled", "", "2"), "set both correction.reject");
    assert_refused(REJECT("decoupled", "token_k9", "2"), "correction.reject: ");
    assert_refused(REJECT("decoupled", "token_k1", "x"), "correction.reject: ");
    assert_refused(REJECT("decoupled", "token_k1,token_k2", "1,2,3"), "correction.reject: ");
}

static void check_refuses(const struct trainer_recipe *recipe, const char *why)
{
    struct trainer_recipe copy = *recipe;
    struct trainer_error err = {0};
    assert_int_equal(trainer_recipe_check(&copy, &err), TRAINER_EINVAL);
    if (!strstr(err.text, why))
        fail_msg("'%s' does not say '%s'", err.text, why);
}

static void what_a_program_sets_is_checked_too(void **state)
{
    struct trainer_recipe r, good = accepted("{}");
    (void)state;
#define REFUSES(change, why) (r = good, change, check_refuses(&r, why))
    REFUSES(r.training.learning_rate = NAN, "training.lr is nan");
    REFUSES(r.loss.clip_high = INFINITY, "loss.clip_high is inf");
    REFUSES(r.n_tasks = 0, "environments has 0 entries");
    REFUSES(r.n_tasks = 5, "environments has 5 entries");
    REFUSES(r.seed = UINT64_MAX, "seed is 1");
    REFUSES(r.tasks[0].algorithm.name = (enum rl_algorithm_name)99, "environments[0].algorithm.name is 99");
    REFUSES(r.loss.name = (enum trainer_loss_name) - 1, "loss.name is");
    REFUSES(memset(r.name, 'x', sizeof r.name), "name is not terminated");
    REFUSES(strcpy(r.name, "\xff"), "name is something else");
    REFUSES((r.n_tasks = 2, r.tasks[1] = r.tasks[0], r.tasks[1].questions = 0), "environments[1].questions is 0");
}

static void a_refusal_needs_no_error_struct(void **state)
{
    struct trainer_recipe recipe;
    (void)state;
    assert_int_equal(parse(&recipe, "{'x': 1}", NULL), TRAINER_EINVAL);
    assert_int_equal(parse(&recipe, "{", NULL), TRAINER_EINVAL);
    assert_int_equal(trainer_recipe_load(&recipe, "/nonexistent/r.json", NULL), TRAINER_ENOTFOUND);
}

/* ---- files ---- */

static void files_are_read_and_missing_ones_named(void **state)
{
    struct trainer_recipe recipe;
    struct trainer_error err;
    char *dir = make_dir(), *path = join(dir, "a.json");
    (void)state;
    assert_int_equal(trainer_recipe_load(&recipe, path, &err), TRAINER_ENOTFOUND);
    assert_non_null(strstr(err.text, "a.json: "));
    assert_int_equal(trainer_recipe_load(&recipe, dir, &err), TRAINER_EIO);
    write_file(path, "{\"sed\": 1}", 10);
    assert_int_equal(trainer_recipe_load(&recipe, path, &err), TRAINER_EINVAL);
    assert_non_null(strstr(err.text, "a.json: unknown key"));
    write_file(path, "{\"seed\":5}", 10);
    assert_int_equal(trainer_recipe_load(&recipe, path, &err), TRAINER_OK);
    assert_int_equal(recipe.seed, 5);
    free(path);
    remove_dir(dir);
}

static void the_published_recipes_are_sound(void **state)
{
    static const char *const names[] = {"warm", "grpo", "v1d"};
    struct trainer_recipe r[3];
    struct trainer_error err;
    (void)state;
    for (size_t i = 0; i < 3; i++) {
        char path[512];
        snprintf(path, sizeof path, "%s/recipes/%s.json", FIXTURES_DIR, names[i]);
        if (trainer_recipe_load(&r[i], path, &err) != TRAINER_OK)
            fail_msg("%s", err.text);
        assert_string_equal(r[i].name, names[i]);
        assert_true(r[i].warm_start.steps == 450 && r[i].warm_start.k_min == 2 && r[i].warm_start.k_max == 5);
    }
    assert_int_equal(r[0].training.iterations, 0);
    assert_true(r[1].loss.name == TRAINER_LOSS_PPO && r[1].loss.clip_high == 0.28);
    assert_true(r[2].loss.name == TRAINER_LOSS_TURN && r[2].loss.clip_high == 0.13);
    assert_int_equal(r[2].loss.aggregation, TRAINER_SEQ_MEAN_TOKEN_MEAN);
    assert_int_equal(r[2].tasks[0].algorithm.name, RL_ALGORITHM_TURN_GROUP_V1D);
}

/* AgentEvolver's settings; an epoch is a pass over the pool, which takes two iterations. */
static void the_recipe_of_adca_is_the_published_one(void **state)
{
    struct trainer_recipe r;
    struct trainer_error err;
    (void)state;
    if (trainer_recipe_load(&r, FIXTURES_DIR "/recipes/adca-published.json", &err) != TRAINER_OK)
        fail_msg("%s", err.text);
    const struct trainer_algorithm *a = &r.tasks[0].algorithm;
    assert_int_equal(a->name, RL_ALGORITHM_ADCA);
    assert_true(a->alpha == 0.1 && a->adca.outcome_weight == 1 && a->adca.fix_base == 0.2);
    assert_true(a->adca.scheme == TRAINER_ADCA_DECOUPLE && a->adca.outcome == TRAINER_ADCA_LAST_STEP);
    assert_true(r.judge.skip == TRAINER_JUDGE_SMALL_ADV && r.judge.unjudged == TRAINER_UNJUDGED_OUTCOME);
    assert_int_equal(judged_iterations(&r.tasks[0]), 40);
    r.tasks[0].questions = 3; /* the last iteration of the twentieth epoch asks about a question of the next one, too */
    assert_int_equal(judged_iterations(&r.tasks[0]), 54);
    r.tasks[0].algorithm.prm_epochs = 0;
    assert_int_equal(judged_iterations(&r.tasks[0]), 0);
    r.tasks[0].algorithm.prm_steps = 7;
    assert_int_equal(judged_iterations(&r.tasks[0]), 7);
}

/* With LINEAGE_WRITE_SCHEMA=1 the test writes the published file. */
static void the_published_schema_is_the_table(void **state)
{
    size_t length;
    char *schema = recipe_schema();
    (void)state;
    if (getenv("LINEAGE_WRITE_SCHEMA"))
        write_file(SCHEMA, schema, strlen(schema));
    char *published = read_file(SCHEMA, &length);
    assert_string_equal(published, schema);
    json_t *json = json_loads(schema, JSON_REJECT_DUPLICATES, NULL);
    assert_non_null(json);
    json_decref(json);
    free(published);
    free(schema);
}

/* The writers of the text and of the schema rely on the order of the table. */
static void the_table_is_in_order(void **state)
{
    const struct recipe_table *tables[] = {&recipe_root, &recipe_task};
    (void)state;
    for (size_t t = 0; t < 2; t++) {
        size_t depth = 0;
        for (size_t i = 0; i < tables[t]->n; i++) {
            const struct recipe_field *field = &tables[t]->fields[i];
            char parent[128];
            assert_true(recipe_depth(field) <= depth);
            assert_ptr_equal(recipe_find(tables[t], field->path), field);
            assert_true(field->help[0] && strlen(field->path) < 100);
            snprintf(parent, sizeof parent, "%s", field->path);
            char *dot = strrchr(parent, '.');
            if (dot) {
                *dot = 0;
                assert_int_equal(recipe_find(tables[t], parent)->kind, RECIPE_OBJECT);
            }
            depth = recipe_depth(field) + (field->kind == RECIPE_OBJECT);
        }
    }
}

/* ---- settings ---- */

struct visited {
    size_t n;
    double alpha, k_min, learning_rate, previous_token;
    char loss[32];
    bool strange;
};

static void note_setting(void *context, const struct trainer_setting *setting)
{
    struct visited *v = context;
    v->n++;
    if (strcmp(setting->path, "algorithm.alpha") == 0)
        v->alpha = setting->value;
    else if (strcmp(setting->path, "env.k_min") == 0)
        v->k_min = setting->value;
    else if (strcmp(setting->name, "lr") == 0)
        v->learning_rate = setting->value;
    else if (strcmp(setting->path, "model.previous_token") == 0)
        v->previous_token = setting->value;
    else if (strcmp(setting->path, "loss.name") == 0)
        snprintf(v->loss, sizeof v->loss, "%s", setting->text);
    v->strange |= strchr(setting->path, '[') || (setting->text != NULL) != (bool)isnan(setting->value);
}

static void every_setting_is_visited_under_its_path(void **state)
{
    struct visited v = {0};
    struct trainer_recipe recipe = recorded(everything);
    size_t settings = 0;
    (void)state;
    const struct recipe_table *tables[] = {&recipe_root, &recipe_task};
    for (size_t t = 0; t < 2; t++)
        for (size_t i = 0; i < tables[t]->n; i++)
            settings += tables[t]->fields[i].kind != RECIPE_OBJECT && tables[t]->fields[i].kind != RECIPE_TASKS;
    trainer_recipe_settings(&recipe, note_setting, &v);
    assert_int_equal(v.n, settings);
    assert_true(v.alpha == 0.31 && v.k_min == 2 && v.learning_rate == 0.15 && v.previous_token == 0);
    assert_string_equal(v.loss, "cispo");
    assert_false(v.strange);
}

/* Appends the setting's name and a blank, if a row of the store would contain this setting. */
static void note_name(void *context, const struct trainer_setting *setting)
{
    char *list = context;
    if (setting->named && !strchr(setting->name, '.'))
        sprintf(list + strlen(list), "%s ", setting->name);
}

static void rows_name_what_the_algorithm_reads(void **state)
{
    static const char *const cases[][2] = {{"grpo", ""},
                                           {"rloo", ""},
                                           {"joint", "gamma "},
                                           {"rae", "decay "},
                                           {"echo", "echo_weight "},
                                           {"reinforce_plus_plus", "gamma "},
                                           {"process", ""},
                                           {"adca", "alpha prm_steps "},
                                           {"turn-group-v1d", "alpha gamma beta "}};
    (void)state;
    for (size_t i = 0; i < sizeof cases / sizeof *cases; i++) {
        char text[128], names[512] = "", wanted[512];
        snprintf(text, sizeof text, "{'environments': [{'algorithm': {'name': '%s'}}]}", cases[i][0]);
        struct trainer_recipe recipe = accepted(text);
        trainer_recipe_settings(&recipe, note_name, names);
        snprintf(wanted, sizeof wanted, "seed iterations group_size lr clip_low clip_high questions k_min k_max algorithm %s",
                 cases[i][1]);
        assert_string_equal(names, wanted);
    }
}

/* Defaults depend on the algorithm, wherever its name is in the file; explicit settings override them. */
static void defaults_are_the_algorithms(void **state)
{
    (void)state;
    struct trainer_recipe r = accepted("{'environments': [{'algorithm': {'name': 'adca'}}]}");
    assert_true(r.tasks[0].algorithm.alpha == 1 && r.tasks[0].algorithm.decay == 0.95);
    r = accepted("{'environments': [{'algorithm': {'alpha': 0.2, 'name': 'adca'}}]}");
    assert_true(r.tasks[0].algorithm.alpha == 0.2);
    r = accepted("{}");
    assert_true(r.tasks[0].algorithm.alpha == 0.3 && r.tasks[0].algorithm.norm_by_std);
}

static struct trainer_recipe changed(const char *text, size_t n, const struct trainer_change *list)
{
    struct trainer_recipe recipe;
    struct trainer_error err;
    if (trainer_recipe_parse_changed(&recipe, "r.json", text, strlen(text), list, n, &err) != TRAINER_OK)
        fail_msg("%s", err.text);
    return recipe;
}

/* A setting has the same name everywhere. Older keys can still be read, but only the new key is written. */
static void a_setting_has_one_name(void **state)
{
    (void)state;
    struct trainer_recipe r = accepted("{'training': {'learning_rate': 0.5}}");
    assert_true(r.training.learning_rate == 0.5);
    r = accepted("{'lr': 0.25, 'alpha': 0.7, 'k_max': 4, 'algorithm': 'turn-group-v1d',"
                 " 'environments': [{}, {'name': 'reverse'}]}");
    assert_true(r.training.learning_rate == 0.25 && r.tasks[0].algorithm.alpha == 0.7 && r.tasks[1].algorithm.alpha == 0.7 &&
                r.tasks[0].env.k_max == 4);
    r = accepted("{'learning_rate': 0.75}");
    assert_true(r.training.learning_rate == 0.75);
    r = accepted("{'start': {'warm_start': {'learning_rate': 0.125}}}");
    assert_true(r.warm_start.learning_rate == 0.125);
    char *text = trainer_recipe_text(&r);
    assert_null(strstr(text, "learning_rate"));
    assert_non_null(strstr(text, "\"lr\": 0.125"));
    free(text);
    assert_refused("{'lr': 1, 'training': {'lr': 2}}", "lr and training.lr are the same setting");
    assert_refused("{'training': {'lr': 1, 'learning_rate': 2}}", "the same setting, given twice");
    const struct trainer_change changes[] = {{"lr", "0.01", false},         {"training.learning_rate", "0.02", false},
                                             {"alpha", "0.9", false},       {"environments[1].algorithm.alpha", "0.8", false},
                                             {"env.questions", "3", false}, {"hypothesis", "7", true},
                                             {"loss.name", "gspo", false}};
    r = changed("{\"environments\": [{\"algorithm\": {\"name\": \"adca\"}}, {\"name\": \"reverse\", \"algorithm\": {\"name\": "
                "\"adca\"}}], \"training\": {\"minibatch\": 8}}",
                7, changes);
    assert_true(r.training.learning_rate == 0.02 && r.tasks[0].algorithm.alpha == 0.9 && r.tasks[1].algorithm.alpha == 0.8 &&
                r.tasks[1].questions == 3);
    assert_string_equal(r.hypothesis, "7");
    assert_int_equal(r.loss.name, TRAINER_LOSS_GSPO);
}

static void an_unknown_setting_is_refused_with_the_nearest(void **state)
{
    static const char *const cases[][2] = {{"alhpa", "nearest known one is alpha"},
                                           {"training.iteratoins", "nearest known one is training.iterations"},
                                           {"learning_rte", "unknown setting 'learning_rte'"},
                                           {"environments[7].k_min", "no such place"},
                                           {"seed.x", "unknown setting 'seed.x'"}};
    (void)state;
    for (size_t i = 0; i < sizeof cases / sizeof *cases; i++) {
        const struct trainer_change change = {cases[i][0], "1", false};
        struct trainer_recipe recipe;
        struct trainer_error err;
        assert_int_equal(trainer_recipe_parse_changed(&recipe, "r.json", "{}", 2, &change, 1, &err), TRAINER_EINVAL);
        if (!strstr(err.text, cases[i][1]))
            fail_msg("%s", err.text);
    }
}

static bool lacks(const struct trainer_recipe *recipe, const char *correction)
{
    struct trainer_lack found[TRAINER_LACKS_MAX];
    size_t n = trainer_recipe_lacks(recipe, found);
    for (size_t i = 0; i < n; i++)
        if (strcmp(found[i].correction, correction) == 0)
            return found[i].reason[0] != 0;
    return false;
}

static void what_a_recipe_lacks_is_the_cores_plan_less_what_it_has(void **state)
{
    (void)state;
    struct trainer_recipe r = accepted("{}");
    struct trainer_lack found[TRAINER_LACKS_MAX];
    assert_int_equal(trainer_recipe_lacks(&r, found), 0);
    r = accepted("{'sampler': {'precision': 'int8'}}");
    assert_true(lacks(&r, "importance_weights") && lacks(&r, "turn_ratios"));
    assert_false(lacks(&r, "admission") || lacks(&r, "clip") || lacks(&r, "routing_replay_r3"));
    r = accepted("{'sampler': {'precision': 'int8'}, 'correction': {'name': 'recompute'}}");
    assert_false(lacks(&r, "importance_weights"));
    r = accepted("{'sampler': {'staleness': 4}, 'loss': {'name': 'reinforce'}}");
    assert_true(lacks(&r, "admission") && lacks(&r, "decoupled_ppo") && lacks(&r, "clip"));
    r = accepted("{'sampler': {'staleness': 4, 'max_staleness': 4}, 'loss': {'name': 'compose'},"
                 " 'compose': {'per_turn': true}}");
    assert_int_equal(trainer_recipe_lacks(&r, found), 0);
    r = accepted("{'model': {'experts': {'count': 4}}}"); /* makes 8 updates per iteration */
    assert_true(lacks(&r, "routing_replay_r3"));
    r = accepted("{'model': {'experts': {'count': 4}}, 'training': {'epochs': 1, 'minibatch': 128}}");
    assert_true(lacks(&r, "routing_replay_r2") && !lacks(&r, "routing_replay_r3"));
    r = accepted("{'model': {'experts': {'count': 4}}, 'routing': {'replay': 'R3'}}");
    assert_false(lacks(&r, "routing_replay_r3"));
}

static void assert_cautions(const char *text, const char *const *wanted, size_t n)
{
    struct trainer_recipe r = accepted(text);
    struct trainer_caution found[TRAINER_CAUTIONS_MAX];
    assert_int_equal(trainer_recipe_cautions(&r, found), n);
    for (size_t i = 0; i < n; i++)
        if (!strstr(found[i].text, wanted[i]))
            fail_msg("%s", found[i].text);
}

static void values_that_another_program_means_otherwise_have_a_caution(void **state)
{
    (void)state;
    assert_cautions("{}", NULL, 0);
    assert_cautions("{'epsilon': 1e-4}", NULL, 0);
    assert_cautions("{'epsilon': 0.2}", (const char *const[]){"algorithm.epsilon is 0.2: here it is added to the deviation"}, 1);
    assert_cautions("{'environments': [{}, {'algorithm': {'name': 'turn-group-v1d', 'beta': 0.04}}], 'loss': {'name': 'turn'}}",
                    (const char *const[]){"env1.algorithm.beta is 0.04: here it is the strength"}, 1);
    assert_cautions("{'loss': {'name': 'ipo'}}", (const char *const[]){"ipo.threshold is not in the recipe and is 0.1"}, 1);
    assert_cautions("{'loss': {'name': 'ipo'}, 'ipo': {'threshold': 0.1}}", NULL, 0);
}

/* Every name leads to its setting, and no two settings share a name. */
static void names_lead_to_their_settings(void **state)
{
    const struct recipe_table *tables[] = {&recipe_root, &recipe_task};
    size_t n = 0;
    (void)state;
    for (size_t t = 0; t < 2; t++)
        for (size_t i = 0; i < tables[t]->n; i++) {
            char path[128], called[128];
            const struct recipe_field *field = &tables[t]->fields[i];
            const char *name = recipe_short_name(tables[t], field);
            recipe_called(called, recipe_name(tables[t], field, path));
            assert_string_equal(called, name ? name : path);
            recipe_called(called, path);
            assert_string_equal(called, name ? name : path);
            n += name != NULL;
        }
    assert_int_equal(n, 50); /* every row of the table, so none is left from a removed setting */
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(an_empty_recipe_is_the_default),
        cmocka_unit_test(a_judge_is_written_only_where_there_is_one),
        cmocka_unit_test(a_judge_needs_address_model_and_an_algorithm_that_asks),
        cmocka_unit_test(defaults_are_those_of_the_parts),
        cmocka_unit_test(the_model_follows_from_world_and_environments),
        cmocka_unit_test(every_key_reads_back),
        cmocka_unit_test(everything_differs_from_the_defaults),
        cmocka_unit_test(several_environments_read_back),
        cmocka_unit_test(numbers_are_the_shortest_that_read_back),
        cmocka_unit_test(names_are_those_of_the_environments_and_algorithms),
        cmocka_unit_test(bad_json_is_refused_with_its_line),
        cmocka_unit_test(environments_inherit_the_algorithm_of_the_run),
        cmocka_unit_test(an_unknown_key_is_refused_with_the_nearest),
        cmocka_unit_test(wrong_values_are_refused_with_their_path),
        cmocka_unit_test(settings_that_do_not_go_together_are_refused),
        cmocka_unit_test(only_algorithms_that_compare_need_a_group),
        cmocka_unit_test(rejections_are_those_of_the_core),
        cmocka_unit_test(what_a_program_sets_is_checked_too),
        cmocka_unit_test(a_refusal_needs_no_error_struct),
        cmocka_unit_test(files_are_read_and_missing_ones_named),
        cmocka_unit_test(the_published_recipes_are_sound),
        cmocka_unit_test(the_recipe_of_adca_is_the_published_one),
        cmocka_unit_test(the_published_schema_is_the_table),
        cmocka_unit_test(the_table_is_in_order),
        cmocka_unit_test(every_setting_is_visited_under_its_path),
        cmocka_unit_test(rows_name_what_the_algorithm_reads),
        cmocka_unit_test(defaults_are_the_algorithms),
        cmocka_unit_test(a_setting_has_one_name),
        cmocka_unit_test(an_unknown_setting_is_refused_with_the_nearest),
        cmocka_unit_test(values_that_another_program_means_otherwise_have_a_caution),
        cmocka_unit_test(names_lead_to_their_settings),
        cmocka_unit_test(what_a_recipe_lacks_is_the_cores_plan_less_what_it_has),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
