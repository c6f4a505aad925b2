/*
 * protected_files.h: finds out whether files have changed while a trial ran (--protect).
 *
 * A name means the file of that name where the command works, and also the copy of that name in the trial's work
 * directory if the trial was started with one. The copy is what a planner's diff and the trial itself can reach, so it is
 * read-only, and it is written anew before the evaluation.
 */
#pragma once

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>
#include <sys/types.h>
#include <time.h>

/* At most this many bytes of a copy in a work directory (those that a sweep puts there are smaller). */
#define PROTECTED_COPY_BYTES ((off_t)64 << 20)

struct protected_digest {
    uint64_t low, high;
    off_t size;
    ino_t inode;
    struct timespec changed; /* the time of the last change of bytes, mode or name, which a program cannot set */
};

struct protected_file {
    const char *name;
    char *path;  /* of a file where the command works; NULL: the copy in the work directory */
    char *bytes; /* of a copy: [digest.size] */
    mode_t mode; /* of a copy */
    struct protected_digest digest;
};

struct protected_files {
    struct protected_file *file; /* [n] */
    size_t n;
    char *workdir; /* its path, which has to lead to the directory that fd holds */
    int fd;
};

/* Returns false, with errno set, if the file cannot be read or is not a regular file. */
bool protected_file_digest(struct protected_digest *digest, const char *path);

/* Digests what the descriptor reads, from its current position to the size of the file. Returns false with errno set. */
bool protected_file_digest_of(struct protected_digest *digest, int fd);

/*
 * Writes to out [PATH_MAX] the path that a file which is named relative to dir has in a copy of dir. Returns false if the name
 * may lead elsewhere.
 */
bool protected_file_place(char *out, const char *name, const char *dir);

/* Writes the name without "./", "//" and "NAME/../" to out [size]. Returns false if it does not fit. */
bool protected_name(char *out, size_t size, const char *name);

/*
 * Digests the files, and makes the copies in workdir read-only. names is ended by NULL, or NULL; they are relative to dir,
 * or to the directory of this process if dir is NULL. Returns false, with the reason in why [size], if a name leads to no
 * regular file that can be read; call protected_files_release in either case.
 */
bool protected_files_seal(struct protected_files *files, const char *const *names, const char *dir, const char *workdir,
                          char *why, size_t size);

/* Returns false, with a text about it in why [size], if a file has changed, or was changed and restored. */
bool protected_files_check(const struct protected_files *files, char *why, size_t size);

/* Writes the copies anew. Returns false, with the reason in why [size], if that fails. */
bool protected_files_renew(struct protected_files *files, char *why, size_t size);

/* A zeroed struct is allowed. */
void protected_files_release(struct protected_files *files);
