/*
 * case_kernels.c: the lists of kernels in both precisions, and the search by family.
 *
 * case_kernels.def is included once for each list, so that a kernel is added in one line.
 */
#include "case_call.h"

#include <string.h>

#define CASE_REAL(family, name) extern const struct case_kernel case_##name, case_##name##f;
#define CASE_DOUBLE(family, name) extern const struct case_kernel case_##name;
#include "case_kernels.def"
#undef CASE_REAL
#undef CASE_DOUBLE

const struct case_kernel *const case_kernels_double[] = {
#define CASE_REAL(family, name) &case_##name,
#define CASE_DOUBLE(family, name) &case_##name,
#include "case_kernels.def"
#undef CASE_REAL
#undef CASE_DOUBLE
    NULL};

const struct case_kernel *const case_kernels_single[] = {
#define CASE_REAL(family, name) &case_##name##f,
#define CASE_DOUBLE(family, name)
#include "case_kernels.def"
#undef CASE_REAL
#undef CASE_DOUBLE
    NULL};

/* The search is linear: there are about forty kernels, and a process runs one. */
const struct case_kernel *case_find(const char *family, bool single)
{
    const struct case_kernel *const *kernel = single ? case_kernels_single : case_kernels_double;
    while (*kernel && strcmp((*kernel)->family, family) != 0)
        kernel++;
    return *kernel;
}
