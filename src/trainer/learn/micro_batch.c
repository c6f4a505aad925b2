#include "learn/micro_batch.h"

#include <rlcore/pack.h>

#include "support/error.h"

static size_t smaller(size_t a, size_t b)
{
    return a < b ? a : b;
}

/*
 * An upper bound on the number of micro-batches that first fit makes. Any two micro-batches together have more than
 * `tokens` tokens, and each except the last has more than tokens - longest, because otherwise a later row would have
 * been added to it.
 */
static size_t most_packed(const struct micro_batches *b)
{
    size_t longest = (size_t)b->model.max_tokens, all = b->max_rows * longest;
    size_t most = smaller(2 * all / b->tokens, all / (b->tokens - longest + 1)) + 1;
    most = smaller(most, b->max_rows);
    return (most + GRADIENT_LANES - 1) / GRADIENT_LANES * GRADIENT_LANES;
}

struct micro_batches micro_batches_sized(const struct trainer_model *model, size_t max_rows,
                                         const struct trainer_micro_batch *micro)
{
    size_t n = (max_rows + TRAINER_MICRO_BATCH_ROWS - 1) / TRAINER_MICRO_BATCH_ROWS;
    struct micro_batches b = {.model = *model,
                              .tokens = TRAINER_MICRO_BATCH_ROWS * (size_t)model->max_tokens,
                              .max_rows = n * TRAINER_MICRO_BATCH_ROWS,
                              .most = n};
    if (!micro || micro->tokens == 0)
        return b;
    b.packed = true;
    b.tokens = (size_t)micro->tokens;
    b.max_rows = max_rows;
    b.most = most_packed(&b);
    return b;
}

/* Counts the arrays with one number per row, and the arrays of a partition: see rlcore/pack.h. */
double micro_batches_workspace(const struct micro_batches *batches)
{
    return batches->packed ? 512 * (double)(batches->max_rows + GRADIENT_LANES) : 0;
}

void micro_batches_carve(struct micro_batches *b, struct carve *block)
{
    b->row = carve(block, b->max_rows, sizeof *b->row);
    b->first = carve(block, b->most, sizeof *b->first);
    b->count = carve(block, b->most, sizeof *b->count);
    if (!b->packed)
        return;
    b->length = carve(block, b->max_rows, sizeof *b->length);
    b->bin_start = carve(block, b->max_rows + 1, sizeof *b->bin_start);
    b->slots = carve(block, b->max_rows + GRADIENT_LANES, sizeof *b->slots);
}

void micro_batches_close(struct micro_batches *batches)
{
    workspace_free(&batches->workspace);
}

static void take_in_order(struct micro_batches *b, size_t n)
{
    for (size_t i = 0; i < n; i++)
        b->row[i] = i;
    b->n = b->n_full = (n + TRAINER_MICRO_BATCH_ROWS - 1) / TRAINER_MICRO_BATCH_ROWS;
    for (size_t i = 0; i < b->n; i++) {
        b->first[i] = i * TRAINER_MICRO_BATCH_ROWS;
        b->count[i] = smaller(TRAINER_MICRO_BATCH_ROWS, n - b->first[i]);
    }
}

/*
 * The cost of a row is that of matrix products, per token, plus that of attention, per pair of tokens. Lanes are the
 * workers of the core's plan. The plan gives a worker without a bin a copy of another worker's bin; here such a worker
 * has nothing to do.
 */
static struct rl_pack_options options_of(const struct micro_batches *b)
{
    const struct trainer_model *m = &b->model;
    double d = m->width, mlps = m->experts > 0 ? m->experts_per_token : 1;
    return (struct rl_pack_options){.seq_len = b->tokens,
                                    .n_workers = GRADIENT_LANES,
                                    .pad_multiple = 1,
                                    .cost_linear = m->layers * (4 * d * d + 2 * d * m->mlp * mlps) + d * m->tokens,
                                    .cost_quadratic = m->layers * d};
}

static void take_slots(struct micro_batches *b, const struct rl_pack_plan *plan)
{
    size_t per_lane = plan->n_slots / GRADIENT_LANES;
    b->n = plan->n_slots;
    b->n_full = plan->n_bins;
    for (size_t i = 0; i < b->n; i++) {
        size_t bin = plan->slots[i % GRADIENT_LANES * per_lane + i / GRADIENT_LANES];
        bool copy = bin >= plan->n_bins;
        b->first[i] = copy ? 0 : plan->bin_start[bin];
        b->count[i] = copy ? 0 : plan->bin_start[bin + 1] - plan->bin_start[bin];
    }
}

enum trainer_status micro_batches_plan(struct micro_batches *b, size_t n, const int32_t *length, struct trainer_error *err)
{
    const struct rl_pack_options options = options_of(b);
    struct rl_pack_plan plan = {.order = b->row, .bin_start = b->bin_start, .slots = b->slots};
    struct rl_error core;
    enum rl_status status;
    if (!b->packed || n == 0) {
        take_in_order(b, n);
        return TRAINER_OK;
    }
    for (size_t i = 0; i < n; i++)
        b->length[i] = length[i] > 0 ? (size_t)length[i] : 1;
    CORE_CALL(status, &b->workspace, rl_pack_plan(b->length, n, &options, &plan, &b->workspace.ws, &core));
    if (status != RL_OK)
        return trainer_core_failed(err, "micro-batches", status, &core);
    take_slots(b, &plan);
    return TRAINER_OK;
}
