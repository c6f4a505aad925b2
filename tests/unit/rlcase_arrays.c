/*
 * rlcase_arrays.c: tests that kernels give the same results for arrays in memory as for JSON lists, refuse arrays
 * of a wrong shape, and name settings without an effect.
 */
#include "support/unit.h"

#include <math.h>
#include <stdint.h>
#include <string.h>

#include <jansson.h>
#include <rlcase/case.h>

enum { B = 2, T = 3 };

static const double log_prob[B * T] = {-1, -0.5, -0.25, -2, -1, -0.125};
static const double old_log_prob[B * T] = {-1.5, -0.5, -0.5, -1, -1, -0.25};
static const double advantages[B * T] = {1, 1, 1, -1, -1, -1};
static const uint8_t mask[B * T] = {1, 1, 0, 1, 1, 1};
static const char values[] = "{\"loss\": \"vanilla\", \"loss_agg_mode\": \"token-mean\"}";

static struct rl_case_array array(const char *name, enum rl_case_type type, const void *data)
{
    return (struct rl_case_array){.name = name, .type = type, .n_dims = 2, .shape = {B, T}, .data = data};
}

static const struct rl_case_array *find(const struct rl_case *done, const char *name)
{
    size_t n;
    const struct rl_case_array *arrays = rl_case_arrays(done, &n);
    for (size_t i = 0; i < n; i++)
        if (strcmp(arrays[i].name, name) == 0)
            return &arrays[i];
    return NULL;
}

static double value(const struct rl_case *done, const char *name)
{
    json_t *root = json_loads(rl_case_values(done), 0, NULL);
    double number = json_number_value(json_object_get(root, name));
    json_decref(root);
    return number;
}

static json_t *rows(const double *data)
{
    json_t *list = json_array();
    for (size_t i = 0; i < B; i++) {
        json_t *row = json_array();
        for (size_t j = 0; j < T; j++)
            json_array_append_new(row, json_real(data[i * T + j]));
        json_array_append_new(list, row);
    }
    return list;
}

/* Runs the same case from a JSON text. */
static struct rl_case *from_lists(void)
{
    struct rl_case *done;
    struct rl_error err;
    json_t *root = json_loads(values, 0, NULL);
    json_object_set_new(root, "response_mask", json_loads("[[1, 1, 0], [true, 1, 1]]", 0, NULL));
    json_object_set_new(root, "log_prob", rows(log_prob));
    json_object_set_new(root, "old_log_prob", rows(old_log_prob));
    json_object_set_new(root, "advantages", rows(advantages));
    char *text = json_dumps(root, JSON_REAL_PRECISION(17));
    assert_int_equal(rl_case_run_json(&done, "policy_loss", false, text, &err), RL_OK);
    free(text);
    json_decref(root);
    return done;
}

static void arrays_and_lists_agree_to_the_bit(void **state)
{
    (void)state;
    static const int64_t wide[B * T] = {1, 1, 0, 1, 1, 1};
    static const float real[B * T] = {1, 1, 0, 1, 1, 1};
    const struct rl_case_array masks[] = {array("response_mask", RL_CASE_UINT8, mask),
                                          array("response_mask", RL_CASE_INT64, wide),
                                          array("response_mask", RL_CASE_FLOAT32, real)};
    struct rl_case *lists = from_lists();
    for (size_t i = 0; i < sizeof masks / sizeof *masks; i++) {
        struct rl_case *done;
        struct rl_error err;
        const struct rl_case_array arrays[] = {masks[i], array("log_prob", RL_CASE_FLOAT64, log_prob),
                                               array("old_log_prob", RL_CASE_FLOAT64, old_log_prob),
                                               array("advantages", RL_CASE_FLOAT64, advantages)};
        assert_int_equal(rl_case_run(&done, "policy_loss", false, values, arrays, 4, &err), RL_OK);
        assert_true(value(done, "loss") == value(lists, "loss") && value(done, "loss") != 0);
        json_t *root = json_loads(rl_case_values(lists), 0, NULL);
        const struct rl_case_array *gradient = find(done, "d_log_prob");
        assert_true(gradient && gradient->n_dims == 2 && gradient->shape[0] == B && gradient->shape[1] == T);
        for (size_t k = 0; k < B * T; k++)
            assert_true(((const double *)gradient->data)[k] ==
                        json_number_value(json_array_get(json_array_get(json_object_get(root, "d_log_prob"), k / T), k % T)));
        json_decref(root);
        rl_case_release(done);
    }
    rl_case_release(lists);
}

static void assert_refused(const char *family, bool single, const char *text, const struct rl_case_array *arrays, size_t n,
                           const char *message)
{
    struct rl_case *done = (struct rl_case *)1;
    struct rl_error err = {RL_OK, ""};
    assert_int_not_equal(rl_case_run(&done, family, single, text, arrays, n, &err), RL_OK);
    assert_null(done);
    if (!strstr(err.text, message))
        fail_msg("'%s' does not say '%s'", err.text, message);
}

static void arrays_of_a_wrong_shape_are_refused_by_name(void **state)
{
    (void)state;
    static const double half[B * T] = {1, 0.5, 0, 1, 1, 1};
    static const double hole[B * T] = {-1, NAN, -1, -1, -1, -1};
    struct rl_case_array arrays[] = {array("response_mask", RL_CASE_UINT8, mask), array("log_prob", RL_CASE_FLOAT64, log_prob),
                                     array("old_log_prob", RL_CASE_FLOAT64, old_log_prob),
                                     array("advantages", RL_CASE_FLOAT64, advantages)};
    assert_refused("policy_loss", false, values, arrays, 3, "inputs.advantages is missing");
    assert_refused("policy_los", false, values, arrays, 4, "no kernel 'policy_los'");
    assert_refused("passk", true, values, arrays, 4, "has no single-precision form");
    assert_refused("policy_loss", false, "[1]", arrays, 4, "values is not a JSON object");
    assert_refused("policy_loss", false, "{", arrays, 4, "values is not JSON");
    assert_refused("policy_loss", false, "{\"loss\": \"vanila\", \"loss_agg_mode\": \"token-mean\"}", arrays, 4,
                   "inputs.loss is 'vanila'");
    arrays[1].shape[1] = 2;
    assert_refused("policy_loss", false, values, arrays, 4, "inputs.log_prob has 2 positions in a row where 3");
    arrays[1].n_dims = 1;
    assert_refused("policy_loss", false, values, arrays, 4, "inputs.log_prob has 1 dimensions where 2");
    arrays[1] = array("log_prob", RL_CASE_FLOAT64, NULL);
    assert_refused("policy_loss", false, values, arrays, 4, "inputs.log_prob has no data");
    arrays[1] = array("log_prob", RL_CASE_FLOAT64, hole);
    assert_refused("policy_loss", false, values, arrays, 4, "log_prob");
    arrays[1] = array("log_prob", RL_CASE_FLOAT64, log_prob);
    arrays[0] = array("response_mask", RL_CASE_FLOAT64, half);
    assert_refused("policy_loss", false, values, arrays, 4, "inputs.response_mask[0][1] is not 0 or 1");
    arrays[0] = array("loss", RL_CASE_FLOAT64, half);
    assert_refused("policy_loss", false, "{\"loss_agg_mode\": \"token-mean\"}", arrays, 4, "inputs.loss must not be an array");
}

static void ragged_rows_give_the_bits_of_padded_ones(void **state)
{
    (void)state;
    static const double rewards[] = {1, 2, 3};
    static const int32_t steps[2 * 3] = {0, 1, -1, 0, 0, 0};
    size_t start[] = {0, 2, 3};
    struct rl_case *done;
    struct rl_error err;
    struct rl_case_array arrays[] = {{.name = "step_rewards",
                                      .type = RL_CASE_FLOAT64,
                                      .n_dims = 1,
                                      .shape = {3},
                                      .data = rewards,
                                      .start = start,
                                      .n_rows = 2},
                                     {.name = "step_ids", .type = RL_CASE_INT32, .n_dims = 2, .shape = {2, 3}, .data = steps}};
    assert_int_equal(rl_case_run(&done, "prm_steps", false, "{}", arrays, 2, &err), RL_OK);
    const struct rl_case_array *sums = find(done, "step_advantages"), *spread = find(done, "advantages");
    static const double wanted[] = {3, 2, 3}, tokens[] = {3, 2, 0, 3, 3, 3};
    assert_true(sums->n_rows == 2 && sums->start[1] == 2 && sums->start[2] == 3);
    assert_memory_equal(sums->data, wanted, sizeof wanted);
    assert_memory_equal(spread->data, tokens, sizeof tokens);
    rl_case_release(done);
    start[1] = 4;
    assert_refused("prm_steps", false, "{}", arrays, 2, "inputs.step_rewards is not ragged");
    start[1] = 2;
    start[2] = 4;
    assert_refused("prm_steps", false, "{}", arrays, 2, "inputs.step_rewards is not ragged");
}

static void ragged_rows_that_overlap_are_refused(void **state)
{
    (void)state;
    static const char *const families[] = {"turn_normalize", "turn_accumulate", "turn_clip_scale"};
    static const double gains[] = {1, 2, 3};
    static const size_t starts[][3] = {{1, 2, 3}, {0, 4, 3}, {0, 2, 4}};
    for (size_t i = 0; i < 9; i++) {
        const struct rl_case_array one = {.name = "turn_values",
                                          .type = RL_CASE_FLOAT64,
                                          .n_dims = 1,
                                          .shape = {3},
                                          .data = gains,
                                          .start = starts[i % 3],
                                          .n_rows = 2};
        assert_refused(families[i / 3], false, i < 3 ? "{\"group_index\": [0, 0]}" : "{}", &one, 1,
                       "inputs.turn_values is not ragged");
    }
}

/* A value that is right for an input, so that the others are read. */
static json_t *right_value(const json_t *input)
{
    const char *kind = json_string_value(json_object_get(input, "kind"));
    const bool flat = strcmp(kind, "numbers") == 0 || strcmp(kind, "integers") == 0;
    if (strcmp(kind, "choice") == 0)
        return json_incref(json_array_get(json_object_get(input, "choices"), 0));
    return strcmp(kind, "number") == 0 || strcmp(kind, "integer") == 0 ? json_integer(1)
           : strcmp(kind, "bool") == 0                                 ? json_false()
           : strcmp(kind, "text") == 0                                 ? json_string("x")
           : strcmp(kind, "routes") == 0                               ? json_pack("[[[[i]]]]", 0)
           : flat                                                      ? json_pack("[i]", 1)
                                                                       : json_pack("[[i]]", 1);
}

/* Runs a kernel in each precision that it has; returns true if it was refused with a message. Steals root. */
static bool is_refused(const json_t *kernel, json_t *root)
{
    const char *family = json_string_value(json_object_get(kernel, "family"));
    char *text = json_dumps(root, 0);
    bool refused = true;
    for (int single = 0; single <= json_is_true(json_object_get(kernel, "single")); single++) {
        struct rl_case *done = NULL;
        struct rl_error err = {RL_OK, ""};
        refused &= rl_case_run_json(&done, family, single, text, &err) != RL_OK && err.text[0];
        rl_case_release(done);
    }
    free(text);
    json_decref(root);
    return refused;
}

/* Each required list of each kernel is a number, a list with a number instead of a row, or has a row that is shorter than those of other
 * inputs: alone, and beside right inputs. Sanitizers see a read behind the shorter row; alone it may be right. */
static void numbers_in_place_of_lists_are_refused(void **state)
{
    (void)state;
    struct rl_case *done;
    struct rl_error err;
    size_t i, k, n = 0;
    json_t *kernel, *input;
    assert_int_equal(rl_case_describe(&done, &err), RL_OK);
    json_t *list = json_loads(rl_case_values(done), 0, NULL);
    json_array_foreach(list, i, kernel) {
        const json_t *inputs = json_object_get(kernel, "inputs");
        json_t *right = json_object();
        json_array_foreach(inputs, k, input)
            if (!json_is_true(json_object_get(input, "optional")))
                json_object_set_new(right, json_string_value(json_object_get(input, "name")), right_value(input));
        assert_true(is_refused(kernel, json_object()));
        json_array_foreach(inputs, k, input) {
            const char *name = json_string_value(json_object_get(input, "name")),
                       *kind = json_string_value(json_object_get(input, "kind"));
            const bool flat = strcmp(kind, "numbers") == 0 || strcmp(kind, "integers") == 0;
            if (!json_object_get(right, name) || !json_string_length(json_object_get(input, "shape")))
                continue;
            for (int beside = 0; beside < 2; beside++)
                for (int row = 0; row < 3; row++) {
                    json_t *root = beside ? json_deep_copy(right) : json_object();
                    json_object_set_new(root, name,
                                        row == 2   ? json_pack("[[]]")
                                        : row == 1 ? json_pack("[i]", 3)
                                                   : json_integer(3));
                    if (!is_refused(kernel, root) && row < 2 && !(row && flat))
                        fail_msg("%s takes %s for %s", json_string_value(json_object_get(kernel, "family")), row ? "[3]" : "3",
                                 name);
                    n++;
                }
        }
        json_decref(right);
    }
    assert_true(n > 400);
    json_decref(list);
    rl_case_release(done);
}

/* Every input of every kernel has a description, and every kernel lists its results. */
static void the_description_is_complete(void **state)
{
    (void)state;
    struct rl_case *done;
    struct rl_error err;
    size_t i, k;
    json_t *kernel, *input;
    assert_int_equal(rl_case_describe(&done, &err), RL_OK);
    json_t *list = json_loads(rl_case_values(done), 0, NULL);
    assert_true(json_array_size(list) > 30);
    json_array_foreach(list, i, kernel) {
        assert_true(json_array_size(json_object_get(kernel, "outputs")) > 0);
        json_array_foreach(json_object_get(kernel, "inputs"), k, input) {
            const char *kind = json_string_value(json_object_get(input, "kind"));
            bool chosen = json_array_size(json_object_get(input, "choices")) > 1;
            if (strcmp(kind, "unknown") == 0 || (strcmp(kind, "choice") == 0) != chosen)
                fail_msg("%s: %s is not described", json_string_value(json_object_get(kernel, "family")),
                         json_string_value(json_object_get(input, "name")));
        }
    }
    json_decref(list);
    rl_case_release(done);
    rl_case_release(NULL);
}

/* The same numbers as int64 masks, bfloat16 arrays and ragged rows must give bit-identical results. */
static void batches_are_read_in_their_own_layout(void **state)
{
    (void)state;
    static const float p[B * T] = {-1, -0.5, 0, -2, -1, -0.125}, q[B * T] = {-1.5, -0.5, 0, -1, -1, -0.25},
                             a[B * T] = {1, 1, 0, -1, -1, -1};
    static const int64_t wide[] = {1, 1, 1, 1, 1};
    const size_t start[B + 1] = {0, 2, 5};
    uint16_t half[3][B * T];
    const float *const from[3] = {p, q, a};
    size_t n, at = 0;
    for (size_t i = 0; i < B * T; i++)
        for (size_t k = 0; i != 2 && k < 3; k++) {
            uint32_t bits;
            memcpy(&bits, &from[k][i], sizeof bits);
            half[k][i < 2 ? i : i - 1] = (uint16_t)(bits >> 16);
        }
    struct rl_case *padded, *ragged;
    struct rl_case_array one[] = {array("response_mask", RL_CASE_UINT8, mask), array("log_prob", RL_CASE_FLOAT32, p),
                                  array("old_log_prob", RL_CASE_FLOAT32, q), array("advantages", RL_CASE_FLOAT32, a)};
    struct rl_case_array other[] = {array("response_mask", RL_CASE_INT64, wide), array("log_prob", RL_CASE_BFLOAT16, half[0]),
                                    array("old_log_prob", RL_CASE_BFLOAT16, half[1]),
                                    array("advantages", RL_CASE_BFLOAT16, half[2])};
    for (size_t k = 0; k < 4; k++) {
        other[k].n_dims = 1;
        other[k].shape[0] = start[B];
        other[k].start = start;
        other[k].n_rows = B;
    }
    assert_int_equal(rl_case_run(&padded, "policy_loss", true, values, one, 4, NULL), RL_OK);
    assert_int_equal(rl_case_run(&ragged, "policy_loss", true, values, other, 4, NULL), RL_OK);
    assert_string_equal(rl_case_values(padded), rl_case_values(ragged));
    const struct rl_case_array *d = find(ragged, "d_log_prob");
    assert_int_equal(d->n_rows, B);
    for (n = 0; n < B * T; n++)
        if (mask[n])
            assert_memory_equal((const float *)find(padded, "d_log_prob")->data + n, (const float *)d->data + at++,
                                sizeof(float));
    assert_int_equal(at, d->shape[0]);
    rl_case_release(padded);
    rl_case_release(ragged);
    other[2] = one[2];
    assert_refused("policy_loss", true, values, other, 4, "inputs.old_log_prob is not ragged, the inputs before it are");
    assert_refused("policy_loss", true,
                   "{\"loss\": \"vanilla\", \"loss_agg_mode\": \"token-mean\","
                   " \"advantages\": [[1, 1, 0], [-1, -1, -1]], \"old_log_prob\": [[0, 0, 0], [0, 0, 0]]}",
                   other, 2, "inputs.old_log_prob is not ragged, the inputs before it are");
}

/*
 * The inputs are columns of wider matrices, with poison between the rows. A matrix with a different stride is copied.
 */
static void rows_may_be_further_apart_than_wide(void **state)
{
    (void)state;
    enum { STRIDE = 5 };
    double p[B * STRIDE], q[B * STRIDE], a[B * STRIDE];
    int64_t wide[B * STRIDE];
    for (size_t i = 0; i < B * STRIDE; i++) {
        size_t from = i / STRIDE * T + i % STRIDE;
        bool inside = i % STRIDE < T;
        p[i] = inside ? log_prob[from] : NAN;
        q[i] = inside ? old_log_prob[from] : NAN;
        a[i] = inside ? advantages[from] : NAN;
        wide[i] = inside ? mask[from] : 7;
    }
    struct rl_case *packed, *apart;
    struct rl_case_array one[] = {array("response_mask", RL_CASE_UINT8, mask), array("log_prob", RL_CASE_FLOAT64, log_prob),
                                  array("old_log_prob", RL_CASE_FLOAT64, old_log_prob),
                                  array("advantages", RL_CASE_FLOAT64, advantages)};
    struct rl_case_array other[] = {array("response_mask", RL_CASE_INT64, wide), array("log_prob", RL_CASE_FLOAT64, p),
                                    array("old_log_prob", RL_CASE_FLOAT64, q), array("advantages", RL_CASE_FLOAT64, a)};
    for (size_t k = 0; k < 4; k++)
        other[k].stride = STRIDE;
    assert_int_equal(rl_case_run(&packed, "policy_loss", false, values, one, 4, NULL), RL_OK);
    for (size_t copied = 0; copied < 4; copied++) {
        if (copied)
            other[copied] = one[copied];
        assert_int_equal(rl_case_run(&apart, "policy_loss", false, values, other, 4, NULL), RL_OK);
        assert_string_equal(rl_case_values(packed), rl_case_values(apart));
        const struct rl_case_array *d = find(apart, "d_log_prob"), *want = find(packed, "d_log_prob");
        assert_int_equal(want->stride, 0);
        /* The output has the stride of most inputs; if two strides are equally frequent, that of the first input. */
        assert_int_equal(d->stride, copied < 3 ? STRIDE : 0);
        for (size_t i = 0; i < B; i++)
            assert_memory_equal((const double *)d->data + i * (d->stride ? d->stride : T), (const double *)want->data + i * T,
                                T * sizeof(double));
        rl_case_release(apart);
    }
    rl_case_release(packed);
    other[0].stride = T - 1;
    assert_refused("policy_loss", false, values, other, 4, "inputs.response_mask has rows of 3 elements");
    other[0] = array("response_mask", RL_CASE_INT64, wide);
    other[0].stride = STRIDE;
    wide[STRIDE + 1] = 2;
    assert_refused("policy_loss", false, values, other, 4, "inputs.response_mask[1][1]");
}

/*
 * A setting that is not its default changes a result, or is named in a warning, and never both: case_kernels.def says of each loss
 * what the core's own code does. Ratios from 1/5 to 5 of both signs reach every bound.
 */
static void a_setting_has_an_effect_or_a_warning(void **state)
{
    (void)state;
    static const char *const losses[] = {"vanilla",  "gspo",    "cispo",   "sapo", "gpg",  "reinforce",
                                         "geo_mean", "dppo_tv", "dppo_kl", "dro",  "vespo"};
    static const char *const settings[] = {"clip_ratio_low", "clip_ratio_high", "clip_ratio_c", "tau_pos",
                                           "tau_neg",        "dro_beta",        "vespo_k_pos",  "vespo_lambda_pos",
                                           "vespo_k_neg",    "vespo_lambda_neg"};
    static const char batch[] = "{\"loss\": \"%s\", \"loss_agg_mode\": \"seq-mean-token-mean\", \"%s\": %s, %s"
                                "\"response_mask\": [[1, 1], [1, 1], [1, 1], [1, 1]],"
                                "\"log_prob\": [[-0.2, -0.3], [-0.2, -0.3], [-1.8, -1.9], [-1.8, -1.9]],"
                                "\"old_log_prob\": [[-1.8, -1.9], [-1.8, -1.9], [-0.2, -0.3], [-0.2, -0.3]],"
                                "\"advantages\": [[1, 1], [-1, -1], [1, 1], [-1, -1]]}";
    for (size_t i = 0; i < sizeof losses / sizeof *losses; i++)
        for (size_t j = 0; j < sizeof settings / sizeof *settings; j++) {
            json_t *results[2];
            const bool beta = strcmp(settings[j], "dro_beta") == 0; /* dro has none of its own */
            bool warned = false;
            for (size_t k = 0; k < 2; k++) {
                char text[1024];
                struct rl_case *done;
                struct rl_error err;
                snprintf(text, sizeof text, batch, losses[i], settings[j],
                         k      ? "1.7"
                         : beta ? "1"
                                : "null",
                         strcmp(losses[i], "dro") == 0 && !beta ? "\"dro_beta\": 1, " : "");
                assert_int_equal(rl_case_run_json(&done, "policy_loss", false, text, &err), RL_OK);
                results[k] = json_loads(rl_case_values(done), 0, NULL);
                warned = json_object_del(results[k], "warnings") == 0;
                rl_case_release(done);
            }
            if (json_equal(results[0], results[1]) != warned)
                fail_msg("%s of %s: %s", settings[j], losses[i], warned ? "has an effect and a warning" : "has neither");
            json_decref(results[0]);
            json_decref(results[1]);
        }
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(arrays_and_lists_agree_to_the_bit),        cmocka_unit_test(arrays_of_a_wrong_shape_are_refused_by_name),
        cmocka_unit_test(ragged_rows_give_the_bits_of_padded_ones), cmocka_unit_test(the_description_is_complete),
        cmocka_unit_test(batches_are_read_in_their_own_layout),     cmocka_unit_test(a_setting_has_an_effect_or_a_warning),
        cmocka_unit_test(rows_may_be_further_apart_than_wide),      cmocka_unit_test(ragged_rows_that_overlap_are_refused),
        cmocka_unit_test(numbers_in_place_of_lists_are_refused),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
