/*
 * case_array.c: inputs and results that are arrays in memory.
 *
 * An array of the right type is used where it lies: batches are megabytes, and a copy would cost as
 * much as most kernels. Everything else is converted into memory of the call, value by value and with
 * the checks that a list in JSON gets, because what Python calls a mask may be bool, int64 or float.
 */
#include "case_call.h"

#include <math.h>
#include <string.h>

static size_t size_of(enum rl_case_type type)
{
    static const size_t sizes[] = {sizeof(double), sizeof(float), sizeof(int64_t), sizeof(int32_t), 1, 2};
    return sizes[type];
}

/* Linear: a call has some ten arrays. */
const struct rl_case_array *case_array(const struct case_call *call, const char *name)
{
    for (size_t i = 0; i < call->n_arrays; i++)
        if (strcmp(call->arrays[i].name, name) == 0)
            return &call->arrays[i];
    return NULL;
}

static double from_half(uint16_t half)
{
    uint32_t bits = (uint32_t)half << 16;
    float x;
    memcpy(&x, &bits, sizeof x);
    return (double)x;
}

/* An element as a double. Integers beyond 2^53 are read by whole_at and never come here. */
static double real_at(const struct rl_case_array *array, size_t i)
{
    switch (array->type) {
    case RL_CASE_FLOAT64: return ((const double *)array->data)[i];
    case RL_CASE_FLOAT32: return (double)((const float *)array->data)[i];
    case RL_CASE_INT64: return (double)((const int64_t *)array->data)[i];
    case RL_CASE_INT32: return ((const int32_t *)array->data)[i];
    case RL_CASE_BFLOAT16: return from_half(((const uint16_t *)array->data)[i]);
    case RL_CASE_UINT8: break;
    }
    return ((const uint8_t *)array->data)[i];
}

/* Whole numbers only: 0.5 as a mask or 1.7 as a group is a mistake and not a rounding. */
static bool whole_at(const struct rl_case_array *array, size_t i, int64_t low, int64_t high, int64_t *out)
{
    bool real = array->type == RL_CASE_FLOAT64 || array->type == RL_CASE_FLOAT32 ||
                array->type == RL_CASE_BFLOAT16;
    double value = real_at(array, i);
    if (real && (!(fabs(value) <= 0x1p53) || value != floor(value)))
        return false;
    *out = array->type == RL_CASE_INT64 ? ((const int64_t *)array->data)[i] : (int64_t)value;
    return *out >= low && *out <= high;
}

static const char *wanted(enum rl_case_type type)
{
    switch (type) {
    case RL_CASE_UINT8: return "0 or 1";
    case RL_CASE_INT32: return "a 32-bit whole number";
    case RL_CASE_INT64: return "a whole number";
    case RL_CASE_FLOAT64:
    case RL_CASE_FLOAT32:
    case RL_CASE_BFLOAT16: break;
    }
    return "a number";
}

/* Element i of the whole array, as the indices that the caller knows it by. */
static void fail_at(struct case_call *call, const struct rl_case_array *array, size_t i, enum rl_case_type type)
{
    size_t width = array->n_dims > 1 && array->shape[1] ? array->shape[1] : 0;
    if (array->n_dims == 2 && width)
        case_fail(call, "inputs.%s[%zu][%zu] is not %s", array->name, i / width, i % width, wanted(type));
    else
        case_fail(call, "inputs.%s: element %zu is not %s", array->name, i, wanted(type));
}

/* The value is stored also where it is no good: the call fails with it, and nobody reads on. */
static bool convert_whole(const struct rl_case_array *array, size_t i, enum rl_case_type type, void *out)
{
    int64_t value = 0;
    if (type == RL_CASE_UINT8) {
        bool good = whole_at(array, i, 0, 1, &value);
        ((uint8_t *)out)[i] = (uint8_t)value;
        return good;
    }
    if (type == RL_CASE_INT32) {
        bool good = whole_at(array, i, INT32_MIN, INT32_MAX, &value);
        ((int32_t *)out)[i] = (int32_t)value;
        return good;
    }
    bool good = whole_at(array, i, INT64_MIN, INT64_MAX, &value);
    ((int64_t *)out)[i] = value;
    return good;
}

static void *convert(struct case_call *call, const struct rl_case_array *array, enum rl_case_type type, size_t n)
{
    void *out = case_alloc(call, n, size_of(type));
    for (size_t i = 0; out && i < n; i++) {
        bool good = true;
        if (type == RL_CASE_FLOAT64)
            ((double *)out)[i] = real_at(array, i);
        else if (type == RL_CASE_FLOAT32)
            ((float *)out)[i] = (float)real_at(array, i);
        else
            good = convert_whole(array, i, type, out);
        if (!good) {
            fail_at(call, array, i, type);
            return NULL;
        }
    }
    return out;
}

/* Whether the kernel reads the array as it is, beside those of the very type. */
static bool fits_batch(const struct case_call *call, const struct rl_case_array *array, enum rl_case_type type)
{
    bool wide = array->type == RL_CASE_INT64 || array->type == RL_CASE_INT32;
    if (!call->lays_out)
        return false;
    if (type == RL_CASE_UINT8)
        return wide && (strcmp(array->name, "response_mask") == 0 || strcmp(array->name, "loss_mask") == 0);
    if (type == RL_CASE_INT32)
        return array->type == RL_CASE_INT64 && strcmp(array->name, "turn_id") == 0;
    return type == RL_CASE_FLOAT32 && array->type == RL_CASE_BFLOAT16;
}

static void *elements(struct case_call *call, const struct rl_case_array *array, enum rl_case_type type, size_t n,
                      bool of_batch)
{
    if (!array->data && n > 0) {
        case_fail(call, "inputs.%s has no data", array->name);
        return NULL;
    }
    if ((array->type != type && !(of_batch && fits_batch(call, array, type))) || !array->data)
        return convert(call, array, type, n);
    return (void *)(uintptr_t)array->data; /* kernels read inputs only */
}

/* Rows that go back or past the end would make the kernel read what is not there. */
static bool is_ragged(const struct rl_case_array *array)
{
    bool sound = array->start && array->n_dims == 1 && array->start[0] == 0 &&
                 array->start[array->n_rows] == array->shape[0];
    for (size_t i = 0; sound && i < array->n_rows; i++)
        sound = array->start[i] <= array->start[i + 1];
    return sound;
}

static bool same_starts(const struct case_call *call, const struct rl_case_array *array)
{
    return !call->start || memcmp(call->start, array->start, (array->n_rows + 1) * sizeof *array->start) == 0;
}

/* A [B][T] input as rows of their own lengths; T is the longest. */
static void *ragged_batch(struct case_call *call, const struct rl_case_array *array, enum rl_case_type type,
                          struct case_dim *const dims[])
{
    size_t longest = 0;
    if (!is_ragged(array)) {
        case_fail(call, "inputs.%s is not ragged: its rows must begin at 0, ascend, and end at its length",
                  array->name);
        return NULL;
    }
    for (size_t i = 0; i < array->n_rows; i++)
        longest = array->start[i + 1] - array->start[i] > longest ? array->start[i + 1] - array->start[i] : longest;
    if (!case_agree(call, array->name, "entries", array->n_rows, dims[0]))
        return NULL;
    if (call->padded || !same_starts(call, array)) {
        case_fail(call, "inputs.%s has rows of other lengths than the inputs before it", array->name);
        return NULL;
    }
    call->start = array->start;
    *dims[1] = (struct case_dim){longest, true};
    return elements(call, array, type, array->shape[0], true);
}

void *case_array_as(struct case_call *call, const struct rl_case_array *array, enum rl_case_type type,
                    size_t n_dims, struct case_dim *const dims[])
{
    static const char *const what[] = {"entries", "positions in a row", "layers", "experts of a token"};
    size_t n = 1;
    if (call->lays_out && n_dims == 2 && array->start)
        return ragged_batch(call, array, type, dims);
    if (array->n_dims != n_dims || array->start) {
        case_fail(call, "inputs.%s has %zu dimensions%s where %zu are expected", array->name, array->n_dims,
                  array->start ? " and is ragged" : "", n_dims);
        return NULL;
    }
    for (size_t i = 0; i < n_dims; i++) {
        if (!case_agree(call, array->name, what[i], array->shape[i], dims[i]))
            return NULL;
        if (__builtin_mul_overflow(n, array->shape[i], &n)) {
            case_fail(call, "inputs.%s is larger than memory", array->name);
            return NULL;
        }
    }
    if (call->start && n_dims == 2) {
        case_fail(call, "inputs.%s is not ragged, the inputs before it are", array->name);
        return NULL;
    }
    call->padded |= n_dims == 2;
    return elements(call, array, type, n, n_dims == 2);
}

/* ---- the batch as it lies ---- */

static const struct rl_case_array *array_at(const struct case_call *call, const void *data)
{
    for (size_t i = 0; data && i < call->n_arrays; i++)
        if (call->arrays[i].data == data)
            return &call->arrays[i];
    return NULL;
}

/* Converted arrays lie in memory of the call, and are of the usual type. */
static enum rl_integers integers_at(const struct case_call *call, const void *data)
{
    const struct rl_case_array *array = array_at(call, data);
    if (!array)
        return RL_INTEGERS;
    return array->type == RL_CASE_INT64   ? RL_INTEGERS_64
           : array->type == RL_CASE_INT32 ? RL_INTEGERS_32
                                          : RL_INTEGERS;
}

const struct rl_batch *case_lay_out(struct case_call *call, const struct rl_batch *batch,
                                    const void *const *reals, unsigned n)
{
    call->layout = (struct rl_layout){.batch = *batch,
                                      .size = sizeof call->layout,
                                      .n_tokens = batch->n_tokens,
                                      .start = call->start,
                                      .mask_type = integers_at(call, batch->mask),
                                      .turn_type = integers_at(call, batch->turn)};
    call->layout.batch.n_tokens = RL_LAYOUT;
    for (unsigned k = 0; k < n; k++) {
        const struct rl_case_array *array = array_at(call, reals[k]);
        call->layout.bf16 |= array && array->type == RL_CASE_BFLOAT16 ? RL_BF16(k) : 0;
    }
    return &call->layout.batch;
}

void *case_ragged_as(struct case_call *call, const struct rl_case_array *array, enum rl_case_type type)
{
    if (is_ragged(array))
        return elements(call, array, type, array->shape[0], false);
    case_fail(call, "inputs.%s is not ragged: its rows must begin at 0, ascend, and end at its length", array->name);
    return NULL;
}

/* ---- results ---- */

/* A product with zero is zero but for NaN and infinities, and a sum keeps a NaN; unlike a test of
 * each element this becomes a vector loop. */
static bool all_finite(const struct rl_case_array *array, size_t n)
{
    double sum = 0;
    if (array->type == RL_CASE_FLOAT64)
        for (size_t i = 0; i < n; i++)
            sum += ((const double *)array->data)[i] * 0;
    else if (array->type == RL_CASE_FLOAT32)
        for (size_t i = 0; i < n; i++)
            sum += (double)((const float *)array->data)[i] * 0;
    return sum == 0;
}

/*
 * Results made by case_alloc live until the case is released and need no copy; those on an
 * adapter's stack do.
 */
static const void *own(struct case_call *call, const void *data, size_t bytes)
{
    if (case_owns(call, data))
        return data;
    void *copy = case_alloc(call, bytes, 1);
    return copy && bytes ? memcpy(copy, data, bytes) : copy;
}

void case_keep(struct case_call *call, const struct rl_case_array *array)
{
    size_t n = 1;
    /* After a failure nothing is kept: case_fail then leaves the first message as it is. */
    if (call->failed || call->n_results == CASE_RESULTS_MAX) {
        case_fail(call, "too many results");
        return;
    }
    for (size_t i = 0; i < array->n_dims; i++)
        n *= array->shape[i];
    if (!all_finite(array, n)) {
        case_fail(call, "result %s is not finite", array->name);
        return;
    }
    struct rl_case_array *kept = &call->results[call->n_results];
    *kept = *array;
    kept->data = own(call, array->data, n * size_of(array->type));
    if (array->start)
        kept->start = own(call, array->start, (array->n_rows + 1) * sizeof *array->start);
    call->n_results += !call->failed;
}

void case_keep_batch(struct case_call *call, const char *name, enum rl_case_type type, const void *values, size_t b,
                     size_t t)
{
    const struct rl_case_array padded = {name, type, 2, {b, t}, values, NULL, 0};
    if (!call->start) {
        case_keep(call, &padded);
        return;
    }
    case_keep(call, &(struct rl_case_array){name, type, 1, {call->start[b]}, values, call->start, b});
}
