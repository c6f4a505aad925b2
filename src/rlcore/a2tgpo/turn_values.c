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
