/* case_real.h: array access for adapters that are compiled in double and in float. */
#pragma once

#include "case_call.h"
#include "case_single_names.h"

#ifdef RL_SINGLE
typedef float real;
#define OWN_TYPE RL_CASE_FLOAT32
#else
typedef double real;
#define OWN_TYPE RL_CASE_FLOAT64
#endif

/* Numbers [b][t]; the _or_null form returns NULL for null or a missing key. */
real *case_reals(struct case_call *call, const char *name, struct case_dim *b, struct case_dim *t);
real *case_reals_or_null(struct case_call *call, const char *name, struct case_dim *b, struct case_dim *t);
/* Numbers [n]. */
real *case_real_list(struct case_call *call, const char *name, struct case_dim *n);
void case_put_reals(struct case_call *call, const char *name, const real *values, size_t b, size_t t);
