/*
 * trial_wire.h: what a trial says while it runs, as lines of JSON from the child that trains to the
 * command that waits for it.
 *
 *     {"event": "iteration", "step": 3, "steps": 120, .., "iteration": {"reward": 0.12, ..}}
 *     {"event": "failed", "status": -7, "text": "loss is nan in iteration 12"}
 *
 * One line per struct trainer_event, members under their own names; "failed" is the last line of a
 * run that does not end well. Numbers that are not finite are left out.
 */
#ifndef CLI_TRIAL_WIRE_H
#define CLI_TRIAL_WIRE_H

#include <jansson.h>

#include <trainer/train.h>

/* New references; NULL when out of memory. */
json_t *trial_wire_event(const struct trainer_event *event);
json_t *trial_wire_failure(const struct trainer_error *error);

/* The numbers of an iteration by name, gain by turn as info_gain_t0, info_gain_t1, .. */
json_t *trial_wire_metrics(const struct trainer_iteration *iteration);

struct trial_message {
    bool failed;
    struct trainer_event event; /* event.iteration points at the member below, or is NULL */
    struct trainer_iteration iteration;
    struct trainer_error error; /* if failed */
};

/* Read one line of length bytes; false if it is no message. */
bool trial_wire_read(struct trial_message *message, const char *line, size_t length);

#endif
