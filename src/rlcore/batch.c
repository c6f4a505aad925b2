/* batch.c: shape and marker checks that every token-level kernel starts with. */
#include <rlcore/batch.h>

#include "internal.h"

static enum rl_status check_present(const struct rl_batch *batch, unsigned needs, struct rl_error *err)
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
            return rl_fail(err, RL_EVALUE, "response mask[%zu][%zu] is %u, not 0 or 1", row, t, mask[t]);
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
                return rl_fail(err, RL_EVALUE, "turn id[%zu][%zu] is %d at mask 0, not -1", row, t, turn[t]);
            continue;
        }
        if (turn[t] != last && turn[t] != last + 1)
            return rl_fail(err, RL_EVALUE, "turn id[%zu][%zu] is %d after turn %d", row, t, turn[t], last);
        if (turn[t] < 0)
            return rl_fail(err, RL_EVALUE, "turn id[%zu][%zu] is %d at mask 1", row, t, turn[t]);
        last = turn[t];
    }
    return RL_OK;
}

enum rl_status rl_batch_check(const struct rl_batch *batch, unsigned needs, struct rl_error *err)
{
    enum rl_status status = check_present(batch, needs, err);
    for (size_t row = 0; status == RL_OK && row < batch->n_rows; row++) {
        status = check_mask_row(batch, row, err);
        if (status == RL_OK && (needs & RL_NEEDS_TURNS))
            status = check_turn_row(batch, row, err);
    }
    return status;
}
