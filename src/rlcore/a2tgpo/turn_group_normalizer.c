/*
 * turn_group_normalizer.c: z-scores of turn values within a prompt group: over all turns, over
 * outcomes and gains separately, or over turns of the same index (TurnGroupNormalizer). The cost is
 * linear in the number of turns.
 */
#include "a2tgpo/a2tgpo_internal.h"

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
