/*
 * core_real.c: [b][t] arrays of reals in and out of a JSON case.
 *
 * Compiled twice, like the core's own *_real.c: `lineage core --float` runs the very kernels that
 * training uses, on the cases that the double ones are checked with. Inputs are rounded to float
 * as they are read; a case that needs more digits is only run in double.
 */
#include "core_real.h"

static void read_row(struct core_call *call, const char *name, const json_t *row, size_t i,
                     real *out)
{
    for (size_t j = 0; j < json_array_size(row); j++) {
        const json_t *item = json_array_get(row, j);
        if (!json_is_number(item))
            core_fail(call, "inputs.%s[%zu][%zu] is not a number", name, i, j);
        out[j] = (real)json_number_value(item);
    }
}

static real *read_rows(struct core_call *call, const char *name, const json_t *rows,
                       struct core_dim *b, struct core_dim *t)
{
    real *out = NULL;
    for (size_t i = 0; i < b->n; i++) {
        const json_t *row = json_array_get(rows, i);
        if (!json_is_array(row) || (t->known && json_array_size(row) != t->n)) {
            core_fail(call, "inputs.%s[%zu] is not a list of %zu numbers", name, i, t->n);
            return NULL;
        }
        *t = (struct core_dim){json_array_size(row), true};
        if (!out && !(out = core_alloc(call, b->n * t->n, sizeof *out)))
            return NULL;
        read_row(call, name, row, i, out + i * t->n);
    }
    return out;
}

/* Not by core_numbers and a copy: a batch is read once into the type that the kernel takes. */
real *core_reals(struct core_call *call, const char *name, struct core_dim *b, struct core_dim *t)
{
    const json_t *rows = json_object_get(call->inputs, name);
    if (!json_is_array(rows)) {
        core_fail(call, "inputs.%s is missing or not a list", name);
        return NULL;
    }
    if (b->known && json_array_size(rows) != b->n) {
        core_fail(call, "inputs.%s has %zu rows where %zu are expected", name,
                  json_array_size(rows), b->n);
        return NULL;
    }
    *b = (struct core_dim){json_array_size(rows), true};
    return read_rows(call, name, rows, b, t);
}

real *core_reals_or_null(struct core_call *call, const char *name, struct core_dim *b,
                         struct core_dim *t)
{
    return core_present(call, name) ? core_reals(call, name, b, t) : NULL;
}

real *core_real_list(struct core_call *call, const char *name, struct core_dim *n)
{
    double *values = core_numbers(call, name, n);
    real *out = values ? core_alloc(call, n->n, sizeof *out) : NULL;
    for (size_t i = 0; out && i < n->n; i++)
        out[i] = (real)values[i];
    return out;
}

/* Printed as doubles either way, which hold every float: what a reader compares is the number
 * that was computed. */
void core_put_reals(struct core_call *call, const char *name, const real *values, size_t b,
                    size_t t)
{
    json_t *rows = json_array();
    for (size_t i = 0; i < b; i++) {
        json_t *row = json_array();
        for (size_t j = 0; j < t; j++)
            if (json_array_append_new(row, core_real_value((double)values[i * t + j])) != 0)
                core_fail(call, "result %s[%zu][%zu] is not finite", name, i, j);
        json_array_append_new(rows, row);
    }
    core_put(call, name, rows);
}
