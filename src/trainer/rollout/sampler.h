/* sampler.h: plays rollouts in lanes, which are divided among threads with their own caches. */
#pragma once

#include "rollout/rollouts.h"

struct sampler {
    const struct trainer_recipe *recipe;
    int threads;
    int blas_before;     /* BLAS's number of threads before sampler_open; until sampler_close it is 1 */
    struct decode **decode; /* [threads] */
};

double sampler_bytes(const struct trainer_recipe *recipe, int threads);
enum trainer_status sampler_open(struct sampler *sampler, const struct trainer_recipe *recipe, int threads,
                                 struct trainer_error *err);
void sampler_close(struct sampler *sampler);

struct sampler_job {
    struct trainer_rollouts *rollouts;     /* the rows must have been started */
    const float *params[TRAINER_ENVS_MAX]; /* weights that play each task */
    double temperature;
    int32_t turns; /* rows pause after N observations; 0: never. Not together with values */
    bool values;                        /* also measure the value of the true answer */
    double generation_s, gain_s;        /* out: seconds of wall time */
    uint64_t sampled, fed, gain_tokens; /* out: tokens */
};

/*
 * Plays the started rows. Returns TRAINER_ENUMERIC if the network overflowed.
 */
enum trainer_status sampler_play(struct sampler *sampler, struct sampler_job *job, struct trainer_error *err);

/* ---- rollouts that are cut into episodes by markers in their tokens, instead of into turns ---- */

/*
 * Cuts rows first .. first+n-1, which are finished and of one task, before each of the algorithm's markers
 * (rl_episode_starts). Episodes then replace turns: in the turn ids of tokens, in n_turns, and in the boundaries at
 * which values are measured. An episode without a token of the policy is joined to the previous episode, because none
 * of its tokens could get credit. There are at most ROLLOUT_VALUES episodes; the last one takes what remains.
 */
void episodes_cut(struct trainer_rollouts *rollouts, const struct trainer_recipe *recipe, size_t first, size_t n);
