/* status.c: error texts and the workspace allocator. */
#include <stdarg.h>
#include <stdint.h>
#include <stdio.h>

#include "internal.h"

#define SCRATCH_ALIGN 64u

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
    if (err) {
        va_list args;
        va_start(args, format);
        err->status = status;
        vsnprintf(err->text, sizeof err->text, format, args);
        va_end(args);
    }
    return status;
}

struct rl_scratch rl_scratch_begin(struct rl_workspace *ws)
{
    struct rl_scratch s = {.ws = ws};
    if (ws && ws->data) {
        s.base = ws->data;
        s.size = ws->size;
    }
    return s;
}

void *rl_scratch_take(struct rl_scratch *s, size_t count, size_t size)
{
    size_t bytes;
    if (__builtin_mul_overflow(count, size, &bytes) || bytes > SIZE_MAX - SCRATCH_ALIGN - s->used) {
        s->overflow = true;
        return NULL;
    }
    size_t start = s->used;
    s->used += (bytes + SCRATCH_ALIGN - 1) / SCRATCH_ALIGN * SCRATCH_ALIGN;
    return s->base && s->used <= s->size ? s->base + start : NULL;
}

bool rl_scratch_fits(const struct rl_scratch *s)
{
    return !s->overflow && s->used <= s->size;
}

enum rl_status rl_scratch_short(struct rl_scratch *s, struct rl_error *err)
{
    if (s->overflow)
        return rl_fail(err, RL_EINVAL,
                       "batch too large: its scratch memory does not fit in size_t");
    if (s->ws)
        s->ws->needed = s->used;
    return rl_fail(err, RL_EWORKSPACE, "workspace of %zu bytes is too small: %zu needed", s->size,
                   s->used);
}
