/*
 * recipe_fields.c: the table itself, with one line per setting. Parsing, ranges, defaults, text, schema and rows
 * all read it, so that a setting added here is added everywhere. Numbers are doubles in the table, whatever the
 * member's type, because every int32 and every seed below 2^53 is exact in a double.
 */
#include "recipe/recipe_fields.h"

#include <math.h>
#include <string.h>

#include <rlcore/loss.h>

#define COUNT(array) (sizeof(array) / sizeof *(array))

#define FROM(x) {(x), false}
#define ABOVE(x) {(x), true}
#define TO(x) {(x), false}
#define BELOW(x) {(x), true}
#define NO_LIMIT {INFINITY, true}

#define AT(member) offsetof(OWNER, member), sizeof((OWNER *)0)->member
#define OBJECT(path, text) {path, RECIPE_OBJECT, 0, 0, 0, FROM(0), TO(0), NULL, NULL, text, RECIPE_WHEN_ALWAYS}
/*
 * An object that is left out of the text while all of its settings are at their defaults, so that recipes older than
 * the object keep their identity.
 */
#define LATER_OBJECT(path, text) {path, RECIPE_OBJECT, 0, 0, 1, FROM(0), TO(0), NULL, NULL, text, RECIPE_WHEN_ALWAYS}
/*
 * Likewise, but written wherever a member is read: an earlier version had another default, and a text without the value
 * would be the same for two trials that train differently.
 */
#define MOVED_OBJECT(path, text) {path, RECIPE_OBJECT, 0, 0, 2, FROM(0), TO(0), NULL, NULL, text, RECIPE_WHEN_ALWAYS}
#define BOOL(path, member, value, text, when)                                                                                    \
    {path, RECIPE_BOOL, AT(member), value, FROM(0), TO(1), NULL, NULL, text, RECIPE_WHEN_##when}
#define INT(path, member, value, low, high, text, when)                                                                          \
    {path, RECIPE_INT, AT(member), value, low, high, NULL, NULL, text, RECIPE_WHEN_##when}
#define SEED(path, member, value, text, when)                                                                                    \
    {path, RECIPE_SEED, AT(member), value, FROM(0), TO(0x1p53 - 1), NULL, NULL, text, RECIPE_WHEN_##when}
#define REAL(path, member, value, low, high, text, when)                                                                         \
    {path, RECIPE_REAL, AT(member), value, low, high, NULL, NULL, text, RECIPE_WHEN_##when}
#define CHOICE(path, member, names, value, text, when)                                                                           \
    {path, RECIPE_CHOICE, AT(member), value, FROM(0), TO(COUNT(names) - 2), names, NULL, text, RECIPE_WHEN_##when}
#define TEXT(path, member, value, text, when)                                                                                    \
    {path, RECIPE_TEXT, AT(member), 0, FROM(0), TO(0), NULL, value, text, RECIPE_WHEN_##when}

static const char *const environments[] = {"hopworld", "reverse", "slots", "ledger", "sums", NULL};
static const char *const gains[] = {"prob", "log_prob", NULL};
static const char *const length_penalties[] = {"none", "uniform", "group", "anchor", "linear", "step", NULL};
static const char *const echo_filters[] = {"all", "content", "found", NULL};
static const char *const group_sizes[] = {"equal", "solved", "mixed", NULL};
static const char *const prefix_values[] = {"policy", "continuations", NULL};
static const char *const distill_hows[] = {"none", "advantage", "loss", NULL};
static const char *const distill_teachers[] = {"checkpoint", "policy", NULL};
static const char *const shown[] = {"fact", "demonstration", NULL};
static const char *const adca_schemes[] = {"decouple", "allocation", NULL};
static const char *const adca_outcomes[] = {"last_step", "all_steps", "only", NULL};
static const char *const schedules[] = {"constant", "linear", "cosine", "adaptive", NULL};
static const char *const losses[] = {"ppo",     "turn", "gspo",  "cispo", "sapo", "gpg", "geo_mean", "reinforce", "dppo_tv",
                                     "dppo_kl", "dro",  "vespo", "luspo", "dppo", "ipo", "compose",  NULL};
static const char *const aggregations[] = {"token-mean", "seq-mean-token-sum", "seq-mean-token-mean", "seq-mean-token-sum-norm",
                                           NULL};
static const char *const precisions[] = {"float", "bf16", "int8", NULL};
static const char *const corrections[] = {"none", "tis", "decoupled", "recompute", "bypass", NULL};
static const char *const reference_kinds[] = {"start", "lagged", "ema", NULL};
static const char *const kl_places[] = {"loss", "weighted", "reward", "unbiased", NULL};
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
 * The order is that of the text and of the schema, chosen for readers: what the trial is, its world and model, its
 * start, training, scoring and limits. Upper bounds are far above sensible values and only catch gross mistakes;
 * recipe_check.c decides whether settings fit together.
 */
static const struct recipe_field root[] = {
    TEXT("name", name, "trial", "Name of the trial; recorded as its specialist.", ALWAYS),
    TEXT("domain", domain, "multi-hop-qa", "What the policy is trained for.", ALWAYS),
    TEXT("hypothesis", hypothesis, "", "Why the trial is run.", ALWAYS),
    TEXT("expected_delta", expected_delta, "", "Expected improvement, e.g. '+0.02 EM'.", ALWAYS),
    SEED("seed", seed, 1, "Decides initial weights, demonstrations, questions and sampling.", ALWAYS),
    INT("threads", threads, 0, FROM(0), TO(1024), "Number of threads; 0 = one for each processor. Changes no number.", ALWAYS),

    OBJECT("world", "The tokens: entities in regions, and relations between them."),
    INT("world.regions", world.regions, 16, FROM(1), TO(4096), "Number of regions.", ALWAYS),
    INT("world.region_size", world.region_size, 6, FROM(1), TO(4096), "Entities per region.", ALWAYS),
    INT("world.relations", world.relations, 16, FROM(2), TO(4096), "Number of relations; the lower half stay inside a region.",
        ALWAYS),

    OBJECT("model", "The policy: a decoder-only transformer."),
    INT("model.width", model.width, 64, FROM(2), TO(4096), "Width; a multiple of 2 * heads.", ALWAYS),
    INT("model.layers", model.layers, 2, FROM(1), TO(64), "Number of layers.", ALWAYS),
    INT("model.heads", model.heads, 2, FROM(1), TO(64), "Number of attention heads.", ALWAYS),
    INT("model.mlp", model.mlp, 256, FROM(1), TO(16384), "Hidden units of each MLP.", ALWAYS),
    REAL("model.rope_base", model.rope_base, 1000, ABOVE(1), TO(1e9), "Base of the rotary positions.", ALWAYS),
    BOOL("model.previous_token", model.previous_token, true, "Add a second embedding at each position: that of the token before.",
         ALWAYS),
    LATER_OBJECT("model.experts", "A mixture of experts in place of each MLP."),
    INT("model.experts.count", model.experts, 0, FROM(0), TO(1024),
        "Number of experts per layer, each with model.mlp hidden units; 0 = one MLP.", ALWAYS),
    INT("model.experts.per_token", model.experts_per_token, 2, FROM(1), TO(1024),
        "Experts that each token goes to: those with the largest router logits.", EXPERTS),
    BOOL("model.experts.renormalise", model.renormalise, true,
         "Weights are a softmax over the chosen experts; false: over all experts.", EXPERTS),
    REAL("model.experts.balance", balance, 0.01, FROM(0), NO_LIMIT, "Weight of the load-balancing loss, in the warm start too.",
         EXPERTS),

    OBJECT("start", "What training starts from."),
    TEXT("start.checkpoint", checkpoint, "", "A checkpoint; without one, training begins with the warm start.", ALWAYS),
    OBJECT("start.warm_start", "Supervised training on demonstrations with errors."),
    INT("start.warm_start.steps", warm_start.steps, 450, FROM(0), TO(1000000), "Steps; 0 = start from random weights.",
        FROM_SCRATCH),
    INT("start.warm_start.batch", warm_start.batch, 128, FROM(1), TO(65536), "Demonstrations per step.", WARM),
    REAL("start.warm_start.lr", warm_start.learning_rate, 4e-3, FROM(0), TO(10),
         "Highest learning rate; falls along a cosine to 5 %.", WARM),
    REAL("start.warm_start.matrix_rate", warm_start.matrix_rate, 0.02, FROM(0), TO(10),
         "Learning rate of Muon for the matrices of the layers; 0 = AdamW moves them too.", WARM),
    INT("start.warm_start.warmup", warm_start.warmup, 50, FROM(0), TO(1000000), "Steps of linear warm-up.", WARM),
    INT("start.warm_start.k_min", warm_start.k_min, 2, FROM(1), TO(TRAINER_HOPS_MAX), "Fewest hops of hopworld's demonstrations.",
        WARM_HOPS),
    INT("start.warm_start.k_max", warm_start.k_max, 5, FROM(1), TO(TRAINER_HOPS_MAX),
        "Most hops; k_min..k_max must cover every environment that is trained on.", HOPS),
    OBJECT("start.warm_start.demonstrator", "How often the demonstrator errs."),
    REAL("start.warm_start.demonstrator.p_stop", warm_start.demo.p_stop, 0.12, FROM(0), TO(1),
         "Probability per turn of answering too early.", WARM_TURNS),
    REAL("start.warm_start.demonstrator.p_wrong", warm_start.demo.p_wrong, 0.3, FROM(0), TO(1),
         "Probability of following a fact that was not asked for; in slots, ledger and sums: of "
         "a useless call.",
         WARM),
    REAL("start.warm_start.demonstrator.p_needless", warm_start.demo.p_needless, 0.1, FROM(0), TO(1),
         "Probability of another call when everything is known.", WARM_TURNS),
    REAL("start.warm_start.demonstrator.p_hindsight", warm_start.demo.p_hindsight, 0.5, FROM(0), TO(1),
         "Probability of answering right after stopping too early.", WARM_TURNS),
    REAL("start.warm_start.demonstrator.p_belief", warm_start.demo.p_belief, 0.3, FROM(0), TO(1),
         "Share of demonstrations that are cut after a turn and answered at once.", WARM_TURNS),

    LATER_OBJECT("start.warm_start.shown", "Worked solutions before demonstrations."),
    REAL("start.warm_start.shown.share", warm_start.shown, 0, FROM(0), TO(1),
         "Share of demonstrations that follow a worked solution of the same question.", WARM),

    {"environments", RECIPE_TASKS, 0, 0, 0, FROM(1), TO(TRAINER_ENVS_MAX), NULL, NULL,
     "What is trained on; each environment has its own algorithm.", RECIPE_WHEN_ALWAYS},

    OBJECT("training", "Rollouts and updates."),
    INT("training.iterations", training.iterations, 120, FROM(0), TO(1000000), "Number of iterations; 0 = only the start.",
        ALWAYS),
    INT("training.group_size", training.group_size, 8, FROM(1), TO(1024), "Rollouts per question.", TRAINED),
    INT("training.epochs", training.epochs, 2, FROM(1), TO(1024), "Passes over an iteration's rollouts.", TRAINED),
    INT("training.minibatch", training.minibatch, 64, FROM(1), TO(1048576), "Rollouts per update.", TRAINED),
    REAL("training.lr", training.learning_rate, 3e-4, FROM(0), TO(10), "Learning rate of AdamW.", TRAINED),
    INT("training.warmup", training.warmup, 0, FROM(0), TO(1000000), "Updates of linear warm-up.", TRAINED),
    REAL("training.final_rate", training.final_rate, 1, FROM(0), TO(1),
         "Share of the learning rate at the end of a cosine; 1 = constant.", TRAINED),
    REAL("training.adam_beta1", training.adam_beta1, 0.9, FROM(0), BELOW(1), "Decay of AdamW's first moment.", TRAINED),
    REAL("training.adam_beta2", training.adam_beta2, 0.95, FROM(0), BELOW(1), "Decay of AdamW's second moment.", TRAINED),
    REAL("training.weight_decay", training.weight_decay, 0, FROM(0), TO(10), "Weight decay.", TRAINED),
    REAL("training.clip_norm", training.clip_norm, 1, ABOVE(0), NO_LIMIT, "A gradient of larger norm is scaled down to it.",
         ALWAYS),
    REAL("training.temperature", training.temperature, 1, ABOVE(0), TO(100), "Temperature of sampling.", TRAINED),

    LATER_OBJECT("micro_batch", "How much goes through the network at a time."),
    INT("micro_batch.tokens", micro_batch.tokens, 0, FROM(0), TO(16777216),
        "At most N tokens, packed by length; 0 = 8 rollouts, in order.", ALWAYS),
    REAL("micro_batch.activation_bytes", micro_batch.activation_bytes, 0, FROM(0), NO_LIMIT,
         "Bytes of activations kept for the backward pass; those that do not fit are computed "
         "twice. 0 = keep all. Changes no number.",
         ALWAYS),

    OBJECT("loss", "The policy loss."),
    CHOICE("loss.name", loss.name, losses, TRAINER_LOSS_PPO, "Which loss.", RL),
    CHOICE("loss.aggregation", loss.aggregation, aggregations, TRAINER_TOKEN_MEAN,
           "How token losses become one number; dppo and ipo only have token-mean.", AGGREGATED | RECIPE_TRACED),
    REAL("loss.clip_low", loss.clip_low, 0.2, FROM(0), NO_LIMIT, "Clip range below 1.", CLIPPED | RECIPE_TRACED),
    REAL("loss.clip_high", loss.clip_high, 0.28, FROM(0), NO_LIMIT, "Clip range above 1.", CLIPPED | RECIPE_TRACED),
    REAL("loss.clip_c", loss.clip_c, 3, ABOVE(1), NO_LIMIT, "Dual clip of ppo; bound of the ratio in dppo_tv and dppo_kl.",
         DUAL_CLIPPED | RECIPE_TRACED),
    REAL("loss.kl_coef", loss.kl_coef, 0, FROM(0), NO_LIMIT,
         "Weight of the KL penalty towards the reference, by default the start.", TRAINED | RECIPE_TRACED),

    LATER_OBJECT("value", "ppo: the value head, from which advantages are computed."),
    REAL("value.coef", value.coef, 0.5, FROM(0), NO_LIMIT, "Weight of the value loss.", VALUES | RECIPE_TRACED),
    REAL("value.cliprange", value.clip, 0.2, FROM(0), NO_LIMIT, "How far a value may move from what it was at sampling.",
         VALUES | RECIPE_TRACED),
    REAL("value.lr", value.learning_rate, 0, FROM(0), TO(10), "Learning rate of the value head; 0 = training.lr.", VALUES),

    OBJECT("sampler", "The policy that samples: the learner at lower precision, or of an earlier "
                      "iteration."),
    CHOICE("sampler.precision", sampler.precision, precisions, TRAINER_FLOAT, "Precision of the sampler's weights.", SAMPLED),
    INT("sampler.staleness", sampler.staleness, 0, FROM(0), TO(64), "Age of its weights in iterations.", SAMPLED),
    INT("sampler.max_staleness", sampler.max_staleness, -1, FROM(-1), TO(1000000),
        "Rollouts of older weights are not trained on; -1 = no limit.", STALE),

    OBJECT("correction", "What is done about rollouts that the learner did not sample."),
    CHOICE("correction.name", correction.name, corrections, TRAINER_CORRECTION_NONE,
           "Nothing, truncated importance sampling, decoupled PPO, recomputed old log-probs, or bypass: the ratio is to the "
           "sampler, with weights and rejection from the current policy.",
           RL),
    CHOICE("correction.level", correction.sequence_level, levels, false, "Importance weights per token or per sequence.",
           WEIGHED | RECIPE_TRACED),
    REAL("correction.cap", correction.cap, 2, ABOVE(0), NO_LIMIT, "Largest importance weight.", WEIGHED | RECIPE_TRACED),
    TEXT("correction.reject", correction.reject, "",
         "Rejection by the corrections decoupled and bypass, e.g. 'token_k1,seq_max_k2'.", REJECTED | RECIPE_TRACED),
    TEXT("correction.reject_threshold", correction.reject_threshold, "",
         "Bounds of the rejection: one for all, or one each, e.g. '0.5_2,1.5'.", REJECTED | RECIPE_TRACED),

    LATER_OBJECT("icepop", "Importance weights in an interval."),
    REAL("icepop.floor", correction.floor, 0, FROM(0), NO_LIMIT,
         "Tokens whose importance weight is below this, or above correction.cap, get the weight 0; 0 = no interval.",
         WEIGHED | RECIPE_TRACED),

    LATER_OBJECT("kl", "How the KL penalty of loss.kl_coef is applied."),
    CHOICE(
        "kl.place", loss.kl_place, kl_places, TRAINER_KL_LOSS,
        "Added to the loss; added with weights min(r k, clip(r) k); subtracted from the reward; or added with the weight r, the "
        "ratio to the sampler, and the unbiased gradient (DeepSeek-V3.2).",
        KL | RECIPE_TRACED),
    CHOICE("kl.estimator", loss.kl_estimator, kl_estimators, RL_KL_K3, "Estimator of a token's KL.",
           KL_ESTIMATED | RECIPE_TRACED),
    LATER_OBJECT("kl_gradient", "The gradient of the KL penalty."),
    BOOL("kl_gradient.straight_through", loss.kl_straight_through, false,
         "The value of kl.estimator with the gradient of k2, as with a + behind verl's kl_loss_type.",
         KL_GRADIENT | RECIPE_TRACED),

    LATER_OBJECT("reference", "The policy to which the KL penalty measures the distance."),
    CHOICE("reference.kind", reference.kind, reference_kinds, TRAINER_REFERENCE_START,
           "The start; a copy of the policy that is renewed (lagged); or a moving average of the policy (ema).", KL),
    INT("reference.every", reference.every, 10, FROM(1), TO(1000000), "Iterations from one renewal to the next.", MOVING),
    REAL("reference.decay", reference.decay, 0.9, FROM(0), BELOW(1), "Weight of the old reference in the moving average.",
         AVERAGED),
    LATER_OBJECT("opsm", "Off-policy sequence masking, by the ratio of the current policy to the "
                         "sampler."),
    CHOICE("opsm.unit", loss.opsm.unit, opsm_units, TRAINER_OPSM_NONE, "The unit that is dropped as a whole.",
           RL | RECIPE_TRACED),
    BOOL("opsm.per_token", loss.opsm.per_token, true,
         "Bounds apply to the geometric mean of the ratios; false: to their product.", OPSM | RECIPE_TRACED),
    REAL("opsm.lower", loss.opsm.lower, 0.5, FROM(0), NO_LIMIT, "Smallest ratio that is kept.", OPSM | RECIPE_TRACED),
    REAL("opsm.upper", loss.opsm.upper, 2, ABOVE(0), NO_LIMIT, "Largest ratio that is kept.", OPSM | RECIPE_TRACED),
    BOOL("opsm.negative_only", loss.opsm.negative_only, true, "Only units with a negative advantage are dropped.",
         OPSM | RECIPE_TRACED),

    LATER_OBJECT("dppo", "Bounds of the loss dppo: how far a token's probability may be from the sampler's."),
    REAL("dppo.mask_low", loss.dppo.mask_low, 0.2, FROM(0), NO_LIMIT, "Downwards, where the advantage is not positive.",
         DPPO | RECIPE_TRACED),
    REAL("dppo.mask_high", loss.dppo.mask_high, 0.2, FROM(0), NO_LIMIT, "Upwards, where the advantage is positive.",
         DPPO | RECIPE_TRACED),
    MOVED_OBJECT("ipo", "The bound of the loss ipo."),
    REAL("ipo.threshold", loss.ipo.threshold, 0.1, FROM(0), NO_LIMIT,
         "How far a token's probability may be from the sampler's, in both directions.", IPO | RECIPE_TRACED),
    LATER_OBJECT("sampler_kl", "The distance to the sampler in the losses dppo and ipo."),
    REAL("sampler_kl.tau", loss.kl_tau, 1e-3, FROM(0), NO_LIMIT, "Weight of the squared log-ratio to the sampler.",
         STREAMED | RECIPE_TRACED),
    LATER_OBJECT("dro", "Settings of the loss dro."),
    REAL("dro.beta", loss.dro.beta, 0, FROM(0), NO_LIMIT, "Weight of the squared log-ratio; no default is published.",
         DRO | RECIPE_TRACED),
    LATER_OBJECT("vespo", "Settings of the loss vespo, whose weight of a rollout is w^k exp(lambda - lambda w)."),
    REAL("vespo.k_pos", loss.vespo.k_pos, 2, FROM(0), NO_LIMIT, "k where the advantage is not negative.", VESPO | RECIPE_TRACED),
    REAL("vespo.lambda_pos", loss.vespo.lambda_pos, 3, FROM(1e-4), NO_LIMIT, "lambda where the advantage is not negative.",
         VESPO | RECIPE_TRACED),
    REAL("vespo.k_neg", loss.vespo.k_neg, 3, FROM(0), NO_LIMIT, "k where the advantage is negative.", VESPO | RECIPE_TRACED),
    REAL("vespo.lambda_neg", loss.vespo.lambda_neg, 2, FROM(1e-4), NO_LIMIT, "lambda where the advantage is negative.",
         VESPO | RECIPE_TRACED),

    LATER_OBJECT("compose", "Settings of the loss compose, which separates engine, staleness and update."),
    REAL("compose.backend_cap", loss.compose.backend_cap, 2, ABOVE(0), NO_LIMIT,
         "Largest ratio of the learner's to the sampler's engine, at the sampler's weights.", COMPOSED | RECIPE_TRACED),
    REAL("compose.staleness_cap", loss.compose.staleness_cap, 0, FROM(0), NO_LIMIT,
         "Largest ratio of the learner before the updates to the sampler's weights; 0 = no cap.", COMPOSED | RECIPE_TRACED),
    BOOL("compose.per_turn", loss.compose.per_turn, false, "One ratio per turn.", COMPOSED | RECIPE_TRACED),

    LATER_OBJECT("after_tool", "What the policy writes after the tool's first answer."),
    BOOL("after_tool.own_clip", loss.after_tool.own_clip, false,
         "Use a separate clip range, reported in telemetry; needs ppo or cispo and a mean over "
         "tokens.",
         RL | RECIPE_TRACED),
    REAL("after_tool.clip_low", loss.after_tool.clip_low, 0.2, FROM(0), NO_LIMIT, "Clip range below 1.",
         OWN_CLIP | RECIPE_TRACED),
    REAL("after_tool.clip_high", loss.after_tool.clip_high, 0.28, FROM(0), NO_LIMIT, "Clip range above 1.",
         OWN_CLIP | RECIPE_TRACED),

    LATER_OBJECT("routing", "Which experts the tokens go to in training, for a mixture of experts."),
    CHOICE("routing.replay", replay, replays, TRAINER_REPLAY_NONE,
           "Replay no routes, the learner's from before the updates (R2), or the sampler's "
           "(R3).",
           EXPERTS),

    LATER_OBJECT("judge", "The judge that flags steps for adca: the environment's rules, or a language "
                          "model."),
    TEXT("judge.endpoint", judge.endpoint, "",
         "An OpenAI-compatible chat endpoint, e.g. 'http://127.0.0.1:8000/v1'; without one, the "
         "rules judge.",
         JUDGED),
    TEXT("judge.model", judge.model, "", "Name of the model at the endpoint.", ENDPOINT),
    TEXT("judge.key_env", judge.key_env, "LINEAGE_JUDGE_KEY",
         "Environment variable that holds the API key; the key itself is never written "
         "anywhere.",
         ENDPOINT),
    TEXT("judge.prompt", judge.prompt, "", "File with another wording ('lineage judge --print-prompt').", ENDPOINT),
    TEXT("judge.cache", judge.cache, "", "File of earlier answers; without one, judge-cache.jsonl in the store.", ENDPOINT),
    INT("judge.concurrency", judge.concurrency, 8, FROM(1), TO(256), "Number of parallel requests.", ENDPOINT),
    INT("judge.max_tokens", judge.max_tokens, 8192, FROM(0), TO(1000000), "Most tokens of an answer; 0 = leave it to the server.",
        ENDPOINT),
    REAL("judge.deadline", judge.deadline, 300, ABOVE(0), TO(86400), "Seconds for one rollout, all attempts together.", ENDPOINT),
    REAL("judge.timeout", judge.timeout, 120, ABOVE(0), TO(86400), "Seconds for one attempt.", ENDPOINT),
    REAL("judge.backoff", judge.backoff, 0.5, FROM(0), TO(3600),
         "Seconds before the second attempt; doubled for each further one.", ENDPOINT),
    CHOICE("judge.skip", judge.skip, judge_skips, TRAINER_JUDGE_SMALL_ADV,
           "Rollouts that are not judged: none, those with a small advantage, or failures.", ENDPOINT),
    CHOICE("judge.unjudged", judge.unjudged, unjudged, TRAINER_UNJUDGED_NEUTRAL,
           "What steps without flags get: no flag, or the outcome's flag.", ENDPOINT),
    REAL("judge.max_failed_share", judge.max_failed_share, 0.2, FROM(0), TO(1),
         "Largest share of an iteration's rollouts without an answer; beyond it the trial ends.", ENDPOINT),
    REAL("judge.wrong", judge.wrong, 0, FROM(0), TO(1), "Share of flags that are inverted, for experiments.",
         JUDGED | RECIPE_TRACED),

    OBJECT("evaluation", "Evaluation, on questions that are the same for every trial."),
    INT("evaluation.questions", evaluation.questions, 512, FROM(1), TO(1000000), "Questions of each environment.", ALWAYS),
    SEED("evaluation.question_seed", evaluation.question_seed, 777, "Seed of the questions.", ALWAYS),
    INT("evaluation.every", evaluation.every, 10, FROM(0), TO(1000000), "Iterations between evaluations; 0 = only at the end.",
        TRAINED),
    INT("evaluation.seeds", evaluation.seeds, 4, FROM(1), TO(64), "Sampling seeds of the final score.", ALWAYS),
    REAL("evaluation.temperature", evaluation.temperature, 1, FROM(0), TO(100), "Temperature of sampling; 0 = greedy.", ALWAYS),

    LATER_OBJECT("row", "What a row reports beside its score; telemetry has all of it."),
    BOOL("row.ends", row.ends, false, "Pass rate and length of easy and of hard questions.", ALWAYS),
    BOOL("row.passk", row.passk, false, "pass@k with k = evaluation.seeds.", ALWAYS),
    LATER_OBJECT("cost", "What the row reports about time; it differs from run to run."),
    BOOL("cost.phases", row.phases, false, "Seconds of an iteration: generation, gains and updates.", ALWAYS),

    LATER_OBJECT("envelope", "Memory of the run that the recipe stands for; one that does not fit is size_blocked."),
    TEXT("envelope.parts", envelope, "",
         "GB of its parts, and the capacity, e.g. 'weights=8,lora=12,kv_cache=9,retriever=5,capacity=128'; without a capacity, "
         "budget.memory_bytes.",
         ALWAYS),

    OBJECT("budget", "What the trial may use; 0 = no limit."),
    REAL("budget.train_seconds", budget.train_seconds, 0, FROM(0), NO_LIMIT, "Wall time of training.", ALWAYS),
    REAL("budget.eval_seconds", budget.eval_seconds, 0, FROM(0), NO_LIMIT, "Wall time of the final evaluation.", ALWAYS),
    REAL("budget.artifact_bytes", budget.artifact_bytes, 0, FROM(0), NO_LIMIT, "Size of the checkpoint.", ALWAYS),
    REAL("budget.memory_bytes", budget.memory_bytes, 0, FROM(0), NO_LIMIT, "Memory of the run, by its upper bound.", ALWAYS),
};
#undef OWNER

#define OWNER struct trainer_task
static const struct recipe_field task[] = {
    CHOICE("name", env.kind, environments, TRAINER_HOPWORLD, "Which environment.", ALWAYS),
    INT("questions", questions, 32, FROM(1), TO(65536), "Questions per iteration.", TRAINED),
    INT("k_min", env.k_min, 3, FROM(1), TO(TRAINER_HOPS_MAX),
        "Fewest hops, slots, entries or sums of a question; shortest string to reverse.", ALWAYS),
    INT("k_max", env.k_max, 5, FROM(1), TO(TRAINER_HOPS_MAX),
        "Most hops, slots, entries or sums of a question; longest string to reverse.", ALWAYS),
    INT("max_turns", env.max_turns, 7, FROM(0), TO(TRAINER_TURNS_MAX), "Largest number of tool calls.", TURNS),
    INT("facts", env.facts, 2, FROM(1), TO(TRAINER_FACTS_MAX),
        "Facts in the search tool's answer, one of them the one asked for.", SEARCHED),
    REAL("p_fail", env.p_fail, 0.1, FROM(0), TO(1), "Probability that the tool finds nothing.", TURNS),

    LATER_OBJECT("pool", "Whether questions return."),
    INT("pool.questions", pool, 0, FROM(0), TO(1048576),
        "Iterations cycle through a pool of N questions; 0 = new questions in every iteration.", ASKED),

    LATER_OBJECT("data", "Rollouts that were made before."),
    TEXT("data.file", data, "",
         "File of finished rollouts, one JSON object per line ('lineage train --rollouts'), in place of sampled ones.", TRAINED),

    LATER_OBJECT("allocation", "Which questions of a pool are asked."),
    REAL("allocation.hardness", hardness, 0, FROM(0), TO(64),
         "Questions are drawn with weights (1 - pass rate)^hardness, by a Beta-binomial fit; 0 "
         "= in turn, or with equal weights where drop_above or drop_below leave some out.",
         POOL),
    REAL("allocation.drop_above", drop_above, 1, FROM(0), TO(1),
         "Questions that passed more often than this in their last group are not asked again while there are enough others.",
         POOL),
    REAL("allocation.drop_below", drop_below, 0, FROM(0), TO(1), "Questions that passed less often than this, likewise.", POOL),

    LATER_OBJECT("groups", "How many rollouts each question of a pool gets."),
    CHOICE("groups.sizes", sizes, group_sizes, TRAINER_GROUPS_EQUAL,
           "training.group_size each; or the same total, distributed by the same fit so that "
           "most questions get a right answer (solved), or most groups a right and a wrong one "
           "(mixed).",
           POOL),
    INT("groups.least", least, 2, FROM(1), TO(1024), "Rollouts of the smallest group.", SIZED),

    OBJECT("algorithm", "How advantages are computed, and which component a rollout trains."),
    {"algorithm.name", RECIPE_ALGORITHM, AT(algorithm.name), RL_ALGORITHM_GRPO, FROM(0), TO(RL_N_ALGORITHMS - 1), NULL, NULL,
     "Which algorithm.", RECIPE_WHEN_ALWAYS},
    REAL("algorithm.alpha", algorithm.alpha, THE_CORES, FROM(0), TO(100), "Weight of the process advantage.",
         READS | RECIPE_TRACED),
    REAL("algorithm.gamma", algorithm.gamma, THE_CORES, FROM(0), TO(1), "Discount per turn.", READS | RECIPE_TRACED),
    REAL("algorithm.beta", algorithm.beta, THE_CORES, FROM(0), TO(1), "Strength of the adaptive clip scale; 0 turns it off.",
         READS | RECIPE_TRACED),
    BOOL("algorithm.norm_by_std", algorithm.norm_by_std, THE_CORES, "Divide advantages by the standard deviation.",
         NORMALISED | RECIPE_TRACED),
    REAL("algorithm.epsilon", algorithm.epsilon, THE_CORES, FROM(0), TO(1), "Added to that standard deviation.",
         DIVIDED | RECIPE_TRACED),
    REAL("algorithm.advantage_scale", algorithm.advantage_scale, 1, FROM(0), TO(1e6), "Multiplies every advantage.",
         ADVANTAGE | RECIPE_TRACED),
    CHOICE("algorithm.gain", algorithm.gain, gains, TRAINER_GAIN_PROB,
           "Information gain is measured by the probability of the true answer, or by its mean "
           "log-prob.",
           GAINS),
    REAL("algorithm.decay", algorithm.decay, THE_CORES, FROM(0), TO(1), "Decay of the moving baseline.", READS | RECIPE_TRACED),
    REAL("algorithm.echo_weight", algorithm.echo_weight, THE_CORES, FROM(0), TO(1e6), "Weight of the tool's tokens.",
         ECHO_WEIGHT | RECIPE_TRACED),
    INT("algorithm.prm_steps", algorithm.prm_steps, THE_CORES, FROM(0), TO(1000000),
        "Iterations in which the judge is asked; 0 = all.", PRM_STEPS),
    TEXT("algorithm.teacher", algorithm.teacher, "", "Checkpoint of opd's teacher or of sft's source.", TAUGHT),
    CHOICE("algorithm.length_penalty", algorithm.length_penalty, length_penalties, TRAINER_LENGTH_NONE,
           "Reward less for long responses.", PENALISED | RECIPE_TRACED),
    REAL("algorithm.length_coef", algorithm.length_coef, 0, FROM(0), TO(1e6),
         "Weight of the length penalty; 0 = the usual one of that penalty.", SHORTENED | RECIPE_TRACED),
    LATER_OBJECT("algorithm.length", "How a length penalty is applied."),
    INT("algorithm.length.warmup", algorithm.length.warmup, 0, FROM(0), TO(1000000),
        "Iterations over which its weight rises linearly; 0 = full weight at once.", SHORTENED | RECIPE_TRACED),
    LATER_OBJECT("algorithm.target", "A length that is set beforehand."),
    INT("algorithm.target.length", algorithm.length.target, 0, FROM(0), TO(1000000),
        "Tokens: step rewards successes up to this length (LASER); anchor uses it for every question; 0 = anchors from "
        "solved questions.",
        TARGETED | RECIPE_TRACED),
    LATER_OBJECT("algorithm.linear", "prime-rl's linear length penalty: shares of the group's mean reward."),
    REAL("algorithm.linear.output", algorithm.length.output, 0.25, FROM(0), TO(1e6),
         "Weight of the policy's tokens, relative to the longest rollout of the group.", LINEAR | RECIPE_TRACED),
    REAL("algorithm.linear.input", algorithm.length.input, 0.1, FROM(0), TO(1e6), "Weight of the other tokens.",
         LINEAR | RECIPE_TRACED),
    REAL("algorithm.linear.turns", algorithm.length.turns, 0.1, FROM(0), TO(1e6), "Weight of the tool calls.",
         LINEAR | RECIPE_TRACED),
    LATER_OBJECT("algorithm.passk", "pass@k as reward."),
    INT("algorithm.passk.k", algorithm.passk.k, 1, FROM(1), TO(1024),
        "Every rollout gets the best reward of its block of k rollouts of the group; divides "
        "training.group_size.",
        REWARDED | RECIPE_TRACED),
    LATER_OBJECT("algorithm.passk_schedule", "For how long pass@k is the reward."),
    INT("algorithm.passk_schedule.iterations", algorithm.passk.iterations, 0, FROM(0), TO(1000000),
        "Iterations with pass@k; afterwards each rollout has its own reward (pass@1). 0 = all.", PASSK),
    BOOL("algorithm.passk_schedule.gradual", algorithm.passk.gradual, false,
         "Until then k becomes each of its smaller divisors, for equal numbers of iterations.", PASSK_ENDS),
    LATER_OBJECT("algorithm.prefix", "How the value of a prefix is measured; gains are differences of values."),
    CHOICE("algorithm.prefix.value", algorithm.prefix.value, prefix_values, TRAINER_PREFIX_POLICY,
           "The policy's probability of the true answer, or the share of continuations that "
           "succeed.",
           GAINS),
    INT("algorithm.prefix.continuations", algorithm.prefix.continuations, 4, FROM(1), TO(1024),
        "Number of continuations of each prefix.", CONTINUED),
    LATER_OBJECT("algorithm.episodes", "Where a rollout is cut into parts that get their own credit."),
    TEXT("algorithm.episodes.markers", algorithm.episodes.markers, "",
         "Cut before each of these tokens, e.g. 'S,ANS'; without them, at turns.", GAINS),
    LATER_OBJECT("algorithm.distill", "A teacher for rollouts that failed."),
    CHOICE("algorithm.distill.how", algorithm.distill.how, distill_hows, TRAINER_DISTILL_NONE,
           "Not at all; as their advantage (K1); or as a loss beside the policy loss (K2).", ADVANTAGE | RECIPE_TRACED),
    CHOICE("algorithm.distill.teacher", algorithm.distill.teacher, distill_teachers, TRAINER_TEACHER_CHECKPOINT,
           "The checkpoint algorithm.teacher, or the live policy, shown a hint.", DISTILLED),
    CHOICE("algorithm.distill.shown", algorithm.distill.shown, shown, TRAINER_SHOWN_FACT,
           "The hint of the live policy, also as opsd's teacher: the last hop's fact, or a "
           "worked solution.",
           SHOWN),
    REAL("algorithm.distill.pass_rate", algorithm.distill.pass_rate, 1, FROM(0), TO(1),
         "Teach only in groups with at most this share of rewarded rollouts.", DISTILLED | RECIPE_TRACED),
    INT("algorithm.distill.horizon", algorithm.distill.horizon, 0, FROM(0), TO(1000000),
        "Teach only the first N tokens of a rollout; 0 = all.", DISTILLED | RECIPE_TRACED),
    BOOL("algorithm.distill.normalise", algorithm.distill.normalise, true,
         "For advantage: z-scores over the taught tokens, separate from the algorithm's own.", DISTILLED_K1 | RECIPE_TRACED),
    REAL("algorithm.distill.coef", algorithm.distill.coef, 1, FROM(0), TO(1e6), "Weight.", DISTILLED | RECIPE_TRACED),
    LATER_OBJECT("algorithm.distill_clip", "Limits of the distance to the teacher, for loss (K2)."),
    REAL("algorithm.distill_clip.low", algorithm.distill.clip_low, 0.2, FROM(0), NO_LIMIT,
         "A token stops moving towards the teacher below the ratio 1 - low.", DISTILLED_K2 | RECIPE_TRACED),
    REAL("algorithm.distill_clip.high", algorithm.distill.clip_high, 0.2, FROM(0), NO_LIMIT,
         "A token stops moving towards the teacher above the ratio 1 + high.", DISTILLED_K2 | RECIPE_TRACED),
    REAL("algorithm.distill_clip.gap", algorithm.distill.clip_gap, 0, FROM(0), NO_LIMIT,
         "Largest distance of the teacher's log-prob from the policy's that counts; 0 = no limit.", DISTILLED_K2 | RECIPE_TRACED),
    LATER_OBJECT("algorithm.endpoint",
                 "A teacher behind an OpenAI-compatible API, in place of the checkpoint algorithm.teacher."),
    TEXT("algorithm.endpoint.base_url", algorithm.endpoint.base_url, "",
         "Address whose completions return log-probs of a prompt's tokens, e.g. 'http://127.0.0.1:8000/v1'.", SCORED),
    TEXT("algorithm.endpoint.name", algorithm.endpoint.name, "", "Name of the model at the endpoint.", REMOTE),
    TEXT("algorithm.endpoint.key_env", algorithm.endpoint.key_env, "LINEAGE_JUDGE_KEY",
         "Environment variable that holds the API key; the key itself is never written anywhere.", REMOTE),
    INT("algorithm.endpoint.concurrency", algorithm.endpoint.concurrency, 8, FROM(1), TO(64), "Number of parallel requests.",
        REMOTE),
    REAL("algorithm.endpoint.deadline", algorithm.endpoint.deadline, 300, ABOVE(0), TO(86400),
         "Seconds for one request, all attempts together.", REMOTE),
    REAL("algorithm.endpoint.backoff", algorithm.endpoint.backoff, 0.5, FROM(0), TO(3600),
         "Seconds before the second attempt; doubled for each further one.", REMOTE),
    LATER_OBJECT("algorithm.adca", "How adca turns flags into step rewards."),
    CHOICE("algorithm.adca.scheme", algorithm.adca.scheme, adca_schemes, TRAINER_ADCA_DECOUPLE,
           "A fixed reward for each flag, or shares of the outcome by flag.", ADCA | RECIPE_TRACED),
    CHOICE("algorithm.adca.outcome", algorithm.adca.outcome, adca_outcomes, TRAINER_ADCA_LAST_STEP,
           "Which steps get the outcome; only: none, step rewards alone (scheme decouple).", ADCA | RECIPE_TRACED),
    REAL("algorithm.adca.fix_base", algorithm.adca.fix_base, 0.2, FROM(0), TO(1e6),
         "decouple: reward of a GOOD step, and the negative reward of a BAD one.", DECOUPLED | RECIPE_TRACED),
    REAL("algorithm.adca.consistent_scale", algorithm.adca.consistent_scale, 1, FROM(0), TO(1e6),
         "allocation: weight of steps whose flag agrees with the outcome.", ALLOCATED | RECIPE_TRACED),
    REAL("algorithm.adca.pos_unconsistent_scale", algorithm.adca.pos_unconsistent_scale, 0.2, FROM(0), TO(1e6),
         "allocation: weight of BAD steps of a success.", ALLOCATED | RECIPE_TRACED),
    REAL("algorithm.adca.neg_unconsistent_scale", algorithm.adca.neg_unconsistent_scale, 0.2, FROM(0), TO(1e6),
         "allocation: weight of GOOD steps of a failure.", ALLOCATED | RECIPE_TRACED),
    BOOL("algorithm.adca.batch_norm", algorithm.adca.batch_norm, true, "Use z-scores of step rewards within the group.",
         ADCA | RECIPE_TRACED),
    BOOL("algorithm.adca.equal_trajectory_weight", algorithm.adca.equal_trajectory_weight, true,
         "In these z-scores every rollout has the same weight; false: every step.", STEP_SCORES | RECIPE_TRACED),
    BOOL("algorithm.adca.length_normalisation", algorithm.adca.length_normalisation, false,
         "decouple: divide by the square root of the number of steps.", DECOUPLED | RECIPE_TRACED),
    LATER_OBJECT("algorithm.outcome", "adca: the outcome beside step rewards."),
    REAL("algorithm.outcome.weight", algorithm.adca.outcome_weight, 1, FROM(0), TO(1e6),
         "beta: factor on the normalised outcome.", OUTCOME | RECIPE_TRACED),
    LATER_OBJECT("algorithm.prm", "adca: for how long the judge is asked."),
    INT("algorithm.prm.epochs", algorithm.prm_epochs, 0, FROM(0), TO(1000000),
        "Passes over the pool in which the judge is asked, in place of prm_steps; 0 = prm_steps.", PRM_EPOCHS),
    LATER_OBJECT("algorithm.schedule", "How alpha and beta change over the iterations."),
    CHOICE("algorithm.schedule.kind", algorithm.schedule.kind, schedules, TRAINER_CONSTANT,
           "Constant, along a line or a cosine; adaptive (turn-group-v1d): alpha follows each "
           "batch's spreads.",
           SCHEDULABLE | RECIPE_TRACED),
    REAL("algorithm.schedule.alpha_end", algorithm.schedule.alpha_end, 0, FROM(0), TO(100), "alpha at the end.",
         SCHEDULED | RECIPE_TRACED),
    REAL("algorithm.schedule.beta_end", algorithm.schedule.beta_end, 0, FROM(0), TO(1), "beta at the end.",
         SCHEDULED_BETA | RECIPE_TRACED),
    LATER_OBJECT("algorithm.gae", "ppo: generalised advantage estimation."),
    REAL("algorithm.gae.lam", algorithm.lam, 1, FROM(0), TO(1), "lambda: 1 = the whole return, 0 = one token ahead.",
         READS | RECIPE_TRACED),
    LATER_OBJECT("algorithm.hierarchy", "hierarchical_grpo: what the rows of an episode share."),
    INT("algorithm.hierarchy.branches", algorithm.hierarchy.branches, 2, FROM(1), TO(1024),
        "Rows of an episode; must divide training.group_size.", AGENTS),
    INT("algorithm.hierarchy.turns", algorithm.hierarchy.turns, 1, FROM(1), TO(TRAINER_TURNS_MAX), "Turns that they share.",
        AGENTS),
    LATER_OBJECT("algorithm.echo", "echo: which of the tool's tokens are trained on."),
    TEXT("algorithm.echo.roles", algorithm.echo.roles, "",
         "Weights by role, e.g. 'tool=0.1'; without them, algorithm.echo_weight.", ECHO | RECIPE_TRACED),
    CHOICE("algorithm.echo.filter", algorithm.echo.filter, echo_filters, TRAINER_ECHO_ALL,
           "All of the tool's tokens, those without OBS and /OBS, or only answers that found something.", ECHO | RECIPE_TRACED),
    LATER_OBJECT("algorithm.echo_probability", "echo: tokens of the tool that the policy does not expect."),
    REAL("algorithm.echo_probability.below", algorithm.echo_below, 1, ABOVE(0), TO(1),
         "Only the tool's tokens whose probability under the policy is below this, at each update; 1 = all.",
         ECHO | RECIPE_TRACED),
    LATER_OBJECT("algorithm.hooks", "Shell commands that read an iteration's rollouts, one per line, and print a line for each."),
    TEXT("algorithm.hooks.score", algorithm.hooks.score, "",
         "Prints {\"outcome\": X}, which advantages are computed from in place of the environment's reward.", REWARDED),
    TEXT("algorithm.hooks.weights", algorithm.hooks.weights, "",
         "Reads advantages and weights too, and prints {\"weights\": W}: 0 or 1 for the policy's tokens, the weight in the "
         "cross-entropy for the tool's; a number, or a list for all tokens.",
         HOOKED),
    LATER_OBJECT("algorithm.custom", "custom: where advantages come from, beside data.file."),
    TEXT("algorithm.custom.command", algorithm.command, "",
         "Shell command that reads rollouts, one per line, and prints {\"advantage\": X} for each.", CUSTOM),
    LATER_OBJECT("algorithm.filter", "Rollouts that are left out of the policy loss."),
    BOOL("algorithm.filter.truncated", algorithm.filter.truncated, false,
         "Rollouts that asked for more than max_turns calls get advantage 0.", CUT_OFF | RECIPE_TRACED),
    BOOL("algorithm.filter.zero_advantage", algorithm.filter.zero_advantage, false,
         "Rollouts whose advantages are all 0 leave the policy loss and its means.", ADVANTAGE | RECIPE_TRACED),
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
