/* case_options.h: settings, routes, metrics and lists of unequal rows that several adapters read or store. */
#pragma once

#include <rlcore/loss.h>
#include <rlcore/offpolicy.h>
#include <rlcore/routing.h>

#include "case_call.h"

/*
 * Reads loss_agg_mode and, if present, dp_size, batch_num_tokens, global_batch_size,
 * loss_scale_factor.
 */
struct rl_agg case_agg(struct case_call *call);

/* Reads the settings of every policy loss; absent ones have the core's defaults. */
struct rl_loss_options case_loss_options(struct case_call *call);

/* The same for PPO alone, which has no use for SAPO's temperatures that verl's configuration gives beside its clip range. */
struct rl_loss_options case_ppo_options(struct case_call *call);

/* ---- the options of the off-policy kernels, from a case ---- */

/*
 * Reads rollout_is, rollout_is_threshold, rollout_is_metrics, rollout_is_batch_normalize, rollout_rs
 * and rollout_rs_threshold.
 */
struct rl_correction_options case_correction_options(struct case_call *call);

/* ---- routes of a mixture of experts, from a case ---- */

/* Whole numbers [b][t][layers][experts]; also reads n_experts. */
struct rl_routes case_routes(struct case_call *call, const char *name, size_t b, size_t t);

/* Reads `replay`: none, R2 or R3; none if absent. */
enum rl_replay case_replay(struct case_call *call);

/* ---- the result `metrics`, an object of numbers ---- */

struct case_metric {
    const char *name;
    double value;
};

/*
 * Stores the result `metrics` with n numbers. It is {} if n is 0, so that every result of the
 * kernel has the key.
 */
void case_put_metric_list(struct case_call *call, const struct case_metric *metrics, size_t n);

/* An empty list that a kernel fills, with room for the metrics of any kernel. */
struct rl_metrics case_metrics(struct case_call *call);

/* Append a metric; does nothing if the list is full. */
void case_add_metric(struct rl_metrics *metrics, const char *name, double value);

/* Stores the list as the result `metrics`. */
void case_put_metrics(struct case_call *call, const struct rl_metrics *metrics);

/*
 * Read the input step_flags: GOOD (true or 1) and BAD. *start receives where the flags of each row
 * begin.
 */
uint8_t *case_ragged_flags(struct case_call *call, struct case_dim *b, const size_t **start);
