/*
 * a2tgpo_modes.c: the four modes of A2TGPO on turn values, which are double for float tokens too.
 *
 * All four modes see the same turn values: the gains, and the outcome at the last turn. They differ
 * in which values are compared with each other. joint and separate are the first forms of the
 * paper. turn-group compares a gain only with gains of the same turn in other rollouts of the
 * prompt, because a third search starts from more knowledge than a first one. turn-group-v1d also
 * keeps the scale of the outcome apart from that of the gains.
 */
#include "a2tgpo/a2tgpo_internal.h"

void rl_a2tgpo_options_init(struct rl_a2tgpo_options *options)
{
    *options = (struct rl_a2tgpo_options){
        .mode = RL_A2TGPO_TURN_GROUP_V1D, .gamma = 1, .alpha = 0.3, .clip_beta = 0.3, .norm_adv_by_std = true, .epsilon = 1e-6};
}

enum rl_status rl_a2tgpo_check(const struct rl_a2tgpo_options *o, struct rl_error *err)
{
    if (!o || (unsigned)o->mode > RL_A2TGPO_TURN_GROUP_V1D)
        return rl_fail(err, RL_EINVAL, "options are missing or their mode is unknown");
    if (!(o->gamma >= 0) || isinf(o->gamma))
        return rl_fail(err, RL_EINVAL, "gamma is %g, negative or not finite", o->gamma);
    if (!isfinite(o->alpha))
        return rl_fail(err, RL_EINVAL, "alpha is %g, not a finite number", o->alpha);
    if (!(o->clip_beta >= 0 && o->clip_beta <= 1))
        return rl_fail(err, RL_EINVAL, "clip beta is %g, not in 0..1", o->clip_beta);
    if (!(o->epsilon >= 0) || isinf(o->epsilon))
        return rl_fail(err, RL_EINVAL, "epsilon is %g, negative or not finite", o->epsilon);
    return RL_OK;
}

static void normalize(const struct rl_a2tgpo_turns *a, const struct rl_a2tgpo_options *o, enum rl_turn_sets sets)
{
    const struct rl_normalizer n = {&a->turns, &a->groups, sets, o->norm_adv_by_std, o->epsilon, a->moments};
    rl_normalizer_run(&n, a->values, a->values);
}

/* joint and separate: discounted sums of normalised values, outcome turn included. */
static void sum_ahead(const struct rl_a2tgpo_turns *a, double gamma)
{
    for (size_t row = 0; row < a->turns.n_rows; row++) {
        double ahead = 0;
        for (size_t i = a->turns.start[row + 1]; i-- > a->turns.start[row];)
            a->advantages[i] = ahead = a->values[i] + gamma * ahead;
    }
}

/*
 * Biased std over the batch of all IG values, or of all outcomes; 1 for fewer than two of them. It
 * is taken over the whole batch and not per prompt, because it only sets a common scale, and a
 * prompt whose rollouts all fail has no spread of its own. Values are added one at a time
 * (Welford): sums of squares cancel when outcomes are nearly all equal.
 */
static double batch_std(const struct rl_a2tgpo_turns *a, bool outcomes)
{
    double mean = 0, squares = 0;
    size_t count = 0;
    for (size_t row = 0; row < a->turns.n_rows; row++)
        for (size_t i = a->turns.start[row]; i < a->turns.start[row + 1]; i++) {
            if ((i + 1 == a->turns.start[row + 1]) != outcomes)
                continue;
            double deviation = a->values[i] - mean;
            mean += deviation / (double)++count;
            squares += deviation * (a->values[i] - mean);
        }
    return count > 1 ? sqrt(squares / (double)count) : 1;
}

/*
 * turn-group: gains are brought to the scale of the outcomes, then summed with a discount up to and
 * including the outcome. Gains are differences of probabilities, and outcomes are 0 or 1. Without a
 * common scale either gains or outcomes would dominate the sum. The floor on both deviations keeps
 * a batch of equal gains from being scaled up to the outcomes.
 */
static enum rl_status sum_rescaled(const struct rl_a2tgpo_turns *a, const struct rl_a2tgpo_options *o, struct rl_error *err)
{
    double gain_std = fmax(batch_std(a, false), o->epsilon);
    double scale = fmax(batch_std(a, true), o->epsilon) / gain_std;
    if (!(gain_std > 0))
        return rl_fail(err, RL_EVALUE, "information gains are all equal and epsilon is 0");
    for (size_t row = 0; row < a->turns.n_rows; row++) {
        size_t first = a->turns.start[row], end = a->turns.start[row + 1];
        if (first == end)
            continue;
        /*
         * The reference discounts the outcome once before the sum and again on the way to the last
         * gain. This is the default here too, because otherwise results could not be compared with
         * published results.
         */
        double sum = a->values[end - 1] * (o->outcome_discounted_once ? 1 : o->gamma);
        for (size_t i = end - 1; i-- > first;)
            a->values[i] = sum = a->values[i] * scale + o->gamma * sum;
    }
    return RL_OK;
}

/*
 * The last turn is the outcome itself and gets no share of the process: its value is the value of
 * the answer, and no observation follows it. Every other turn gets the outcome of its own row
 * added, so that a wrong answer after good searches still counts as wrong.
 */
static void add_outcome(const struct rl_a2tgpo_turns *a, const double *process, double process_share, double outcome_share)
{
    for (size_t row = 0; row < a->turns.n_rows; row++) {
        size_t end = a->turns.start[row + 1];
        for (size_t i = a->turns.start[row]; i < end; i++)
            a->advantages[i] = i + 1 == end ? a->values[i] : process_share * process[i] + outcome_share * a->values[end - 1];
    }
}

/*
 * The order matters: the clip scale is computed from the normalised gains and overwrites them, so
 * the sums, which also read them, come first.
 */
static enum rl_status run_v1d(const struct rl_a2tgpo_turns *a, const struct rl_a2tgpo_options *o, struct rl_error *err)
{
    normalize(a, o, RL_TURN_SETS_CELLS);
    RL_TRY(rl_turn_accumulate(&a->turns, o->gamma, a->values, a->advantages, err));
    add_outcome(a, a->advantages, o->alpha, 1);
    return rl_turn_clip_scale(&a->turns, o->clip_beta, a->values, a->values, err);
}

/*
 * The sums come before the normalisation: a turn is compared with the discounted sums of other
 * rollouts, not with their single gains. The weight 1.5 of the outcome is that of the reference.
 */
static enum rl_status run_turn_group(const struct rl_a2tgpo_turns *a, const struct rl_a2tgpo_options *o, struct rl_error *err)
{
    RL_TRY(sum_rescaled(a, o, err));
    normalize(a, o, RL_TURN_SETS_CELLS);
    add_outcome(a, a->values, 1, 1.5);
    return RL_OK;
}

/* Inputs are finite, but a discount above 1 over many turns is allowed and can overflow. */
static enum rl_status check_finite(const struct rl_a2tgpo_turns *a, struct rl_error *err)
{
    for (size_t row = 0; row < a->turns.n_rows; row++)
        for (size_t i = a->turns.start[row]; i < a->turns.start[row + 1]; i++)
            if (!isfinite(a->advantages[i]))
                return rl_fail(err, RL_EVALUE, "advantage of turn %zu in row %zu overflows", i - a->turns.start[row], row);
    return RL_OK;
}

enum rl_status rl_a2tgpo_run(const struct rl_a2tgpo_turns *a, const struct rl_a2tgpo_options *o, struct rl_error *err)
{
    if (o->mode == RL_A2TGPO_TURN_GROUP_V1D) {
        RL_TRY(run_v1d(a, o, err));
    } else if (o->mode == RL_A2TGPO_TURN_GROUP) {
        RL_TRY(run_turn_group(a, o, err));
    } else {
        normalize(a, o, o->mode == RL_A2TGPO_JOINT ? RL_TURN_SETS_JOINT : RL_TURN_SETS_SEPARATE);
        sum_ahead(a, o->gamma);
    }
    size_t n_turns = a->turns.n_rows ? a->turns.start[a->turns.n_rows] : 0;
    /*
     * The values become the clip scale that the caller sees. In the other modes the scale is 1, so
     * every turn has PPO's clip range.
     */
    for (size_t i = 0; o->mode != RL_A2TGPO_TURN_GROUP_V1D && i < n_turns; i++)
        a->values[i] = 1;
    return check_finite(a, err);
}

/*
 * The statistics count tokens although there is one scale per turn, because the loss applies the
 * scale to every token and long turns therefore count more. The stored lengths of the turns save a
 * second pass over the tokens.
 */
struct rl_a2tgpo_stats rl_a2tgpo_scale_stats(const struct rl_a2tgpo_turns *a)
{
    size_t n_turns = a->turns.n_rows ? a->turns.start[a->turns.n_rows] : 0;
    double tokens = 0, sum = 0, squares = 0;
    for (size_t i = 0; i < n_turns; i++) {
        tokens += (double)a->lengths[i];
        sum += (double)a->lengths[i] * a->values[i];
    }
    double mean = tokens > 0 ? sum / tokens : 1;
    for (size_t i = 0; i < n_turns; i++)
        squares += (double)a->lengths[i] * (a->values[i] - mean) * (a->values[i] - mean);
    return (struct rl_a2tgpo_stats){mean, tokens > 1 ? sqrt(squares / (tokens - 1)) : 0};
}
