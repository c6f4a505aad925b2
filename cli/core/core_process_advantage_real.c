/* core_process_advantage_real.c: `lineage core process_advantage`. */
#include <rlcore/process.h>

#include "core_real.h"

/* The event array, whose values fit a byte. Out of range is refused before it is narrowed to a
 * byte, where 257 would be 1. */
static uint8_t *read_events(struct core_call *call, struct core_dim *b, struct core_dim *t)
{
    const int32_t *ids = core_ids(call, "event", b, t);
    uint8_t *out = core_alloc(call, b->n * t->n, sizeof *out);
    for (size_t i = 0; ids && out && i < b->n * t->n; i++) {
        if (ids[i] < 0 || ids[i] > RL_EVENT_OUTCOME)
            core_fail(call, "inputs.event[%zu][%zu] is %d, not 0, 1 or 2", i / t->n, i % t->n,
                      ids[i]);
        out[i] = (uint8_t)ids[i];
    }
    return out;
}

static void run(struct core_call *call)
{
    struct core_dim b = {0}, t = {0};
    struct rl_batch batch = {.mask = core_mask(call, "response_mask", &b, &t),
                             .group = core_integers(call, "group_index", &b)};
    const uint8_t *event = read_events(call, &b, &t);
    const real *rewards = core_reals(call, "token_level_rewards", &b, &t);
    real *advantages = core_alloc(call, b.n * t.n, sizeof *advantages);
    enum rl_status status;
    batch.n_rows = b.n;
    batch.n_tokens = t.n;
    if (call->failed)
        return;
    do
        status = rl_process_advantage(&batch, event, rewards, advantages, &call->ws, &call->err);
    while (core_again(call, status));
    if (!call->failed)
        core_put_reals(call, "advantages", advantages, b.n, t.n);
}

const struct core_kernel core_process_advantage = {
    .family = "process_advantage",
    .summary = "advantages that keep process rewards at their tokens",
    .inputs =
        "response_mask [B][T], event [B][T] (0 none, 1 process, 2 outcome), token_level_rewards "
        "[B][T], group_index [B]",
    .run = run,
};
