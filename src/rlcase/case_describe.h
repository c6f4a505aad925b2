/* case_describe.h: a description of the kernels, their inputs and results. */
#pragma once

#include "case_call.h"

/* The list that rl_case_describe returns; NULL if out of memory. */
json_t *case_describe(void);

/* Refuse inputs, also arrays, whose names are not in the kernel's list. */
void case_check_names(struct case_call *call, const struct case_kernel *kernel);
