/* case_length.c: `lineage core length_penalty`. */
#include <rlcore/length.h>

#include <math.h>

#include "case_call.h"

/*
 * Reads anchor [n]. An entry of null means that the prompt has no anchor, and null in place of the
 * list that no prompt has one. The core uses NaN for it, which JSON does not have.
 */
static double *read_anchors(struct case_call *call, size_t n)
{
    const struct rl_case_array *given = case_array(call, "anchor");
    if (given)
        return case_array_as(call, given, RL_CASE_FLOAT64, 1, (struct case_dim *const[]){&(struct case_dim){n, true}});
    const json_t *list = json_object_get(call->inputs, "anchor");
    double *out = case_alloc(call, n, sizeof *out);
    if (case_present(call, "anchor") && (!json_is_array(list) || json_array_size(list) != n))
        case_fail(call, "inputs.anchor is not a list of %zu entries", n);
    for (size_t i = 0; !call->failed && i < n; i++) {
        const json_t *item = json_array_get(list, i);
        if (item && !json_is_null(item) && !json_is_number(item))
            case_fail(call, "inputs.anchor[%zu] is not a number or null", i);
        out[i] = json_is_number(item) ? json_number_value(item) : NAN;
    }
    return out;
}

/* Group and anchor are read only for the kind of penalty that uses them. */
static void run(struct case_call *call)
{
    static const char *const kinds[] = {"uniform", "group", "anchor", NULL};
    int kind = case_choice(call, "kind", kinds);
    double coef = case_number_or(call, "coef", rl_length_coef((enum rl_length_penalty)kind));
    struct case_dim n = {0};
    struct rl_length_input in = {.rewards = case_numbers(call, "rewards", &n),
                                 .lengths = case_numbers(call, "lengths", &n)};
    in.n = n.n;
    if (kind == RL_LENGTH_GROUP)
        in.group = case_integers(call, "group_index", &n);
    if (kind == RL_LENGTH_ANCHOR)
        in.anchor = read_anchors(call, n.n);
    double *out = case_alloc(call, n.n, sizeof *out);
    if (call->failed)
        return;
    CASE_RUN(call, rl_length_penalty((enum rl_length_penalty)kind, coef, &in, out, &call->ws,
                                     &call->err));
    if (!call->failed)
        case_put_numbers(call, "rewards", out, n.n);
}

const struct case_kernel case_length_penalty = {
    .family = "length_penalty",
    .summary = "rewards after a uniform, group-relative or anchor length penalty",
    .inputs =
        "kind (uniform|group|anchor), rewards [N], lengths, coef?, group_index? [N], "
        "anchor?",
    .outputs =
        "rewards [N]",
    .run = run,
};
