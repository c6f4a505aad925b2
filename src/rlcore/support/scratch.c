/*
 * scratch.c: a bump allocator over the caller's workspace.
 *
 * Sizes are added up even if the block is too small or missing, so that one failed call returns the
 * size for the next. Nothing is freed: the block is free again when the call ends.
 */
#include "support/scratch.h"

/* The alignment is a cache line, because different threads write neighbouring blocks. */
#define SCRATCH_ALIGN 64u

struct rl_scratch rl_scratch_begin(struct rl_workspace *ws)
{
    struct rl_scratch s = {.ws = ws};
    if (ws && ws->data) {
        s.base = ws->data;
        s.size = ws->size;
        s.misaligned = (uintptr_t)ws->data % 16 != 0;
    }
    return s;
}

void *rl_scratch_take(struct rl_scratch *s, size_t count, size_t size)
{
    /* A product that overflows would look like a small block and be overrun. */
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
    return !s->overflow && !s->misaligned && s->used <= s->size;
}

enum rl_status rl_scratch_short(struct rl_scratch *s, struct rl_error *err)
{
    if (s->overflow)
        return rl_fail(err, RL_EINVAL, "batch too large: its scratch memory does not fit in size_t");
    /* A double that crosses a cache line is slow on some machines and faults on others. */
    if (s->misaligned)
        return rl_fail(err, RL_EINVAL, "workspace data at %p is not aligned to 16 bytes", (void *)s->base);
    if (s->ws)
        s->ws->needed = s->used;
    return rl_fail(err, RL_EWORKSPACE, "workspace of %zu bytes is too small: %zu needed", s->size, s->used);
}
