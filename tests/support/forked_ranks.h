/*
 * forked_ranks.h: a run of the trainer by several processes of this machine, connected by sockets, and all its
 * results except times. Any failure of the machinery ends the test.
 */
#ifndef SUPPORT_FORKED_RANKS_H
#define SUPPORT_FORKED_RANKS_H

#include <trainer/train.h>

/* How ranks differ, and what goes wrong; zero for nothing. */
struct rank_plan {
    int size;               /* number of ranks; 0: trainer_run, without a communicator */
    const int32_t *threads; /* [size], or NULL for the recipe's */
    int odd_seed;           /* the rank with another seed; 0: none */
    int fails;              /* the rank whose communicator fails at once; 0: none */
    const char *state;      /* see struct trainer_process; written after every iteration */
    int32_t stop_at;        /* rank 0's callback stops at this iteration; 0: never */
};

/* What rank 0 reports; the texts are freed by free(). */
struct rank_outcome {
    enum trainer_status status; /* of rank 0 */
    char error[TRAINER_ERROR_TEXT_MAX];
    char other[TRAINER_ERROR_TEXT_MAX]; /* error of the last rank */
    bool agree;                         /* all ranks have that status */
    char *story;                        /* every event, one per line */
    char *checkpoint;                   /* bytes, NULL if there is none */
    size_t checkpoint_size;
};

struct rank_outcome run_ranks(const struct trainer_recipe *recipe, const struct rank_plan *plan);
void rank_outcome_release(struct rank_outcome *outcome);

/* Runs `work`, which must return, in a child process, so that the threads it starts do not matter here. */
void in_a_child(void (*work)(void *context), void *context);

#endif
