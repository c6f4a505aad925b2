/* turns.c: searches for the next turn, and counts the turns of each row. */
#include "support/turns.h"

#include <rlcore/a2tgpo.h>

enum { BLOCK = 64 };

/*
 * Turn ids ascend, so a block without a larger id is skipped as a whole. step is a constant in both
 * calls.
 */
static RL_INLINE size_t next_turn(struct rl_ids turn, size_t step, size_t from, size_t n, int32_t current)
{
    const struct rl_ids ids = {turn.at, step};
    for (; n - from >= BLOCK; from += BLOCK) {
        int32_t above = 0;
        for (size_t j = 0; j < BLOCK; j++)
            above |= rl_id(ids, from + j) > current;
        if (above)
            break;
    }
    while (from < n && rl_id(ids, from) <= current)
        from++;
    return from;
}

HOT(size_t, next_narrow, (struct rl_ids turn, size_t from, size_t n, int32_t current), (turn, from, n, current))
{
    return next_turn(turn, sizeof(int32_t), from, n, current);
}

HOT(size_t, next_wide, (struct rl_ids turn, size_t from, size_t n, int32_t current), (turn, from, n, current))
{
    return next_turn(turn, sizeof(int64_t), from, n, current);
}

size_t rl_turn_next(struct rl_ids turn, size_t from, size_t n, int32_t current)
{
    return turn.step == sizeof(int32_t) ? next_narrow(turn, from, n, current) : next_wide(turn, from, n, current);
}

/* The number of turns of a row: its last id + 1, because ids ascend. Padding at the end has none. */
static size_t count_turns(struct rl_ids turn, size_t n)
{
    while (n > 0 && rl_id(turn, n - 1) < 0)
        n--;
    return n > 0 ? (size_t)rl_id(turn, n - 1) + 1 : 0;
}

void rl_turn_count_rows(const struct rl_grid *batch, size_t *start)
{
    start[0] = 0;
    for (size_t row = 0; row < batch->n_rows; row++) {
        struct rl_ids turn = rl_turns_at(batch, rl_row_at(batch, row));
        start[row + 1] = start[row] + count_turns(turn, rl_row_length(batch, row));
    }
}

enum rl_status rl_turn_starts(const struct rl_batch *batch, size_t *start, struct rl_error *err)
{
    struct rl_grid grid;
    RL_TRY(RL_NEED(err, {"starts", start}));
    enum rl_status status = rl_grid_open(&grid, batch, RL_NEEDS_TURNS, true, err);
    if (status == RL_OK)
        rl_turn_count_rows(&grid, start);
    return status;
}
