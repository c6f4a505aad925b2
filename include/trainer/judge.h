/*
 * trainer/judge.h: who says which steps of a rollout were GOOD, for the algorithms that ask (adca).
 *
 * The trainer has a judge of its own, which knows the environment's rules (trainer_env_judge). Where
 * a recipe names another one (judge.endpoint), the trainer does not know how to reach it: whoever
 * calls trainer_run gives a function, which gets the rollouts of one environment in one iteration
 * and gives flags and a mark for each.
 *
 * A step is a turn, the closing one included: row i of a batch has n_turns + 1 of them. Rows that
 * are not worth asking about (judge.skip, by rl_adca_skip_rows) are marked before; rows that end
 * without flags are left to their outcome or get its flag, as judge.unjudged says, and more of them
 * than judge.max_failed_share of those asked about in an iteration end the run with TRAINER_EJUDGE.
 */
#ifndef TRAINER_JUDGE_H
#define TRAINER_JUDGE_H

#include <trainer/recipe.h>

#ifdef __cplusplus
extern "C" {
#endif

enum trainer_judge_mark {
    TRAINER_JUDGED,          /* flags came from the judge now */
    TRAINER_JUDGE_CACHED,    /* flags came from the judge on an earlier occasion */
    TRAINER_JUDGE_SKIPPED,   /* the judge was not asked */
    TRAINER_JUDGE_REFUSED,   /* the judge, or its server, does not want to answer */
    TRAINER_JUDGE_TRUNCATED, /* the answer was cut off */
    TRAINER_JUDGE_FAILED,    /* no usable answer came in time */
    TRAINER_N_JUDGE_MARKS
};

/* "judged", "cached", ..; never NULL. */
TRAINER_API const char *trainer_judge_mark_name(enum trainer_judge_mark mark);

struct trainer_rollouts;

/* Rows [first, first + n) of rollouts (trainer_rollouts_get), all of one task. */
struct trainer_judge_batch {
    const struct trainer_recipe *recipe;
    const struct trainer_rollouts *rollouts;
    size_t first, n;
    const size_t *start; /* [n+1] steps of row i: start[i] .. start[i+1] */
    enum trainer_judge_mark
        *mark;      /* [n] in: SKIPPED, or FAILED where the judge is to be asked; out:
                                      how it went */
    uint8_t *flags; /* [start[n]] out, of rows judged or cached: 1 GOOD, 0 BAD */
    uint64_t prompt_tokens, completion_tokens; /* out: what was used up */
    char why[256];                             /* out: why a row has no flags, for a person; "" */
};

/* An error ends the run; rows without flags are none. Called by the thread that runs the trainer. */
typedef enum trainer_status trainer_judge_fn(void *context, struct trainer_judge_batch *batch,
                                             struct trainer_error *err);

/* What came of it: sums over rows and steps. */
struct trainer_judge_counts {
    uint64_t rows[TRAINER_N_JUDGE_MARKS];
    uint64_t good[2], bad[2];  /* flags in rows of outcome above 0 (1) and of others (0) */
    uint64_t compared, agreed; /* flags, and those equal to the rule-based judge's */
    uint64_t prompt_tokens, completion_tokens;
    double seconds; /* spent asking */
};

#ifdef __cplusplus
}
#endif

#endif
