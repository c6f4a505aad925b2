/*
 * trainer/recipe.h: everything that makes one training run, read from a JSON file.
 *
 * schema/recipe.schema.json is the published form of what stands here; every key has a default, so
 * `{}` is a recipe. A key that is not known is refused with the nearest known one, a value of the
 * wrong type or out of range with its path ("environments[0].algorithm.alpha").
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
 */
#ifndef TRAINER_RECIPE_H
#define TRAINER_RECIPE_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include <trainer/env.h>
#include <trainer/policy.h>

#ifdef __cplusplus
extern "C" {
#endif

#define TRAINER_NAME_MAX 64
#define TRAINER_PROSE_MAX 1024
#define TRAINER_PATH_MAX 1024

enum trainer_gain { TRAINER_GAIN_PROB, TRAINER_GAIN_LOG_PROB }; /* "prob", "log_prob" */

/* "none", "uniform", "group", "anchor" */
enum trainer_length_penalty {
    TRAINER_LENGTH_NONE,
    TRAINER_LENGTH_UNIFORM,
    TRAINER_LENGTH_GROUP,
    TRAINER_LENGTH_ANCHOR
};

/* "decouple", "allocation"; "last_step", "all_steps", "only": as in rlcore/adca.h. */
enum trainer_adca_scheme { TRAINER_ADCA_DECOUPLE, TRAINER_ADCA_ALLOCATION };
enum trainer_adca_outcome { TRAINER_ADCA_LAST_STEP, TRAINER_ADCA_ALL_STEPS, TRAINER_ADCA_ONLY };

/* How adca makes step rewards of flags: struct rl_adca_options but for its alpha. */
struct trainer_adca {
    enum trainer_adca_scheme scheme;   /* decouple */
    enum trainer_adca_outcome outcome; /* last_step */
    double fix_base;                   /* 0.2; decouple: reward of a step, with its sign */
    double consistent_scale;           /* 1; allocation */
    double pos_unconsistent_scale;     /* 0.2; allocation */
    double neg_unconsistent_scale;     /* 0.2; allocation */
    bool batch_norm;                   /* true */
    bool equal_trajectory_weight;      /* true */
    bool length_normalisation;         /* false; decouple only */
    double outcome_weight;             /* "algorithm.outcome.weight", 1; beta */
};

/* How a length penalty comes in. */
struct trainer_length {
    int32_t warmup; /* 0; iterations over which its coefficient rises along a line to the whole */
};

/* pass@k as reward (rlcore/passk.h). */
struct trainer_passk {
    int32_t k; /* 1; every rollout of a block of k of its group gets the block's best outcome */
};

/* "policy": of the true answer, see gain; "continuations": the share of them that is rewarded */
enum trainer_prefix_value { TRAINER_PREFIX_POLICY, TRAINER_PREFIX_CONTINUATIONS };

/* What the value of a prefix is taken from, at the prompt's end and after every observation. */
struct trainer_prefix {
    enum trainer_prefix_value value; /* policy */
    int32_t continuations;           /* 4; rollouts that go on from each, by the live policy */
};

#define TRAINER_EPISODE_TOKENS 1024 /* longest rollout that markers can cut */

/*
 * Where a rollout falls into what gets credit of its own, and where values of its prefixes are taken.
 * With markers what this header and trainer/train.h call a turn is an episode: in credit, in
 * telemetry's gains and in losses by turn.
 */
struct trainer_episodes {
    char markers[TRAINER_NAME_MAX]; /* ""; before each of these tokens ("S,ANS"), in the policy's
                                       words or the tool's; else where the policy begins a turn */
};

/* "none", "advantage", "loss" */
enum trainer_distill_how {
    TRAINER_DISTILL_NONE,
    TRAINER_DISTILL_ADVANTAGE, /* K1: the advantage of what is taught is teacher - policy */
    TRAINER_DISTILL_LOSS       /* K2: half of its square, beside the policy loss */
};
/* "checkpoint": algorithm.teacher; "policy": the live policy, which is shown more */
enum trainer_distill_teacher { TRAINER_TEACHER_CHECKPOINT, TRAINER_TEACHER_POLICY };
/* "fact": the last hop's, behind the prompt; "demonstration": a worked solution, before it */
enum trainer_shown { TRAINER_SHOWN_FACT, TRAINER_SHOWN_DEMONSTRATION };

/*
 * A teacher for the rollouts that failed, beside an algorithm with advantages (rlcore/distill.h):
 * what prompts and tokens it speaks to.
 */
struct trainer_distill {
    enum trainer_distill_how how;         /* none */
    enum trainer_distill_teacher teacher; /* checkpoint */
    enum trainer_shown shown; /* fact; what a teacher that is the policy is shown, opsd's as well */
    double pass_rate;         /* 1; of groups with at most this share of rewarded rollouts */
    int32_t horizon;          /* 0 = all; first tokens of a rollout */
    bool normalise;           /* true; advantage: z-scores over what is taught */
    double coef;              /* 1; weight */
};

/*
 * hierarchical_grpo: a group is group_size / branches episodes. The rows of an episode share their
 * first turns, which are sampled once, and branch after them; one that ended before is as many
 * times the same.
 */
struct trainer_hierarchy {
    int32_t branches; /* 2; rows of an episode, a divisor of group_size */
    int32_t turns;    /* 1; shared */
};

/* "constant", "linear", "cosine", "adaptive" */
enum trainer_schedule_kind {
    TRAINER_CONSTANT,
    TRAINER_LINEAR,
    TRAINER_COSINE,
    TRAINER_ADAPTIVE /* turn-group-v1d: alpha by the spreads of each batch (v1c), beta constant */
};

/* The way of alpha and beta from their values at the first iteration to those at the end. */
struct trainer_schedule {
    enum trainer_schedule_kind kind; /* constant */
    double alpha_end, beta_end;      /* 0, 0; read by linear and cosine */
};

/*
 * A row of the core's table (rlcore/algorithm.h), which says what the algorithm needs, which of
 * these settings it reads and with which defaults; those given here are of most.
 */
struct trainer_algorithm {
    uint32_t name;                  /* grpo; enum rl_algorithm_name */
    double alpha;                   /* 0.3, adca 1; share of the process advantage */
    double gamma;                   /* 1; discount per turn */
    double beta;                    /* 0.3; reach of the adaptive clip scale, 0 turns it off */
    bool norm_by_std;               /* true */
    double epsilon;                 /* 1e-6 */
    double advantage_scale;         /* 1; multiplies every advantage */
    enum trainer_gain gain;         /* prob */
    double decay;                   /* 0.95; rae */
    double echo_weight;             /* 0.1; echo */
    int32_t prm_steps;              /* 0 = always; adca: iterations for which the judge is asked */
    char teacher[TRAINER_PATH_MAX]; /* checkpoint of opd (teacher) and sft (source) */
    enum trainer_length_penalty length_penalty; /* none */
    double length_coef;                         /* 0 = the custom of the penalty */
    struct trainer_length length;
    struct trainer_passk passk;
    struct trainer_distill distill;
    struct trainer_prefix prefix;
    struct trainer_episodes episodes;
    struct trainer_adca adca;
    struct trainer_schedule schedule;
    double lam; /* 1; ppo: lambda of generalised advantage estimation */
    struct trainer_hierarchy hierarchy;
};

/* Who is not judged: "none", "small_adv" (as enum rl_adca_skip), "all_neg" */
enum trainer_judge_skip { TRAINER_JUDGE_ALL, TRAINER_JUDGE_SMALL_ADV, TRAINER_JUDGE_ALL_NEG };

/* What the steps of a rollout without flags get: "neutral", "outcome" */
enum trainer_unjudged {
    TRAINER_UNJUDGED_NEUTRAL, /* nothing: its outcome alone counts */
    TRAINER_UNJUDGED_OUTCOME  /* GOOD if it succeeded, else BAD: the reference's rule */
};

/*
 * Who flags the steps of rollouts for adca (trainer/judge.h): without an endpoint the environment's
 * own rules, else a language model behind an OpenAI-compatible chat endpoint.
 */
struct trainer_judge {
    char endpoint[TRAINER_PATH_MAX]; /* "http://127.0.0.1:8000/v1"; "" = the rule-based judge */
    char model[2 * TRAINER_NAME_MAX];
    char key_env[TRAINER_NAME_MAX]; /* LINEAGE_JUDGE_KEY; environment variable that holds the key */
    char prompt[TRAINER_PATH_MAX];  /* file with another wording; "" = the built-in one */
    char cache[TRAINER_PATH_MAX];   /* "" = judge-cache.jsonl in the store */
    int32_t concurrency;            /* 8 requests at once */
    int32_t max_tokens;             /* 8192 of an answer; 0 = not said */
    double deadline;                /* 300 s for a rollout, all attempts together */
    double timeout;                 /* 120 s for one attempt */
    double backoff; /* 0.5 s before the second attempt, about twice that before the next, .. */
    enum trainer_judge_skip skip;   /* small_adv */
    enum trainer_unjudged unjudged; /* neutral */
    double max_failed_share;        /* 0.2 of the rollouts asked about in an iteration */
    double wrong;                   /* 0; share of flags that are turned round, for experiments */
};

#define TRAINER_ENVS_MAX 4

/* "equal", "solved", "mixed" */
enum trainer_group_sizes {
    TRAINER_GROUPS_EQUAL,
    TRAINER_GROUPS_SOLVED, /* most questions with a right answer, by the fitted pass rates */
    TRAINER_GROUPS_MIXED   /* most groups with a right and a wrong one */
};

struct trainer_task {
    struct trainer_env env; /* keys beside "algorithm": name, questions, k_min, ... */
    int32_t questions;      /* 32 per iteration */
    int32_t pool; /* 0: new ones in every iteration; else the first .. of this many in turn */
    double hardness; /* "allocation.hardness", 0; above: drawn from the pool with weights
                        (1 - pass rate)^hardness, rates being fitted to what was last seen */
    enum trainer_group_sizes sizes; /* "groups.sizes", equal; else as many rollouts in all, those of
                                       a question being by its pass rate: a pool is needed */
    int32_t least;                  /* "groups.least", 2; rollouts of the smallest group */
    struct trainer_algorithm algorithm;
};

/* Supervised warm start, used when start.checkpoint is empty. */
struct trainer_warm_start {
    int32_t steps;        /* 450 */
    int32_t batch;        /* 128 demonstrations */
    double learning_rate; /* 4e-3 of AdamW, after warmup steps along a cosine to 5 % */
    double matrix_rate;   /* 0.02 of Muon for the layers' matrices, likewise; 0 = AdamW for them */
    int32_t warmup;       /* 50 */
    int32_t k_min, k_max; /* 2, 5: hops of hopworld's demonstrations; must cover those trained on */
    struct trainer_demo_options demo; /* "demonstrator" */
    double shown; /* "shown.share", 0: of demonstrations that follow a worked solution of the same */
};

struct trainer_training {
    int32_t iterations;   /* 120 */
    int32_t group_size;   /* 8 rollouts per question */
    int32_t epochs;       /* 2 */
    int32_t minibatch;    /* 64 rollouts per update */
    double learning_rate; /* 3e-4 */
    int32_t warmup;       /* 0 updates of linear warm-up */
    double final_rate;    /* 1: share of learning_rate at the end of a cosine; 1 = constant */
    double adam_beta1, adam_beta2; /* 0.9, 0.95 */
    double weight_decay;           /* 0 */
    double clip_norm;              /* 1; largest norm of a gradient */
    double temperature;            /* 1; of sampling */
};

/* Rollouts of a micro-batch where there is no number of tokens. */
#define TRAINER_MICRO_BATCH_ROWS 8

/*
 * What goes through the network at a time. The loss and its gradient are always those of the whole
 * minibatch.
 */
struct trainer_micro_batch {
    int32_t tokens; /* 0: TRAINER_MICRO_BATCH_ROWS rollouts as they come; else packed by the core's
                       plan (rlcore/pack.h) into as many tokens at most */
    double activation_bytes; /* 0: all that the way back needs is kept; else for as many micro-batches
                                as fit, and others go forward once more. Changes no number. */
};

/* "ppo", "turn", "gspo", "cispo", "sapo", "gpg", "geo_mean", "reinforce", "dppo", "ipo", "compose" */
enum trainer_loss_name {
    TRAINER_LOSS_PPO,
    TRAINER_LOSS_TURN,
    TRAINER_LOSS_GSPO,
    TRAINER_LOSS_CISPO,
    TRAINER_LOSS_SAPO,
    TRAINER_LOSS_GPG,
    TRAINER_LOSS_GEO_MEAN,
    TRAINER_LOSS_REINFORCE,
    TRAINER_LOSS_DPPO,
    TRAINER_LOSS_IPO,
    TRAINER_LOSS_COMPOSE, /* the four factors of rlcore/compose.h; corrects by itself */
    TRAINER_N_LOSSES
};

/* "token-mean", "seq-mean-token-sum", "seq-mean-token-mean", "seq-mean-token-sum-norm" */
enum trainer_aggregation {
    TRAINER_TOKEN_MEAN,
    TRAINER_SEQ_MEAN_TOKEN_SUM,
    TRAINER_SEQ_MEAN_TOKEN_MEAN,
    TRAINER_SEQ_MEAN_TOKEN_SUM_NORM
};

/* Where the distance to the start stands: "loss", "weighted", "reward" */
enum trainer_kl_place {
    TRAINER_KL_LOSS,     /* mean of k over the policy's tokens, beside the policy loss */
    TRAINER_KL_WEIGHTED, /* the same of min(r k, clip(r) k), r the ratio to the old policy */
    TRAINER_KL_REWARD    /* its sum over a rollout, by the sampler's log-probs, off the reward */
};

/* What OPSM drops as a whole (rlcore/offpolicy.h): "none", "rollout", "turn" */
enum trainer_opsm_unit { TRAINER_OPSM_NONE, TRAINER_OPSM_ROLLOUT, TRAINER_OPSM_TURN };

struct trainer_opsm {
    enum trainer_opsm_unit unit; /* none */
    bool per_token;              /* true: bounds of the geometric mean of the ratios */
    double lower, upper;         /* 0.5, 2; of the policy now over the sampler */
    bool negative_only;          /* true: only what has a negative advantage */
};

/* Of the loss "compose". */
struct trainer_compose {
    double backend_cap;   /* 2 */
    double staleness_cap; /* 0 = none */
    bool per_turn;        /* false: each ratio is the mean over its turn */
};

/* A clip range of its own for what the policy writes after the tool first answered. */
struct trainer_after_tool {
    bool own_clip;              /* false */
    double clip_low, clip_high; /* 0.2, 0.28 */
};

struct trainer_loss {
    enum trainer_loss_name name;          /* ppo */
    enum trainer_aggregation aggregation; /* token-mean */
    double clip_low, clip_high;           /* 0.2, 0.28 */
    double clip_c;                        /* 3; dual clip of ppo */
    double kl_coef;                       /* 0; weight of k3 against the start checkpoint */
    enum trainer_kl_place kl_place;       /* loss; kl.place */
    uint32_t kl_estimator;                /* k3; kl.estimator, enum rl_kl */
    struct trainer_opsm opsm;             /* opsm.* */
    struct trainer_compose compose;       /* compose.* */
    struct trainer_after_tool after_tool; /* after_tool.* */
};

/* ppo: the loss of the value head's values, and how they are trained. */
struct trainer_value {
    double coef;          /* 0.5; weight of the loss beside the policy's */
    double clip;          /* 0.2; how far a value may move from what it was at sampling */
    double learning_rate; /* 0 = training.lr; of the head itself */
};

/* Who samples: the learner's weights at a lower precision, or weights some updates old. */
struct trainer_sampler {
    enum trainer_precision precision; /* "float", "bf16", "int8" */
    int32_t staleness;                /* 0 iterations old */
    int32_t max_staleness;            /* -1 = admit all; else staleness admission's eta */
};

/* Which routes of a mixture of experts the updates replay (rlcore/routing.h): "none", "R2", "R3" */
enum trainer_replay {
    TRAINER_REPLAY_NONE,
    TRAINER_REPLAY_R2, /* the learner's own, before the updates */
    TRAINER_REPLAY_R3  /* the sampler's; the old log-probs, where they are computed, with them */
};

/* What is done about data the learner did not sample. */
enum trainer_correction_name {
    TRAINER_CORRECTION_NONE,     /* "none": the sampler's log-probs in the place of the old ones */
    TRAINER_CORRECTION_TIS,      /* "tis": truncated importance weights, old log-probs recomputed */
    TRAINER_CORRECTION_DECOUPLED, /* "decoupled": the same and rejection, proximal ones recomputed */
    TRAINER_CORRECTION_RECOMPUTE  /* "recompute": old log-probs recomputed, without weights */
};
struct trainer_correction {
    enum trainer_correction_name name;
    bool sequence_level;           /* false: "level": "token" or "sequence" */
    double cap;                    /* 2 */
    char reject[TRAINER_NAME_MAX]; /* rejection options of rl_rollout_correction, or "" */
    char reject_threshold[TRAINER_NAME_MAX];
};

struct trainer_evaluation {
    int32_t questions;      /* 512, the same for every trial */
    uint64_t question_seed; /* 777 */
    int32_t every;          /* 10 iterations; 0 = only at the end */
    int32_t seeds;          /* 4 sampling seeds of the final score */
    double temperature;     /* 1; 0 = greedy */
};

/* What the row names beside the score; telemetry has all of it. */
struct trainer_row {
    bool ends;  /* false; pass rate and length of easy and of hard questions */
    bool passk; /* false; pass@k, k being evaluation.seeds */
    bool phases; /* "cost.phases", false; seconds of an iteration by phase: no two runs agree in them */
};

/* What a trial may use; 0 = no limit. */
struct trainer_budget {
    double train_seconds, eval_seconds; /* wall time of all training and of the final evaluation */
    double artifact_bytes;              /* of the checkpoint */
    double memory_bytes;                /* of the whole run, by trainer_memory_bound */
};

struct trainer_recipe {
    char name[TRAINER_NAME_MAX];   /* "trial"; becomes the specialist of the trial */
    char domain[TRAINER_NAME_MAX]; /* "multi-hop-qa" */
    char hypothesis[TRAINER_PROSE_MAX];
    char expected_delta[TRAINER_NAME_MAX];
    uint64_t seed;   /* 1 */
    int32_t threads; /* 0 = all processors */
    struct trainer_world world;
    struct trainer_model model;           /* tokens, max_tokens, value_head follow from world and
                                             tasks; experts, .. are model.experts.* */
    double balance;                       /* 0.01; model.experts.balance */
    char checkpoint[TRAINER_PATH_MAX];    /* start.checkpoint */
    struct trainer_warm_start warm_start; /* start.warm_start */
    struct trainer_task tasks[TRAINER_ENVS_MAX];
    int32_t n_tasks; /* 1 */
    struct trainer_training training;
    struct trainer_micro_batch micro_batch;
    struct trainer_loss loss;
    struct trainer_value value;
    struct trainer_sampler sampler;
    struct trainer_correction correction;
    enum trainer_replay replay; /* none; routing.replay */
    struct trainer_judge judge;
    struct trainer_evaluation evaluation;
    struct trainer_row row;
    struct trainer_budget budget;
};

/* The defaults given above. */
TRAINER_API void trainer_recipe_init(struct trainer_recipe *recipe);

/* The settings that the core's table reads, at the defaults of the algorithm; sets its name. */
TRAINER_API void trainer_algorithm_init(struct trainer_algorithm *algorithm, uint32_t name);

/*
 * Read a recipe over the defaults and check it. text [length] is JSON; name stands in messages in
 * front of line or key. Paths inside are taken as they are.
 */
TRAINER_API TRAINER_NODISCARD enum trainer_status
trainer_recipe_parse(struct trainer_recipe *recipe, const char *name, const char *text,
                     size_t length, struct trainer_error *err);
/*
 * One setting, by its name or its path; value is JSON or, with is_text or where it is none, text.
 */
struct trainer_change {
    const char *setting, *value;
    bool is_text;
};

/*
 * The same with settings changed before anything is checked. Messages name the setting; one that is
 * not known is refused with the nearest that is.
 */
TRAINER_API TRAINER_NODISCARD enum trainer_status
trainer_recipe_parse_changed(struct trainer_recipe *recipe, const char *name, const char *text,
                             size_t length, const struct trainer_change *changes, size_t n,
                             struct trainer_error *err);
TRAINER_API TRAINER_NODISCARD enum trainer_status
trainer_recipe_load(struct trainer_recipe *recipe, const char *path, struct trainer_error *err);

/*
 * Check the whole recipe (ranges, and what does not go together); fills in model.tokens, max_tokens
 * and the world of every task.
 */
TRAINER_API TRAINER_NODISCARD enum trainer_status
trainer_recipe_check(struct trainer_recipe *recipe, struct trainer_error *err);

/* The whole recipe as JSON text with every key (free), or NULL when out of memory. */
TRAINER_API char *trainer_recipe_text(const struct trainer_recipe *recipe);

/* schema/recipe.schema.json (free), or NULL when out of memory. */
TRAINER_API char *trainer_recipe_schema(void);

/* A correction that a recipe does without, though the core's plan would have it. */
struct trainer_lack {
    const char *correction, *reason; /* constant texts: "importance_weights", why */
};
enum { TRAINER_LACKS_MAX = 8 };

/*
 * What rlcore/correction_plan.h says a recipe needs and what it has, as far as its sampler is not the
 * learner or its policy a mixture of experts; else nothing is lacking. Returns how many there are.
 */
TRAINER_API size_t trainer_recipe_lacks(const struct trainer_recipe *recipe,
                                        struct trainer_lack lacks[TRAINER_LACKS_MAX]);

/* A setting of a recipe: a number (true is 1, false 0), or a word. */
struct trainer_setting {
    const char *name; /* "lr", "alpha", "k_min", "start.warm_start.steps"; valid during the visit */
    const char *path; /* "training.lr"; of the first environment "algorithm.alpha", "env.k_min" */
    double value;     /* of a word: nan */
    const char *text; /* of a number: NULL; of a text that is not set: "" */
    /*
     * Whether a log of what the trial was should name it: what every trial names (seed, algorithm, lr, ..),
     * what its algorithm reads by the core's table (alpha, ..), and all that is not at its default;
     * never what changes no result.
     */
    bool named;
};

typedef void trainer_setting_fn(void *context, const struct trainer_setting *setting);

/* Visit every setting, those of the first environment last. */
TRAINER_API void trainer_recipe_settings(const struct trainer_recipe *recipe,
                                         trainer_setting_fn *visit, void *context);

#ifdef __cplusplus
}
#endif

#endif
