/*
 * case_call.c: reads inputs of a case by name and stores results by name.
 *
 * An adapter reads its inputs one after another and tests once whether all succeeded; an error path
 * after each of ten inputs of dozens of kernels would be most of the code. So getters only mark the
 * call as failed, the first message is kept, and memory is freed at the end of the call.
 *
 * Cases are written by hand and by other programs. Messages therefore contain the name of the input
 * and its index, in the words of the case and not of the core.
 */
#include "case_call.h"

#include <rlcore/algorithm.h>

#include <stdarg.h>

/*
 * The memory is a list of blocks instead of an arena, because inputs are read in any order and the
 * size of each input is known only when it is read. data is aligned for any type.
 */
struct case_block {
    struct case_block *next;
    max_align_t data[];
};

void case_call_init(struct case_call *call, const json_t *inputs)
{
    *call = (struct case_call){.inputs = inputs, .outputs = json_object()};
    if (!call->outputs)
        case_fail(call, "out of memory");
}

void case_call_release(struct case_call *call)
{
    while (call->blocks) {
        struct case_block *next = call->blocks->next;
        free(call->blocks);
        call->blocks = next;
    }
    free(call->ws.data);
    json_decref(call->outputs);
    *call = (struct case_call){0};
}

/*
 * Only the first message is kept: later ones are caused by the neutral values that failed getters
 * return.
 */
void case_fail(struct case_call *call, const char *format, ...)
{
    if (call->failed)
        return;
    va_list args;
    va_start(args, format);
    call->failed = true;
    call->err.status = RL_EINVAL;
    vsnprintf(call->err.text, sizeof call->err.text, format, args);
    va_end(args);
}

void case_warn(struct case_call *call, const char *format, ...)
{
    char text[RL_ERROR_TEXT_MAX + 128];
    va_list args;
    va_start(args, format);
    vsnprintf(text, sizeof text, format, args);
    va_end(args);
    if (!json_object_get(call->outputs, "warnings"))
        case_put(call, "warnings", json_array());
    json_array_append_new(json_object_get(call->outputs, "warnings"), json_string(text));
}

/* The memory is zeroed, because adapters accumulate sums and offsets in it. */
void *case_alloc(struct case_call *call, size_t count, size_t size)
{
    size_t bytes;
    struct case_block *block = NULL;
    if (!__builtin_mul_overflow(count, size, &bytes) && bytes < SIZE_MAX - sizeof *block)
        block = calloc(1, sizeof *block + bytes + 1);
    if (!block) {
        case_fail(call, "out of memory");
        return NULL;
    }
    block->next = call->blocks;
    call->blocks = block;
    return block->data;
}

/*
 * The core never allocates: it reports how much scratch memory it lacks and is called again. The
 * comparison prevents an endless loop with a kernel that asks for no more than it has.
 */
bool case_again(struct case_call *call, enum rl_status status)
{
    if (status == RL_EWORKSPACE && call->ws.needed > call->ws.size) {
        void *data = realloc(call->ws.data, call->ws.needed);
        if (data) {
            call->ws.data = data;
            call->ws.size = call->ws.needed;
            return true;
        }
        case_fail(call, "out of memory: %zu bytes of workspace", call->ws.needed);
    }
    if (status != RL_OK)
        call->failed = true;
    return false;
}

/*
 * Only the beginning of a block is recognised; other pointers are treated as foreign memory and
 * copied.
 */
bool case_owns(const struct case_call *call, const void *data)
{
    const struct case_block *block = call->blocks;
    while (block && (const void *)block->data != data)
        block = block->next;
    return block != NULL;
}

struct case_read *case_find_read(struct case_call *call, const char *name)
{
    for (size_t i = 0; i < call->n_read; i++)
        if (strcmp(call->read[i].name, name) == 0)
            return &call->read[i];
    return NULL;
}

static struct case_read *note(struct case_call *call, const char *name)
{
    struct case_read *read = case_find_read(call, name);
    if (!read && call->n_read < CASE_NAMES_MAX) {
        read = &call->read[call->n_read++];
        *read = (struct case_read){.name = name};
    }
    return read;
}

void case_unused(struct case_call *call, const char *name)
{
    struct case_read *read = note(call, name);
    if (read)
        read->unused = true;
}

static void note_default(struct case_call *call, const char *name, bool is_default)
{
    struct case_read *read = note(call, name);
    if (read)
        read->is_default = is_default;
}

json_t *case_input(struct case_call *call, const char *name)
{
    note(call, name);
    return json_object_get(call->inputs, name);
}

/* null counts as absent: programs that print every key write it for missing values. */
bool case_present(struct case_call *call, const char *name)
{
    const json_t *value = case_input(call, name);
    return (value && !json_is_null(value)) || case_array(call, name);
}

const json_t *case_required(struct case_call *call, const char *name)
{
    const json_t *value = case_input(call, name);
    if (value && !json_is_null(value))
        return value;
    case_fail(call, case_array(call, name) ? "inputs.%s must not be an array" : "inputs.%s is missing", name);
    return NULL;
}

double case_number(struct case_call *call, const char *name)
{
    const json_t *value = case_required(call, name);
    if (value && !json_is_number(value))
        case_fail(call, "inputs.%s is not a number", name);
    return json_number_value(value);
}

/*
 * A default replaces only a missing value. A wrong type is an error; otherwise a misspelt value
 * would silently become the default.
 */
double case_number_or(struct case_call *call, const char *name, double fallback)
{
    double value = case_present(call, name) ? case_number(call, name) : fallback;
    note_default(call, name, value == fallback);
    return value;
}

bool case_bool(struct case_call *call, const char *name)
{
    const json_t *value = case_required(call, name);
    if (value && !json_is_boolean(value))
        case_fail(call, "inputs.%s is not true or false", name);
    return json_is_true(value);
}

bool case_bool_or(struct case_call *call, const char *name, bool fallback)
{
    bool value = case_present(call, name) ? case_bool(call, name) : fallback;
    note_default(call, name, value == fallback);
    return value;
}

/*
 * Whole numbers may be written 3 or 3.0. They must be below 2^53, from where on a double cannot
 * represent every whole number.
 */
bool case_as_integer(const json_t *value, int64_t *out)
{
    if (json_is_real(value)) {
        double real = json_real_value(value);
        if (!(fabs(real) < 9007199254740992.0) || real != floor(real))
            return false;
        *out = (int64_t)real;
        return true;
    }
    *out = json_integer_value(value);
    return json_is_integer(value);
}

const char *case_why_not_whole(double value)
{
    if (isfinite(value) && value >= 0x1p53)
        return "is at or above 2^53, where floats no longer hold every whole number";
    if (isfinite(value) && value <= -0x1p53)
        return "is at or below -2^53, where floats no longer hold every whole number";
    return "is not a whole number";
}

int64_t case_integer(struct case_call *call, const char *name)
{
    int64_t out = 0;
    const json_t *value = case_required(call, name);
    if (value && !case_as_integer(value, &out))
        case_fail(call, "inputs.%s %s", name, case_why_not_whole(json_number_value(value)));
    return out;
}

int64_t case_integer_or(struct case_call *call, const char *name, int64_t fallback)
{
    int64_t value = case_present(call, name) ? case_integer(call, name) : fallback;
    note_default(call, name, value == fallback);
    return value;
}

const char *case_string(struct case_call *call, const char *name)
{
    const json_t *value = case_required(call, name);
    if (value && !json_is_string(value))
        case_fail(call, "inputs.%s is not a string", name);
    return json_is_string(value) ? json_string_value(value) : "";
}

const char *case_string_or(struct case_call *call, const char *name, const char *fallback)
{
    return case_present(call, name) ? case_string(call, name) : fallback;
}

/*
 * After a failure returns the first choice, which is a valid index; no kernel runs then. Where a message does not hold all
 * choices, it names the nearest one.
 */
int case_choice(struct case_call *call, const char *name, const char *const *choices)
{
    char known[128] = "";
    size_t used = 0;
    int nearest = 0;
    const char *value = case_string(call, name);
    for (int i = 0; choices[i]; i++) {
        if (strcmp(choices[i], value) == 0)
            return i;
        if (rl_name_distance(value, choices[i]) < rl_name_distance(value, choices[nearest]))
            nearest = i;
        if (used < sizeof known)
            used += (size_t)snprintf(known + used, sizeof known - used, " %s", choices[i]);
    }
    if (used < sizeof known)
        case_fail(call, "inputs.%s is '%.40s'; known are:%s", name, value, known);
    else
        case_fail(call, "inputs.%s is '%.40s'; the nearest known one is %s", name, value, choices[nearest]);
    return 0;
}

int case_choice_or(struct case_call *call, const char *name, const char *const *choices)
{
    int choice = case_present(call, name) ? case_choice(call, name, choices) : 0;
    note_default(call, name, choice == 0);
    return choice;
}

/*
 * The first array sets the length of a dimension and all others must agree: kernels trust sizes and
 * would read beyond a shorter array.
 */
bool case_agree(struct case_call *call, const char *name, const char *what, size_t size, struct case_dim *dim)
{
    if (dim->known && dim->n != size) {
        case_fail(call, "inputs.%s has %zu %s where %zu are expected", name, size, what, dim->n);
        return false;
    }
    dim->n = size;
    dim->known = true;
    return true;
}

/*
 * Jansson refuses NaN and infinity, so an overflow in a kernel becomes an error instead of invalid
 * JSON.
 */
void case_put(struct case_call *call, const char *name, json_t *value)
{
    if (call->failed)
        json_decref(value);
    else if (!value || json_object_set_new(call->outputs, name, value) != 0)
        case_fail(call, "result %s cannot be written as JSON (not finite, or out of memory)", name);
}

/* -0.0 and 0 are equal but differ as text, and a test that compares files would see a difference. */
json_t *case_real_value(double value)
{
    return json_real(value + 0.0);
}

void case_put_number(struct case_call *call, const char *name, double value)
{
    if (!call->failed) /* value may not have been computed */
        case_put(call, name, case_real_value(value));
}
