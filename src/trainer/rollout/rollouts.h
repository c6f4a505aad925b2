/* rollouts.h: finished rollouts of one iteration, and how they are made. */
#ifndef TRAINER_ROLLOUTS_H
#define TRAINER_ROLLOUTS_H

#include <trainer/train.h>

#include "rollout/kv_decode.h"
#include "support/ranks.h"

enum { ROLLOUT_VALUES = TRAINER_TURNS_MAX + 1 };

/* B rows of T tokens; what is per token is [B*T], row after row. */
struct trainer_rollouts {
    size_t n, capacity, width; /* B, rows there is room for, T */
    int32_t *tokens, *turn;
    uint8_t *mask;
    float *log_prob; /* of the sampler */
    float *rewards;  /* what credit is assigned from: gains and outcome at the ends of turns */
    float *advantage, *clip_scale;
    float *old; /* log-probs in the ratio: the sampler's, or the learner's before the updates */
    float *reference;        /* log-probs of the frozen or shown teacher */
    float *start;            /* log-probs of the policy that training started from */
    float *behaviour;        /* log-probs of the sampler's weights in the learner's engine */
    float *weight;           /* off-policy importance weights */
    float *rl, *ce, *ref_kl; /* weight streams */
    float *kd;               /* weights of what a teacher's square distance trains */
    uint8_t *kept;           /* mask that rejection leaves */
    double *expected; /* what the value head said at sampling; NULL without one: see run/values.h */
    double *returns;  /* what it should have said; NaN where nobody asks. NULL likewise */
    int32_t *length, *prompt, *n_turns, *task;
    int32_t *boundary; /* [B][ROLLOUT_VALUES] tokens in front of each place gains are taken at */
    double *value;     /* [B][ROLLOUT_VALUES] */
    double *reward;
    int64_t *group;
    int32_t *number; /* of its question in the plan's pool */
    double *baseline;      /* outcome of the prompt's greedy rollout */
    int64_t *branch_of;    /* rows of one number branch from one row .. */
    int32_t *n_shared;     /* .. after so many turns */
    uint8_t *malformed;
    struct trainer_episode *episode;
    /*
     * The sampler's routes, [B*T][places], with the tokens that they predict; the caller's memory,
     * or NULL: none are kept. places: layers * experts_per_token.
     */
    uint16_t *routes;
    size_t places;
    bool has_values, has_credit;
};

size_t rollouts_bytes(size_t capacity, size_t width);
struct trainer_rollouts *rollouts_new(size_t capacity,
                                      size_t width); /* NULL when out of memory; free() */

/* What is to be sampled: questions x group_size rows of one task. */
struct rollouts_plan {
    const struct trainer_env *env;
    int32_t task;
    size_t questions, group_size;
    uint64_t question_seed; /* question i is a function of it and i */
    size_t first, pool;     /* question q is number (first + q) mod pool; pool 0: number q */
    const int32_t *numbers; /* [questions] those numbers instead, or NULL */
    const size_t *sizes;    /* [questions] rows of each, as many in all; NULL: group_size each */
    uint64_t noise_seed;    /* chances of tool and sampling, of it and the row */
};

/* Start the rows of a plan behind those there are. */
void rollouts_add(struct trainer_rollouts *rollouts, const struct rollouts_plan *plan,
                  size_t first_row);

/* Start one row behind those there are: a question of a plan, with the chances of row noise_row. */
void rollouts_add_one(struct trainer_rollouts *rollouts, const struct rollouts_plan *plan,
                      size_t question, size_t noise_row);

/* Which question of its plan a row is about, by its group's label. */
size_t rollouts_question(const struct trainer_rollouts *rollouts, size_t row);

/* The row behind the last one of the group that begins at row `first`; groups stand together. */
size_t rollouts_group_end(const struct trainer_rollouts *rollouts, size_t first);

/*
 * Start one row behind those there are: another way on from the first n_tokens of a row of `from`,
 * which end with its prompt, with an observation, or with the row. Chances of tool and sampling are
 * of `noise` from there on. The other row was played in one go; it may be of the same rollouts.
 */
void rollouts_add_continued(struct trainer_rollouts *rollouts, const struct trainer_env *env,
                            const struct trainer_rollouts *from, size_t row, size_t n_tokens,
                            uint64_t noise);

/*
 * Tokens of a row that the policy wrote. The tool's words are not the policy's fault and do not
 * make a response long.
 */
double rollouts_written(const struct trainer_rollouts *rollouts, size_t row);

/* Tokens of the policy in rows [first, first+n). */
size_t rollouts_tokens(const struct trainer_rollouts *rollouts, size_t first, size_t n);

/* Rows start[r] .. start[r+1] were played by rank r: afterwards every rank has what came of all. */
enum trainer_status rollouts_share(struct trainer_rollouts *rollouts, struct ranks *ranks,
                                   const size_t *start, struct trainer_error *err);

/*
 * Rows that go through the network together (a lane is always the same rows, whoever works on it);
 * tokens and outputs that one feed of them can have.
 */
enum {
    LANE_ROWS = 64,
    LANE_TOKENS =
        LANE_ROWS * (TRAINER_OBSERVATION_MAX + 1 > TRAINER_PROMPT_MAX ? TRAINER_OBSERVATION_MAX + 1
                                                                      : TRAINER_PROMPT_MAX),
    LANE_OUTPUTS = LANE_ROWS * TRAINER_PROMPT_MAX
};

struct lane {
    const struct trainer_recipe *recipe;
    struct trainer_rollouts *rollouts;
    struct decode *decode;
    const float *params;
    size_t first, n;    /* rows */
    double temperature; /* 0 = greedy */
    int32_t turns;      /* see struct sampler_job */
    uint64_t noise_seed;
    uint64_t sampled, fed; /* out: tokens */
};

/* Play all episodes of the lane to their end. */
void lane_generate(struct lane *lane);

/*
 * value of the true answer at each boundary of the lane's rows, from the keys and values of
 * lane_generate.
 */
void lane_values(struct lane *lane);

#endif
