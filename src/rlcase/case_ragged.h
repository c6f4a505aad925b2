/* case_ragged.h: lists of lists of unequal lengths, for the kernels of ADCA-GRPO. */
#pragma once

#include "case_call.h"

/* A ragged list: one flat array, and where each row begins in it. */
struct case_ragged {
    size_t *start; /* [b+1] */
    double *values;
};

/* Read a ragged list of numbers, or of booleans as 0 and 1. */
struct case_ragged case_ragged_read(struct case_call *call, const char *name, struct case_dim *b);

/*
 * Read the input step_flags: GOOD (true or 1) and BAD. *start receives where the flags of each row
 * begin.
 */
uint8_t *case_ragged_flags(struct case_call *call, struct case_dim *b, const size_t **start);

void case_ragged_put(struct case_call *call, const char *name, const double *values, const size_t *start, size_t b);
