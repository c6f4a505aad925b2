/*
 * sealed_copy.h: a copy of the protected files that no trial can change, in which the evaluation runs (--sealed-eval).
 *
 * The bytes are taken before the trial into files in memory that the kernel seals: nobody can write to them any more. After
 * the trial, when no process of it is left, they are written into a new directory, read again, and compared. That directory
 * holds nothing else, so that a file which the trial has put beside the evaluator (json.py, conftest.py) is not found.
 */
#pragma once

#include "run/protected_files.h"

/* At most this many bytes in all, because they are in memory while the trial runs. */
#define SEALED_COPY_BYTES ((off_t)256 << 20)

struct sealed_file {
    char *name; /* its path in the copy */
    int fd;     /* a sealed file in memory */
    mode_t mode;
    struct protected_digest digest;
};

struct sealed_copy {
    struct sealed_file *file; /* [n] */
    size_t n;
    int above; /* the directory in which the copy is laid, borrowed */
};

/*
 * Takes the files with a relative name; those with an absolute name stay where they are and are compared there. above is the
 * descriptor of the trial's directory, which is borrowed. Returns false, with the reason in why [size]; call
 * sealed_copy_release in either case.
 */
bool sealed_copy_take(struct sealed_copy *copy, const struct protected_files *files, const char *dir, int above, char *why,
                      size_t size);

/* The name of the directory in `above` in which the copy is laid. */
#define SEALED_COPY_DIR "sealed"

/* Lays the copy, and reads it again. Returns false, with the reason in why [size], if it is not what was taken. */
bool sealed_copy_lay(const struct sealed_copy *copy, char *why, size_t size);

/* Removes the directory, or what the trial has put in its place. */
void sealed_copy_remove(const struct sealed_copy *copy);

/* A zeroed struct is allowed. */
void sealed_copy_release(struct sealed_copy *copy);
