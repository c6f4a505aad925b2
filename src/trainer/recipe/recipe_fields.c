/*
 * recipe_fields.c: the table itself, with one line per setting. Parsing, ranges, defaults, text, schema and rows
 * all read it, so that a setting added here is added everywhere. Numbers are doubles in the table, whatever the
 * member's type: every int32 and every seed below 2^53 is exact.
 */
#include "recipe/recipe_fields.h"

#include <math.h>
#include <string.h>

#include <rlcore/loss.h>

#define COUNT(array) (sizeof(array) / sizeof *(array))

#define FROM(x)                                                                                    \
    {                                                                                              \
        (x), false                                                                                 \
    }
#define ABOVE(x)                                                                                   \
    {                                                                                              \
        (x), true                                                                                  \
    }
#define TO(x)                                                                                      \
    {                                                                                              \
        (x), false                                                                                 \
    }
#define BELOW(x)                                                                                   \
    {                                                                                              \
        (x), true                                                                                  \
    }
#define NO_LIMIT                                                                                   \
    {                                                                                              \
        INFINITY, true                                                                             \
    }

#define AT(member) offsetof(OWNER, member), sizeof((OWNER *)0)->member
#define OBJECT(path, text)                                                                         \
    {                                                                                              \
        path, RECIPE_OBJECT, 0, 0, 0, FROM(0), TO(0), NULL, NULL, text                             \
    }
/*
 * Left out of the text while all of its settings are at their defaults, so that recipes from before it existed keep
 * their identity.
 */
#define LATER_OBJECT(path, text)                                                                   \
    {                                                                                              \
        path, RECIPE_OBJECT, 0, 0, 1, FROM(0), TO(0), NULL, NULL, text                             \
    }
#define BOOL(path, member, value, text)                                                            \
    {                                                                                              \
        path, RECIPE_BOOL, AT(member), value, FROM(0), TO(1), NULL, NULL, text                     \
    }
#define INT(path, member, value, low, high, text)                                                  \
    {                                                                                              \
        path, RECIPE_INT, AT(member), value, low, high, NULL, NULL, text                           \
    }
#define SEED(path, member, value, text)                                                            \
    {                                                                                              \
        path, RECIPE_SEED, AT(member), value, FROM(0), TO(0x1p53 - 1), NULL, NULL, text            \
    }
#define REAL(path, member, value, low, high, text)                                                 \
    {                                                                                              \
        path, RECIPE_REAL, AT(member), value, low, high, NULL, NULL, text                          \
    }
#define CHOICE(path, member, names, value, text)                                                   \
    {                                                                                              \
        path, RECIPE_CHOICE, AT(member), value, FROM(0), TO(COUNT(names) - 2), names, NULL, text   \
    }
#define TEXT(path, member, value, text)                                                            \
    {                                                                                              \
        path, RECIPE_TEXT, AT(member), 0, FROM(0), TO(0), NULL, value, text                        \
    }

static const char *const environments[] = {"hopworld", "reverse", "slots", "ledger", "sums", NULL};
static const char *const gains[] = {"prob", "log_prob", NULL};
static const char *const length_penalties[] = {"none", "uniform", "group", "anchor", NULL};
static const char *const group_sizes[] = {"equal", "solved", "mixed", NULL};
static const char *const prefix_values[] = {"policy", "continuations", NULL};
static const char *const distill_hows[] = {"none", "advantage", "loss", NULL};
static const char *const distill_teachers[] = {"checkpoint", "policy", NULL};
static const char *const shown[] = {"fact", "demonstration", NULL};
static const char *const adca_schemes[] = {"decouple", "allocation", NULL};
static const char *const adca_outcomes[] = {"last_step", "all_steps", "only", NULL};
static const char *const schedules[] = {"constant", "linear", "cosine", "adaptive", NULL};
static const char *const losses[] = {"ppo",      "turn",      "gspo", "cispo", "sapo", "gpg",
                                     "geo_mean", "reinforce", "dppo", "ipo",   "compose", NULL};
static const char *const aggregations[] = {"token-mean", "seq-mean-token-sum",
                                           "seq-mean-token-mean", "seq-mean-token-sum-norm", NULL};
static const char *const precisions[] = {"float", "bf16", "int8", NULL};
static const char *const corrections[] = {"none", "tis", "decoupled", "recompute", NULL};
static const char *const kl_places[] = {"loss", "weighted", "reward", NULL};
static const char *const kl_estimators[] = {"k1", "abs", "k2", "k3", NULL};
static const char *const opsm_units[] = {"none", "rollout", "turn", NULL};
static const char *const replays[] = {"none", "R2", "R3", NULL};
static const char *const levels[] = {"token", "sequence", NULL};
static const char *const judge_skips[] = {"none", "small_adv", "all_neg", NULL};
static const char *const unjudged[] = {"neutral", "outcome", NULL};

_Static_assert(COUNT(environments) == TRAINER_N_ENVS + 1, "a name for every environment");
_Static_assert(COUNT(losses) == TRAINER_N_LOSSES + 1, "a name for every loss");

/*
 * A placeholder: the default is the core's (rl_algorithm_default) and may differ by algorithm;
 * trainer_algorithm_init sets it.
 */
#define THE_CORES 0

#define OWNER struct trainer_recipe
/*
 * The order is that of the text, of the schema and of a person's reading: what the trial is, its world and model,
 * what it starts from, how it trains, how it is scored, what it may use. Upper bounds are far above anything
 * sensible, to catch numbers of another kind; recipe_check.c decides whether settings fit together.
 */
static const struct recipe_field root[] = {
    TEXT("name", name, "trial", "What the trial is called; becomes its specialist."),
    TEXT("domain", domain, "multi-hop-qa", "What the policy is trained for."),
    TEXT("hypothesis", hypothesis, "", "Why the trial is run."),
    TEXT("expected_delta", expected_delta, "", "What it should bring, e.g. '+0.02 EM'."),
    SEED("seed", seed, 1, "Fixes initial weights, demonstrations, questions and sampling."),
    INT("threads", threads, 0, FROM(0), TO(1024),
        "Threads; 0 = all processors. Changes no number."),

    OBJECT("world", "The tokens: entities in regions, and relations between them."),
    INT("world.regions", world.regions, 16, FROM(1), TO(4096), "Regions."),
    INT("world.region_size", world.region_size, 6, FROM(1), TO(4096), "Entities per region."),
    INT("world.relations", world.relations, 16, FROM(2), TO(4096),
        "Relations; the lower half stay inside a region."),

    OBJECT("model", "The policy: a decoder-only transformer."),
    INT("model.width", model.width, 64, FROM(2), TO(4096), "Width; a multiple of 2 * heads."),
    INT("model.layers", model.layers, 2, FROM(1), TO(64), "Layers."),
    INT("model.heads", model.heads, 2, FROM(1), TO(64), "Attention heads."),
    INT("model.mlp", model.mlp, 256, FROM(1), TO(16384), "Hidden units of each MLP."),
    REAL("model.rope_base", model.rope_base, 1000, ABOVE(1), TO(1e9),
         "Base of the rotary positions."),
    BOOL("model.previous_token", model.previous_token, true,
         "Add a second embedding, of the token before, at each position."),
    LATER_OBJECT("model.experts", "A mixture of experts in the place of each MLP."),
    INT("model.experts.count", model.experts, 0, FROM(0), TO(1024),
        "Experts of each layer, model.mlp hidden units each; 0 = one MLP."),
    INT("model.experts.per_token", model.experts_per_token, 2, FROM(1), TO(1024),
        "Experts that a token goes to, those of the largest router logits."),
    BOOL("model.experts.renormalise", model.renormalise, true,
         "Weights are a softmax over the chosen experts; else their shares of that over all."),
    REAL("model.experts.balance", balance, 0.01, FROM(0), NO_LIMIT,
         "Weight of the load-balancing loss, in the warm start as well."),

    OBJECT("start", "What training starts from."),
    TEXT("start.checkpoint", checkpoint, "", "A checkpoint; without one the warm start is run."),
    OBJECT("start.warm_start", "Supervised training on noisy demonstrations."),
    INT("start.warm_start.steps", warm_start.steps, 450, FROM(0), TO(1000000),
        "Steps; 0 = start from random weights."),
    INT("start.warm_start.batch", warm_start.batch, 128, FROM(1), TO(65536),
        "Demonstrations per step."),
    REAL("start.warm_start.lr", warm_start.learning_rate, 4e-3, FROM(0), TO(10),
         "Highest learning rate; falls along a cosine to 5 %."),
    REAL("start.warm_start.matrix_rate", warm_start.matrix_rate, 0.02, FROM(0), TO(10),
         "Learning rate of Muon for the matrices of the layers; 0 = AdamW for them as well."),
    INT("start.warm_start.warmup", warm_start.warmup, 50, FROM(0), TO(1000000),
        "Steps of linear warm-up."),
    INT("start.warm_start.k_min", warm_start.k_min, 2, FROM(1), TO(TRAINER_HOPS_MAX),
        "Fewest hops of hopworld's demonstrations."),
    INT("start.warm_start.k_max", warm_start.k_max, 5, FROM(1), TO(TRAINER_HOPS_MAX),
        "Most hops; k_min..k_max must cover every environment trained on."),
    OBJECT("start.warm_start.demonstrator", "How the demonstrator errs."),
    REAL("start.warm_start.demonstrator.p_stop", warm_start.demo.p_stop, 0.12, FROM(0), TO(1),
         "Probability per turn of answering early."),
    REAL("start.warm_start.demonstrator.p_wrong", warm_start.demo.p_wrong, 0.3, FROM(0), TO(1),
         "Probability of following a fact that was not asked for; slots, ledger and sums: of a "
         "useless call."),
    REAL("start.warm_start.demonstrator.p_needless", warm_start.demo.p_needless, 0.1, FROM(0),
         TO(1), "Probability of calling on when done."),
    REAL("start.warm_start.demonstrator.p_hindsight", warm_start.demo.p_hindsight, 0.5, FROM(0),
         TO(1), "Probability of answering right after stopping short."),
    REAL("start.warm_start.demonstrator.p_belief", warm_start.demo.p_belief, 0.3, FROM(0), TO(1),
         "Share of demonstrations cut at the end of a turn and answered at once."),

    LATER_OBJECT("start.warm_start.shown", "Worked solutions in front of demonstrations."),
    REAL("start.warm_start.shown.share", warm_start.shown, 0, FROM(0), TO(1),
         "Share of demonstrations that follow a solution of the same question."),

    {"environments", RECIPE_TASKS, 0, 0, 0, FROM(1), TO(TRAINER_ENVS_MAX), NULL, NULL,
     "What is trained on, each environment with an algorithm of its own."},

    OBJECT("training", "Rollouts and updates."),
    INT("training.iterations", training.iterations, 120, FROM(0), TO(1000000),
        "Iterations; 0 = the start only."),
    INT("training.group_size", training.group_size, 8, FROM(1), TO(1024), "Rollouts per question."),
    INT("training.epochs", training.epochs, 2, FROM(1), TO(1024), "Passes over the rollouts."),
    INT("training.minibatch", training.minibatch, 64, FROM(1), TO(1048576), "Rollouts per update."),
    REAL("training.lr", training.learning_rate, 3e-4, FROM(0), TO(10), "Of AdamW."),
    INT("training.warmup", training.warmup, 0, FROM(0), TO(1000000), "Updates of linear warm-up."),
    REAL("training.final_rate", training.final_rate, 1, FROM(0), TO(1),
         "Share of the learning rate at the end of a cosine; 1 = constant."),
    REAL("training.adam_beta1", training.adam_beta1, 0.9, FROM(0), BELOW(1), "Decay of the mean."),
    REAL("training.adam_beta2", training.adam_beta2, 0.95, FROM(0), BELOW(1),
         "Decay of the square."),
    REAL("training.weight_decay", training.weight_decay, 0, FROM(0), TO(10), "Weight decay."),
    REAL("training.clip_norm", training.clip_norm, 1, ABOVE(0), NO_LIMIT,
         "Largest norm of a gradient."),
    REAL("training.temperature", training.temperature, 1, ABOVE(0), TO(100), "Of sampling."),

    LATER_OBJECT("micro_batch", "What goes through the network at a time."),
    INT("micro_batch.tokens", micro_batch.tokens, 0, FROM(0), TO(16777216),
        "Tokens of one at most, packed by length; 0 = 8 rollouts as they come."),
    REAL("micro_batch.activation_bytes", micro_batch.activation_bytes, 0, FROM(0), NO_LIMIT,
         "Activations kept for the way back, in bytes; what does not fit is computed once more. 0 = "
         "all. Changes no number."),

    OBJECT("loss", "The policy loss."),
    CHOICE("loss.name", loss.name, losses, TRAINER_LOSS_PPO, "Which loss."),
    CHOICE("loss.aggregation", loss.aggregation, aggregations, TRAINER_TOKEN_MEAN,
           "How token losses become one number; dppo and ipo know token-mean only."),
    REAL("loss.clip_low", loss.clip_low, 0.2, FROM(0), NO_LIMIT, "Clip range below 1."),
    REAL("loss.clip_high", loss.clip_high, 0.28, FROM(0), NO_LIMIT, "Clip range above 1."),
    REAL("loss.clip_c", loss.clip_c, 3, ABOVE(1), NO_LIMIT, "Dual clip of ppo."),
    REAL("loss.kl_coef", loss.kl_coef, 0, FROM(0), NO_LIMIT,
         "Weight of the k3 estimate of the KL divergence from the start."),

    LATER_OBJECT("value", "ppo: the values that advantages are made with."),
    REAL("value.coef", value.coef, 0.5, FROM(0), NO_LIMIT, "Weight of their loss."),
    REAL("value.cliprange", value.clip, 0.2, FROM(0), NO_LIMIT,
         "How far one may move from what it was at sampling."),
    REAL("value.lr", value.learning_rate, 0, FROM(0), TO(10),
         "Learning rate of the value head; 0 = that of training."),

    OBJECT("sampler", "Who samples: the learner at a lower precision, or some iterations ago."),
    CHOICE("sampler.precision", sampler.precision, precisions, TRAINER_FLOAT,
           "Precision of the sampler's weights."),
    INT("sampler.staleness", sampler.staleness, 0, FROM(0), TO(64),
        "Age of its weights, iterations."),
    INT("sampler.max_staleness", sampler.max_staleness, -1, FROM(-1), TO(1000000),
        "Oldest rollouts that are trained on; -1 = all."),

    OBJECT("correction", "What is done about rollouts that the learner did not sample."),
    CHOICE("correction.name", correction.name, corrections, TRAINER_CORRECTION_NONE,
           "Nothing, truncated importance sampling, decoupled PPO, or old log-probs recomputed."),
    CHOICE("correction.level", correction.sequence_level, levels, false,
           "Importance weights per token or per sequence."),
    REAL("correction.cap", correction.cap, 2, ABOVE(0), NO_LIMIT, "Largest importance weight."),
    TEXT("correction.reject", correction.reject, "",
         "Rejection by decoupled, e.g. 'token_k1,seq_max_k2'."),
    TEXT("correction.reject_threshold", correction.reject_threshold, "",
         "Its bounds, one for all or one each, e.g. '0.5_2,1.5'."),

    LATER_OBJECT("kl", "How loss.kl_coef is used."),
    CHOICE("kl.place", loss.kl_place, kl_places, TRAINER_KL_LOSS,
           "In the loss; there weighted by min(r k, clip(r) k); or off the reward."),
    CHOICE("kl.estimator", loss.kl_estimator, kl_estimators, RL_KL_K3, "Of a token's KL."),

    LATER_OBJECT("opsm", "Off-policy sequence masking: by the policy now over the sampler."),
    CHOICE("opsm.unit", loss.opsm.unit, opsm_units, TRAINER_OPSM_NONE, "What is dropped as a whole."),
    BOOL("opsm.per_token", loss.opsm.per_token, true,
         "The geometric mean of the ratios is bounded, else their product."),
    REAL("opsm.lower", loss.opsm.lower, 0.5, FROM(0), NO_LIMIT, "Smallest ratio that is kept."),
    REAL("opsm.upper", loss.opsm.upper, 2, ABOVE(0), NO_LIMIT, "Largest ratio that is kept."),
    BOOL("opsm.negative_only", loss.opsm.negative_only, true,
         "Only what has a negative advantage is dropped."),

    LATER_OBJECT("compose", "Of the loss compose: engine, staleness and update apart."),
    REAL("compose.backend_cap", loss.compose.backend_cap, 2, ABOVE(0), NO_LIMIT,
         "Largest weight learner / sampler at the sampler's weights."),
    REAL("compose.staleness_cap", loss.compose.staleness_cap, 0, FROM(0), NO_LIMIT,
         "Largest weight of the learner before the updates over the sampler's weights; 0 = none."),
    BOOL("compose.per_turn", loss.compose.per_turn, false, "One ratio per turn."),

    LATER_OBJECT("after_tool", "What the policy writes after the tool first answered."),
    BOOL("after_tool.own_clip", loss.after_tool.own_clip, false,
         "A clip range of its own, and telemetry; with ppo or cispo, means over tokens."),
    REAL("after_tool.clip_low", loss.after_tool.clip_low, 0.2, FROM(0), NO_LIMIT,
         "Clip range below 1."),
    REAL("after_tool.clip_high", loss.after_tool.clip_high, 0.28, FROM(0), NO_LIMIT,
         "Clip range above 1."),

    LATER_OBJECT("routing", "Where the tokens of a mixture of experts go in training."),
    CHOICE("routing.replay", replay, replays, TRAINER_REPLAY_NONE,
           "Nothing replayed, the learner's routes before the updates, or the sampler's."),

    LATER_OBJECT("judge",
                 "Who flags steps for adca: the environment's rules, or a language model."),
    TEXT("judge.endpoint", judge.endpoint, "",
         "An OpenAI-compatible chat endpoint, e.g. 'http://127.0.0.1:8000/v1'; without one the "
         "rules."),
    TEXT("judge.model", judge.model, "", "The model's name there."),
    TEXT("judge.key_env", judge.key_env, "LINEAGE_JUDGE_KEY",
         "Environment variable that holds the key; the key itself is never written anywhere."),
    TEXT("judge.prompt", judge.prompt, "",
         "File with another wording ('lineage judge --print-prompt')."),
    TEXT("judge.cache", judge.cache, "",
         "File of earlier answers; without one judge-cache.jsonl in the store."),
    INT("judge.concurrency", judge.concurrency, 8, FROM(1), TO(256), "Requests at once."),
    INT("judge.max_tokens", judge.max_tokens, 8192, FROM(0), TO(1000000),
        "Tokens of an answer; 0 = not said."),
    REAL("judge.deadline", judge.deadline, 300, ABOVE(0), TO(86400),
         "Seconds for a rollout, all attempts together."),
    REAL("judge.timeout", judge.timeout, 120, ABOVE(0), TO(86400), "Seconds for one attempt."),
    REAL("judge.backoff", judge.backoff, 0.5, FROM(0), TO(3600),
         "Seconds before a second attempt; doubled for each further one."),
    CHOICE("judge.skip", judge.skip, judge_skips, TRAINER_JUDGE_SMALL_ADV,
           "Rollouts that are not judged: none, those of no advantage, or failures."),
    CHOICE("judge.unjudged", judge.unjudged, unjudged, TRAINER_UNJUDGED_NEUTRAL,
           "What steps without flags get: nothing, or the outcome's flag."),
    REAL("judge.max_failed_share", judge.max_failed_share, 0.2, FROM(0), TO(1),
         "Share of an iteration's rollouts without an answer beyond which the trial ends."),
    REAL("judge.wrong", judge.wrong, 0, FROM(0), TO(1),
         "Share of flags that are turned round, for experiments."),

    OBJECT("evaluation",
           "How well the policy does, on questions that are the same for every trial."),
    INT("evaluation.questions", evaluation.questions, 512, FROM(1), TO(1000000),
        "Questions of each environment."),
    SEED("evaluation.question_seed", evaluation.question_seed, 777, "Which questions."),
    INT("evaluation.every", evaluation.every, 10, FROM(0), TO(1000000),
        "Iterations between evaluations; 0 = only at the end."),
    INT("evaluation.seeds", evaluation.seeds, 4, FROM(1), TO(64),
        "Sampling seeds of the final score."),
    REAL("evaluation.temperature", evaluation.temperature, 1, FROM(0), TO(100), "0 = greedy."),

    LATER_OBJECT("row", "What a row names beside its score; telemetry has all of it."),
    BOOL("row.ends", row.ends, false, "Pass rate and length of easy and of hard questions."),
    BOOL("row.passk", row.passk, false, "pass@k, k being evaluation.seeds."),
    LATER_OBJECT("cost", "What the row says of the time that was taken, which no two runs agree in."),
    BOOL("cost.phases", row.phases, false,
         "Seconds of an iteration: generation, gains and updates."),

    OBJECT("budget", "What the trial may use; 0 = no limit."),
    REAL("budget.train_seconds", budget.train_seconds, 0, FROM(0), NO_LIMIT,
         "Wall time of training."),
    REAL("budget.eval_seconds", budget.eval_seconds, 0, FROM(0), NO_LIMIT,
         "Wall time of the final evaluation."),
    REAL("budget.artifact_bytes", budget.artifact_bytes, 0, FROM(0), NO_LIMIT,
         "Size of the checkpoint."),
    REAL("budget.memory_bytes", budget.memory_bytes, 0, FROM(0), NO_LIMIT,
         "Bound of the run's memory."),
};
#undef OWNER

#define OWNER struct trainer_task
static const struct recipe_field task[] = {
    CHOICE("name", env.kind, environments, TRAINER_HOPWORLD, "Which environment."),
    INT("questions", questions, 32, FROM(1), TO(65536), "Questions per iteration."),
    INT("k_min", env.k_min, 3, FROM(1), TO(TRAINER_HOPS_MAX),
        "Fewest hops, slots, entries or sums of a question; shortest string to reverse."),
    INT("k_max", env.k_max, 5, FROM(1), TO(TRAINER_HOPS_MAX),
        "Most hops, slots, entries or sums of a question; longest string to reverse."),
    INT("max_turns", env.max_turns, 7, FROM(0), TO(TRAINER_TURNS_MAX),
        "Calls of the tool allowed."),
    INT("facts", env.facts, 2, FROM(1), TO(TRAINER_FACTS_MAX),
        "Facts per answer of the tool, one of them the one asked for."),
    REAL("p_fail", env.p_fail, 0.1, FROM(0), TO(1), "Probability that the tool finds nothing."),

    LATER_OBJECT("pool", "Whether questions come again."),
    INT("pool.questions", pool, 0, FROM(0), TO(1048576),
        "Iterations go round a pool of so many; 0 = every iteration has new ones."),

    LATER_OBJECT("allocation", "Which questions of a pool are asked."),
    REAL("allocation.hardness", hardness, 0, FROM(0), TO(64),
         "Drawn with weights (1 - pass rate)^hardness, by a Beta-binomial fit; 0 = in turn."),

    LATER_OBJECT("groups", "How many rollouts each question of a pool gets."),
    CHOICE("groups.sizes", sizes, group_sizes, TRAINER_GROUPS_EQUAL,
           "training.group_size each, or as many in all, so that by the same fit most questions "
           "get a right answer, or most groups a right and a wrong one."),
    INT("groups.least", least, 2, FROM(1), TO(1024), "Rollouts of the smallest group."),

    OBJECT("algorithm", "Where advantages come from, and what a rollout trains."),
    {"algorithm.name", RECIPE_ALGORITHM, AT(algorithm.name), RL_ALGORITHM_GRPO, FROM(0),
     TO(RL_N_ALGORITHMS - 1), NULL, NULL, "Which algorithm."},
    REAL("algorithm.alpha", algorithm.alpha, THE_CORES, FROM(0), TO(100),
         "Weight of the process advantage."),
    REAL("algorithm.gamma", algorithm.gamma, THE_CORES, FROM(0), TO(1), "Discount per turn."),
    REAL("algorithm.beta", algorithm.beta, THE_CORES, FROM(0), TO(1),
         "Reach of the adaptive clip scale; 0 turns it off."),
    BOOL("algorithm.norm_by_std", algorithm.norm_by_std, THE_CORES,
         "Divide by the standard deviation."),
    REAL("algorithm.epsilon", algorithm.epsilon, THE_CORES, FROM(0), TO(1),
         "Added to what is divided by."),
    REAL("algorithm.advantage_scale", algorithm.advantage_scale, 1, FROM(0), TO(1e6),
         "Multiplies every advantage."),
    CHOICE("algorithm.gain", algorithm.gain, gains, TRAINER_GAIN_PROB,
           "Information gain as probability or mean log-prob of the true answer."),
    REAL("algorithm.decay", algorithm.decay, THE_CORES, FROM(0), TO(1), "Of the moving baseline."),
    REAL("algorithm.echo_weight", algorithm.echo_weight, THE_CORES, FROM(0), TO(1e6),
         "Weight of the tool's tokens."),
    INT("algorithm.prm_steps", algorithm.prm_steps, THE_CORES, FROM(0), TO(1000000),
        "Iterations for which the judge is asked; 0 = all."),
    TEXT("algorithm.teacher", algorithm.teacher, "",
         "Checkpoint of opd's teacher or of sft's source."),
    CHOICE("algorithm.length_penalty", algorithm.length_penalty, length_penalties,
           TRAINER_LENGTH_NONE, "Reward less for long responses."),
    REAL("algorithm.length_coef", algorithm.length_coef, 0, FROM(0), TO(1e6),
         "Weight of the length penalty; 0 = its custom."),
    LATER_OBJECT("algorithm.length", "How a length penalty comes in."),
    INT("algorithm.length.warmup", algorithm.length.warmup, 0, FROM(0), TO(1000000),
        "Iterations over which its weight rises along a line; 0 = all of it at once."),
    LATER_OBJECT("algorithm.passk", "pass@k as reward."),
    INT("algorithm.passk.k", algorithm.passk.k, 1, FROM(1), TO(1024),
        "Rollouts of a group that share the reward of their best; divides training.group_size."),
    LATER_OBJECT("algorithm.prefix", "What the value of a prefix is, whose changes are gains."),
    CHOICE("algorithm.prefix.value", algorithm.prefix.value, prefix_values, TRAINER_PREFIX_POLICY,
           "The policy's own probability of the true answer, or how often it gets there."),
    INT("algorithm.prefix.continuations", algorithm.prefix.continuations, 4, FROM(1), TO(1024),
        "Rollouts that go on from each prefix, for that share."),
    LATER_OBJECT("algorithm.episodes", "Where a rollout falls into what gets credit of its own."),
    TEXT("algorithm.episodes.markers", algorithm.episodes.markers, "",
         "Before each of these tokens, e.g. 'S,ANS'; without them by turns."),
    LATER_OBJECT("algorithm.distill", "A teacher for the rollouts that failed."),
    CHOICE("algorithm.distill.how", algorithm.distill.how, distill_hows, TRAINER_DISTILL_NONE,
           "Not at all, as their advantage (K1), or as a loss beside the policy loss (K2)."),
    CHOICE("algorithm.distill.teacher", algorithm.distill.teacher, distill_teachers,
           TRAINER_TEACHER_CHECKPOINT,
           "algorithm.teacher, or the live policy that is shown more."),
    CHOICE("algorithm.distill.shown", algorithm.distill.shown, shown, TRAINER_SHOWN_FACT,
           "What the live policy is shown, also as opsd's teacher: the last hop's fact, or a "
           "worked solution."),
    REAL("algorithm.distill.pass_rate", algorithm.distill.pass_rate, 1, FROM(0), TO(1),
         "Only in groups with at most this share of rewarded rollouts."),
    INT("algorithm.distill.horizon", algorithm.distill.horizon, 0, FROM(0), TO(1000000),
        "Only the first tokens of a rollout; 0 = all."),
    BOOL("algorithm.distill.normalise", algorithm.distill.normalise, true,
         "advantage: z-scores over what is taught, apart from the algorithm's own."),
    REAL("algorithm.distill.coef", algorithm.distill.coef, 1, FROM(0), TO(1e6), "Weight."),
    LATER_OBJECT("algorithm.adca", "How adca makes step rewards of flags."),
    CHOICE("algorithm.adca.scheme", algorithm.adca.scheme, adca_schemes, TRAINER_ADCA_DECOUPLE,
           "A fixed reward for each flag, or shares of the outcome by flag."),
    CHOICE("algorithm.adca.outcome", algorithm.adca.outcome, adca_outcomes, TRAINER_ADCA_LAST_STEP,
           "Where the outcome goes; only: nowhere, step rewards alone (decouple)."),
    REAL("algorithm.adca.fix_base", algorithm.adca.fix_base, 0.2, FROM(0), TO(1e6),
         "decouple: reward of a GOOD step; of a BAD one with the other sign."),
    REAL("algorithm.adca.consistent_scale", algorithm.adca.consistent_scale, 1, FROM(0), TO(1e6),
         "allocation: weight of steps whose flag agrees with the outcome."),
    REAL("algorithm.adca.pos_unconsistent_scale", algorithm.adca.pos_unconsistent_scale, 0.2,
         FROM(0), TO(1e6), "allocation: weight of BAD steps of a success."),
    REAL("algorithm.adca.neg_unconsistent_scale", algorithm.adca.neg_unconsistent_scale, 0.2,
         FROM(0), TO(1e6), "allocation: weight of GOOD steps of a failure."),
    BOOL("algorithm.adca.batch_norm", algorithm.adca.batch_norm, true,
         "z-scores of step rewards within the group."),
    BOOL("algorithm.adca.equal_trajectory_weight", algorithm.adca.equal_trajectory_weight, true,
         "In those every rollout weighs alike; else every step does."),
    BOOL("algorithm.adca.length_normalisation", algorithm.adca.length_normalisation, false,
         "decouple: divide by the square root of the number of steps."),
    LATER_OBJECT("algorithm.outcome", "adca: the outcome beside step rewards."),
    REAL("algorithm.outcome.weight", algorithm.adca.outcome_weight, 1, FROM(0), TO(1e6),
         "beta: the normalised outcome is multiplied by it."),
    LATER_OBJECT("algorithm.schedule", "How alpha and beta change over the iterations."),
    CHOICE("algorithm.schedule.kind", algorithm.schedule.kind, schedules, TRAINER_CONSTANT,
           "Along a line or a cosine, or not at all; turn-group-v1d: alpha by the spreads of a batch."),
    REAL("algorithm.schedule.alpha_end", algorithm.schedule.alpha_end, 0, FROM(0), TO(100),
         "alpha at the end."),
    REAL("algorithm.schedule.beta_end", algorithm.schedule.beta_end, 0, FROM(0), TO(1),
         "beta at the end."),
    LATER_OBJECT("algorithm.gae", "ppo: generalised advantage estimation."),
    REAL("algorithm.gae.lam", algorithm.lam, 1, FROM(0), TO(1),
         "lambda: 1 = the whole return, 0 = one token ahead."),
    LATER_OBJECT("algorithm.hierarchy", "hierarchical_grpo: what the rows of an episode share."),
    INT("algorithm.hierarchy.branches", algorithm.hierarchy.branches, 2, FROM(1), TO(1024),
        "Rows of an episode; must divide training.group_size."),
    INT("algorithm.hierarchy.turns", algorithm.hierarchy.turns, 1, FROM(1), TO(TRAINER_TURNS_MAX),
        "Turns that they share."),
};
#undef OWNER

const struct recipe_table recipe_root = {root, COUNT(root)};
const struct recipe_table recipe_task = {task, COUNT(task)};

const struct recipe_field *recipe_find(const struct recipe_table *table, const char *path)
{
    for (size_t i = 0; i < table->n; i++)
        if (strcmp(table->fields[i].path, path) == 0)
            return &table->fields[i];
    return NULL;
}

const char *recipe_key(const struct recipe_field *field)
{
    const char *dot = strrchr(field->path, '.');
    return dot ? dot + 1 : field->path;
}

/* Direct members only: an object inside the object prints its own members. */
bool recipe_is_in(const struct recipe_field *field, const char *parent)
{
    size_t length = strlen(parent);
    size_t own = (size_t)(recipe_key(field) - field->path);
    return length == 0 ? own == 0 : own == length + 1 && strncmp(field->path, parent, length) == 0;
}

size_t recipe_depth(const struct recipe_field *field)
{
    size_t depth = 0;
    for (const char *p = field->path; *p; p++)
        depth += *p == '.';
    return depth;
}

const char *recipe_choice(const struct recipe_field *field, size_t i)
{
    const struct rl_algorithm *algorithm = rl_algorithm_at(i);
    if (field->kind == RECIPE_CHOICE)
        return field->choices[i];
    return algorithm ? algorithm->name : NULL;
}

bool recipe_offers(const struct recipe_field *field, size_t i)
{
    const unsigned missing = RL_NEED_CALLBACK;
    return field->kind != RECIPE_ALGORITHM || !(rl_algorithm_at(i)->needs & missing);
}

void trainer_algorithm_init(struct trainer_algorithm *algorithm, uint32_t name)
{
    const struct rl_algorithm *row = rl_algorithm_at(name);
    algorithm->name = name;
    algorithm->alpha = rl_algorithm_default(row, "alpha");
    algorithm->gamma = rl_algorithm_default(row, "gamma");
    algorithm->beta = rl_algorithm_default(row, "beta");
    algorithm->norm_by_std = rl_algorithm_default(row, "norm_by_std") > 0;
    algorithm->epsilon = rl_algorithm_default(row, "epsilon");
    algorithm->decay = rl_algorithm_default(row, "decay");
    algorithm->echo_weight = rl_algorithm_default(row, "echo_weight");
    algorithm->lam = rl_algorithm_default(row, "lam");
    algorithm->prm_steps = (int32_t)rl_algorithm_default(row, "prm_steps");
}
