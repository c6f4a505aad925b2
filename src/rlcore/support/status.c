/*
 * status.c: texts of statuses, and the function that fills errors.
 *
 * A message is made where the fault is found, with index and value. Callers pass status and message
 * on unchanged.
 */
#include "support/fail.h"

#include <stdarg.h>

const char *rl_status_text(enum rl_status status)
{
    switch (status) {
    case RL_OK: return "ok";
    case RL_EINVAL: return "invalid argument";
    case RL_EVALUE: return "invalid value";
    case RL_EWORKSPACE: return "workspace too small";
    case RL_ENOMAX: return "no maximum";
    case RL_ECALLBACK: return "callback failed";
    }
    return "unknown status";
}

enum rl_status rl_fail(struct rl_error *err, enum rl_status status, const char *format, ...)
{
    /* err may be NULL for callers that need only the status. */
    if (err) {
        va_list args;
        va_start(args, format);
        err->status = status;
        vsnprintf(err->text, sizeof err->text, format, args);
        va_end(args);
    }
    return status;
}

enum rl_status rl_need(struct rl_error *err, size_t n, const struct rl_needed *needed)
{
    for (size_t i = 0; i < n; i++)
        if (!needed[i].pointer)
            return rl_fail(err, RL_EINVAL, "%s is missing", needed[i].name);
    return RL_OK;
}
