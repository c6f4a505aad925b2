/*
 * distill.c: the check that teacher and student are aligned.
 *
 * The log-probs of two models can be compared token by token only if both tokenize alike and saw
 * the same prompt. A chat template that differs by a blank shifts every position by one, and the
 * teacher then looks hopeless.
 */
#include <rlcore/distill.h>

#include "support/scratch.h"

static const char *text(const char *fingerprint)
{
    return fingerprint ? fingerprint : "";
}

static enum rl_status compare(const char *what, const char *student, const char *teacher, struct rl_error *err)
{
    if (!*text(student) || !*text(teacher))
        return rl_fail(err, RL_EINVAL, "%s: the %s has no fingerprint", what, !*text(student) ? "student" : "teacher");
    if (strcmp(student, teacher) != 0)
        return rl_fail(err, RL_EINVAL, "%ss differ: student '%.50s', teacher '%.50s'", what, student, teacher);
    return RL_OK;
}

enum rl_status rl_distill_check(const struct rl_fingerprint *student, const struct rl_fingerprint *teacher, struct rl_error *err)
{
    RL_TRY(RL_NEED(err, {"student", student}, {"teacher", teacher}));
    RL_TRY(compare("tokenizer", student->tokenizer, teacher->tokenizer, err));
    return compare("chat template", student->chat_template, teacher->chat_template, err);
}
