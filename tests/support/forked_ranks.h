/*
 * forked_ranks.h: runs the trainer in several processes of this machine, connected by sockets, and collects all
 * results except times. If a process or socket fails, the test ends.
 */
#pragma once

#include <trainer/train.h>

/* How the ranks differ, and which of them fails. A member of 0 has no effect. */
struct rank_plan {
    int size;               /* number of ranks; 0: calls trainer_run without a communicator */
    const int32_t *threads; /* [size]; NULL: as many as the recipe says */
    int odd_seed;           /* this rank gets another seed; 0: no rank does */
    int fails;              /* this rank's communicator fails at once; 0: no rank's does */
    const char *state;      /* see struct trainer_process; written after every iteration */
    int32_t stop_at;        /* rank 0's callback stops at this iteration; 0: never */
};

/* The results, mostly of rank 0; free() releases the texts. */
struct rank_outcome {
    enum trainer_status status; /* status of rank 0 */
    char error[TRAINER_ERROR_TEXT_MAX];
    char other[TRAINER_ERROR_TEXT_MAX]; /* error of the last rank */
    bool agree;                         /* all ranks returned this status */
    char *story;                        /* every event, one per line */
    char *checkpoint;                   /* the file's bytes; NULL if there is no checkpoint */
    size_t checkpoint_size;
};

struct rank_outcome run_ranks(const struct trainer_recipe *recipe, const struct rank_plan *plan);
void rank_outcome_release(struct rank_outcome *outcome);

/* Runs `work` in a child process, so that threads started by `work` do not affect the caller. `work` must return. */
void in_a_child(void (*work)(void *context), void *context);
