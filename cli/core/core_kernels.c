/*
 * core_kernels.c: the lists of kernels in both precisions, and look-up by family.
 *
 * The .def file is included once for each list, so that a kernel is added in one line whichever
 * lists it belongs to.
 */
#include "core_call.h"

#include <string.h>

#define CORE_REAL(family, name) extern const struct core_kernel core_##name, core_##name##f;
#define CORE_DOUBLE(family, name) extern const struct core_kernel core_##name;
#include "core_kernels.def"
#undef CORE_REAL
#undef CORE_DOUBLE

const struct core_kernel *const core_kernels_double[] = {
#define CORE_REAL(family, name) &core_##name,
#define CORE_DOUBLE(family, name) &core_##name,
#include "core_kernels.def"
#undef CORE_REAL
#undef CORE_DOUBLE
    NULL};

const struct core_kernel *const core_kernels_single[] = {
#define CORE_REAL(family, name) &core_##name##f,
#define CORE_DOUBLE(family, name)
#include "core_kernels.def"
#undef CORE_REAL
#undef CORE_DOUBLE
    NULL};

/* A search from the front: there are some forty, and a process runs one. */
const struct core_kernel *core_find(const char *family, bool single)
{
    const struct core_kernel *const *kernel = single ? core_kernels_single : core_kernels_double;
    while (*kernel && strcmp((*kernel)->family, family) != 0)
        kernel++;
    return *kernel;
}
