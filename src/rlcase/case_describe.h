/* case_describe.h: a description of the kernels, their inputs and results. */
#pragma once

#include "case_call.h"

/* The list that rl_case_describe returns; NULL if out of memory. */
json_t *case_describe(void);

/* Refuse inputs, also arrays, whose names are not in the kernel's list. */
void case_check_names(struct case_call *call, const struct case_kernel *kernel);

/*
 * Refuse what is not an object, and members that are not in the shape of the input in case_inputs.def. where: the place of the
 * object, e.g. "groups[0][1]".
 */
void case_check_members(struct case_call *call, const char *input, const char *where, const json_t *object);
