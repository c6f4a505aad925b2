/*
 * distill_cut_real.c: a teacher's log-probs of whole sequences, cut to the response. Position t of
 * the teacher's array belongs to token t, so the cut is only a shift by the length of the prompt.
 */
#include <rlcore/distill.h>

#include "support/scratch.h"
#include "support/real.h"

enum rl_status rl_distill_cut(size_t n_rows, size_t n_tokens, size_t full_length, const size_t *prompt, const real *full,
                              real *out, struct rl_error *err)
{
    if (n_rows && (!prompt || !full || !out))
        return rl_fail(err, RL_EINVAL, "prompt, the teacher's log-probs or out is missing");
    for (size_t i = 0; i < n_rows; i++) {
        if (prompt[i] > full_length || full_length - prompt[i] < n_tokens)
            return rl_fail(err, RL_EINVAL, "teacher row %zu: %zu tokens, prompt %zu and response %zu do not fit", i, full_length,
                           prompt[i], n_tokens);
        memcpy(out + i * n_tokens, full + i * full_length + prompt[i], n_tokens * sizeof *out);
    }
    return RL_OK;
}
