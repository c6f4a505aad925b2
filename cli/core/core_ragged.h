/* core_ragged.h: lists of unequal lists, and objects of metrics, for the kernels of ADCA-GRPO. */
#ifndef CORE_RAGGED_H
#define CORE_RAGGED_H

#include "core_call.h"

/* A ragged list as one flat array and where each row begins in it. */
struct core_ragged {
    size_t *start; /* [b+1] */
    double *values;
};

/* Numbers, or booleans as 0 and 1. */
struct core_ragged core_ragged_read(struct core_call *call, const char *name, struct core_dim *b);

/* The input step_flags: GOOD (true or 1) and BAD. start: where the flags of each row begin. */
uint8_t *core_ragged_flags(struct core_call *call, struct core_dim *b, const size_t **start);

void core_ragged_put(struct core_call *call, const char *name, const double *values,
                     const size_t *start, size_t b);

struct core_metric {
    const char *name;
    double value;
};

/* The result `metrics`. */
void core_put_metric_list(struct core_call *call, const struct core_metric *metrics, size_t n);

#endif
