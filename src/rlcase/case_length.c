/* case_length.c: `lineage core length_penalty` and `length_anchor`. */
#include <rlcore/length.h>

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
    const json_t *list = case_input(call, "anchor");
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
void case_length_penalty(struct case_call *call)
{
    static const char *const kinds[] = {"uniform", "group", "anchor", "step", NULL};
    int kind = case_choice(call, "kind", kinds);
    double coef = case_number_or(call, "coef", rl_length_coef((enum rl_length_penalty)kind));
    struct case_dim n = {0};
    struct rl_length_input in = {.rewards = case_numbers(call, "rewards", &n), .lengths = case_numbers(call, "lengths", &n)};
    in.n = n.n;
    if (kind == RL_LENGTH_GROUP)
        in.group = case_integers(call, "group_index", &n);
    if (kind == RL_LENGTH_ANCHOR || kind == RL_LENGTH_STEP)
        in.anchor = read_anchors(call, n.n);
    double *out = case_alloc(call, n.n, sizeof *out);
    if (call->failed)
        return;
    CASE_RUN(call, rl_length_penalty((enum rl_length_penalty)kind, coef, &in, out, &call->ws, &call->err));
    case_put_numbers(call, "rewards", out, n.n);
}

/* A JSON list of anchors has null where a prompt has none, because JSON has no NaN. */
static void put_anchors(struct case_call *call, const double *anchor, size_t n)
{
    json_t *list = json_array();
    for (size_t i = 0; i < n; i++)
        json_array_append_new(list, isnan(anchor[i]) ? json_null() : case_real_value(anchor[i]));
    case_put(call, "anchor", list);
}

/* Updates the anchor of the prompt of row `first` from all its rows, and writes it to all of them. */
static void update_prompt(struct case_call *call, const int64_t *group, const struct rl_length_input *in, double *anchor,
                          double *rows, size_t first)
{
    size_t n = 0;
    double *lengths = rows + in->n, value = anchor[first];
    for (size_t i = first; !call->failed && i < in->n; i++) {
        if (group[i] != group[first])
            continue;
        if (anchor[i] != value && !(isnan(anchor[i]) && isnan(value)))
            case_fail(call, "inputs.anchor[%zu] differs from that of row %zu, which has the same prompt", i, first);
        rows[n] = in->rewards[i];
        lengths[n++] = in->lengths[i];
    }
    CASE_RUN(call, rl_length_anchor(n, rows, lengths, &value, &call->err));
    for (size_t i = first; i < in->n; i++)
        if (group[i] == group[first])
            anchor[i] = value;
}

void case_length_anchor(struct case_call *call)
{
    struct case_dim n = {0};
    struct rl_length_input in = {.rewards = case_numbers(call, "rewards", &n)};
    in.lengths = case_numbers(call, "lengths", &n);
    const int64_t *group =
        case_present(call, "group_index") ? case_integers(call, "group_index", &n) : case_alloc(call, n.n, sizeof *group);
    const double *given = call->failed ? NULL : read_anchors(call, n.n);
    double *anchor = case_alloc(call, n.n, sizeof *anchor), *rows = case_alloc(call, n.n, 2 * sizeof *rows);
    in.n = n.n;
    for (size_t i = 0; !call->failed && i < n.n; i++)
        anchor[i] = given[i];
    for (size_t i = 0; !call->failed && i < n.n; i++) {
        size_t first = 0;
        while (group[first] != group[i])
            first++;
        if (first == i)
            update_prompt(call, group, &in, anchor, rows, i);
    }
    if (!call->failed)
        put_anchors(call, anchor, n.n);
}
