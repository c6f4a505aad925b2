/* distill.c: alignment of teacher and student. */
#include <rlcore/distill.h>

#include <string.h>

#include "internal.h"

static bool differ(const char *a, const char *b)
{
    return strcmp(a ? a : "", b ? b : "") != 0;
}

enum rl_status rl_distill_check(const struct rl_fingerprint *student, const struct rl_fingerprint *teacher,
                                struct rl_error *err)
{
    if (differ(student->tokenizer, teacher->tokenizer))
        return rl_fail(err, RL_EINVAL, "tokenizers differ: student '%.50s', teacher '%.50s'",
                       student->tokenizer ? student->tokenizer : "", teacher->tokenizer ? teacher->tokenizer : "");
    if (differ(student->chat_template, teacher->chat_template))
        return rl_fail(err, RL_EINVAL, "chat templates differ: student '%.50s', teacher '%.50s'",
                       student->chat_template ? student->chat_template : "",
                       teacher->chat_template ? teacher->chat_template : "");
    return RL_OK;
}

enum rl_status rl_distill_cut(size_t n_rows, size_t n_tokens, size_t full_length, const size_t *prompt,
                              const double *full, double *out, struct rl_error *err)
{
    for (size_t i = 0; i < n_rows; i++) {
        if (prompt[i] > full_length || full_length - prompt[i] < n_tokens)
            return rl_fail(err, RL_EINVAL, "teacher row %zu: %zu tokens, prompt %zu and response %zu do not fit", i,
                           full_length, prompt[i], n_tokens);
        memcpy(out + i * n_tokens, full + i * full_length + prompt[i], n_tokens * sizeof *out);
    }
    return RL_OK;
}
