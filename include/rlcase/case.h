/*
 * rlcase/case.h: any kernel of the training core by its name, on arrays by theirs. It is what callers
 * in other languages need (the Python package is built on it, and `lineage core`): two structs to
 * declare a second time instead of sixty, and every kernel, those of later versions too.
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
 * Which kernels there are, what each takes and returns: rl_case_describe(). What the kernels compute
 * stands in the headers under rlcore/.
 *
 * Unlike the core this library allocates (a case owns its results) and needs Jansson. It keeps no
 * state; calls from several threads at a time are fine.
 */
#ifndef RLCASE_CASE_H
#define RLCASE_CASE_H

#include <stdbool.h>
#include <stddef.h>

#include <rlcore/status.h>

#ifdef __cplusplus
extern "C" {
#endif

enum rl_case_type {
    RL_CASE_FLOAT64,
    RL_CASE_FLOAT32,
    RL_CASE_INT64,
    RL_CASE_INT32,
    RL_CASE_UINT8,    /* and booleans of one byte */
    RL_CASE_BFLOAT16, /* the upper half of a float32 */
};

enum { RL_CASE_DIMS_MAX = 4 };

/* An array, row-major; rows of a matrix may lie further apart than they are wide, or be of their own lengths. */
struct rl_case_array {
    const char *name;
    enum rl_case_type type;
    size_t n_dims; /* 1 to 4 */
    size_t shape[RL_CASE_DIMS_MAX];
    const void *data; /* NULL only where the array has no elements */
    /*
     * Ragged: row i is data[start[i]] to data[start[i + 1]]; start[0] is 0, n_dims 1, shape[0]
     * start[n_rows] (cu_seqlens, as packed batches call it). NULL: not ragged, n_rows is ignored.
     */
    const size_t *start;
    size_t n_rows;
    size_t stride; /* of two dimensions: elements from one row to the next, not below shape[1]; 0: shape[1] */
};

/* The results of a call. */
struct rl_case;

/*
 * Run a kernel. values: a JSON object of all inputs that are no arrays (arrays may stand there as
 * well, as nested lists); names that the kernel does not take are ignored. An array in the type that
 * the kernel takes (float64, or float32 if single; uint8 masks, int32 ids, int64 groups and counts)
 * is read in place, others are converted; masks may be of any type. Shapes must agree with each
 * other. Inputs are not modified.
 *
 * Kernels whose description says "layouts" read response masks (loss_mask) of int32 and int64, turn
 * ids of int64 and, if single, bfloat16 in place as well, and take ragged arrays wherever [B][T] is
 * asked for: then of all of them, with the same starts; results [B][T] come ragged too. They read matrices
 * of one stride, the one that most of a call's have, in place; those of another stride are copied, and
 * results [B][T] have that stride. What lies between rows is not read.
 *
 * RL_EINVAL with a sentence that names input and index if the family is unknown or has no single
 * form, for values that are no JSON object, for a missing, misshapen or mistyped input; else what the
 * kernel says. On success *done is the caller's until rl_case_release.
 */
RL_API RL_NODISCARD enum rl_status rl_case_run(struct rl_case **done, const char *family, bool single,
                                               const char *values, const struct rl_case_array *arrays, size_t n,
                                               struct rl_error *err);

/*
 * The same with all results as JSON text, arrays as nested lists; values holds all inputs. Not a
 * number or infinite results are an error there, as JSON has neither.
 */
RL_API RL_NODISCARD enum rl_status rl_case_run_json(struct rl_case **done, const char *family, bool single,
                                                    const char *values, struct rl_error *err);

/*
 * What there is, as JSON text of a list: {"family", "summary", "single": whether in float too, "layouts": whether in any
 * layout, "inputs": [{"name", "kind", "optional", "shape", "choices", "text"}], "outputs": [{"name", "shape"}]}.
 * Kinds are those of src/rlcase/case_inputs.def in lower case; shape is "" for what is no array.
 */
RL_API RL_NODISCARD enum rl_status rl_case_describe(struct rl_case **done, struct rl_error *err);

/* The JSON text: results that are no arrays. Never NULL; lives as long as the case. */
RL_API const char *rl_case_values(const struct rl_case *done);

/* The arrays among the results, *n of them; they live as long as the case. Their data may be written to. */
RL_API const struct rl_case_array *rl_case_arrays(const struct rl_case *done, size_t *n);

/* NULL is fine. */
RL_API void rl_case_release(struct rl_case *done);

/* sizeof(struct rl_case_array) as the library was compiled, for callers that declare it themselves. */
RL_API size_t rl_case_array_size(void);

#ifdef __cplusplus
}
#endif

#endif
