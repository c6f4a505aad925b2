/* rollouts.h: the rollouts of one iteration, and how rows are started. */
#pragma once

#include <trainer/train.h>

enum { ROLLOUT_VALUES = TRAINER_TURNS_MAX + 1 };

/* B rows of T tokens. Arrays per token are [B*T], row after row; others are [B]. */
struct trainer_rollouts {
    size_t n, capacity, width; /* B, the largest B that fits into memory, T */
    int32_t *tokens, *turn;
    uint8_t *mask;
    float *log_prob; /* the sampler's log-probs, at sampling */
    float *rewards;  /* input of credit: gains and outcome, at the ends of turns */
    float *advantage, *clip_scale;
    float *old; /* denominator of the ratio: the sampler's log-probs, or the learner's before the updates */
    float *reference;        /* log-probs of the teacher */
    float *start;            /* log-probs of the policy that training started from */
    float *behaviour;        /* log-probs of the sampler's weights, computed by the learner's engine */
    float *weight;           /* off-policy importance weights */
    float *rl, *ce, *ref_kl; /* weights of the loss components */
    float *kd;               /* weights of the squared distance to a teacher */
    float *hooked;           /* answer of algorithm.hooks.weights; only there */
    uint8_t *kept;           /* the tokens of mask that were not rejected */
    double *expected; /* values predicted at sampling; NULL without a value head (run/value_arrays.h) */
    double *returns;  /* the returns to predict, NaN where there is no return; NULL without a value head */
    int32_t *length, *prompt, *n_turns, *task;
    int32_t *boundary; /* [B][ROLLOUT_VALUES] number of tokens before each place at which a value is measured */
    double *value;     /* [B][ROLLOUT_VALUES] */
    double *reward;
    double *scored; /* answer of algorithm.hooks.score; only there */
    int64_t *group;
    int32_t *number; /* number of the row's question in the pool */
    double *baseline;      /* outcome of the question's greedy rollout */
    int64_t *branch_of;    /* rows with the same number branch from the same beginning .. */
    int32_t *n_shared;     /* .. after this many turns */
    uint8_t *malformed;
    struct trainer_episode *episode;
    /*
     * The sampler's routes [B*T][places], each stored with the token that it predicts; places = layers *
     * experts_per_token. The memory belongs to the caller; NULL if routes are not recorded.
     */
    uint16_t *routes;
    size_t places;
    int32_t age; /* iterations between the sampler's weights and the learner's */
    bool has_values;
    size_t credited; /* rows before this one have credit: tasks get theirs one after the other */
};

size_t rollouts_bytes(size_t capacity, size_t width);
/* Returns NULL when out of memory. The caller frees it with free(). */
struct trainer_rollouts *rollouts_new(size_t capacity, size_t width);

/*
 * Copies all rows to rollouts of the same capacity and width, but not the arrays that belong to a caller (routes,
 * expected, returns): those of `to` are kept.
 */
void rollouts_copy(struct trainer_rollouts *to, const struct trainer_rollouts *from);

/* What to sample: questions x group_size rows of one task. */
struct rollouts_plan {
    const struct trainer_env *env;
    int32_t task;
    size_t questions, group_size;
    uint64_t question_seed; /* question i is a function of this seed and i */
    size_t first, pool;     /* question q has number (first + q) mod pool; with pool 0, number q */
    const int32_t *numbers; /* [questions] explicit numbers of the questions, which replace `first`, or NULL */
    const size_t *sizes;    /* [questions] rows of each question, with the same total; NULL: group_size each */
    uint64_t noise_seed;    /* the noise of tool and sampling is a function of this seed and the row */
};

/* Starts the rows of a plan, which become rows first_row, first_row + 1, .. */
void rollouts_add(struct trainer_rollouts *rollouts, const struct rollouts_plan *plan, size_t first_row);

/* Appends one row: a question of a plan, with the noise of row noise_row. */
void rollouts_add_one(struct trainer_rollouts *rollouts, const struct rollouts_plan *plan, size_t question, size_t noise_row);

/* Returns the index, within its plan, of the question that a row answers. */
size_t rollouts_question(const struct trainer_rollouts *rollouts, size_t row);

/* Returns one past the last row of the group that begins at row `first`; the rows of a group are adjacent. */
size_t rollouts_group_end(const struct trainer_rollouts *rollouts, size_t first);

/*
 * Appends one row that begins with the first n_tokens of a row of `from` and continues differently. These tokens must
 * end with the prompt, with an observation, or with the row. After them, tool and sampling follow `noise`. The row of
 * `from` must have been started normally; it may be in the same rollouts.
 */
void rollouts_add_continued(struct trainer_rollouts *rollouts, const struct trainer_env *env, const struct trainer_rollouts *from,
                            size_t row, size_t n_tokens, uint64_t noise);

/* Number of tokens of a row that the policy wrote. The tool's tokens do not count towards the length of a response. */
double rollouts_written(const struct trainer_rollouts *rollouts, size_t row);

/* Whether a component of the loss trains a token of the policy: a hook or a filter may have left it out of all of them. */
bool rollouts_trains(const struct trainer_rollouts *rollouts, size_t at);

/* Number of tokens that the policy wrote in rows [first, first+n). */
size_t rollouts_tokens(const struct trainer_rollouts *rollouts, size_t first, size_t n);

/* ---- pass rate and length of the rollouts of easy and of hard questions ---- */

/* Adds these rollouts to the means over earlier calls; zero `ends` before the first call. */
void difficulty_add(struct trainer_end_of_mix ends[TRAINER_N_DIFFICULTIES], const struct trainer_rollouts *rollouts,
                    const struct trainer_recipe *recipe);
