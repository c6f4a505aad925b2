/* Tests how named numbers are found in printed lines: the forms that real programs use, and text that must not be read
 * as a number. */
#include "support/unit.h"

#include <math.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "metrics/metric_scan.h"

static const char *const names[] = {"loss", "val_loss", "test_loss", "acc", "accuracy", "val_bpb"};
static const struct metric_query asked = {.names = names, .n_names = sizeof names / sizeof *names};

struct text {
    char bytes[512];
    size_t length;
};

static void write_down(void *context, const struct metric_found *found)
{
    static const char *const problems[] = {
        [METRIC_COMMA] = "comma", [METRIC_NOT_A_NUMBER] = "word", [METRIC_TOO_HARD] = "hard", [METRIC_SEVERAL] = "several"};
    struct text *text = context;
    int n = snprintf(text->bytes + text->length, sizeof text->bytes - text->length, "%s%.*s ", text->length ? ", " : "",
                     (int)found->name_length, found->name);
    text->length += (size_t)n;
    n = found->problem ? snprintf(text->bytes + text->length, sizeof text->bytes - text->length, "%s", problems[found->problem])
                       : snprintf(text->bytes + text->length, sizeof text->bytes - text->length, "%g", found->value);
    text->length += (size_t)n;
}

static void assert_finds(const struct metric_query *query, const char *line, const char *wanted)
{
    struct text text = {.length = 0};
    metric_scan_line(query, line, strlen(line), write_down, &text);
    if (strcmp(text.bytes, wanted) != 0)
        fail_msg("'%s' gives '%s', not '%s'", line, text.bytes, wanted);
    if (*wanted && !metric_scan_may_find(query, line, strlen(line)))
        fail_msg("'%s' would have been skipped", line);
}

static void every_printed_form_is_read(void **state)
{
    static const struct {
        const char *line, *wanted;
    } cases[] = {
        {"step 500 train loss: 2.14 test loss: 2.20", "loss 2.14, test_loss 2.2"},
        {"step 3 loss 0.4, accuracy 90%", "loss 0.4, accuracy 90"},
        {" - loss: 3 - val_loss: 2", "loss 3, val_loss 2"},
        {"{\"loss\": 3.25}", "loss 3.25"},
        {"{'loss': 3.25, 'epoch': 1.0}", "loss 3.25"},
        {"Loss: 3", "loss 3"},
        {"loss=3", "loss 3"},
        {"  loss = 3.", "loss 3"},
        {"\tloss:3e-2", "loss 0.03"},
        {"INFO:root:loss=3", "loss 3"},
        {"[2026-11-22 10:00:00] INFO loss=.5", "loss 0.5"},
        {"2026-11-22T10:00:00Z trainer.py:12] loss 7", "loss 7"},
        {"METRIC loss=3", "loss 3"},
        {"INFO METRIC speed=3,heat=4%", "speed 3, heat 4"},
        {"val_bpb:          0.997900", "val_bpb 0.9979"},
        {"100%|█████| 10/10 [00:01<00:00, loss=0.25, acc=0.9]", "loss 0.25, acc 0.9"},
        {"│        test_loss          │    0.2345   │", "test_loss 0.2345"},
        {"| test_loss | 0.25 |", "test_loss 0.25"},
        {"loss: tensor(2.3012, grad_fn=<NllLossBackward0>)", "loss 2.3012"},
        {"loss: np.float64(1.5)", "loss 1.5"},
        {"loss: <tf.Tensor: shape=(), dtype=float32, numpy=2.5>", "loss 2.5"},
        {"loss Float32Array(1) [ 2.5 ]", "loss 2.5"}, /* of JavaScript: the number of elements comes first */
        {"loss Float32Array(2) [ 2.5, 3 ]", "loss several"},
        {"loss [4] : 2.5", "loss 2.5"},
        {"loss [4]", "loss 4"},
        {"loss: -inf", "loss -inf"},
        {"(loss -> 4)", "loss 4"},
        {"Validation loss = 4", "loss 4"},
        {"VAL LOSS: 4", "val_loss 4"},
    };
    (void)state;
    for (size_t i = 0; i < sizeof cases / sizeof *cases; i++)
        assert_finds(&asked, cases[i].line, cases[i].wanted);
}

static void other_names_and_other_things_are_not_read(void **state)
{
    static const char *const lines[] = {
        "python train.py --loss 3",
        "eval/loss: 3",
        "model.loss: 3",
        "loss_scale: 3",
        "losses: 3",
        "loss/train: 3",
        "loss(x): 3",
        "if loss == 3",
        "loss 3.2.1",
        "loss: 12GB",
        "loss: 0x1f",
        "loss: 2026-11-22",
        "loss: 10:30",
        "loss:",
        "loss",
        "loss: three",
        "train_loss: 3",
        "METRIC",
        "METRIC loss",
        "METRICS loss",
        "flossy 3",
        "",
        " ",
        "=",
        "loss:  e5",
    };
    (void)state;
    for (size_t i = 0; i < sizeof lines / sizeof *lines; i++)
        assert_finds(&asked, lines[i], "");
}

static void a_comma_inside_a_number_is_a_problem(void **state)
{
    (void)state;
    assert_finds(&asked, "loss: 1,234.5", "loss comma");
    assert_finds(&asked, "loss=0,35 acc=1", "loss comma, acc 1");
    assert_finds(&asked, "loss=0.35,acc=1", "loss 0.35, acc 1");
    assert_finds(&asked, "loss 3, 4", "loss 3");
    assert_finds(&asked, "loss: 1.234,5", "loss comma");
    assert_finds(&asked, "loss: 1.234,5)", "loss comma");
    assert_finds(&asked, "loss=0.512,3 acc=1", "loss comma, acc 1");
    assert_finds(&asked, "loss=0.5,0.4,0.3", "loss comma");
    assert_finds(&asked, "loss=0.512,12.3s", "loss 0.512");
    assert_finds(&asked, "loss=0.512,12.3", "loss 0.512");
    assert_finds(&asked, "loss=0.512,12s,3", "loss 0.512");
    assert_finds(&asked, "loss=0.512,12:30", "loss 0.512");
    assert_finds(&asked, "loss=0.912,40%", "loss 0.912");
    assert_finds(&asked, "loss:0.912,1 of 3", "loss 0.912");
    assert_finds(&asked, "METRIC loss=1,234", "loss comma");
}

static void a_number_in_a_sentence_must_end_its_clause(void **state)
{
    static const char *const read[] = {
        "loss is 0.5",           "loss was 0.5.",  "(the loss is 0.5) of 3",   "loss is 0.5, lr: 0.1",
        "loss is 0.5; n was 3.", "loss is 0.5 ms", "loss is 0.5 and lr = 0.1", "loss is 0.5%",
        "loss is: 0.5 lower"};
    static const char *const passed_over[] = {
        "loss is 0.5 lower",    "loss was 0.5% worse", "loss is 0.5, which is 3 lower", "loss is 0.5, which is fine",
        "loss is 0.5, lr down", "loss is 0.5%, lr: 1", "loss is 0.5 and falling"};
    struct metric_query hiding = asked;
    (void)state;
    hiding.sentences = true; /* whatever it says, a number that is held out is hidden */
    for (size_t i = 0; i < sizeof read / sizeof *read; i++)
        assert_finds(&asked, read[i], "loss 0.5");
    for (size_t i = 0; i < sizeof passed_over / sizeof *passed_over; i++) {
        assert_finds(&asked, passed_over[i], "");
        assert_finds(&hiding, passed_over[i], "loss 0.5");
    }
}

static void the_longest_name_matches(void **state)
{
    static const char *const two[] = {"loss", "loss val"};
    const struct metric_query query = {.names = two, .n_names = 2};
    (void)state;
    assert_finds(&query, "loss val 3", "loss val 3");
    assert_finds(&query, "loss_val: 3, loss: 2", "loss val 3, loss 2");
}

static void colours_and_titles_are_removed(void **state)
{
    static const struct {
        const char *line, *wanted;
    } cases[] = {
        {"\033[1;32mloss\033[0m: \033[31m3.5\033[0m", "loss: 3.5"},
        {"\033]0;title\aloss", "loss"},
        {"\033]8;;http://x\033\\loss\033]8;;\033\\", "loss"},
        {"\033[Kloss\033", "loss"},
        {"\033[12", ""},
        {"plain", "plain"},
    };
    char out[64];
    (void)state;
    for (size_t i = 0; i < sizeof cases / sizeof *cases; i++) {
        size_t n = metric_scan_strip(out, cases[i].line, strlen(cases[i].line));
        assert_int_equal(n, strlen(cases[i].wanted));
        assert_memory_equal(out, cases[i].wanted, n);
    }
}

static void patterns_read_their_group(void **state)
{
    char error[300];
    struct metric_pattern *patterns[] = {metric_pattern_new("loss=test loss: ([\\d.e+-]+)", error, sizeof error),
                                         metric_pattern_new("n=\\d+(?= done)", error, sizeof error),
                                         metric_pattern_new("w=size (\\w+)", error, sizeof error)};
    const struct metric_query query = {.patterns = patterns, .n_patterns = 3};
    (void)state;
    assert_finds(&query, "train loss: 2.14 test loss: 2.20", "loss 2.2");
    assert_finds(&query, "7 done 8 done", "n 7, n 8");
    assert_finds(&query, "size small", "w word");
    for (size_t i = 0; i < 3; i++)
        metric_pattern_free(patterns[i]);
}

static void a_pattern_cannot_take_for_ever(void **state)
{
    char error[300];
    struct metric_pattern *pattern = metric_pattern_new("x=(a+)+b", error, sizeof error);
    const struct metric_query query = {.patterns = &pattern, .n_patterns = 1};
    (void)state;
    assert_non_null(pattern);
    assert_finds(&query, "aaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaacb", "x hard");
    metric_pattern_free(pattern);
}

static void bad_patterns_are_explained(void **state)
{
    char error[300];
    (void)state;
    assert_null(metric_pattern_new("loss", error, sizeof error));
    assert_string_equal(error, "'loss' is not NAME=REGEX");
    assert_null(metric_pattern_new("=x", error, sizeof error));
    assert_null(metric_pattern_new("loss=", error, sizeof error));
    assert_null(metric_pattern_new("loss=(x", error, sizeof error));
    assert_string_equal(error, "missing closing parenthesis at character 3 of the pattern '(x'");
    metric_pattern_free(NULL);
}

/* Whatever the bytes, the scan stays inside the line (sanitizers check this), and its result does not depend on the
 * prefilter. */
static void any_bytes_are_accepted(void **state)
{
    static const char alphabet[] = "loss acc_=:|\",.019-+eE\033[m\r\t{}(METRIC";
    uint64_t draw = 1;
    (void)state;
    for (int round = 0; round < 20000; round++) {
        char line[48], *copy;
        size_t n = 0;
        while (n < sizeof line && (draw = draw * 6364136223846793005u + 1442695040888963407u) >> 59)
            line[n++] = (draw >> 33) % 16 ? alphabet[(draw >> 40) % (sizeof alphabet - 1)] : (char)(draw >> 48);
        copy = malloc(n ? n : 1); /* exact size, so sanitizers find a read past the end */
        memcpy(copy, line, n);
        struct text text = {.length = 0};
        metric_scan_line(&asked, copy, n, write_down, &text);
        assert_true(!text.length || metric_scan_may_find(&asked, copy, n));
        assert_true(metric_scan_strip(copy, copy, n) <= n);
        free(copy);
    }
    struct text text = {.length = 0};
    metric_scan_line(&asked, "(\0loss: 3", 6, write_down, &text); /* a zero byte in the place of a quote */
    assert_int_equal(text.length, 0);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(every_printed_form_is_read),
        cmocka_unit_test(other_names_and_other_things_are_not_read),
        cmocka_unit_test(a_comma_inside_a_number_is_a_problem),
        cmocka_unit_test(a_number_in_a_sentence_must_end_its_clause),
        cmocka_unit_test(the_longest_name_matches),
        cmocka_unit_test(colours_and_titles_are_removed),
        cmocka_unit_test(patterns_read_their_group),
        cmocka_unit_test(a_pattern_cannot_take_for_ever),
        cmocka_unit_test(bad_patterns_are_explained),
        cmocka_unit_test(any_bytes_are_accepted),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
