/*
 * rlcore_missing.c: tests that a missing argument is refused. Every function is called with good arguments, which it
 * must accept, and then once for each of its pointers with that pointer NULL.
 */
#include "support/unit.h"

#include <stdlib.h>
#include <string.h>

#include <rlcore/a2tgpo.h>
#include <rlcore/adca.h>
#include <rlcore/advantage.h>
#include <rlcore/compose.h>
#include <rlcore/correction_plan.h>
#include <rlcore/diagnostics.h>
#include <rlcore/distill.h>
#include <rlcore/envelope.h>
#include <rlcore/group_advantage.h>
#include <rlcore/length.h>
#include <rlcore/offpolicy.h>
#include <rlcore/pack.h>
#include <rlcore/passk.h>
#include <rlcore/process.h>
#include <rlcore/routing.h>
#include <rlcore/stream_loss.h>

enum { B = 2, T = 4, CELLS = B * T };

/* Good arguments for every function: one small batch whose rows have two turns each. */
static const uint8_t mask[CELLS] = {1, 1, 1, 1, 1, 1, 1, 1}, tool[CELLS] = {0}, event[CELLS] = {0, 1, 0, 2, 0, 1, 0, 2},
                     flags[4] = {1, 0, 1, 1};
static const int32_t turn[CELLS] = {0, 0, 1, 1, 0, 0, 1, 1};
static const int64_t group[B] = {3, 3}, counts[B] = {4, 4}, correct[B] = {1, 2}, ks[B] = {1, 2};
static const size_t starts[B + 1] = {0, 2, 4}, tokens[B + 1] = {0, T, CELLS}, prompts[B] = {0, 0}, lengths[B] = {T, T};
static const double p[CELLS] = {-1, -2, -1, -1, -2, -1, -2, -1}, q[CELLS] = {-1, -1, -1, -2, -2, -1, -1, -1},
                    reals[CELLS] = {0, 1, 0, 2, 0, -1, 0, 1}, bytes[RL_ENVELOPE_PARTS] = {1}, outcomes[B] = {1, 0},
                    baselines[B] = {0, 0};
static const float pf[CELLS] = {-1, -2, -1, -1, -2, -1, -2, -1}, qf[CELLS] = {-1, -1, -1, -2, -2, -1, -1, -1},
                   realsf[CELLS] = {0, 1, 0, 2, 0, -1, 0, 1};
static const uint16_t experts[CELLS] = {0, 1, 0, 1, 0, 1, 0, 1};
static const struct rl_batch batch = {B, T, mask, turn, group};
static const struct rl_turns turns = {B, starts, group};
static const struct rl_routes routes = {.n_layers = 1, .top_k = 1, .n_experts = 2, .experts = experts};
static const struct rl_fingerprint fingerprint = {"tokenizer", "template"};
static const struct rl_sequences sequences = {B, tokens, mask};

/* Outputs, and options set by their init functions. */
static struct {
    double a[CELLS + 1], b[CELLS + 1], c[CELLS + 1], d[CELLS + 1];
    float af[CELLS], bf[CELLS];
    uint8_t mask[CELLS];
    int32_t turn[CELLS];
    uint16_t experts[CELLS];
    bool flag[B];
    size_t n[CELLS + 1];
    int64_t more[B];
    struct rl_workspace ws;
} out;

/* The k-th pointer of a call; NULL if the current call omits this pointer. */
#define ARG(k, pointer) (missing == (k) ? NULL : (pointer))
#define CALL(name, ...)                                                                                                          \
    static enum rl_status call_##name(int missing)                                                                               \
    {                                                                                                                            \
        return rl_##name(__VA_ARGS__);                                                                                           \
    }

static const struct rl_loss_input loss_in = {.log_prob = p, .old_log_prob = q, .advantages = reals};
static const struct rl_loss_inputf loss_inf = {.log_prob = pf, .old_log_prob = qf, .advantages = realsf};
static const struct rl_loss_options loss = {
    .clip_low = 0.2, .clip_high = 0.2, .clip_c = 3, .tau_pos = 1, .tau_neg = 1, .dro_beta = 1};
static struct rl_loss_result loss_out;
#define LOSS(name)                                                                                                               \
    CALL(name, ARG(0, &batch), ARG(1, &loss_in), ARG(2, &loss), out.a, ARG(3, &loss_out), &out.ws, NULL)                         \
    CALL(name##f, ARG(0, &batch), ARG(1, &loss_inf), ARG(2, &loss), out.af, ARG(3, &loss_out), &out.ws, NULL)
LOSS(ppo_loss)
LOSS(gspo_loss)
LOSS(cispo_loss)
LOSS(sapo_loss)
LOSS(gpg_loss)
LOSS(reinforce_loss)
LOSS(geo_mean_loss)
LOSS(dppo_tv_loss)
LOSS(dppo_kl_loss)
LOSS(dro_loss)
LOSS(vespo_loss)
static const struct rl_agg agg;
static struct rl_value_result value_out;
CALL(agg_loss, ARG(0, &batch), ARG(1, &agg), ARG(2, p), out.a, ARG(3, out.b), &out.ws, NULL)
CALL(agg_lossf, ARG(0, &batch), ARG(1, &agg), ARG(2, pf), out.af, ARG(3, out.b), &out.ws, NULL)
CALL(value_loss, ARG(0, &batch), ARG(1, &agg), 0.2, ARG(2, p), ARG(3, q), ARG(4, reals), out.a, ARG(5, &value_out), &out.ws, NULL)
CALL(kl_penalty, RL_KL_K3, false, CELLS, ARG(0, p), ARG(1, q), ARG(2, out.a), out.b, NULL)
CALL(unbiased_kl, ARG(0, &batch), RL_KL_K3, ARG(1, p), ARG(2, q), ARG(3, reals), ARG(4, out.a), out.b, NULL)
static const struct rl_turn_loss_options turn_loss = {RL_AGG_TOKEN_MEAN, 0.2, 0.2};
CALL(a2tgpo_turn_loss, ARG(0, &batch), ARG(1, &loss_in), NULL, ARG(2, &turn_loss), out.a, out.b, ARG(3, &loss_out), &out.ws, NULL)

static const struct rl_a2tgpo_options a2tgpo = {
    .mode = RL_A2TGPO_TURN_GROUP_V1D, .gamma = 1, .alpha = 0.3, .clip_beta = 0.3, .epsilon = 1e-6};
static const double rewards[CELLS] = {0, 0.5, 0, 1, 0, 0.1, 0, 0};
static struct rl_turn_stat stats[2];
CALL(information_gain, RL_GAIN_PROB, 1, 2, ARG(0, p), ARG(1, out.a), NULL)
CALL(turn_starts, ARG(0, &batch), ARG(1, out.n), NULL)
CALL(turn_rewards, ARG(0, &batch), ARG(1, starts), ARG(2, rewards), ARG(3, out.a), out.n, NULL)
CALL(turn_spread, ARG(0, &batch), ARG(1, starts), ARG(2, reals), 0, ARG(3, out.a), NULL)
CALL(turn_normalize, ARG(0, &turns), RL_TURN_SETS_CELLS, true, 1e-6, ARG(1, reals), ARG(2, out.a), &out.ws, NULL)
CALL(turn_accumulate, ARG(0, &turns), 1, ARG(1, reals), ARG(2, out.a), NULL)
CALL(turn_clip_scale, ARG(0, &turns), 0.3, ARG(1, reals), ARG(2, out.a), NULL)
CALL(turn_statistics, ARG(0, &turns), ARG(1, reals), ARG(2, stats), 2, ARG(3, out.n), NULL)
CALL(a2tgpo_advantage, ARG(0, &batch), ARG(1, &a2tgpo), ARG(2, rewards), ARG(3, out.a), NULL, NULL, &out.ws, NULL)

static const struct rl_adca_options adca = {.eps = 1e-8, .fix_base = 0.2, .alpha = 1};
static const struct rl_adca_input adca_in = {B, T, group, turn, starts, flags, starts};
static const struct rl_adca_output adca_out = {NULL, out.b, out.c, NULL};
static const struct rl_adca_schedule schedule = {.enable = true, .prm_steps = 1, .alpha = 1};
static struct rl_adca_flag_rates rates;
CALL(adca_step_starts, B, T, ARG(0, turn), ARG(1, out.n), NULL)
CALL(adca_advantage, ARG(0, &adca_in), ARG(1, &adca), ARG(2, reals), ARG(3, out.a), ARG(4, &adca_out), &out.ws, NULL)
CALL(adca_suffix_sums, B, ARG(0, starts), ARG(1, reals), ARG(2, out.a), NULL)
CALL(adca_spread, B, T, ARG(0, turn), ARG(1, starts), ARG(2, reals), ARG(3, out.a), NULL)
CALL(adca_schedule_at, ARG(0, &schedule), ARG(1, out.flag), ARG(2, out.a), NULL)
CALL(adca_count_flags, B, ARG(0, outcomes), ARG(1, flags), ARG(2, starts), ARG(3, &rates), NULL)
CALL(adca_skip_rows, RL_ADCA_SKIP_SMALL_ADV, B, ARG(0, reals), ARG(1, outcomes), ARG(2, out.flag), ARG(3, out.mask), NULL)

static const struct rl_outcome_options outcome = {RL_GRPO, true, 1e-6};
static const struct rl_token_baseline_options token_baseline = {.epsilon = 1e-8};
static const struct rl_token_baseline_input baseline_in = {.rewards = reals, .old_log_prob = p, .sum_pi_squared = reals};
CALL(outcome_advantage, ARG(0, &batch), ARG(1, &outcome), ARG(2, reals), ARG(3, out.a), &out.ws, NULL)
CALL(whiten, ARG(0, &batch), true, ARG(1, out.d), &out.ws, NULL)
CALL(reinforce_plus_plus, ARG(0, &batch), 1, false, ARG(1, reals), ARG(2, out.a), NULL, &out.ws, NULL)
CALL(remax, ARG(0, &batch), ARG(1, reals), ARG(2, baselines), ARG(3, out.a), NULL, NULL)
CALL(gae, ARG(0, &batch), 1, 1, ARG(1, reals), ARG(2, p), ARG(3, out.a), NULL, &out.ws, NULL)
CALL(token_baseline, ARG(0, &batch), ARG(1, &baseline_in), ARG(2, &token_baseline), ARG(3, out.a), NULL, &out.ws, NULL)

static const struct rl_correction_options correction = {.is = RL_IS_TOKEN, .is_threshold = 2};
static const struct rl_opsm_options opsm = {.upper = 2, .negative_only = true};
static struct rl_opsm_result opsm_out;
static struct rl_diagnostics diagnostics;
CALL(batch_check, ARG(0, &batch), 0, NULL)
CALL(batch_check_reals, "reals", ARG(0, p), ARG(1, &batch), NULL)
CALL(offpolicy_metrics, ARG(0, &batch), ARG(1, p), ARG(2, q), NULL, NULL)
CALL(rollout_correction, ARG(0, &batch), ARG(1, &correction), ARG(2, p), ARG(3, q), ARG(4, out.a), ARG(5, out.mask), NULL,
     &out.ws, NULL)
CALL(bypass_loss, ARG(0, &batch), RL_BYPASS_REINFORCE, ARG(1, &correction), ARG(2, &loss), ARG(3, p), ARG(4, q), ARG(5, reals),
     NULL, ARG(6, &loss_out), NULL, &out.ws, NULL)
CALL(decoupled_loss, ARG(0, &batch), ARG(1, &correction), ARG(2, &loss), ARG(3, p), ARG(4, q), ARG(5, p), ARG(6, reals),
     ARG(7, out.a), ARG(8, out.mask), NULL, ARG(9, &loss_out), NULL, &out.ws, NULL)
CALL(opsm, ARG(0, &batch), ARG(1, &opsm), ARG(2, p), ARG(3, q), ARG(4, reals), ARG(5, out.mask), NULL, ARG(6, &opsm_out), NULL)
CALL(staleness_admit, 1, 1, 0, 0, ARG(0, out.flag), NULL)
CALL(diagnose, ARG(0, &batch), ARG(1, p), ARG(2, q), 0.2, 0.2, ARG(3, &diagnostics), &out.ws, NULL)

static const struct rl_compose_input compose_in = {.log_prob = p, .behaviour = q, .advantages = reals};
static const struct rl_compose_output compose_out = {.mask = out.mask};
static struct rl_compose_options compose;
static struct rl_compose_result compose_result;
CALL(compose_loss, ARG(0, &batch), ARG(1, &compose_in), ARG(2, &compose), ARG(3, &compose_out), ARG(4, &compose_result), &out.ws,
     NULL)
CALL(mask_tools, ARG(0, &batch), ARG(1, tool), ARG(2, out.mask), NULL, NULL)
static const struct rl_setting setting = {.global_batch = 2, .mini_batch = 1};
static struct rl_correction_plan plan;
static enum rl_replay replay;
CALL(correction_plan, ARG(0, &setting), ARG(1, &plan), NULL)
CALL(replay_choose, 2, 1, ARG(0, &replay), NULL, NULL)
static struct rl_route_agreement agreement;
CALL(routes_check, "routes", ARG(0, &routes), ARG(1, &batch), NULL)
CALL(routes_compare, ARG(0, &batch), ARG(1, &routes), ARG(2, &routes), NULL, NULL, ARG(3, &agreement), &out.ws, NULL)
CALL(routes_replayed, ARG(0, &batch), ARG(1, &routes), ARG(2, &routes), NULL)
CALL(routes_carry, ARG(0, &routes), CELLS, ARG(1, starts), B, ARG(2, out.experts), NULL)

static const struct rl_distill_options distill = {.pass_rate_threshold = 1, .horizon = 8, .kd_coef = 1};
static struct rl_distill_result distill_out;
CALL(distill, ARG(0, &batch), ARG(1, &distill), ARG(2, p), ARG(3, q), ARG(4, reals), ARG(5, outcomes), ARG(6, out.a), NULL,
     ARG(7, out.b), ARG(8, out.mask), ARG(9, &distill_out), &out.ws, NULL)
CALL(distill_check, ARG(0, &fingerprint), ARG(1, &fingerprint), NULL)
CALL(distill_cut, B, T, T, ARG(0, prompts), ARG(1, p), ARG(2, out.a), NULL)
static struct rl_envelope_run run;
static struct rl_envelope envelope;
CALL(envelope_measure, ARG(0, &run), ARG(1, out.a), NULL)
CALL(envelope_judge, ARG(0, bytes), 10, ARG(1, &envelope), NULL)

static const struct rl_trace traces[B] = {{.reward = 1}, {.reward = 0}};
static const char *const agents[1] = {"agent"};
static struct rl_baseline averages[2];
CALL(group_grpo, ARG(0, traces), B, NULL, ARG(1, out.a), ARG(2, out.mask), NULL)
static const struct rl_length_weights length_weights = {0.25, 0.1, 0.1};
CALL(group_penalise, ARG(0, traces), B, ARG(1, &length_weights), ARG(2, out.a), ARG(3, out.mask), NULL)
CALL(group_max_rl, ARG(0, traces), B, ARG(1, out.a), ARG(2, out.mask), NULL)
CALL(group_hierarchical, ARG(0, traces), B, ARG(1, agents), 1, ARG(2, out.a), ARG(3, out.mask), NULL)
CALL(group_rae, ARG(0, traces), B, 0.9, ARG(1, averages), ARG(2, out.n), 2, ARG(3, out.a), ARG(4, out.mask), NULL)
static const struct rl_length_input length_in = {.n = B, .rewards = outcomes, .lengths = outcomes, .group = group};
CALL(length_penalty, RL_LENGTH_GROUP, 0.1, ARG(0, &length_in), ARG(1, out.a), &out.ws, NULL)
CALL(length_anchor, B, ARG(0, outcomes), ARG(1, outcomes), ARG(2, out.a), NULL)

static const int64_t ids[T] = {1, 2, 3, 4};
static const struct rl_pack_sample samples[1] = {{.n_tokens = T,
                                                  .token_ids = ids,
                                                  .mask = mask,
                                                  .logprobs = p,
                                                  .temperatures = reals,
                                                  .advantages = reals,
                                                  .env_name = "env"}};
static const struct rl_pack_options pack = {.seq_len = T, .n_workers = 1, .pad_multiple = 1, .cost_linear = 1};
static struct rl_pack_plan pack_plan = {.bin_start = out.n, .order = (size_t[B]){0}, .slots = (size_t[B]){0}};
CALL(pack_check, ARG(0, samples), 1, ARG(1, &pack), NULL)
CALL(pack_plan, ARG(0, lengths), B, ARG(1, &pack), ARG(2, &pack_plan), &out.ws, NULL)
static const int64_t samples_of[B] = {8, 8}, right_of[B] = {1, 7};
static struct rl_beta_fit fit;
static const struct rl_passk_sampling sampling = {1, 8, 2};
CALL(passk, RL_PASSK_UNBIASED, B, ARG(0, counts), ARG(1, correct), B, ARG(2, ks), NULL, out.a, NULL)
CALL(passk_beta, 1, 1, B, ARG(0, ks), ARG(1, out.a), NULL)
CALL(passk_beta_fit, B, ARG(0, samples_of), ARG(1, right_of), ARG(2, &fit), NULL)
CALL(passk_more, ARG(0, &sampling), B, ARG(1, counts), ARG(2, correct), ARG(3, out.more), NULL)
CALL(passk_reward, B, ARG(0, reals), 2, ARG(1, out.a), NULL)
CALL(marginal_utility, 3, ARG(0, reals), ARG(1, out.a), NULL)
CALL(process_advantage, ARG(0, &batch), ARG(1, event), ARG(2, reals), ARG(3, out.a), &out.ws, NULL)
static struct rl_episode_options episodes;
CALL(episode_starts, ARG(0, "a b c d."), T, ARG(1, ((const size_t[]){0, 2, 4, 6, 8})), ARG(2, &episodes), ARG(3, out.n),
     ARG(4, &out.n[CELLS]), NULL)
static const struct rl_streams streams = {.trainer = p, .inference = q, .advantages = reals};
static struct rl_stream_options stream_options;
static struct rl_stream_result stream_out;
CALL(stream_loss, ARG(0, &sequences), ARG(1, &streams), ARG(2, &stream_options), out.a, NULL, ARG(3, &stream_out), NULL)

static const struct {
    const char *name;
    enum rl_status (*call)(int missing);
    int n; /* pointers */
} functions[] = {
#define F(name, n) {"rl_" #name, call_##name, n}
    F(ppo_loss, 4),
    F(ppo_lossf, 4),
    F(gspo_loss, 4),
    F(gspo_lossf, 4),
    F(cispo_loss, 4),
    F(cispo_lossf, 4),
    F(sapo_loss, 4),
    F(sapo_lossf, 4),
    F(gpg_loss, 4),
    F(gpg_lossf, 4),
    F(reinforce_loss, 4),
    F(reinforce_lossf, 4),
    F(geo_mean_loss, 4),
    F(geo_mean_lossf, 4),
    F(dppo_tv_loss, 4),
    F(dppo_tv_lossf, 4),
    F(dppo_kl_loss, 4),
    F(dppo_kl_lossf, 4),
    F(dro_loss, 4),
    F(dro_lossf, 4),
    F(vespo_loss, 4),
    F(vespo_lossf, 4),
    F(agg_loss, 4),
    F(agg_lossf, 4),
    F(value_loss, 6),
    F(kl_penalty, 3),
    F(unbiased_kl, 5),
    F(a2tgpo_turn_loss, 4),
    F(information_gain, 2),
    F(turn_starts, 2),
    F(turn_rewards, 4),
    F(turn_spread, 4),
    F(turn_normalize, 3),
    F(turn_accumulate, 3),
    F(turn_clip_scale, 3),
    F(turn_statistics, 4),
    F(a2tgpo_advantage, 4),
    F(adca_step_starts, 2),
    F(adca_advantage, 5),
    F(adca_suffix_sums, 3),
    F(adca_spread, 4),
    F(adca_schedule_at, 3),
    F(adca_count_flags, 4),
    F(adca_skip_rows, 4),
    F(outcome_advantage, 4),
    F(whiten, 2),
    F(reinforce_plus_plus, 3),
    F(remax, 4),
    F(gae, 4),
    F(token_baseline, 4),
    F(batch_check, 1),
    F(batch_check_reals, 2),
    F(offpolicy_metrics, 3),
    F(rollout_correction, 6),
    F(bypass_loss, 7),
    F(decoupled_loss, 10),
    F(opsm, 7),
    F(staleness_admit, 1),
    F(diagnose, 4),
    F(compose_loss, 5),
    F(mask_tools, 3),
    F(correction_plan, 2),
    F(replay_choose, 1),
    F(routes_check, 2),
    F(routes_compare, 4),
    F(routes_replayed, 3),
    F(routes_carry, 3),
    F(distill, 10),
    F(distill_check, 2),
    F(distill_cut, 3),
    F(envelope_measure, 2),
    F(envelope_judge, 2),
    F(group_grpo, 3),
    F(group_penalise, 4),
    F(group_max_rl, 3),
    F(group_hierarchical, 4),
    F(group_rae, 5),
    F(length_penalty, 2),
    F(length_anchor, 3),
    F(pack_check, 2),
    F(pack_plan, 3),
    F(passk, 3),
    F(passk_beta, 2),
    F(passk_beta_fit, 3),
    F(passk_more, 4),
    F(passk_reward, 2),
    F(marginal_utility, 2),
    F(process_advantage, 4),
    F(episode_starts, 5),
    F(stream_loss, 4)};

static void set_options(void)
{
    for (size_t i = 0; i < CELLS; i++)
        out.d[i] = reals[i];
    rl_compose_options_of(&compose, NULL);
    rl_episode_options_init(&episodes);
    rl_stream_options_init(&stream_options);
    rl_envelope_lora(&run, 1);
    memset(out.n, 0, sizeof out.n);
}

static void a_missing_argument_is_refused(void **state)
{
    (void)state;
    for (size_t i = 0; i < sizeof functions / sizeof *functions; i++)
        for (int missing = -1; missing < functions[i].n; missing++) {
            set_options();
            enum rl_status status = functions[i].call(missing);
            if (status != (missing < 0 ? RL_OK : RL_EINVAL))
                fail_msg("%s with argument %d missing: status %d", functions[i].name, missing, status);
        }
}

/* The workspace begins one byte after the start of an aligned block. */
static void a_misaligned_workspace_is_refused(void **state)
{
    (void)state;
    struct rl_workspace ws = {(char *)out.ws.data + 1, out.ws.size - 1, 0};
    struct rl_error err;
    assert_int_equal(rl_ppo_loss(&batch, &loss_in, &loss, NULL, &loss_out, &ws, &err), RL_EINVAL);
    assert_non_null(strstr(err.text, "workspace"));
    assert_int_equal(rl_compose_loss(&batch, &compose_in, &compose, &compose_out, &compose_result, &ws, &err), RL_EINVAL);
    ws = (struct rl_workspace){(char *)out.ws.data + 16, out.ws.size - 16, 0};
    assert_int_equal(rl_ppo_loss(&batch, &loss_in, &loss, NULL, &loss_out, &ws, &err), RL_OK);
}

static int give_workspace(void **state)
{
    (void)state;
    out.ws = (struct rl_workspace){malloc(1 << 16), 1 << 16, 0};
    return !out.ws.data;
}

static int take_workspace(void **state)
{
    (void)state;
    free(out.ws.data);
    return 0;
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(a_missing_argument_is_refused),
        cmocka_unit_test(a_misaligned_workspace_is_refused),
    };
    return cmocka_run_group_tests(tests, give_workspace, take_workspace);
}
