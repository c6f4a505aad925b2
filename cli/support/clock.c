/* clock.c: the clock for timeouts and limits, and durations as text. */
#include <stdio.h>
#include <time.h>

#include "cli.h"

double cli_now(void)
{
    struct timespec t;
    clock_gettime(CLOCK_MONOTONIC, &t);
    return (double)t.tv_sec + 1e-9 * (double)t.tv_nsec;
}

void cli_duration_format(char text[32], double seconds)
{
    long s = seconds < 0 ? 0 : seconds < 3.6e6 ? (long)(seconds + 0.5) : 3600000;
    if (s >= 3600)
        snprintf(text, 32, "%ld:%02ld:%02ld", s / 3600, s / 60 % 60, s % 60);
    else
        snprintf(text, 32, "%ld:%02ld", s / 60, s % 60);
}
