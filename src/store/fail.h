/* fail.h: how every part of the store reports a failure. Every module may include this header. */
#pragma once

/* The headers of C that nearly every file of the store needs, once for all of them. */
#include <errno.h>
#include <stdbool.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include <lineage/status.h>

/* Fills *err (if not NULL) and returns status. store_fail_errno appends ": strerror(errno)" and preserves errno, so
 * that a caller can still read it. */
enum lineage_status store_fail(struct lineage_error *err, enum lineage_status status, const char *format, ...)
    __attribute__((format(printf, 3, 4)));
enum lineage_status store_fail_errno(struct lineage_error *err, enum lineage_status status, const char *format, ...)
    __attribute__((format(printf, 3, 4)));

/* A variable that is declared with one of these, or with a SCOPED_ macro of another header, is released when its scope ends, so that a
 * function may return anywhere. RELEASED_BY names a function that gets the address of the variable; SCOPED_FREE is for a pointer that
 * is given to free. Write both before the type. */
#define RELEASED_BY(function) __attribute__((cleanup(function), unused)) /* unused: clang warns of a lock that is only held */
#define SCOPED_FREE RELEASED_BY(free_pointer)
static inline void free_pointer(void *pointer)
{
    void *memory;
    memcpy(&memory, pointer, sizeof memory);
    free(memory);
}

/* Returns from the function with the status of the call, unless that is LINEAGE_OK. Use it where every resource that the function holds
 * is released by its scope. */
#define TRY(call)                                                                                                                \
    do {                                                                                                                         \
        const enum lineage_status try_status = (call);                                                                           \
        if (try_status != LINEAGE_OK)                                                                                            \
            return try_status;                                                                                                   \
    } while (0)

/* Out of memory. */
enum lineage_status store_no_memory(struct lineage_error *err);

/* Reports an error that was stored earlier: fills *err (if not NULL) with it and returns its status. */
enum lineage_status store_give(struct lineage_error *err, const struct lineage_error *why);
