/*
 * case_call.h: one run of a kernel of the training core on a case. A case holds its values as JSON and its
 * arrays either as JSON lists or as memory of the caller.
 *
 * An adapter reads its inputs by name, calls the kernel, and stores the results under the names of
 * the golden files. It does not see whether an input came from JSON or from memory, nor in which
 * form a result is returned. On bad input the getters mark the call as failed and return NULL or a
 * neutral value, so an adapter needs to test call->failed only once, after it has run the kernel:
 *
 *     const real *rewards = case_reals(call, "rewards", &b, &t);
 *     real *out = case_alloc_batch(call, b.n, t.n, sizeof *out);
 *     const struct rl_batch *laid = CASE_LAY_OUT(call, batch, b.n, t.n, rewards);
 *     CASE_RUN(call, rl_kernel(laid, rewards, out, &call->ws, &call->err));
 *     if (call->failed)
 *         return;
 *     case_put_reals(call, "out", out, b.n, t.n);
 *
 * All memory that an adapter gets belongs to the call. Adapters in files *_real.c are compiled twice, for
 * double and for float (see case_real.h).
 */
#pragma once

/* The headers of C that nearly every adapter needs, once for all of them. */
#include <math.h>
#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include <jansson.h>

#include <rlcase/case.h>
#include <rlcore/batch.h>

struct case_block;

/* An input that the adapter has asked for. */
struct case_read {
    const char *name; /* borrowed */
    bool is_default;  /* its value is that of an absent one */
    bool unused;      /* checked, but no setting of this case takes it */
};

enum { CASE_RESULTS_MAX = 16 }; /* largest number of arrays among the results of a kernel */
enum { CASE_NAMES_MAX = 64 };   /* largest number of inputs of a kernel */

struct case_call {
    const json_t *inputs; /* borrowed: the object `inputs` of the case */
    const struct rl_case_array *arrays; /* borrowed: inputs that are arrays in memory; searched
                                           before `inputs` */
    size_t n_arrays;
    bool lays_out;       /* the kernel accepts batches of every layout */
    const size_t *start; /* borrowed: where the rows of a ragged batch begin; NULL: not ragged */
    bool padded;         /* at least one [B][T] array is not ragged */
    size_t stride;       /* elements from one row of a [B][T] array to the next; 0: T */
    struct rl_layout layout;
    bool keeps_arrays; /* arrays among the results go to `results`; if false they go to `outputs` as
                          lists */
    struct rl_case_array results[CASE_RESULTS_MAX];
    size_t n_results;
    struct case_read read[CASE_NAMES_MAX];
    size_t n_read;
    json_t *outputs; /* owned: the results that are written as JSON */
    struct case_block *blocks;
    struct rl_workspace ws;
    struct rl_error err; /* set when the call has failed */
    bool failed;
};

/* One kernel: an entry of `lineage core --list`. */
struct case_kernel {
    const char *family;
    const char *summary; /* one line */
    /*
     * Names from case_inputs.def, in the order in which they are read, separated by commas. NAME? marks an
     * optional input. A shape or a list of (choices) after the name replaces the one of case_inputs.def; {values} are those of
     * the first input with which it has an effect.
     */
    const char *inputs;
    const char *outputs; /* NAME or NAME [shape], separated by commas */
    bool layouts;        /* the kernel's arrays go through case_lay_out */
    void (*run)(struct case_call *call);
};

void case_call_init(struct case_call *call, const json_t *inputs);
void case_call_release(struct case_call *call);

/* Mark the call as failed. Only the first message is kept. */
void case_fail(struct case_call *call, const char *format, ...) __attribute__((format(printf, 2, 3)));

/*
 * Refuse what is not an object, and members that are not in the shape of the input in case_inputs.def. where: the place of the
 * object, e.g. "groups[0][1]".
 */
void case_check_members(struct case_call *call, const char *input, const char *where, const json_t *object);

/* Add a sentence to the result `warnings`: an input has no effect although its caller may think so. */
void case_warn(struct case_call *call, const char *format, ...) __attribute__((format(printf, 2, 3)));

/* Zeroed memory that lives as long as the call. Returns NULL only if the call has failed. */
void *case_alloc(struct case_call *call, size_t count, size_t size);

/*
 * Run a kernel (an expression of type enum rl_status) unless the call has failed. The kernel runs again if
 * it asked for a larger workspace; if it returns an error, the call has failed.
 */
#define CASE_RUN(call, kernel)                                                                                                   \
    do {                                                                                                                         \
    } while (!(call)->failed && case_again(call, kernel))

/* Record the status of a kernel. Returns true if it must run again, now with a larger workspace. */
bool case_again(struct case_call *call, enum rl_status status);

/* Scalars. A missing or null key makes the call fail; the _or forms return the fallback instead. */
double case_number(struct case_call *call, const char *name);
double case_number_or(struct case_call *call, const char *name, double fallback);
bool case_bool(struct case_call *call, const char *name);
bool case_bool_or(struct case_call *call, const char *name, bool fallback);
int64_t case_integer(struct case_call *call, const char *name);
/* The end of a sentence about a value that is not read as an integer. */
const char *case_why_not_whole(double value);
int64_t case_integer_or(struct case_call *call, const char *name, int64_t fallback);
const char *case_string(struct case_call *call, const char *name);
const char *case_string_or(struct case_call *call, const char *name, const char *fallback);

/* Index of the input's text in a NULL-terminated list. Any other text fails the call with a message that lists them. */
int case_choice(struct case_call *call, const char *name, const char *const *choices);

/* Reads an optional choice; an absent one is the first of the list. */
int case_choice_or(struct case_call *call, const char *name, const char *const *choices);

/* Returns true if the key exists and is not null. */
bool case_present(struct case_call *call, const char *name);

/* A required input as JSON, borrowed. NULL, and the call has failed, if it is missing, null or an array in memory. */
const json_t *case_required(struct case_call *call, const char *name);

/* Reads a whole number, which may be written 3 or 3.0; returns false for other values. */
bool case_as_integer(const json_t *value, int64_t *out);

/* An input as JSON, borrowed; NULL if it is absent or an array. Getters call it: the name must live as long as the call. */
json_t *case_input(struct case_call *call, const char *name);

/* What is known of an input; NULL if no getter has asked for it, so that it had no effect. */
struct case_read *case_find_read(struct case_call *call, const char *name);

/*
 * Note that the input has no effect beside the others, of which the caller is warned. It is read before all the same: a mistake in
 * it is refused with every setting.
 */
void case_unused(struct case_call *call, const char *name);

/*
 * A dimension of arrays. The first array that has it sets n, every later one must agree with it. `known`
 * tells a dimension of length 0 from one that no array has set yet.
 */
struct case_dim {
    size_t n;
    bool known;
};

/*
 * An input as an array of a type: [n], [b][t], or rows of unequal lengths one after another. JSON lists are read, arrays in memory
 * are used or converted. On failure returns NULL and marks the call as failed; NULL is also returned for a matrix without rows.
 */
void *case_list(struct case_call *call, const char *name, enum rl_case_type type, struct case_dim *n);
void *case_matrix(struct case_call *call, const char *name, enum rl_case_type type, struct case_dim *b, struct case_dim *t);
/* *start [b+1]: where each row begins; set here if it is NULL, else compared with the input's rows. */
void *case_ragged(struct case_call *call, const char *name, enum rl_case_type type, struct case_dim *b, size_t **start);

/*
 * Stores a JSON value as element i of an array of a type; returns false for a value that the type does not have. flags: numbers may
 * be booleans.
 */
bool case_store(const json_t *item, enum rl_case_type type, bool flags, void *out, size_t i);

#define case_numbers(call, name, n) ((double *)case_list(call, name, RL_CASE_FLOAT64, n))
#define case_integers(call, name, n) ((int64_t *)case_list(call, name, RL_CASE_INT64, n))
#define case_mask(call, name, b, t) ((uint8_t *)case_matrix(call, name, RL_CASE_UINT8, b, t))
#define case_ids(call, name, b, t) ((int32_t *)case_matrix(call, name, RL_CASE_INT32, b, t))

/* Results. Values that JSON cannot represent (NaN, infinity) make the call fail; after a failure nothing is stored. */
void case_put(struct case_call *call, const char *name, json_t *value); /* steals value */
json_t *case_real_value(double value); /* a new reference; minus zero becomes 0.0 */
void case_put_number(struct case_call *call, const char *name, double value);
void case_put_numbers(struct case_call *call, const char *name, const double *values, size_t n);

/*
 * Array results: lists in JSON, or arrays. Memory of the call becomes the array, other memory is copied. A matrix has the call's
 * stride, or is ragged if the batch is.
 */
void case_put_array(struct case_call *call, const struct rl_case_array *array);
void case_put_matrix(struct case_call *call, const char *name, enum rl_case_type type, const void *values, size_t b, size_t t);
void case_put_ragged(struct case_call *call, const char *name, enum rl_case_type type, const void *values, const size_t *start,
                     size_t b);
#define case_put_mask(call, name, mask, b, t) case_put_matrix(call, name, RL_CASE_UINT8, mask, b, t)

/* ---- arrays (case_array.c) ---- */

/* The input of that name if the caller passed it as an array in memory, else NULL. */
const struct rl_case_array *case_array(struct case_call *call, const char *name);

/*
 * Compare a size with a dimension, or set the dimension if it is not known yet. If they differ,
 * returns false and marks the call as failed.
 */
bool case_agree(struct case_call *call, const char *name, const char *what, size_t size, struct case_dim *dim);

/*
 * The elements of an array as a type: the array's own memory if it has that type already, else a
 * converted copy. dims[i] is compared with length i. On failure returns NULL and marks the call as
 * failed.
 */
void *case_array_as(struct case_call *call, const struct rl_case_array *array, enum rl_case_type type, size_t n_dims,
                    struct case_dim *const dims[]);

/* Choose the stride of the call's batches. Must run before any input is read. */
void case_find_stride(struct case_call *call);

/* Elements from one row of a batch to the next. */
size_t case_stride(const struct case_call *call, size_t t);

/*
 * Number of elements of a [b][t] array with the call's stride; SIZE_MAX if the product overflows.
 */
size_t case_batch_size(struct case_call *call, size_t b, size_t t);

/* case_alloc for a [b][t] array with the call's stride. */
void *case_alloc_batch(struct case_call *call, size_t b, size_t t, size_t size);

/*
 * The batch of b rows and t tokens for a kernel with `layouts`, with the arrays where the caller has them:
 * wide masks and turns, ragged rows, and bfloat16 among the n arrays of reals, which are listed in the order
 * in which the kernel reads them. Lives as long as the call.
 */
const struct rl_batch *case_lay_out(struct case_call *call, struct rl_batch batch, size_t b, size_t t, const void *const *reals,
                                    unsigned n);
#define CASE_LAY_OUT(call, batch, b, t, ...)                                                                                     \
    case_lay_out(call, batch, b, t, (const void *const[]){__VA_ARGS__},                                                          \
                 sizeof((const void *const[]){__VA_ARGS__}) / sizeof(const void *))

/* Returns true if data is the beginning of a block that case_alloc returned for this call. */
bool case_owns(const struct case_call *call, const void *data);

/* The adapters. That of a kernel in both precisions has a twin for float, whose name ends in f. */
#define CASE_REAL(family, name, ...) void case_##name(struct case_call *call), case_##name##f(struct case_call *call);
#define CASE_DOUBLE(family, name, ...) void case_##name(struct case_call *call);
#include "case_kernels.def"
#undef CASE_REAL
#undef CASE_DOUBLE

/* The kernel with that family name in double or single precision, or NULL if there is none. */
const struct case_kernel *case_find(const char *family, bool single);
