/*
 * single_names.h: the names that the compilation for float changes. A file *_real.c writes
 * rl_ppo_loss, as its callers in src/rlcore and src/rlcase do; compiled with RL_SINGLE it defines and calls rl_ppo_lossf. Static
 * functions and private structs need no second name.
 *
 * The public headers are included first: they declare both names of a pair, and must be read before
 * the first name is replaced by the second. The test rlcore_single_names compares the table with
 * the names that the object files define.
 */
#pragma once

#include <rlcore/a2tgpo.h>
#include <rlcore/adca.h>
#include <rlcore/advantage.h>
#include <rlcore/algorithm.h>
#include <rlcore/batch.h>
#include <rlcore/compose.h>
#include <rlcore/diagnostics.h>
#include <rlcore/distill.h>
#include <rlcore/loss.h>
#include <rlcore/offpolicy.h>
#include <rlcore/process.h>
#include <rlcore/stream_loss.h>

#ifdef RL_SINGLE

/* Structs of arrays, which the public headers declare for either type. */
#define rl_compose_input rl_compose_inputf
#define rl_compose_output rl_compose_outputf
#define rl_loss_input rl_loss_inputf
#define rl_policy_loss rl_policy_lossf
#define rl_streams rl_streamsf
#define rl_token_baseline_input rl_token_baseline_inputf

/* Public functions. */
#define rl_a2tgpo_advantage rl_a2tgpo_advantagef
#define rl_a2tgpo_turn_loss rl_a2tgpo_turn_lossf
#define rl_adca_advantage rl_adca_advantagef
#define rl_adca_batch_advantage rl_adca_batch_advantagef
#define rl_adca_batch_spread rl_adca_batch_spreadf
#define rl_adca_spread rl_adca_spreadf
#define rl_agg_loss rl_agg_lossf
#define rl_algorithm_rows rl_algorithm_rowsf
#define rl_batch_check_reals rl_batch_check_realsf
#define rl_batch_check_rewards rl_batch_check_rewardsf
#define rl_batch_stream_count rl_batch_stream_countf
#define rl_batch_stream_loss rl_batch_stream_lossf
#define rl_bypass_loss rl_bypass_lossf
#define rl_cispo_loss rl_cispo_lossf
#define rl_dppo_kl_loss rl_dppo_kl_lossf
#define rl_dppo_tv_loss rl_dppo_tv_lossf
#define rl_dro_loss rl_dro_lossf
#define rl_compose_loss rl_compose_lossf
#define rl_decoupled_loss rl_decoupled_lossf
#define rl_diagnose rl_diagnosef
#define rl_distill rl_distillf
#define rl_distill_cut rl_distill_cutf
#define rl_gae rl_gaef
#define rl_geo_mean_loss rl_geo_mean_lossf
#define rl_gpg_loss rl_gpg_lossf
#define rl_gspo_loss rl_gspo_lossf
#define rl_kl_penalty rl_kl_penaltyf
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
#define rl_stream_count rl_stream_countf
#define rl_stream_loss rl_stream_lossf
#define rl_token_baseline rl_token_baselinef
#define rl_token_kl rl_token_klf
#define rl_unbiased_kl rl_unbiased_klf
#define rl_turn_rewards rl_turn_rewardsf
#define rl_turn_spread rl_turn_spreadf
#define rl_value_loss rl_value_lossf
#define rl_vespo_loss rl_vespo_lossf
#define rl_whiten rl_whitenf

/* Functions shared between the files of rlcore. */
#define rl_grid_check_reals rl_grid_check_realsf
#define rl_grid_check_rewards rl_grid_check_rewardsf
#define rl_loss_begin rl_loss_beginf
#define rl_loss_end rl_loss_endf
#define rl_loss_entropy rl_loss_entropyf
#define rl_loss_explain rl_loss_explainf
#define rl_loss_overwritten rl_loss_overwrittenf
#define rl_loss_run rl_loss_runf
#define rl_stream_chunk rl_stream_chunkf
#define rl_stream_tokens rl_stream_tokensf
#define rl_token_chunk_limit rl_token_chunk_limitf
#define rl_token_chunk_zero rl_token_chunk_zerof
#define rl_whiten_grid rl_whiten_gridf
#define rl_two_policies_of rl_two_policies_off
#define rl_weight_sink_of rl_weight_sink_off

#endif
