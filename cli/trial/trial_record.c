/*
 * trial_record.c: events of a trial gathered by name.
 *
 * Everything is kept as it comes, so that a trial that is cut off at any moment leaves what it measured until
 * then: the row of a crash with its last score and all its steps is worth more than the next attempt.
 */
#include "trial/trial_record.h"

#include <stdlib.h>
#include <string.h>

#include "cli.h"

void trial_record_init(struct trial_record *record, const struct trial_plan *plan)
{
    *record = (struct trial_record){.plan = plan, .train_s = -1, .eval_s = -1, .phases = json_object(), .stride = 1};
    snprintf(record->phase, sizeof record->phase, "%s", TRIAL_PHASE_TRAIN);
}

void trial_record_next_run(struct trial_record *record, size_t run)
{
    record->run = run;
    record->score = (struct lineage_number){0};
    record->score_channel = TRIAL_CHANNEL_NONE;
    record->step = record->steps = 0;
    record->n_steps = 0;
    record->stride = 1;
    snprintf(record->phase, sizeof record->phase, "%s", TRIAL_PHASE_TRAIN);
    json_decref(record->final);
    record->final = NULL;
}

void trial_record_release(struct trial_record *record)
{
    json_decref(record->phases);
    json_decref(record->final);
    free(record->telemetry);
}

/* Every second one goes: what is left covers the whole way, at half the resolution. */
static void thin_out(struct trial_record *record, json_t *steps)
{
    if (!record->plan->max_steps || json_array_size(steps) < record->plan->max_steps)
        return;
    for (size_t i = 1; i < json_array_size(steps); i++)
        json_array_remove(steps, i);
    record->stride *= 2;
}

/* The steps of this phase, made if there are none. Those of a second run stand under a name of their own. */
static json_t *steps_of_phase(struct trial_record *record)
{
    char key[TRIAL_PHASE_MAX + 32];
    bool training = strcmp(record->phase, TRIAL_PHASE_TRAIN) == 0;
    if (record->run > 1)
        snprintf(key, sizeof key, "run %zu%s%s", record->run, training ? "" : " ", training ? "" : record->phase);
    else
        snprintf(key, sizeof key, "%s", record->phase);
    json_t *steps = json_object_get(record->phases, key);
    if (!steps) {
        steps = json_array();
        json_object_set_new(record->phases, key, steps);
    }
    return steps;
}

/* The telemetry object of a step, made if there is none. Steps come in order, so it is the last
 * or a new one. A score and a loss of one step may come in two lines: they belong to one entry.
 * NULL for a step that is not kept. */
static json_t *step_object(struct trial_record *record)
{
    json_t *steps = steps_of_phase(record);
    size_t n = json_array_size(steps);
    json_t *last = n ? json_array_get(steps, n - 1) : NULL;
    if (last && json_integer_value(json_object_get(last, "step")) == record->step)
        return last;
    if (record->n_steps++ % record->stride != 0)
        return NULL;
    json_t *object = json_pack("{s:I}", "step", (json_int_t)record->step);
    json_array_append(steps, object);
    thin_out(record, steps);
    json_decref(object); /* its phase holds it, unless it went at once */
    last = json_array_get(steps, json_array_size(steps) - 1);
    return json_integer_value(json_object_get(last, "step")) == record->step ? last : NULL;
}

static void copy_metrics(json_t *object, const json_t *line)
{
    const char *name;
    json_t *value;
    json_object_foreach((json_t *)(uintptr_t)line, name, value)
        if (trial_wire_is_metric(name, value))
            json_object_set_new(object, name, json_deep_copy(value)); /* the line may be used again */
}

static bool has_metrics(const json_t *line)
{
    const char *name;
    json_t *value;
    json_object_foreach((json_t *)(uintptr_t)line, name, value)
        if (trial_wire_is_metric(name, value))
            return true;
    return false;
}

/* A later value of a name wins, as in notes. A name that notes cannot hold is passed over like any other member that
 * is not understood: a trial must not fail at its end for it. */
static void take_param(struct trial_record *record, const char *name, double value)
{
    size_t i = 0;
    while (i < record->n_params && strcmp(record->names[i], name) != 0)
        i++;
    if (i == TRIAL_PARAMS_MAX || strlen(name) >= LINEAGE_NAME_MAX || !lineage_param_name_ok(name))
        return;
    record->params[i] = (struct lineage_param){strcpy(record->names[i], name), value, NULL};
    record->n_params += i == record->n_params;
}

static void take_params(struct trial_record *record, const json_t *param)
{
    const char *name;
    json_t *value;
    json_object_foreach((json_t *)(uintptr_t)param, name, value)
        if (json_is_number(value))
            take_param(record, name, json_number_value(value));
}

/* The whole list is replaced, as each one is of the latest state; what has no place in the
 * table is dropped rather than failing a trial at its end. */
static void take_turns(struct trial_record *record, const json_t *turns)
{
    size_t n = json_array_size(turns);
    record->n_turns = 0;
    for (size_t i = 0; i < n && i < TRIAL_TURNS_MAX; i++) {
        const json_t *turn = json_array_get(turns, i);
        json_int_t index = json_integer_value(json_object_get(turn, "turn"));
        json_int_t count = json_integer_value(json_object_get(turn, "n"));
        if (index >= 0 && index <= UINT32_MAX)
            record->turns[record->n_turns++] = (struct lineage_turn_stat){
                (uint32_t)index, json_number_value(json_object_get(turn, "mean")),
                json_number_value(json_object_get(turn, "std")), count > 0 ? (uint64_t)count : 0};
    }
}

static void take_number(struct lineage_number *number, const json_t *line, const char *name)
{
    const json_t *value = json_object_get(line, name);
    if (json_is_number(value))
        *number = (struct lineage_number){true, json_number_value(value)};
}

/* After "done" it is the final one and stands there; before it belongs to its step. A channel of less trust changes
 * nothing. A score that is not finite takes the one before it away: that was not the last. */
static void take_score(struct trial_record *record, const struct trial_event *event)
{
    if (event->channel < record->score_channel)
        return;
    record->score_channel = event->channel;
    record->score = (struct lineage_number){event->has_score, event->has_score ? event->score : 0};
    record->lost_score = event->lost_score;
    record->unreadable_score = event->unreadable;
    record->score_step = record->step;
    json_t *object = record->final ? record->final : step_object(record);
    const char *key = record->plan->score_key ? record->plan->score_key : "score";
    if (object && event->has_score)
        json_object_set_new(object, key, cli_json_number(event->score));
}

static void take_phase(struct trial_record *record, const char *phase)
{
    if (strncmp(record->phase, phase, sizeof record->phase - 1) != 0) {
        record->n_steps = 0;
        record->stride = 1;
    }
    snprintf(record->phase, sizeof record->phase, "%s", phase);
    if (strcmp(phase, TRIAL_PHASE_DONE) == 0 && !record->final)
        record->final = json_object();
}

static void take_statistics(struct trial_record *record, const struct trial_event *event)
{
    if (event->param)
        take_params(record, event->param);
    if (event->turns)
        take_turns(record, event->turns);
    take_number(&record->clip_scale_mean, event->line, "ig_clip_scale_mean");
    take_number(&record->clip_scale_std, event->line, "ig_clip_scale_std");
    if (event->train_s >= 0)
        record->train_s = event->train_s;
    if (event->eval_s >= 0)
        record->eval_s = event->eval_s;
}

/* begun decides between preflight_crash and crash, started whether there is anything to tell: a
 * child whose only word was a failure has neither. The phase first, because the step of the
 * same line is of it. */
void trial_record_event(struct trial_record *record, const struct trial_event *event)
{
    record->started = record->started || !event->failed;
    record->begun = record->begun || event->phase || event->has_step || event->has_score;
    if (event->phase)
        take_phase(record, event->phase);
    if (event->has_step) {
        record->step = event->step;
        record->steps = event->steps;
    }
    if (event->has_score || event->lost_score || event->unreadable)
        take_score(record, event);
    if (event->several && record->score_channel == TRIAL_CHANNEL_ONLY) { /* which of them is the score? */
        record->score = (struct lineage_number){0};
        record->score_channel = TRIAL_CHANNEL_NONE;
    }
    json_t *object = record->final;
    bool of_a_step = !object && event->has_step && has_metrics(event->line);
    if (of_a_step)
        object = step_object(record);
    if (object)
        copy_metrics(object, event->line);
    record->skipped = of_a_step && !object && !event->phase && !event->text && !event->failed;
    take_statistics(record, event);
    if (event->kernels)
        snprintf(record->kernels, sizeof record->kernels, "%s", event->kernels);
}

bool trial_record_final(double *value, const struct trial_record *record, const char *name)
{
    const json_t *found = json_object_get(record->final, name);
    if (!json_is_number(found))
        return false;
    *value = json_number_value(found);
    return true;
}
