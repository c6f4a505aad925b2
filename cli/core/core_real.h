/* core_real.h: array access for adapters that are compiled in double and in float. */
#ifndef CORE_REAL_H
#define CORE_REAL_H

#include "core_call.h"
#include "core_names.h"

#ifdef RL_SINGLE
typedef float real;
#else
typedef double real;
#endif

/* [b][t] of numbers; NULL for null or a missing key in the _or_null form. */
real *core_reals(struct core_call *call, const char *name, struct core_dim *b, struct core_dim *t);
real *core_reals_or_null(struct core_call *call, const char *name, struct core_dim *b,
                         struct core_dim *t);
/* [n] of numbers. */
real *core_real_list(struct core_call *call, const char *name, struct core_dim *n);
void core_put_reals(struct core_call *call, const char *name, const real *values, size_t b,
                    size_t t);

#endif
