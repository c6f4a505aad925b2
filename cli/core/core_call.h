/*
 * core_call.h: one run of a training-core kernel on a JSON case, as `lineage core FAMILY` does it.
 *
 * An adapter takes its inputs from call->inputs by name, calls the kernel, and puts the results
 * into call->outputs under the names of the golden files. The getters return NULL or a neutral
 * value and mark the call failed on bad input; an adapter therefore fetches everything first and
 * then checks call->failed once. All memory an adapter gets belongs to the call.
 *
 * Adapters in files *_real.c are compiled twice (see core_real.h) and run in double or in float.
 */
#ifndef CORE_CALL_H
#define CORE_CALL_H

#include <jansson.h>
#include <stdbool.h>
#include <stdint.h>

#include <rlcore/status.h>

struct core_block;

struct core_call {
    const json_t *inputs; /* borrowed: the case's `inputs` object */
    json_t *outputs;      /* owned: what will be printed */
    struct core_block *blocks;
    struct rl_workspace ws;
    struct rl_error err; /* filled when failed */
    bool failed;
};

/* One kernel of the command: an entry of `lineage core --list`. */
struct core_kernel {
    const char *family;
    const char *summary; /* one line */
    const char *inputs;  /* names with shapes, as --list prints them */
    void (*run)(struct core_call *call);
};

void core_call_init(struct core_call *call, const json_t *inputs);
void core_call_release(struct core_call *call);

/* Mark the call failed; the first message is kept. */
void core_fail(struct core_call *call, const char *format, ...)
    __attribute__((format(printf, 2, 3)));

/* Zeroed memory that lives as long as the call. Never NULL for a call that has not failed. */
void *core_alloc(struct core_call *call, size_t count, size_t size);

/*
 * Take note of a kernel's status. Returns true if the kernel is to be called again with a larger
 * workspace:
 *     do status = rl_kernel(..., &call->ws, &call->err); while (core_again(call, status));
 */
bool core_again(struct core_call *call, enum rl_status status);

/* Scalars. A missing or null key is a failure; the _or forms return the fallback. */
double core_number(struct core_call *call, const char *name);
double core_number_or(struct core_call *call, const char *name, double fallback);
bool core_bool(struct core_call *call, const char *name);
bool core_bool_or(struct core_call *call, const char *name, bool fallback);
int64_t core_integer(struct core_call *call, const char *name);
int64_t core_integer_or(struct core_call *call, const char *name, int64_t fallback);
const char *core_string(struct core_call *call, const char *name);
const char *core_string_or(struct core_call *call, const char *name, const char *fallback);

/* Index of the string input in a NULL-terminated list; if absent a failure that lists it. */
int core_choice(struct core_call *call, const char *name, const char *const *choices);

/* Whether the key is there and not null. */
bool core_present(const struct core_call *call, const char *name);

/*
 * Arrays. Dimensions are in-out: 0 means unknown yet and is set, otherwise the input must agree.
 * A dimension of length zero is remembered as seen through the `known` flag of struct core_dim.
 */
struct core_dim {
    size_t n;
    bool known;
};
double *core_numbers(struct core_call *call, const char *name, struct core_dim *n);   /* [n] */
int64_t *core_integers(struct core_call *call, const char *name, struct core_dim *n); /* [n] */
uint8_t *core_mask(struct core_call *call, const char *name, struct core_dim *b,
                   struct core_dim *t);
int32_t *core_ids(struct core_call *call, const char *name, struct core_dim *b, struct core_dim *t);

/* Results. Values that JSON cannot hold (NaN, infinity) make the call fail. */
void core_put(struct core_call *call, const char *name, json_t *value); /* steals value */
json_t *core_real_value(double value); /* a new reference; minus zero becomes 0.0 */
void core_put_number(struct core_call *call, const char *name, double value);
void core_put_numbers(struct core_call *call, const char *name, const double *values, size_t n);
void core_put_mask(struct core_call *call, const char *name, const uint8_t *mask, size_t b,
                   size_t t);

/* The kernels, ended by NULL. */
extern const struct core_kernel *const core_kernels_double[];
extern const struct core_kernel *const core_kernels_single[];

/* The kernel of that family in double or single precision, NULL if there is none. */
const struct core_kernel *core_find(const char *family, bool single);

#endif
