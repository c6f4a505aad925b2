/* grid.c: reads a batch of any layout into a struct rl_grid. */
#include "support/grid.h"

/* Convert a plain batch or a layout into a layout. */
static enum rl_status layout_of(struct rl_layout *out, const struct rl_batch *batch, struct rl_error *err)
{
    *out = (struct rl_layout){.batch = *batch, .n_tokens = batch->n_tokens};
    if (batch->n_tokens != RL_LAYOUT)
        return RL_OK;
    size_t size = ((const struct rl_layout *)(const void *)batch)->size;
    if (size != sizeof *out)
        return rl_fail(err, RL_EINVAL, "size of the layout is %zu, not %zu", size, sizeof *out);
    memcpy(out, batch, sizeof *out);
    if ((unsigned)out->mask_type > RL_INTEGERS_64 || (unsigned)out->turn_type > RL_INTEGERS_64)
        return rl_fail(err, RL_EINVAL, "mask_type %d or turn_type %d of the layout is unknown", (int)out->mask_type,
                       (int)out->turn_type);
    return RL_OK;
}

/*
 * Check ragged rows: a row that ends before it begins, or that is longer than the batch is wide,
 * would be read out of bounds.
 */
static enum rl_status check_starts(struct rl_layout *layout, struct rl_error *err)
{
    const size_t *start = layout->start;
    size_t longest = 0;
    if (layout->stride)
        return rl_fail(err, RL_EINVAL, "give either row starts or a stride, not both");
    for (size_t row = 0; row < layout->batch.n_rows; row++) {
        if (start[row] > start[row + 1])
            return rl_fail(err, RL_EINVAL, "start[%zu] is %zu, after the next", row, start[row]);
        size_t n = start[row + 1] - start[row];
        if (layout->n_tokens && n > layout->n_tokens)
            return rl_fail(err, RL_EINVAL, "row %zu has %zu tokens, n_tokens is %zu", row, n, layout->n_tokens);
        longest = n > longest ? n : longest;
    }
    layout->n_tokens = layout->n_tokens ? layout->n_tokens : longest;
    return RL_OK;
}

/* The product is tested here, because every kernel indexes with row * stride + t afterwards. */
static enum rl_status check_shape(struct rl_layout *layout, struct rl_error *err)
{
    size_t rows = layout->batch.n_rows, cells;
    if (layout->start && check_starts(layout, err) != RL_OK)
        return RL_EINVAL;
    if (layout->stride && layout->stride < layout->n_tokens)
        return rl_fail(err, RL_EINVAL, "rows of %zu tokens begin only %zu apart", layout->n_tokens, layout->stride);
    layout->stride = layout->stride ? layout->stride : layout->n_tokens;
    if (__builtin_mul_overflow(rows, layout->stride, &cells))
        return rl_fail(err, RL_EINVAL, "batch of %zu rows x %zu tokens is too large", rows, layout->stride);
    return RL_OK;
}

static enum rl_status check_present(const struct rl_layout *layout, unsigned needs, struct rl_error *err)
{
    const struct rl_batch *batch = &layout->batch;
    bool tokens = batch->n_rows && layout->n_tokens;
    if (tokens && !(needs & RL_NEEDS_NO_MASK) && !batch->mask)
        return rl_fail(err, RL_EINVAL, "response mask is missing");
    if (tokens && (needs & RL_NEEDS_TURNS) && !batch->turn)
        return rl_fail(err, RL_EINVAL, "turn ids are missing");
    if (batch->n_rows && (needs & RL_NEEDS_GROUPS) && !batch->group)
        return rl_fail(err, RL_EINVAL, "group labels are missing");
    return RL_OK;
}

static size_t width_of(enum rl_integers type, size_t usual)
{
    return type == RL_INTEGERS_64 ? 8 : type == RL_INTEGERS_32 ? 4 : usual;
}

/* Address of the lowest `read` bytes of an array's first element. */
static const unsigned char *low_bytes(const void *array, size_t width, size_t read)
{
    bool big_end_first = __BYTE_ORDER__ == __ORDER_BIG_ENDIAN__;
    return array ? (const unsigned char *)array + (big_end_first ? width - read : 0) : NULL;
}

static struct rl_grid grid_of(const struct rl_layout *layout)
{
    size_t mask = width_of(layout->mask_type, 1), turn = width_of(layout->turn_type, 4);
    return (struct rl_grid){.from = *layout,
                            .n_rows = layout->batch.n_rows,
                            .n_tokens = layout->n_tokens,
                            .stride = layout->stride,
                            .start = layout->start,
                            .mask = low_bytes(layout->batch.mask, mask, 1),
                            .mask_step = mask,
                            .turn = {low_bytes(layout->batch.turn, turn, 4), turn},
                            .group = layout->batch.group,
                            .bf16 = layout->bf16};
}

enum rl_status rl_grid_view(struct rl_grid *grid, const struct rl_batch *batch, unsigned needs, bool single, struct rl_error *err)
{
    struct rl_layout layout;
    if (!batch)
        return rl_fail(err, RL_EINVAL, "batch is missing");
    enum rl_status status = layout_of(&layout, batch, err);
    if (status == RL_OK)
        status = check_shape(&layout, err);
    if (status == RL_OK)
        status = check_present(&layout, needs, err);
    if (status == RL_OK && layout.bf16 && !single)
        status = rl_fail(err, RL_EINVAL, "the layout has bfloat16 arrays, which only functions with suffix f read");
    if (status == RL_OK)
        *grid = grid_of(&layout);
    return status;
}

struct rl_layout rl_grid_layout(const struct rl_grid *grid, const uint8_t *mask, const int32_t *turn, uint32_t bf16)
{
    struct rl_layout layout = grid->from;
    layout.batch.n_tokens = RL_LAYOUT;
    layout.size = sizeof layout;
    layout.stride = grid->start ? 0 : grid->stride;
    layout.bf16 = bf16;
    if (mask) {
        layout.batch.mask = mask;
        layout.mask_type = RL_INTEGERS;
    }
    if (turn) {
        layout.batch.turn = turn;
        layout.turn_type = RL_INTEGERS;
    }
    return layout;
}
