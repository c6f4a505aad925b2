/*
 * case_real.c: [b][t] arrays of reals as inputs and results.
 *
 * Compiled twice, like the core's *_real.c: `lineage core --float` runs the kernels that training
 * uses, on the same cases that check the double kernels. Inputs are rounded to float when they are
 * read; cases that need more digits are run in double only.
 */
#include "case_real.h"

static void read_row(struct case_call *call, const char *name, const json_t *row, size_t i, real *out)
{
    for (size_t j = 0; j < json_array_size(row); j++) {
        const json_t *item = json_array_get(row, j);
        if (!json_is_number(item))
            case_fail(call, "inputs.%s[%zu][%zu] is not a number", name, i, j);
        out[j] = (real)json_number_value(item);
    }
}

static real *read_rows(struct case_call *call, const char *name, const json_t *rows, struct case_dim *b, struct case_dim *t)
{
    real *out = NULL;
    for (size_t i = 0; i < b->n; i++) {
        const json_t *row = json_array_get(rows, i);
        if (!json_is_array(row) || (t->known && json_array_size(row) != t->n)) {
            case_fail(call, "inputs.%s[%zu] is not a list of %zu numbers", name, i, t->n);
            return NULL;
        }
        *t = (struct case_dim){json_array_size(row), true};
        if (!out && !(out = case_alloc_batch(call, b->n, t->n, sizeof *out)))
            return NULL;
        read_row(call, name, row, i, out + i * case_stride(call, t->n));
    }
    return out;
}

/* Does not use case_numbers, so that a batch is read directly into the type that the kernel takes. */
real *case_reals(struct case_call *call, const char *name, struct case_dim *b, struct case_dim *t)
{
    const struct rl_case_array *given = case_array(call, name);
    if (given)
        return case_array_as(call, given, OWN_TYPE, 2, (struct case_dim *const[]){b, t});
    const json_t *rows = case_input(call, name);
    if (!json_is_array(rows)) {
        case_fail(call, "inputs.%s is missing or not a list", name);
        return NULL;
    }
    if (!case_padded(call, name))
        return NULL;
    if (b->known && json_array_size(rows) != b->n) {
        case_fail(call, "inputs.%s has %zu rows where %zu are expected", name, json_array_size(rows), b->n);
        return NULL;
    }
    *b = (struct case_dim){json_array_size(rows), true};
    return read_rows(call, name, rows, b, t);
}

real *case_reals_or_null(struct case_call *call, const char *name, struct case_dim *b, struct case_dim *t)
{
    return case_present(call, name) ? case_reals(call, name, b, t) : NULL;
}

real *case_real_list(struct case_call *call, const char *name, struct case_dim *n)
{
    const struct rl_case_array *given = case_array(call, name);
    if (given)
        return case_array_as(call, given, OWN_TYPE, 1, (struct case_dim *const[]){n});
    double *values = case_numbers(call, name, n);
    real *out = values ? case_alloc(call, n->n, sizeof *out) : NULL;
    for (size_t i = 0; out && i < n->n; i++)
        out[i] = (real)values[i];
    return out;
}

/*
 * The values are written as doubles in both precisions, because a double represents every float
 * exactly.
 */
void case_put_reals(struct case_call *call, const char *name, const real *values, size_t b, size_t t)
{
    if (call->keeps_arrays) {
        case_keep_batch(call, name, OWN_TYPE, values, b, t);
        return;
    }
    json_t *rows = json_array();
    for (size_t i = 0; i < b; i++) {
        json_t *row = json_array();
        for (size_t j = 0; j < t; j++)
            if (json_array_append_new(row, case_real_value((double)values[i * t + j])) != 0)
                case_fail(call, "result %s[%zu][%zu] is not finite", name, i, j);
        json_array_append_new(rows, row);
    }
    case_put(call, name, rows);
}
