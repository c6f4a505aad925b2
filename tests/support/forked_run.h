/*
 * forked_run.h: runs the trainer in a child process, so that its threads do not affect the caller, and collects all results except
 * times. If the process fails, the test ends.
 */
#pragma once

#include <trainer/train.h>

/* A member of 0 has no effect. */
struct run_plan {
    const char *state; /* see struct trainer_process; written after every iteration */
    int32_t stop_at;   /* the callback stops at this iteration */
};

struct run_outcome {
    enum trainer_status status;
    char error[TRAINER_ERROR_TEXT_MAX];
    char *story;      /* every event, one per line */
    char *checkpoint; /* the file's bytes; NULL if none was written */
    size_t checkpoint_size;
};

struct run_outcome run_forked(const struct trainer_recipe *recipe, const struct run_plan *plan);
void run_outcome_release(struct run_outcome *outcome);

/* Runs `work` in a child process, so that threads started by `work` do not affect the caller. `work` must return. */
void in_a_child(void (*work)(void *context), void *context);
