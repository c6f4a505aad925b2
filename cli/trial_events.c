/* trial_events.c: events of a run become a struct lineage_trial and its telemetry. */
#include "trial_events.h"

#include <math.h>
#include <stdarg.h>
#include <stdlib.h>
#include <string.h>

#include <lineage/text.h>

#include "cli.h"
#include "trial_params.h"
#include "trial_wire.h"

void trial_record_init(struct trial_record *record, const struct trainer_recipe *recipe)
{
    *record =
        (struct trial_record){.recipe = recipe, .warm_start = json_array(), .steps = json_array()};
}

void trial_record_release(struct trial_record *record)
{
    json_decref(record->warm_start);
    json_decref(record->steps);
    free(record->telemetry);
}

/* ---- events ---- */

/* The telemetry object of a step, made if there is none. */
static json_t *step_object(json_t *steps, int32_t step)
{
    size_t n = json_array_size(steps);
    json_t *last = n ? json_array_get(steps, n - 1) : NULL;
    if (last && json_integer_value(json_object_get(last, "step")) == step)
        return last;
    json_t *object = json_pack("{s:i}", "step", (int)step);
    json_array_append_new(steps, object);
    return object;
}

static void take_iteration(struct trial_record *record, const struct trainer_event *event)
{
    const struct trainer_iteration *iteration = event->iteration;
    json_t *metrics = trial_wire_metrics(iteration);
    record->n_iterations++;
    record->clip_scale_mean += iteration->clip_scale_mean;
    record->clip_scale_std += iteration->clip_scale_std;
    record->n_gain = iteration->n_gain;
    memcpy(record->gain, iteration->gain, sizeof record->gain);
    json_object_update(step_object(record->steps, event->step), metrics);
    json_decref(metrics);
}

static void take_evaluation(struct trial_record *record, const struct trainer_event *event)
{
    record->score = (struct lineage_number){true, event->score};
    record->score_step = event->step;
    json_object_set_new(step_object(record->steps, event->step), "em",
                        cli_json_number(event->score));
}

void trial_record_event(struct trial_record *record, const struct trainer_event *event)
{
    switch (event->kind) {
    case TRAINER_EVENT_START: record->started = true; break;
    case TRAINER_EVENT_WARM:
        json_object_set_new(step_object(record->warm_start, event->step), "loss",
                            cli_json_number(event->loss));
        break;
    case TRAINER_EVENT_ITERATION:
        if (event->iteration)
            take_iteration(record, event);
        break;
    case TRAINER_EVENT_EVALUATION: take_evaluation(record, event); break;
    case TRAINER_EVENT_EVALUATING: break;
    case TRAINER_EVENT_DONE:
        record->done = true;
        record->final = *event;
        record->final.iteration = NULL;
        break;
    }
    record->begun = record->begun || event->kind != TRAINER_EVENT_START;
    record->last = *event;
    record->last.iteration = NULL;
}

/* ---- label ---- */

static enum lineage_label failure_label(const struct trial_record *record,
                                        enum trainer_status status)
{
    if (status == TRAINER_ESIZE)
        return LINEAGE_SIZE_BLOCKED;
    if (record->begun || status == TRAINER_ENOMEM || status == TRAINER_ENUMERIC ||
        status == TRAINER_OK)
        return LINEAGE_CRASH;
    return LINEAGE_PREFLIGHT_CRASH;
}

static enum lineage_label label(const struct trial_record *record,
                                const struct trial_outcome *outcome)
{
    switch (outcome->end) {
    case TRIAL_FINISHED: return LINEAGE_BASELINE;
    case TRIAL_FAILED: return failure_label(record, outcome->error.status);
    case TRIAL_SIGNALLED: break;
    case TRIAL_TRAIN_OVERRUN: return LINEAGE_TRAIN_BUDGET_OVERRUN;
    case TRIAL_EVAL_OVERRUN: return LINEAGE_EVAL_BUDGET_OVERRUN;
    case TRIAL_INTERRUPTED: return LINEAGE_HARNESS_ABORT;
    }
    return LINEAGE_CRASH;
}

/* ---- notes ---- */

/* Add a piece. A semicolon inside would end it and let the rest set parameters. */
static void __attribute__((format(printf, 2, 3))) note(struct trial_record *record,
                                                       const char *format, ...)
{
    size_t n = strlen(record->notes);
    va_list args;
    if (n)
        n += (size_t)snprintf(record->notes + n, TRIAL_NOTES_MAX - n, "; ");
    if (n >= TRIAL_NOTES_MAX - 1)
        return;
    va_start(args, format);
    vsnprintf(record->notes + n, TRIAL_NOTES_MAX - n, format, args);
    va_end(args);
    for (char *c = record->notes + n; *c; c++)
        if (*c == ';')
            *c = ',';
}

static void note_algorithms(struct trial_record *record)
{
    const struct trainer_recipe *recipe = record->recipe;
    char *words = trial_params_words(recipe);
    for (int32_t i = 0; i < recipe->n_tasks; i++)
        note(record, "%s on %s", trainer_algorithm_text(recipe->tasks[i].algorithm.name),
             trainer_env_name(recipe->tasks[i].env.kind));
    if (words && *words)
        note(record, "%s", words);
    free(words);
}

/* " after step 37 of 120", or of the warm start. */
static void where(const struct trial_record *record, char text[64])
{
    text[0] = '\0';
    if (record->begun && record->last.steps > 0)
        snprintf(text, 64, " after step %d of %d%s", (int)record->last.step,
                 (int)record->last.steps,
                 record->last.kind == TRAINER_EVENT_WARM ? " of the warm start" : "");
}

static void give_reason(const struct trial_record *record, struct trial_outcome *outcome)
{
    const size_t size = sizeof outcome->reason;
    char at[64], *reason = outcome->reason;
    where(record, at);
    switch (outcome->end) {
    case TRIAL_FINISHED: break;
    case TRIAL_FAILED: snprintf(reason, size, "failed%s: %s", at, outcome->error.text); break;
    case TRIAL_SIGNALLED:
        snprintf(reason, size, "killed by signal %d (%s)%s", outcome->signal,
                 strsignal(outcome->signal), at);
        break;
    case TRIAL_TRAIN_OVERRUN:
        snprintf(reason, size, "training took more than %g s, stopped%s",
                 record->recipe->budget.train_seconds, at);
        break;
    case TRIAL_EVAL_OVERRUN:
        snprintf(reason, size, "the final evaluation took more than %g s%s",
                 record->recipe->budget.eval_seconds, at);
        break;
    case TRIAL_INTERRUPTED: snprintf(reason, size, "interrupted by the user%s", at); break;
    }
}

static void note_scores(struct trial_record *record, const struct trial_outcome *outcome)
{
    const struct trainer_event *final = &record->final;
    if (outcome->end == TRIAL_FINISHED)
        note(record, "EM std %.4f over %d sampling seeds, greedy %.4f, area under the curve %.4f",
             final->score_std, (int)record->recipe->evaluation.seeds, final->score_greedy,
             final->area);
    else if (record->score.present)
        note(record, "EM %.4f at step %d", record->score.value, (int)record->score_step);
}

/* ---- statistics ---- */

/* Statistics are read by people and language models, who have no use for more. */
static double six_digits(double value)
{
    char text[32];
    double rounded = value;
    int n = snprintf(text, sizeof text, "%.6g", value);
    lineage_number_parse(&rounded, text, (size_t)n);
    return rounded;
}

static void fill_clip_scale(const struct trial_record *record, struct lineage_trial *trial)
{
    double n = record->n_iterations;
    double mean = record->done ? record->final.clip_scale_mean : record->clip_scale_mean / n;
    double std = record->done ? record->final.clip_scale_std : record->clip_scale_std / n;
    if (record->n_iterations == 0)
        return;
    trial->ig_clip_scale_mean = (struct lineage_number){true, six_digits(mean)};
    trial->ig_clip_scale_std = (struct lineage_number){true, six_digits(std)};
}

static void fill_turns(struct trial_record *record, struct lineage_trial *trial)
{
    const struct trainer_turn_gain *gain = record->done ? record->final.gain : record->gain;
    int32_t n = record->done ? record->final.n_gain : record->n_gain;
    for (int32_t i = 0; i < n; i++)
        if (gain[i].count)
            record->turns[trial->n_turns++] = (struct lineage_turn_stat){
                (uint32_t)i, six_digits(gain[i].mean), six_digits(gain[i].std), gain[i].count};
    trial->turns = record->turns;
}

static double milliseconds(double seconds)
{
    return round(seconds * 1e3) / 1e3;
}

static void fill_measures(struct trial_record *record, const struct trial_outcome *outcome,
                          struct lineage_trial *trial)
{
    if (outcome->end == TRIAL_FINISHED)
        trial->core_metric = (struct lineage_number){true, record->final.score};
    if (record->started) {
        trial->train_s = (struct lineage_number){true, milliseconds(record->last.train_s)};
        trial->total_s = (struct lineage_number){true, milliseconds(outcome->total_s)};
    }
    fill_clip_scale(record, trial);
    fill_turns(record, trial);
}

/* ---- telemetry ---- */

static json_t *final_json(const struct trainer_event *final)
{
    json_t *object = json_object();
    json_object_set_new(object, "em", cli_json_number(final->score));
    json_object_set_new(object, "em_std", cli_json_number(final->score_std));
    json_object_set_new(object, "em_greedy", cli_json_number(final->score_greedy));
    json_object_set_new(object, "area", cli_json_number(final->area));
    json_object_set_new(object, "train_s", cli_json_number(final->train_s));
    json_object_set_new(object, "eval_s", cli_json_number(final->eval_s));
    return object;
}

/* A list of objects, one a line. */
static void print_steps(FILE *out, const char *name, const json_t *steps)
{
    fprintf(out, "\"%s\": [", name);
    for (size_t i = 0; i < json_array_size(steps); i++) {
        fputs(i ? ",\n" : "\n", out);
        char *line = json_dumps(json_array_get(steps, i), JSON_REAL_PRECISION(12));
        fputs(line ? line : "null", out);
        free(line);
    }
    fputs("]", out);
}

static void print_telemetry(FILE *out, const struct trial_record *record)
{
    fputc('{', out);
    if (record->done) {
        json_t *final = final_json(&record->final);
        fputs("\"final\": ", out);
        cli_json_print(out, final, false);
        fputc(',', out);
        json_decref(final);
    }
    if (json_array_size(record->warm_start)) {
        print_steps(out, "warm_start", record->warm_start);
        fputs(",\n", out);
    }
    print_steps(out, "steps", record->steps);
    fputs("}\n", out);
}

static bool fill_telemetry(struct trial_record *record, struct lineage_append_options *options)
{
    size_t length = 0;
    if (!record->started)
        return true;
    FILE *out = open_memstream(&record->telemetry, &length);
    if (out) {
        print_telemetry(out, record);
        fclose(out);
    }
    options->telemetry = record->telemetry;
    options->telemetry_length = length;
    return out && record->telemetry;
}

/* ---- the row ---- */

static void fill_recipe(struct trial_record *record, struct lineage_trial *trial)
{
    const struct trainer_recipe *recipe = record->recipe;
    trial->specialist = recipe->name;
    trial->domain = recipe->domain;
    trial->hypothesis = recipe->hypothesis;
    trial->expected_delta = recipe->expected_delta;
    note_algorithms(record);
    trial_params_fill(record, trial->parent_exp && *trial->parent_exp);
    trial->params = record->params;
    trial->n_params = record->n_params;
}

bool trial_record_finish(struct trial_record *record, struct trial_outcome *outcome,
                         const struct trial_context *context, struct lineage_trial *trial,
                         struct lineage_append_options *options)
{
    *trial = (struct lineage_trial){.specialist = context->specialist,
                                    .parent_exp = context->parent,
                                    .hypothesis = context->hypothesis,
                                    .expected_delta = context->expected_delta};
    lineage_append_options_init(options);
    trial->status = label(record, outcome);
    options->auto_status = outcome->end == TRIAL_FINISHED && !context->baseline;
    if (record->recipe)
        fill_recipe(record, trial);
    if (context->remark[0])
        note(record, "%s", context->remark);
    give_reason(record, outcome);
    if (outcome->reason[0])
        note(record, "%s", outcome->reason);
    if (record->recipe)
        note_scores(record, outcome);
    fill_measures(record, outcome, trial);
    trial->notes = record->notes;
    return fill_telemetry(record, options);
}
