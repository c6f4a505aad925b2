/* credit.h: from outcomes and gains to advantages and weight streams, by the algorithm of each
 * task. */
#ifndef TRAINER_CREDIT_H
#define TRAINER_CREDIT_H

#include <rlcore/group_advantage.h>

#include "rollouts.h"

/* Scratch memory of the core's kernels, kept from call to call; workspace_free at the end. */
struct workspace {
    struct rl_workspace ws;
};

/* Make room after RL_EWORKSPACE: true if the call should be made again. */
bool workspace_grow(struct workspace *workspace, enum rl_status status);
void workspace_free(struct workspace *workspace);

/*
 * Call a kernel, with one more try when it needs more scratch memory.
 *     CORE_CALL(status, workspace, rl_ppo_lossf(.., &workspace->ws, &core))
 */
#define CORE_CALL(status, workspace, call)                                                         \
    do {                                                                                           \
        (status) = (call);                                                                         \
        if (workspace_grow((workspace), (status)))                                                 \
            (status) = (call);                                                                     \
    } while (0)

/* What some algorithms remember from iteration to iteration. */
struct credit_memory {
    struct rl_baseline baseline[TRAINER_ENVS_MAX]; /* rae: one moving baseline per task */
    size_t n_baselines[TRAINER_ENVS_MAX];
};

/* Rows [first, first+n) are those of one task. */
struct credit_task {
    const struct trainer_recipe *recipe;
    int32_t task;
    size_t first, n;
    int32_t iteration; /* 0-based */
};

struct credit_stats {
    double clip_scale_mean, clip_scale_std;
    struct trainer_turn_gain gain[TRAINER_TURNS_MAX];
    int32_t n_gain;
};

/* Whether the algorithm reads information gain. */
bool credit_needs_values(enum trainer_algorithm_name name);
/* Whether its rollouts need log-probs of a teacher (opd, opsd). */
bool credit_needs_reference(enum trainer_algorithm_name name);

/* Fill advantage, clip_scale, rl, ce and ref_kl of the task's rows. */
enum trainer_status credit_assign(struct trainer_rollouts *rollouts, const struct credit_task *task,
                                  struct credit_memory *memory, struct workspace *workspace,
                                  struct trainer_error *err);

/* Clip scale and gains of all rows. */
void credit_measure(const struct trainer_rollouts *rollouts, struct credit_stats *stats);

#endif
