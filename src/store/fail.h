/*
 * fail.h: how every part of the store says that something failed; below everything else.
 */
#ifndef STORE_FAIL_H
#define STORE_FAIL_H

#include <lineage/status.h>

/* Fill *err (if not NULL) and return status. store_fail_errno appends ": strerror(errno)" and keeps
 * errno, so that a caller may still look at it. */
enum lineage_status store_fail(struct lineage_error *err, enum lineage_status status, const char *format, ...)
    __attribute__((format(printf, 3, 4)));
enum lineage_status store_fail_errno(struct lineage_error *err, enum lineage_status status,
                                     const char *format, ...) __attribute__((format(printf, 3, 4)));

/* Out of memory, which has no other text. */
enum lineage_status store_no_memory(struct lineage_error *err);

/* What was kept apart until it was known that it is the answer: fill *err (if not NULL) with it and return its status. */
enum lineage_status store_give(struct lineage_error *err, const struct lineage_error *why);

#endif
