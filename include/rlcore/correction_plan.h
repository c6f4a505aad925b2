/*
 * rlcore/correction_plan.h: which off-policy corrections a training setting needs, and why.
 *
 * Samples are off-policy for five reasons, and each has its remedy:
 *     several updates per batch of samples        clipping
 *     another engine samples than trains          importance weights learner / sampler
 *     the sampler has older weights               admission and decoupled PPO
 *     experts are routed differently (MoE)        importance weights, or replay R2, R3 with clipping; a ratio of whole
 *                                                 sequences (GSPO, arXiv 2507.18071) needs no replay
 *     tools write into the sequence (agents)      tool tokens masked, ratios per turn
 * A remedy costs compute or variance, so it is advised only if its reason applies.
 *
 *     struct rl_setting setting = {.other_engine = true, .asynchronous = true,
 *                                  .global_batch = 512, .mini_batch = 128};
 *     struct rl_correction_plan plan;
 *     status = rl_correction_plan(&setting, &plan, &err);
 *     for (int i = 0; i < RL_CORRECTIONS; i++)
 *         printf("%s: %s, %s\n", rl_correction_name(i), plan.advice[i].needed ? "yes" : "no",
 *                plan.advice[i].reason);
 *
 * rl_compose_options_of (rlcore/compose.h) turns a plan into the options of the composed loss.
 * Source: definitions in fixtures/golden/README.md, "composing the corrections".
 */
#ifndef RLCORE_CORRECTION_PLAN_H
#define RLCORE_CORRECTION_PLAN_H

#include <stdbool.h>

#include <rlcore/routing.h>
#include <rlcore/status.h>

/*
 * With all members false: one engine, sampling and training in step, a dense model, single-turn
 * answers.
 */
struct rl_setting {
    bool other_engine; /* sampling and training use different engines (inference server, kernel,
                          precision) */
    bool asynchronous;               /* the sampler may run ahead of the learner */
    bool mixture;                    /* the model is a mixture of experts */
    bool agentic;                    /* trajectories of several turns with tool output in between */
    bool sequence_ratios;            /* the loss has one ratio for a whole sequence (GSPO) */
    double global_batch, mini_batch; /* samples per batch and per update; 0 < mini_batch <=
                                        global_batch */
    double epochs;                   /* passes over a batch; 0 counts as 1 */
};

enum rl_correction {
    RL_CORRECT_WEIGHTS,   /* truncated importance weights, or log-probs recomputed by the learner */
    RL_CORRECT_CLIP,      /* clipped ratio of trained to proximal policy */
    RL_CORRECT_ADMISSION, /* rl_staleness_admit */
    RL_CORRECT_DECOUPLED, /* proximal / behaviour as a weight */
    RL_CORRECT_R2,        /* replay of the training engine's routes */
    RL_CORRECT_R3,        /* replay of the inference engine's routes */
    RL_CORRECT_TOOL_MASK, /* tool tokens out of the mask */
    RL_CORRECT_TURN_RATIOS, /* one ratio per turn */
    RL_CORRECTIONS
};

struct rl_advice {
    bool needed;
    const char *reason; /* why it is needed, or why not; constant text */
};

struct rl_correction_plan {
    double off_policiness; /* N = global / mini, whatever the epochs */
    enum rl_replay replay;
    double cap_low, cap_high, cap_loose; /* usual caps of the weights: 2, 10, and 100 for a loose one */
    struct rl_advice advice[RL_CORRECTIONS];
};

/* RL_EINVAL for batch sizes that rl_replay_choose refuses. */
RL_API RL_NODISCARD enum rl_status rl_correction_plan(const struct rl_setting *setting, struct rl_correction_plan *plan,
                                                      struct rl_error *err);

/* "importance_weights", "clip", ...; "unknown" for any other value. */
RL_API const char *rl_correction_name(enum rl_correction correction);

#endif
