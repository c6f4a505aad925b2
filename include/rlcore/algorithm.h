/*
 * rlcore/algorithm.h: the table of named algorithms: what each one needs, where its advantages come
 * from, which loss trains the tokens of the policy, and which settings it reads.
 *
 *   name                 loss    advantage                                         needs
 *   grpo                 rl      z-score of the outcome in its group               group
 *   dr_grpo              rl      outcome - group mean                              group
 *   rloo                 rl      outcome - mean of the others                      group
 *   reinforce_plus_plus  rl      discounted returns, whitened over the batch
 *   grpo_passk           rl      the best's lead over the group's second best      group
 *   max_rl               rl      (outcome - mean) / mean                           group
 *   hierarchical_grpo    rl      outcome - mean of its agent (and episode)         group, agents
 *   rae                  rl      outcome - moving baseline of its agent            memory
 *   reward               rl      the outcome itself
 *   custom               rl      from a callback, token by token                   callback
 *   joint                rl      A2TGPO (rlcore/a2tgpo.h), its four modes          group, gains
 *   separate             rl
 *   turn-group           rl
 *   turn-group-v1d       rl
 *   process              rl      gains, outcome normalised separately (process.h)  group, gains
 *   vineppo              rl      what a turn added to the value of its prefix      gains
 *   adca                 rl      step flags of a judge (adca.h)                    group, judge
 *   echo                 rl      as grpo; also ce on the answers of tools          group
 *   opd                  ref_kl  none                                              frozen reference
 *   opsd                 ref_kl  none                                              policy reference
 *   sft                  ce      none                                              frozen sampler
 *   ppo                  rl      GAE over the values of a value head, whitened     values
 *   remax                rl      outcome - outcome of the greedy response          greedy response
 *   opo                  rl      outcome - mean of its group weighted by length    group
 *   gpg                  rl      (outcome - mean) B / outcomes that are not 0      group
 *
 * Rollouts come in one of two forms, and the table serves both:
 *   rows of a batch      rl_algorithm_rows below: takes outcomes and gains, returns advantages per token
 *   trees of messages    rlcore/samples.h, the form of prime-rl: outcome-only algorithms
 * grpo and echo differ between the two forms, as their sources do. On rows the difference from the
 * group's mean is divided by the standard deviation (verl, unless norm_by_std is off). On trees it
 * is not divided (prime-rl), and a linear length penalty may be subtracted first. hierarchical_grpo
 * on rows treats the tokens that all rows of an episode share as a separate agent, whose outcome is
 * the mean outcome of those rows.
 *
 * An unknown name is an error whose text contains the nearest known name; the table has no default.
 */
#ifndef RLCORE_ALGORITHM_H
#define RLCORE_ALGORITHM_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include <rlcore/a2tgpo.h>
#include <rlcore/adca.h>
#include <rlcore/batch.h>
#include <rlcore/group_advantage.h>
#include <rlcore/status.h>

/* Index into the table. */
enum rl_algorithm_name {
    RL_ALGORITHM_GRPO,
    RL_ALGORITHM_DR_GRPO,
    RL_ALGORITHM_RLOO,
    RL_ALGORITHM_REINFORCE_PLUS_PLUS,
    RL_ALGORITHM_GRPO_PASSK,
    RL_ALGORITHM_MAX_RL,
    RL_ALGORITHM_HIERARCHICAL_GRPO,
    RL_ALGORITHM_RAE,
    RL_ALGORITHM_REWARD,
    RL_ALGORITHM_CUSTOM,
    RL_ALGORITHM_JOINT,
    RL_ALGORITHM_SEPARATE,
    RL_ALGORITHM_TURN_GROUP,
    RL_ALGORITHM_TURN_GROUP_V1D,
    RL_ALGORITHM_PROCESS,
    RL_ALGORITHM_ADCA,
    RL_ALGORITHM_ECHO,
    RL_ALGORITHM_OPD,
    RL_ALGORITHM_OPSD,
    RL_ALGORITHM_SFT,
    RL_ALGORITHM_PPO,
    RL_ALGORITHM_REMAX,
    RL_ALGORITHM_OPO,
    RL_ALGORITHM_GPG,
    RL_ALGORITHM_VINEPPO,
    RL_ALGORITHM_REINFORCE_PLUS_PLUS_BASELINE,
    RL_N_ALGORITHMS
};

/* What an algorithm requires. */
enum rl_need {
    RL_NEED_GROUP = 1,              /* at least two rollouts of one prompt, which are compared */
    RL_NEED_GAINS = 2,              /* the information gain of every turn */
    RL_NEED_JUDGE = 4,              /* a judge's flag for every step */
    RL_NEED_MEMORY = 8,             /* baselines kept from batch to batch */
    RL_NEED_AGENTS = 16,            /* traces that name their agent; for rows, their episodes */
    RL_NEED_CALLBACK = 32,          /* a callback of the caller */
    RL_NEED_FROZEN_SOURCE = 64,     /* a frozen model that samples the rollouts */
    RL_NEED_FROZEN_REFERENCE = 128, /* log-probs of a frozen model */
    RL_NEED_POLICY_REFERENCE = 256, /* log-probs of the live policy, given more context */
    RL_NEED_VALUES = 512,           /* the expected return at every token */
    RL_NEED_GREEDY = 1024           /* the outcome of every prompt's greedy response */
};

/*
 * The component of the loss that trains the tokens written by the policy (sft: by the frozen
 * sampler).
 */
enum rl_component { RL_COMPONENT_RL, RL_COMPONENT_CE, RL_COMPONENT_REF_KL };

/* A row of the table; static, never freed. */
struct rl_algorithm {
    const char *name, *summary, *source; /* one line each */
    unsigned needs;                      /* bitwise OR of values of enum rl_need */
    enum rl_component loss;
    bool observes; /* also trains cross-entropy on the environment's answers, with weight
                      echo_weight */
    const char *reads; /* names of the settings it reads, separated by blanks: "alpha gamma" */
    const struct rl_algorithm_code *code; /* private to the core */
};

/*
 * Look up an algorithm by name. RL_EINVAL for an unknown name; the text contains the nearest known
 * one.
 */
RL_API RL_NODISCARD enum rl_status rl_algorithm_find(const char *name, const struct rl_algorithm **algorithm,
                                                     struct rl_error *err);

/* Row of the table by its index (enum rl_algorithm_name); NULL at and beyond RL_N_ALGORITHMS. */
RL_API const struct rl_algorithm *rl_algorithm_at(size_t index);

/*
 * Edit distance of two names: the number of letters to insert, delete, replace or swap (Damerau and
 * Levenshtein, within the first 63 letters). The beginning of a name and its last word have
 * distance 1 from the name. Callers can use it to suggest the nearest of their own names.
 */
RL_API unsigned rl_name_distance(const char *a, const char *b);

enum rl_model { RL_MODEL_POLICY, RL_MODEL_FROZEN, RL_MODEL_NONE };

/* The settings of a run that rl_algorithm_check compares with an algorithm's needs. */
struct rl_algorithm_setting {
    size_t group_size;       /* rollouts per prompt, >= 1 */
    enum rl_model source;    /* the model that samples the rollouts */
    enum rl_model reference; /* the model whose log-probs are the reference; not read without ref_kl */
};

/*
 * RL_EINVAL if the algorithm would have nothing to train on or would train on the wrong thing: a
 * group-relative algorithm with groups of one; opd with the live policy or no model as reference;
 * opsd with a reference other than the live policy; sft without a frozen sampler; any other
 * algorithm with a frozen sampler or none.
 */
RL_API RL_NODISCARD enum rl_status rl_algorithm_check(const struct rl_algorithm *algorithm,
                                                      const struct rl_algorithm_setting *setting, struct rl_error *err);

/* ---- settings ----------------------------------------------------------------------------- */

/* echo on trees: the weight of tokens in messages of a role. */
struct rl_role_weight {
    const char *role; /* of a message of the call, or system, user, assistant or tool */
    double weight; /* finite, >= 0 */
};

struct rl_rollouts;

/*
 * Callback of the algorithm custom, which writes the advantages of a group. credit [start[n]] has
 * one value per token at mask 1 of the nodes, in node order, all 0 at first; the values of rollout
 * i begin at credit[start[i]] and end before credit[start[i+1]]. Returns 0; any other value makes
 * the call fail with RL_ECALLBACK.
 */
typedef int rl_credit_fn(void *context, const struct rl_rollouts *rollouts, const size_t *start, double *credit);

/*
 * Settings of all algorithms; each algorithm reads only its own. The defaults are those of the
 * sources.
 */
struct rl_algorithm_options {
    double alpha;       /* 0.3 for turn-group-v1d, 1 for adca; weight of the process advantage */
    double gamma;       /* 1; discount per turn, or per token of reinforce_plus_plus */
    double beta;        /* 0.3; turn-group-v1d: how far the adaptive clip scale may move from 1; 0
                           turns it off */
    bool norm_by_std;   /* true; divide by the standard deviation */
    double epsilon;     /* 1e-6; added to divisors */
    double decay;       /* 0.95; rae */
    double echo_weight; /* 0.1; echo on rows: weight of the environment's answers */
    double prm_steps;   /* 0; adca: number of iterations that use the judge, after which adca
                           becomes grpo; 0: all iterations */
    double iteration;   /* 0; the current iteration, for schedules; not a setting */
    double lam;         /* 1; ppo: GAE's lambda */

    const struct rl_length_weights *length_penalty; /* grpo, echo on trees; NULL: none */
    const char *const *episode_agents;              /* hierarchical_grpo */
    size_t n_episode_agents;
    struct rl_baseline *baselines; /* rae: [*n_baselines of max_baselines], kept by the caller */
    size_t *n_baselines;
    size_t max_baselines;
    const struct rl_role_weight *roles; /* echo on trees: the weight of each role, by default tool
                                           0.1; if a role is listed twice, its first entry counts */
    size_t n_roles;
    rl_credit_fn *credit; /* custom */
    void *credit_context;
    const struct rl_adca_options *adca; /* adca: its options, except alpha, which is the member
                                           above; NULL: the defaults of rl_adca_options_init */
};

/* Sets the defaults of an algorithm, or, for NULL, the defaults that most algorithms share. */
RL_API void rl_algorithm_options_init(struct rl_algorithm_options *options, const struct rl_algorithm *algorithm);

/*
 * Name of the setting at an index ("alpha", ..), for the numbers and bools above; NULL from the end
 * on.
 */
RL_API const char *rl_algorithm_setting_name(size_t index);

/* Returns true if the algorithm reads the setting of that name. */
RL_API bool rl_algorithm_reads(const struct rl_algorithm *algorithm, const char *setting);

/*
 * The default of a setting (1 for true); for a NULL algorithm, the default that most algorithms
 * share. NaN if no setting has that name.
 */
RL_API double rl_algorithm_default(const struct rl_algorithm *algorithm, const char *setting);

/* ---- advantages --------------------------------------------------------------------------- */

/*
 * One advantage per finished rollout of a group, see rlcore/group_advantage.h: advantages [n],
 * counted [n]. RL_EINVAL for a group of one with an algorithm that compares rollouts, for missing
 * options, and for an algorithm that has no advantage of whole rollouts.
 */
RL_API RL_NODISCARD enum rl_status rl_algorithm_group(const struct rl_algorithm *algorithm, const struct rl_trace *traces,
                                                      size_t n, const struct rl_algorithm_options *options, double *advantages,
                                                      uint8_t *counted, struct rl_error *err);

/*
 * Rows of a batch and what the algorithms need to know of them. The last turn of a row is its
 * outcome turn.
 */
struct rl_algorithm_input {
    const struct rl_batch *batch; /* with turns and groups; every row has a turn */
    const double *outcome;        /* [B] */
    const size_t *turn_start;     /* [B+1] where the turns of each row begin (rl_turn_starts) */
    const double *gain;   /* [turn_start[B]] information gain by turn. At outcome turns only vineppo
                             reads it: there it is the value of the prefix before the turn.
                             RL_NEED_GAINS only */
    const uint8_t *flags; /* [turn_start[B]] GOOD (1) or BAD by turn. RL_NEED_JUDGE only */
    const double *values; /* [B*T] expected return at each token, finite everywhere.
                             RL_NEED_VALUES only */
    double *returns;      /* [B*T] out, or NULL: advantage before whitening + value, the target that
                             values are trained towards. RL_NEED_VALUES only */
    const double *baseline;  /* [B] outcome of the greedy response. RL_NEED_GREEDY only */
    const int64_t *episode; /* [B] episode labels; rows of one group and episode begin with the same
                               turns. RL_NEED_AGENTS only */
    const int32_t *n_shared; /* [B] how many turns the row shares with its episode. RL_NEED_AGENTS
                                only */
    struct rl_adca_metrics *adca; /* out, or NULL: adca's metrics while the judge is used, else
                                     unchanged */
};

/*
 * Advantages of the rows of a batch: advantages [B*T], 0 at mask 0 where the algorithm's kernel
 * says so; clip_scale [B*T], 1 except for turn-group-v1d; stats of the clip scale. rewards [B*T]
 * receives the token rewards that the advantages are computed from: gains at the ends of their
 * turns if the algorithm reads them, and the outcome at the last token of the row. Algorithms
 * without advantages (opd, opsd, sft) give 0. Errors are those of the kernel; RL_EINVAL for
 * algorithms that work on trees only.
 */
RL_API RL_NODISCARD enum rl_status rl_algorithm_rows(const struct rl_algorithm *algorithm, const struct rl_algorithm_input *in,
                                                     const struct rl_algorithm_options *options, double *rewards,
                                                     double *advantages, double *clip_scale, struct rl_a2tgpo_stats *stats,
                                                     struct rl_workspace *ws, struct rl_error *err);
RL_API RL_NODISCARD enum rl_status rl_algorithm_rowsf(const struct rl_algorithm *algorithm, const struct rl_algorithm_input *in,
                                                      const struct rl_algorithm_options *options, float *rewards,
                                                      float *advantages, float *clip_scale, struct rl_a2tgpo_stats *stats,
                                                      struct rl_workspace *ws, struct rl_error *err);

#endif
