/* case_describe.h: a description of the kernels, their inputs and results. */
#ifndef CASE_DESCRIBE_H
#define CASE_DESCRIBE_H

#include <jansson.h>

/* The list that rl_case_describe returns; NULL if out of memory. */
json_t *case_describe(void);

#endif
