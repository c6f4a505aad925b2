/* scratch.h: scratch memory of one call, taken from the caller's workspace. */
#pragma once

#include <stdbool.h>
#include <stddef.h>

#include "support/fail.h"

/*
 * Bump allocation from a caller's workspace. Take every block first, then test whether all fitted:
 *     struct rl_scratch s = rl_scratch_begin(ws);
 *     double *sum = rl_scratch_take(&s, n, sizeof *sum);
 *     if (!rl_scratch_fits(&s)) return rl_scratch_short(&s, err);
 * Blocks are aligned to 64 bytes relative to each other and are not cleared. A NULL ws counts as an
 * empty one.
 */
struct rl_scratch {
    struct rl_workspace *ws;
    unsigned char *base;
    size_t size, used;
    bool overflow, misaligned;
};

struct rl_scratch rl_scratch_begin(struct rl_workspace *ws);
void *rl_scratch_take(struct rl_scratch *s, size_t count, size_t size);
bool rl_scratch_fits(const struct rl_scratch *s);
enum rl_status rl_scratch_short(struct rl_scratch *s, struct rl_error *err);
