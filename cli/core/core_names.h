/*
 * core_names.h: the one table of names that the second compilation of core_*_real.c changes: with
 * RL_SINGLE an adapter that says rl_ppo_loss calls rl_ppo_lossf, and its kernel gets the suffix f.
 *
 * The headers come first: they declare both names of a pair, and must be read before the first of
 * them turns into the second. The test core_single_names compares the table with the object files.
 */
#ifndef CORE_NAMES_H
#define CORE_NAMES_H

#include <rlcore/a2tgpo.h>
#include <rlcore/adca.h>
#include <rlcore/advantage.h>
#include <rlcore/compose.h>
#include <rlcore/diagnostics.h>
#include <rlcore/distill.h>
#include <rlcore/loss.h>
#include <rlcore/offpolicy.h>
#include <rlcore/process.h>
#include <rlcore/stream_loss.h>

#ifdef RL_SINGLE

/* What adapters call and fill in. */
#define rl_a2tgpo_advantage rl_a2tgpo_advantagef
#define rl_a2tgpo_turn_loss rl_a2tgpo_turn_lossf
#define rl_adca_advantage rl_adca_advantagef
#define rl_adca_spread rl_adca_spreadf
#define rl_agg_loss rl_agg_lossf
#define rl_bypass_loss rl_bypass_lossf
#define rl_cispo_loss rl_cispo_lossf
#define rl_compose_input rl_compose_inputf
#define rl_compose_loss rl_compose_lossf
#define rl_compose_output rl_compose_outputf
#define rl_decoupled_loss rl_decoupled_lossf
#define rl_diagnose rl_diagnosef
#define rl_distill rl_distillf
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
#define rl_stream_loss rl_stream_lossf
#define rl_streams rl_streamsf
#define rl_token_baseline rl_token_baselinef
#define rl_token_baseline_input rl_token_baseline_inputf
#define rl_value_loss rl_value_lossf

/* What they define: kernels, and the reading of arrays. */
#define core_a2tgpo_advantage core_a2tgpo_advantagef
#define core_a2tgpo_turn_loss core_a2tgpo_turn_lossf
#define core_adca_advantage core_adca_advantagef
#define core_adca_steps core_adca_stepsf
#define core_advantage core_advantagef
#define core_agg_loss core_agg_lossf
#define core_bypass_loss core_bypass_lossf
#define core_compose_loss core_compose_lossf
#define core_decoupled_loss core_decoupled_lossf
#define core_diagnostics core_diagnosticsf
#define core_distill core_distillf
#define core_kl_penalty core_kl_penaltyf
#define core_offpolicy_metrics core_offpolicy_metricsf
#define core_opsm core_opsmf
#define core_policy_loss core_policy_lossf
#define core_process_advantage core_process_advantagef
#define core_put_reals core_put_realsf
#define core_real_list core_real_listf
#define core_reals core_realsf
#define core_reals_or_null core_reals_or_nullf
#define core_rollout_correction core_rollout_correctionf
#define core_stream_loss core_stream_lossf
#define core_value_loss core_value_lossf

#endif

#endif
