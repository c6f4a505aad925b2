/*
 * case_single_names.h: the names that the compilation of case_*_real.c for float changes. With RL_SINGLE an adapter that calls
 * rl_ppo_loss calls rl_ppo_lossf, as in the core, and its kernel gets the suffix f. The test rlcase_single_names compares the table
 * with the object files.
 */
#pragma once

#include "rlcore/support/single_names.h"

#ifdef RL_SINGLE
#define case_a2tgpo_advantage case_a2tgpo_advantagef
#define case_a2tgpo_turn_loss case_a2tgpo_turn_lossf
#define case_adca_advantage case_adca_advantagef
#define case_adca_steps case_adca_stepsf
#define case_advantage case_advantagef
#define case_agg_loss case_agg_lossf
#define case_algorithm_rows case_algorithm_rowsf
#define case_bypass_loss case_bypass_lossf
#define case_compose_loss case_compose_lossf
#define case_decoupled_loss case_decoupled_lossf
#define case_diagnostics case_diagnosticsf
#define case_distill case_distillf
#define case_distill_cut case_distill_cutf
#define case_kl_penalty case_kl_penaltyf
#define case_offpolicy_metrics case_offpolicy_metricsf
#define case_opsm case_opsmf
#define case_policy_loss case_policy_lossf
#define case_process_advantage case_process_advantagef
#define case_rollout_correction case_rollout_correctionf
#define case_stream_loss case_stream_lossf
#define case_turn_spread case_turn_spreadf
#define case_value_loss case_value_lossf
#define case_whiten case_whitenf

#endif
