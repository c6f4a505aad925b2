/*
 * a2tgpo_advantage_real.c: the advantage kernel of A2TGPO: it gathers turn values from token
 * rewards, and spreads the results over the tokens.
 *
 * Turn values are double even where tokens are float. The mean of a group of equal float gains
 * differs from the gains by rounding, and a normalisation would divide that error by almost 0. Only
 * the arrays over tokens have the element type.
 */
#include "a2tgpo/a2tgpo_internal.h"
#include "support/loops.h"
#include "support/real.h"
#include "support/turns.h"

struct tally {
    size_t length, nonzero; /* numbers of tokens and of tokens with a reward (NaN counts) in the
                               turn */
};

/*
 * Count tokens and search for stray rewards in one pass, so that a batch is read once. The test is
 * written as two comparisons because NaN fails every comparison: a NaN reward must count, or it
 * would pass as "no reward".
 */
static RL_INLINE struct tally tally_ids(struct rl_ids turn, const real *rewards, size_t n, int32_t k)
{
    struct tally tally = {0};
    for (size_t t = 0; t < n; t++) {
        int32_t id = rl_id(turn, t);
        tally.length += id == k;
        tally.nonzero += (id == k) & (rewards[t] < 0 || !(rewards[t] <= 0));
    }
    return tally;
}

/*
 * The usual width is passed as a constant, so that the loop over it is vectorised; wider ids are
 * rare.
 */
HOT(struct tally, tally_chunk, (const struct rl_grid *batch, const real *array, size_t i, size_t n, int32_t k),
    (batch, array, i, n, k))
{
    real buffer[RL_CHUNK];
    const struct rl_ids turn = rl_turns_at(batch, i);
    const real *rewards = rl_reals_at(batch, 0, array, i, n, buffer);
    if (turn.step != sizeof(int32_t))
        return tally_ids(turn, rewards, n, k);
    return tally_ids((struct rl_ids){turn.at, sizeof(int32_t)}, rewards, n, k);
}

static struct tally tally_turn(const struct rl_grid *batch, const real *array, size_t i, size_t end, int32_t k)
{
    struct tally tally = {0};
    for (; i < end; i += RL_CHUNK) {
        struct tally part = tally_chunk(batch, array, i, end - i < RL_CHUNK ? end - i : RL_CHUNK, k);
        tally.length += part.length;
        tally.nonzero += part.nonzero;
    }
    return tally;
}

/* Arrays that turn values are read from and written to. */
struct gathering {
    const struct rl_grid *batch;
    const size_t *start;
    const real *rewards;
    double *values;
    size_t *lengths; /* or NULL */
};

/*
 * Gather the values of one row's turns. Returns false if a reward is not finite or not at the end
 * of its turn.
 */
static bool gather_row(const struct gathering *g, size_t row)
{
    size_t first = rl_row_at(g->batch, row), n = rl_row_length(g->batch, row), begin = 0;
    size_t n_turns = g->start[row + 1] - g->start[row];
    const struct rl_ids turn = rl_turns_at(g->batch, first);
    bool good = true;
    for (size_t k = 0; k < n_turns; k++) {
        size_t end = k + 1 < n_turns ? rl_turn_next(turn, begin, n, (int32_t)k) : n, last = end;
        struct tally tally = tally_turn(g->batch, g->rewards, first + begin, first + end, (int32_t)k);
        /* Holes may follow the last token of a turn. The reward is at the token, not in the hole. */
        while (rl_id(turn, last - 1) != (int32_t)k)
            last--;
        double value = (double)rl_real_at(g->batch, 0, g->rewards, first + last - 1);
        g->values[g->start[row] + k] = value;
        good &= isfinite(value) && tally.nonzero == (value < 0 || value > 0);
        if (g->lengths)
            g->lengths[g->start[row] + k] = tally.length;
        begin = end;
    }
    return good;
}

/*
 * Name the reward that gather_row refused. The row is searched from its end, because only from
 * there it is known whether the turn of a token continues. A reward in the middle of a turn is
 * refused instead of added to the turn's reward, because the reference takes every non-zero reward
 * for the end of a turn and would silently split the turn there.
 */
static enum rl_status explain_row(const struct gathering *g, size_t row, struct rl_error *err)
{
    size_t first = rl_row_at(g->batch, row);
    const struct rl_ids turn = rl_turns_at(g->batch, first);
    int32_t later = -1;
    for (size_t t = rl_row_length(g->batch, row); t-- > 0;) {
        double reward = (double)rl_real_at(g->batch, 0, g->rewards, first + t);
        int32_t id = rl_id(turn, t);
        if (id < 0)
            continue;
        if (!isfinite(reward))
            return rl_fail(err, RL_EVALUE, "token_level_rewards[%zu][%zu] is %g, not a finite number", row, t, reward);
        if (id == later && (reward < 0 || reward > 0))
            return rl_fail(err, RL_EVALUE, "token_level_rewards[%zu][%zu] is %g, but turn %d continues after it", row, t, reward,
                           id);
        later = id;
    }
    return RL_OK;
}

/* Gather all rows of a batch whose turns are checked and counted. */
static enum rl_status gather(const struct gathering *g, struct rl_error *err)
{
    bool bad = false;
    if (g->start[g->batch->n_rows] && (!g->rewards || !g->values))
        return rl_fail(err, RL_EINVAL, "token_level_rewards or turn values are missing");
#pragma omp parallel for schedule(static) reduction(|| : bad) if (rl_grid_parallel(g->batch))
    for (size_t row = 0; row < g->batch->n_rows; row++)
        bad = !gather_row(g, row) || bad;
    enum rl_status status = rl_grid_check_rewards(g->batch, g->rewards, err);
    for (size_t row = 0; bad && status == RL_OK && row < g->batch->n_rows; row++)
        status = explain_row(g, row, err);
    return status;
}

enum rl_status rl_turn_rewards(const struct rl_batch *batch, const size_t *start, const real *rewards, double *values,
                               size_t *lengths, struct rl_error *err)
{
    struct rl_grid grid;
    const struct gathering g = {&grid, start, rewards, values, lengths};
    RL_TRY(rl_grid_of(&grid, batch, RL_NEEDS_TURNS, err));
    RL_TRY(RL_NEED(err, {"starts of turns", start}));
    return gather(&g, err);
}

/* step is a constant in both calls, so that the compiler can specialise the loop. */
static RL_INLINE void spread_ids(struct rl_ids turn, size_t step, size_t n, const double *values, real fill, real *out)
{
    const struct rl_ids ids = {turn.at, step};
#pragma omp simd
    for (size_t t = 0; t < n; t++)
        out[t] = rl_id(ids, t) < 0 ? fill : (real)values[rl_id(ids, t)];
}

HOT_VOID(spread, (struct rl_ids turn, size_t n, const double *values, real fill, real *out), (turn, n, values, fill, out))
{
    if (turn.step == sizeof(int32_t))
        spread_ids(turn, sizeof(int32_t), n, values, fill, out);
    else
        spread_ids(turn, sizeof(int64_t), n, values, fill, out);
}

static void spread_row(const struct rl_grid *batch, size_t row, const double *values, real fill, real *out)
{
    size_t first = rl_row_at(batch, row);
    spread(rl_turns_at(batch, first), rl_row_length(batch, row), values, fill, out + first);
}

enum rl_status rl_turn_spread(const struct rl_batch *batch, const size_t *start, const double *values, double fill, real *out,
                              struct rl_error *err)
{
    struct rl_grid grid;
    enum rl_status status = rl_grid_of(&grid, batch, RL_NEEDS_TURNS, err);
    if (status == RL_OK && grid.n_rows && grid.n_tokens)
        status = RL_NEED(err, {"starts of turns", start}, {"values", values}, {"out", out});
    if (status != RL_OK || grid.n_tokens == 0)
        return status;
    for (size_t row = 0; row < grid.n_rows; row++)
        spread_row(&grid, row, values + start[row], (real)fill, out);
    return RL_OK;
}

/*
 * Each token gets the undivided advantage of its turn. The loss later takes means over tokens, so
 * dividing here as well would count the length of a turn twice.
 */
static void spread_results(const struct rl_grid *batch, const struct rl_a2tgpo_turns *a, real *advantages, real *clip_scale)
{
#pragma omp parallel for schedule(static) if (rl_grid_parallel(batch))
    for (size_t row = 0; row < batch->n_rows; row++) {
        size_t first = a->turns.start[row];
        if (batch->n_tokens)
            spread_row(batch, row, a->advantages + first, 0, advantages);
        if (batch->n_tokens && clip_scale)
            spread_row(batch, row, a->values + first, 1, clip_scale);
    }
}

enum rl_status rl_a2tgpo_advantage(const struct rl_batch *batch, const struct rl_a2tgpo_options *options, const real *rewards,
                                   real *advantages, real *clip_scale, struct rl_a2tgpo_stats *stats, struct rl_workspace *ws,
                                   struct rl_error *err)
{
    struct rl_grid grid;
    RL_TRY(rl_a2tgpo_check(options, err));
    RL_TRY(rl_grid_of(&grid, batch, RL_NEEDS_TURNS | RL_NEEDS_GROUPS, err));
    size_t cells = rl_grid_tokens(&grid);
    struct rl_scratch s = rl_scratch_begin(ws);
    size_t *start = rl_scratch_take(&s, grid.n_rows + 1, sizeof *start);
    struct rl_a2tgpo_turns a = {
        .turns = {grid.n_rows, start, grid.group},
        .groups = rl_groups_take(&s, grid.n_rows),
        .moments = rl_scratch_take(&s, grid.n_tokens + 2, sizeof *a.moments),
        .lengths = rl_scratch_take(&s, cells, sizeof *a.lengths),
        .values = rl_scratch_take(&s, cells, sizeof *a.values),
        .advantages = rl_scratch_take(&s, cells, sizeof *a.advantages),
    };
    if (!rl_scratch_fits(&s))
        return rl_scratch_short(&s, err);
    if (cells && !advantages)
        return rl_fail(err, RL_EINVAL, "advantages is missing");
    rl_turn_count_rows(&grid, start);
    rl_groups_build(&a.groups, grid.group);
    RL_TRY(gather(&(struct gathering){&grid, start, rewards, a.values, a.lengths}, err));
    RL_TRY(rl_a2tgpo_run(&a, options, err));
    spread_results(&grid, &a, advantages, clip_scale);
    if (stats)
        *stats = rl_a2tgpo_scale_stats(&a);
    return RL_OK;
}
