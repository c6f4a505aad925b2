/*
 * status.c: texts of statuses, and the filling of errors.
 *
 * A message is made where the fault is known, with index and value; callers pass status and message
 * on and add nothing.
 */
#include "support/fail.h"

#include <stdarg.h>
#include <stdio.h>

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
    /* err may be NULL: who only wants to know whether gets the status alone. */
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
