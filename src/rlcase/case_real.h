/* case_real.h: array access for adapters that are compiled in double and in float. */
#pragma once

#include "case_call.h"
#include "rlcore/support/single_names.h"

#ifdef RL_SINGLE
#include "rlcase_single_names.h" /* made by the build: case_policy_loss becomes case_policy_lossf */
#endif

/*
 * `lineage core --float` runs the kernels that training uses, on the same cases that check the double kernels. Inputs are rounded
 * to float when they are read; cases that need more digits are run in double only.
 */
#ifdef RL_SINGLE
typedef float real;
#define OWN_TYPE RL_CASE_FLOAT32
#else
typedef double real;
#define OWN_TYPE RL_CASE_FLOAT64
#endif

/* Numbers [b][t]; the _or_null form returns NULL for null or a missing key. */
#define case_reals(call, name, b, t) ((real *)case_matrix(call, name, OWN_TYPE, b, t))
#define case_reals_or_null(call, name, b, t) (case_present(call, name) ? case_reals(call, name, b, t) : NULL)
#define case_put_reals(call, name, values, b, t) case_put_matrix(call, name, OWN_TYPE, values, b, t)
