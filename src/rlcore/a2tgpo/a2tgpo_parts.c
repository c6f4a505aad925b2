/*
 * a2tgpo_parts.c: the building blocks of A2TGPO on turn values: information gain, normalisation in
 * sets, accumulation, clip scale, statistics by turn index. All linear in the number of turns.
 */
#include "a2tgpo/a2tgpo_internal.h"

#include <math.h>

/*
 * The product of probabilities over a long answer underflows and shrinks with every token, so that
 * a gain would measure the answer's length; the geometric mean does not. In logarithms until the
 * end, for the same reason.
 */
double rl_prefix_value(enum rl_gain kind, size_t n, const double *log_prob)
{
    double sum = 0;
    for (size_t i = 0; i < n; i++)
        sum += log_prob[i];
    double mean = sum / (double)n;
    return kind == RL_GAIN_MEAN_LOG_PROB ? mean : exp(kind == RL_GAIN_PROB ? sum : mean);
}

enum rl_status rl_information_gain(enum rl_gain kind, size_t n_turns, size_t n_answer,
                                   const double *answer_log_prob, double *gain,
                                   struct rl_error *err)
{
    if ((unsigned)kind > RL_GAIN_PROB)
        return rl_fail(err, RL_EINVAL, "kind of information gain %d is unknown", (int)kind);
    if (n_answer == 0)
        return rl_fail(err, RL_EINVAL, "the answer has no tokens");
    if (!answer_log_prob || (n_turns && !gain))
        return rl_fail(err, RL_EINVAL, "%s is missing", gain ? "answer_log_prob" : "gain");
    for (size_t i = 0; i < (n_turns + 1) * n_answer; i++)
        if (!isfinite(answer_log_prob[i]) || answer_log_prob[i] > 0)
            return rl_fail(err, RL_EVALUE, "answer_log_prob[%zu][%zu] is %g, not a log-probability",
                           i / n_answer, i % n_answer, answer_log_prob[i]);
    /*
     * A prefix value serves twice, as the end of one turn and the start of the next: gains of a
     * rollout then add up to exactly the difference of its ends.
     */
    double before = rl_prefix_value(kind, n_answer, answer_log_prob);
    for (size_t turn = 0; turn < n_turns; turn++) {
        double after = rl_prefix_value(kind, n_answer, answer_log_prob + (turn + 1) * n_answer);
        gain[turn] = after - before;
        before = after;
    }
    return RL_OK;
}

static enum rl_status check_values(const struct rl_turns *turns, const double *values,
                                   const double *out, struct rl_error *err)
{
    if (!turns || (turns->n_rows && !turns->start))
        return rl_fail(err, RL_EINVAL, "turns are missing");
    size_t n = turns->n_rows ? turns->start[turns->n_rows] : 0;
    if (n && (!values || !out))
        return rl_fail(err, RL_EINVAL, "turn values are missing");
    for (size_t row = 0; row < turns->n_rows; row++)
        for (size_t i = turns->start[row]; i < turns->start[row + 1]; i++)
            if (!isfinite(values[i]))
                return rl_fail(err, RL_EVALUE,
                               "value of turn %zu in row %zu is %g, not a finite number",
                               i - turns->start[row], row, values[i]);
    return RL_OK;
}

/*
 * The set that a turn is compared with. Outcomes share slot 0 in every form; in cells, slot k + 1
 * holds turn k of all rollouts.
 */
static size_t slot_of(enum rl_turn_sets sets, size_t turn, size_t n_turns)
{
    bool outcome = turn + 1 == n_turns;
    if (sets == RL_TURN_SETS_JOINT || outcome)
        return 0;
    return sets == RL_TURN_SETS_SEPARATE ? 1 : turn + 1;
}

/*
 * Only the slots that this group can use are cleared and divided, or a batch of many small groups
 * would cost rows x longest row.
 */
static size_t slots_in(const struct rl_normalizer *n, const size_t *rows, size_t n_rows)
{
    size_t most = 0;
    for (size_t j = 0; j < n_rows; j++)
        most = rl_row_turns(n->turns, rows[j]) > most ? rl_row_turns(n->turns, rows[j]) : most;
    return n->sets == RL_TURN_SETS_CELLS ? most + 1 : 2;
}

static void add_means(const struct rl_normalizer *n, const size_t *rows, size_t n_rows,
                      const double *values)
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
 * A second pass over the values, instead of sums of squares in the first: those cancel where values
 * are nearly equal, and near-equal gains are the common case.
 */
static void add_squares(const struct rl_normalizer *n, const size_t *rows, size_t n_rows,
                        const double *values)
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
 * A value that has nothing to be compared with says nothing, and gets 0, not itself: a turn that
 * only one rollout reached would otherwise be rewarded for existing. 1e-8 inside the root and
 * epsilon outside are both the reference's.
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

static void write_scores(const struct rl_normalizer *n, const size_t *rows, size_t n_rows,
                         const double *values, double *z)
{
    for (size_t j = 0; j < n_rows; j++) {
        size_t first = n->turns->start[rows[j]], turns = rl_row_turns(n->turns, rows[j]);
        for (size_t k = 0; k < turns; k++)
            z[first + k] =
                standardized(n, &n->moments[slot_of(n->sets, k, turns)], values[first + k]);
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

static size_t most_turns(const struct rl_turns *turns)
{
    size_t most = 0;
    for (size_t row = 0; row < turns->n_rows; row++)
        most = rl_row_turns(turns, row) > most ? rl_row_turns(turns, row) : most;
    return most;
}

enum rl_status rl_turn_normalize(const struct rl_turns *turns, enum rl_turn_sets sets, bool by_std,
                                 double epsilon, const double *values, double *z,
                                 struct rl_workspace *ws, struct rl_error *err)
{
    enum rl_status status = check_values(turns, values, z, err);
    if (status != RL_OK)
        return status;
    if ((unsigned)sets > RL_TURN_SETS_CELLS || !(epsilon >= 0) || isinf(epsilon))
        return rl_fail(err, RL_EINVAL, "sets %d or epsilon %g are not allowed", (int)sets, epsilon);
    if (turns->n_rows && !turns->group)
        return rl_fail(err, RL_EINVAL, "group labels are missing");
    struct rl_scratch s = rl_scratch_begin(ws);
    struct rl_groups groups = rl_groups_take(&s, turns->n_rows);
    const struct rl_normalizer n = {
        turns,  &groups, sets,
        by_std, epsilon, rl_scratch_take(&s, most_turns(turns) + 2, sizeof(struct rl_moments))};
    if (!rl_scratch_fits(&s))
        return rl_scratch_short(&s, err);
    rl_groups_build(&groups, turns->group);
    rl_normalizer_run(&n, values, z);
    return RL_OK;
}

/*
 * A sum of n independent gains has a standard deviation that grows with sqrt(n); without the
 * division by it, early turns would have larger advantages only for having more turns ahead of
 * them. The outcome turn stays out of the sums and keeps its own value.
 */
enum rl_status rl_turn_accumulate(const struct rl_turns *turns, double gamma, const double *values,
                                  double *sums, struct rl_error *err)
{
    enum rl_status status = check_values(turns, values, sums, err);
    if (status != RL_OK)
        return status;
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

/*
 * 2 sigmoid(z) - 1 is tanh(z / 2), which keeps its digits near 0. It widens the range of turns that
 * informed more than their peers by up to beta, and narrows that of others as much; the outcome
 * turn, which has no gain, keeps PPO's range.
 */
enum rl_status rl_turn_clip_scale(const struct rl_turns *turns, double beta, const double *z,
                                  double *scale, struct rl_error *err)
{
    enum rl_status status = check_values(turns, z, scale, err);
    if (status != RL_OK)
        return status;
    if (!(beta >= 0 && beta <= 1))
        return rl_fail(err, RL_EINVAL, "clip beta is %g, not in 0..1", beta);
    for (size_t row = 0; row < turns->n_rows; row++)
        for (size_t i = turns->start[row]; i < turns->start[row + 1]; i++)
            scale[i] = i + 1 == turns->start[row + 1] ? 1 : 1 + beta * tanh(z[i] / 2);
    return RL_OK;
}

enum rl_status rl_turn_statistics(const struct rl_turns *turns, const double *values,
                                  struct rl_turn_stat *stats, size_t n_stats, size_t *n_indices,
                                  struct rl_error *err)
{
    if (RL_NEED(err, {"n_indices", n_indices}) != RL_OK)
        return RL_EINVAL;
    enum rl_status status = check_values(turns, values, values, err);
    if (status != RL_OK)
        return status;
    if (n_stats && !stats)
        return rl_fail(err, RL_EINVAL, "stats is missing");
    size_t most = most_turns(turns);
    *n_indices = most ? most - 1 : 0;
    for (size_t k = 0; k < n_stats; k++)
        stats[k] = (struct rl_turn_stat){0};
    /* Welford's update: one pass, and no cancellation. std holds the squares until the end. */
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
    double squares =
        into->std * into->std * fmax(0, a - 1) + from->std * from->std * fmax(0, b - 1);
    if (from->count == 0)
        return;
    if (into->count == 0) {
        *into = *from; /* to the digit */
        return;
    }
    squares += distance * distance * a * b / n;
    into->count += from->count;
    into->mean += distance * b / n;
    into->std = n > 1 ? sqrt(squares / (n - 1)) : 0;
}
