/* generate.h: plays the rows of one lane, and measures the value of the true answer along them. */
#pragma once

#include "rollout/kv_decode.h"
#include "rollout/rollouts.h"

/*
 * LANE_ROWS: rows that go through the network together; a lane always has the same rows, whichever thread plays it.
 * LANE_TOKENS and LANE_OUTPUTS: the largest number of tokens and of outputs in one feed of these rows.
 */
enum {
    LANE_ROWS = 64,
    LANE_TOKENS =
        LANE_ROWS * (TRAINER_OBSERVATION_MAX + 1 > TRAINER_PROMPT_MAX ? TRAINER_OBSERVATION_MAX + 1 : TRAINER_PROMPT_MAX),
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

/* Plays all episodes of the lane until they end. */
void lane_generate(struct lane *lane);

/*
 * Called after lane_generate, whose keys and values it uses. Measures the value of the true answer at each boundary of
 * the lane's rows.
 */
void lane_values(struct lane *lane);
