/* Tests a trial's output: lines that are understood only in part, what is collected from them, and what a person is
 * shown on a terminal and in a file. No process is run. */
#include "support/unit.h"

#include <fcntl.h>
#include <poll.h>
#include <stdio.h>
#include <stdlib.h>
#include <math.h>
#include <string.h>
#include <sys/ioctl.h>
#include <unistd.h>

#include "metrics/metric_lines.h"
#include "trial/progress.h"
#include "trial/one_trial.h"

static int error_before = -1; /* the original standard error, while a test reads it */

/* Failures are printed to the original standard error. */
static void speak_again(void)
{
    fflush(stderr);
    if (error_before >= 0)
        dup2(error_before, STDERR_FILENO);
}

#define assert_has(text, part)                                                                                                   \
    do {                                                                                                                         \
        const char *text_ = text;                                                                                                \
        if (!strstr(text_, part)) {                                                                                              \
            speak_again();                                                                                                       \
            fail_msg("'%s' is not in '%s'", part, text_);                                                                        \
        }                                                                                                                        \
    } while (0)
#define assert_lacks(text, part)                                                                                                 \
    do {                                                                                                                         \
        const char *text_ = text;                                                                                                \
        if (strstr(text_, part)) {                                                                                               \
            speak_again();                                                                                                       \
            fail_msg("'%s' is in '%s'", part, text_);                                                                            \
        }                                                                                                                        \
    } while (0)
#define assert_shown(wanted)                                                                                                     \
    do {                                                                                                                         \
        const char *text_ = seen(&screen);                                                                                       \
        if (strcmp(text_, wanted) != 0) {                                                                                        \
            speak_again();                                                                                                       \
            fail_msg("'%s' is not '%s'", text_, wanted);                                                                         \
        }                                                                                                                        \
    } while (0)

/* ---- lines ---- */

static json_t *read_line(struct trial_event *event, const char *line, const char *score_name)
{
    return event_line_read(event, line, strlen(line), score_name);
}

static void members_of_another_type_are_not_there(void **state)
{
    struct trial_event event;
    static const char line[] = "{\"phase\": 1, \"text\": [], \"step\": \"3\", \"steps\": true, \"score\": \"0.5\","
                               " \"train_s\": null, \"eval_s\": {}, \"param\": [], \"turns\": {}, \"failed\": 0, \"kind\": 7}";
    json_t *json = read_line(&event, line, NULL);
    (void)state;
    assert_non_null(json);
    assert_true(!event.phase && !event.text && !event.has_step && !event.has_score && !event.lost_score && !event.param &&
                !event.turns && !event.failed && !event.not_finite);
    assert_true(event.step == 0 && event.steps == 0 && event.train_s < 0 && event.eval_s < 0);
    assert_int_equal(event.failure, TRIAL_FAILURE_OTHER);
    json_decref(json);
}

static void numbers_are_taken_as_far_as_they_count(void **state)
{
    struct trial_event event;
    static const struct {
        const char *line;
        int64_t step;
        bool has_score;
    } cases[] = {{"{\"step\": 3.0, \"score\": 1}", 3, true},    {"{\"step\": -1, \"score\": 1e308}", 0, true},
                 {"{\"step\": 9e15}", 9000000000000000, false}, {"{\"step\": 9.1e15}", 0, false},
                 {"{\"step\": 2, \"score\": NaN}", 2, false},   {"{\"step\": 2, \"score\": -Infinity}", 2, false}};
    (void)state;
    for (size_t i = 0; i < sizeof cases / sizeof *cases; i++) {
        json_t *json = read_line(&event, cases[i].line, NULL);
        assert_non_null(json);
        assert_true(event.has_step && event.step == cases[i].step);
        assert_int_equal(event.has_score, cases[i].has_score);
        assert_int_equal(event.lost_score, i >= 4);
        json_decref(json);
    }
}

/* Python writes NaN and Infinity without quotes, which is not valid JSON. Inside strings they are ordinary words. */
static void what_is_not_finite_is_said_and_not_lost(void **state)
{
    struct trial_event event;
    json_t *json = read_line(&event, "{\"text\": \"a \\\"NaN\\\" \\\\\", \"loss\": NaN, \"em\": Infinity}", "em");
    (void)state;
    assert_non_null(json);
    assert_string_equal(event.text, "a \"NaN\" \\");
    assert_true(event.lost_score && !event.has_score && event.not_finite != NULL);
    json_decref(json);
    json = read_line(&event, "{\"word\": \"inf\", \"other\": \"infinite\"}", NULL);
    assert_string_equal(event.not_finite, "word");
    json_decref(json);
    static const char *const none[] = {"", "NaN", "{\"a\": NaN", "[Infinity]", "{\"a\": nan}", "{\"a\": \"NaN", "3", "{} x"};
    for (size_t i = 0; i < sizeof none / sizeof *none; i++)
        assert_null(read_line(&event, none[i], NULL));
}

static void metrics_are_finite_numbers_of_other_names(void **state)
{
    static const char *const reserved[] = {"step", "score", "steps", "train_s", "eval_s", "status"};
    json_t *number = json_real(0.5), *whole = json_integer(3), *text = json_string("x");
    const struct trial_event event = {.channel = TRIAL_CHANNEL_EVENTS}, printed = {.channel = TRIAL_CHANNEL_NONE};
    (void)state;
    for (size_t i = 0; i < sizeof reserved / sizeof *reserved; i++) {
        const struct metric_query asked = {.names = &reserved[i], .n_names = 1};
        assert_false(event_is_metric(&event, reserved[i], number, NULL));
        assert_true(event_is_metric(&event, reserved[i], number, &asked));
        assert_true(event_is_metric(&printed, reserved[i], number, NULL) == (i > 1));
    }
    assert_true(event_is_metric(&event, "loss", number, NULL) && event_is_metric(&event, "loss", whole, NULL));
    assert_false(event_is_metric(&event, "loss", text, NULL));
    json_decref(number);
    json_decref(whole);
    json_decref(text);
    assert_string_equal(trial_failure_name(TRIAL_FAILURE_SIZE), "size");
}

/* ---- lines that are printed ---- */

static bool read_printed(struct metric_lines *lines, struct trial_event *event, const char *line)
{
    return metric_lines_read(lines, event, line, strlen(line));
}

static double value_of(const struct trial_event *event, const char *name)
{
    const json_t *value = json_object_get(event->line, name);
    return value ? json_number_value(value) : -1;
}

static void a_line_may_say_several_metrics(void **state)
{
    struct metric_lines lines;
    struct trial_event event;
    (void)state;
    metric_lines_init(&lines, &(struct metric_query){0}, "acc");
    assert_true(read_printed(&lines, &event, "METRIC loss=0.5"));
    assert_true(event.step == 0 && value_of(&event, "loss") == 0.5 && !event.has_score);
    assert_true(read_printed(&lines, &event, "METRIC loss=0.25"));
    assert_true(event.step == 1 && value_of(&event, "loss") == 0.25);
    assert_true(read_printed(&lines, &event, "METRIC loss=0.125\tacc=0.9, step=7"));
    assert_true(event.step == 7 && value_of(&event, "loss") == 0.125 && event.has_score && event.score == 0.9);
    assert_true(read_printed(&lines, &event, "METRIC loss=3")); /* a line with fewer values than the line before */
    assert_true(event.step == 8 && value_of(&event, "loss") == 3 && value_of(&event, "acc") == -1 && !event.has_score);
    metric_lines_release(&lines);
}

static void what_is_no_metric_is_passed_over(void **state)
{
    static const char *const none[] = {
        "METRIC ",       "METRIC =3", "METRIC loss", "METRIC loss=",  "METRIC loss=0.5x", "METRIC", "a METRICS loss=0.5",
        "METRIC step=3", "",          "\r",          "METRIC loss: 3"};
    struct metric_lines lines;
    struct trial_event event;
    char line[160] = "METRIC ";
    (void)state;
    metric_lines_init(&lines, &(struct metric_query){0}, NULL);
    for (size_t i = 0; i < sizeof none / sizeof *none; i++)
        assert_false(read_printed(&lines, &event, none[i]));
    memset(line + 7, 'x', METRIC_NAME_BYTES);
    strcpy(line + 7 + METRIC_NAME_BYTES, "=1");
    assert_false(read_printed(&lines, &event, line));
    strcpy(line + 7 + METRIC_NAME_BYTES - 1, "=1");
    assert_true(read_printed(&lines, &event, line)); /* the longest valid name */
    assert_true(read_printed(&lines, &event, "METRIC step=-1 loss=1"));
    assert_int_equal(event.step, 3); /* steps -1 and 1e300 are ignored */
    assert_true(read_printed(&lines, &event, "METRIC step=1e300 other=1"));
    assert_int_equal(event.step, 3);
    assert_true(read_printed(&lines, &event, "METRIC  loss=2 ,x score=0.5\r"));
    assert_true(event.has_score && event.score == 0.5 && value_of(&event, "loss") == 2);
    metric_lines_release(&lines);
}

/* The message names the first of several values that are not finite. If the score is among them, it is lost, whatever
 * the order. */
static void printed_values_that_are_not_finite_are_said(void **state)
{
    struct metric_lines lines;
    struct trial_event event;
    (void)state;
    metric_lines_init(&lines, &(struct metric_query){0}, NULL);
    assert_true(read_printed(&lines, &event, "METRIC loss=nan grad=inf"));
    assert_string_equal(event.not_finite, "loss");
    assert_false(event.lost_score);
    assert_true(read_printed(&lines, &event, "METRIC score=nan loss=inf"));
    assert_string_equal(event.not_finite, "score");
    assert_true(event.lost_score && !event.has_score);
    assert_true(read_printed(&lines, &event, "METRIC loss=-inf score=nan acc=0.5"));
    assert_string_equal(event.not_finite, "loss");
    assert_true(event.lost_score && value_of(&event, "acc") == 0.5);
    metric_lines_release(&lines);
}

/* A name that is printed again begins a new step. Names that no longer fit into the table begin none. */
static void names_beyond_the_table_count_no_steps(void **state)
{
    struct metric_lines lines;
    struct trial_event event;
    char line[64];
    (void)state;
    metric_lines_init(&lines, &(struct metric_query){0}, NULL);
    for (int i = 0; i < METRIC_NAMES_MAX; i++) {
        snprintf(line, sizeof line, "METRIC m%d=%d", i, i);
        assert_true(read_printed(&lines, &event, line));
    }
    for (int i = 0; i < 3; i++) {
        assert_true(read_printed(&lines, &event, "METRIC another=1"));
        assert_int_equal(event.step, 0);
    }
    assert_true(read_printed(&lines, &event, "METRIC m0=1"));
    assert_int_equal(event.step, 1);
    metric_lines_release(&lines);
}

static void a_name_that_was_asked_for_is_read_anywhere(void **state)
{
    static const char *const asked[] = {"val_bpb", "acc"};
    static const char *const said[] = {
        "acc:0.5",         "acc: 0.5", "acc:\t 0.5",   "acc \t: 0.5", "acc: 0.5, of 1",        "acc: 0.5)",
        "acc: 0.5 (best)", "acc 0.5",  "the acc: 0.5", "Acc=0.5",     "\033[1macc\033[0m: 0.5"};
    static const char *const not_said[] = {
        "acc", "acc ", "acc\t", "acc:", "acc: ", "acc: \t", "acc: best", "accuracy: 0.5", "top/acc: 0.5"};
    struct metric_lines lines;
    struct trial_event event;
    (void)state;
    metric_lines_init(&lines, &(struct metric_query){.names = asked, .n_names = 2}, "acc");
    for (size_t i = 0; i < sizeof said / sizeof *said; i++) {
        assert_true(metric_lines_may_be_in(&lines, said[i], strlen(said[i])));
        assert_true(read_printed(&lines, &event, said[i]));
        assert_true(event.channel == TRIAL_CHANNEL_NAMED && event.has_score && event.score == 0.5);
    }
    for (size_t i = 0; i < sizeof not_said / sizeof *not_said; i++)
        assert_false(read_printed(&lines, &event, not_said[i]));
    assert_true(read_printed(&lines, &event, "val_bpb:          0.997900"));
    assert_true(value_of(&event, "val_bpb") == 0.9979 && !event.has_score);
    assert_false(metric_lines_may_be_in(&lines, "nothing of that", 15));
    metric_lines_release(&lines);
}

/* If the score was not named, the only METRIC name is the score, until a second name is printed. */
static void the_only_name_is_the_score(void **state)
{
    struct metric_lines lines;
    struct trial_event event;
    char text[300];
    (void)state;
    metric_lines_init(&lines, &(struct metric_query){0}, NULL);
    assert_true(read_printed(&lines, &event, "METRIC speed=2"));
    assert_true(event.has_score && event.score == 2 && event.channel == TRIAL_CHANNEL_ONLY && !event.several);
    assert_true(read_printed(&lines, &event, "METRIC heat=3"));
    assert_true(!event.has_score && event.several);
    assert_true(read_printed(&lines, &event, "METRIC speed=4"));
    assert_true(!event.has_score && event.several);
    metric_lines_describe(&lines, text, sizeof text);
    assert_string_equal(text, "looked for `METRIC score=NUMBER`, saw `METRIC speed`, `METRIC heat`");
    assert_true(read_printed(&lines, &event, "METRIC score=1 heat=3"));
    assert_true(event.has_score && event.score == 1 && event.channel == TRIAL_CHANNEL_METRIC);
    metric_lines_release(&lines);
}

static void the_nearest_line_is_remembered(void **state)
{
    static const char *const asked[] = {"loss"};
    static const char *const cases[][2] = {
        {"hello\nworld\n", "looked for `loss`"},
        {"a 1\nb 2\nc\n", "looked for `loss`, nearest line: b 2"},
        {"my_loss is 3\nb 2\n", "looked for `loss`, nearest line: my_loss is 3"},
        {"loss: 1,234.5\nb 2\n", "looked for `loss`, but the number has a comma inside: loss: 1,234.5 (print one plain number, "
                                 "or say with --metric-regex which digits count)"},
    };
    struct trial_event event;
    char text[300];
    (void)state;
    for (size_t i = 0; i < sizeof cases / sizeof *cases; i++) {
        struct metric_lines lines;
        metric_lines_init(&lines, &(struct metric_query){.names = asked, .n_names = 1}, "loss");
        if (metric_lines_may_be_in(&lines, cases[i][0], strlen(cases[i][0])))
            metric_lines_read(&lines, &event, cases[i][0], strcspn(cases[i][0], "\n"));
        metric_lines_describe(&lines, text, sizeof text);
        assert_string_equal(text, cases[i][1]);
        metric_lines_release(&lines);
    }
}

/* Reads the lines of a program and returns the last value of the name; NAN if a number must not be guessed or is missing. */
static double last_printed(const char *name, const char *printed)
{
    struct metric_lines lines;
    struct trial_event event;
    double last = (double)NAN;
    metric_lines_init(&lines, &(struct metric_query){.names = &name, .n_names = 1}, name);
    for (const char *line = printed; *line; line += strcspn(line, "\r\n") + (line[strcspn(line, "\r\n")] != '\0'))
        if (metric_lines_read(&lines, &event, line, strcspn(line, "\r\n")))
            last = event.has_score ? event.score : (double)NAN;
    metric_lines_release(&lines);
    return last;
}

static void numbers_below_their_names_are_read(void **state)
{
    static const struct {
        const char *name, *printed;
        double wanted;
    } cases[] = {
        {"eval_loss", "{'eval_loss': '0.6863', 'epoch': '3'}\n", 0.6863},
        {"valid_loss",
         "  epoch    train_loss    valid_loss     dur\n-------  ------------  ------------  ------\n"
         "      1        \033[36m0.7221\033[0m        \033[35m0.7089\033[0m  0.1028\n",
         0.7089},
        {"loss textcat",
         "E    #       LOSS TEXTCAT  SCORE \n---  ------  ------------  ------\n  0       0          0.25    1.00\n", 0.25},
        {"train loss", "      Iter       Train Loss   Remaining Time \n         1           1.1882            0.10s\n", 1.1882},
        {"loss", "epoch,loss,acc\n0,0.5,0.9\n1,0.4,0.8\n", 0.4},
        {"loss", "epoch,loss,acc\n0,0.5,0.9\nall done\n1,2,3\n", 0.5},
        {"average loss", "average  since     current\nloss     last       weight\n0.500000 0.200000      1.0\n", 0.5},
        {"loss", "│ Trial name   status       iter     loss │\n├───┤\n│ a_00000   TERMINATED     10      0.5 │\n", 0.5},
        {"map50",
         "      Class     Images      R      mAP50  mAP50-95): 100% ━━ 1/1 26.6it/s\n"
         "        all          8      0        0.7      0.4\n     person          8      0        0.1      0.2\n",
         0.7},
        {"box_loss",
         "   Epoch   GPU_mem   box_loss    Size\n     1/2        0G      2.153      64: 100% ━━ 2/2 7.8it/s\n"
         "   Class    Images      mAP50   other\n     all         8          9       7\n",
         2.153},
        {"rollout/reward", "| rollout/     |      |\n|    reward    | 12.3 |\n| train/       |      |\n|    reward    | 7    |\n",
         12.3},
        {"eval/a_very_long_name", "| eval/              |      |\n|    a_very_long... | 0.5 |\n", 0.5},
        {"acc", "|acc |↑ |0.2872|± |0.0045|\n", 0.2872},
        {"loss", "| loss | - | 0.5 |\n", NAN},
        {"evaluation_loss", "the evaluation_loss = \n0.1374\n", 0.1374},
        {"evaluation_loss", "the evaluation_loss = \n3 epochs were run\n", NAN},
        {"time", "time:   [251.04 ns 255.65 ns 263.01 ns]\n", 255.65},
        {"time", "  Time (mean ± σ):     101.4 ms ±   0.2 ms    [User: 0.7 ms]\n", 101.4},
        {"time", "time 900ms\ntime 1.2s\n", NAN},
        {"loss", "loss: [0.5, 0.6]\n", NAN},
        {"accuracy", "accuracy: 0.5\naccuracy: 100%|██| 8/8\naccuracy: 100% ━━ 8/8\n", 0.5},
        {"accuracy", "accuracy: 0.95\naccuracy: 91%\n", NAN},
        {"accuracy", "Accuracy: 23/200 (12%)\n", 0.115},
        {"accuracy", "Accuracy: 23/200 (13%)\n", NAN},
        {"acc", "METRIC acc=45/60 (75%)\n", 0.75},
        {"acc", "METRIC acc=45/60 (1)\n", NAN},
        {"acc", "acc: 45/60 (0.8s)\n", NAN},
        {"acc", "acc: 45/60 (1.)\n", NAN},
        {"accuracy", "accuracy: 45 of 60\n", NAN},
        {"loss", "loss: 1 234.5\n", NAN},
        {"loss", "loss: 1'234.5\n", NAN},
        {"mse", "mse: 1.25e-06\nwandb: Run summary:\nwandb: mse 0.0\n", 1.25e-06},
        {"mse", "wandb: mse 0.25\n", 0.25},
        {"loss", "loss: 0.1\n/a/t.py:3: UserWarning: hi\n  loss = 0.7\n", 0.1},
        {"loss", "loss: 0.1\n[rank0]: Traceback (most recent call last):\n[rank0]:   File \"x\"\n[rank0]:     loss = 0.7\n", 0.1},
        {"loss", "loss: 0.1\n╭── Traceback (most recent call last) ──╮\n│ ❱ 3 loss = 0.7 │\n╰──╯\nValueError: loss 0.6\n", 0.1},
        {"loss", "Traceback (most recent call last):\n\n> File \"x\"\n    loss = 0.7\n\nValueError: a\nloss: 0.3\n", 0.3},
    };
    (void)state;
    for (size_t i = 0; i < sizeof cases / sizeof *cases; i++) {
        double got = last_printed(cases[i].name, cases[i].printed);
        if (isnan(cases[i].wanted) ? !isnan(got) : got != cases[i].wanted)
            fail_msg("%s is %g, not %g, in: %s", cases[i].name, got, cases[i].wanted, cases[i].printed);
    }
}

/* ---- what is gathered ---- */

static void take(struct trial_results *record, const char *line)
{
    struct trial_event event;
    json_t *json = read_line(&event, line, NULL);
    assert_non_null(json);
    trial_results_event(record, &event);
    json_decref(json);
}

static void settings_and_turns_are_those_that_notes_can_hold(void **state)
{
    const struct trial_plan plan = {0};
    struct trial_results record;
    char line[8192];
    (void)state;
    trial_results_init(&record, &plan);
    take(&record, "{\"param\": {\"lr\": 1, \"a name\": 2, \"mode\": \"x\", \"wd\": NaN}}");
    take(&record, "{\"param\": {\"lr\": 0.5, \"0123456789012345678901234567890123456789012345678901234567890123\": 1}}");
    assert_int_equal(record.n_params, 1);
    assert_true(record.params[0].value == 0.5); /* the later value wins */
    int n = snprintf(line, sizeof line, "{\"param\": {\"p\": 1");
    for (int i = 0; i < TRIAL_PARAMS_MAX + 4; i++)
        n += snprintf(line + n, sizeof line - (size_t)n, ", \"p%d\": %d", i, i);
    snprintf(line + n, sizeof line - (size_t)n, "}}");
    take(&record, line);
    assert_int_equal(record.n_params, TRIAL_PARAMS_MAX);
    take(&record,
         "{\"turns\": [{\"turn\": -1}, {\"turn\": 4294967296}, {\"turn\": 2, \"mean\": 1, \"std\": 2, \"n\": 5}, {\"n\": -5}]}");
    assert_int_equal(record.n_turns, 2);
    assert_true(record.turns[0].turn == 2 && record.turns[0].count == 5 && record.turns[1].count == 0);
    n = snprintf(line, sizeof line, "{\"turns\": [{}");
    for (int i = 0; i < TRIAL_TURNS_MAX + 4; i++)
        n += snprintf(line + n, sizeof line - (size_t)n, ", {}");
    snprintf(line + n, sizeof line - (size_t)n, "]}");
    take(&record, line);
    assert_int_equal(record.n_turns, TRIAL_TURNS_MAX);
    trial_results_release(&record);
}

static void what_was_measured_at_the_end_is_asked_by_name(void **state)
{
    const struct trial_plan plan = {.score_key = "em"};
    struct trial_results record;
    double value = -1;
    (void)state;
    trial_results_init(&record, &plan);
    take(&record, "{\"step\": 1, \"score\": 0.25, \"ig_clip_scale_mean\": 1, \"ig_clip_scale_std\": \"x\"}");
    assert_false(trial_results_final(&value, &record, "em"));
    take(&record, "{\"phase\": \"done\", \"score\": 0.5, \"acc\": 7, \"train_s\": 3, \"eval_s\": 4}");
    take(&record, "{\"phase\": \"done\", \"std\": 1}");
    assert_true(trial_results_final(&value, &record, "em") && value == 0.5);
    assert_true(trial_results_final(&value, &record, "acc") && value == 7);
    assert_true(trial_results_final(&value, &record, "std") && value == 1);
    assert_false(trial_results_final(&value, &record, "none"));
    assert_true(record.train_s == 3 && record.eval_s == 4);
    assert_true(record.clip_scale_mean.present && !record.clip_scale_std.present);
    trial_results_release(&record);
}

/* Every second step is dropped whenever there are too many; the remaining steps cover the whole run. */
static void long_telemetry_is_thinned_out(void **state)
{
    const struct trial_plan plan = {.max_steps = 4};
    struct trial_results record;
    char line[64];
    (void)state;
    trial_results_init(&record, &plan);
    trial_results_next_run(&record, 2);
    for (int i = 0; i < 100; i++) {
        snprintf(line, sizeof line, "{\"step\": %d, \"loss\": %d}", i, i);
        take(&record, line);
    }
    const json_t *steps = json_object_get(record.phases, "run 2");
    assert_true(json_array_size(steps) > 1 && json_array_size(steps) < 4);
    assert_int_equal(json_integer_value(json_object_get(json_array_get(steps, 0), "step")), 0);
    assert_true(record.skipped);
    take(&record, "{\"phase\": \"warm\", \"step\": 1, \"loss\": 1}");
    assert_false(record.skipped);
    assert_non_null(json_object_get(record.phases, "run 2 warm"));
    trial_results_release(&record);
}

/* ---- what becomes of it ---- */

/* Makes the row of a trial that printed these events and had this outcome. */
static void finish(struct trial_results *record, const struct trial_plan *plan, struct trial_outcome *outcome,
                   const char *const *lines, struct lineage_trial *row, struct lineage_append_options *options)
{
    trial_results_init(record, plan);
    for (; lines && *lines; lines++)
        take(record, *lines);
    assert_true(trial_row_make(record, outcome, NULL, row, options));
}

static void every_end_has_a_label_and_a_reason(void **state)
{
    static const struct {
        struct trial_outcome outcome;
        const char *said[2];
        enum lineage_label label;
        const char *reason;
    } ends[] = {
        {{.end = TRIAL_FAILED, .text = "a; b\nc"}, {NULL}, LINEAGE_CRASH, "failed: a; b\nc"},
        {{.end = TRIAL_FAILED, .text = "x", .failure = TRIAL_FAILURE_INPUT}, {NULL}, LINEAGE_PREFLIGHT_CRASH, "failed: x"},
        {{.end = TRIAL_FAILED, .text = "x", .failure = TRIAL_FAILURE_INPUT}, {"{\"step\": 0}"}, LINEAGE_CRASH, "failed: x"},
        {{.end = TRIAL_SIGNALLED, .signal = 9}, {"{\"step\": 3}"}, LINEAGE_CRASH, "killed by signal 9 (Killed) after step 3"},
        {{.end = TRIAL_TRAIN_OVERRUN}, {NULL}, LINEAGE_TRAIN_BUDGET_OVERRUN, "training took more than 7 s, stopped"},
        {{.end = TRIAL_EVAL_OVERRUN},
         {"{\"phase\": \"eval\", \"step\": 1, \"steps\": 2}"},
         LINEAGE_EVAL_BUDGET_OVERRUN,
         "the final evaluation took more than 8 s after step 1 of 2"},
        {{.end = TRIAL_MEMORY_OVERRUN, .peak_bytes = 100},
         {"{\"phase\": \"warm start\", \"step\": 1, \"steps\": 2}"},
         LINEAGE_CRASH,
         "it held 100 bytes of memory, 90 are allowed, stopped after step 1 of 2 of the warm start"},
        {{.end = TRIAL_MEMORY_OVERRUN, .out_of_memory = true, .text = "out of memory: y"},
         {"{\"step\": 2}"},
         LINEAGE_CRASH,
         "out of memory: y after step 2"},
        {{.end = TRIAL_ARTIFACT_OVERRUN, .text = "f has 2 bytes, 1 are allowed"},
         {NULL},
         LINEAGE_SIZE_BLOCKED,
         "f has 2 bytes, 1 are allowed"},
        {{.end = TRIAL_PREFLIGHT_FAILED, .text = "p"}, {NULL}, LINEAGE_PREFLIGHT_CRASH, "p"},
        {{.end = TRIAL_DISQUALIFIED, .text = "d"}, {NULL}, LINEAGE_DISQUALIFIED, "d"},
        {{.end = TRIAL_SILENT}, {NULL}, LINEAGE_CRASH, "it said nothing for 9 s, stopped"},
        {{.end = TRIAL_NOT_FINITE, .text = "loss is not a finite number"},
         {NULL},
         LINEAGE_CRASH,
         "loss is not a finite number, stopped"},
        {{.end = TRIAL_ABANDONED}, {NULL}, LINEAGE_HARNESS_ABORT, "the process that watched it was killed"},
        {{.end = TRIAL_NOT_STARTED, .text = "n"}, {NULL}, LINEAGE_HARNESS_ABORT, "not started: n"},
        {{.end = TRIAL_INTERRUPTED}, {NULL}, LINEAGE_HARNESS_ABORT, "interrupted by the user"},
        {{.end = TRIAL_FINISHED}, {"{\"score\": NaN}"}, LINEAGE_CRASH, "its score is not a finite number"},
        {{.end = TRIAL_FINISHED, .looked = "looked for `x`"},
         {"{\"step\": 1}"},
         LINEAGE_HARNESS_ABORT,
         "exit 0 without a score: looked for `x`"},
        {{.end = TRIAL_FINISHED}, {"{\"score\": 1}"}, LINEAGE_BASELINE, ""},
    };
    const struct trial_plan plan = {
        .settings = {.train_seconds = 7, .eval_seconds = 8, .memory_bytes = 90, .silence_seconds = 9}};
    (void)state;
    for (size_t i = 0; i < sizeof ends / sizeof *ends; i++) {
        struct trial_outcome outcome = ends[i].outcome;
        struct trial_results record;
        struct lineage_trial row;
        struct lineage_append_options options;
        const char *lines[] = {ends[i].said[0], NULL};
        finish(&record, &plan, &outcome, lines, &row, &options);
        assert_int_equal(row.status, ends[i].label);
        assert_string_equal(outcome.reason, ends[i].reason);
        const char *reason = lineage_notes_cause(row.notes) ? strchr(row.notes, ';') + 1 : row.notes;
        assert_null(strpbrk(reason, ";\n")); /* a single piece behind the cause, so no parameter can begin in it */
        assert_true(options.auto_status == (ends[i].label == LINEAGE_BASELINE));
        trial_results_release(&record);
    }
}

/* A file name may contain any bytes, but notes are UTF-8. */
static void a_name_that_is_no_text_does_not_cost_the_row(void **state)
{
    const struct trial_plan plan = {0};
    struct trial_outcome outcome = {.end = TRIAL_ARTIFACT_OVERRUN, .text = "caf\xe9\x01 has 2 bytes"};
    struct trial_results record;
    struct lineage_trial row;
    struct lineage_append_options options;
    (void)state;
    finish(&record, &plan, &outcome, NULL, &row, &options);
    assert_string_equal(row.notes, "caf?  has 2 bytes");
    trial_results_release(&record);
    snprintf(outcome.text, sizeof outcome.text, "caf\xc3\xa9 has 2 bytes");
    finish(&record, &plan, &outcome, NULL, &row, &options);
    assert_string_equal(row.notes, "caf\xc3\xa9 has 2 bytes");
    trial_results_release(&record);
}

/* The trial chooses its phase names. A phase that is named like a member of telemetry gets a prefix, so the two cannot
 * be confused. */
static void telemetry_is_json_whatever_phases_are_called(void **state)
{
    static const char *const lines[] = {"{\"phase\": \"a \\\"b\\\\c\\td\", \"step\": 1, \"loss\": 1}",
                                        "{\"phase\": \"final\", \"step\": 1, \"loss\": 2}",
                                        "{\"phase\": \"info_gain\", \"step\": 1, \"loss\": 3}",
                                        "{\"phase\": \"steps\", \"step\": 1, \"loss\": 4}",
                                        "{\"phase\": \"train\", \"step\": 1, \"loss\": 5}",
                                        "{\"turns\": [{\"turn\": 1, \"mean\": 0.123456789, \"std\": 2, \"n\": 3}]}",
                                        "{\"phase\": \"done\", \"acc\": 6, \"train_s\": 1, \"eval_s\": 2}",
                                        NULL};
    static const char *const names[] = {"a__b_c_d", "phase_final", "phase_info_gain", "phase_steps", "steps"};
    const struct trial_plan plan = {0};
    struct trial_outcome outcome = {.end = TRIAL_FINISHED};
    struct trial_results record;
    struct lineage_trial row;
    struct lineage_append_options options;
    (void)state;
    finish(&record, &plan, &outcome, lines, &row, &options);
    json_t *telemetry = json_loadb(options.telemetry, options.telemetry_length, JSON_REJECT_DUPLICATES, NULL);
    assert_non_null(telemetry);
    for (size_t i = 0; i < sizeof names / sizeof *names; i++) {
        const json_t *step = json_array_get(json_object_get(telemetry, names[i]), 0);
        assert_int_equal(json_integer_value(json_object_get(step, "loss")), (json_int_t)i + 1);
    }
    assert_int_equal(json_integer_value(json_object_get(json_object_get(telemetry, "final"), "acc")), 6);
    assert_int_equal(row.n_turns, 1);
    assert_true(row.turns[0].mean == 0.123457);
    json_decref(telemetry);
    trial_results_release(&record);
}

static void what_the_trial_says_of_a_setting_counts(void **state)
{
    static const char *const lines[] = {"{\"param\": {\"alpha\": 0.5, \"lr\": 1}}", NULL};
    struct lineage_param known[TRIAL_PARAMS_MAX];
    char names[TRIAL_PARAMS_MAX][8];
    struct trial_outcome outcome = {.end = TRIAL_FINISHED};
    struct trial_results record;
    struct lineage_trial row;
    struct lineage_append_options options;
    (void)state;
    for (size_t i = 0; i < TRIAL_PARAMS_MAX; i++) {
        snprintf(names[i], sizeof names[i], "p%zu", i);
        known[i] = (struct lineage_param){names[i], (double)i, NULL};
    }
    known[0] = (struct lineage_param){"alpha", 0.25, NULL};
    const struct trial_plan plan = {.params = known, .n_params = TRIAL_PARAMS_MAX};
    finish(&record, &plan, &outcome, lines, &row, &options);
    assert_int_equal(row.n_params, TRIAL_PARAMS_MAX); /* the last parameter does not fit */
    assert_true(strcmp(row.params[0].name, "alpha") == 0 && row.params[0].value == 0.5);
    assert_true(strcmp(row.params[2].name, "p1") == 0 && row.params[2].value == 1);
    trial_results_release(&record);
}

/* A score counts even if telemetry has no room for its step. */
static void a_score_of_a_step_that_is_not_kept_counts(void **state)
{
    const struct trial_plan plan = {.max_steps = 4};
    struct trial_results record;
    char line[64];
    (void)state;
    trial_results_init(&record, &plan);
    for (int i = 0; i < 9; i++) {
        snprintf(line, sizeof line, "{\"step\": %d, \"loss\": 1}", i);
        take(&record, line);
    }
    take(&record, "{\"step\": 9, \"loss\": 1, \"score\": 0.5}");
    assert_true(record.score.present && record.score.value == 0.5 && record.score_step == 9);
    take(&record, "{\"step\": 11, \"loss\": 1, \"text\": \"a word\"}");
    assert_false(record.skipped);
    take(&record, "{\"step\": 13, \"loss\": 1, \"failed\": \"why\"}");
    assert_false(record.skipped);
    take(&record, "{\"step\": 15, \"loss\": 1, \"phase\": \"train\"}");
    assert_false(record.skipped);
    trial_results_release(&record);
}

/* ---- what is shown ---- */

struct screen {
    int fd; /* a descriptor of the reader */
};

/* Opens a terminal with this number of columns (0: unknown), or a file if columns is -1. */
static bool look(struct screen *screen, int columns)
{
    int shown;
    if (columns < 0) {
        char name[] = "/tmp/lineage-test-XXXXXX";
        shown = mkstemp(name);
        screen->fd = open(name, O_RDONLY);
        unlink(name);
    } else {
        struct winsize size = {.ws_row = 24, .ws_col = (unsigned short)columns};
        screen->fd = posix_openpt(O_RDWR | O_NOCTTY | O_NONBLOCK);
        if (screen->fd < 0 || grantpt(screen->fd) != 0 || unlockpt(screen->fd) != 0)
            return false;
        shown = open(ptsname(screen->fd), O_RDWR | O_NOCTTY);
        if (shown < 0 || ioctl(shown, TIOCSWINSZ, &size) != 0)
            return false;
    }
    fflush(stderr);
    error_before = dup(STDERR_FILENO);
    dup2(shown, STDERR_FILENO);
    close(shown);
    return true;
}

/* Returns the output up to now. A terminal passes on what was written to it with some delay. */
static const char *seen(const struct screen *screen)
{
    static char text[16384];
    struct pollfd fd = {screen->fd, POLLIN, 0};
    ssize_t n, length = 0;
    fflush(stderr);
    for (int patience = 200; poll(&fd, 1, patience) > 0; patience = 20) {
        n = read(screen->fd, text + length, sizeof text - 1 - (size_t)length);
        if (n <= 0)
            break;
        length += n;
    }
    text[length] = '\0';
    return text;
}

static void look_away(struct screen *screen)
{
    speak_again();
    close(error_before);
    error_before = -1;
    close(screen->fd);
}

static void show(struct progress *progress, const char *line)
{
    struct trial_event event;
    json_t *json = read_line(&event, line, NULL);
    assert_non_null(json);
    progress_event(progress, &event);
    json_decref(json);
}

static void a_file_gets_a_line_for_what_is_worth_one(void **state)
{
    struct progress progress;
    struct screen screen;
    char line[128];
    (void)state;
    assert_true(look(&screen, -1));
    progress_begin(&progress, "na\nme", "EM", false);
    show(&progress, "{\"text\": \"2 parameters\\u001b[2J\"}");
    for (int i = 1; i <= 100; i++) {
        snprintf(line, sizeof line,
                 "{\"phase\": \"warm start\", \"step\": %d, \"steps\": 100, \"loss\": 0.5, \"tokens_s\": 1234.5}", i);
        show(&progress, line);
    }
    const char *text = seen(&screen);
    assert_has(text, "2 parameters");
    assert_lacks(text, "\033");
    assert_has(text, "warm start 50/100, loss 0.500, 1234 tokens/s");
    assert_has(text, "warm start 100/100");
    assert_lacks(text, "warm start 10/100");
    for (int i = 1; i <= 100; i++) {
        snprintf(line, sizeof line, "{\"phase\": \"train\", \"step\": %d, \"steps\": 100%s}", i,
                 i > 50 && i % 30 == 0 ? ", \"score\": 0.25" : "");
        show(&progress, line);
    }
    text = seen(&screen);
    assert_has(text, "step 10/100");
    assert_has(text, "step 60/100, EM 0.250");
    assert_has(text, "step 90/100, EM 0.250");
    assert_lacks(text, "step 80/100"); /* scores are shown instead of steps */
    show(&progress, "{\"phase\": \"eval\"}");
    show(&progress,
         "{\"phase\": \"done\", \"score\": 0.5, \"acc\": 0.75, \"ig_clip_scale_mean\": 1, \"train_s\": 2, \"eval_s\": 3}");
    text = seen(&screen);
    assert_has(text, "final evaluation\n");
    assert_has(text, " EM 0.500, acc 0.750, trained 2.0 s, evaluated 3.0 s\n");
    assert_lacks(text, "ig_clip");
    show(&progress, "{\"phase\": \"eval\", \"step\": 100}"); /* an eval event, even with a number, is not a step */
    assert_has(seen(&screen), "final evaluation\n");
    show(&progress, "{\"param\": {\"lr\": 1}}");
    assert_shown("");
    show(&progress, "{\"phase\": \"done\", \"step\": 100, \"acc\": 0.75}");
    show(&progress, "{\"failed\": \"no data\", \"text\": \"not shown here\"}");
    text = seen(&screen);
    assert_has(text, ": acc 0.750\n");
    assert_lacks(text, "shown");
    progress_end(&progress);
    assert_shown("");
    look_away(&screen);
}

/* The total number of steps is unknown: one line is printed now and another half a minute later. */
static void a_way_without_end_is_told_now_and_then(void **state)
{
    struct progress progress;
    struct screen screen;
    (void)state;
    assert_true(look(&screen, -1));
    progress_begin(&progress, "name", NULL, false);
    show(&progress, "{\"step\": 1}");
    assert_has(seen(&screen), "name: step 1\n");
    show(&progress, "{\"step\": 2, \"score\": 1}");
    assert_shown("");
    progress.told -= 31;
    show(&progress, "{\"step\": 3}");
    assert_has(seen(&screen), "step 3, score 1.000\n");
    look_away(&screen);
}

static void on_a_terminal_one_line_is_written_over(void **state)
{
    struct progress progress;
    struct screen screen;
    (void)state;
    if (!look(&screen, 30)) {
        print_message("SKIP: this machine has no pseudo-terminals\n");
        return;
    }
    progress_begin(&progress, "a long name of a trial", NULL, false);
    assert_true(progress.terminal);
    show(&progress, "{\"step\": 1, \"steps\": 100000, \"loss\": 0.5}");
    const char *text = seen(&screen);
    assert_memory_equal(text, "\r\033[K", 4);
    assert_lacks(text, "loss"); /* the line is cut before it would wrap */
    assert_lacks(text, "\n");
    progress.began -= 7200;
    show(&progress, "{\"step\": 2, \"steps\": 3, \"text\": \"x\"}");
    show(&progress, "{\"text\": \"a word\"}");
    assert_has(seen(&screen), ": a wo");
    progress.rapid = true;
    show(&progress, "{\"step\": 2, \"steps\": 3}"); /* too early to be readable */
    assert_shown("");
    progress.told -= 1;
    /* Now a person can read it. */
    show(&progress, "{\"step\": 2, \"steps\": 3, \"loss\": 1, \"tokens_s\": 7}");
    assert_has(seen(&screen), ": step");
    show(&progress, "{\"param\": {\"lr\": 1}}"); /* an event that people are not shown */
    assert_shown("");
    progress_output(&progress, "of its own", 10);
    assert_has(seen(&screen), "\r\033[Kof its own");
    progress.told -= 1;
    show(&progress, "{\"step\": 2, \"steps\": 3}"); /* not printed in the middle of the command's line */
    assert_shown("");
    progress_end(&progress);
    assert_shown("\r\n\r\033[K");
    look_away(&screen);
}

/* The time left is estimated from the first step that was seen. */
static void the_time_left_is_that_of_the_steps_left(void **state)
{
    struct progress progress;
    struct screen screen;
    (void)state;
    setenv("COLUMNS", "100", 1);
    if (!look(&screen, 0)) {
        print_message("SKIP: this machine has no pseudo-terminals\n");
        return;
    }
    progress_begin(&progress, "name", NULL, false);
    show(&progress, "{\"step\": 1, \"steps\": 3}");
    assert_lacks(seen(&screen), "left");
    progress.began -= 7199;
    show(&progress, "{\"step\": 2, \"steps\": 3}");
    assert_has(seen(&screen), ", 1:59:59 left");
    progress.began += 7139;
    show(&progress, "{\"step\": 2, \"steps\": 3}");
    assert_has(seen(&screen), ", 1:00 left");
    progress.began -= 100000000;
    show(&progress, "{\"step\": 2, \"steps\": 3}");
    assert_has(seen(&screen), ", 1000:00:00 left"); /* the longest time shown */
    progress.began += 200000000;
    show(&progress, "{\"step\": 2, \"steps\": 3}"); /* the clock went back */
    assert_has(seen(&screen), ", 0:00 left");
    show(&progress, "{\"step\": 3, \"steps\": 3}");
    assert_lacks(seen(&screen), "left");
    unsetenv("COLUMNS");
    show(&progress, "{\"step\": 4, \"loss\": 1, \"tokens_s\": 7}");
    assert_has(seen(&screen), "step 4, loss 1.000, 7 tokens/s");
    setenv("COLUMNS", "many", 1);
    show(&progress, "{\"step\": 5}");
    setenv("COLUMNS", "99999999", 1);
    show(&progress, "{\"step\": 6}");
    assert_has(seen(&screen), "step 6");
    unsetenv("COLUMNS");
    look_away(&screen);
}

static void who_wants_no_word_gets_none(void **state)
{
    struct progress progress;
    struct screen screen;
    (void)state;
    assert_true(look(&screen, -1));
    progress_begin(&progress, "name", NULL, true);
    show(&progress, "{\"text\": \"a word\"}");
    show(&progress, "{\"phase\": \"done\", \"score\": 1}");
    progress_output(&progress, "printed\n", 8);
    progress_end(&progress);
    assert_shown("");
    progress_begin(&progress, "name", NULL, false);
    progress_output(&progress, "", 0);
    progress_output(&progress, "printed\n", 8);
    progress_end(&progress);
    assert_shown("printed\n");
    look_away(&screen);
}

/* If a person has stopped the terminal, the trial goes on, and the bytes that were not shown are counted. */
static void a_terminal_that_takes_nothing_holds_nobody_up(void **state)
{
    struct progress progress;
    struct screen screen;
    char bytes[4096];
    int ends[2];
    (void)state;
    memset(bytes, 'x', sizeof bytes);
    assert_int_equal(pipe(ends), 0);
    screen.fd = ends[0];
    fflush(stderr);
    error_before = dup(STDERR_FILENO);
    dup2(ends[1], STDERR_FILENO);
    close(ends[1]);
    progress_begin(&progress, "name", NULL, false);
    for (int i = 0; i < 64; i++)
        progress_output(&progress, bytes, sizeof bytes);
    assert_true(progress.unshown > 0 && progress.unshown % sizeof bytes == 0);
    fcntl(screen.fd, F_SETFL, O_NONBLOCK);
    while (read(screen.fd, bytes, sizeof bytes) > 0)
        ;
    progress_end(&progress);
    assert_has(seen(&screen), "bytes that it printed were not shown");
    look_away(&screen);
}

/* Only then the steps that were kept are searched: a search for each line of a long log took time in proportion to its square. */
static void known_values_are_asked_for_only_if_steps_go_back(void **state)
{
    (void)state;
    static const struct {
        int64_t step;
        double value;
        bool back;
    } lines[] = {{1, 0.5, false}, {2, 0.4, false}, {2, 0.4, false}, {4, 0.3, false}, {3, 0.2, true}, {5, 0.1, false}};
    struct step_order order = {0};
    for (size_t i = 0; i < sizeof lines / sizeof *lines; i++) {
        const struct metric_place place = {7, lines[i].step}, other = {8, lines[i].step};
        assert_int_equal(lines[i].back, step_order_goes_back(&order, "loss", place));
        assert_false(step_order_goes_back(&order, "acc", place));
        assert_false(step_order_goes_back(&order, "loss", other));
        assert_int_equal(lines[i].back ? STEP_BACK : STEP_FORWARD,
                         step_order_take(&order, "loss", place, lines[i].value, NULL, false));
    }
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(members_of_another_type_are_not_there),
        cmocka_unit_test(numbers_are_taken_as_far_as_they_count),
        cmocka_unit_test(what_is_not_finite_is_said_and_not_lost),
        cmocka_unit_test(metrics_are_finite_numbers_of_other_names),
        cmocka_unit_test(a_line_may_say_several_metrics),
        cmocka_unit_test(what_is_no_metric_is_passed_over),
        cmocka_unit_test(printed_values_that_are_not_finite_are_said),
        cmocka_unit_test(names_beyond_the_table_count_no_steps),
        cmocka_unit_test(a_name_that_was_asked_for_is_read_anywhere),
        cmocka_unit_test(the_only_name_is_the_score),
        cmocka_unit_test(the_nearest_line_is_remembered),
        cmocka_unit_test(numbers_below_their_names_are_read),
        cmocka_unit_test(every_end_has_a_label_and_a_reason),
        cmocka_unit_test(a_name_that_is_no_text_does_not_cost_the_row),
        cmocka_unit_test(telemetry_is_json_whatever_phases_are_called),
        cmocka_unit_test(what_the_trial_says_of_a_setting_counts),
        cmocka_unit_test(a_score_of_a_step_that_is_not_kept_counts),
        cmocka_unit_test(settings_and_turns_are_those_that_notes_can_hold),
        cmocka_unit_test(what_was_measured_at_the_end_is_asked_by_name),
        cmocka_unit_test(long_telemetry_is_thinned_out),
        cmocka_unit_test(a_file_gets_a_line_for_what_is_worth_one),
        cmocka_unit_test(a_way_without_end_is_told_now_and_then),
        cmocka_unit_test(on_a_terminal_one_line_is_written_over),
        cmocka_unit_test(the_time_left_is_that_of_the_steps_left),
        cmocka_unit_test(who_wants_no_word_gets_none),
        cmocka_unit_test(a_terminal_that_takes_nothing_holds_nobody_up),
        cmocka_unit_test(known_values_are_asked_for_only_if_steps_go_back),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
