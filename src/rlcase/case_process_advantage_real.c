/* case_process_advantage_real.c: `lineage core process_advantage`. */
#include <rlcore/process.h>

#include "case_real.h"

/* The event array, narrowed to bytes. The range is checked first, because 257 would become 1. */
static uint8_t *read_events(struct case_call *call, struct case_dim *b, struct case_dim *t)
{
    const int32_t *ids = case_ids(call, "event", b, t);
    const size_t *start = call->start;
    uint8_t *out = case_alloc_batch(call, b->n, t->n, sizeof *out);
    for (size_t i = 0; ids && out && i < b->n; i++) {
        size_t at = start ? start[i] : i * case_stride(call, t->n);
        for (size_t j = 0; j < (start ? start[i + 1] - at : t->n); j++) {
            if (ids[at + j] < 0 || ids[at + j] > RL_EVENT_OUTCOME)
                case_fail(call, "inputs.event[%zu][%zu] is %d, not 0, 1 or 2", i, j, ids[at + j]);
            out[at + j] = (uint8_t)ids[at + j];
        }
    }
    return out;
}

static void run(struct case_call *call)
{
    struct case_dim b = {0}, t = {0};
    struct rl_batch batch = {.mask = case_mask(call, "response_mask", &b, &t), .group = case_integers(call, "group_index", &b)};
    const uint8_t *event = read_events(call, &b, &t);
    const real *rewards = case_reals(call, "token_level_rewards", &b, &t);
    real *advantages = case_alloc_batch(call, b.n, t.n, sizeof *advantages);
    const struct rl_batch *laid = CASE_LAY_OUT(call, batch, b.n, t.n, rewards);
    CASE_RUN(call, rl_process_advantage(laid, event, rewards, advantages, &call->ws, &call->err));
    if (!call->failed)
        case_put_reals(call, "advantages", advantages, b.n, t.n);
}

const struct case_kernel case_process_advantage = {
    .family = "process_advantage",
    .summary = "advantages that keep process rewards at their tokens",
    .inputs = "response_mask, event, token_level_rewards, group_index",
    .outputs = "advantages [B][T]",
    .layouts = true,
    .run = run,
};
