/* case_turn_spread_real.c: `lineage core turn_spread`. */
#include <rlcore/a2tgpo.h>

#include "case_ragged.h"
#include "case_real.h"

/* The number of values of each row must be that of its turns; the core cannot know the former. */
static void check_counts(struct case_call *call, const size_t *turns, const size_t *values, size_t b)
{
    for (size_t i = 0; !call->failed && i < b; i++)
        if (turns[i + 1] - turns[i] != values[i + 1] - values[i])
            case_fail(call, "inputs.turn_values[%zu] has %zu values for %zu turns", i, values[i + 1] - values[i],
                      turns[i + 1] - turns[i]);
}

static void run(struct case_call *call)
{
    struct case_dim b = {0}, t = {0};
    struct rl_batch batch = {.mask = case_mask(call, "response_mask", &b, &t), .turn = case_ids(call, "turn_id", &b, &t)};
    struct case_ragged values = case_ragged_read(call, "turn_values", &b);
    double fill = case_number_or(call, "fill", 0);
    size_t *start = case_alloc(call, b.n + 1, sizeof *start);
    real *out = case_alloc(call, b.n * t.n, sizeof *out);
    batch.n_rows = b.n;
    batch.n_tokens = t.n;
    CASE_RUN(call, rl_turn_starts(&batch, start, &call->err));
    if (call->failed)
        return;
    check_counts(call, start, values.start, b.n);
    CASE_RUN(call, rl_turn_spread(&batch, start, values.values, fill, out, &call->err));
    if (!call->failed)
        case_put_reals(call, "token_values", out, b.n, t.n);
}

const struct case_kernel case_turn_spread = {
    .family = "turn_spread",
    .summary = "the value of each turn at the tokens of the turn",
    .inputs = "response_mask, turn_id, turn_values, fill?",
    .outputs = "token_values [B][T]",
    .run = run,
};
