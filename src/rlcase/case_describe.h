/* case_describe.h: the kernels, their inputs and results, as data. */
#ifndef CASE_DESCRIBE_H
#define CASE_DESCRIBE_H

#include <jansson.h>

/* The list that rlcase/case.h describes; NULL when out of memory. */
json_t *case_describe(void);

#endif
