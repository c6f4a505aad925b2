/*
 * case_call.h: one run of a training-core kernel on a case: values in JSON, arrays in JSON or as they
 * lie in the caller's memory.
 *
 * An adapter takes its inputs by name, calls the kernel, and puts the results under the names of the
 * golden files; where an input came from and where a result goes it does not know. The getters return
 * NULL or a neutral value and mark the call failed on bad input; an adapter therefore fetches
 * everything first and then checks call->failed once. All memory an adapter gets belongs to the call.
 *
 * Adapters in files *_real.c are compiled twice (see case_real.h) and run in double or in float.
 */
#ifndef CASE_CALL_H
#define CASE_CALL_H

#include <jansson.h>
#include <stdbool.h>
#include <stdint.h>

#include <rlcase/case.h>
#include <rlcore/batch.h>

struct case_block;

enum { CASE_RESULTS_MAX = 16 }; /* arrays among the results of a kernel */

struct case_call {
    const json_t *inputs; /* borrowed: the case's `inputs` object */
    const struct rl_case_array *arrays; /* borrowed: inputs that are arrays, looked up first */
    size_t n_arrays;
    bool lays_out;       /* the kernel takes batches of any layout */
    const size_t *start; /* borrowed: where the rows of a ragged batch begin; NULL: not ragged */
    bool padded;         /* some [B][T] array was not ragged */
    size_t stride;       /* elements between rows of [B][T] arrays; 0: T */
    struct rl_layout layout;
    bool keeps_arrays; /* arrays among the results go to results and not, as lists, into outputs */
    struct rl_case_array results[CASE_RESULTS_MAX];
    size_t n_results;
    json_t *outputs; /* owned: what will be printed */
    struct case_block *blocks;
    struct rl_workspace ws;
    struct rl_error err; /* filled when failed */
    bool failed;
};

/* One kernel of the command: an entry of `lineage core --list`. */
struct case_kernel {
    const char *family;
    const char *summary; /* one line */
    /*
     * Names of case_inputs.def, in the order of use, a comma between: NAME, NAME? where it may be
     * absent, behind it a shape or (choices) if they are this kernel's own.
     */
    const char *inputs;
    const char *outputs; /* NAME or NAME [shape] */
    bool layouts;        /* its arrays go through case_lay_out */
    void (*run)(struct case_call *call);
};

void case_call_init(struct case_call *call, const json_t *inputs);
void case_call_release(struct case_call *call);

/* Mark the call failed; the first message is kept. */
void case_fail(struct case_call *call, const char *format, ...)
    __attribute__((format(printf, 2, 3)));

/* Zeroed memory that lives as long as the call. Never NULL for a call that has not failed. */
void *case_alloc(struct case_call *call, size_t count, size_t size);

/*
 * Take note of a kernel's status. Returns true if the kernel is to be called again with a larger
 * workspace:
 *     do status = rl_kernel(..., &call->ws, &call->err); while (case_again(call, status));
 */
bool case_again(struct case_call *call, enum rl_status status);

/* Scalars. A missing or null key is a failure; the _or forms return the fallback. */
double case_number(struct case_call *call, const char *name);
double case_number_or(struct case_call *call, const char *name, double fallback);
bool case_bool(struct case_call *call, const char *name);
bool case_bool_or(struct case_call *call, const char *name, bool fallback);
int64_t case_integer(struct case_call *call, const char *name);
int64_t case_integer_or(struct case_call *call, const char *name, int64_t fallback);
const char *case_string(struct case_call *call, const char *name);
const char *case_string_or(struct case_call *call, const char *name, const char *fallback);

/* Index of the string input in a NULL-terminated list; if absent a failure that lists it. */
int case_choice(struct case_call *call, const char *name, const char *const *choices);

/* Whether the key is there and not null. */
bool case_present(const struct case_call *call, const char *name);

/*
 * Arrays. Dimensions are in-out: 0 means unknown yet and is set, otherwise the input must agree.
 * A dimension of length zero is remembered as seen through the `known` flag of struct case_dim.
 */
struct case_dim {
    size_t n;
    bool known;
};
double *case_numbers(struct case_call *call, const char *name, struct case_dim *n);   /* [n] */
int64_t *case_integers(struct case_call *call, const char *name, struct case_dim *n); /* [n] */
uint8_t *case_mask(struct case_call *call, const char *name, struct case_dim *b,
                   struct case_dim *t);
int32_t *case_ids(struct case_call *call, const char *name, struct case_dim *b, struct case_dim *t);

/* Results. Values that JSON cannot hold (NaN, infinity) make the call fail. */
void case_put(struct case_call *call, const char *name, json_t *value); /* steals value */
json_t *case_real_value(double value); /* a new reference; minus zero becomes 0.0 */
void case_put_number(struct case_call *call, const char *name, double value);
void case_put_numbers(struct case_call *call, const char *name, const double *values, size_t n);
void case_put_mask(struct case_call *call, const char *name, const uint8_t *mask, size_t b,
                   size_t t);

/* ---- arrays (case_array.c) ---- */

/* The input of that name if it was given as an array, else NULL. */
const struct rl_case_array *case_array(const struct case_call *call, const char *name);

/* Hold a dimension to a length, or take it; false marks the call failed. */
bool case_agree(struct case_call *call, const char *name, const char *what, size_t size,
                struct case_dim *dim);

/* Its elements as a type, in place if they are that already; dims[i] is held to length i. NULL marks
 * the call failed. */
void *case_array_as(struct case_call *call, const struct rl_case_array *array,
                    enum rl_case_type type, size_t n_dims, struct case_dim *const dims[]);

/* Choose the stride of the call's batches, before any input is read. */
void case_find_stride(struct case_call *call);

/* Elements from one row of a batch to the next, and of a whole one, inputs or outputs. */
size_t case_stride(const struct case_call *call, size_t t);
size_t case_batch_size(struct case_call *call, size_t b, size_t t);

/* Take note of an input [B][T] that is not ragged; false marks the call failed. */
bool case_padded(struct case_call *call, const char *name);

/* All elements of a ragged array as a type; NULL marks the call failed. */
void *case_ragged_as(struct case_call *call, const struct rl_case_array *array,
                     enum rl_case_type type);

/*
 * The batch as its arrays lie, for a kernel with `layouts`: wide masks and turns, ragged rows,
 * bfloat16 among the n arrays of reals that the kernel reads, in its order. Lives as long as the
 * call.
 */
const struct rl_batch *case_lay_out(struct case_call *call, const struct rl_batch *batch,
                                    const void *const *reals, unsigned n);
#define CASE_LAY_OUT(call, batch, ...)                                                             \
    case_lay_out(call, batch, (const void *const[]){__VA_ARGS__},                                  \
                 sizeof((const void *const[]){__VA_ARGS__}) / sizeof(const void *))

/* Take an array among the results; memory of the call is taken over, other memory copied. Values that
 * are not finite make the call fail, as they do in JSON. */
void case_keep(struct case_call *call, const struct rl_case_array *array);

/* The same for a result [B][T], ragged if the batch is. */
void case_keep_batch(struct case_call *call, const char *name, enum rl_case_type type,
                     const void *values, size_t b, size_t t);

/* Whether the block of the call's memory that begins there is its own. */
bool case_owns(const struct case_call *call, const void *data);

/* The kernels, ended by NULL. */
extern const struct case_kernel *const case_kernels_double[];
extern const struct case_kernel *const case_kernels_single[];

/* The kernel of that family in double or single precision, NULL if there is none. */
const struct case_kernel *case_find(const char *family, bool single);

#endif
