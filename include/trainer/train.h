/*
 * trainer/train.h: one training run, from recipe to checkpoint.
 *
 * The trainer reports what happens by calling `event`, and continues until the recipe is done or the callback asks it
 * to stop. The same recipe with the same seed gives the same numbers for any number of threads, because
 * work is cut into a fixed number of lanes whose sums are added in a fixed order. The trainer manages its own threads:
 * while a run lasts, OpenBLAS is limited to one thread in the whole process.
 *
 * An iteration
 *   rollouts         questions x group_size episodes in lock-step, KV caches kept
 *   information gain the true answer's probability at the prompt's end and after every observation,
 *                    from the rollouts' own keys and values
 *   credit           the algorithm of each environment turns outcomes and gains into advantages per
 *                    token and weights of the rl, ce and ref_kl components (rlcore)
 *   correction       old log-probs and importance weights, if another policy sampled (rlcore)
 *   updates          epochs x minibatches of the loss (rlcore), backward, AdamW
 */
#ifndef TRAINER_TRAIN_H
#define TRAINER_TRAIN_H

#include <trainer/judge.h>
#include <trainer/policy.h>

/* Statistics of the gains of all turns that have the same turn index. */
struct trainer_turn_gain {
    double mean, std; /* unbiased */
    uint64_t count;
};

/*
 * Questions in the lowest and in the highest third of their environment's k_min .. k_max (3 .. 5: 3 and 5). A mean over
 * all questions hides how easy and hard questions differ.
 */
enum trainer_difficulty { TRAINER_EASY, TRAINER_HARD, TRAINER_N_DIFFICULTIES };

struct trainer_end_of_mix {
    double passed;     /* share of rollouts that were rewarded */
    double tokens;     /* mean number of tokens that the policy wrote */
    uint64_t rollouts; /* 0 if k_min equals k_max */
};

/*
 * Telemetry of the loss components under prime-rl's names (rlcore/stream_loss.h): means over the rollouts of all updates
 * that have tokens of the component, of means over these tokens.
 */
struct trainer_streams {
    double n_rl, n_ce, n_ref_kl; /* rollouts; n_rl is 0 unless the policy loss is dppo or ipo */
    double is_masked, masked_mismatch_kl, unmasked_mismatch_kl; /* rl */
    double nll;                                                 /* ce */
    /* ref_kl: the teacher's log-prob minus the policy's, and the trust region of this component */
    double ref_kl, ref_is_masked, ref_masked_mismatch_kl, ref_unmasked_mismatch_kl;
};

/* What algorithm.distill taught on the rollouts of an iteration. */
struct trainer_distillation {
    uint64_t groups, taught_groups; /* taught: pass rate at most the limit, and with a failure */
    uint64_t rollouts, taught_rollouts;
    uint64_t tokens, taught_tokens; /* of the policy */
    double gap;                     /* mean log-prob of teacher minus policy over the taught tokens, nats */
    /* for K2, means over the updates: the loss, and the share of taught tokens without a gradient */
    double loss, clipped;
};

/*
 * Questions drawn by allocation or groups.sizes. Pass rates are fitted before the questions are asked.
 */
struct trainer_allocation {
    uint64_t questions;  /* number of drawn questions; 0 without these settings */
    double chosen, pool; /* mean fitted pass rate of the drawn questions, and of all questions in the pools */
    uint64_t dropped; /* questions of the pools that allocation.drop_above and .drop_below left out */
    uint64_t least, most; /* rollouts of the smallest and of the largest group; 0 without groups.sizes */
    double mixed; /* share of groups with both right and wrong answers */
};

/* Metrics of ppo's value head. */
struct trainer_values {
    double loss, clip_fraction;              /* means over the updates */
    /* values at sampling: their explained variance, their mean, and the mean return */
    double explained_variance, mean, returned;
};

enum trainer_event_kind {
    TRAINER_EVENT_START,      /* model and memory are known, nothing is trained yet */
    TRAINER_EVENT_WARM,       /* a step of the warm start */
    TRAINER_EVENT_ITERATION,  /* an iteration is done */
    TRAINER_EVENT_EVALUATION, /* an evaluation on the fixed questions is done */
    TRAINER_EVENT_EVALUATING, /* training has ended, the final evaluation begins */
    TRAINER_EVENT_DONE        /* the final score is known and the checkpoint is written */
};

/* The components of the loss (enum rl_component): policy loss, cross-entropy, distance to a reference. */
enum { TRAINER_N_COMPONENTS = 3 };

/* Metrics of a part of an iteration: one environment, or one component of the loss. */
struct trainer_part {
    double reward; /* mean outcome of the environment's rollouts; 0 for a component */
    double loss;   /* mean over the updates: of the environment's rows alone, or the component's addend of the loss */
    double kl;     /* mean over the updates and the policy's tokens of the part: log-prob at sampling minus now */
    uint64_t tokens; /* tokens in all updates; 0: the part does not occur */
};

/* Metrics of optional parts of the loss: means over the updates, 0 if the option is off. */
struct trainer_offpolicy {
    double opsm_dropped; /* share of the tokens */
    double after_tool;   /* share of the tokens that come after a tool's answer, if they have their own clip range */
    double after_tool_clip_fraction, after_tool_ratio, after_tool_kl;
    double backend, staleness;               /* mean factors of the loss "compose", before their caps */
    double backend_capped, staleness_capped; /* shares of tokens */
    double compose_ess;                      /* effective sample size of the weights of the loss "compose" */
    /* the mean amount that the KL penalty subtracts from a rollout's reward */
    double kl_reward;
};

/* Compares the routes of the sampler with those of the learner, if the policy is a mixture of experts. */
struct trainer_routing {
    double load;        /* share of choices of the busiest expert / even share, in the worst layer; 0: no experts */
    uint64_t tokens;    /* tokens of the policy whose routes were compared; 0 on-policy */
    double differ;      /* share of these tokens at which an expert differs in any layer */
    double common;      /* mean share of experts in common */
    double kl;          /* k3 between sampler and learner, each with its own routes */
    double kl_replayed; /* k3 with the learner replaying the sampler's routes; R3 only */
};

/* Metrics of one iteration; 0 where they do not apply. */
struct trainer_iteration {
    double reward;           /* mean outcome of the rollouts */
    double turns, malformed; /* mean number of tool calls; share of rollouts that ended in a malformed turn */
    double truncated;        /* share of rollouts that asked for more than max_turns calls */
    double left_out;         /* share of rollouts that algorithm.filter.zero_advantage took out of the policy loss */
    double response_tokens;  /* mean per rollout */
    double loss, grad_norm, entropy, clip_fraction, kl; /* means over the updates */
    double learning_rate;
    struct trainer_part component[TRAINER_N_COMPONENTS]; /* rl, ce, ref_kl */
    struct trainer_part env[TRAINER_ENVS_MAX];           /* [n_envs] */
    int32_t n_envs; /* number of environments; 0 if there is only one, whose metrics are those of the iteration */
    bool clip_scaled; /* whether the loss reads clip scales: turn-group-v1d with a beta above 0 .. */
    double clip_scale_mean, clip_scale_std; /* .. ig_clip_scale over response tokens .. */
    /* .. and over the turns with an information gain, each of which counts once, as in arXiv 2605.06200 */
    double clip_scale_turn_mean, clip_scale_turn_std;
    struct trainer_turn_gain gain[TRAINER_TURNS_MAX]; /* information gain by turn index */
    int32_t n_gain;
    /* distance between sampler and learner; share of tokens rejected */
    double mismatch_kl, mismatch_ess, weight_mean, rejected;
    double staleness; /* iterations between the sampler's weights and the learner's */
    double generation_s, gain_s, update_s;
    double
        scoring_s; /* log-probs of the reference, of teachers (also behind an endpoint) and of the learner before the updates */
    uint64_t sampled_tokens; /* written by the policy */
    uint64_t fed_tokens;     /* fed to the network for the rollouts, prompts and the tools' tokens included */
    uint64_t gain_tokens, trained_tokens; /* fed to the network for gains, and for updates */
    struct trainer_judge_counts judge;    /* counts for the algorithms that ask a judge */
    struct trainer_routing routing;
    struct trainer_offpolicy offpolicy;
    struct trainer_end_of_mix end_of_mix[TRAINER_N_DIFFICULTIES];
    struct trainer_distillation distillation;
    struct trainer_streams streams;
    struct trainer_allocation allocation;
    uint64_t n_valued; /* ppo: number of values trained in all updates .. */
    struct trainer_values values;
    int32_t n_alpha;   /* number of tasks with an adaptive alpha .. */
    double alpha_used; /* .. and the mean alpha of these tasks */
    /* metrics (rlcore/adca.h) of the first task that asks a judge; NULL if no task does */
    const struct rl_adca_metrics *adca;
    uint64_t n_greedy;    /* remax: number of additional greedy rollouts .. */
    double greedy_reward; /* .. and their mean outcome */
    uint64_t n_episodes;  /* hierarchical_grpo: number of beginnings that rollouts share .. */
    /* .. and standard deviation of outcomes: between the episodes of a group, and within episodes */
    double between_std, within_std;
};

struct trainer_event {
    enum trainer_event_kind kind;
    int32_t step, steps; /* of the warm start or of training; START: steps already done by a resumed run */
    size_t parameters;   /* START */
    double memory_bound; /* START: bytes, see trainer_memory_bound */
    double loss;         /* WARM */
    double score;        /* EVALUATION, DONE: share of questions answered right */
    double score_std;    /* DONE: unbiased standard deviation between sampling seeds */
    double score_greedy; /* DONE */
    double passk;        /* DONE: share of questions that at least one of the sampling seeds answered right */
    int32_t k;           /* DONE: number of sampling seeds; passk is an unbiased estimate of pass@k for this k */
    double area;         /* DONE: mean of the scores of all evaluations */
    double clip_scale_mean, clip_scale_std; /* DONE: means over iterations */
    double entropy, clip_fraction;          /* DONE: means over iterations */
    int32_t n_alpha;                        /* DONE: number of iterations with an adaptive alpha .. */
    double alpha_used;                      /* .. and the mean alpha of these iterations */
    int32_t n_valued;             /* DONE: number of iterations among the last tenth that trained values .. */
    struct trainer_values values; /* .. and the means over these iterations */
    struct trainer_turn_gain gain[TRAINER_TURNS_MAX]; /* DONE: statistics over the last tenth of the iterations */
    int32_t n_gain;
    struct trainer_judge_counts judge;         /* DONE: counts of the whole run */
    struct trainer_end_of_mix end_of_mix[TRAINER_N_DIFFICULTIES]; /* DONE: metrics of the final evaluation */
    struct trainer_row row;                    /* DONE: a copy of the recipe's settings of rows */
    /*
     * DONE: names, separated by ", ", of settings that differ from their defaults although no gradient and no later
     * decision depended on them in the traced iterations (run/gradient_trace.h); "" or NULL if there are none. The text
     * is valid during the call. trace_s is the time that the trace took
     */
    const char *inert;
    double trace_s;
    struct trainer_part env[TRAINER_ENVS_MAX]; /* DONE: [n_envs] metrics of the last iteration */
    int32_t n_envs;
    double train_s, eval_s;                    /* seconds so far */
    const struct trainer_iteration *iteration; /* ITERATION; NULL in other events */
};

/* The callback returns false to stop the run; trainer_run then returns TRAINER_ESTOPPED. */
typedef bool trainer_event_fn(void *context, const struct trainer_event *event);

struct trainer_rollouts;

/*
 * Called after the credit and the correction of every iteration (0-based), before the updates; rollouts are read by
 * trainer_rollouts_get. An error ends the run with that status.
 */
typedef enum trainer_status trainer_rollouts_fn(void *context, int32_t iteration, const struct trainer_rollouts *rollouts,
                                                struct trainer_error *err);

/* What a command of the recipe is asked for: by algorithm.custom.command, .hooks.score or .hooks.weights. */
enum trainer_asked { TRAINER_ASKED_ADVANTAGES, TRAINER_ASKED_OUTCOMES, TRAINER_ASKED_WEIGHTS };

/* Rows [first, first + n) of rollouts, all of one task. One of the three outputs is given, according to `asked`. */
struct trainer_credit_batch {
    enum trainer_asked asked;
    const struct trainer_recipe *recipe;
    const struct trainer_rollouts *rollouts; /* read by trainer_rollouts_get */
    size_t first, n;
    int32_t task, iteration;
    size_t width;     /* of a row of advantage and weights */
    float *advantage; /* [n][width] out: finite, read at the policy's tokens; 0 at first */
    double *outcome;  /* [n] out: finite; at first the environment's reward */
    /*
     * [n][width] out. At the policy's tokens: 0 or 1, whether they are trained on; 1 at first. At the tool's: their weight in the
     * cross-entropy, from 0 on; at first what the algorithm gave them. Not read elsewhere.
     */
    float *weights;
};

/* Called in every iteration for each task with such a command. An error ends the run with that status. */
typedef enum trainer_status trainer_credit_fn(void *context, struct trainer_credit_batch *batch, struct trainer_error *err);

/* Rows [first, first + n) of rollouts, all of one task with algorithm.endpoint. */
struct trainer_teacher_batch {
    const struct trainer_recipe *recipe;
    const struct trainer_rollouts *rollouts; /* read by trainer_rollouts_get */
    size_t first, n;
    int32_t task, iteration;
    size_t width; /* of a row of log_prob */
    /* [n][width] out: the teacher's log-prob of each of the policy's tokens, given all tokens before it; 0 at first */
    float *log_prob;
};

/* Called in every iteration for each task with algorithm.endpoint.base_url. An error ends the run with that status. */
typedef enum trainer_status trainer_teacher_fn(void *context, struct trainer_teacher_batch *batch, struct trainer_error *err);

struct trainer_run_options {
    const char *checkpoint;  /* path of the trained policy; NULL: no checkpoint is written */
    trainer_event_fn *event; /* NULL: nothing is reported */
    void *context;
    trainer_judge_fn *judge; /* may be NULL; a recipe with judge.endpoint then fails when it first needs the judge */
    void *judge_context;
    trainer_rollouts_fn *rollouts; /* NULL: rollouts are not handed out */
    void *rollouts_context;
    trainer_credit_fn *credit; /* may be NULL; a recipe with such a command is then refused */
    void *credit_context;
    trainer_teacher_fn *teacher; /* may be NULL; a recipe with algorithm.endpoint.base_url is then refused */
    void *teacher_context;
};

/*
 * An upper bound on the peak memory of a run of this recipe, in bytes: parameters, gradients and optimizer, KV caches,
 * rollouts, and the activations of a minibatch.
 */
TRAINER_API double trainer_memory_bound(const struct trainer_recipe *recipe);

/* Returns the size in bytes of the checkpoint that a run of this recipe writes. */
TRAINER_API double trainer_artifact_bytes(const struct trainer_recipe *recipe);

/*
 * Trains a policy. Returns TRAINER_ESIZE, before anything is allocated, if the run does not fit into the budget's
 * bytes; time limits are enforced by the caller. Returns TRAINER_ENUMERIC, with the step, for a loss or gradient that
 * is not finite, and TRAINER_EJUDGE if the judge failed too often. The checkpoint is written only if the run succeeds.
 */
TRAINER_API TRAINER_NODISCARD enum trainer_status trainer_run(const struct trainer_recipe *recipe,
                                                              const struct trainer_run_options *options,
                                                              struct trainer_error *err);

/* How a run is stopped and resumed. */
struct trainer_process {
    /*
     * Path of the run's state, or NULL. It is written before the first iteration and after every state_every iterations
     * (0: never). If the file exists, the run resumes from it and gives the same results as a run that never stopped: all
     * further events, except for times, and the checkpoint have the same bits. train_s continues from its saved value. The
     * trainer never removes the file.
     */
    const char *state;
    int32_t state_every;
};

/*
 * Like trainer_run, with a state. Also returns the errors of trainer_state_read for the state file, and TRAINER_EIO if that
 * file cannot be written.
 */
TRAINER_API TRAINER_NODISCARD enum trainer_status trainer_run_process(const struct trainer_recipe *recipe,
                                                                      const struct trainer_run_options *options,
                                                                      const struct trainer_process *process,
                                                                      struct trainer_error *err);

/*
 * Reads from a state file how many iterations of the recipe are done. Returns TRAINER_ENOTFOUND, TRAINER_ECORRUPT, or
 * TRAINER_EINVAL for the state of another recipe: only threads, budgets and texts may differ.
 */
TRAINER_API TRAINER_NODISCARD enum trainer_status trainer_state_read(const char *path, const struct trainer_recipe *recipe,
                                                                     int32_t *iterations, struct trainer_error *err);

/*
 * Reads from a state file the text of trainer_kernels in the process that wrote it. A run that resumes with other
 * kernels gives other bits. Returns TRAINER_ENOTFOUND or TRAINER_ECORRUPT on failure.
 */
TRAINER_API TRAINER_NODISCARD enum trainer_status trainer_state_kernels(const char *path, char kernels[TRAINER_KERNELS_MAX],
                                                                        struct trainer_error *err);

/* ---- parts, for commands that look at a policy -------------------------------------------- */

/* One finished rollout; the memory belongs to its struct trainer_rollouts. */
struct trainer_rollout {
    const int32_t *tokens;   /* [length] */
    const uint8_t *mask;     /* [length] 1 = written by the policy */
    const int32_t *turn;     /* [length] turn (or episode) of each of the policy's tokens, else -1 */
    const float *log_prob;   /* [length] at sampling, 0 elsewhere */
    const float *advantage;  /* [length] or NULL before credit is assigned */
    const float *clip_scale; /* [length] or NULL before credit is assigned */
    const float *rl, *ce, *ref_kl; /* [length] weights of the loss components, or NULL before credit is assigned */
    /*
     * [n_turns+1] value of the true answer (probability or mean log-prob) at the prompt's end and after each
     * observation, or at the beginning of each episode; NULL if no gains are measured
     */
    const double *value;
    int32_t length, prompt, n_turns; /* tokens; tokens of the prompt; observations, or episodes minus one */
    int32_t task, group;
    int32_t age; /* iterations between the weights that sampled it and the learner's */
    double reward;
    bool malformed;
    struct trainer_episode episode;
};

TRAINER_API size_t trainer_rollouts_count(const struct trainer_rollouts *rollouts);
TRAINER_API struct trainer_rollout trainer_rollouts_get(const struct trainer_rollouts *rollouts, size_t i);
TRAINER_API void trainer_rollouts_free(struct trainer_rollouts *rollouts);

/*
 * Plays rollouts of a policy on n_questions questions of every task, with gains and credit as in an iteration of
 * training, but always with the rule-based judge's flags. params must fit recipe->model. The caller frees *rollouts
 * with trainer_rollouts_free.
 */
TRAINER_API TRAINER_NODISCARD enum trainer_status trainer_sample(struct trainer_rollouts **rollouts,
                                                                 const struct trainer_recipe *recipe, const float *params,
                                                                 int32_t n_questions, uint64_t seed, struct trainer_error *err);

/*
 * Answers each evaluation question of the recipe `samples` times, with sampling seeds seed, seed + 1, ... correct
 * [questions * tasks] receives how often each question was answered correctly.
 */
TRAINER_API TRAINER_NODISCARD enum trainer_status trainer_evaluate(const struct trainer_recipe *recipe, const float *params,
                                                                   int32_t samples, uint64_t seed, double temperature,
                                                                   int64_t *correct, struct trainer_error *err);

/*
 * Answers some of the evaluation questions once. which [n], ascending, are indices into trainer_evaluate's `correct`;
 * right [n] receives 1 or 0. The answers are those of trainer_evaluate with the same seed, except that batches of
 * another size may round sums differently.
 */
TRAINER_API TRAINER_NODISCARD enum trainer_status trainer_evaluate_some(const struct trainer_recipe *recipe, const float *params,
                                                                        size_t n, const size_t *which, uint64_t seed,
                                                                        double temperature, uint8_t *right,
                                                                        struct trainer_error *err);

#endif
