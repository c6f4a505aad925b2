/*
 * trainer_experts.c: tests the mixture of experts: its gradient against central differences, recorded and replayed
 * routes, load balancing, and that generation, threads and files agree.
 */
#include "support/unit.h"

#include <math.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include "policy/layout.h"
#include "support/small_recipe.h"

enum { N_TOKENS = 19, N_SEQUENCES = 3, N_WANTED = 10, MOST = 16384 };

static const size_t starts[N_SEQUENCES + 1] = {0, 7, 12, N_TOKENS};
static const int32_t tokens[N_TOKENS] = {1, 4, 4, 0, 10, 2, 7, 3, 3, 9, 1, 8, 5, 6, 5, 6, 0, 2, 10};
static const uint8_t wanted[N_TOKENS] = {0, 0, 1, 1, 0, 0, 1, 0, 1, 1, 1, 1, 0, 1, 0, 0, 0, 1, 1};

static struct trainer_model tiny(int32_t experts, int32_t per_token, bool renormalise)
{
    struct trainer_model model;
    trainer_model_init(&model);
    model.tokens = 11;
    model.width = 12;
    model.heads = 3;
    model.mlp = 8;
    model.max_tokens = 9;
    model.experts = experts;
    model.experts_per_token = per_token;
    model.renormalise = renormalise;
    return model;
}

/* A pass over tokens in double precision. */
struct fixture {
    struct trainer_model model;
    struct trainer_pass *pass;
    double params[MOST], gradient[MOST], d_log_prob[N_WANTED], balance;
    uint16_t record[N_TOKENS * 64];
    size_t n, places; /* n: number of parameters; places: expert ids per token, over all layers */
};

static struct fixture *opened(struct trainer_model model)
{
    struct fixture *f = calloc(1, sizeof *f);
    f->model = model;
    f->n = trainer_model_parameters(&model);
    f->places = trainer_model_routes(&model);
    assert_true(f->n <= MOST && f->places <= 64);
    assert_int_equal(trainer_pass_create(&f->pass, &model, N_TOKENS, N_WANTED, NULL), TRAINER_OK);
    trainer_policy_init(&model, 3, f->params);
    for (size_t i = 0; i < N_WANTED; i++)
        f->d_log_prob[i] = 0.3 * (double)i - 1;
    return f;
}

static void closed(struct fixture *f)
{
    trainer_pass_free(f->pass);
    free(f);
}

/* Returns the sum of d_log_prob * log_prob, plus balance times the load-balancing loss. */
static double loss(struct fixture *f, double *log_prob)
{
    struct trainer_sequences in = {N_SEQUENCES, starts, tokens, wanted};
    struct trainer_error err;
    double own[N_WANTED], sum = 0;
    if (trainer_policy_forward(f->pass, f->params, &in, own, NULL, &err) != TRAINER_OK)
        fail_msg("%s", err.text);
    for (size_t i = 0; i < N_WANTED; i++)
        sum += f->d_log_prob[i] * own[i];
    if (log_prob)
        memcpy(log_prob, own, sizeof own);
    return sum + f->balance * trainer_pass_balance(f->pass);
}

static void differentiate(struct fixture *f)
{
    (void)loss(f, NULL);
    memset(f->gradient, 0, sizeof f->gradient);
    trainer_pass_weigh_balance(f->pass, f->balance);
    trainer_policy_backward(f->pass, f->params, f->d_log_prob, f->gradient);
}

static void assert_gradient(struct fixture *f)
{
    const double step = 1e-6;
    differentiate(f);
    for (size_t i = 0; i < f->n; i++) {
        double kept = f->params[i];
        f->params[i] = kept + step;
        double above = loss(f, NULL);
        f->params[i] = kept - step;
        double below = loss(f, NULL);
        f->params[i] = kept;
        assert_near(f->gradient[i], (above - below) / (2 * step), 5e-7);
    }
}

static void check_gradient(struct trainer_model model, double balance)
{
    struct fixture *f = opened(model);
    f->balance = balance;
    assert_gradient(f);
    closed(f);
}

static void gradient_is_the_central_difference(void **state)
{
    (void)state;
    struct trainer_model one_layer = tiny(3, 2, true);
    one_layer.layers = 1;
    check_gradient(tiny(4, 2, true), 0);
    check_gradient(tiny(4, 2, false), 0);
    check_gradient(tiny(3, 1, true), 0);
    check_gradient(tiny(3, 1, false), 0);
    check_gradient(tiny(2, 2, true), 0);
    check_gradient(one_layer, 0);
    check_gradient(tiny(4, 2, true), 0.7);
    check_gradient(tiny(4, 2, false), 0.7);
}

/* ---- routes ---- */

static uint16_t *route_of(struct fixture *f, size_t token, int32_t layer)
{
    return f->record + token * f->places + (size_t)layer * (size_t)f->model.experts_per_token;
}

static void routes_are_recorded(void **state)
{
    (void)state;
    struct fixture *f = opened(tiny(4, 2, true));
    trainer_pass_route(f->pass, NULL, f->record);
    (void)loss(f, NULL);
    for (size_t i = 0; i < N_TOKENS; i++) {
        bool last_of_sequence = i + 1 == starts[1] || i + 1 == starts[2] || i + 1 == N_TOKENS;
        bool predicts = !last_of_sequence && wanted[i + 1];
        for (int32_t l = 0; l < 2; l++) {
            const uint16_t *route = route_of(f, i, l);
            if (l == 1 && !predicts)
                assert_true(route[0] == TRAINER_NO_EXPERT && route[1] == TRAINER_NO_EXPERT);
            else
                assert_true(route[0] < route[1] && route[1] < 4);
        }
    }
    closed(f);
}

/* Replaying the routes that the pass would choose itself changes nothing. */
static void replaying_ones_own_routes_changes_nothing(void **state)
{
    (void)state;
    struct fixture *f = opened(tiny(4, 2, true));
    uint16_t own[N_TOKENS * 64];
    double free_run[N_WANTED], replayed[N_WANTED];
    trainer_pass_route(f->pass, NULL, f->record);
    (void)loss(f, free_run);
    memcpy(own, f->record, sizeof own);
    trainer_pass_route(f->pass, own, f->record);
    (void)loss(f, replayed);
    assert_memory_equal(free_run, replayed, sizeof free_run);
    assert_memory_equal(own, f->record, N_TOKENS * f->places * sizeof *own);
    closed(f);
}

/* All tokens are routed to experts 1 and 3. The gradient must be exact for this routing, and 0 at experts 0 and 2. */
static void replay_trains_the_chosen_experts_alone(void **state)
{
    (void)state;
    struct fixture *f = opened(tiny(4, 2, true));
    uint16_t replay[N_TOKENS * 64];
    double free_run[N_WANTED], replayed[N_WANTED];
    (void)loss(f, free_run);
    for (size_t i = 0; i < N_TOKENS * f->places; i++)
        replay[i] = i % 2 ? 1 : 3; /* the order of the two experts does not matter */
    trainer_pass_route(f->pass, replay, f->record);
    (void)loss(f, replayed);
    assert_true(fabs(free_run[0] - replayed[0]) > 1e-6);
    for (size_t i = 0; i < N_TOKENS; i++)
        assert_true(route_of(f, i, 0)[0] == 1 && route_of(f, i, 0)[1] == 3);
    assert_gradient(f);
    struct net_layout layout = net_layout(&f->model);
    for (int32_t l = 0; l < f->model.layers; l++) {
        struct net_layer at = net_layer(&f->model, &layout, l);
        for (size_t e = 0; e < 4; e++) {
            double size = 0;
            for (size_t i = 0; i < at.per_expert; i++)
                size += fabs(f->gradient[at.up + e * at.per_expert + i]);
            assert_true(e % 2 == 1 ? size > 1e-3 : size <= 0);
        }
        double router[4] = {0};
        for (size_t i = 0; i < 12 * 4; i++)
            router[i % 4] += fabs(f->gradient[at.router + i]);
        assert_true(router[1] > 1e-6 && router[3] > 1e-6);
        assert_true(router[0] <= 0 && router[2] <= 0);
    }
    closed(f);
}

/* A place (token and layer) without a recorded route is left to the router, also while other places are replayed. */
static void a_place_without_a_route_is_chosen(void **state)
{
    (void)state;
    struct fixture *f = opened(tiny(4, 2, true));
    uint16_t own[N_TOKENS * 64], replay[N_TOKENS * 64];
    trainer_pass_route(f->pass, NULL, f->record);
    (void)loss(f, NULL);
    memcpy(own, f->record, sizeof own);
    for (size_t i = 0; i < N_TOKENS * f->places; i++)
        replay[i] = TRAINER_NO_EXPERT;
    trainer_pass_route(f->pass, replay, f->record);
    (void)loss(f, NULL);
    assert_memory_equal(own, f->record, N_TOKENS * f->places * sizeof *own);
    closed(f);
}

static void bad_routes_are_refused(void **state)
{
    (void)state;
    const uint16_t bad[][2] = {{1, 1}, {0, 4}, {2, TRAINER_NO_EXPERT}};
    struct fixture *f = opened(tiny(4, 2, true));
    struct trainer_sequences in = {N_SEQUENCES, starts, tokens, wanted};
    struct trainer_error err;
    double log_prob[N_WANTED];
    uint16_t replay[N_TOKENS * 64];
    for (size_t b = 0; b < 3; b++) {
        for (size_t i = 0; i < N_TOKENS * f->places; i++)
            replay[i] = (uint16_t)(i % 2);
        memcpy(replay + 5 * f->places + 2, bad[b], sizeof bad[b]);
        trainer_pass_route(f->pass, replay, NULL);
        assert_int_equal(trainer_policy_forward(f->pass, f->params, &in, log_prob, NULL, &err), TRAINER_EINVAL);
        assert_non_null(strstr(err.text, "token 5, layer 1"));
    }
    closed(f);
}

/* ---- load balancing ---- */

/* With all router weights 0, P is 1/E for every expert, so the loss is 1 whichever experts are chosen. */
static void balance_is_one_when_even_and_more_when_not(void **state)
{
    (void)state;
    struct fixture *f = opened(tiny(4, 1, true));
    struct net_layout layout = net_layout(&f->model);
    for (int32_t l = 0; l < 2; l++)
        memset(f->params + net_layer(&f->model, &layout, l).router, 0, 12 * 4 * sizeof(double));
    (void)loss(f, NULL);
    assert_near(trainer_pass_balance(f->pass), 1, 1e-12);
    closed(f);
    f = opened(tiny(4, 1, true));
    (void)loss(f, NULL);
    assert_true(trainer_pass_balance(f->pass) > 1.01);
    closed(f);
}

/* ---- what goes with it ---- */

static void float_agrees_with_double(void **state)
{
    (void)state;
    struct fixture *f = opened(tiny(4, 2, true));
    struct trainer_sequences in = {N_SEQUENCES, starts, tokens, wanted};
    struct trainer_passf *pass;
    float params[MOST], log_prob[N_WANTED];
    double exact[N_WANTED];
    uint16_t record[N_TOKENS * 64];
    trainer_pass_route(f->pass, NULL, f->record);
    (void)loss(f, exact);
    trainer_policy_initf(&f->model, 3, params);
    assert_int_equal(trainer_pass_createf(&pass, &f->model, N_TOKENS, N_WANTED, NULL), TRAINER_OK);
    trainer_pass_routef(pass, NULL, record);
    assert_int_equal(trainer_policy_forwardf(pass, params, &in, log_prob, NULL, NULL), TRAINER_OK);
    assert_memory_equal(record, f->record, N_TOKENS * f->places * sizeof *record);
    for (size_t i = 0; i < N_WANTED; i++)
        assert_near((double)log_prob[i], exact[i], 2e-5);
    assert_near(trainer_pass_balancef(pass), trainer_pass_balance(f->pass), 1e-5);
    trainer_pass_freef(pass);
    closed(f);
}

static void int8_quantises_router_and_every_expert(void **state)
{
    (void)state;
    struct trainer_model model = tiny(3, 2, true);
    struct net_layout layout = net_layout(&model);
    float params[MOST], low[MOST];
    trainer_policy_initf(&model, 3, params);
    trainer_policy_quantise(&model, TRAINER_INT8, params, low);
    struct net_layer at = net_layer(&model, &layout, 1);
    const size_t places[] = {at.router, at.up + 2 * at.per_expert, at.down + 2 * at.per_expert};
    const size_t columns[] = {3, 8, 12}, rows[] = {12, 12, 8};
    for (size_t p = 0; p < 3; p++) {
        const float *x = params + places[p], *y = low + places[p];
        float most = 0;
        size_t changed = 0;
        for (size_t i = 0; i < rows[p]; i++)
            most = fmaxf(most, fabsf(x[i * columns[p]]));
        for (size_t i = 0; i < rows[p]; i++) {
            double steps = (double)y[i * columns[p]] / ((double)most / 127);
            assert_near(steps, rint(steps), 1e-4);
            changed += memcmp(&x[i * columns[p]], &y[i * columns[p]], sizeof *x) != 0;
        }
        assert_true(changed > rows[p] / 2);
    }
}

static void checkpoints_carry_experts(void **state)
{
    (void)state;
    char path[] = "/tmp/lineage-test-experts-XXXXXX";
    struct trainer_checkpoint saved = {tiny(3, 2, false), 7}, loaded;
    struct trainer_model others[] = {tiny(0, 2, true), tiny(3, 1, false), tiny(3, 2, true)};
    const char *const names[] = {"experts", "experts_per_token", "renormalise"};
    float params[MOST], back[MOST];
    struct trainer_error err;
    int file = mkstemp(path);
    assert_true(file >= 0);
    close(file);
    size_t n = trainer_model_parameters(&saved.model);
    trainer_policy_initf(&saved.model, 3, params);
    assert_int_equal(trainer_checkpoint_save(path, &saved, params, &err), TRAINER_OK);
    assert_int_equal(trainer_checkpoint_load(path, &loaded, back, MOST, &err), TRAINER_OK);
    assert_memory_equal(params, back, n * sizeof *params);
    assert_int_equal(loaded.model.experts, 3);
    assert_int_equal(loaded.model.experts_per_token, 2);
    assert_false(loaded.model.renormalise);
    for (size_t i = 0; i < 3; i++) {
        others[i].max_tokens = saved.model.max_tokens;
        assert_int_equal(trainer_checkpoint_load_as(path, &others[i], back, NULL, &err), TRAINER_ESHAPE);
        assert_non_null(strstr(err.text, names[i]));
    }
    unlink(path);
}

static void models_that_cannot_be_are_refused(void **state)
{
    (void)state;
    struct trainer_error err;
    struct trainer_model one = tiny(1, 1, true), more = tiny(3, 4, true), none = tiny(3, 0, true);
    assert_int_equal(trainer_model_check(&one, &err), TRAINER_EINVAL);
    assert_non_null(strstr(err.text, "experts 1"));
    assert_int_equal(trainer_model_check(&more, &err), TRAINER_EINVAL);
    assert_non_null(strstr(err.text, "experts_per_token 4"));
    assert_int_equal(trainer_model_check(&none, &err), TRAINER_EINVAL);
}

/* Log-probs of generation, which uses cached keys, equal those of passes over the whole sequence. */
static void generation_agrees_with_whole_passes(void **state)
{
    (void)state;
    struct trainer_recipe recipe = small_recipe(TRAINER_HOPWORLD);
    recipe.model.experts = 4;
    check_recipe(&recipe);
    float *params = warm_policy(&recipe, 30), log_prob[256];
    struct trainer_rollouts *rollouts = sample(&recipe, params, 12, 5);
    struct trainer_passf *pass;
    assert_int_equal(trainer_pass_createf(&pass, &recipe.model, 256, 256, NULL), TRAINER_OK);
    for (size_t i = 0; i < trainer_rollouts_count(rollouts); i++) {
        struct trainer_rollout r = trainer_rollouts_get(rollouts, i);
        const size_t start[2] = {0, (size_t)r.length};
        struct trainer_sequences in = {1, start, r.tokens, r.mask};
        assert_int_equal(trainer_policy_forwardf(pass, params, &in, log_prob, NULL, NULL), TRAINER_OK);
        for (int32_t t = 0, n = 0; t < r.length; t++)
            if (r.mask[t])
                assert_near((double)r.log_prob[t], (double)log_prob[n++], 2e-5);
    }
    trainer_pass_freef(pass);
    trainer_rollouts_free(rollouts);
    free(params);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(gradient_is_the_central_difference),         cmocka_unit_test(routes_are_recorded),
        cmocka_unit_test(replaying_ones_own_routes_changes_nothing),  cmocka_unit_test(replay_trains_the_chosen_experts_alone),
        cmocka_unit_test(a_place_without_a_route_is_chosen),          cmocka_unit_test(bad_routes_are_refused),
        cmocka_unit_test(balance_is_one_when_even_and_more_when_not), cmocka_unit_test(float_agrees_with_double),
        cmocka_unit_test(int8_quantises_router_and_every_expert),     cmocka_unit_test(checkpoints_carry_experts),
        cmocka_unit_test(models_that_cannot_be_are_refused),          cmocka_unit_test(generation_agrees_with_whole_passes),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
