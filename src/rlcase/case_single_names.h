/*
 * case_single_names.h: the names that the compilation of case_*_real.c for float changes. With
 * RL_SINGLE an adapter that calls rl_ppo_loss calls rl_ppo_lossf, and its kernel gets the suffix f.
 *
 * The headers are included first: they declare both names of a pair, and must be read before the
 * first name is replaced by the second. The test case_single_names compares the table with the
 * object files.
 */
#pragma once

#include <rlcore/a2tgpo.h>
#include <rlcore/adca.h>
#include <rlcore/advantage.h>
#include <rlcore/algorithm.h>
#include <rlcore/compose.h>
#include <rlcore/diagnostics.h>
#include <rlcore/distill.h>
#include <rlcore/loss.h>
#include <rlcore/offpolicy.h>
#include <rlcore/process.h>
#include <rlcore/stream_loss.h>

#ifdef RL_SINGLE

/* Functions and structs of the core that adapters use. */
#define rl_a2tgpo_advantage rl_a2tgpo_advantagef
#define rl_a2tgpo_turn_loss rl_a2tgpo_turn_lossf
#define rl_adca_advantage rl_adca_advantagef
#define rl_adca_spread rl_adca_spreadf
#define rl_agg_loss rl_agg_lossf
#define rl_algorithm_rows rl_algorithm_rowsf
#define rl_bypass_loss rl_bypass_lossf
#define rl_cispo_loss rl_cispo_lossf
#define rl_dppo_kl_loss rl_dppo_kl_lossf
#define rl_dppo_tv_loss rl_dppo_tv_lossf
#define rl_dro_loss rl_dro_lossf
#define rl_compose_input rl_compose_inputf
#define rl_compose_loss rl_compose_lossf
#define rl_compose_output rl_compose_outputf
#define rl_decoupled_loss rl_decoupled_lossf
#define rl_diagnose rl_diagnosef
#define rl_distill rl_distillf
#define rl_distill_cut rl_distill_cutf
#define rl_gae rl_gaef
#define rl_geo_mean_loss rl_geo_mean_lossf
#define rl_gpg_loss rl_gpg_lossf
#define rl_gspo_loss rl_gspo_lossf
#define rl_kl_penalty rl_kl_penaltyf
#define rl_loss_input rl_loss_inputf
#define rl_offpolicy_metrics rl_offpolicy_metricsf
#define rl_opsm rl_opsmf
#define rl_outcome_advantage rl_outcome_advantagef
#define rl_ppo_loss rl_ppo_lossf
#define rl_process_advantage rl_process_advantagef
#define rl_reinforce_loss rl_reinforce_lossf
#define rl_reinforce_plus_plus rl_reinforce_plus_plusf
#define rl_remax rl_remaxf
#define rl_rollout_correction rl_rollout_correctionf
#define rl_sapo_loss rl_sapo_lossf
#define rl_batch_check_rewards rl_batch_check_rewardsf
#define rl_stream_count rl_stream_countf
#define rl_stream_loss rl_stream_lossf
#define rl_streams rl_streamsf
#define rl_token_baseline rl_token_baselinef
#define rl_token_baseline_input rl_token_baseline_inputf
#define rl_token_kl rl_token_klf
#define rl_unbiased_kl rl_unbiased_klf
#define rl_turn_spread rl_turn_spreadf
#define rl_value_loss rl_value_lossf
#define rl_vespo_loss rl_vespo_lossf
#define rl_whiten rl_whitenf

/* Names that adapters define: kernels, and functions that read and write arrays. */
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
#define case_put_reals case_put_realsf
#define case_real_list case_real_listf
#define case_reals case_realsf
#define case_reals_or_null case_reals_or_nullf
#define case_rollout_correction case_rollout_correctionf
#define case_stream_loss case_stream_lossf
#define case_turn_spread case_turn_spreadf
#define case_value_loss case_value_lossf
#define case_whiten case_whitenf

#endif
