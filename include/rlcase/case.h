/*
 * rlcase/case.h: run any kernel of the training core by its name, on named arrays. It is made for
 * callers in other languages (the Python package and `lineage core` use it): they declare two
 * structs instead of sixty, and can run every kernel, including those of later versions.
 *
 *     struct rl_case *done;
 *     struct rl_case_array arrays[] = {
 *         {.name = "response_mask", .type = RL_CASE_UINT8, .n_dims = 2, .shape = {B, T}, .data = mask},
 *         {.name = "log_prob", .type = RL_CASE_FLOAT64, .n_dims = 2, .shape = {B, T}, .data = log_prob},
 *         ..};
 *     if (rl_case_run(&done, "policy_loss", false, "{\"loss\": \"vanilla\", \"loss_agg_mode\": \"token-mean\"}",
 *                     arrays, n, &err) == RL_OK) {
 *         puts(rl_case_values(done));                           {"loss": 0.25, "ppo_kl": ...}
 *         const struct rl_case_array *out = rl_case_arrays(done, &n);       d_log_prob [B][T]
 *         rl_case_release(done);
 *     }
 *
 * rl_case_describe() lists the kernels with their inputs and outputs. The formulas are in the
 * headers under rlcore/.
 *
 * Unlike the core this library allocates memory (a case owns its results) and needs Jansson. It
 * keeps no state; calls from several threads at a time are safe.
 */
#ifndef RLCASE_CASE_H
#define RLCASE_CASE_H

#include <stdbool.h>
#include <stddef.h>

#include <rlcore/status.h>

enum rl_case_type {
    RL_CASE_FLOAT64,
    RL_CASE_FLOAT32,
    RL_CASE_INT64,
    RL_CASE_INT32,
    RL_CASE_UINT8,    /* also booleans of one byte */
    RL_CASE_BFLOAT16, /* the upper half of a float32 */
};

enum { RL_CASE_DIMS_MAX = 4 };

/* An array, row-major. The rows of a matrix may have gaps between them, or be ragged. */
struct rl_case_array {
    const char *name;
    enum rl_case_type type;
    size_t n_dims; /* 1 to 4 */
    size_t shape[RL_CASE_DIMS_MAX];
    const void *data; /* NULL only if the array has no elements */
    /*
     * Ragged: row i is data[start[i]] to data[start[i + 1]]. start[0] is 0, n_dims is 1, and
     * shape[0] is start[n_rows] (cu_seqlens of packed batches). NULL: not ragged; n_rows is then
     * ignored.
     */
    const size_t *start;
    size_t n_rows;
    size_t stride; /* matrices: elements from one row to the next, at least shape[1]; 0: shape[1] */
};

/* A call that has run, with its results. */
struct rl_case;

/*
 * Run a kernel. `values` is a JSON object of all inputs that are not arrays; it may also contain
 * arrays, as nested lists. A name that the kernel does not know is an error. An array is read in
 * place if it has the type that the kernel takes (float64, or float32 if `single`; uint8 masks,
 * int32 ids, int64 groups and counts), otherwise it is converted. Masks may have any type. The
 * shapes must agree with each other. Inputs are not modified.
 *
 * Kernels whose description has "layouts": true also read in place: response masks (loss_mask) of
 * int32 and int64, turn ids of int64 and, if `single`, bfloat16. They accept ragged arrays for all
 * their [B][T] inputs, all with the same starts; their [B][T] results are then ragged too. The call
 * uses the stride that most of its matrices have: matrices with that stride are read in place,
 * matrices with another stride are copied, and [B][T] results have it too. Elements between rows
 * are not read.
 *
 * RL_EINVAL, with a sentence that names input and index, for a family that is unknown or has no
 * single-precision form, for values that are not a JSON object, and for an input that is unknown,
 * missing or has a wrong shape or type; otherwise the status of the kernel. On success the caller owns *done
 * and frees it with rl_case_release.
 */
RL_API RL_NODISCARD enum rl_status rl_case_run(struct rl_case **done, const char *family, bool single, const char *values,
                                               const struct rl_case_array *arrays, size_t n, struct rl_error *err);

/*
 * rl_case_run with all inputs in `values` and all results as JSON text, arrays as nested lists.
 * Results that are NaN or infinite are an error, because JSON cannot represent them.
 */
RL_API RL_NODISCARD enum rl_status rl_case_run_json(struct rl_case **done, const char *family, bool single, const char *values,
                                                    struct rl_error *err);

/*
 * Describe all kernels, as the JSON text of a list: {"family", "summary", "single": whether it runs
 * in float too, "layouts": whether it accepts any layout, "inputs": [{"name", "kind", "optional",
 * "shape", "choices", "only", "text"}], "outputs": [{"name", "shape"}]}. The kinds are those of
 * src/rlcase/case_inputs.def in lower case. The shape of an input that is not an array is "". `only`
 * lists the values of the kernel's first input with which the input has an effect; empty: all.
 */
RL_API RL_NODISCARD enum rl_status rl_case_describe(struct rl_case **done, struct rl_error *err);

/*
 * The results that are not arrays, as JSON text. Never NULL; valid as long as the case. `warnings`, a
 * list of sentences, is there only if an input has no effect on the results although it should.
 */
RL_API const char *rl_case_values(const struct rl_case *done);

/* The *n arrays among the results, valid as long as the case. The caller may write to their data. */
RL_API const struct rl_case_array *rl_case_arrays(const struct rl_case *done, size_t *n);

/* Free a case and its results. NULL is allowed. */
RL_API void rl_case_release(struct rl_case *done);

/*
 * sizeof(struct rl_case_array) as compiled into the library, for callers that declare the struct
 * themselves.
 */
RL_API size_t rl_case_array_size(void);

#endif
