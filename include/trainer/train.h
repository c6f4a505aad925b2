/*
 * trainer/train.h: one training run, from recipe to checkpoint.
 *
 * The trainer does not know who listens: it reports by calling `event` with what happened, and goes
 * on until the recipe is done or the callback asks to stop. Same recipe, same seed: same numbers,
 * for any number of threads and processes (work is cut into a fixed number of lanes whose sums are
 * added in a fixed order). The threads are the trainer's own: while a run lasts, OpenBLAS has one,
 * for the whole process.
 *
 * An iteration
 *   rollouts         questions x group_size episodes in lock-step, KV caches kept
 *   information gain the true answer's probability at the prompt's end and after every observation,
 *                    from the rollouts' own keys and values
 *   credit           the algorithm of each environment turns outcomes and gains into advantages per
 *                    token and weights of the rl, ce and ref_kl components (rlcore)
 *   updates          epochs x minibatches of the loss (rlcore), backward, AdamW
 */
#ifndef TRAINER_TRAIN_H
#define TRAINER_TRAIN_H

#include <trainer/comm.h>
#include <trainer/judge.h>

#ifdef __cplusplus
extern "C" {
#endif

/* Statistics of one turn index. */
struct trainer_turn_gain {
    double mean, std; /* unbiased */
    uint64_t count;
};

/*
 * Questions of the lowest and of the highest third of their environment's k_min .. k_max (3 .. 5: 3
 * and 5). What both ends of a mix come to is not seen in a mean over all.
 */
enum trainer_difficulty { TRAINER_EASY, TRAINER_HARD, TRAINER_N_DIFFICULTIES };

struct trainer_end_of_mix {
    double passed;     /* share of rollouts that were rewarded */
    double tokens;     /* mean length of what the policy wrote */
    uint64_t rollouts; /* 0 where k_min is k_max */
};

/* What algorithm.distill taught of the rollouts of an iteration. */
struct trainer_distillation {
    uint64_t groups, taught_groups; /* those below the pass rate, with a failure */
    uint64_t rollouts, taught_rollouts;
    uint64_t tokens, taught_tokens; /* of the policy */
    double gap;                     /* mean of teacher - policy over what is taught, nats */
    double loss, clipped; /* K2, means over the updates: the loss, share of tokens it left alone */
};

/*
 * Questions drawn by allocation.hardness or groups.sizes: pass rates as the fit has them, before they
 * are asked.
 */
struct trainer_allocation {
    uint64_t questions;  /* drawn; 0: none were */
    double chosen, pool; /* mean pass rate of those drawn, of all in their pools */
    uint64_t least, most; /* rollouts of the smallest and of the largest group by groups.sizes, else 0 */
    double mixed; /* share of all groups that have a right and a wrong answer */
};

/* Of ppo's value head. */
struct trainer_values {
    double loss, clip_fraction;              /* means over the updates */
    double explained_variance, mean, returned; /* of values at sampling: mean, mean return */
};

enum trainer_event_kind {
    TRAINER_EVENT_START,      /* model and memory are known, nothing is trained yet */
    TRAINER_EVENT_WARM,       /* a step of the warm start */
    TRAINER_EVENT_ITERATION,  /* an iteration is done */
    TRAINER_EVENT_EVALUATION, /* an evaluation on the fixed questions is done */
    TRAINER_EVENT_EVALUATING, /* training is over, the final evaluation begins */
    TRAINER_EVENT_DONE        /* the final score is known and the checkpoint written */
};

/* Of the options of a loss; means over the updates. 0 where an option is off. */
struct trainer_offpolicy {
    double opsm_dropped; /* share of the tokens */
    double after_tool;   /* share of the tokens after a tool, with a clip range of their own */
    double after_tool_clip_fraction, after_tool_ratio, after_tool_kl;
    double backend, staleness;               /* mean factors of compose before their caps */
    double backend_capped, staleness_capped; /* shares */
    double compose_ess;                      /* of its weights */
    double kl_reward;                        /* mean over the rollouts of what KL took off */
};

/* Sampler against learner where the policy is a mixture of experts. */
struct trainer_routing {
    double load;        /* most that an expert got over an even share, worst layer; 0: dense */
    uint64_t tokens;    /* of the policy, where routes were compared; 0: on-policy nothing is */
    double differ;      /* share of them at which an expert differs, in any layer */
    double common;      /* mean share of experts in common */
    double kl;          /* k3, each by its own routes */
    double kl_replayed; /* k3, the learner by the sampler's routes; with R3 */
};

/* Metrics of one iteration; 0 where they do not apply. */
struct trainer_iteration {
    double reward;           /* mean outcome of the rollouts */
    double turns, malformed; /* mean searches; share of rollouts that ended in a malformed turn */
    double response_tokens;  /* mean per rollout */
    double loss, grad_norm, entropy, clip_fraction, kl; /* means over the updates */
    double learning_rate;
    double clip_scale_mean, clip_scale_std;           /* ig_clip_scale over response tokens */
    struct trainer_turn_gain gain[TRAINER_TURNS_MAX]; /* information gain by turn index */
    int32_t n_gain;
    double mismatch_kl, mismatch_ess, weight_mean, rejected; /* sampler against learner */
    double staleness; /* iterations between the sampler's weights and the learner's */
    double generation_s, gain_s, update_s;
    uint64_t sampled_tokens; /* written by the policy */
    uint64_t fed_tokens;     /* fed to the network for that, prompts and tools' included */
    uint64_t gain_tokens, trained_tokens; /* fed for gains and for updates */
    struct trainer_judge_counts judge;    /* of the algorithms that ask one */
    struct trainer_routing routing;
    struct trainer_offpolicy offpolicy;
    struct trainer_end_of_mix end_of_mix[TRAINER_N_DIFFICULTIES];
    struct trainer_distillation distillation;
    struct trainer_allocation allocation;
    uint64_t n_valued; /* ppo: values that were trained, over all updates; then: */
    struct trainer_values values;
    int32_t n_alpha;   /* tasks whose alpha is adaptive .. */
    double alpha_used; /* .. and the mean of what it was */
    /* rlcore/adca.h; what flags came to, of the first task that asks a judge; NULL: none was asked */
    const struct rl_adca_metrics *adca;
    uint64_t n_greedy;    /* remax: greedy rollouts beside the others .. */
    double greedy_reward; /* .. and their mean outcome */
    uint64_t n_episodes;  /* hierarchical_grpo: beginnings that rollouts share .. */
    double between_std, within_std; /* .. standard deviation of outcomes between those of a group,
                                       and within them */
};

struct trainer_event {
    enum trainer_event_kind kind;
    int32_t step, steps; /* of the warm start or of training; START: that a state has behind it */
    size_t parameters;   /* START */
    double memory_bound; /* START: bytes, see trainer_memory_bound */
    double loss;         /* WARM */
    double score;        /* EVALUATION, DONE: share of questions answered right */
    double score_std;    /* DONE: between sampling seeds, unbiased */
    double score_greedy; /* DONE */
    double passk;        /* DONE: share of questions that one of the sampling seeds answered right */
    int32_t k;           /* DONE: how many those are; the estimate of pass@k for this k is unbiased */
    double area;         /* DONE: mean of the scores of all evaluations */
    double clip_scale_mean, clip_scale_std; /* DONE: means over iterations */
    double entropy, clip_fraction;          /* the same */
    int32_t n_alpha;                        /* DONE: iterations with an adaptive alpha .. */
    double alpha_used;                      /* .. its mean over them */
    int32_t n_valued;             /* DONE: of the last tenth of the iterations, those that .. */
    struct trainer_values values; /* .. trained values; means over them */
    struct trainer_turn_gain
        gain[TRAINER_TURNS_MAX]; /* DONE: over the last tenth of the iterations */
    int32_t n_gain;
    struct trainer_judge_counts judge;         /* DONE: of the whole run */
    struct trainer_end_of_mix end_of_mix[TRAINER_N_DIFFICULTIES]; /* DONE: of the final score */
    struct trainer_row row;                    /* DONE: the recipe's */
    double train_s, eval_s;                    /* so far */
    const struct trainer_iteration *iteration; /* ITERATION, else NULL */
};

/* Return false to stop: trainer_run then returns TRAINER_ESTOPPED. */
typedef bool trainer_event_fn(void *context, const struct trainer_event *event);

struct trainer_run_options {
    const char *checkpoint;  /* where the trained policy goes; NULL: nowhere */
    trainer_event_fn *event; /* NULL: nobody listens */
    void *context;
    trainer_judge_fn *judge; /* NULL: a recipe with judge.endpoint is refused when it would be asked */
    void *judge_context;
};

/*
 * Bytes that a run of this recipe holds at its height: parameters, gradients and optimizer, KV
 * caches, rollouts and the activations of a minibatch. What a run uses stays below it.
 */
TRAINER_API double trainer_memory_bound(const struct trainer_recipe *recipe);

/* Bytes of the checkpoint that a run of this recipe writes. */
TRAINER_API double trainer_artifact_bytes(const struct trainer_recipe *recipe);

/*
 * Train. TRAINER_ESIZE before anything is allocated if the budget's bytes do not suffice (wall time
 * is the caller's to enforce); TRAINER_ENUMERIC with the step for a loss or gradient that is not
 * finite; TRAINER_EJUDGE if the judge failed too often. The checkpoint is written only by a run that ends well.
 */
TRAINER_API TRAINER_NODISCARD enum trainer_status
trainer_run(const struct trainer_recipe *recipe, const struct trainer_run_options *options,
            struct trainer_error *err);

/* How this process takes part in a run. */
struct trainer_process {
    /*
     * NULL: it is alone. Else the other ranks call trainer_run_process with the same recipe. Rank 0
     * reads and writes files and tells events (options are NULL elsewhere, and a stop there stops
     * all); rollouts and minibatches are shared by all, gradients by the first four.
     */
    const struct trainer_comm *comm;
    /*
     * A file of rank 0's, or NULL: the state of the run, written anew before the first and after
     * every state_every iterations (0: never). If it is there, the run goes on from it, and ends as
     * if it had never stopped: every bit of what it tells from then on, and of its checkpoint.
     * train_s goes on, too. Any number of ranks may go on where any number stopped. Nobody removes
     * the file.
     */
    const char *state;
    int32_t state_every;
};

/*
 * The same run, to the bit, by several processes. What fails on one rank fails on all, with the same
 * status; TRAINER_ELOST if the communicator fails. What is computed on every rank must come out
 * alike: TRAINER_EINVAL if their recipes or what trainer_kernels says differ. trainer_memory_bound
 * is of each, without what the communicator takes. Of the state: as trainer_state_read, and
 * TRAINER_EIO if it cannot be written.
 */
TRAINER_API TRAINER_NODISCARD enum trainer_status
trainer_run_process(const struct trainer_recipe *recipe, const struct trainer_run_options *options,
                    const struct trainer_process *process, struct trainer_error *err);

/*
 * How many iterations a run of the recipe has behind it in a file of its state. TRAINER_ENOTFOUND,
 * TRAINER_ECORRUPT; TRAINER_EINVAL if the recipe is another: all but threads, budgets and texts must
 * be what it was.
 */
TRAINER_API TRAINER_NODISCARD enum trainer_status
trainer_state_read(const char *path, const struct trainer_recipe *recipe, int32_t *iterations,
                   struct trainer_error *err);

/* ---- parts, for commands that look at a policy -------------------------------------------- */

/* One finished rollout, in memory of the struct trainer_rollouts it belongs to. */
struct trainer_rollout {
    const int32_t *tokens;   /* [length] */
    const uint8_t *mask;     /* [length] 1 = written by the policy */
    const int32_t *turn;     /* [length] turn of each such token, or episode, else -1 */
    const float *log_prob;   /* [length] at sampling, 0 elsewhere */
    const float *advantage;  /* [length], after credit was assigned, else NULL */
    const float *clip_scale; /* the same */
    const double *value;     /* [n_turns+1]: of the true answer at the prompt's end and after each
                                observation, or where each episode begins (probability, or mean log-prob), NULL without gains */
    int32_t length, prompt, n_turns; /* tokens; of the prompt; observations, or episodes but one */
    int32_t task, group;
    double reward;
    bool malformed;
    struct trainer_episode episode;
};

struct trainer_rollouts;

TRAINER_API size_t trainer_rollouts_count(const struct trainer_rollouts *rollouts);
TRAINER_API struct trainer_rollout trainer_rollouts_get(const struct trainer_rollouts *rollouts,
                                                        size_t i);
TRAINER_API void trainer_rollouts_free(struct trainer_rollouts *rollouts);

/*
 * Rollouts of a policy on n_questions questions of every task, with gains and credit as in an
 * iteration of training; flags are the rule-based judge's. params are of recipe->model.
 */
TRAINER_API TRAINER_NODISCARD enum trainer_status
trainer_sample(struct trainer_rollouts **rollouts, const struct trainer_recipe *recipe,
               const float *params, int32_t n_questions, uint64_t seed, struct trainer_error *err);

/*
 * Answer the recipe's evaluation questions samples times each, from sampling seed on; correct
 * [questions * tasks] receives how often each was answered right.
 */
TRAINER_API TRAINER_NODISCARD enum trainer_status
trainer_evaluate(const struct trainer_recipe *recipe, const float *params, int32_t samples,
                 uint64_t seed, double temperature, int64_t *correct, struct trainer_error *err);

/*
 * Answer some of those questions once: which [n], ascending, are indices into correct above; right
 * [n] receives 1 or 0. A question is answered as trainer_evaluate answers it with the same seed, up
 * to the rounding of sums of other length.
 */
TRAINER_API TRAINER_NODISCARD enum trainer_status
trainer_evaluate_some(const struct trainer_recipe *recipe, const float *params, size_t n,
                      const size_t *which, uint64_t seed, double temperature, uint8_t *right,
                      struct trainer_error *err);

#ifdef __cplusplus
}
#endif

#endif
