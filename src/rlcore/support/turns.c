/* turns.c: the search for the next turn, and the count of turns per row. */
#include "support/turns.h"

#include <rlcore/a2tgpo.h>

#include "support/fail.h"
#include "support/hot.h"

enum { BLOCK = 64 };

/* Turn ids ascend, so a block without a larger id can be passed over whole. */
static RL_HOT size_t next_turn(const int32_t *turn, size_t from, size_t n, int32_t current)
{
    for (; n - from >= BLOCK; from += BLOCK) {
        int32_t above = 0;
        for (size_t j = 0; j < BLOCK; j++)
            above |= turn[from + j] > current;
        if (above)
            break;
    }
    while (from < n && turn[from] <= current)
        from++;
    return from;
}

size_t rl_turn_next(const int32_t *turn, size_t from, size_t n, int32_t current)
{
    return next_turn(turn, from, n, current);
}

/*
 * 1 + the largest turn id of a row, which is its last. The last token decides, as ids ascend;
 * padding behind it has none.
 */
static size_t count_turns(const int32_t *turn, size_t n)
{
    while (n > 0 && turn[n - 1] < 0)
        n--;
    return n > 0 ? (size_t)turn[n - 1] + 1 : 0;
}

void rl_turn_count_rows(const struct rl_batch *batch, size_t *start)
{
    size_t n = batch->n_tokens;
    start[0] = 0;
    for (size_t row = 0; row < batch->n_rows; row++)
        start[row + 1] = start[row] + count_turns(batch->turn + row * n, n);
}

enum rl_status rl_turn_starts(const struct rl_batch *batch, size_t *start, struct rl_error *err)
{
    if (RL_NEED(err, {"starts", start}) != RL_OK)
        return RL_EINVAL;
    enum rl_status status = rl_batch_check(batch, RL_NEEDS_TURNS, err);
    if (status == RL_OK)
        rl_turn_count_rows(batch, start);
    return status;
}
