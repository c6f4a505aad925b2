/*
 * recipe_events.h: converts the trainer's events to event lines (metrics/event_lines.h), in the child process that
 * trains.
 */
#pragma once

#include <jansson.h>

#include <trainer/train.h>

/* Sums over events, from which some lines report means. Zero it before the first event. */
struct recipe_events {
    double clip_scale_mean, clip_scale_std;           /* sums over iterations in which the loss read clip scales */
    double clip_scale_turn_mean, clip_scale_turn_std; /* the same, over turns */
    double generation_s, gain_s, update_s;            /* sums over all iterations */
    int32_t n_iterations, n_scaled;
};

/* Both functions return a new reference, or NULL when out of memory. */
json_t *recipe_events_event(struct recipe_events *wire, const struct trainer_event *event);
json_t *recipe_events_failure(const struct trainer_error *error);
