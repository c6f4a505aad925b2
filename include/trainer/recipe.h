/*
 * trainer/recipe.h: everything that defines one training run, read from a JSON file.
 *
 * The published form of a recipe is schema/recipe.schema.json, which describes every key. Every key has a default,
 * so `{}` is a recipe. An unknown key is refused, and the message names the nearest known one. A value of the wrong
 * type or out of range is refused with its path ("environments[0].algorithm.alpha").
 *
 *     {
 *       "name": "v1d", "hypothesis": "...", "expected_delta": "+0.02 EM", "seed": 1,
 *       "model": {"width": 64, "layers": 2, "heads": 2},
 *       "start": {"checkpoint": "warm.ckpt"},
 *       "environments": [{"name": "hopworld", "questions": 32, "k_min": 3, "k_max": 5,
 *                         "algorithm": {"name": "turn-group-v1d", "alpha": 0.3}}],
 *       "training": {"iterations": 120, "group_size": 8, "lr": 3e-4},
 *       "loss": {"name": "turn", "clip_low": 0.1, "clip_high": 0.13},
 *       "evaluation": {"questions": 512, "every": 10}
 *     }
 *
 * In this header a comment on a member begins with its default: "(0.3) share of ..". A path in quotes is the member's
 * key in the JSON file, given where it differs from the member's name. The published form has the words for enumerators,
 * in order, and what each setting does.
 */
#ifndef TRAINER_RECIPE_H
#define TRAINER_RECIPE_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include <trainer/env.h>
#include <trainer/policy.h>

#define TRAINER_NAME_MAX 64
#define TRAINER_PROSE_MAX 1024
#define TRAINER_PATH_MAX 1024

enum trainer_gain { TRAINER_GAIN_PROB, TRAINER_GAIN_LOG_PROB };

enum trainer_length_penalty {
    TRAINER_LENGTH_NONE,
    TRAINER_LENGTH_UNIFORM,
    TRAINER_LENGTH_GROUP,
    TRAINER_LENGTH_ANCHOR,
    TRAINER_LENGTH_LINEAR, /* rl_group_penalise, with the weights of struct trainer_length */
    TRAINER_LENGTH_STEP    /* RL_LENGTH_STEP, with the length of struct trainer_length as anchor */
};

/* See rlcore/adca.h. */
enum trainer_adca_scheme { TRAINER_ADCA_DECOUPLE, TRAINER_ADCA_ALLOCATION };
enum trainer_adca_outcome { TRAINER_ADCA_LAST_STEP, TRAINER_ADCA_ALL_STEPS, TRAINER_ADCA_ONLY };

/* How adca turns flags into step rewards. The members are those of struct rl_adca_options without its alpha. */
struct trainer_adca {
    enum trainer_adca_scheme scheme;   /* (decouple) */
    enum trainer_adca_outcome outcome; /* (last_step) */
    double fix_base;                   /* (0.2) scheme decouple: magnitude of a step's reward; the flag gives the sign */
    double consistent_scale;           /* (1) scheme allocation */
    double pos_unconsistent_scale;     /* (0.2) scheme allocation */
    double neg_unconsistent_scale;     /* (0.2) scheme allocation */
    bool batch_norm;                   /* (true) */
    bool equal_trajectory_weight;      /* (true) */
    bool length_normalisation;         /* (false) scheme decouple only */
    double outcome_weight;             /* (1) "algorithm.outcome.weight": beta of rlcore/adca.h */
};

/* echo's filter: "all", "content" (without OBS and /OBS), "found" (only answers that found something) */
enum trainer_echo_filter { TRAINER_ECHO_ALL, TRAINER_ECHO_CONTENT, TRAINER_ECHO_FOUND };

/* Settings of a length penalty. */
struct trainer_length {
    int32_t warmup; /* (0) iterations over which the coefficient rises linearly from 0 to its full value */
    int32_t target; /* (0) "algorithm.target.length": tokens of step and, above 0, of every anchor */
    /* (0.25, 0.1, 0.1) "algorithm.linear": weights of written tokens, of other tokens and of tool calls */
    double output, input, turns;
};

#define TRAINER_ROLES_MAX 128

/* echo: which of the tool's tokens are trained on, and with which weight. */
struct trainer_echo {
    char roles[TRAINER_ROLES_MAX];   /* ("") weights by role, as in prime-rl: "tool=0.1"; "" = echo_weight */
    enum trainer_echo_filter filter; /* (all) */
};

/* Shell commands that are asked in every iteration (trainer_credit_fn); "" = the trainer's own. */
struct trainer_hooks {
    char score[TRAINER_PATH_MAX];   /* the outcome of each rollout, in place of the environment's */
    char weights[TRAINER_PATH_MAX]; /* which tokens are trained on, after advantages and weights are known */
};

/* Rollouts that are left out of the policy loss. */
struct trainer_filter {
    bool truncated;      /* (false) those that asked for more than max_turns calls; their rewards count in their group */
    bool zero_advantage; /* (false) those whose advantages are all 0 */
};

/* pass@k as reward (rlcore/passk.h). */
struct trainer_passk {
    int32_t k; /* (1) each rollout gets the best outcome of its block of k rollouts of the group */
    int32_t iterations; /* (0) "algorithm.passk_schedule.iterations"; 0 = all */
    bool gradual;       /* (false) "algorithm.passk_schedule.gradual" */
};

enum trainer_prefix_value { TRAINER_PREFIX_POLICY, TRAINER_PREFIX_CONTINUATIONS };

/* How the value of a prefix is measured, at the prompt's end and after every observation. */
struct trainer_prefix {
    enum trainer_prefix_value value; /* (policy) */
    int32_t continuations;           /* (4) number of continuations of each prefix, sampled by the live policy */
};

#define TRAINER_EPISODE_TOKENS 1024 /* longest rollout that markers can cut */

/*
 * Where a rollout is cut into parts ("episodes"). Each part gets its own credit, and values are measured at its
 * beginning. With markers, an episode takes the place of what this header and trainer/train.h call a turn: in credit,
 * in the gains of telemetry, and in losses by turn.
 */
struct trainer_episodes {
    /* ("") tokens before which a rollout is cut ("S,ANS"), written by policy or tool; "" = cut at the policy's turns */
    char markers[TRAINER_NAME_MAX];
};

enum trainer_distill_how {
    TRAINER_DISTILL_NONE,
    TRAINER_DISTILL_ADVANTAGE, /* K1: the advantage of a taught token is log-prob of teacher minus log-prob of policy */
    TRAINER_DISTILL_LOSS       /* K2: half the squared difference of these log-probs is added to the policy loss */
};
enum trainer_distill_teacher { TRAINER_TEACHER_CHECKPOINT, TRAINER_TEACHER_POLICY };
enum trainer_shown { TRAINER_SHOWN_FACT, TRAINER_SHOWN_DEMONSTRATION };

/*
 * A teacher for rollouts that failed, used in addition to an algorithm with advantages (rlcore/distill.h). The settings
 * choose the teacher and the prompts and tokens that it teaches.
 */
struct trainer_distill {
    enum trainer_distill_how how;         /* (none) */
    enum trainer_distill_teacher teacher; /* (checkpoint) */
    enum trainer_shown shown; /* (fact) the hint, if the teacher is the policy; also read by opsd */
    double pass_rate;         /* (1) teaches groups in which at most this share of rollouts was rewarded */
    int32_t horizon;          /* (0) teaches only the first N tokens of a rollout; 0 = all */
    bool normalise;           /* (true) for "advantage": z-scores over the taught tokens */
    double coef;              /* (1) weight, verl's distillation_loss_coef */
    double clip_low, clip_high; /* (0.2, 0.2) "algorithm.distill_clip.low", ".high": for "loss" */
    double clip_gap;            /* (0) "algorithm.distill_clip.gap": for "loss"; verl's limit of 10 is a gap of sqrt(20) */
};

/*
 * A frozen teacher behind an OpenAI-compatible API, in place of the checkpoint algorithm.teacher. Its tokens are those of
 * the policy.
 */
struct trainer_teacher_endpoint {
    char base_url[TRAINER_PATH_MAX]; /* ("") "http://127.0.0.1:8000/v1"; "" = the teacher is a checkpoint */
    char name[2 * TRAINER_NAME_MAX]; /* the model at the endpoint */
    char key_env[TRAINER_NAME_MAX];  /* (LINEAGE_JUDGE_KEY) environment variable that holds the API key */
    int32_t concurrency;             /* (8) requests in parallel */
    double deadline;                 /* (300) seconds for the log-probs of one request, all attempts together */
    double backoff;                  /* (0.5) seconds before the second attempt */
};

/*
 * hierarchical_grpo: a group is group_size / branches episodes. The rows of an episode share their first turns, which
 * are sampled once, and branch after these turns. If an episode ends within the shared turns, its rows are equal.
 */
struct trainer_hierarchy {
    int32_t branches; /* (2) rows of an episode, a divisor of group_size */
    int32_t turns;    /* (1) turns that the rows of an episode share */
};

enum trainer_schedule_kind {
    TRAINER_CONSTANT,
    TRAINER_LINEAR,
    TRAINER_COSINE,
    TRAINER_ADAPTIVE /* turn-group-v1d: alpha follows the spreads of each batch (v1c), beta is constant */
};

/* How alpha and beta change from their values at the first iteration to their final values. */
struct trainer_schedule {
    enum trainer_schedule_kind kind; /* (constant) */
    double alpha_end, beta_end;      /* (0, 0) final values; read by linear and cosine */
};

/*
 * The algorithm of an environment. Its row in the core's table (rlcore/algorithm.h) defines its inputs, which of these
 * settings it reads, and their defaults. The defaults given here hold for most algorithms.
 */
struct trainer_algorithm {
    uint32_t name;                  /* (grpo) enum rl_algorithm_name */
    double alpha;                   /* (0.3; adca: 1) share of the process advantage */
    double gamma;                   /* (1) discount per turn */
    double beta;                    /* (0.3) strength of the adaptive clip scale; 0 turns it off */
    bool norm_by_std;               /* (true) divide advantages by the group's standard deviation */
    double epsilon;                 /* (1e-6) added to the standard deviation */
    double advantage_scale;         /* (1) multiplies every advantage */
    enum trainer_gain gain;         /* (prob) */
    double decay;                   /* (0.95) rae: decay of the moving baseline */
    double echo_weight;             /* (0.1) echo: weight of the tool's tokens */
    int32_t prm_steps;              /* (0) adca: iterations in which the judge is asked; 0 = all */
    /* (0) "algorithm.prm.epochs": passes over the pool in which the judge is asked, in place of prm_steps; 0 = prm_steps */
    int32_t prm_epochs;
    char teacher[TRAINER_PATH_MAX]; /* checkpoint of the teacher (opd) or of the source (sft) */
    enum trainer_length_penalty length_penalty; /* (none) */
    double length_coef; /* (0) weight of the length penalty; 0 = the usual weight of that penalty */
    struct trainer_length length;
    struct trainer_passk passk;
    struct trainer_distill distill;
    struct trainer_teacher_endpoint endpoint;
    struct trainer_prefix prefix;
    struct trainer_episodes episodes;
    struct trainer_adca adca;
    struct trainer_schedule schedule;
    double lam; /* (1) ppo: lambda of generalised advantage estimation */
    struct trainer_hierarchy hierarchy;
    struct trainer_echo echo;
    double echo_below; /* (1) "algorithm.echo_probability.below": only the tool's tokens that the policy finds less likely */
    struct trainer_hooks hooks;
    struct trainer_filter filter;
    char command[TRAINER_PATH_MAX]; /* ("") "algorithm.custom.command": gives the advantages of custom (trainer_credit_fn) */
};

/* Which rollouts the judge skips, as in enum rl_adca_skip. */
enum trainer_judge_skip { TRAINER_JUDGE_ALL, TRAINER_JUDGE_SMALL_ADV, TRAINER_JUDGE_ALL_NEG };

/* How the steps of a rollout without flags are treated. */
enum trainer_unjudged {
    TRAINER_UNJUDGED_NEUTRAL, /* steps have no flag: only the outcome counts */
    TRAINER_UNJUDGED_OUTCOME  /* GOOD if the rollout succeeded, else BAD: the rule of the reference implementation */
};

/*
 * The judge that flags the steps of rollouts for adca (trainer/judge.h). Without an endpoint it is the rules of the
 * environment, otherwise a language model with an OpenAI-compatible chat endpoint.
 */
struct trainer_judge {
    char endpoint[TRAINER_PATH_MAX]; /* ("") "http://127.0.0.1:8000/v1"; "" = the rule-based judge */
    char model[2 * TRAINER_NAME_MAX];
    char key_env[TRAINER_NAME_MAX]; /* (LINEAGE_JUDGE_KEY) environment variable that holds the API key */
    char prompt[TRAINER_PATH_MAX];  /* ("") file with another prompt; "" = the built-in prompt */
    char cache[TRAINER_PATH_MAX];   /* ("") file of cached answers; "" = judge-cache.jsonl in the store */
    int32_t concurrency;            /* (8) requests in parallel */
    int32_t max_tokens;             /* (8192) largest length of an answer; 0 = the server's limit */
    double deadline;                /* (300) seconds for one rollout, all attempts together */
    double timeout;                 /* (120) seconds for one attempt */
    double backoff; /* (0.5) seconds before the second attempt; doubled, with jitter, before each further attempt */
    enum trainer_judge_skip skip;   /* (small_adv) */
    enum trainer_unjudged unjudged; /* (neutral) */
    double max_failed_share;        /* (0.2) largest share of the rollouts sent to the judge that may get no flags */
    double wrong;                   /* (0) share of flags that are inverted, for experiments */
};

#define TRAINER_ENVS_MAX 4

enum trainer_group_sizes {
    TRAINER_GROUPS_EQUAL,
    /* uses fitted pass rates to maximise the expected number of questions with a right answer */
    TRAINER_GROUPS_SOLVED,
    TRAINER_GROUPS_MIXED   /* maximises the expected number of groups with both right and wrong answers */
};

struct trainer_task {
    struct trainer_env env; /* all keys except "algorithm": name, questions, k_min, .. */
    int32_t questions;      /* (32) per iteration */
    char data[TRAINER_PATH_MAX]; /* ("") "data.file": file of finished rollouts in place of sampled ones */
    int32_t pool; /* (0) iterations cycle through a pool of N questions; 0 = new ones in every iteration */
    double hardness; /* (0) "allocation.hardness": questions have the weights (1 - pass rate)^hardness */
    double drop_above, drop_below; /* (1, 0) "allocation.drop_above", "allocation.drop_below" */
    enum trainer_group_sizes sizes; /* (equal) "groups.sizes" */
    int32_t least;                  /* (2) "groups.least": smallest number of rollouts in a group */
    struct trainer_algorithm algorithm;
};

/* Supervised warm start, used if start.checkpoint is empty. */
struct trainer_warm_start {
    int32_t steps;        /* (450) */
    int32_t batch;        /* (128) demonstrations per step */
    double learning_rate; /* (4e-3) rate of AdamW; after the warm-up it falls along a cosine to 5 % */
    double matrix_rate;   /* (0.02) rate of Muon for the matrices of the layers, on the same curve; 0 = AdamW */
    int32_t warmup;       /* (50) steps of linear warm-up */
    int32_t k_min, k_max; /* (2, 5) hops of hopworld's demonstrations; must include the hops of training */
    struct trainer_demo_options demo; /* "demonstrator" */
    double shown; /* (0) "shown.share": share of demonstrations that follow a worked solution of the same question */
};

struct trainer_training {
    int32_t iterations;   /* (120) */
    int32_t group_size;   /* (8) rollouts per question */
    int32_t epochs;       /* (2) */
    int32_t minibatch;    /* (64) rollouts per update */
    double learning_rate; /* (3e-4) */
    int32_t warmup;       /* (0) updates of linear warm-up */
    double final_rate;    /* (1) share of learning_rate at the end of a cosine; 1 = constant */
    double adam_beta1, adam_beta2; /* (0.9, 0.95) */
    double weight_decay;           /* (0) */
    double clip_norm;              /* (1) a gradient with a larger norm is scaled down to this norm */
    double temperature;            /* (1) of sampling */
};

/* Number of rollouts in a micro-batch if micro-batches are not packed by tokens. */
#define TRAINER_MICRO_BATCH_ROWS 8

/*
 * How much goes through the network at a time. These settings do not change the loss and its gradient, which are those
 * of the whole minibatch.
 */
struct trainer_micro_batch {
    int32_t tokens;          /* (0) largest number of tokens (rlcore/pack.h); 0 = TRAINER_MICRO_BATCH_ROWS rollouts */
    double activation_bytes; /* (0) memory for activations, of which the rest is computed twice; 0 = unlimited */
};

enum trainer_loss_name {
    TRAINER_LOSS_PPO,
    TRAINER_LOSS_TURN,
    TRAINER_LOSS_GSPO,
    TRAINER_LOSS_CISPO,
    TRAINER_LOSS_SAPO,
    TRAINER_LOSS_GPG,
    TRAINER_LOSS_GEO_MEAN,
    TRAINER_LOSS_REINFORCE,
    TRAINER_LOSS_DPPO_TV, /* as verl has it; "dppo" is prime-rl's */
    TRAINER_LOSS_DPPO_KL,
    TRAINER_LOSS_DRO,
    TRAINER_LOSS_VESPO,
    TRAINER_LOSS_LUSPO, /* gspo with seq-mean-token-sum */
    TRAINER_LOSS_DPPO,
    TRAINER_LOSS_IPO,
    TRAINER_LOSS_COMPOSE, /* the four factors of rlcore/compose.h, which include a correction */
    TRAINER_N_LOSSES
};

enum trainer_aggregation {
    TRAINER_TOKEN_MEAN,
    TRAINER_SEQ_MEAN_TOKEN_SUM,
    TRAINER_SEQ_MEAN_TOKEN_MEAN,
    TRAINER_SEQ_MEAN_TOKEN_SUM_NORM
};

/* Where the KL penalty (the distance to the reference) is applied. */
enum trainer_kl_place {
    TRAINER_KL_LOSS,     /* the mean KL over the policy's tokens is added to the policy loss */
    TRAINER_KL_WEIGHTED, /* as "loss", but k becomes min(r k, clip(r) k), r being the ratio to the old policy */
    TRAINER_KL_REWARD,   /* the sum over a rollout, from the sampler's log-probs, is subtracted from the reward */
    TRAINER_KL_UNBIASED  /* as "loss", times the ratio to the sampler, with the unbiased gradient (rl_unbiased_kl) */
};

/* The unit that OPSM drops (rlcore/offpolicy.h). */
enum trainer_opsm_unit { TRAINER_OPSM_NONE, TRAINER_OPSM_ROLLOUT, TRAINER_OPSM_TURN };

struct trainer_opsm {
    enum trainer_opsm_unit unit; /* (none) */
    bool per_token;              /* (true) bounds apply to the geometric mean of the ratios */
    double lower, upper;         /* (0.5, 2) bounds of the ratio of the current policy to the sampler */
    bool negative_only;          /* (true) drop only units with a negative advantage */
};

/* Settings of the loss "compose". */
struct trainer_compose {
    double backend_cap;   /* (2) */
    double staleness_cap; /* (0) 0 = no cap */
    bool per_turn;        /* (false) each ratio is the mean over its turn */
};

/* A separate clip range for the tokens that the policy writes after the tool's first answer. */
struct trainer_after_tool {
    bool own_clip;              /* (false) */
    double clip_low, clip_high; /* (0.2, 0.28) */
};

/* Bounds of prime-rl's losses "dppo" and "ipo": how far a token's probability may be from the sampler's (rlcore/stream_loss.h). */
struct trainer_dppo {
    double mask_low, mask_high; /* (0.2, 0.2) downwards where A <= 0, upwards where A > 0 */
};

struct trainer_ipo {
    double threshold; /* (0.1) in both directions */
    bool absent; /* whether a recipe's text has no threshold; not a setting */
};

/* Settings of the losses "dro" and "vespo" (rlcore/loss.h). */
struct trainer_dro {
    double beta; /* (0) weight of the squared log-ratio; dro needs one above 0 */
};

struct trainer_vespo {
    double k_pos, lambda_pos; /* (2, 3) where A >= 0 */
    double k_neg, lambda_neg; /* (3, 2) elsewhere */
};

struct trainer_loss {
    enum trainer_loss_name name; /* (ppo) */
    enum trainer_aggregation aggregation; /* (token-mean) */
    double clip_low, clip_high; /* (0.2, 0.28) */
    double clip_c; /* (3) dual clip of ppo */
    double kl_coef; /* (0) weight of the KL penalty (distance to the reference) */
    enum trainer_kl_place kl_place; /* (loss) "kl.place" */
    uint32_t kl_estimator; /* (k3) "kl.estimator", enum rl_kl */
    bool kl_straight_through; /* (false) "kl_gradient.straight_through": the gradient is that of k2, as with verl's "k3+" */
    struct trainer_opsm opsm; /* "opsm" */
    struct trainer_compose compose; /* "compose" */
    struct trainer_after_tool after_tool; /* "after_tool" */
    double kl_tau; /* (1e-3) dppo and ipo: weight of the squared log-ratio to the sampler */
    struct trainer_dppo dppo; /* "dppo" */
    struct trainer_ipo ipo; /* "ipo" */
    struct trainer_dro dro; /* "dro" */
    struct trainer_vespo vespo; /* "vespo" */
};

enum trainer_reference_kind {
    TRAINER_REFERENCE_START, /* the policy that training started from */
    TRAINER_REFERENCE_LAGGED, /* a copy of the policy, renewed after every N iterations */
    TRAINER_REFERENCE_EMA /* a moving average of the policies after every N iterations */
};

/* The policy to which the KL penalty measures the distance. Source of both moving references: arXiv 2404.09656. */
struct trainer_reference {
    enum trainer_reference_kind kind; /* (start) */
    int32_t every; /* (10) iterations from one renewal to the next */
    double decay; /* (0.9) ema: reference = decay * reference + (1 - decay) * policy */
};

/* How ppo trains the value head. */
struct trainer_value {
    double coef; /* (0.5) weight of the value loss; the policy loss has weight 1 */
    double clip; /* (0.2) how far a value may move from its value at sampling */
    double learning_rate; /* (0) learning rate of the head's own parameters; 0 = training.lr */
};

/* The policy that samples: the learner's weights at lower precision, weights of an earlier iteration, or both. */
struct trainer_sampler {
    enum trainer_precision precision; /* "float", "bf16", "int8" */
    int32_t staleness; /* (0) age of the sampler's weights in iterations */
    int32_t max_staleness; /* (-1) eta of staleness admission; -1 = admit all rollouts */
};

/* Which recorded routes of a mixture of experts the updates replay (rlcore/routing.h): "none", "R2", "R3" */
enum trainer_replay {
    TRAINER_REPLAY_NONE,
    TRAINER_REPLAY_R2, /* the learner's routes, recorded before the updates */
    TRAINER_REPLAY_R3 /* the sampler's routes; recomputed old log-probs use them too */
};

/* How the loss is corrected for rollouts that the learner did not sample. */
enum trainer_correction_name {
    TRAINER_CORRECTION_NONE, /* "none": the sampler's log-probs serve as the old ones */
    TRAINER_CORRECTION_TIS, /* "tis": truncated importance weights, old log-probs recomputed */
    TRAINER_CORRECTION_DECOUPLED, /* "decoupled": like "tis", with rejection */
    TRAINER_CORRECTION_RECOMPUTE, /* "recompute": old log-probs recomputed, without weights */
    TRAINER_CORRECTION_BYPASS /* "bypass": two policies only (rl_bypass_loss); weights are computed in every update */
};
struct trainer_correction {
    enum trainer_correction_name name;
    bool sequence_level; /* (false) "level": "token" or "sequence" */
    double cap; /* (2) largest importance weight */
    double floor; /* (0) "icepop.floor": tokens whose weight is outside of [floor, cap] have weight 0; 0 = no interval */
    char reject[TRAINER_NAME_MAX]; /* ("") rejection options of rl_rollout_correction */
    char reject_threshold[TRAINER_NAME_MAX];
};

struct trainer_evaluation {
    int32_t questions; /* (512) number of questions, which are the same for every trial */
    uint64_t question_seed; /* (777) */
    int32_t every; /* (10) iterations between evaluations; 0 = only at the end */
    int32_t seeds; /* (4) sampling seeds of the final score */
    double temperature; /* (1) 0 = greedy */
};

/* What a trial's row reports in addition to the score. Telemetry always has all of these metrics. */
struct trainer_row {
    bool ends; /* (false) pass rate and rollout length, for easy and for hard questions */
    bool passk; /* (false) pass@k with k = evaluation.seeds */
    bool phases; /* (false) "cost.phases": seconds of an iteration by phase; these differ from run to run */
};

/* Limits of a trial; 0 = no limit. */
struct trainer_budget {
    double train_seconds, eval_seconds; /* time limits of the training and of the final evaluation */
    double artifact_bytes; /* largest size of the checkpoint */
    double memory_bytes; /* largest memory of the run, as computed by trainer_memory_bound */
};

struct trainer_recipe {
    char name[TRAINER_NAME_MAX]; /* ("trial") recorded as the specialist of the trial */
    char domain[TRAINER_NAME_MAX]; /* ("multi-hop-qa") */
    char hypothesis[TRAINER_PROSE_MAX];
    char expected_delta[TRAINER_NAME_MAX];
    uint64_t seed; /* (1) */
    int32_t threads; /* (0) number of threads; 0 = one for each processor */
    struct trainer_world world;
    /*
     * tokens, max_tokens and value_head follow from world and tasks; the keys of experts, experts_per_token and
     * renormalise are under "model.experts"
     */
    struct trainer_model model;
    double balance; /* (0.01) "model.experts.balance": weight of the load-balancing loss */
    char checkpoint[TRAINER_PATH_MAX]; /* "start.checkpoint" */
    struct trainer_warm_start warm_start; /* "start.warm_start" */
    struct trainer_task tasks[TRAINER_ENVS_MAX];
    int32_t n_tasks; /* (1) */
    struct trainer_training training;
    struct trainer_micro_batch micro_batch;
    struct trainer_loss loss;
    struct trainer_reference reference;
    struct trainer_value value;
    struct trainer_sampler sampler;
    struct trainer_correction correction;
    enum trainer_replay replay; /* (none) "routing.replay" */
    struct trainer_judge judge;
    struct trainer_evaluation evaluation;
    struct trainer_row row;
    char envelope[TRAINER_PROSE_MAX]; /* parts and capacity, as rl_envelope_read takes them; "": none */
    struct trainer_budget budget;
};

/* Sets all members to the defaults given above. */
TRAINER_API void trainer_recipe_init(struct trainer_recipe *recipe);

/* Sets the name, and sets every setting that the core's table lists for that algorithm to its default. */
TRAINER_API void trainer_algorithm_init(struct trainer_algorithm *algorithm, uint32_t name);

/*
 * Sets the defaults, reads a recipe and checks it. text [length] is JSON; name is used in messages, in front of the
 * line or key. Relative paths inside the recipe are not resolved. A setting that nothing reads is refused
 * (trainer_recipe_unread), and the message names the settings that it needs.
 */
TRAINER_API TRAINER_NODISCARD enum trainer_status trainer_recipe_parse(struct trainer_recipe *recipe, const char *name,
                                                                       const char *text, size_t length,
                                                                       struct trainer_error *err);
/*
 * One changed setting, given by its name or its path. value is parsed as JSON; it is taken as plain text if is_text is
 * set or if it is not valid JSON.
 */
struct trainer_change {
    const char *setting, *value;
    bool is_text;
};

/*
 * Like trainer_recipe_read, but changes settings before anything is checked. Messages name the setting; an unknown
 * setting is refused, and the message names the nearest known one.
 */
TRAINER_API TRAINER_NODISCARD enum trainer_status trainer_recipe_parse_changed(struct trainer_recipe *recipe, const char *name,
                                                                               const char *text, size_t length,
                                                                               const struct trainer_change *changes, size_t n,
                                                                               struct trainer_error *err);
TRAINER_API TRAINER_NODISCARD enum trainer_status trainer_recipe_load(struct trainer_recipe *recipe, const char *path,
                                                                      struct trainer_error *err);

/*
 * Like trainer_recipe_parse_changed, for the recipe of an earlier trial: settings that nothing reads are accepted in text,
 * because trials of older versions have them. They are refused in changes.
 */
TRAINER_API TRAINER_NODISCARD enum trainer_status trainer_recipe_parse_recorded(struct trainer_recipe *recipe, const char *name,
                                                                                const char *text, size_t length,
                                                                                const struct trainer_change *changes, size_t n,
                                                                                struct trainer_error *err);
TRAINER_API TRAINER_NODISCARD enum trainer_status trainer_recipe_load_recorded(struct trainer_recipe *recipe, const char *path,
                                                                               struct trainer_error *err);

/*
 * Checks the whole recipe: ranges, and settings that exclude each other. Fills in model.tokens, max_tokens and the
 * world of every task. Accepts settings that nothing reads, which trainer_recipe_unread finds.
 */
TRAINER_API TRAINER_NODISCARD enum trainer_status trainer_recipe_check(struct trainer_recipe *recipe, struct trainer_error *err);

/* Returns the recipe as JSON text with every key (free), or NULL when out of memory. */
TRAINER_API char *trainer_recipe_text(const struct trainer_recipe *recipe);

/* A setting that differs from its default although nothing in the recipe reads it. */
struct trainer_unread {
    char setting[128]; /* its path: "opsm.lower"; with several environments "environments[1].algorithm.alpha" */
    char value[64]; /* as in --set: "0.5", "turn", "true"; a text is in quotes */
    char needs[256]; /* the settings that it needs: "opsm.unit rollout or turn" */
    /*
     * Whether recipes with it are refused. False for settings of a warm start in a recipe with start.checkpoint, and for
     * settings of training in a recipe without iterations: one file often describes a trial and its children. The rows
     * of trials do not have such settings.
     */
    bool refused;
};

/*
 * Writes the settings that nothing reads to items [max]; returns their number, which may exceed max. A setting with its
 * default is not one of them. Whether a setting that is read has an effect on the data is found by the gradient trace of
 * a run (trainer_event.inert).
 */
TRAINER_API size_t trainer_recipe_unread(const struct trainer_recipe *recipe, struct trainer_unread *items, size_t max);

/* A setting that a recipe reads, beside the value that the paper or system of its algorithm or loss recommends. */
struct trainer_advice {
    char setting[128]; /* its path; of the second environment "env1.alpha" */
    char value[64]; /* the recipe's, as in --set */
    const char *recommended, *source; /* constant texts: "0.3", "A2TGPO, arXiv 2605.06200" */
    bool follows; /* both are the same */
};
enum { TRAINER_ADVICE_MAX = 96 };

/* Writes the recommendations for the settings that the recipe reads; returns their number. */
TRAINER_API size_t trainer_recipe_advice(const struct trainer_recipe *recipe, struct trainer_advice items[TRAINER_ADVICE_MAX]);

/* A setting that a recipe reads and that may mean something else to its author. */
struct trainer_caution {
    char text[256]; /* a sentence without a full stop, which begins with the setting's path */
};
enum { TRAINER_CAUTIONS_MAX = 1 + 2 * TRAINER_ENVS_MAX };

/*
 * Writes the cautions about a recipe that was read from text; returns their number: TRL's epsilon and beta, whose values
 * these settings of ours accept, and a bound of ipo that is the default, which was another one in earlier versions.
 */
TRAINER_API size_t trainer_recipe_cautions(const struct trainer_recipe *recipe,
                                           struct trainer_caution items[TRAINER_CAUTIONS_MAX]);

/* A correction that the core's plan recommends and the recipe lacks. */
struct trainer_lack {
    const char *correction, *reason; /* constant texts: "importance_weights", and why the plan recommends it */
};
enum { TRAINER_LACKS_MAX = 8 };

/*
 * Compares the recipe with the plan of rlcore/correction_plan.h, but only if the sampler is not the learner or the
 * policy is a mixture of experts. Returns the number of missing corrections.
 */
TRAINER_API size_t trainer_recipe_lacks(const struct trainer_recipe *recipe, struct trainer_lack lacks[TRAINER_LACKS_MAX]);

/* A setting of a recipe: a number (true is 1, false 0), or a word. */
struct trainer_setting {
    const char *name; /* "lr", "alpha", "k_min", "start.warm_start.steps"; valid during the visit */
    const char *path; /* "training.lr"; in the first environment "algorithm.alpha", "env.k_min" */
    double value; /* the number; NaN for a word */
    const char *text; /* the word, "" if the setting is empty; NULL for a number */
    /*
     * Whether a record of the trial should name this setting. True for the settings that every trial names (seed,
     * algorithm, lr, ..), for those that the trial's algorithm reads according to the core's table (alpha, ..) and for
     * every setting that differs from its default, but always false for settings that do not affect results.
     */
    bool named;
};

typedef void trainer_setting_fn(void *context, const struct trainer_setting *setting);

/* Visits every setting; the settings of the first environment come last. */
TRAINER_API void trainer_recipe_settings(const struct trainer_recipe *recipe, trainer_setting_fn *visit, void *context);

#endif
