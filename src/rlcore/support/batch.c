/*
 * batch.c: shape and marker checks that every token-level kernel starts with. Rows are first tested
 * in wide loops; only a batch with a bad row is walked again, token by token, for the message.
 */
#include <rlcore/batch.h>

#include "support/hot.h"
#include "support/scratch.h"
#include "support/turns.h"

/*
 * The product is tested before anything is multiplied by it: every kernel indexes with row *
 * n_tokens + t after this.
 */
static enum rl_status check_present(const struct rl_batch *batch, unsigned needs,
                                    struct rl_error *err)
{
    size_t cells;
    if (!batch)
        return rl_fail(err, RL_EINVAL, "batch is missing");
    if (__builtin_mul_overflow(batch->n_rows, batch->n_tokens, &cells))
        return rl_fail(err, RL_EINVAL, "batch of %zu rows x %zu tokens is too large", batch->n_rows,
                       batch->n_tokens);
    if (cells && !batch->mask)
        return rl_fail(err, RL_EINVAL, "response mask is missing");
    if (cells && (needs & RL_NEEDS_TURNS) && !batch->turn)
        return rl_fail(err, RL_EINVAL, "turn ids are missing");
    if (batch->n_rows && (needs & RL_NEEDS_GROUPS) && !batch->group)
        return rl_fail(err, RL_EINVAL, "group labels are missing");
    return RL_OK;
}

static enum rl_status check_mask_row(const struct rl_batch *batch, size_t row, struct rl_error *err)
{
    const uint8_t *mask = batch->mask + row * batch->n_tokens;
    for (size_t t = 0; t < batch->n_tokens; t++)
        if (mask[t] > 1)
            return rl_fail(err, RL_EVALUE, "response mask[%zu][%zu] is %u, not 0 or 1", row, t,
                           mask[t]);
    return RL_OK;
}

static enum rl_status check_turn_row(const struct rl_batch *batch, size_t row, struct rl_error *err)
{
    const uint8_t *mask = batch->mask + row * batch->n_tokens;
    const int32_t *turn = batch->turn + row * batch->n_tokens;
    int32_t last = -1;
    for (size_t t = 0; t < batch->n_tokens; t++) {
        if (!mask[t]) {
            if (turn[t] != -1)
                return rl_fail(err, RL_EVALUE, "turn id[%zu][%zu] is %d at mask 0, not -1", row, t,
                               turn[t]);
            continue;
        }
        if (turn[t] != last && turn[t] != last + 1)
            return rl_fail(err, RL_EVALUE, "turn id[%zu][%zu] is %d after turn %d", row, t, turn[t],
                           last);
        if (turn[t] < 0)
            return rl_fail(err, RL_EVALUE, "turn id[%zu][%zu] is %d at mask 1", row, t, turn[t]);
        last = turn[t];
    }
    return RL_OK;
}

/* or-ing the bytes finds a 2 anywhere without a test per token. */
RL_HOT static bool mask_row_holds(const uint8_t *mask, size_t n)
{
    uint8_t bits = 0;
    for (size_t t = 0; t < n; t++)
        bits |= mask[t];
    return bits <= 1;
}

enum { NO_TURN = -2 }; /* an id that no token has: only mask 0 can stand there */

/* Every position is -1 where the mask is 0 and `current` where it is 1. */
RL_HOT static bool is_one_turn(const uint8_t *mask, const int32_t *turn, size_t n, int32_t current)
{
    int32_t wrong = 0;
    for (size_t t = 0; t < n; t++)
        wrong |= turn[t] ^ (mask[t] ? current : -1);
    return wrong == 0;
}

/*
 * Turn by turn: within one turn every position has one of two known values, which a wide loop
 * compares; ascending order follows from where the next turn begins.
 */
static bool turn_row_holds(const uint8_t *mask, const int32_t *turn, size_t n)
{
    size_t begin = rl_turn_next(turn, 0, n, -1);
    bool holds = is_one_turn(mask, turn, begin, NO_TURN);
    for (int32_t current = 0; holds && begin < n; current++) {
        size_t end = rl_turn_next(turn, begin, n, current);
        holds =
            turn[begin] == current && is_one_turn(mask + begin, turn + begin, end - begin, current);
        begin = end;
    }
    return holds;
}

static bool rows_hold(const struct rl_batch *batch, bool turns)
{
    size_t n = batch->n_tokens;
    bool bad = false;
#pragma omp parallel for schedule(static)                                                          \
    reduction(||                                                                                   \
              : bad) if (batch->n_rows * n >= RL_PARALLEL_TOKENS)
    for (size_t row = 0; row < batch->n_rows; row++) {
        const uint8_t *mask = batch->mask + row * n;
        bad = !mask_row_holds(mask, n) ||
              (turns && !turn_row_holds(mask, batch->turn + row * n, n)) || bad;
    }
    return !bad;
}

enum rl_status rl_batch_check(const struct rl_batch *batch, unsigned needs, struct rl_error *err)
{
    enum rl_status status = check_present(batch, needs, err);
    bool turns = needs & RL_NEEDS_TURNS;
    if (status != RL_OK || batch->n_tokens == 0 || rows_hold(batch, turns))
        return status;
    for (size_t row = 0; status == RL_OK && row < batch->n_rows; row++) {
        status = check_mask_row(batch, row, err);
        if (status == RL_OK && turns)
            status = check_turn_row(batch, row, err);
    }
    return status;
}
