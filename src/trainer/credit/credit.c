/*
 * Outcomes, lengths and gains are double here, because gains are small differences of probabilities; they become float
 * when the core assigns them to tokens.
 */
#include "credit/credit.h"

#include <rlcore/batch.h>
#include <rlcore/distill.h>
#include <rlcore/group_advantage.h>
#include <rlcore/length.h>
#include <rlcore/loss.h>
#include <rlcore/passk.h>
#include <rlcore/process.h>

#include "support/error.h"
#include "support/judged_iterations.h"
#include "support/roles.h"
#include "support/workspace.h"

/* ---- lets a teacher contribute to the credit of rollouts that failed (algorithm.distill) ---- */

/* The core decides which groups, rollouts and tokens are taught
 * (rlcore/distill.h). Its decision uses the environment's reward, before penalties and pass@k. The policy's log-probs
 * are those of sampling. */

struct distilling {
    struct trainer_rollouts *r;
    const struct credit_task *task;
    const struct trainer_distill *settings;
    size_t horizon, at; /* at: first token of the rows */
    struct rl_batch batch;
    double *pass_rate; /* [n] */
    uint8_t *eligible; /* [n] */
};

/* K1 overwrites the advantages in place, which works because the core reads each advantage before it writes it. */
static enum rl_status distill(struct distilling *d, struct workspace *workspace, struct rl_error *core)
{
    struct trainer_rollouts *r = d->r;
    const struct rl_distill_options options = {.pass_rate_threshold = d->settings->pass_rate,
                                               .horizon = d->horizon,
                                               .normalise = d->settings->normalise,
                                               .kd_coef = d->settings->coef};
    bool as_advantage = d->settings->how == TRAINER_DISTILL_ADVANTAGE;
    float *written = as_advantage ? r->advantage + d->at : r->kd + d->at;
    struct rl_distill_result result;
    enum rl_status status;
    CORE_CALL(status, workspace,
              rl_distillf(&d->batch, &options, r->log_prob + d->at, r->reference + d->at, r->advantage + d->at,
                          r->reward + d->task->first, written, NULL, d->pass_rate, d->eligible, &result, &workspace->ws, core));
    return status;
}

/* Gives the taught tokens of a row their weight, and returns their number. Adds to *gap. */
static uint64_t teach_row(struct distilling *d, size_t i, double *gap)
{
    struct trainer_rollouts *r = d->r;
    bool as_advantage = d->settings->how == TRAINER_DISTILL_ADVANTAGE;
    float coef = (float)d->settings->coef;
    uint64_t n = 0;
    for (size_t t = 0, at = d->at + i * r->width; t < r->width; t++, at++) {
        bool taught = d->eligible[i] && r->mask[at] && n < d->horizon;
        if (!as_advantage)
            r->kd[at] = taught ? coef : 0;
        else if (taught)
            r->advantage[at] *= coef;
        *gap += taught ? (double)r->reference[at] - (double)r->log_prob[at] : 0;
        n += taught;
    }
    return n;
}

/* The rows of a group are adjacent. */
static void count(const struct distilling *d, struct trainer_distillation *counts)
{
    bool taught = false;
    for (size_t i = 0; i < d->task->n; i++) {
        bool begins = i == 0 || d->batch.group[i] != d->batch.group[i - 1];
        taught = !begins && taught;
        counts->groups += begins;
        counts->taught_groups += d->eligible[i] && !taught;
        taught = taught || d->eligible[i];
        counts->taught_rollouts += d->eligible[i];
    }
    counts->rollouts += d->task->n;
    counts->tokens += rollouts_tokens(d->r, d->task->first, d->task->n);
}

static void teach(struct distilling *d, struct trainer_distillation *counts)
{
    double before = (double)counts->taught_tokens, gap = counts->gap * before;
    count(d, counts);
    for (size_t i = 0; i < d->task->n; i++)
        counts->taught_tokens += teach_row(d, i, &gap);
    counts->gap = counts->taught_tokens ? gap / (double)counts->taught_tokens : 0;
}

/* Called after advantages and component weights of the task's rows are set. K1 replaces the advantages of taught
 * tokens, K2 fills their kd. Adds to *counts. Does nothing if the recipe does not distil. */
static enum trainer_status distill_failures(struct trainer_rollouts *r, const struct credit_task *task,
                                            struct workspace *workspace, struct trainer_distillation *counts,
                                            struct trainer_error *err)
{
    const struct trainer_distill *settings = &task->recipe->tasks[task->task].algorithm.distill;
    size_t at = task->first * r->width;
    struct rl_error core = {RL_OK, "out of memory"};
    if (settings->how == TRAINER_DISTILL_NONE)
        return TRAINER_OK;
    struct distilling d = {.r = r,
                           .task = task,
                           .settings = settings,
                           .horizon = settings->horizon > 0 ? (size_t)settings->horizon : r->width,
                           .at = at,
                           .batch = {task->n, r->width, r->mask + at, r->turn + at, r->group + task->first},
                           .pass_rate = malloc(task->n * (sizeof *d.pass_rate + 1))};
    if (!d.pass_rate)
        return trainer_no_memory(err, task->n * sizeof *d.pass_rate);
    d.eligible = (uint8_t *)(d.pass_rate + task->n);
    enum rl_status status = distill(&d, workspace, &core);
    if (status == RL_OK)
        teach(&d, counts);
    free(d.pass_rate);
    return status == RL_OK ? TRAINER_OK : trainer_core_failed(err, "algorithm.distill", status, &core);
}

/* ---- computes adaptive alpha, the weight of the process advantage, from each batch ---- */

/* Welford's sums, because sums of squares would lose the digits of such small differences. */
struct spread {
    double n, mean, square;
};

static void add(struct spread *s, double x)
{
    double from = x - s->mean;
    s->mean += from / ++s->n;
    s->square += from * (x - s->mean);
}

static double deviation(const struct spread *s)
{
    return s->n > 0 ? sqrt(s->square / s->n) : 0;
}

/* All tokens of a turn have the same advantage, so the first one is enough. */
static void add_row(const struct rl_batch *batch, size_t row, size_t last, const float *with, const float *without,
                    struct spread *process, struct spread *outcome)
{
    int32_t before = -1;
    for (size_t t = row * batch->n_tokens, end = t + batch->n_tokens; t < end; t++) {
        if (!batch->mask[t] || batch->turn[t] == before)
            continue;
        if (before < 0)
            add(outcome, (double)without[t]);
        before = batch->turn[t];
        if ((size_t)before < last)
            add(process, (double)with[t] - (double)without[t]);
    }
}

/* The factor on turn-group-v1d's alpha in its adaptive variant (v1c of A2TGPO, arXiv 2605.06200, whose formula is
 * not published: this definition is ours). It scales process advantages to the spread of outcomes, so that their
 * proportion to outcomes is that of gains in turn-group:
 *
 *     alpha_t = alpha * s,   s = sd(z(o)) / sd(D), but at least 1/4 and at most 4
 *
 * sd is biased; D is the process advantage of each turn of the batch that has a gain (rlcore/a2tgpo.h), z(o) the
 * normalised outcome of each row. In a group of equal outcomes z(o) is 0 but D is not. With a fixed alpha, training
 * would therefore rely more on gains alone, the fewer groups have different outcomes. If D has no spread, s is 1.
 *
 * with, without: advantages [B*T] for alpha 1 and for alpha 0; turn_start as in rlcore/algorithm.h. */
static double adaptive_alpha_scale(const struct rl_batch *batch, const size_t *turn_start, const float *with,
                                   const float *without)
{
    const double most = 4, none = 1e-6; /* `none` is above the rounding of float */
    struct spread process = {0}, outcome = {0};
    for (size_t row = 0; row < batch->n_rows; row++)
        add_row(batch, row, turn_start[row + 1] - turn_start[row] - 1, with, without, &process, &outcome);
    double spread = deviation(&process);
    return spread > none ? fmin(most, fmax(1 / most, deviation(&outcome) / spread)) : 1;
}

/* ----  Outcomes, lengths and gains are double here, because gains are small differences of probabilities ---- */

/* The rows of one task, and the scratch memory for their credit. */
struct credit {
    struct trainer_rollouts *r;
    const struct credit_task *task;
    const struct trainer_algorithm *settings;
    const struct rl_algorithm *algorithm;
    struct workspace *workspace;
    struct rl_batch batch;
    double *outcome;    /* [n] after the length penalty */
    double *length;     /* [n] */
    double *anchor;     /* [n] */
    size_t *turn_start; /* [n+1] */
    double *gain;       /* [n * (ROLLOUT_VALUES + 1)], turn_start[n] of them used */
    uint8_t *flags;     /* the same */
};

/* Returns the row after the last row of row i's group, counted within the task; groups may differ in size. */
static size_t group_end(const struct credit *c, size_t i)
{
    return rollouts_group_end(c->r, c->task->first + i) - c->task->first;
}

/* ---- rewards ------------------------------------------------------------------------------ */

/*
 * A question's anchor is set once, and kept until the question is asked again. Without a pool the anchor is used for
 * one group only, so no group is compared with an earlier answer to its question. A length that is set beforehand takes
 * the place of all anchors.
 */
static enum rl_status set_anchors(struct credit *c, double *kept, struct rl_error *core)
{
    enum rl_status status = RL_OK;
    for (size_t i = 0, end; i < c->task->n && status == RL_OK; i = end) {
        double unset = NAN, *value = kept ? &kept[c->r->number[c->task->first + i]] : &unset;
        end = group_end(c, i);
        if (c->settings->length.target > 0 || c->settings->length_penalty == TRAINER_LENGTH_STEP)
            *(value = &unset) = c->settings->length.target > 0 ? (double)c->settings->length.target : (double)NAN;
        else
            status = rl_length_anchor(end - i, c->outcome + i, c->length + i, value, core);
        for (size_t j = i; j < end; j++)
            c->anchor[j] = *value;
    }
    return status;
}

/*
 * The warm-up is needed because in groups of failures a full penalty would be the only difference between rows. From
 * the first iteration on it would teach the policy to write little before the policy has learned anything.
 */
static double length_weight(const struct credit *c, double usual)
{
    double coef = c->settings->length_coef > 0 ? c->settings->length_coef : usual;
    int32_t warmup = c->settings->length.warmup;
    return warmup > 0 ? coef * fmin(1, (c->task->iteration + 1.0) / warmup) : coef;
}

/* prime-rl's penalty, group by group; tool calls are its turns. The usual coefficient is 1, as its weights are shares. */
static enum rl_status penalise_shares(struct credit *c, struct rl_error *core)
{
    double coef = length_weight(c, 1);
    const struct trainer_length *length = &c->settings->length;
    const struct rl_length_weights weights = {coef * length->output, coef * length->input, coef * length->turns};
    size_t n = c->task->n;
    struct rl_trace *traces = calloc(n, sizeof *traces);
    uint8_t *counted = malloc(n);
    enum rl_status status = traces && counted ? RL_OK : RL_EWORKSPACE;
    for (size_t i = 0; i < n && status == RL_OK; i++) {
        size_t row = c->task->first + i;
        traces[i] = (struct rl_trace){.reward = c->outcome[i],
                                      .n_output_tokens = rollouts_written(c->r, row),
                                      .n_total_tokens = c->r->length[row],
                                      .n_turns = c->r->episode[row].turn};
    }
    for (size_t i = 0, end; i < n && status == RL_OK; i = end) {
        end = group_end(c, i);
        status = rl_group_penalise(traces + i, end - i, &weights, c->outcome + i, counted + i, core);
    }
    free(traces);
    free(counted);
    return status;
}

/*
 * A coefficient of 0 selects the penalty's usual coefficient. To have no penalty, recipes set length_penalty to "none".
 */
static enum rl_status penalise_length(struct credit *c, double *anchors, struct rl_error *core)
{
    static const enum rl_length_penalty kinds[] = {[TRAINER_LENGTH_UNIFORM] = RL_LENGTH_UNIFORM,
                                                   [TRAINER_LENGTH_GROUP] = RL_LENGTH_GROUP,
                                                   [TRAINER_LENGTH_ANCHOR] = RL_LENGTH_ANCHOR,
                                                   [TRAINER_LENGTH_STEP] = RL_LENGTH_STEP};
    enum rl_length_penalty kind = kinds[c->settings->length_penalty];
    enum rl_status status = RL_OK;
    for (size_t i = 0; i < c->task->n; i++)
        c->length[i] = rollouts_written(c->r, c->task->first + i);
    if (kind == RL_LENGTH_ANCHOR || kind == RL_LENGTH_STEP)
        status = set_anchors(c, anchors, core);
    struct rl_length_input in = {c->task->n, c->outcome, c->length, c->batch.group, c->anchor};
    if (status == RL_OK)
        CORE_CALL(status, c->workspace,
                  rl_length_penalty(kind, length_weight(c, rl_length_coef(kind)), &in, c->outcome, &c->workspace->ws, core));
    return status;
}

/*
 * The k of this iteration. A return from pass@k to pass@1 lets the policy explore first (arXiv:2508.10751). Gradual: k
 * becomes each of its smaller divisors, because a group is a whole number of blocks only for these.
 */
static int32_t passk_now(const struct trainer_passk *passk, int32_t iteration)
{
    int32_t steps = 0, k = passk->k;
    if (passk->iterations == 0)
        return k;
    if (iteration >= passk->iterations)
        return 1;
    for (int32_t d = 2; d <= k; d++)
        steps += k % d == 0;
    for (int64_t step = passk->gradual ? (int64_t)iteration * steps / passk->iterations : 0; step > 0; step--)
        do
            k--;
        while (passk->k % k != 0);
    return k;
}

/* Computes pass@k as reward, group by group, so that no block holds answers to two questions. */
static enum rl_status reward_blocks(struct credit *c, struct rl_error *core)
{
    enum rl_status status = RL_OK;
    size_t k = (size_t)passk_now(&c->settings->passk, c->task->iteration);
    for (size_t i = 0, end; i < c->task->n && status == RL_OK; i = end) {
        end = group_end(c, i);
        status = rl_passk_reward(end - i, c->outcome + i, k, c->outcome + i, core);
    }
    return status;
}

/*
 * Subtracts the KL penalty from the reward, as verl does: the sum over the policy's tokens of the distance to the
 * initial policy, computed from the log-probs of sampling. rewards and advantage are overwritten later and serve as
 * scratch memory here.
 */
static enum rl_status penalise_distance(struct credit *c, double *taken, struct rl_error *core)
{
    const struct trainer_loss *loss = &c->task->recipe->loss;
    struct trainer_rollouts *r = c->r;
    enum rl_status status = RL_OK;
    for (size_t i = 0; i < c->task->n && status == RL_OK; i++) {
        size_t at = (c->task->first + i) * r->width, n = 0;
        float *now = r->rewards + at, *then = r->advantage + at;
        for (size_t t = 0; t < r->width; t++)
            if (r->mask[at + t]) {
                now[n] = r->log_prob[at + t];
                then[n++] = r->start[at + t];
            }
        status = rl_kl_penaltyf((enum rl_kl)loss->kl_estimator, false, n, now, then, now, NULL, core);
        double sum = 0;
        for (size_t t = 0; t < n && status == RL_OK; t++)
            sum += (double)now[t];
        c->outcome[i] -= loss->kl_coef * sum;
        *taken += loss->kl_coef * sum;
    }
    return status;
}

/* Works on a copy, because rows and curves report the environment's own reward, which must stay unchanged. */
static enum rl_status set_outcomes(struct credit *c, double *anchors, double *kl_reward, struct rl_error *core)
{
    const struct trainer_loss *loss = &c->task->recipe->loss;
    for (size_t i = 0; i < c->task->n; i++)
        c->outcome[i] = (c->settings->hooks.score[0] ? c->r->scored : c->r->reward)[c->task->first + i];
    enum rl_status status = RL_OK;
    if (c->settings->length_penalty == TRAINER_LENGTH_LINEAR)
        status = penalise_shares(c, core);
    else if (c->settings->length_penalty != TRAINER_LENGTH_NONE)
        status = penalise_length(c, anchors, core);
    if (status == RL_OK && c->settings->passk.k > 1)
        status = reward_blocks(c, core);
    return status == RL_OK && loss->kl_coef > 0 && loss->kl_place == TRAINER_KL_REWARD ? penalise_distance(c, kl_reward, core)
                                                                                       : status;
}

/* Only computes what the algorithm needs, because a NaN among values that are not read must not be an error. */
static enum rl_status set_turns(struct credit *c, struct rl_error *core)
{
    struct trainer_rollouts *r = c->r;
    unsigned needs = c->algorithm->needs;
    enum rl_status status = rl_turn_starts(&c->batch, c->turn_start, core);
    for (size_t i = 0; i < c->task->n && status == RL_OK; i++) {
        size_t row = c->task->first + i, at = c->turn_start[i];
        if (needs & RL_NEED_GAINS)
            status = rl_marginal_utility((size_t)r->n_turns[row] + 1, r->value + row * ROLLOUT_VALUES, c->gain + at, core);
        if (needs & RL_NEED_GAINS)
            c->gain[at + (size_t)r->n_turns[row]] = r->value[row * ROLLOUT_VALUES + (size_t)r->n_turns[row]];
    }
    return status;
}

static enum trainer_status set_flags(struct credit *c, struct credit_memory *memory, struct trainer_error *err)
{
    const struct judging_rows rows = {c->task->recipe, c->task->task, c->task->iteration, c->task->first,
                                      c->task->n,      c->outcome,    c->turn_start};
    if (!(c->algorithm->needs & RL_NEED_JUDGE))
        return TRAINER_OK;
    return judging_flags(&memory->judging, &rows, c->r, c->flags, err);
}

/* ---- advantages --------------------------------------------------------------------------- */

/*
 * Progress is p = iteration / iterations, which is 0 at the first iteration and never 1, as in AgentEvolver's
 * cosine.
 */
static double scheduled(const struct credit *c, double begin, double end)
{
    enum trainer_schedule_kind kind = c->settings->schedule.kind;
    double p = (double)c->task->iteration / fmax(1, c->task->recipe->training.iterations);
    if (kind == TRAINER_CONSTANT || kind == TRAINER_ADAPTIVE)
        return begin;
    double left = kind == TRAINER_LINEAR ? 1 - p : 0.5 * (1 + cos(3.141592653589793 * p));
    return end + (begin - end) * left;
}

static struct rl_adca_options adca_options(const struct trainer_adca *adca)
{
    struct rl_adca_options options;
    rl_adca_options_init(&options);
    options.scheme = (enum rl_adca_scheme)adca->scheme;
    options.outcome = (enum rl_adca_outcome)adca->outcome;
    options.fix_base = adca->fix_base;
    options.consistent_scale = adca->consistent_scale;
    options.pos_unconsistent_scale = adca->pos_unconsistent_scale;
    options.neg_unconsistent_scale = adca->neg_unconsistent_scale;
    options.do_batch_norm = adca->batch_norm;
    options.equal_trajectory_weight = adca->equal_trajectory_weight;
    options.length_normalisation = adca->length_normalisation;
    options.outcome_weight = adca->outcome_weight;
    return options;
}

static enum rl_status call_core(struct credit *c, const struct rl_algorithm_input *in, const struct rl_algorithm_options *options,
                                float *advantage, struct rl_a2tgpo_stats *scale, struct rl_error *core)
{
    size_t at = c->task->first * c->r->width;
    enum rl_status status;
    CORE_CALL(status, c->workspace,
              rl_algorithm_rowsf(c->algorithm, in, options, c->r->rewards + at, advantage, c->r->clip_scale + at, scale,
                                 &c->workspace->ws, core));
    return status;
}

/*
 * An advantage is a sum in which alpha weighs one part, so the advantages for alpha 1 and for alpha 0 give both parts.
 * rl and ce are overwritten later and serve as scratch memory here.
 */
static enum rl_status adapt_alpha(struct credit *c, const struct rl_algorithm_input *in, struct rl_algorithm_options *options,
                                  struct credit_memory *memory, struct rl_a2tgpo_stats *scale, struct rl_error *core)
{
    size_t at = c->task->first * c->r->width;
    float *with = c->r->rl + at, *without = c->r->ce + at;
    double alpha = options->alpha;
    options->alpha = 1;
    enum rl_status status = call_core(c, in, options, with, scale, core);
    options->alpha = 0;
    if (status == RL_OK)
        status = call_core(c, in, options, without, scale, core);
    if (status != RL_OK)
        return status;
    options->alpha = alpha * adaptive_alpha_scale(&c->batch, c->turn_start, with, without);
    memory->alpha += options->alpha;
    memory->n_alpha++;
    return RL_OK;
}

/* ---- commands of the recipe ---- */

static bool are_finite(const float *values, size_t n)
{
    bool good = true;
    for (size_t i = 0; i < n; i++)
        good = good && isfinite(values[i]);
    return good;
}

static struct trainer_credit_batch batch_of(const struct credit *c, enum trainer_asked asked)
{
    return (struct trainer_credit_batch){.asked = asked,
                                         .recipe = c->task->recipe,
                                         .rollouts = c->r,
                                         .first = c->task->first,
                                         .n = c->task->n,
                                         .task = c->task->task,
                                         .iteration = c->task->iteration,
                                         .width = c->r->width};
}

static enum trainer_status ask_advantages(struct credit *c, const struct given_credit *given, struct trainer_error *err)
{
    size_t cells = c->task->n * c->r->width, at = c->task->first * c->r->width;
    struct trainer_credit_batch batch = batch_of(c, TRAINER_ASKED_ADVANTAGES);
    batch.advantage = c->r->rewards + at;
    memset(batch.advantage, 0, cells * sizeof *batch.advantage);
    TRY(given->ask(given->context, &batch, err));
    if (!are_finite(batch.advantage, cells))
        return trainer_fail(err, TRAINER_ENUMERIC, "an advantage of algorithm.custom.command is not finite");
    return TRAINER_OK;
}

/* Curves and rows keep the environment's reward, so the answer has an array of its own. */
static enum trainer_status ask_outcomes(struct credit *c, const struct given_credit *given, struct trainer_error *err)
{
    struct trainer_credit_batch batch = batch_of(c, TRAINER_ASKED_OUTCOMES);
    batch.outcome = c->r->scored + c->task->first;
    memcpy(batch.outcome, c->r->reward + c->task->first, c->task->n * sizeof *batch.outcome);
    TRY(given->ask(given->context, &batch, err));
    for (size_t i = 0; i < c->task->n; i++)
        if (!isfinite(batch.outcome[i]))
            return trainer_fail(err, TRAINER_ENUMERIC, "an outcome of algorithm.hooks.score is not finite");
    return TRAINER_OK;
}

static bool is_by_tool(const struct trainer_rollouts *r, size_t row, size_t t)
{
    return !r->mask[row * r->width + t] && t >= (size_t)r->prompt[row] && t < (size_t)r->length[row];
}

/* What is wrong with the weight of a token, or NULL. */
static const char *wrong_weight(const struct trainer_rollouts *r, size_t row, size_t t)
{
    float weight = r->hooked[row * r->width + t];
    if (r->mask[row * r->width + t])
        return weight < 0 || weight > 1 || (weight > 0 && weight < 1) || isnan(weight) ? "is not 0 or 1 at a token of the policy"
                                                                                       : NULL;
    return is_by_tool(r, row, t) && !(weight >= 0 && isfinite(weight)) ? "is negative or not finite" : NULL;
}

static enum trainer_status ask_weights(struct credit *c, const struct given_credit *given, struct trainer_error *err)
{
    struct trainer_rollouts *r = c->r;
    size_t at = c->task->first * r->width, cells = c->task->n * r->width;
    struct trainer_credit_batch batch = batch_of(c, TRAINER_ASKED_WEIGHTS);
    batch.weights = r->hooked + at;
    for (size_t i = at; i < at + cells; i++)
        r->hooked[i] = r->mask[i] ? 1 : r->ce[i];
    TRY(given->ask(given->context, &batch, err));
    for (size_t i = 0; i < cells; i++) {
        const char *wrong = wrong_weight(r, c->task->first + i / r->width, i % r->width);
        if (wrong)
            return trainer_fail(err, TRAINER_ENUMERIC, "algorithm.hooks.weights: the weight of rollout %zu, token %zu %s",
                                i / r->width, i % r->width, wrong);
    }
    return TRAINER_OK;
}

/* Also for the gradient trace, which asks nothing and has a copy of the answer. */
static void take_weights(struct credit *c)
{
    struct trainer_rollouts *r = c->r;
    for (size_t row = c->task->first; row < c->task->first + c->task->n; row++)
        for (size_t t = 0; t < r->width; t++) {
            size_t i = row * r->width + t;
            if (r->mask[i]) {
                r->rl[i] *= r->hooked[i];
                r->ref_kl[i] *= r->hooked[i];
                r->kd[i] *= r->hooked[i];
                r->ce[i] *= r->hooked[i];
            } else if (is_by_tool(r, row, t))
                r->ce[i] = r->hooked[i];
        }
}

/*
 * custom: the advantages are in rewards, which other algorithms write. They came with the rows of a data set, or from a command;
 * the gradient trace uses them again without asking.
 */
static enum rl_status take_given(struct credit *c, struct rl_a2tgpo_stats *scale)
{
    struct trainer_rollouts *r = c->r;
    *scale = (struct rl_a2tgpo_stats){.ig_clip_scale_mean = 1};
    for (size_t i = c->task->first * r->width; i < (c->task->first + c->task->n) * r->width; i++) {
        r->advantage[i] = r->mask[i] ? r->rewards[i] : 0;
        r->clip_scale[i] = 1;
    }
    return RL_OK;
}

/*
 * The options begin with the algorithm's own defaults, which the recipe's settings then replace. Settings that recipes
 * do not have (roles, agents) keep the table's values. rae has a baseline per agent; here each task has one baseline.
 */
static enum rl_status assign(struct credit *c, struct credit_memory *memory, struct rl_a2tgpo_stats *scale, struct rl_error *core)
{
    const struct trainer_algorithm *a = c->settings;
    struct trainer_rollouts *r = c->r;
    int32_t task = c->task->task;
    size_t at = c->task->first * r->width;
    struct rl_adca_metrics measured = {.attr_std = -1}; /* -1, which no deviation can be, marks it as not written yet */
    const struct rl_algorithm_input in = {.batch = &c->batch,
                                          .outcome = c->outcome,
                                          .turn_start = c->turn_start,
                                          .gain = c->gain,
                                          .flags = c->flags,
                                          .values = r->expected ? r->expected + at : NULL,
                                          .returns = r->returns ? r->returns + at : NULL,
                                          .baseline = r->baseline + c->task->first,
                                          .episode = r->branch_of + c->task->first,
                                          .n_shared = r->n_shared + c->task->first,
                                          .adca = memory->n_adca ? NULL : &measured};
    const struct rl_adca_options adca = adca_options(&a->adca);
    struct rl_algorithm_options options;
    rl_algorithm_options_init(&options, c->algorithm);
    options.alpha = scheduled(c, a->alpha, a->schedule.alpha_end);
    options.gamma = a->gamma;
    options.beta = scheduled(c, a->beta, a->schedule.beta_end);
    options.norm_by_std = a->norm_by_std;
    options.epsilon = a->epsilon;
    options.decay = a->decay;
    options.prm_steps = (double)judged_iterations(&c->task->recipe->tasks[task]);
    options.lam = a->lam;
    options.iteration = c->task->iteration;
    options.baselines = &memory->baseline[task];
    options.n_baselines = &memory->n_baselines[task];
    options.max_baselines = 1;
    options.adca = &adca;
    enum rl_status status = a->schedule.kind == TRAINER_ADAPTIVE ? adapt_alpha(c, &in, &options, memory, scale, core) : RL_OK;
    if (status == RL_OK)
        status = call_core(c, &in, &options, r->advantage + at, scale, core);
    if (status == RL_OK && measured.attr_std >= 0) {
        memory->adca = measured;
        memory->n_adca++;
    }
    return status;
}

/* The weight of the tool's answers; roles were checked with the recipe. */
static float echo_weight(const struct credit *c)
{
    double weight = c->settings->echo_weight;
    if (!c->algorithm->observes)
        return 0;
    if (c->settings->echo.roles[0] && roles_read(c->settings->echo.roles, &weight))
        return 0;
    return (float)weight;
}

/*
 * Takes tokens of the tool's answer that begins at token t out of cross-entropy. An answer is OBS, facts or NONE, /OBS; the
 * filter content leaves out the frame, and found the answers without facts.
 */
static void filter_answer(struct credit *c, size_t row, size_t t)
{
    struct trainer_rollouts *r = c->r;
    const int32_t *token = r->tokens + row * r->width;
    float *ce = r->ce + row * r->width;
    enum trainer_echo_filter filter = c->settings->echo.filter;
    bool empty = t + 1 < (size_t)r->length[row] && token[t + 1] == TRAINER_NONE;
    for (size_t i = t; i < (size_t)r->length[row]; i++) {
        bool frame = token[i] == TRAINER_OBS || token[i] == TRAINER_END_OBS;
        if ((filter == TRAINER_ECHO_CONTENT && frame) || (filter == TRAINER_ECHO_FOUND && empty))
            ce[i] = 0;
        if (token[i] == TRAINER_END_OBS)
            return;
    }
}

static void filter_answers(struct credit *c)
{
    struct trainer_rollouts *r = c->r;
    if (!c->algorithm->observes || c->settings->echo.filter == TRAINER_ECHO_ALL)
        return;
    for (size_t row = c->task->first; row < c->task->first + c->task->n; row++)
        for (size_t t = (size_t)r->prompt[row]; t < (size_t)r->length[row]; t++)
            if (r->tokens[row * r->width + t] == TRAINER_OBS && !r->mask[row * r->width + t])
                filter_answer(c, row, t);
}

/*
 * The policy's tokens go to the component that the table names; the tool's answers go to ce with the echo weight.
 * Prompts belong to no component: neither the policy nor the tool wrote them.
 */
static void set_streams(struct credit *c)
{
    struct trainer_rollouts *r = c->r;
    float echo = echo_weight(c);
    enum rl_component loss = c->algorithm->loss;
    for (size_t i = 0; i < c->task->n; i++)
        for (size_t t = 0; t < r->width; t++) {
            size_t row = c->task->first + i, at = row * r->width + t;
            bool written = r->mask[at];
            r->rl[at] = loss == RL_COMPONENT_RL && written;
            r->ref_kl[at] = loss == RL_COMPONENT_REF_KL && written;
            r->kd[at] = 0;
            r->ce[at] = is_by_tool(r, row, t) ? echo : loss == RL_COMPONENT_CE && written;
        }
    filter_answers(c);
}

/* A rollout that was cut off may have been right until then, so its failure says nothing about its tokens. */
static void clear_truncated(struct credit *c)
{
    struct trainer_rollouts *r = c->r;
    for (size_t i = 0; i < c->task->n && c->settings->filter.truncated; i++) {
        size_t row = c->task->first + i;
        if (r->episode[row].truncated)
            memset(r->advantage + row * r->width, 0, r->width * sizeof *r->advantage);
    }
}

static bool has_advantage(const struct trainer_rollouts *r, size_t row)
{
    for (size_t i = row * r->width; i < (row + 1) * r->width; i++)
        if (r->mask[i] && fabsf(r->advantage[i]) > 0)
            return true;
    return false;
}

/* Runs after distillation, which gives advantages to failures. */
static void leave_out_zeros(struct credit *c)
{
    struct trainer_rollouts *r = c->r;
    for (size_t i = 0; i < c->task->n && c->settings->filter.zero_advantage; i++) {
        size_t row = c->task->first + i;
        if (!has_advantage(r, row))
            memset(r->rl + row * r->width, 0, r->width * sizeof *r->rl);
    }
}

/*
 * Called after normalisation, which would cancel any scale. The scale weighs one environment against the others.
 */
static void scale_advantages(struct credit *c)
{
    float scale = (float)c->settings->advantage_scale;
    float *advantage = c->r->advantage + c->task->first * c->r->width;
    for (size_t i = 0; i < c->task->n * c->r->width; i++)
        advantage[i] *= scale;
}

/* Allocates one block with the widest members first, so that each member is aligned where the previous one ends. */
static bool take_memory(struct credit *c)
{
    size_t n = c->task->n, turns = n * (ROLLOUT_VALUES + 1);
    c->outcome = malloc((3 * n + turns) * sizeof *c->outcome + (n + 1) * sizeof *c->turn_start + turns);
    if (!c->outcome)
        return false;
    c->length = c->outcome + n;
    c->anchor = c->length + n;
    c->gain = c->anchor + n;
    c->turn_start = (size_t *)(void *)(c->gain + turns);
    c->flags = (uint8_t *)(c->turn_start + n + 1);
    return true;
}

/*
 * Component weights are also set after a failure, when nothing reads them, because a single exit path is simpler than
 * two. `core` is initialised with the message for the only failure that does not come from the core.
 */
enum trainer_status credit_assign(struct trainer_rollouts *rollouts, const struct credit_task *task, struct credit_memory *memory,
                                  struct workspace *workspace, struct rl_a2tgpo_stats *scale, struct trainer_error *err)
{
    size_t at = task->first * rollouts->width;
    struct credit c = {
        .r = rollouts,
        .task = task,
        .settings = &task->recipe->tasks[task->task].algorithm,
        .algorithm = rl_algorithm_at(task->recipe->tasks[task->task].algorithm.name),
        .workspace = workspace,
        .batch = {task->n, rollouts->width, rollouts->mask + at, rollouts->turn + at, rollouts->group + task->first}};
    struct rl_error core = {RL_OK, "out of memory"};
    if (!take_memory(&c))
        return trainer_no_memory(err, 4 * task->n * sizeof *c.outcome);
    const struct given_credit *given = &memory->given;
    const struct trainer_hooks *hooks = &c.settings->hooks;
    enum trainer_status judged = hooks->score[0] && given->ask ? ask_outcomes(&c, given, err) : TRAINER_OK;
    enum rl_status status =
        judged == TRAINER_OK ? set_outcomes(&c, memory->anchor[task->task], &memory->kl_reward, &core) : RL_OK;
    if (status == RL_OK)
        status = set_turns(&c, &core);
    if (status == RL_OK && judged == TRAINER_OK)
        judged = set_flags(&c, memory, err);
    if (status == RL_OK && judged == TRAINER_OK && c.settings->command[0] && given->ask)
        judged = ask_advantages(&c, given, err);
    if (status == RL_OK && judged == TRAINER_OK)
        status = c.algorithm->needs & RL_NEED_CALLBACK ? take_given(&c, scale) : assign(&c, memory, scale, &core);
    set_streams(&c);
    scale_advantages(&c);
    clear_truncated(&c);
    free(c.outcome);
    rollouts->credited = task->first + task->n;
    if (status != RL_OK)
        return trainer_core_failed(err, "credit assignment", status, &core);
    if (judged == TRAINER_OK)
        judged = distill_failures(rollouts, task, workspace, &memory->distillation, err);
    if (judged == TRAINER_OK && hooks->weights[0] && given->ask)
        judged = ask_weights(&c, given, err);
    if (judged == TRAINER_OK && hooks->weights[0])
        take_weights(&c);
    leave_out_zeros(&c);
    return judged;
}

/* ---- statistics --------------------------------------------------------------------------- */

/*
 * The core counts an outcome turn after the tool's turns. The outcome turn gets 0 here and is not reported, because its
 * value is a reward and not a gain.
 */
enum trainer_status credit_measure_gains(const struct trainer_rollouts *r, struct trainer_turn_gain gain[TRAINER_TURNS_MAX],
                                         int32_t *n_gain, struct trainer_error *err)
{
    struct rl_turn_stat stats[TRAINER_TURNS_MAX];
    struct rl_error core = {RL_OK, "out of memory"};
    size_t n_indices = 0, *start = malloc((r->n + 1) * sizeof *start);
    double *values = malloc(r->n * (ROLLOUT_VALUES + 1) * sizeof *values);
    enum rl_status status = start && values ? RL_OK : RL_EWORKSPACE;
    for (size_t i = 0; i < r->n && status == RL_OK; i++) {
        size_t turns = (size_t)r->n_turns[i];
        start[i] = i > 0 ? start[i - 1] + (size_t)r->n_turns[i - 1] + 1 : 0;
        start[i + 1] = start[i] + turns + 1;
        values[start[i] + turns] = 0; /* value of the outcome turn, which is ignored */
        status = rl_marginal_utility(turns + 1, r->value + i * ROLLOUT_VALUES, values + start[i], &core);
    }
    struct rl_turns turns = {r->n, start, NULL};
    if (status == RL_OK)
        status = rl_turn_statistics(&turns, values, stats, TRAINER_TURNS_MAX, &n_indices, &core);
    *n_gain = (int32_t)n_indices;
    for (size_t k = 0; k < TRAINER_TURNS_MAX && status == RL_OK; k++)
        gain[k] = (struct trainer_turn_gain){stats[k].mean, stats[k].std, stats[k].count};
    free(start);
    free(values);
    return status == RL_OK ? TRAINER_OK : trainer_core_failed(err, "information gain", status, &core);
}
