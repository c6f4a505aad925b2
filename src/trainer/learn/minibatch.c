#include "learn/minibatch.h"

#include <math.h>
#include <string.h>

#include "support/carve.h"

static void carve_minibatch(struct minibatch *b, struct carve *block)
{
    size_t n = b->capacity * b->width;
    float **const reals[] = {&b->old,        &b->sampled, &b->log_prob, &b->entropy,  &b->advantage, &b->clip_scale,
                             &b->weight,     &b->rl,      &b->ce,       &b->ref_kl,   &b->reference, &b->start,
                             &b->d_log_prob, &b->d_part,  &b->kd,       &b->behaviour};
    for (size_t i = 0; i < sizeof reals / sizeof *reals; i++)
        *reals[i] = carve(block, n, sizeof(float));
    b->tokens = carve(block, n, sizeof(int32_t));
    b->turn = carve(block, n, sizeof(int32_t));
    b->mask = carve(block, n, 1);
    b->written = carve(block, n, 1);
    b->trained = carve(block, n, 1);
    b->wanted = carve(block, n, 1);
    b->after_tool = carve(block, n, 1);
    b->part = carve(block, n, 1);
    b->length = carve(block, b->capacity, sizeof(int32_t));
    b->first = carve(block, b->capacity + 1, sizeof(size_t));
    b->row = carve(block, b->capacity, sizeof(size_t));
    b->task = carve(block, b->capacity, sizeof(int32_t));
    b->streams = carve(block, b->capacity, sizeof(struct rl_stream_metrics));
}

size_t minibatch_bytes(size_t rows, size_t width)
{
    struct minibatch b = {.capacity = rows, .width = width};
    struct carve block = {NULL, 0};
    carve(&block, 1, sizeof b);
    carve_minibatch(&b, &block);
    return block.used;
}

struct minibatch *minibatch_new(size_t rows, size_t width)
{
    struct carve block = {carve_block(minibatch_bytes(rows, width)), 0};
    if (!block.base)
        return NULL;
    struct minibatch *b = carve(&block, 1, sizeof *b);
    *b = (struct minibatch){.capacity = rows, .width = width};
    carve_minibatch(b, &block);
    return b;
}

/*
 * A minibatch is a copy, because rows are picked in shuffled order and the core's kernels need adjacent rows; without
 * the copy every loop of every loss would read through an index. Rows are copied with their padding, because the
 * kernels take rows of equal width.
 */
static void gather_reals(struct minibatch *b, const struct trainer_rollouts *r, size_t to, size_t from)
{
    const struct {
        float *to;
        const float *from;
    } pairs[] = {{b->old, r->old},
                 {b->sampled, r->log_prob},
                 {b->advantage, r->advantage},
                 {b->weight, r->weight},
                 {b->clip_scale, r->clip_scale},
                 {b->rl, r->rl},
                 {b->ce, r->ce},
                 {b->ref_kl, r->ref_kl},
                 {b->reference, r->reference},
                 {b->start, r->start},
                 {b->kd, r->kd},
                 {b->behaviour, r->behaviour}};
    for (size_t i = 0; i < sizeof pairs / sizeof *pairs; i++)
        memcpy(pairs[i].to + to, pairs[i].from + from, b->width * sizeof(float));
}

/*
 * The turns of the rl component are numbered without a gap if a rejection has emptied one. A token comes after a tool's
 * answer if some earlier token was not written by the policy and follows one that was.
 */
static void gather_marks(struct minibatch *b, const struct trainer_rollouts *r, size_t to, size_t from)
{
    int32_t turn = -1, before = -1;
    bool begun = false, after_tool = false;
    for (size_t t = 0; t < b->width; t++) {
        begun = begun || r->mask[from + t];
        after_tool = after_tool || (begun && !r->mask[from + t]);
        b->written[to + t] = r->mask[from + t];
        b->trained[to + t] = rollouts_trains(r, from + t);
        b->after_tool[to + t] = r->mask[from + t] && after_tool;
        b->mask[to + t] = r->mask[from + t] && r->kept[from + t] && b->rl[to + t] > 0;
        b->wanted[to + t] = r->mask[from + t] || b->ce[to + t] > 0;
        if (b->mask[to + t] && r->turn[from + t] != before) {
            before = r->turn[from + t];
            turn++;
        }
        b->turn[to + t] = b->mask[to + t] ? turn : -1;
    }
}

/*
 * Called after gather_marks, because its mask decides which tokens have values. Tokens without a value get 0, because
 * values are summed.
 */
static void gather_values(struct minibatch *b, const struct trainer_rollouts *r, size_t to, size_t from)
{
    for (size_t t = 0; t < b->width; t++) {
        bool valued = b->mask[to + t] && !isnan(r->returns[from + t]);
        b->valued[to + t] = valued;
        b->expected[to + t] = valued ? (float)r->expected[from + t] : 0;
        b->returns[to + t] = valued ? (float)r->returns[from + t] : 0;
        b->value[to + t] = 0;
    }
}

/* Copies one row to place i; returns whether it has tokens of the rl component. */
static bool gather_row(struct minibatch *b, const struct trainer_rollouts *r, size_t i, size_t row)
{
    size_t to = i * b->width, from = row * r->width;
    gather_reals(b, r, to, from);
    gather_marks(b, r, to, from);
    if (b->value)
        gather_values(b, r, to, from);
    memcpy(b->tokens + to, r->tokens + from, b->width * sizeof *b->tokens);
    b->length[i] = r->length[row];
    b->row[i] = row;
    b->task[i] = r->task[row];
    for (size_t t = 0; t < b->width; t++)
        if (b->mask[to + t])
            return true;
    return false;
}

/*
 * Rows with rl tokens go to the front, other rows to the end. Every row is first copied to the next place at the front,
 * and copied a second time only if it has no rl tokens, which is rare.
 */
void minibatch_gather(struct minibatch *b, const struct trainer_rollouts *r, const size_t *row, size_t n)
{
    size_t others = n;
    b->n = n;
    b->n_rl = 0;
    for (size_t i = 0; i < n; i++) {
        if (gather_row(b, r, b->n_rl, row[i]))
            b->n_rl++;
        else
            (void)gather_row(b, r, --others, row[i]);
    }
    for (size_t i = 0; i <= n; i++)
        b->first[i] = i * b->width;
}
