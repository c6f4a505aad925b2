/*
 * a2tgpo_advantage_real.c: turn values out of token rewards and back onto tokens; the advantage
 * kernel around them.
 *
 * Turn values are made and used in double even where tokens are float: a mean over a group of equal
 * float gains is off by their rounding, and a normalisation divides that error by next to nothing.
 * Only what is read from and written to tokens has the element type.
 */
#include "a2tgpo/a2tgpo_internal.h"
#include "support/hot.h"
#include "support/real.h"
#include "support/turns.h"

struct tally {
    size_t length, nonzero; /* tokens of the turn, and how many carry a reward (NaN counts) */
};

/*
 * One pass over the turn that both counts and looks for stray rewards, so that a batch is read
 * once. The test is written as two comparisons because NaN fails both kinds of equality: a NaN
 * reward must count, or it would slip through as "no reward".
 */
RL_HOT static struct tally tally_turn(const int32_t *turn, const real *rewards, size_t n, int32_t k)
{
    struct tally tally = {0};
    for (size_t t = 0; t < n; t++) {
        tally.length += turn[t] == k;
        tally.nonzero += (turn[t] == k) & (rewards[t] < 0 || !(rewards[t] <= 0));
    }
    return tally;
}

/* Values of one row's turns; false if a reward is not finite or not at the end of its turn. */
static bool gather_row(const int32_t *turn, const real *rewards, size_t n, size_t n_turns,
                       double *values, size_t *lengths)
{
    bool good = true;
    size_t begin = 0;
    for (size_t k = 0; k < n_turns; k++) {
        size_t end = k + 1 < n_turns ? rl_turn_next(turn, begin, n, (int32_t)k) : n, last = end;
        struct tally tally = tally_turn(turn + begin, rewards + begin, end - begin, (int32_t)k);
        /*
         * Holes may follow the last token of a turn; the reward belongs to the token, not to the
         * hole.
         */
        while (turn[last - 1] != (int32_t)k)
            last--;
        values[k] = (double)rewards[last - 1];
        good &= isfinite(values[k]) && tally.nonzero == (values[k] < 0 || values[k] > 0);
        if (lengths)
            lengths[k] = tally.length;
        begin = end;
    }
    return good;
}

/*
 * Name the reward that gather_row found fault with. From the end of the row backwards, as only then
 * it is known of each token whether its turn goes on. A reward in the middle of a turn is refused
 * instead of added up: the reference takes every non-zero reward for the end of a turn, and would
 * silently split the turn there.
 */
static enum rl_status explain_row(const struct rl_batch *batch, size_t row, const real *rewards,
                                  struct rl_error *err)
{
    const int32_t *turn = batch->turn + row * batch->n_tokens;
    int32_t later = -1;
    for (size_t t = batch->n_tokens; t-- > 0;) {
        double reward = (double)rewards[row * batch->n_tokens + t];
        if (turn[t] < 0)
            continue;
        if (!isfinite(reward))
            return rl_fail(err, RL_EVALUE,
                           "token_level_rewards[%zu][%zu] is %g, not a finite number", row, t,
                           reward);
        if (turn[t] == later && (reward < 0 || reward > 0))
            return rl_fail(err, RL_EVALUE,
                           "token_level_rewards[%zu][%zu] is %g, but turn %d goes on after it", row,
                           t, reward, turn[t]);
        later = turn[t];
    }
    return RL_OK;
}

/* Gather all rows of a batch whose turns are checked and counted. */
static enum rl_status gather(const struct rl_batch *batch, const size_t *start, const real *rewards,
                             double *values, size_t *lengths, struct rl_error *err)
{
    size_t n = batch->n_tokens;
    bool bad = false;
    if (start[batch->n_rows] && (!rewards || !values))
        return rl_fail(err, RL_EINVAL, "token_level_rewards or turn values are missing");
#pragma omp parallel for schedule(static)                                                          \
    reduction(||                                                                                   \
              : bad) if (batch->n_rows * n >= RL_PARALLEL_TOKENS)
    for (size_t row = 0; row < batch->n_rows; row++)
        bad = !gather_row(batch->turn + row * n, rewards + row * n, n, start[row + 1] - start[row],
                          values + start[row], lengths ? lengths + start[row] : NULL) ||
              bad;
    enum rl_status status = RL_OK;
    for (size_t row = 0; bad && status == RL_OK && row < batch->n_rows; row++)
        status = explain_row(batch, row, rewards, err);
    return status;
}

enum rl_status rl_turn_rewards(const struct rl_batch *batch, const size_t *start,
                               const real *rewards, double *values, size_t *lengths,
                               struct rl_error *err)
{
    enum rl_status status = rl_batch_check(batch, RL_NEEDS_TURNS, err);
    if (status == RL_OK)
        status = RL_NEED(err, {"starts of turns", start});
    return status == RL_OK ? gather(batch, start, rewards, values, lengths, err) : status;
}

RL_HOT static void spread_row(const int32_t *turn, size_t n, const double *values, real fill,
                              real *out)
{
#pragma omp simd
    for (size_t t = 0; t < n; t++)
        out[t] = turn[t] < 0 ? fill : (real)values[turn[t]];
}

enum rl_status rl_turn_spread(const struct rl_batch *batch, const size_t *start,
                              const double *values, double fill, real *out, struct rl_error *err)
{
    enum rl_status status = rl_batch_check(batch, RL_NEEDS_TURNS, err);
    if (status == RL_OK && batch->n_rows && batch->n_tokens)
        status = RL_NEED(err, {"starts of turns", start}, {"values", values}, {"out", out});
    size_t n = status == RL_OK ? batch->n_tokens : 0;
    for (size_t row = 0; n && row < batch->n_rows; row++)
        spread_row(batch->turn + row * n, n, values + start[row], (real)fill, out + row * n);
    return status;
}

/*
 * The advantage of a turn goes to each of its tokens undivided: the loss takes means over tokens
 * later, and dividing here as well would make long turns count twice as little.
 */
static void spread_results(const struct rl_batch *batch, const struct rl_a2tgpo_turns *a,
                           real *advantages, real *clip_scale)
{
    size_t n = batch->n_tokens;
#pragma omp parallel for schedule(static) if (batch->n_rows * n >= RL_PARALLEL_TOKENS)
    for (size_t row = 0; row < batch->n_rows; row++) {
        const int32_t *turn = batch->turn + row * n;
        size_t first = a->turns.start[row];
        spread_row(turn, n, a->advantages + first, 0, advantages + row * n);
        if (clip_scale)
            spread_row(turn, n, a->values + first, 1, clip_scale + row * n);
    }
}

enum rl_status rl_a2tgpo_advantage(const struct rl_batch *batch,
                                   const struct rl_a2tgpo_options *options, const real *rewards,
                                   real *advantages, real *clip_scale,
                                   struct rl_a2tgpo_stats *stats, struct rl_workspace *ws,
                                   struct rl_error *err)
{
    enum rl_status status = rl_a2tgpo_check(options, err);
    if (status == RL_OK)
        status = rl_batch_check(batch, RL_NEEDS_TURNS | RL_NEEDS_GROUPS, err);
    if (status != RL_OK)
        return status;
    size_t cells = batch->n_rows * batch->n_tokens;
    struct rl_scratch s = rl_scratch_begin(ws);
    size_t *start = rl_scratch_take(&s, batch->n_rows + 1, sizeof *start);
    struct rl_a2tgpo_turns a = {
        .turns = {batch->n_rows, start, batch->group},
        .groups = rl_groups_take(&s, batch->n_rows),
        .moments = rl_scratch_take(&s, batch->n_tokens + 2, sizeof *a.moments),
        .lengths = rl_scratch_take(&s, cells, sizeof *a.lengths),
        .values = rl_scratch_take(&s, cells, sizeof *a.values),
        .advantages = rl_scratch_take(&s, cells, sizeof *a.advantages),
    };
    if (!rl_scratch_fits(&s))
        return rl_scratch_short(&s, err);
    if (cells && !advantages)
        return rl_fail(err, RL_EINVAL, "advantages is missing");
    rl_turn_count_rows(batch, start);
    rl_groups_build(&a.groups, batch->group);
    status = gather(batch, start, rewards, a.values, a.lengths, err);
    if (status == RL_OK)
        status = rl_a2tgpo_run(&a, options, err);
    if (status != RL_OK)
        return status;
    spread_results(batch, &a, advantages, clip_scale);
    if (stats)
        *stats = rl_a2tgpo_scale_stats(&a);
    return RL_OK;
}
