/* recipe_wire.h: events of the trainer as lines of trial_wire.h, for the child that trains. */
#ifndef CLI_RECIPE_WIRE_H
#define CLI_RECIPE_WIRE_H

#include <jansson.h>

#include <trainer/train.h>

/* What lines say that no single event knows. Zero it before the first. */
struct recipe_wire {
    double clip_scale_mean, clip_scale_std; /* sums over iterations */
    double generation_s, gain_s, update_s;  /* likewise */
    int32_t n_iterations;
};

/* New references; NULL when out of memory. */
json_t *recipe_wire_event(struct recipe_wire *wire, const struct trainer_event *event);
json_t *recipe_wire_failure(const struct trainer_error *error);

#endif
