#include "trial/one_trial.h"

#include "cli.h"
#include "metrics/held_out.h"

/* A restart is followed by a stretch of new steps. Going back sooner than this again is what several processes do. */
enum { STRETCH = 3 };

static void note(struct step_order *order, const char *name, int64_t step, int64_t from, bool several)
{
    if (order->note[0])
        return;
    int n = snprintf(order->note, sizeof order->note, "several values of %s at step %lld", name, (long long)step);
    if (several)
        snprintf(order->note + n, sizeof order->note - (size_t)n, " (does every process report? let rank 0 alone)");
    else
        snprintf(order->note + n, sizeof order->note - (size_t)n,
                 ", which went back from step %lld (a restart, or several processes that report): the values before from this "
                 "step on do not count",
                 (long long)from);
}

static size_t find_curve(const struct step_order *order, const char *name, struct metric_place place)
{
    size_t i = 0;
    while (i < order->n && (order->curves[i].phase != place.phase || strcmp(order->curves[i].name, name) != 0))
        i++;
    return i;
}

bool step_order_goes_back(const struct step_order *order, const char *name, struct metric_place place)
{
    const size_t i = find_curve(order, name, place);
    return i < order->n && place.step < order->curves[i].last && !order->curves[i].several;
}

enum step_move step_order_take(struct step_order *order, const char *name, struct metric_place place, double value,
                               const double *known, bool printed)
{
    const size_t i = find_curve(order, name, place);
    if (i == STEP_CURVES_MAX || strlen(name) >= METRIC_NAME_BYTES)
        return STEP_FORWARD;
    if (i == order->n) {
        order->n++;
        strcpy(order->curves[i].name, name);
        order->curves[i].phase = place.phase;
        order->curves[i].first = order->curves[i].last = place.step;
        order->curves[i].value = value;
        return STEP_FORWARD;
    }
    const int64_t last = order->curves[i].last;
    order->curves[i].values++;
    const bool epoch = printed && place.step <= order->curves[i].first;
    if (!printed && place.step == last && value != order->curves[i].value) {
        note(order, name, place.step, last, true);
        order->curves[i].several = true;
    } else if (place.step < last && !epoch && !(known && *known == value) && !order->curves[i].several) {
        if (order->curves[i].went_back && order->curves[i].values <= STRETCH)
            order->curves[i].several = true;
        note(order, name, place.step, last, order->curves[i].several);
        if (!order->curves[i].several) {
            order->curves[i].went_back = true;
            order->curves[i].values = 0;
            order->curves[i].last = place.step;
            order->curves[i].value = value;
            return place.step > order->curves[i].first ? STEP_BACK : STEP_ANEW;
        }
    }
    if (place.step >= last || epoch) {
        order->curves[i].last = place.step;
        order->curves[i].value = value;
    }
    return STEP_FORWARD;
}

void trial_results_init(struct trial_results *results, const struct trial_plan *plan)
{
    *results = (struct trial_results){.plan = plan, .train_s = -1, .eval_s = -1, .phases = json_object(), .stride = 1};
    results->values = (struct metric_values){.rules = plan->settings.takes, .n_rules = plan->settings.n_takes};
    results->scored.rule = metric_values_rule(&results->values, plan->settings.score ? plan->settings.score : "score");
    snprintf(results->phase, sizeof results->phase, "%s", TRIAL_PHASE_TRAIN);
}

void trial_results_end_run(struct trial_results *results)
{
    for (size_t i = 0; i < results->values.n; i++) {
        const struct metric_value *metric = &results->values.metrics[i];
        size_t k = 0;
        while (k < results->n_totals && strcmp(results->totals[k].name, metric->rule.name) != 0)
            k++;
        if (k == METRIC_VALUES_MAX || !isfinite(metric->value))
            continue;
        results->n_totals += k == results->n_totals;
        strcpy(results->totals[k].name, metric->rule.name);
        results->totals[k].sum += metric->value;
        results->totals[k].n++;
    }
    results->n_runs++;
}

static void reset_score(struct trial_results *results)
{
    results->score = (struct lineage_number){0};
    results->score_channel = TRIAL_CHANNEL_NONE;
    results->score_from[0] = '\0';
    metric_value_reset(&results->scored);
}

void trial_results_forget_score(struct trial_results *results)
{
    reset_score(results);
    results->lost_score = results->unreadable_score = false;
    metric_values_forget(&results->values, results->scored.rule.name);
    json_decref(results->final);
    results->final = NULL;
}

void trial_results_next_run(struct trial_results *results, size_t run)
{
    if (run > 1)
        trial_results_end_run(results);
    results->run = run;
    reset_score(results);
    metric_values_reset(&results->values);
    results->step = results->steps = 0;
    results->n_steps = 0;
    results->stride = 1;
    results->order.n = 0;
    snprintf(results->phase, sizeof results->phase, "%s", TRIAL_PHASE_TRAIN);
    json_decref(results->final);
    results->final = NULL;
}

void trial_results_release(struct trial_results *results)
{
    json_decref(results->phases);
    json_decref(results->final);
    free(results->telemetry);
    metric_value_release(&results->scored);
    metric_values_reset(&results->values);
}

/* Drops every second step, so that the remaining steps cover the whole phase at half the resolution. */
static void thin_out(struct trial_results *results, json_t *steps)
{
    if (!results->plan->max_steps || json_array_size(steps) < results->plan->max_steps)
        return;
    for (size_t i = 1; i < json_array_size(steps); i++)
        json_array_remove(steps, i);
    results->stride *= 2;
}

/* Returns the list of steps of this phase, creating it if needed. Each run after the first has a list of its own. */
static json_t *steps_of_phase(struct trial_results *results)
{
    char key[TRIAL_PHASE_MAX + 32];
    bool training = strcmp(results->phase, TRIAL_PHASE_TRAIN) == 0;
    if (results->run > 1)
        snprintf(key, sizeof key, "run %zu%s%s", results->run, training ? "" : " ", training ? "" : results->phase);
    else
        snprintf(key, sizeof key, "%s", results->phase);
    json_t *steps = json_object_get(results->phases, key);
    if (!steps) {
        steps = json_array();
        json_object_set_new(results->phases, key, steps);
    }
    return steps;
}

/*
 * Returns the telemetry object of the current step, creating it if needed; NULL if the step is not kept. Steps come in
 * order, so the object is either the last object of the list or a new object. If the score and the loss of a step come
 * in two lines, they share an object.
 */
static json_t *step_object(struct trial_results *results)
{
    json_t *steps = steps_of_phase(results);
    size_t n = json_array_size(steps);
    json_t *last = n ? json_array_get(steps, n - 1) : NULL;
    if (last && json_integer_value(json_object_get(last, "step")) == results->step)
        return last;
    if (results->n_steps++ % results->stride != 0)
        return NULL;
    json_t *object = json_pack("{s:I}", "step", (json_int_t)results->step);
    json_array_append(steps, object);
    thin_out(results, steps);
    json_decref(object); /* the list now owns it, unless thin_out has dropped it */
    last = json_array_get(steps, json_array_size(steps) - 1);
    return json_integer_value(json_object_get(last, "step")) == results->step ? last : NULL;
}

/* A file may have more metrics than were asked for, so that what is held out is not taken from there either. */
static bool is_metric(const struct trial_results *results, const struct trial_event *event, const char *name, const json_t *value)
{
    const struct trial_settings *settings = &results->plan->settings;
    return event_is_metric(event, name, value, &settings->metrics) && !held_out_is(settings->held_out, name);
}

/* Copies the metrics of the event's line to the object; NULL: only counts them. Returns their number. */
static size_t copy_metrics(json_t *object, const struct trial_results *results, const struct trial_event *event)
{
    const char *name;
    json_t *value;
    size_t n = 0;
    json_object_foreach((json_t *)(uintptr_t)event->line, name, value)
        if (is_metric(results, event, name, value)) {
            n++;
            if (object)
                json_object_set_new(object, name, json_deep_copy(value)); /* the line's object may be reused */
        }
    return n;
}

/*
 * The latest value of a name wins, as in notes. A name that is not allowed in notes is ignored, because a trial must
 * not fail at its end because of a name.
 */
static void take_param(struct trial_results *results, const char *name, double value)
{
    size_t i = 0;
    while (i < results->n_params && strcmp(results->names[i], name) != 0)
        i++;
    if (i == TRIAL_PARAMS_MAX || strlen(name) >= LINEAGE_NAME_MAX || !lineage_param_name_ok(name))
        return;
    results->params[i] = (struct lineage_param){strcpy(results->names[i], name), value, NULL};
    results->n_params += i == results->n_params;
}

static void take_params(struct trial_results *results, const json_t *param)
{
    const char *name;
    json_t *value;
    json_object_foreach((json_t *)(uintptr_t)param, name, value)
        if (json_is_number(value))
            take_param(results, name, json_number_value(value));
}

/*
 * Each report replaces the whole list. Turns that do not fit into the table are dropped, because a trial must not fail
 * at its end because of them.
 */
static void take_turns(struct trial_results *results, const json_t *turns)
{
    size_t n = json_array_size(turns);
    results->n_turns = 0;
    for (size_t i = 0; i < n && i < TRIAL_TURNS_MAX; i++) {
        const json_t *turn = json_array_get(turns, i);
        const double index = json_number_value(json_object_get(turn, "turn"));
        if (index >= 0 && index <= UINT32_MAX)
            results->turns[results->n_turns++] =
                (struct lineage_turn_stat){(uint32_t)index, json_number_value(json_object_get(turn, "mean")),
                                           json_number_value(json_object_get(turn, "std")), (uint64_t)event_count(turn, "n")};
    }
}

static void take_number(struct lineage_number *number, const json_t *line, const char *name)
{
    const json_t *value = json_object_get(line, name);
    if (json_is_number(value))
        *number = (struct lineage_number){true, json_number_value(value)};
}

static struct metric_place place_of(const struct trial_results *results)
{
    uint32_t digest = 2166136261u; /* FNV-1a */
    for (const char *c = results->phase; *c; c++)
        digest = (digest ^ (unsigned char)*c) * 16777619u;
    return (struct metric_place){digest, results->step};
}

static void set_score(struct trial_results *results)
{
    bool finite = results->scored.count > 0 && isfinite(results->scored.value);
    results->score = (struct lineage_number){finite, finite ? results->scored.value : 0};
}

/*
 * A score after phase "done" belongs to the final metrics; an earlier score belongs to its step. A less trusted channel
 * does not overwrite the score of a more trusted channel. A score that is not finite clears the previous score, because
 * that was not the trial's last score, unless the smallest or largest score counts.
 */
static void take_score(struct trial_results *results, const struct trial_event *event)
{
    if (event->channel < results->score_channel)
        return;
    if (event->channel > results->score_channel)
        metric_value_reset(&results->scored);
    results->score_channel = event->channel;
    snprintf(results->score_file, sizeof results->score_file, "%s", event->file ? event->file : "");
    if (metric_value_add(&results->scored, place_of(results), event->has_score ? event->score : (double)NAN)) {
        bool finite = isfinite(results->scored.value);
        set_score(results);
        results->lost_score = !finite && !event->unreadable;
        results->unreadable_score = !finite && event->unreadable;
        results->score_step = results->step;
        snprintf(results->score_from, sizeof results->score_from, "%s", event->after_end ? event->after_end : "");
        results->score_decided = true;
    }
    json_t *object = results->final ? results->final : step_object(results);
    const char *key = results->plan->score_key ? results->plan->score_key : "score";
    if (object && event->has_score && strcmp(key, "step") != 0) /* the object has its step, a whole number */
        json_object_set_new(object, key, cli_json_number(event->score));
}

static void take_phase(struct trial_results *results, const char *phase)
{
    if (strncmp(results->phase, phase, sizeof results->phase - 1) != 0) {
        results->n_steps = 0;
        results->stride = 1;
    }
    snprintf(results->phase, sizeof results->phase, "%s", phase);
    if (strcmp(phase, TRIAL_PHASE_DONE) == 0 && !results->final)
        results->final = json_object();
}

/* Names that could not be the names of settings are left out, because they would end in the notes of a row. */
static void take_inert(struct trial_results *results, const json_t *names)
{
    size_t i, used = 0;
    json_t *name;
    results->inert[0] = '\0';
    json_array_foreach((json_t *)(uintptr_t)names, i, name) {
        const char *text = json_string_value(name);
        if (text && lineage_param_name_ok(text) && used + strlen(text) + 3 < sizeof results->inert)
            used += (size_t)snprintf(results->inert + used, sizeof results->inert - used, "%s%s", used ? ", " : "", text);
    }
}

static void take_statistics(struct trial_results *results, const struct trial_event *event)
{
    if (event->param)
        take_params(results, event->param);
    if (event->turns)
        take_turns(results, event->turns);
    take_number(&results->clip_scale_mean, event->line, "ig_clip_scale_mean");
    take_number(&results->clip_scale_std, event->line, "ig_clip_scale_std");
    if (event->train_s >= 0)
        results->train_s = event->train_s;
    if (event->eval_s >= 0)
        results->eval_s = event->eval_s;
}

/* Only the first metric of a line that is not finite has a name here, because JSON cannot hold the others. */
static void take_values(struct trial_results *results, const struct trial_event *event)
{
    const char *name;
    json_t *value;
    json_object_foreach((json_t *)(uintptr_t)event->line, name, value)
        if (event->channel == TRIAL_CHANNEL_FILE) /* its value is the one that counts of all that the file has */
            metric_values_forget(&results->values, name);
    json_object_foreach((json_t *)(uintptr_t)event->line, name, value)
        if (is_metric(results, event, name, value))
            metric_values_add(&results->values, name, place_of(results), json_number_value(value), NULL);
    if (event->not_finite)
        metric_values_add(&results->values, event->not_finite, place_of(results), (double)NAN, NULL);
}

/* ---- steps that go back ---- */

/* The value that telemetry has for the metric at the current step. */
static const double *known_value(const struct trial_results *results, const json_t *steps, const char *name, double *value)
{
    for (size_t i = json_array_size(steps); i-- > 0;) {
        const json_t *object = json_array_get(steps, i), *number = json_object_get(object, name);
        if (json_integer_value(json_object_get(object, "step")) != results->step || !json_is_number(number))
            continue;
        *value = json_number_value(number);
        return value;
    }
    return NULL;
}

/* Takes the metric out of this step and the later ones, of which nothing may be left. */
static void go_back(struct trial_results *results, json_t *steps, const char *name)
{
    struct metric_value *metric = (struct metric_value *)(uintptr_t)metric_values_find(&results->values, name);
    for (size_t i = json_array_size(steps); i-- > 0;) {
        json_t *object = json_array_get(steps, i);
        if (json_integer_value(json_object_get(object, "step")) < results->step)
            continue;
        json_object_del(object, name);
        if (json_object_size(object) < 2)
            json_array_remove(steps, i);
    }
    results->n_steps = json_array_size(steps) * results->stride;
    if (metric)
        metric_value_go_back(metric, place_of(results));
    if (strcmp(name, results->plan->score_key ? results->plan->score_key : "score") != 0)
        return;
    metric_value_go_back(&results->scored, place_of(results));
    set_score(results);
    results->went_back = true;
}

static void order_steps(struct trial_results *results, const struct trial_event *event)
{
    const char *name, *key = results->plan->score_key ? results->plan->score_key : "score";
    json_t *value, *steps = steps_of_phase(results);
    double before;
    json_object_foreach((json_t *)(uintptr_t)event->line, name, value) {
        const bool score = event->has_score && strcmp(name, "score") == 0;
        if (!score && !is_metric(results, event, name, value))
            continue;
        const char *curve = score ? key : name;
        const bool back = step_order_goes_back(&results->order, curve, place_of(results)); /* only then it costs a walk */
        enum step_move move =
            step_order_take(&results->order, curve, place_of(results), json_number_value(value),
                            back ? known_value(results, steps, curve, &before) : NULL, event->channel != TRIAL_CHANNEL_EVENTS);
        if (move != STEP_FORWARD)
            go_back(results, steps, curve);
        results->begun_anew = results->begun_anew || move == STEP_ANEW;
    }
}

/* A line with a step that comes after phase "done", from another process or a thread, does not change what the trial has reported. */
static bool is_late(struct trial_results *results, const struct trial_event *event)
{
    const bool late = results->final && event->channel == TRIAL_CHANNEL_EVENTS && event->has_step && !event->phase &&
                      !event->failed && strcmp(results->phase, TRIAL_PHASE_DONE) == 0;
    results->n_late += late;
    return late;
}

/* The phase is read first, because the step in the same line belongs to that phase. */
void trial_results_event(struct trial_results *results, const struct trial_event *event)
{
    results->score_decided = results->went_back = false;
    if (is_late(results, event))
        return;
    results->started = results->started || !event->failed;
    results->begun = results->begun || event->phase || event->has_step || event->has_score;
    if (event->phase)
        take_phase(results, event->phase);
    if (event->has_step) {
        results->step = event->step;
        results->steps = event->steps;
    }
    if (event->has_step && event->names_step && !results->final)
        order_steps(results, event);
    if (event->has_score || event->lost_score || event->unreadable)
        take_score(results, event);
    if (event->several && results->score_channel == TRIAL_CHANNEL_ONLY) /* nobody said which is the score */
        reset_score(results);
    if (results->plan->record_metrics)
        take_values(results, event);
    json_t *object = results->final;
    bool of_a_step = !object && event->has_step && copy_metrics(NULL, results, event);
    if (of_a_step)
        object = step_object(results);
    if (object)
        copy_metrics(object, results, event);
    results->skipped = of_a_step && !object && !event->phase && !event->text && !event->failed;
    take_statistics(results, event);
    if (event->inert)
        take_inert(results, event->inert);
    if (event->kernels)
        snprintf(results->kernels, sizeof results->kernels, "%s", event->kernels);
}

const char *trial_results_score_name(const struct trial_results *results)
{
    if (results->plan->settings.score)
        return results->plan->settings.score;
    return results->score_channel == TRIAL_CHANNEL_ONLY && results->values.n ? results->values.metrics[0].rule.name : NULL;
}

bool trial_results_final(double *value, const struct trial_results *results, const char *name)
{
    const json_t *found = json_object_get(results->final, name);
    if (!json_is_number(found))
        return false;
    *value = json_number_value(found);
    return true;
}
