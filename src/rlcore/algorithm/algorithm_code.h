/*
 * algorithm_code.h: the private half of a row of the algorithm table: the kernel that computes its
 * advantages.
 *
 * To add an algorithm, add a name to enum rl_algorithm_name and a row to algorithm_table.c. It
 * needs new code only if no existing kernel fits: a new kind of rows (algorithm_rows_real.c), or a
 * function over the traces of a group (algorithm_values.c).
 */
#pragma once

#include <rlcore/algorithm.h>

/* Kernels over rows of a batch; `variant` selects a form of the kernel. */
enum rl_rows_kind {
    RL_ROWS_NONE,    /* the algorithm works on trees only */
    RL_ROWS_ZERO,    /* no advantages: ce or ref_kl trains the tokens */
    RL_ROWS_GROUP,   /* rl_outcome_advantage, variant enum rl_estimator */
    RL_ROWS_RETURNS, /* rl_reinforce_plus_plus */
    RL_ROWS_VALUES,  /* one advantage per row from `values`, group by group */
    RL_ROWS_GAINS,   /* rl_a2tgpo_advantage, variant enum rl_a2tgpo_mode */
    RL_ROWS_PROCESS, /* rl_process_advantage */
    RL_ROWS_PREFIX,  /* differences between the values of prefixes */
    RL_ROWS_JUDGE,   /* rl_adca_advantage */
    RL_ROWS_GAE,     /* rl_gae */
    RL_ROWS_GREEDY,  /* rl_remax */
    RL_ROWS_EPISODES /* `values` over the rows of a group and the beginnings that the rows of an
                        episode share */
};

struct rl_algorithm_job;

/* One advantage per trace of a group. */
typedef enum rl_status rl_values_fn(const struct rl_trace *traces, size_t n, const struct rl_algorithm_options *options,
                                    double *values, uint8_t *counted, struct rl_error *err);

struct rl_algorithm_code {
    enum rl_rows_kind rows;
    int variant;
    rl_values_fn *values; /* NULL: the algorithm has no advantage of whole rollouts */
    /* A setting whose default differs from that of most algorithms; NULL: none. */
    struct {
        const char *setting;
        double value;
    } own;
};

rl_values_fn rl_values_grpo, rl_values_max_rl, rl_values_hierarchical, rl_values_rae, rl_values_reward;
