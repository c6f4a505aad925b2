/* trial_wire.c: events of a run as JSON and back, by one table of members each way. */
#include "trial_wire.h"

#include <math.h>
#include <stdio.h>
#include <string.h>

#include "cli.h"

enum kind { REAL, INT32, UINT64, SIZE };

struct member {
    const char *name;
    size_t offset;
    enum kind kind;
};

#define MEMBER(type, name, kind)                                                                   \
    {                                                                                              \
#name, offsetof(struct type, name), kind                                                   \
    }

static const struct member event_members[] = {
    MEMBER(trainer_event, step, INT32),
    MEMBER(trainer_event, steps, INT32),
    MEMBER(trainer_event, parameters, SIZE),
    MEMBER(trainer_event, memory_bound, REAL),
    MEMBER(trainer_event, loss, REAL),
    MEMBER(trainer_event, score, REAL),
    MEMBER(trainer_event, score_std, REAL),
    MEMBER(trainer_event, score_greedy, REAL),
    MEMBER(trainer_event, area, REAL),
    MEMBER(trainer_event, clip_scale_mean, REAL),
    MEMBER(trainer_event, clip_scale_std, REAL),
    MEMBER(trainer_event, n_gain, INT32),
    MEMBER(trainer_event, train_s, REAL),
    MEMBER(trainer_event, eval_s, REAL),
    {NULL, 0, REAL},
};

static const struct member iteration_members[] = {
    MEMBER(trainer_iteration, reward, REAL),
    MEMBER(trainer_iteration, turns, REAL),
    MEMBER(trainer_iteration, malformed, REAL),
    MEMBER(trainer_iteration, response_tokens, REAL),
    MEMBER(trainer_iteration, loss, REAL),
    MEMBER(trainer_iteration, grad_norm, REAL),
    MEMBER(trainer_iteration, entropy, REAL),
    MEMBER(trainer_iteration, clip_fraction, REAL),
    MEMBER(trainer_iteration, kl, REAL),
    MEMBER(trainer_iteration, learning_rate, REAL),
    MEMBER(trainer_iteration, clip_scale_mean, REAL),
    MEMBER(trainer_iteration, clip_scale_std, REAL),
    MEMBER(trainer_iteration, n_gain, INT32),
    MEMBER(trainer_iteration, mismatch_kl, REAL),
    MEMBER(trainer_iteration, mismatch_ess, REAL),
    MEMBER(trainer_iteration, weight_mean, REAL),
    MEMBER(trainer_iteration, rejected, REAL),
    MEMBER(trainer_iteration, staleness, REAL),
    MEMBER(trainer_iteration, generation_s, REAL),
    MEMBER(trainer_iteration, gain_s, REAL),
    MEMBER(trainer_iteration, update_s, REAL),
    MEMBER(trainer_iteration, sampled_tokens, UINT64),
    MEMBER(trainer_iteration, gain_tokens, UINT64),
    MEMBER(trainer_iteration, trained_tokens, UINT64),
    {NULL, 0, REAL},
};

static const char *const event_names[] = {"start",      "warm",       "iteration",
                                          "evaluation", "evaluating", "done"};

enum { N_EVENTS = sizeof event_names / sizeof *event_names };

/* ---- to JSON ---- */

static json_t *real_json(double value)
{
    return isfinite(value) ? json_real(value) : NULL;
}

static json_t *member_json(const void *base, const struct member *member)
{
    const void *at = (const char *)base + member->offset;
    switch (member->kind) {
    case INT32: return json_integer(*(const int32_t *)at);
    case UINT64: return json_integer((json_int_t) * (const uint64_t *)at);
    case SIZE: return json_integer((json_int_t) * (const size_t *)at);
    case REAL: break;
    }
    return real_json(*(const double *)at);
}

static json_t *members_json(const void *base, const struct member *members)
{
    json_t *object = json_object();
    for (; members->name; members++)
        json_object_set_new(object, members->name, member_json(base, members));
    return object;
}

static json_t *gains_json(const struct trainer_turn_gain *gain, int32_t n)
{
    json_t *list = json_array();
    for (int32_t i = 0; i < n; i++)
        json_array_append_new(
            list, json_pack("[f, f, I]", gain[i].mean, gain[i].std, (json_int_t)gain[i].count));
    return list;
}

json_t *trial_wire_event(const struct trainer_event *event)
{
    json_t *object = members_json(event, event_members);
    json_object_set_new(object, "event", json_string(event_names[event->kind]));
    json_object_set_new(object, "gain", gains_json(event->gain, event->n_gain));
    if (event->iteration) {
        json_t *iteration = members_json(event->iteration, iteration_members);
        json_object_set_new(iteration, "gain",
                            gains_json(event->iteration->gain, event->iteration->n_gain));
        json_object_set_new(object, "iteration", iteration);
    }
    return object;
}

json_t *trial_wire_failure(const struct trainer_error *error)
{
    json_t *object = json_pack("{s:s, s:i}", "event", "failed", "status", (int)error->status);
    json_object_set_new(object, "text", cli_json_text(error->text));
    return object;
}

json_t *trial_wire_metrics(const struct trainer_iteration *iteration)
{
    json_t *object = members_json(iteration, iteration_members);
    char name[32];
    json_object_del(object, "n_gain");
    for (int32_t i = 0; i < iteration->n_gain; i++) {
        snprintf(name, sizeof name, "info_gain_t%d", (int)i);
        json_object_set_new(object, name, real_json(iteration->gain[i].mean));
    }
    return object;
}

/* ---- from JSON ---- */

static void read_member(void *base, const struct member *member, const json_t *value)
{
    void *at = (char *)base + member->offset;
    switch (member->kind) {
    case INT32: *(int32_t *)at = (int32_t)json_integer_value(value); break;
    case UINT64: *(uint64_t *)at = (uint64_t)json_integer_value(value); break;
    case SIZE: *(size_t *)at = (size_t)json_integer_value(value); break;
    case REAL: *(double *)at = json_number_value(value); break;
    }
}

static void read_members(void *base, const struct member *members, const json_t *object)
{
    for (; members->name; members++)
        read_member(base, members, json_object_get(object, members->name));
}

static void read_gains(struct trainer_turn_gain *gain, int32_t *n, const json_t *list)
{
    size_t length = json_array_size(list);
    *n = (int32_t)(length < TRAINER_TURNS_MAX ? length : TRAINER_TURNS_MAX);
    for (int32_t i = 0; i < *n; i++) {
        const json_t *item = json_array_get(list, (size_t)i);
        gain[i] = (struct trainer_turn_gain){json_number_value(json_array_get(item, 0)),
                                             json_number_value(json_array_get(item, 1)),
                                             (uint64_t)json_integer_value(json_array_get(item, 2))};
    }
}

static int event_kind(const json_t *root)
{
    const char *name = json_string_value(json_object_get(root, "event"));
    for (int i = 0; name && i < N_EVENTS; i++)
        if (strcmp(name, event_names[i]) == 0)
            return i;
    return -1;
}

static void read_event(struct trial_message *message, const json_t *root, int kind)
{
    const json_t *iteration = json_object_get(root, "iteration");
    read_members(&message->event, event_members, root);
    message->event.kind = (enum trainer_event_kind)kind;
    read_gains(message->event.gain, &message->event.n_gain, json_object_get(root, "gain"));
    if (!iteration)
        return;
    read_members(&message->iteration, iteration_members, iteration);
    read_gains(message->iteration.gain, &message->iteration.n_gain,
               json_object_get(iteration, "gain"));
    message->event.iteration = &message->iteration;
}

static bool read_failure(struct trial_message *message, const json_t *root)
{
    const char *text = json_string_value(json_object_get(root, "text"));
    if (!text)
        return false;
    message->failed = true;
    message->error.status =
        (enum trainer_status)json_integer_value(json_object_get(root, "status"));
    snprintf(message->error.text, sizeof message->error.text, "%s", text);
    return true;
}

bool trial_wire_read(struct trial_message *message, const char *line, size_t length)
{
    json_t *root = json_loadb(line, length, 0, NULL);
    int kind = event_kind(root);
    bool known = true;
    *message = (struct trial_message){0};
    if (kind >= 0)
        read_event(message, root, kind);
    else
        known = read_failure(message, root);
    json_decref(root);
    return known;
}
