/*
 * sampler.h: lanes of rollouts over threads, each thread with caches of its own; where several
 * processes share a run, over those as well.
 */
#ifndef TRAINER_SAMPLER_H
#define TRAINER_SAMPLER_H

#include "rollout/rollouts.h"
#include "support/ranks.h"

struct sampler {
    const struct trainer_recipe *recipe;
    int threads;
    struct ranks *ranks; /* NULL: alone; the caller's, to be set after sampler_open */
    int blas_before;     /* threads of BLAS when it was opened; until it is closed there is one */
    struct decode **decode; /* [threads] */
};

double sampler_bytes(const struct trainer_recipe *recipe, int threads);
enum trainer_status sampler_open(struct sampler *sampler, const struct trainer_recipe *recipe,
                                 int threads, struct trainer_error *err);
void sampler_close(struct sampler *sampler);

struct sampler_job {
    struct trainer_rollouts *rollouts;     /* started rows */
    const float *params[TRAINER_ENVS_MAX]; /* who plays each task */
    double temperature;
    int32_t turns; /* rows rest behind so many observations, 0: none; not together with values */
    bool values;                        /* measure the value of the true answer, too */
    double generation_s, gain_s;        /* out: wall time */
    uint64_t sampled, fed, gain_tokens; /* out */
};

/* Play what the rows have started; on return every process has all of them. */
enum trainer_status sampler_play(struct sampler *sampler, struct sampler_job *job,
                                 struct trainer_error *err);

#endif
