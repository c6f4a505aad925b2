/* night_hours.h: computes how much time a night has left (--hours). */
#pragma once

#include <stdbool.h>

struct night_hours {
    double limit;   /* hours; INFINITY: no limit */
    double began;   /* cli_now at the start of the night */
    bool used_up;   /* true once the next trial would not end in time */
};

/* Seconds left, at least 0; INFINITY without a limit. */
double night_hours_left(const struct night_hours *hours);
