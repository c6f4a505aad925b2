/*
 * turn_values.c: functions on the values of turns: their checks, information gains, discounted sums, clip scales, and
 * statistics at each turn index.
 */
#include "a2tgpo/a2tgpo_internal.h"

enum rl_status rl_turn_values_check(const struct rl_turns *turns, const double *values, const double *out, struct rl_error *err)
{
    if (!turns || (turns->n_rows && !turns->start))
        return rl_fail(err, RL_EINVAL, "turns are missing");
    size_t n = turns->n_rows ? turns->start[turns->n_rows] : 0;
    if (n && (!values || !out))
        return rl_fail(err, RL_EINVAL, "turn values are missing");
    for (size_t row = 0; row < turns->n_rows; row++)
        for (size_t i = turns->start[row]; i < turns->start[row + 1]; i++)
            if (!isfinite(values[i]))
                return rl_fail(err, RL_EVALUE, "value of turn %zu in row %zu is %g, not a finite number", i - turns->start[row],
                               row, values[i]);
    return RL_OK;
}

size_t rl_most_turns(const struct rl_turns *turns)
{
    size_t most = 0;
    for (size_t row = 0; row < turns->n_rows; row++)
        most = rl_row_turns(turns, row) > most ? rl_row_turns(turns, row) : most;
    return most;
}

/* ---- the value of a turn: how much it raised the probability of the true answer ---- */

/*
 * The product of the probabilities of a long answer underflows and shrinks with every token, so its
 * gain would measure the length of the answer. The geometric mean avoids both. The sum stays in
 * logarithms until the end for the same reason.
 */
double rl_prefix_value(enum rl_gain kind, size_t n, const double *log_prob)
{
    double sum = 0;
    for (size_t i = 0; i < n; i++)
        sum += log_prob[i];
    double mean = sum / (double)n;
    return kind == RL_GAIN_MEAN_LOG_PROB ? mean : exp(kind == RL_GAIN_PROB ? sum : mean);
}

enum rl_status rl_information_gain(enum rl_gain kind, size_t n_turns, size_t n_answer, const double *answer_log_prob,
                                   double *gain, struct rl_error *err)
{
    if ((unsigned)kind > RL_GAIN_PROB)
        return rl_fail(err, RL_EINVAL, "kind of information gain %d is unknown", (int)kind);
    if (n_answer == 0)
        return rl_fail(err, RL_EINVAL, "the answer has no tokens");
    if (!answer_log_prob || (n_turns && !gain))
        return rl_fail(err, RL_EINVAL, "%s is missing", gain ? "answer_log_prob" : "gain");
    for (size_t i = 0; i < (n_turns + 1) * n_answer; i++)
        if (!isfinite(answer_log_prob[i]) || answer_log_prob[i] > 0)
            return rl_fail(err, RL_EVALUE, "answer_log_prob[%zu][%zu] is %g, not a log-probability", i / n_answer, i % n_answer,
                           answer_log_prob[i]);
    /*
     * A prefix value is used twice, as the end of one turn and the start of the next. The gains of
     * a rollout therefore add up to exactly the difference between its first and last value.
     */
    double before = rl_prefix_value(kind, n_answer, answer_log_prob);
    for (size_t turn = 0; turn < n_turns; turn++) {
        double after = rl_prefix_value(kind, n_answer, answer_log_prob + (turn + 1) * n_answer);
        gain[turn] = after - before;
        before = after;
    }
    return RL_OK;
}

/* ---- discounted sums of the gains from each turn on, divided by the root of their number (the D / sqrt(n) of A2TGPO) ---- */

/*
 * The standard deviation of a sum of n independent gains grows with sqrt(n). Without the division
 * early turns would have larger advantages only because more turns follow them. The outcome turn is
 * not part of the sums and keeps its value.
 */
enum rl_status rl_turn_accumulate(const struct rl_turns *turns, double gamma, const double *values, double *sums,
                                  struct rl_error *err)
{
    RL_TRY(rl_turn_values_check(turns, values, sums, err));
    if (!(gamma >= 0) || isinf(gamma))
        return rl_fail(err, RL_EINVAL, "gamma is %g, negative or not finite", gamma);
    for (size_t row = 0; row < turns->n_rows; row++) {
        size_t first = turns->start[row], end = turns->start[row + 1];
        double sum = 0;
        if (first == end)
            continue;
        sums[end - 1] = values[end - 1];
        for (size_t i = end - 1; i-- > first;) {
            sum = values[i] + gamma * sum;
            sums[i] = sum / sqrt((double)(end - 1 - i));
        }
    }
    return RL_OK;
}

/* ---- the factor of the clip range of each turn (AdaptiveTurnClipper) ---- */

/*
 * 2 sigmoid(z) - 1 equals tanh(z / 2), which keeps its digits near 0. It widens the clip range of
 * turns that informed more than their peers by up to beta, and narrows that of the other turns by
 * up to beta. The outcome turn has no gain and keeps PPO's range.
 */
enum rl_status rl_turn_clip_scale(const struct rl_turns *turns, double beta, const double *z, double *scale, struct rl_error *err)
{
    RL_TRY(rl_turn_values_check(turns, z, scale, err));
    if (!(beta >= 0 && beta <= 1))
        return rl_fail(err, RL_EINVAL, "clip beta is %g, not in 0..1", beta);
    for (size_t row = 0; row < turns->n_rows; row++)
        for (size_t i = turns->start[row]; i < turns->start[row + 1]; i++)
            scale[i] = i + 1 == turns->start[row + 1] ? 1 : 1 + beta * tanh(z[i] / 2);
    return RL_OK;
}

/* ---- mean and standard deviation of the gains at each turn index ---- */

enum rl_status rl_turn_statistics(const struct rl_turns *turns, const double *values, struct rl_turn_stat *stats, size_t n_stats,
                                  size_t *n_indices, struct rl_error *err)
{
    RL_TRY(RL_NEED(err, {"n_indices", n_indices}));
    RL_TRY(rl_turn_values_check(turns, values, values, err));
    if (n_stats && !stats)
        return rl_fail(err, RL_EINVAL, "stats is missing");
    size_t most = rl_most_turns(turns);
    *n_indices = most ? most - 1 : 0;
    for (size_t k = 0; k < n_stats; k++)
        stats[k] = (struct rl_turn_stat){0};
    /* Welford's update: one pass without cancellation. std holds the sum of squares until the end. */
    for (size_t row = 0; row < turns->n_rows; row++)
        for (size_t k = 0; k + 1 < rl_row_turns(turns, row) && k < n_stats; k++) {
            double deviation = values[turns->start[row] + k] - stats[k].mean;
            stats[k].mean += deviation / (double)++stats[k].count;
            stats[k].std += deviation * (values[turns->start[row] + k] - stats[k].mean);
        }
    for (size_t k = 0; k < n_stats; k++)
        stats[k].std = stats[k].count > 1 ? sqrt(stats[k].std / (double)(stats[k].count - 1)) : 0;
    return RL_OK;
}

void rl_turn_stat_merge(struct rl_turn_stat *into, const struct rl_turn_stat *from)
{
    double a = (double)into->count, b = (double)from->count, n = a + b;
    double distance = from->mean - into->mean;
    double squares = into->std * into->std * fmax(0, a - 1) + from->std * from->std * fmax(0, b - 1);
    if (from->count == 0)
        return;
    if (into->count == 0) {
        *into = *from; /* exactly */
        return;
    }
    squares += distance * distance * a * b / n;
    into->count += from->count;
    into->mean += distance * b / n;
    into->std = n > 1 ? sqrt(squares / (n - 1)) : 0;
}

/*
 * ---- z-scores of turn values within a prompt group: over all turns, over outcomes and gains
 * separately, or over turns of the same index (TurnGroupNormalizer). The cost is linear in the number of turns.
 */

/*
 * The set that a turn belongs to, as an index. Outcomes are set 0 in every form. With cells, set k
 * + 1 holds turn k of all rollouts.
 */
static size_t slot_of(enum rl_turn_sets sets, size_t turn, size_t n_turns)
{
    bool outcome = turn + 1 == n_turns;
    if (sets == RL_TURN_SETS_JOINT || outcome)
        return 0;
    return sets == RL_TURN_SETS_SEPARATE ? 1 : turn + 1;
}

/*
 * The number of sets that this group can use. Only these are cleared and divided, because a batch
 * of many small groups would otherwise cost rows x longest row.
 */
static size_t slots_in(const struct rl_normalizer *n, const size_t *rows, size_t n_rows)
{
    size_t most = 0;
    for (size_t j = 0; j < n_rows; j++)
        most = rl_row_turns(n->turns, rows[j]) > most ? rl_row_turns(n->turns, rows[j]) : most;
    return n->sets == RL_TURN_SETS_CELLS ? most + 1 : 2;
}

static void add_means(const struct rl_normalizer *n, const size_t *rows, size_t n_rows, const double *values)
{
    size_t slots = slots_in(n, rows, n_rows);
    for (size_t slot = 0; slot < slots; slot++)
        n->moments[slot] = (struct rl_moments){0};
    for (size_t j = 0; j < n_rows; j++) {
        const double *x = values + n->turns->start[rows[j]];
        size_t turns = rl_row_turns(n->turns, rows[j]);
        for (size_t k = 0; k < turns; k++) {
            struct rl_moments *m = &n->moments[slot_of(n->sets, k, turns)];
            m->mean += x[k];
            m->count++;
        }
    }
    for (size_t slot = 0; slot < slots; slot++)
        n->moments[slot].mean /= (double)(n->moments[slot].count + !n->moments[slot].count);
}

/*
 * The squared deviations are summed in a second pass over the values. Sums of squares in the first
 * pass would cancel where values are nearly equal, and nearly equal gains are the common case.
 */
static void add_squares(const struct rl_normalizer *n, const size_t *rows, size_t n_rows, const double *values)
{
    for (size_t j = 0; j < n_rows; j++) {
        const double *x = values + n->turns->start[rows[j]];
        size_t turns = rl_row_turns(n->turns, rows[j]);
        for (size_t k = 0; k < turns; k++) {
            struct rl_moments *m = &n->moments[slot_of(n->sets, k, turns)];
            m->squares += (x[k] - m->mean) * (x[k] - m->mean);
        }
    }
}

/*
 * A value that is alone in its set carries no information and gets 0 instead of itself; otherwise a
 * turn that only one rollout reached would be rewarded for existing. The 1e-8 inside the root and
 * the epsilon outside are both taken from the reference.
 */
static double standardized(const struct rl_normalizer *n, const struct rl_moments *m, double x)
{
    if (m->count <= 1)
        return 0;
    double deviation = x - m->mean;
    if (!n->by_std)
        return deviation;
    return deviation / (sqrt(m->squares / (double)m->count + 1e-8) + n->epsilon);
}

static void write_scores(const struct rl_normalizer *n, const size_t *rows, size_t n_rows, const double *values, double *z)
{
    for (size_t j = 0; j < n_rows; j++) {
        size_t first = n->turns->start[rows[j]], turns = rl_row_turns(n->turns, rows[j]);
        for (size_t k = 0; k < turns; k++)
            z[first + k] = standardized(n, &n->moments[slot_of(n->sets, k, turns)], values[first + k]);
    }
}

void rl_normalizer_run(const struct rl_normalizer *n, const double *values, double *z)
{
    for (size_t g = 0; g < n->groups->n; g++) {
        const size_t *rows = n->groups->order + n->groups->start[g];
        size_t n_rows = rl_group_size(n->groups, g);
        add_means(n, rows, n_rows, values);
        add_squares(n, rows, n_rows, values);
        write_scores(n, rows, n_rows, values, z);
    }
}

enum rl_status rl_turn_normalize(const struct rl_turns *turns, enum rl_turn_sets sets, bool by_std, double epsilon,
                                 const double *values, double *z, struct rl_workspace *ws, struct rl_error *err)
{
    RL_TRY(rl_turn_values_check(turns, values, z, err));
    if ((unsigned)sets > RL_TURN_SETS_CELLS || !(epsilon >= 0) || isinf(epsilon))
        return rl_fail(err, RL_EINVAL, "sets %d or epsilon %g are not allowed", (int)sets, epsilon);
    if (turns->n_rows && !turns->group)
        return rl_fail(err, RL_EINVAL, "group labels are missing");
    struct rl_scratch s = rl_scratch_begin(ws);
    struct rl_groups groups = rl_groups_take(&s, turns->n_rows);
    const struct rl_normalizer n = {turns,  &groups, sets,
                                    by_std, epsilon, rl_scratch_take(&s, rl_most_turns(turns) + 2, sizeof(struct rl_moments))};
    if (!rl_scratch_fits(&s))
        return rl_scratch_short(&s, err);
    rl_groups_build(&groups, turns->group);
    rl_normalizer_run(&n, values, z);
    return RL_OK;
}

/*
 * ---- the four modes of A2TGPO on turn values, which are double for float tokens too.
 *
 * All four modes see the same turn values: the gains, and the outcome at the last turn. They differ
 * in which values are compared with each other. joint and separate are the first forms of the
 * paper. turn-group compares a gain only with gains of the same turn in other rollouts of the
 * prompt, because a third search starts from more knowledge than a first one. turn-group-v1d also
 * keeps the scale of the outcome apart from that of the gains.
 */

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
