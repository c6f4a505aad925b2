/*
 * case_array.c: inputs and results that are arrays, as JSON lists or in memory.
 *
 * An array of the right type is used in place: batches have megabytes, and a copy would cost as
 * much as most kernels. Everything else is converted into memory of the call, value by value, with
 * the checks that a JSON list gets, because a mask in Python may be bool, int64 or float.
 */
#include "case_call.h"

static size_t size_of(enum rl_case_type type)
{
    static const size_t sizes[] = {sizeof(double), sizeof(float), sizeof(int64_t), sizeof(int32_t), 1, 2};
    return sizes[type];
}

/* The search is linear, because a call has about ten arrays. */
const struct rl_case_array *case_array(struct case_call *call, const char *name)
{
    case_input(call, name);
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

/* An element as a double. Integers beyond 2^53 are read by whole_at instead. */
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

/* Up to where a type holds every whole number; from there on two labels may have become one. INFINITY for integers. */
static double exact_below(enum rl_case_type type)
{
    return type == RL_CASE_FLOAT64 ? 0x1p53 : type == RL_CASE_FLOAT32 ? 0x1p24 : type == RL_CASE_BFLOAT16 ? 0x1p8 : INFINITY;
}

/* Only whole numbers are accepted: 0.5 as a mask or 1.7 as a group is a mistake. */
static bool whole_at(const struct rl_case_array *array, size_t i, int64_t low, int64_t high, int64_t *out)
{
    double value = real_at(array, i);
    if (!(fabs(value) < exact_below(array->type)) || value != floor(value))
        return false;
    *out = array->type == RL_CASE_INT64 ? ((const int64_t *)array->data)[i] : (int64_t)value;
    return *out >= low && *out <= high;
}

/* Why a value cannot be converted. */
static const char *reason(enum rl_case_type from, enum rl_case_type type, double value)
{
    const bool inexact = type != RL_CASE_UINT8 && isfinite(value) && fabs(value) >= exact_below(from);
    if (inexact && from == RL_CASE_FLOAT32)
        return "is at or beyond 2^24, where float32 no longer holds every whole number";
    if (inexact && from == RL_CASE_BFLOAT16)
        return "is at or beyond 2^8, where bfloat16 no longer holds every whole number";
    switch (type) {
    case RL_CASE_UINT8: return "is not 0 or 1";
    case RL_CASE_INT32: return "is not a 32-bit whole number";
    case RL_CASE_INT64: return case_why_not_whole(value);
    case RL_CASE_FLOAT64:
    case RL_CASE_FLOAT32:
    case RL_CASE_BFLOAT16: break;
    }
    return "is not a number";
}

/* Elements from one row of a matrix to the next. */
static size_t stride_of(const struct rl_case_array *array)
{
    return array->stride ? array->stride : array->shape[1];
}

/* Report element i of the array, with the indices that the caller knows. */
static void fail_at(struct case_call *call, const struct rl_case_array *array, size_t i, enum rl_case_type type)
{
    size_t width = array->n_dims == 2 ? stride_of(array) : 0;
    const char *why = reason(array->type, type, real_at(array, i));
    if (array->n_dims == 2 && width)
        case_fail(call, "inputs.%s[%zu][%zu] %s", array->name, i / width, i % width, why);
    else
        case_fail(call, array->n_dims == 1 && !array->start ? "inputs.%s[%zu] %s" : "inputs.%s: element %zu %s", array->name, i,
                  why);
}

/*
 * The value is stored even if it is bad, which is harmless: the call then fails, and the value is
 * never read.
 */
static bool convert_whole(const struct rl_case_array *array, size_t i, enum rl_case_type type, void *out, size_t to)
{
    int64_t value = 0;
    if (type == RL_CASE_UINT8) {
        bool good = whole_at(array, i, 0, 1, &value);
        ((uint8_t *)out)[to] = (uint8_t)value;
        return good;
    }
    if (type == RL_CASE_INT32) {
        bool good = whole_at(array, i, INT32_MIN, INT32_MAX, &value);
        ((int32_t *)out)[to] = (int32_t)value;
        return good;
    }
    bool good = whole_at(array, i, INT64_MIN, INT64_MAX, &value);
    ((int64_t *)out)[to] = value;
    return good;
}

static bool convert_one(const struct rl_case_array *array, size_t i, enum rl_case_type type, void *out, size_t to)
{
    if (type != RL_CASE_FLOAT64 && type != RL_CASE_FLOAT32)
        return convert_whole(array, i, type, out, to);
    if (type == RL_CASE_FLOAT64)
        ((double *)out)[to] = real_at(array, i);
    else
        ((float *)out)[to] = (float)real_at(array, i);
    return true;
}

/* n rows of `width` elements, `from` elements apart in the source and `to` apart in the copy. */
struct rows {
    size_t n, width, from, to;
};

static void *convert(struct case_call *call, const struct rl_case_array *array, enum rl_case_type type, struct rows rows)
{
    size_t n;
    bool huge = __builtin_mul_overflow(rows.n, rows.to, &n);
    void *out = case_alloc(call, huge ? SIZE_MAX : n, size_of(type));
    for (size_t i = 0; out && i < rows.n; i++)
        for (size_t j = 0; j < rows.width; j++)
            if (!convert_one(array, i * rows.from + j, type, out, i * rows.to + j)) {
                fail_at(call, array, i * rows.from + j, type);
                return NULL;
            }
    return out;
}

/* Returns true if the kernel reads the array in place although the array has another type. */
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

static void *elements(struct case_call *call, const struct rl_case_array *array, enum rl_case_type type, struct rows rows,
                      bool of_batch)
{
    bool empty = !rows.n || !rows.width;
    bool lies_right = rows.from == rows.to && (array->type == type || (of_batch && fits_batch(call, array, type)));
    if (!array->data && !empty) {
        case_fail(call, "inputs.%s has no data", array->name);
        return NULL;
    }
    if (!lies_right || !array->data)
        return convert(call, array, type, rows);
    return (void *)(uintptr_t)array->data; /* kernels do not write to inputs */
}

static struct rows one_row(size_t n)
{
    return (struct rows){1, n, n, n};
}

/*
 * A call has one stride, which its outputs use too. It is the stride of most of its matrices, so
 * that as few matrices as possible are copied.
 */
void case_find_stride(struct case_call *call)
{
    size_t most = 0;
    if (!call->lays_out || case_present(call, "sampler_routes") || case_present(call, "training_routes") ||
        case_present(call, "used_routes"))
        return; /* routes exist for packed batches only */
    for (size_t i = 0; i < call->n_arrays; i++) {
        const struct rl_case_array *array = &call->arrays[i];
        size_t n = 0;
        for (size_t k = 0; k < call->n_arrays; k++)
            n += call->arrays[k].n_dims == 2 && stride_of(&call->arrays[k]) == stride_of(array);
        if (array->n_dims == 2 && n > most) {
            most = n;
            call->stride = array->stride > array->shape[1] ? array->stride : 0;
        }
    }
}

size_t case_stride(const struct case_call *call, size_t t)
{
    return call->stride > t ? call->stride : t;
}

size_t case_batch_size(struct case_call *call, size_t b, size_t t)
{
    size_t n;
    return __builtin_mul_overflow(b, case_stride(call, t), &n) ? SIZE_MAX : n;
}

void *case_alloc_batch(struct case_call *call, size_t b, size_t t, size_t size)
{
    return case_alloc(call, case_batch_size(call, b, t), size);
}

/* Rows that run backwards or beyond the end would make the kernel read out of bounds. */
static bool is_ragged(const struct rl_case_array *array)
{
    bool sound = array->start && array->n_dims == 1 && array->start[0] == 0 && array->start[array->n_rows] == array->shape[0];
    for (size_t i = 0; sound && i < array->n_rows; i++)
        sound = array->start[i] <= array->start[i + 1];
    return sound;
}

static bool same_starts(const struct case_call *call, const struct rl_case_array *array)
{
    return !call->start || memcmp(call->start, array->start, (array->n_rows + 1) * sizeof *array->start) == 0;
}

/* A ragged [B][T] input; T is the longest row. */
static void *ragged_batch(struct case_call *call, const struct rl_case_array *array, enum rl_case_type type,
                          struct case_dim *const dims[])
{
    size_t longest = 0;
    if (!is_ragged(array)) {
        case_fail(call, "inputs.%s is not ragged: its rows must begin at 0, ascend, and end at its length", array->name);
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
    return elements(call, array, type, one_row(array->shape[0]), true);
}

static void *matrix(struct case_call *call, const struct rl_case_array *array, enum rl_case_type type)
{
    struct rows rows = {array->shape[0], array->shape[1], stride_of(array), array->shape[1]};
    if (call->lays_out)
        rows.to = case_stride(call, rows.width);
    if (rows.from < rows.width) {
        case_fail(call, "inputs.%s has rows of %zu elements that begin only %zu apart", array->name, rows.width, rows.from);
        return NULL;
    }
    return elements(call, array, type, rows, true);
}

/*
 * Record that a [B][T] input is not ragged. If earlier inputs are ragged, returns false and marks
 * the call as failed.
 */
static bool case_padded(struct case_call *call, const char *name)
{
    if (call->start)
        case_fail(call, "inputs.%s is not ragged, the inputs before it are", name);
    call->padded = true;
    return !call->start;
}

void *case_array_as(struct case_call *call, const struct rl_case_array *array, enum rl_case_type type, size_t n_dims,
                    struct case_dim *const dims[])
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
    if (n_dims == 2)
        return case_padded(call, array->name) ? matrix(call, array, type) : NULL;
    if (array->stride) {
        case_fail(call, "inputs.%s has a stride, which is for two dimensions", array->name);
        return NULL;
    }
    return elements(call, array, type, one_row(n), false);
}

static void *ragged_as(struct case_call *call, const struct rl_case_array *array, enum rl_case_type type)
{
    if (is_ragged(array))
        return elements(call, array, type, one_row(array->shape[0]), false);
    case_fail(call, "inputs.%s is not ragged: its rows must begin at 0, ascend, and end at its length", array->name);
    return NULL;
}

/* ---- JSON lists ---- */

/* Lists that are masks may have booleans, and so may weights, which often are masks; true among other numbers is a mistake. */
static bool may_be_flags(const char *name)
{
    static const char *const names[] = {"step_flags", "loss_mask", "rl_weights", "ce_weights", "ref_kl_weights"};
    for (size_t i = 0; i < sizeof names / sizeof *names; i++)
        if (strcmp(name, names[i]) == 0)
            return true;
    return false;
}

/* Ranges are checked here, because a C cast would turn a large id into a valid one. */
bool case_store(const json_t *item, enum rl_case_type type, bool flags, void *out, size_t i)
{
    bool flag = json_is_boolean(item) && (flags || type == RL_CASE_UINT8);
    double value = flag ? json_is_true(item) : json_number_value(item);
    int64_t whole = json_is_true(item);
    if (type == RL_CASE_FLOAT64)
        ((double *)out)[i] = value;
    else if (type == RL_CASE_FLOAT32)
        ((float *)out)[i] = (float)value;
    if (type == RL_CASE_FLOAT64 || type == RL_CASE_FLOAT32)
        return flag || json_is_number(item);
    if (!flag && !case_as_integer(item, &whole))
        return false;
    if (type == RL_CASE_UINT8)
        ((uint8_t *)out)[i] = (uint8_t)whole;
    else if (type == RL_CASE_INT32)
        ((int32_t *)out)[i] = (int32_t)whole;
    else
        ((int64_t *)out)[i] = whole;
    return type == RL_CASE_INT64 || (type == RL_CASE_UINT8 ? whole >= 0 && whole <= 1 : whole >= INT32_MIN && whole <= INT32_MAX);
}

/* Stores a list from element `at` on. row is its index, or NO_ROW for a list that is not in another one. */
enum { NO_ROW = -1 };
static void store_list(struct case_call *call, const char *name, int64_t row, const json_t *list, enum rl_case_type type,
                       void *out, size_t at)
{
    const bool flags = may_be_flags(name), reals = type == RL_CASE_FLOAT64 || type == RL_CASE_FLOAT32;
    for (size_t j = 0; j < json_array_size(list); j++) {
        const json_t *item = json_array_get(list, j);
        if (case_store(item, type, flags, out, at + j))
            continue;
        const char *why = reason(RL_CASE_FLOAT64, type, json_number_value(item)), *or = flags && reals ? " or boolean" : "";
        if (row == NO_ROW)
            case_fail(call, "inputs.%s[%zu] %s%s", name, j, why, or);
        else
            case_fail(call, "inputs.%s[%lld][%zu] %s%s", name, (long long)row, j, why, or);
    }
}

static const json_t *list_of(struct case_call *call, const char *name, struct case_dim *n)
{
    const json_t *value = case_required(call, name);
    if (value && !json_is_array(value))
        case_fail(call, "inputs.%s is not a list", name);
    return json_is_array(value) && case_agree(call, name, "entries", json_array_size(value), n) ? value : NULL;
}

static const json_t *row_of(struct case_call *call, const char *name, const json_t *rows, size_t i)
{
    const json_t *row = json_array_get(rows, i);
    if (!json_is_array(row))
        case_fail(call, "inputs.%s[%zu] is not a list", name, i);
    return json_is_array(row) ? row : NULL;
}

/* Row i of a matrix, of the same length as the rows before it. */
static const json_t *matrix_row(struct case_call *call, const char *name, const json_t *rows, size_t i, struct case_dim *t)
{
    const json_t *row = row_of(call, name, rows, i);
    size_t n = json_array_size(row);
    if (row && t->known && t->n != n) {
        case_fail(call, "inputs.%s[%zu] has %zu positions in a row where %zu are expected", name, i, n, t->n);
        return NULL;
    }
    if (row)
        *t = (struct case_dim){n, true};
    return row;
}

void *case_list(struct case_call *call, const char *name, enum rl_case_type type, struct case_dim *n)
{
    const struct rl_case_array *given = case_array(call, name);
    if (given)
        return case_array_as(call, given, type, 1, (struct case_dim *const[]){n});
    const json_t *list = list_of(call, name, n);
    void *out = list ? case_alloc(call, n->n, size_of(type)) : NULL;
    if (out)
        store_list(call, name, NO_ROW, list, type, out, 0);
    return out;
}

/* Memory is allocated at the first row, when the width is known; without rows the result is NULL. */
void *case_matrix(struct case_call *call, const char *name, enum rl_case_type type, struct case_dim *b, struct case_dim *t)
{
    const struct rl_case_array *given = case_array(call, name);
    if (given)
        return case_array_as(call, given, type, 2, (struct case_dim *const[]){b, t});
    const json_t *rows = list_of(call, name, b);
    void *out = NULL;
    if (rows && !case_padded(call, name))
        return NULL;
    for (size_t i = 0; rows && i < b->n; i++) {
        const json_t *row = matrix_row(call, name, rows, i, t);
        if (!row || (!out && !(out = case_alloc_batch(call, b->n, t->n, size_of(type)))))
            return NULL;
        store_list(call, name, (int64_t)i, row, type, out, i * case_stride(call, t->n));
    }
    return out;
}

/* The starts are copied, because the caller's array is const. */
static size_t *starts_of(struct case_call *call, const char *name, const json_t *rows, const struct rl_case_array *given,
                         size_t n)
{
    size_t *start = case_alloc(call, n + 1, sizeof *start);
    if (start && given)
        memcpy(start, given->start, (n + 1) * sizeof *start);
    for (size_t i = 0; start && !given && i < n; i++)
        start[i + 1] = start[i] + json_array_size(row_of(call, name, rows, i));
    return start;
}

/*
 * A ragged list is stored as one flat array and the index where each row begins, like the core's own ragged inputs. A matrix
 * would need a padding value, but every number may be a reward.
 */
void *case_ragged(struct case_call *call, const char *name, enum rl_case_type type, struct case_dim *b, size_t **start)
{
    const struct rl_case_array *given = case_array(call, name);
    void *values = given ? ragged_as(call, given, type) : NULL;
    const json_t *rows = given ? NULL : list_of(call, name, b);
    if ((given && (!values || !case_agree(call, name, "rows", given->n_rows, b))) || (!given && !rows))
        return NULL;
    size_t *own = starts_of(call, name, rows, given, b->n);
    if (call->failed)
        return NULL;
    for (size_t i = 0; *start && i < b->n; i++)
        if (own[i + 1] - own[i] != (*start)[i + 1] - (*start)[i])
            case_fail(call, "inputs.%s[%zu] has %zu entries where %zu are expected", name, i, own[i + 1] - own[i],
                      (*start)[i + 1] - (*start)[i]);
    if (call->failed) /* callers read as many values as *start says */
        return NULL;
    *start = *start ? *start : own;
    if (rows && (values = case_alloc(call, own[b->n], size_of(type))))
        for (size_t i = 0; i < b->n; i++)
            store_list(call, name, (int64_t)i, json_array_get(rows, i), type, values, own[i]);
    return values;
}

/* ---- the batch as it lies ---- */

static const struct rl_case_array *array_at(const struct case_call *call, const void *data)
{
    for (size_t i = 0; data && i < call->n_arrays; i++)
        if (call->arrays[i].data == data)
            return &call->arrays[i];
    return NULL;
}

/* Converted arrays are in memory of the call and have the usual type. */
static enum rl_integers integers_at(const struct case_call *call, const void *data)
{
    const struct rl_case_array *array = array_at(call, data);
    if (!array)
        return RL_INTEGERS;
    return array->type == RL_CASE_INT64 ? RL_INTEGERS_64 : array->type == RL_CASE_INT32 ? RL_INTEGERS_32 : RL_INTEGERS;
}

const struct rl_batch *case_lay_out(struct case_call *call, struct rl_batch batch, size_t b, size_t t, const void *const *reals,
                                    unsigned n)
{
    batch.n_rows = b;
    batch.n_tokens = RL_LAYOUT;
    call->layout = (struct rl_layout){.batch = batch,
                                      .size = sizeof call->layout,
                                      .n_tokens = t,
                                      .start = call->start,
                                      .stride = call->start ? 0 : case_stride(call, t),
                                      .mask_type = integers_at(call, batch.mask),
                                      .turn_type = integers_at(call, batch.turn)};
    for (unsigned k = 0; k < n; k++) {
        const struct rl_case_array *array = array_at(call, reals[k]);
        call->layout.bf16 |= array && array->type == RL_CASE_BFLOAT16 ? RL_BF16(k) : 0;
    }
    return &call->layout.batch;
}

/* ---- results ---- */

/*
 * x * 0 is 0 except for NaN and infinities, and a sum keeps a NaN. Unlike a test of each element
 * this loop is vectorised.
 */
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
 * Results from case_alloc live as long as the case and need no copy; results on an adapter's stack
 * must be copied.
 */
static const void *own(struct case_call *call, const void *data, size_t bytes)
{
    if (case_owns(call, data))
        return data;
    void *copy = case_alloc(call, bytes, 1);
    return copy && bytes ? memcpy(copy, data, bytes) : copy;
}

static void keep(struct case_call *call, const struct rl_case_array *array)
{
    size_t n = 1;
    if (call->n_results == CASE_RESULTS_MAX) {
        case_fail(call, "too many results");
        return;
    }
    for (size_t i = 0; i < array->n_dims; i++)
        n *= i == 1 && array->stride ? array->stride : array->shape[i];
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

/* n elements as a list. Reals are written as doubles in both precisions, because a double represents every float exactly. */
static json_t *json_list(struct case_call *call, const struct rl_case_array *array, size_t row, size_t from, size_t n)
{
    const bool reals = array->type == RL_CASE_FLOAT64 || array->type == RL_CASE_FLOAT32;
    json_t *list = json_array();
    for (size_t j = 0; j < n; j++) {
        double value = real_at(array, from + j);
        if (json_array_append_new(list, reals ? case_real_value(value) : json_integer((json_int_t)value)) == 0)
            continue;
        if (array->n_dims == 2 || array->start)
            case_fail(call, "result %s[%zu][%zu] is not finite", array->name, row, j);
        else
            case_fail(call, "result %s[%zu] is not finite", array->name, j);
    }
    return list;
}

void case_put_array(struct case_call *call, const struct rl_case_array *array)
{
    if (call->failed)
        return;
    if (call->keeps_arrays) {
        keep(call, array);
        return;
    }
    if (array->n_dims == 1 && !array->start) {
        case_put(call, array->name, json_list(call, array, 0, 0, array->shape[0]));
        return;
    }
    json_t *rows = json_array();
    for (size_t i = 0; i < (array->start ? array->n_rows : array->shape[0]); i++) {
        size_t from = array->start ? array->start[i] : i * stride_of(array);
        json_array_append_new(rows, json_list(call, array, i, from, array->start ? array->start[i + 1] - from : array->shape[1]));
    }
    case_put(call, array->name, rows);
}

void case_put_numbers(struct case_call *call, const char *name, const double *values, size_t n)
{
    case_put_array(call,
                   &(struct rl_case_array){.name = name, .type = RL_CASE_FLOAT64, .n_dims = 1, .shape = {n}, .data = values});
}

void case_put_ragged(struct case_call *call, const char *name, enum rl_case_type type, const void *values, const size_t *start,
                     size_t b)
{
    if (call->failed) /* start may not have been made */
        return;
    case_put_array(
        call, &(struct rl_case_array){
                  .name = name, .type = type, .n_dims = 1, .shape = {start[b]}, .data = values, .start = start, .n_rows = b});
}

void case_put_matrix(struct case_call *call, const char *name, enum rl_case_type type, const void *values, size_t b, size_t t)
{
    if (call->failed)
        return;
    const struct rl_case_array padded = {
        .name = name, .type = type, .n_dims = 2, .shape = {b, t}, .data = values, .stride = call->stride};
    if (call->start)
        case_put_ragged(call, name, type, values, call->start, b);
    else
        case_put_array(call, &padded);
}
