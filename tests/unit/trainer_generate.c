/* trainer_generate.c: tests rollouts, which use cached keys and values, against forward passes over whole sequences. */
#include "support/unit.h"

#include <math.h>
#include <stdlib.h>
#include <string.h>

#include "support/error.h"
#include "rollout/sampler.h"
#include "support/small_recipe.h"

/* Computes the log-probs of the wanted tokens of one sequence with one pass over the whole sequence. */
static void full_forward(const struct trainer_model *model, const float *params, const int32_t *tokens, const uint8_t *wanted,
                         size_t n, float *log_prob)
{
    const size_t start[2] = {0, n};
    struct trainer_sequences in = {1, start, tokens, wanted};
    struct trainer_passf *pass;
    struct trainer_error err;
    if (trainer_pass_createf(&pass, model, n, n, &err) != TRAINER_OK ||
        trainer_policy_forwardf(pass, params, &in, log_prob, NULL, &err) != TRAINER_OK)
        fail_msg("%s", err.text);
    trainer_pass_freef(pass);
}

static void assert_log_probs(const struct trainer_recipe *recipe, const float *params, const struct trainer_rollout *r)
{
    float log_prob[256];
    size_t n = 0;
    full_forward(&recipe->model, params, r->tokens, r->mask, (size_t)r->length, log_prob);
    for (int32_t t = 0; t < r->length; t++)
        if (r->mask[t])
            assert_near((double)r->log_prob[t], (double)log_prob[n++], 2e-5);
        else
            assert_true(r->log_prob[t] == 0);
    assert_true(n >= 1);
}

/* Returns the probability or mean log-prob of the true answer after the first `at` tokens. */
static double value_of(const struct trainer_recipe *recipe, const float *params, const struct trainer_rollout *r, int32_t at)
{
    const struct trainer_task *task = &recipe->tasks[r->task];
    int32_t tokens[256];
    uint8_t wanted[256] = {0};
    float log_prob[TRAINER_HOPS_MAX];
    memcpy(tokens, r->tokens, (size_t)at * sizeof *tokens);
    tokens[at] = TRAINER_ANS;
    size_t n = trainer_env_answer(&task->env, &r->episode, tokens + at + 1);
    memset(wanted + at + 1, 1, n);
    full_forward(&recipe->model, params, tokens, wanted, (size_t)at + 1 + n, log_prob);
    double sum = 0;
    for (size_t i = 0; i < n; i++)
        sum += (double)log_prob[i];
    return task->algorithm.gain == TRAINER_GAIN_PROB ? exp(sum) : sum / (double)n;
}

static void assert_values(const struct trainer_recipe *recipe, const float *params, const struct trainer_rollout *r)
{
    int32_t boundary = 0;
    assert_non_null(r->value);
    assert_near(r->value[0], value_of(recipe, params, r, r->prompt), 2e-5);
    for (int32_t t = r->prompt; t + 1 < r->length; t++)
        if (r->tokens[t] == TRAINER_END_OBS && !r->mask[t])
            assert_near(r->value[++boundary], value_of(recipe, params, r, t + 1), 2e-5);
    assert_int_equal(boundary, r->n_turns);
}

/* ---- what a rollout holds ---- */

/* Plays the episode again with the recorded tokens, and asserts that the result is what the rollout recorded. */
static void assert_is_an_episode(const struct trainer_recipe *recipe, const struct trainer_rollout *r)
{
    const struct trainer_env *env = &recipe->tasks[r->task].env;
    struct trainer_episode episode;
    int32_t text[TRAINER_OBSERVATION_MAX], prompt[TRAINER_PROMPT_MAX], t, turns = 0;
    size_t n = trainer_env_reset(env, r->episode.question, r->episode.noise, &episode, prompt);
    assert_int_equal(r->prompt, n);
    assert_memory_equal(r->tokens, prompt, n * sizeof *prompt);
    for (t = r->prompt; t < r->length; t += 1 + (int32_t)n) {
        assert_int_equal(r->mask[t], 1);
        assert_int_equal(r->turn[t], turns);
        turns += trainer_env_step(env, &episode, r->tokens[t], text, &n) == TRAINER_TURN_OBSERVED;
        assert_memory_equal(r->tokens + t + 1, text, n * sizeof *text);
        for (size_t i = 1; i <= n; i++)
            assert_true(r->mask[t + (int32_t)i] == 0 && r->turn[t + (int32_t)i] == -1);
    }
    assert_int_equal(t, r->length);
    assert_int_equal(turns, r->n_turns);
    assert_true(episode.done && episode.reward == r->reward && episode.malformed == r->malformed);
}

struct kinds {
    size_t malformed, right, several_turns;
};

static struct kinds check_rollouts(const struct trainer_recipe *recipe, const float *params, int32_t questions)
{
    struct kinds kinds = {0};
    struct trainer_rollouts *rollouts = sample(recipe, params, questions, 5);
    size_t n = trainer_rollouts_count(rollouts), g = (size_t)recipe->training.group_size;
    assert_int_equal(n, (size_t)questions * g * (size_t)recipe->n_tasks);
    for (size_t i = 0; i < n; i++) {
        struct trainer_rollout r = trainer_rollouts_get(rollouts, i);
        struct trainer_rollout leader = trainer_rollouts_get(rollouts, i / g * g);
        assert_true(r.episode.question == leader.episode.question && r.group == leader.group);
        assert_true(i % g == 0 || r.episode.noise != leader.episode.noise);
        assert_is_an_episode(recipe, &r);
        assert_log_probs(recipe, params, &r);
        if (r.value)
            assert_values(recipe, params, &r);
        kinds.malformed += r.malformed;
        kinds.right += r.reward > 0;
        kinds.several_turns += r.n_turns > 1;
    }
    trainer_rollouts_free(rollouts);
    return kinds;
}

static void hopworld_agrees_with_whole_passes(void **state)
{
    (void)state;
    struct trainer_recipe recipe = small_recipe(TRAINER_HOPWORLD);
    recipe.tasks[0].algorithm.name = RL_ALGORITHM_JOINT;
    float *params = warm_policy(&recipe, 150);
    struct kinds kinds = check_rollouts(&recipe, params, 40);
    assert_true(kinds.malformed > 0 && kinds.right > 0 && kinds.several_turns > 10);
    recipe.tasks[0].algorithm.gain = TRAINER_GAIN_LOG_PROB;
    (void)check_rollouts(&recipe, params, 10);
    free(params);
}

/* If answers have several tokens, the branch that scores them holds all but the last token. */
static void reverse_agrees_with_whole_passes(void **state)
{
    (void)state;
    struct trainer_recipe recipe = small_recipe(TRAINER_REVERSE);
    recipe.tasks[0].env.k_max = 5;
    recipe.tasks[0].algorithm.name = RL_ALGORITHM_SEPARATE;
    check_recipe(&recipe);
    float *params = warm_policy(&recipe, 40);
    struct kinds kinds = check_rollouts(&recipe, params, 40);
    assert_true(kinds.right > 0);
    recipe.tasks[0].algorithm.gain = TRAINER_GAIN_LOG_PROB;
    (void)check_rollouts(&recipe, params, 10);
    free(params);
}

/* Tests environments whose calls and answers both have several tokens; ledger and sums have calls of another form. */
static void slots_ledger_and_sums_agree_with_whole_passes(void **state)
{
    (void)state;
    for (int kind = TRAINER_SLOTS; kind <= TRAINER_SUMS; kind++) {
        struct trainer_recipe recipe = small_recipe((enum trainer_env_kind)kind);
        recipe.tasks[0].algorithm.name = RL_ALGORITHM_JOINT;
        recipe.tasks[0].algorithm.gain = TRAINER_GAIN_LOG_PROB;
        float *params = warm_policy(&recipe, 150);
        struct kinds kinds = check_rollouts(&recipe, params, 40);
        assert_true(kinds.right > 0 && kinds.several_turns > 10);
        free(params);
    }
}

static struct trainer_recipe mixed_recipe(void)
{
    struct trainer_recipe recipe = small_recipe(TRAINER_HOPWORLD);
    recipe.tasks[1] = recipe.tasks[0];
    recipe.tasks[1].env.kind = TRAINER_REVERSE;
    recipe.tasks[1].algorithm.name = RL_ALGORITHM_GRPO;
    recipe.tasks[0].algorithm.name = RL_ALGORITHM_TURN_GROUP_V1D;
    recipe.n_tasks = 2;
    check_recipe(&recipe);
    return recipe;
}

static void two_environments_agree_with_whole_passes(void **state)
{
    (void)state;
    struct trainer_recipe recipe = mixed_recipe();
    float *params = warm_policy(&recipe, 40);
    (void)check_rollouts(&recipe, params, 20);
    free(params);
}

/* Tests other shapes of the network, and groups whose size does not divide a lane. */
static void other_models_agree_with_whole_passes(void **state)
{
    (void)state;
    struct trainer_recipe recipe = small_recipe(TRAINER_HOPWORLD);
    recipe.tasks[0].algorithm.name = RL_ALGORITHM_JOINT;
    recipe.model.layers = 1;
    recipe.model.heads = 4;
    recipe.model.previous_token = false;
    recipe.training.group_size = 7;
    recipe.tasks[0].env.facts = 4;
    check_recipe(&recipe);
    float *params = warm_policy(&recipe, 60);
    (void)check_rollouts(&recipe, params, 13);
    free(params);
    recipe.model.layers = 3;
    recipe.model.heads = 1;
    recipe.model.width = 18;
    check_recipe(&recipe);
    params = warm_policy(&recipe, 20);
    (void)check_rollouts(&recipe, params, 13);
    free(params);
}

/* ---- the same again ---- */

static void assert_same_rollouts(const struct trainer_rollouts *a, const struct trainer_rollouts *b)
{
    assert_int_equal(a->n, b->n);
    for (size_t i = 0; i < a->n; i++) {
        struct trainer_rollout x = trainer_rollouts_get(a, i), y = trainer_rollouts_get(b, i);
        size_t n = (size_t)x.length;
        assert_int_equal(x.length, y.length);
        assert_memory_equal(x.tokens, y.tokens, n * sizeof *x.tokens);
        assert_memory_equal(x.log_prob, y.log_prob, n * sizeof *x.log_prob);
        assert_memory_equal(x.advantage, y.advantage, n * sizeof *x.advantage);
        assert_memory_equal(x.clip_scale, y.clip_scale, n * sizeof *x.clip_scale);
        assert_memory_equal(x.value, y.value, ((size_t)x.n_turns + 1) * sizeof *x.value);
        assert_true(x.reward == y.reward);
    }
}

static bool differ(const struct trainer_rollouts *a, const struct trainer_rollouts *b)
{
    bool any = false;
    for (size_t i = 0; i < a->n; i++)
        any = any || memcmp(a->tokens + i * a->width, b->tokens + i * a->width, 10 * sizeof *a->tokens) != 0;
    return any;
}

static void threads_and_repetition_change_nothing(void **state)
{
    (void)state;
    struct trainer_recipe recipe = mixed_recipe();
    float *params = warm_policy(&recipe, 40);
    struct trainer_rollouts *once = sample(&recipe, params, 35, 9), *other = sample(&recipe, params, 35, 10);
    assert_int_equal(once->n, 280); /* five lanes */
    assert_true(differ(once, other));
    for (recipe.threads = 1; recipe.threads <= 3; recipe.threads++) {
        struct trainer_rollouts *again = sample(&recipe, params, 35, 9);
        assert_same_rollouts(once, again);
        trainer_rollouts_free(again);
    }
    trainer_rollouts_free(once);
    trainer_rollouts_free(other);
    free(params);
}

/* ---- going on from a prefix ---- */

static void played(const struct trainer_recipe *recipe, const float *params, struct trainer_rollouts *rollouts, int32_t turns,
                   bool values)
{
    struct sampler_job job = {.rollouts = rollouts, .params = {params}, .temperature = 1, .turns = turns, .values = values};
    struct sampler sampler;
    assert_int_equal(sampler_open(&sampler, recipe, recipe->threads, NULL), TRAINER_OK);
    assert_int_equal(sampler_play(&sampler, &job, NULL), TRAINER_OK);
    sampler_close(&sampler);
}

static struct trainer_rollouts *started(const struct trainer_recipe *recipe, size_t questions, size_t group_size, size_t capacity)
{
    struct trainer_rollouts *rollouts = rollouts_new(capacity, (size_t)recipe->model.max_tokens);
    const struct rollouts_plan plan = {
        .env = &recipe->tasks[0].env, .questions = questions, .group_size = group_size, .question_seed = 3, .noise_seed = 8};
    rollouts_add(rollouts, &plan, 0);
    return rollouts;
}

/* Continues each row from each of its boundaries and from its end, with three noises; the last noise is used twice. */
static void add_all_ways_on(struct trainer_rollouts *to, const struct trainer_env *env, const struct trainer_rollouts *from)
{
    const uint64_t noise[] = {21, 22, 23, 23};
    for (size_t row = 0; row < from->n; row++)
        for (int32_t b = 0; b <= from->n_turns[row] + 1; b++)
            for (size_t k = 0; k < 4; k++) {
                bool whole = b > from->n_turns[row];
                int32_t kept = whole ? from->length[row] : from->boundary[row * ROLLOUT_VALUES + (size_t)b];
                rollouts_add_continued(to, env, from, row, (size_t)kept, noise[k]);
            }
}

static void assert_goes_on_from(const struct trainer_rollout *r, const struct trainer_rollout *source, int32_t kept)
{
    size_t n = (size_t)kept;
    assert_true(r->length >= kept && r->prompt == source->prompt && r->group == source->group);
    assert_memory_equal(r->tokens, source->tokens, n * sizeof *r->tokens);
    assert_memory_equal(r->mask, source->mask, n);
    assert_memory_equal(r->turn, source->turn, n * sizeof *r->turn);
    assert_memory_equal(r->log_prob, source->log_prob, n * sizeof *r->log_prob);
}

static bool same_tokens(const struct trainer_rollout *a, const struct trainer_rollout *b)
{
    return a->length == b->length && memcmp(a->tokens, b->tokens, (size_t)a->length * sizeof *a->tokens) == 0;
}

/* After a prefix, the continued row has the policy's log-probs, and the noise decides its tokens. */
static void rows_continue_from_any_prefix(void **state)
{
    (void)state;
    struct trainer_recipe recipe = small_recipe(TRAINER_SLOTS);
    recipe.tasks[0].env.facts = 4; /* makes prefixes that are longer than one feed */
    check_recipe(&recipe);
    float *params = warm_policy(&recipe, 150);
    struct trainer_rollouts *from = started(&recipe, 6, 3, 18), *to = rollouts_new(18 * 5 * 4, (size_t)recipe.model.max_tokens);
    size_t at = 0, other = 0, searched = 0;
    played(&recipe, params, from, 0, false);
    add_all_ways_on(to, &recipe.tasks[0].env, from);
    played(&recipe, params, to, 0, true);
    for (size_t row = 0; row < from->n; row++)
        for (int32_t b = 0; b <= from->n_turns[row] + 1; b++, at += 4) {
            bool whole = b > from->n_turns[row];
            struct trainer_rollout source = trainer_rollouts_get(from, row), r[4];
            int32_t kept = whole ? source.length : from->boundary[row * ROLLOUT_VALUES + (size_t)b];
            for (size_t k = 0; k < 4; k++) {
                r[k] = trainer_rollouts_get(to, at + k);
                assert_goes_on_from(&r[k], &source, kept);
                assert_log_probs(&recipe, params, &r[k]);
                assert_values(&recipe, params, &r[k]);
                assert_true(r[k].episode.done && r[k].episode.turn == r[k].n_turns);
                searched += r[k].n_turns > b;
            }
            assert_true(same_tokens(&r[2], &r[3]));
            other += !same_tokens(&r[0], &r[1]);
            assert_true(!whole || (same_tokens(&r[0], &source) && r[0].reward == source.reward));
        }
    assert_int_equal(at, to->n);
    assert_true(other > 10 && searched > 10);
    trainer_rollouts_free(from);
    trainer_rollouts_free(to);
    free(params);
}

static void rows_pause_after_a_turn(void **state)
{
    (void)state;
    struct trainer_recipe recipe = small_recipe(TRAINER_HOPWORLD);
    float *params = warm_policy(&recipe, 150);
    struct trainer_rollouts *rested = started(&recipe, 30, 4, 120);
    size_t resting = 0;
    played(&recipe, params, rested, 1, false);
    for (size_t row = 0; row < rested->n; row++) {
        bool rests = !rested->episode[row].done;
        assert_int_equal(rested->n_turns[row], rests);
        assert_true(!rests || rested->length[row] == rested->boundary[row * ROLLOUT_VALUES + 1]);
        resting += rests;
    }
    assert_true(resting > 20 && resting < rested->n);
    trainer_rollouts_free(rested);
    free(params);
}

/* ---- temperature ---- */

/* Plays rows of reverse; `noise` determines all random choices. */
static struct trainer_rollouts *play(const struct trainer_recipe *recipe, const float *params, double temperature, uint64_t noise,
                                     size_t questions, size_t group_size)
{
    struct trainer_rollouts *rollouts = rollouts_new(questions * group_size, (size_t)recipe->model.max_tokens);
    const struct rollouts_plan plan = {
        .env = &recipe->tasks[0].env, .questions = questions, .group_size = group_size, .question_seed = 3, .noise_seed = noise};
    struct sampler_job job = {.rollouts = rollouts, .params = {params}, .temperature = temperature};
    struct sampler sampler;
    rollouts_add(rollouts, &plan, 0);
    assert_int_equal(sampler_open(&sampler, recipe, 1, NULL), TRAINER_OK);
    assert_int_equal(sampler_play(&sampler, &job, NULL), TRAINER_OK);
    sampler_close(&sampler);
    uint64_t written = 0;
    for (size_t i = 0; i < rollouts->n * rollouts->width; i++)
        written += rollouts->mask[i];
    assert_int_equal(job.sampled, written);
    return rollouts;
}

/* Computes the log-prob of every token of the vocabulary at position t. */
static void all_log_probs(const struct trainer_recipe *recipe, const float *params, const int32_t *tokens, size_t t,
                          float *log_prob)
{
    int32_t copy[256];
    uint8_t wanted[256] = {0};
    memcpy(copy, tokens, t * sizeof *copy);
    wanted[t] = 1;
    for (copy[t] = 0; copy[t] < recipe->model.tokens; copy[t]++)
        full_forward(&recipe->model, params, copy, wanted, t + 1, &log_prob[copy[t]]);
}

static void greedy_takes_the_likeliest_whatever_the_noise(void **state)
{
    (void)state;
    struct trainer_recipe recipe = small_recipe(TRAINER_REVERSE);
    float *params = warm_policy(&recipe, 10), log_prob[64];
    struct trainer_rollouts *a = play(&recipe, params, 0, 1, 20, 1), *b = play(&recipe, params, 0, 2, 20, 1);
    for (size_t i = 0; i < 20; i++) {
        struct trainer_rollout x = trainer_rollouts_get(a, i), y = trainer_rollouts_get(b, i);
        assert_int_equal(x.length, y.length);
        assert_memory_equal(x.tokens, y.tokens, (size_t)x.length * sizeof *x.tokens);
        for (int32_t t = x.prompt; t < x.length; t++) {
            all_log_probs(&recipe, params, x.tokens, (size_t)t, log_prob);
            for (int32_t v = 0; v < recipe.model.tokens; v++)
                assert_true(log_prob[v] <= log_prob[x.tokens[t]] + 1e-6f);
            assert_near((double)x.log_prob[t], (double)log_prob[x.tokens[t]], 2e-5);
        }
    }
    trainer_rollouts_free(a);
    trainer_rollouts_free(b);
    free(params);
}

/* Over many rows of one question, the frequencies of the first token are those of the tempered softmax. */
static void sampling_follows_the_tempered_softmax(void **state)
{
    (void)state;
    enum { ROWS = 4096 };
    const double temperature = 0.7;
    struct trainer_recipe recipe = small_recipe(TRAINER_REVERSE);
    float *params = warm_policy(&recipe, 3), log_prob[64];
    struct trainer_rollouts *rollouts = play(&recipe, params, temperature, 4, 1, ROWS);
    double expected[64], sum = 0, seen[64] = {0}, chi2 = 0;
    size_t at = (size_t)rollouts->prompt[0];
    all_log_probs(&recipe, params, rollouts->tokens, at, log_prob);
    for (int32_t v = 0; v < recipe.model.tokens; v++)
        sum += expected[v] = exp((double)log_prob[v] / temperature);
    for (size_t i = 0; i < ROWS; i++) {
        int32_t token = rollouts->tokens[i * rollouts->width + at];
        seen[token]++;
        assert_near((double)rollouts->log_prob[i * rollouts->width + at], log(expected[token] / sum), 1e-4);
    }
    for (int32_t v = 0; v < recipe.model.tokens; v++) {
        double mean = ROWS * expected[v] / sum;
        chi2 += (seen[v] - mean) * (seen[v] - mean) / mean;
    }
    assert_true(seen[TRAINER_ANS] < ROWS);
    assert_true(chi2 < 27 + 5 * sqrt(2 * 27)); /* 27: degrees of freedom, from the number of tokens */
    trainer_rollouts_free(rollouts);
    free(params);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(hopworld_agrees_with_whole_passes),
        cmocka_unit_test(reverse_agrees_with_whole_passes),
        cmocka_unit_test(slots_ledger_and_sums_agree_with_whole_passes),
        cmocka_unit_test(two_environments_agree_with_whole_passes),
        cmocka_unit_test(other_models_agree_with_whole_passes),
        cmocka_unit_test(threads_and_repetition_change_nothing),
        cmocka_unit_test(rows_continue_from_any_prefix),
        cmocka_unit_test(rows_pause_after_a_turn),
        cmocka_unit_test(greedy_takes_the_likeliest_whatever_the_noise),
        cmocka_unit_test(sampling_follows_the_tempered_softmax),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
