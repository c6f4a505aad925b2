/*
 * state_numbers.h: the numbers of a saved run (resume_state.h), and whether they can be those of a run of a recipe.
 *
 * The digest of a state only shows damage: anybody can compute it. So each number that bounds a loop or is an index is
 * compared with the recipe before it is used.
 */
#pragma once

#include "run/run.h"

/*
 * Everything except the large arrays. The struct is zeroed before it is filled, because a digest covers its bytes,
 * padding included.
 */
struct state_numbers {
    char magic[8];
    uint32_t version, size; /* of this struct */
    uint64_t recipe;
    int32_t iterations, n_scores, n_late, n_alpha, n_late_values, pad;
    int64_t steps;
    double train_s, score_sum, scale_mean_sum, scale_std_sum, entropy_sum, clip_fraction_sum;
    double alpha_sum;
    struct trainer_values late_values;
    double baseline[TRAINER_ENVS_MAX];
    uint64_t n_baselines[TRAINER_ENVS_MAX];
    struct trainer_turn_gain late[TRAINER_TURNS_MAX];
    struct trainer_judge_counts judged;
    char kernels[TRAINER_KERNELS_MAX]; /* of the process that wrote the state; other kernels may round differently */
};

/* Returns NULL, or the name of the first number that no run of the recipe can have. */
const char *state_numbers_wrong(const struct state_numbers *numbers, const struct trainer_recipe *recipe);

/*
 * Checks the arrays of the run after they were restored: weights and moments, the ring of earlier weights, anchors, and pass
 * rates. Returns NULL, or the name of the array in which a value is not finite or is impossible.
 */
const char *state_arrays_wrong(const struct run *run);
