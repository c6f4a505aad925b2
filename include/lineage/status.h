/*
 * lineage/status.h: the status that every function of the store returns, and rules that hold for all of them.
 *
 * Errors
 *   A fallible function returns an enum lineage_status: LINEAGE_OK (0) or a negative code. Its last parameter is a
 *   `struct lineage_error *` (may be NULL). On failure it holds the same code and one line of text that names the file,
 *   line, column or argument at fault and what to do; on LINEAGE_OK it stays unchanged. After a failure the store on
 *   disk holds what it held before, or the whole new row.
 *
 * Ownership
 *   Out-parameters come first. open and close work on handles, init and release on values that the caller embeds; close
 *   and release accept NULL or a zeroed value. The comment of a borrowed pointer says until when it is valid.
 *
 * Threads and processes
 *   A handle may be used by one thread at a time. Any number of handles, in any number of processes, may be open on one
 *   store. The library keeps no global state, prints nothing and never exits.
 */
#ifndef LINEAGE_STATUS_H
#define LINEAGE_STATUS_H

#include <stdint.h>

#ifdef __cplusplus
#define LINEAGE_C extern "C"
#else
#define LINEAGE_C
#endif

#if defined(__GNUC__)
#define LINEAGE_API LINEAGE_C __attribute__((visibility("default")))
#define LINEAGE_NODISCARD __attribute__((warn_unused_result))
#else
#define LINEAGE_API LINEAGE_C
#define LINEAGE_NODISCARD
#endif

enum lineage_status {
    LINEAGE_OK = 0,
    LINEAGE_EINVAL = -1,    /* an argument or a value in a trial is not allowed */
    LINEAGE_ENOMEM = -2,    /* out of memory */
    LINEAGE_EIO = -3,       /* a system call failed: open, read, write, sync, rename, disk full */
    LINEAGE_ECORRUPT = -4,  /* the contents of a file are damaged or malformed */
    LINEAGE_EEXIST = -5,    /* the exp_id, directory or file is already there */
    LINEAGE_ENOTFOUND = -6, /* no such trial, file or store */
    LINEAGE_ELOCKED = -7,   /* a lock could not be taken in time */
    LINEAGE_EDB = -8,       /* SQLite failed */
    LINEAGE_ELIMIT = -9,    /* a field or a file is longer than allowed */
    LINEAGE_ECANCELLED = -10, /* the caller's `cancelled` returned true (lineage/store.h) */
    LINEAGE_EAWAY = -11,     /* the server that holds the log cannot be reached */
    LINEAGE_EREFUSED = -12   /* the server can be reached but refuses: unknown database or user, wrong password, missing
                              * permission, or no TLS although the name asks for it */
};

#define LINEAGE_ERROR_TEXT_MAX 512

struct lineage_error {
    enum lineage_status status;
    int os_errno;  /* errno of the failed call, 0 if none */
    uint64_t line; /* physical line in results.tsv, 0 if none */
    char text[LINEAGE_ERROR_TEXT_MAX]; /* NUL-terminated, no newline */
};

/* Short constant text for a status ("not found"); never NULL. */
LINEAGE_API const char *lineage_status_text(enum lineage_status status);

#endif
