/*
 * trainer/judge.h: a judge that flags the steps of rollouts as GOOD or BAD, for the algorithms that ask for it
 * (adca).
 *
 * The trainer's own judge knows the rules of the environment (trainer_env_judge). If a recipe names another judge
 * (judge.endpoint), the trainer does not know how to reach it: the caller of trainer_run passes a function that
 * receives the rollouts of one environment in one iteration and returns flags and a mark for each rollout.
 *
 * A step is a turn, including the closing one: row i of a batch has n_turns + 1 steps. Rows that are not worth a
 * request to the judge (judge.skip, by rl_adca_skip_rows) are marked before the call. judge.unjudged decides what rows
 * without flags get. If more than judge.max_failed_share of the rows asked about in an iteration have no flags, the run
 * fails with TRAINER_EJUDGE.
 */
#ifndef TRAINER_JUDGE_H
#define TRAINER_JUDGE_H

#include <trainer/recipe.h>

enum trainer_judge_mark {
    TRAINER_JUDGED,          /* the judge flagged the row now */
    TRAINER_JUDGE_CACHED,    /* the judge flagged the row earlier */
    TRAINER_JUDGE_SKIPPED,   /* the judge was not asked */
    TRAINER_JUDGE_REFUSED,   /* the judge or its server refused to answer */
    TRAINER_JUDGE_TRUNCATED, /* the answer was truncated */
    TRAINER_JUDGE_FAILED,    /* no usable answer arrived in time */
    TRAINER_N_JUDGE_MARKS
};

/* "judged", "cached", ..; never NULL. */
TRAINER_API const char *trainer_judge_mark_name(enum trainer_judge_mark mark);

struct trainer_rollouts;

/* Rows [first, first + n) of rollouts (read by trainer_rollouts_get), all of one task. */
struct trainer_judge_batch {
    const struct trainer_recipe *recipe;
    const struct trainer_rollouts *rollouts;
    size_t first, n;
    const size_t *start; /* [n+1] steps of row i are start[i] .. start[i+1] */
    enum trainer_judge_mark *mark; /* [n] in: SKIPPED, or FAILED for rows to be judged; out: the result */
    uint8_t *flags;                /* [start[n]] out, for rows that are judged or cached: 1 GOOD, 0 BAD */
    uint64_t prompt_tokens, completion_tokens; /* out: tokens used */
    char why[256];                             /* out: says why a row has no flags; "" if all rows have flags */
};

/* Called by the thread that runs the trainer. An error ends the run; rows without flags are not an error. */
typedef enum trainer_status trainer_judge_fn(void *context, struct trainer_judge_batch *batch, struct trainer_error *err);

/* Counts of rows and steps. */
struct trainer_judge_counts {
    uint64_t rows[TRAINER_N_JUDGE_MARKS];
    uint64_t good[2], bad[2];  /* flags in rows with an outcome above 0 (index 1) and in other rows (0) */
    uint64_t compared, agreed; /* flags compared with the rule-based judge's; how many were equal */
    uint64_t prompt_tokens, completion_tokens;
    double seconds; /* spent on asking */
};

#endif
