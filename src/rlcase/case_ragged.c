/*
 * A ragged list is stored as one flat array and the index where each row begins, like the core's
 * own ragged inputs. A matrix would need a padding value, but every number may be a reward.
 */
#include "case_ragged.h"

#include <string.h>

/* The starts are copied, because the caller's array is const and struct case_ragged is not. */
static struct case_ragged from_array(struct case_call *call, const struct rl_case_array *array, struct case_dim *b)
{
    struct case_ragged out = {0};
    double *values = case_ragged_as(call, array, RL_CASE_FLOAT64);
    size_t *start =
        values && case_agree(call, array->name, "rows", array->n_rows, b) ? case_alloc(call, b->n + 1, sizeof *start) : NULL;
    if (start) {
        memcpy(start, array->start, (b->n + 1) * sizeof *start);
        out = (struct case_ragged){start, values};
    }
    return out;
}

struct case_ragged case_ragged_read(struct case_call *call, const char *name, struct case_dim *b)
{
    const struct rl_case_array *given = case_array(call, name);
    const json_t *rows = json_object_get(call->inputs, name);
    struct case_ragged out = {0};
    if (given)
        return from_array(call, given, b);
    if (!json_is_array(rows) || (b->known && json_array_size(rows) != b->n)) {
        case_fail(call, "inputs.%s is not a list of one list per row", name);
        return out;
    }
    *b = (struct case_dim){json_array_size(rows), true};
    out.start = case_alloc(call, b->n + 1, sizeof *out.start);
    for (size_t i = 0; out.start && i < b->n; i++)
        out.start[i + 1] = out.start[i] + json_array_size(json_array_get(rows, i));
    out.values = out.start ? case_alloc(call, out.start[b->n], sizeof *out.values) : NULL;
    for (size_t i = 0; out.values && i < b->n; i++) {
        const json_t *row = json_array_get(rows, i);
        if (!json_is_array(row))
            case_fail(call, "inputs.%s[%zu] is not a list", name, i);
        for (size_t j = 0; j < json_array_size(row); j++) {
            const json_t *item = json_array_get(row, j);
            if (!json_is_number(item) && !json_is_boolean(item))
                case_fail(call, "inputs.%s[%zu][%zu] is not a number or boolean", name, i, j);
            out.values[out.start[i] + j] = json_is_true(item) ? 1 : json_number_value(item);
        }
    }
    return out;
}

/* A flag of 0.5 is refused: read as GOOD it would silently change an advantage. */
uint8_t *case_ragged_flags(struct case_call *call, struct case_dim *b, const size_t **start)
{
    struct case_ragged flags = case_ragged_read(call, "step_flags", b);
    *start = flags.start;
    if (call->failed)
        return NULL;
    uint8_t *out = case_alloc(call, flags.start[b->n], sizeof *out);
    for (size_t i = 0; out && i < flags.start[b->n]; i++) {
        out[i] = flags.values[i] > 0;
        if (flags.values[i] != out[i])
            case_fail(call, "inputs.step_flags: flag %zu is not true or false", i);
    }
    return out;
}

void case_ragged_put(struct case_call *call, const char *name, const double *values, const size_t *start, size_t b)
{
    if (call->keeps_arrays) {
        case_keep(call, &(struct rl_case_array){.name = name,
                                                .type = RL_CASE_FLOAT64,
                                                .n_dims = 1,
                                                .shape = {start[b]},
                                                .data = values,
                                                .start = start,
                                                .n_rows = b});
        return;
    }
    json_t *rows = json_array();
    for (size_t i = 0; i < b; i++) {
        json_t *row = json_array();
        for (size_t j = start[i]; j < start[i + 1]; j++)
            if (json_array_append_new(row, case_real_value(values[j])) != 0)
                case_fail(call, "result %s[%zu][%zu] is not finite", name, i, j - start[i]);
        json_array_append_new(rows, row);
    }
    case_put(call, name, rows);
}
