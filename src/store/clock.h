/* clock.h: the clock for timeouts, in seconds. Unlike the time of day, nobody can set it. */
#pragma once

#include <stdint.h>
#include <time.h>

static inline double clock_now(void)
{
    struct timespec t;
    clock_gettime(CLOCK_MONOTONIC, &t);
    return (double)t.tv_sec + 1e-9 * (double)t.tv_nsec;
}

static inline int64_t clock_now_ms(void)
{
    return (int64_t)(1e3 * clock_now());
}
