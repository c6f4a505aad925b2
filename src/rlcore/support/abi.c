/*
 * abi.c: the sizes of the public structs. The list is written by hand, so that the library builds
 * with a compiler alone; the test rlcore_abi compares it with the headers.
 */
#include <rlcore/abi.h>

#include <rlcore/a2tgpo.h>
#include <rlcore/adca.h>
#include <rlcore/advantage.h>
#include <rlcore/algorithm.h>
#include <rlcore/batch.h>
#include <rlcore/compose.h>
#include <rlcore/correction_plan.h>
#include <rlcore/diagnostics.h>
#include <rlcore/distill.h>
#include <rlcore/envelope.h>
#include <rlcore/group_advantage.h>
#include <rlcore/length.h>
#include <rlcore/loss.h>
#include <rlcore/offpolicy.h>
#include <rlcore/pack.h>
#include <rlcore/passk.h>
#include <rlcore/process.h>
#include <rlcore/routing.h>
#include <rlcore/samples.h>
#include <rlcore/status.h>
#include <rlcore/stream_loss.h>

#define SIZE(name) {#name, sizeof(struct name)}

static const struct rl_abi_size sizes[] = {
    SIZE(rl_a2tgpo_options),
    SIZE(rl_a2tgpo_stats),
    SIZE(rl_abi_size),
    SIZE(rl_adca_flag_rates),
    SIZE(rl_adca_input),
    SIZE(rl_adca_metrics),
    SIZE(rl_adca_options),
    SIZE(rl_adca_output),
    SIZE(rl_adca_schedule),
    SIZE(rl_advice),
    SIZE(rl_agg),
    SIZE(rl_algorithm),
    SIZE(rl_algorithm_input),
    SIZE(rl_algorithm_options),
    SIZE(rl_algorithm_setting),
    SIZE(rl_baseline),
    SIZE(rl_batch),
    SIZE(rl_beta_fit),
    SIZE(rl_branch),
    SIZE(rl_compose_data),
    SIZE(rl_compose_input),
    SIZE(rl_compose_inputf),
    SIZE(rl_compose_options),
    SIZE(rl_compose_output),
    SIZE(rl_compose_outputf),
    SIZE(rl_compose_result),
    SIZE(rl_correction_options),
    SIZE(rl_correction_plan),
    SIZE(rl_diagnostics),
    SIZE(rl_distill_options),
    SIZE(rl_distill_result),
    SIZE(rl_envelope),
    SIZE(rl_envelope_run),
    SIZE(rl_episode_options),
    SIZE(rl_error),
    SIZE(rl_factor),
    SIZE(rl_fingerprint),
    SIZE(rl_layout),
    SIZE(rl_length_input),
    SIZE(rl_length_weights),
    SIZE(rl_loss_input),
    SIZE(rl_loss_inputf),
    SIZE(rl_loss_options),
    SIZE(rl_loss_result),
    SIZE(rl_metric),
    SIZE(rl_metrics),
    SIZE(rl_node),
    SIZE(rl_opsm_options),
    SIZE(rl_opsm_result),
    SIZE(rl_outcome_options),
    SIZE(rl_pack_micro_batch),
    SIZE(rl_pack_options),
    SIZE(rl_pack_plan),
    SIZE(rl_pack_sample),
    SIZE(rl_passk_sampling),
    SIZE(rl_role_weight),
    SIZE(rl_rollouts),
    SIZE(rl_route_agreement),
    SIZE(rl_routes),
    SIZE(rl_sample_scores),
    SIZE(rl_samples),
    SIZE(rl_samples_size),
    SIZE(rl_sequences),
    SIZE(rl_setting),
    SIZE(rl_stream_counts),
    SIZE(rl_stream_metrics),
    SIZE(rl_stream_options),
    SIZE(rl_stream_result),
    SIZE(rl_streams),
    SIZE(rl_streamsf),
    SIZE(rl_token_baseline_input),
    SIZE(rl_token_baseline_inputf),
    SIZE(rl_token_baseline_options),
    SIZE(rl_trace),
    SIZE(rl_tree),
    SIZE(rl_turn_loss_options),
    SIZE(rl_turn_stat),
    SIZE(rl_turns),
    SIZE(rl_value_result),
    SIZE(rl_workspace),
};

int rl_abi_version(void)
{
    return RL_ABI_VERSION;
}

const struct rl_abi_size *rl_abi_sizes(size_t *n)
{
    if (n)
        *n = sizeof sizes / sizeof *sizes;
    return sizes;
}
