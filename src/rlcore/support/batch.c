/*
 * batch.c: the checks of mask and turns with which every token-level kernel begins. Rows are first
 * tested in wide loops; only a batch with a bad row is read again, token by token, for the message.
 */
#include <rlcore/batch.h>

#include "support/turns.h"

/*
 * Reads an element in its full width. After this check, kernels read only the lowest bytes of
 * elements.
 */
static int64_t element(const void *array, enum rl_integers type, size_t width, size_t i)
{
    const unsigned char *at = (const unsigned char *)array + i * width;
    int64_t wide;
    int32_t narrow;
    if (width == 1)
        return *at;
    if (type == RL_INTEGERS_64) {
        memcpy(&wide, at, sizeof wide);
        return wide;
    }
    memcpy(&narrow, at, sizeof narrow);
    return narrow;
}

static int64_t mask_at(const struct rl_grid *grid, size_t i)
{
    return element(grid->from.batch.mask, grid->from.mask_type, grid->mask_step, i);
}

static int64_t turn_at(const struct rl_grid *grid, size_t i)
{
    return element(grid->from.batch.turn, grid->from.turn_type, grid->turn.step, i);
}

static enum rl_status check_mask_row(const struct rl_grid *grid, size_t row, struct rl_error *err)
{
    size_t begin = rl_row_at(grid, row);
    for (size_t t = 0; t < rl_row_length(grid, row); t++) {
        int64_t mask = mask_at(grid, begin + t);
        if (mask < 0 || mask > 1)
            return rl_fail(err, RL_EVALUE, "response mask[%zu][%zu] is %lld, not 0 or 1", row, t, (long long)mask);
    }
    return RL_OK;
}

static enum rl_status check_turn_row(const struct rl_grid *grid, size_t row, struct rl_error *err)
{
    size_t begin = rl_row_at(grid, row);
    int64_t last = -1;
    for (size_t t = 0; t < rl_row_length(grid, row); t++) {
        long long turn = (long long)turn_at(grid, begin + t);
        if (!rl_on(grid, begin + t)) {
            if (turn != -1)
                return rl_fail(err, RL_EVALUE, "turn id[%zu][%zu] is %lld at mask 0, not -1", row, t, turn);
            continue;
        }
        if (turn != last && turn != last + 1)
            return rl_fail(err, RL_EVALUE, "turn id[%zu][%zu] is %lld after turn %lld", row, t, turn, (long long)last);
        if (turn < 0)
            return rl_fail(err, RL_EVALUE, "turn id[%zu][%zu] is %lld at mask 1", row, t, turn);
        last = turn;
    }
    return RL_OK;
}

/* The bitwise OR of all elements shows whether there is a 2, without a test per token. */
HOT(bool, bytes_hold, (const uint8_t *mask, size_t n), (mask, n))
{
    uint8_t bits = 0;
    for (size_t t = 0; t < n; t++)
        bits |= mask[t];
    return bits <= 1;
}

HOT(bool, words_hold, (const unsigned char *mask, size_t n), (mask, n))
{
    uint64_t bits = 0;
    for (size_t t = 0; t < n; t++) {
        uint64_t word;
        memcpy(&word, mask + t * sizeof word, sizeof word);
        bits |= word;
    }
    return bits <= 1;
}

static bool mask_row_holds(const struct rl_grid *grid, size_t row)
{
    size_t begin = rl_row_at(grid, row), n = rl_row_length(grid, row);
    const unsigned char *mask = (const unsigned char *)grid->from.batch.mask;
    if (grid->mask_step == 1)
        return bytes_hold(mask + begin, n);
    if (grid->mask_step == sizeof(uint64_t))
        return words_hold(mask + begin * sizeof(uint64_t), n);
    int64_t bits = 0;
    for (size_t t = 0; t < n; t++)
        bits |= mask_at(grid, begin + t);
    return bits == 0 || bits == 1;
}

enum { NO_TURN = -2 }; /* an id that no token has, so that only mask 0 passes */

/* Returns true if every position is -1 at mask 0 and `current` at mask 1. */
HOT(bool, is_one_turn, (const uint8_t *mask, const int32_t *turn, size_t n, int32_t current), (mask, turn, n, current))
{
    int32_t wrong = 0;
    for (size_t t = 0; t < n; t++)
        wrong |= turn[t] ^ (mask[t] ? current : -1);
    return wrong == 0;
}

/*
 * Checks a row turn by turn: within one turn every position has one of two known values, which a
 * wide loop compares. The ascending order follows from where the next turn begins.
 */
static bool turn_row_holds(const uint8_t *mask, const int32_t *turn, size_t n)
{
    const struct rl_ids ids = {(const unsigned char *)turn, sizeof *turn};
    size_t begin = rl_turn_next(ids, 0, n, -1);
    bool holds = is_one_turn(mask, turn, begin, NO_TURN);
    for (int32_t current = 0; holds && begin < n; current++) {
        size_t end = rl_turn_next(ids, begin, n, current);
        holds = turn[begin] == current && is_one_turn(mask + begin, turn + begin, end - begin, current);
        begin = end;
    }
    return holds;
}

/*
 * Wide loops for the usual layout, token by token for other layouts; both check elements in their
 * full width.
 */
static bool turns_hold(const struct rl_grid *grid, size_t row)
{
    size_t begin = rl_row_at(grid, row);
    if (grid->mask_step == 1 && grid->turn.step == sizeof(int32_t))
        return turn_row_holds(grid->from.batch.mask + begin, grid->from.batch.turn + begin, rl_row_length(grid, row));
    return check_turn_row(grid, row, NULL) == RL_OK;
}

static bool rows_hold(const struct rl_grid *grid, bool turns)
{
    bool bad = false;
#pragma omp parallel for schedule(static) reduction(|| : bad) if (rl_grid_parallel(grid))
    for (size_t row = 0; row < grid->n_rows; row++)
        bad = !mask_row_holds(grid, row) || (turns && !turns_hold(grid, row)) || bad;
    return !bad;
}

enum rl_status rl_grid_open(struct rl_grid *grid, const struct rl_batch *batch, unsigned needs, bool single, struct rl_error *err)
{
    enum rl_status status = rl_grid_view(grid, batch, needs, single, err);
    bool turns = needs & RL_NEEDS_TURNS;
    if (status != RL_OK || grid->n_tokens == 0 || rows_hold(grid, turns))
        return status;
    for (size_t row = 0; status == RL_OK && row < grid->n_rows; row++) {
        status = check_mask_row(grid, row, err);
        if (status == RL_OK && turns)
            status = check_turn_row(grid, row, err);
    }
    return status;
}

enum rl_status rl_batch_check(const struct rl_batch *batch, unsigned needs, struct rl_error *err)
{
    struct rl_grid grid;
    return rl_grid_open(&grid, batch, needs, true, err);
}

/*
 * The count of each chunk is a byte, which cannot overflow there, so a wide loop adds 64 bytes at a
 * time.
 */
HOT(size_t, count_bytes, (const uint8_t *mask, size_t n), (mask, n))
{
    size_t count = 0;
    for (size_t t = 0; t < n; t += RL_CHUNK) {
        size_t end = n - t < RL_CHUNK ? n : t + RL_CHUNK;
        uint8_t part = 0;
        for (size_t k = t; k < end; k++)
            part = (uint8_t)(part + mask[k]);
        count += part;
    }
    return count;
}

size_t rl_count_on(const struct rl_grid *grid, size_t i, size_t n)
{
    size_t count = 0;
    if (grid->mask_step == 1)
        return n ? count_bytes(grid->mask + i, n) : 0;
    for (size_t t = 0; t < n; t++)
        count += rl_on(grid, i + t);
    return count;
}
