/*
 * correction_plan.c: the decision tree, one branch per correction.
 *
 * Each branch decides on its own from the setting and gives its reason in words that name the
 * cause. The usual mistake is not a wrong cap but a correction that is applied twice, or that was
 * forgotten when a setting changed.
 */
#include <rlcore/correction_plan.h>
#include <rlcore/offpolicy.h>

#include "support/scratch.h"

static struct rl_advice advise(bool needed, const char *why, const char *why_not)
{
    return (struct rl_advice){needed, needed ? why : why_not};
}

/*
 * A mixture of experts drifts even with one engine: near a tie the last bit of a sum decides which
 * expert the router picks.
 */
static struct rl_advice weights(const struct rl_setting *s)
{
    if (s->mixture && !s->other_engine)
        return advise(true,
                      "experts may be routed differently when sampling and when training, which "
                      "moves log-probs as another engine would",
                      NULL);
    return advise(s->other_engine,
                  "two engines give the same weights different log-probs: weight by learner / "
                  "sampler, capped, or recompute the old log-probs",
                  "one engine samples and trains: the factor is 1");
}

static struct rl_advice clip(const struct rl_setting *s, double updates)
{
    if (s->asynchronous && updates <= 1)
        return advise(true,
                      "the samples come from older weights: the ratio to the proximal policy "
                      "is clipped",
                      NULL);
    return advise(updates > 1,
                  "several updates per batch: after the first one the samples are those of an older "
                  "policy",
                  "one update per batch: the ratio is 1");
}

static struct rl_advice admission(const struct rl_setting *s)
{
    return advise(s->asynchronous, "the sampler runs ahead: its lead is bounded before training",
                  "the sampler waits for the learner");
}

static struct rl_advice decoupled(const struct rl_setting *s)
{
    return advise(s->asynchronous,
                  "the weights have moved since sampling: weight by proximal / behaviour and clip "
                  "around the proximal policy, or the clipped ratio does not start at 1",
                  "the samples come from the weights that are trained");
}

/*
 * With few updates the ratio only has to reflect the weights, for which the training engine's own
 * routes suffice. After many updates the policy has moved so far that the samples are likely only
 * under the routes with which they were sampled. The thresholds are those of rl_replay_choose.
 */
static struct rl_advice replay(const struct rl_setting *s, double n, enum rl_replay chosen, enum rl_replay asked)
{
    if (!s->mixture)
        return advise(false, NULL, "a dense model routes nothing");
    if (s->sequence_ratios)
        return advise(false, NULL, "one ratio for a whole sequence hardly feels the route of a token");
    if (asked == RL_REPLAY_R2)
        return advise(chosen == asked,
                      "2 or 3 updates per batch: replaying the training engine's routes keeps the "
                      "ratio about the weights",
                      n <= 1 ? "one update per batch: importance weights do" : "R3 replaces it");
    return advise(chosen == asked,
                  "4 or more updates per batch: only the inference engine's routes keep the samples "
                  "likely",
                  "fewer than 4 updates per batch");
}

static struct rl_advice tool_mask(const struct rl_setting *s)
{
    return advise(s->agentic, "the policy did not write the tools' tokens", "the policy wrote every token of the response");
}

static struct rl_advice turn_ratios(const struct rl_setting *s)
{
    if (s->sequence_ratios)
        return advise(false, NULL, "the loss has one ratio for a whole sequence");
    return advise(s->agentic, "one turn's drift must not spoil the ratios of the others", "there is one turn");
}

enum rl_status rl_correction_plan(const struct rl_setting *setting, struct rl_correction_plan *plan, struct rl_error *err)
{
    RL_TRY(RL_NEED(err, {"setting", setting}, {"plan", plan}));
    enum rl_replay chosen;
    double n;
    RL_TRY(rl_replay_choose(setting->global_batch, setting->mini_batch, &chosen, &n, err));
    *plan = (struct rl_correction_plan){.off_policiness = n,
                                        .replay = setting->mixture && !setting->sequence_ratios ? chosen : RL_REPLAY_NONE,
                                        /*
                                         * Usual caps: 2 for truncated importance sampling, 10 for
                                         * single tokens; 100 hardly cuts.
                                         */
                                        .cap_low = 2,
                                        .cap_high = 10,
                                        .cap_loose = 100};
    plan->advice[RL_CORRECT_WEIGHTS] = weights(setting);
    plan->advice[RL_CORRECT_CLIP] = clip(setting, n * fmax(1, setting->epochs));
    plan->advice[RL_CORRECT_ADMISSION] = admission(setting);
    plan->advice[RL_CORRECT_DECOUPLED] = decoupled(setting);
    plan->advice[RL_CORRECT_R2] = replay(setting, n, chosen, RL_REPLAY_R2);
    plan->advice[RL_CORRECT_R3] = replay(setting, n, chosen, RL_REPLAY_R3);
    plan->advice[RL_CORRECT_TOOL_MASK] = tool_mask(setting);
    plan->advice[RL_CORRECT_TURN_RATIOS] = turn_ratios(setting);
    return RL_OK;
}

const char *rl_correction_name(enum rl_correction correction)
{
    static const char *const names[RL_CORRECTIONS] = {
        "importance_weights", "clip",      "admission",   "decoupled_ppo", "routing_replay_r2",
        "routing_replay_r3",  "tool_mask", "turn_ratios",
    };
    return (unsigned)correction < RL_CORRECTIONS ? names[correction] : "unknown";
}

/*
 * ---- whether a sampler may run further ahead of the learner.
 *
 * The rule counts samples, as AReaL does: versions alone cannot distinguish a half-sampled batch
 * from one that has not begun.
 */

enum rl_status rl_staleness_admit(int64_t generated, int64_t batch_size, int64_t policy_version, int64_t max_staleness,
                                  bool *admit, struct rl_error *err)
{
    RL_TRY(RL_NEED(err, {"admit", admit}));
    int64_t limit;
    if (batch_size < 1)
        return rl_fail(err, RL_EINVAL, "batch_size is %lld, not at least 1", (long long)batch_size);
    if (generated < 0 || policy_version < 0 || max_staleness < 0)
        return rl_fail(err, RL_EINVAL, "generated, policy_version and max_staleness must not be negative");
    if (__builtin_add_overflow(policy_version, max_staleness, &limit))
        limit = INT64_MAX;
    /* C rounds towards zero: floor((0 - 1) / B) is -1 for every B */
    *admit = (generated ? (generated - 1) / batch_size : -1) <= limit;
    return RL_OK;
}
