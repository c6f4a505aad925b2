/*
 * lineage/abi.h: the layout of the library that is loaded, for callers that do not compile against its headers
 * (ctypes, JNI, a plug-in built last year).
 *
 * Such a caller declares the structs a second time, in its own language. Before the first call it compares: another
 * version means that a struct or an enum has changed, another size which one.
 *
 *     size_t n;
 *     const struct lineage_abi_size *sizes = lineage_abi_sizes(&n);
 *     for (size_t i = 0; i < n; i++)
 *         compare(sizes[i].name, sizes[i].size);
 *
 * Enums are ints, bools one byte, as in C; size_t and pointers are the machine's.
 */
#ifndef LINEAGE_ABI_H
#define LINEAGE_ABI_H

#include <stddef.h>

#include <lineage/status.h>

#ifdef __cplusplus
extern "C" {
#endif

/* Raised whenever a public struct, an enum's value or a signature changes. */
#define LINEAGE_ABI_VERSION 1

struct lineage_abi_size {
    const char *name; /* of the struct, "lineage_trial" */
    size_t size;      /* sizeof, padding included */
};

/* LINEAGE_ABI_VERSION as the library was compiled. */
LINEAGE_API int lineage_abi_version(void);

/* Every public struct, this one included, in the order of their names; *n of them unless n is NULL. */
LINEAGE_API const struct lineage_abi_size *lineage_abi_sizes(size_t *n);

#ifdef __cplusplus
}
#endif

#endif
