/* case_mask_tools.c: `lineage core mask_tools`. */
#include <rlcore/compose.h>

#include "case_call.h"

static void put_ids(struct case_call *call, const char *name, const int32_t *ids, size_t b, size_t t)
{
    if (call->keeps_arrays) {
        case_keep_batch(call, name, RL_CASE_INT32, ids, b, t);
        return;
    }
    json_t *rows = json_array();
    for (size_t i = 0; i < b; i++) {
        json_t *row = json_array();
        for (size_t j = 0; j < t; j++)
            json_array_append_new(row, json_integer(ids[i * t + j]));
        json_array_append_new(rows, row);
    }
    case_put(call, name, rows);
}

static void run(struct case_call *call)
{
    struct case_dim b = {0}, t = {0};
    struct rl_batch batch = {.mask = case_mask(call, "response_mask", &b, &t)};
    const uint8_t *tool = case_mask(call, "tool_mask", &b, &t);
    if (case_present(call, "turn_id"))
        batch.turn = case_ids(call, "turn_id", &b, &t);
    uint8_t *mask = case_alloc_batch(call, b.n, t.n, sizeof *mask);
    int32_t *turn = batch.turn ? case_alloc_batch(call, b.n, t.n, sizeof *turn) : NULL;
    const struct rl_batch *laid = CASE_LAY_OUT(call, batch, b.n, t.n, NULL);
    CASE_RUN(call, rl_mask_tools(laid, tool, mask, turn, &call->err));
    if (call->failed)
        return;
    case_put_mask(call, "response_mask", mask, b.n, t.n);
    if (turn)
        put_ids(call, "turn_id", turn, b.n, t.n);
}

const struct case_kernel case_mask_tools = {
    .family = "mask_tools",
    .summary = "the response mask and turns of a batch without the tokens of tools",
    .inputs = "response_mask, tool_mask, turn_id?",
    .outputs = "response_mask [B][T], turn_id [B][T]",
    .layouts = true,
    .run = run,
};
