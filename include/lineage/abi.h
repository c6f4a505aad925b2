/*
 * lineage/abi.h: the struct layout of the loaded library, for callers that do not compile against its headers
 * (ctypes, JNI, a plug-in built last year).
 *
 * Such a caller declares the structs a second time, in its own language. Before its first call it compares them with
 * these: a different version means that some struct or enum has changed, and a different size shows which struct.
 *
 *     size_t n;
 *     const struct lineage_abi_size *sizes = lineage_abi_sizes(&n);
 *     for (size_t i = 0; i < n; i++)
 *         compare(sizes[i].name, sizes[i].size);
 *
 * As in C, enums are ints and bools one byte; size_t and pointers have the machine's size.
 */
#ifndef LINEAGE_ABI_H
#define LINEAGE_ABI_H

#include <stddef.h>

#include <lineage/status.h>

/* Raised whenever a public struct, the value of an enum or a signature changes. */
#define LINEAGE_ABI_VERSION 6

struct lineage_abi_size {
    const char *name; /* name of the struct, such as "lineage_trial" */
    size_t size;      /* sizeof, padding included */
};

/* LINEAGE_ABI_VERSION at the time the library was compiled. */
LINEAGE_API int lineage_abi_version(void);

/* Every public struct, including this one, sorted by name. *n is their number; n may be NULL. The library owns the
 * array. */
LINEAGE_API const struct lineage_abi_size *lineage_abi_sizes(size_t *n);

#endif
