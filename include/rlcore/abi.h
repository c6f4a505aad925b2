/*
 * rlcore/abi.h: struct sizes and version of the loaded library, for callers that are not compiled
 * against its headers (ctypes, JNI, a plug-in built last year).
 *
 * Such a caller declares the structs again in its own language. Before its first call it compares
 * version and sizes: a different version means that some struct or enum has changed, and a
 * different size tells which struct.
 *
 *     size_t n;
 *     const struct rl_abi_size *sizes = rl_abi_sizes(&n);
 *     for (size_t i = 0; i < n; i++)
 *         compare(sizes[i].name, sizes[i].size);
 *
 * Enums are ints, and bools are one byte, as in C. size_t and pointers have the machine's word
 * size.
 */
#ifndef RLCORE_ABI_H
#define RLCORE_ABI_H

#include <stddef.h>

#include <rlcore/status.h>

/* Raised whenever a public struct, an enum's value or a signature changes. */
#define RL_ABI_VERSION 3

struct rl_abi_size {
    const char *name; /* name of the struct: "rl_batch" */
    size_t size;      /* sizeof, padding included */
};

/* RL_ABI_VERSION at the time the library was compiled. */
RL_API int rl_abi_version(void);

/*
 * Returns the sizes of all public structs, including struct rl_abi_size, ordered by name. *n
 * receives their number unless n is NULL.
 */
RL_API const struct rl_abi_size *rl_abi_sizes(size_t *n);

#endif
