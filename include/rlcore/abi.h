/*
 * rlcore/abi.h: the layout of the library that is loaded, for callers that do not compile against its
 * headers (ctypes, JNI, a plug-in built last year).
 *
 * Such a caller declares the structs a second time, in its own language. Before the first call it
 * compares: another version means that a struct or an enum has changed, another size which one.
 *
 *     size_t n;
 *     const struct rl_abi_size *sizes = rl_abi_sizes(&n);
 *     for (size_t i = 0; i < n; i++)
 *         compare(sizes[i].name, sizes[i].size);
 *
 * Enums are ints, bools one byte, as in C; size_t and pointers are the machine's.
 */
#ifndef RLCORE_ABI_H
#define RLCORE_ABI_H

#include <stddef.h>

#include <rlcore/status.h>

#ifdef __cplusplus
extern "C" {
#endif

/* Raised whenever a public struct, an enum's value or a signature changes. */
#define RL_ABI_VERSION 3

struct rl_abi_size {
    const char *name; /* of the struct, "rl_batch" */
    size_t size;      /* sizeof, padding included */
};

/* RL_ABI_VERSION as the library was compiled. */
RL_API int rl_abi_version(void);

/* Every public struct, this one included, in the order of their names; *n of them unless n is NULL. */
RL_API const struct rl_abi_size *rl_abi_sizes(size_t *n);

#ifdef __cplusplus
}
#endif

#endif
