/*
 * atomic_file.h: a file that is there as a whole or not at all: written beside its place, synced and
 * renamed, so that a reader finds the old one or the new one.
 */
#ifndef TRAINER_ATOMIC_FILE_H
#define TRAINER_ATOMIC_FILE_H

#include <stddef.h>

#include <trainer/status.h>

struct file_part {
    const void *bytes;
    size_t n;
};

/* TRAINER_EIO names the file and what failed; what is there and no regular file is not replaced. */
enum trainer_status atomic_file_write(const char *path, const struct file_part *parts,
                                     size_t n_parts, struct trainer_error *err);

/*
 * All bytes of a file (free) and how many; NULL with the status. It must be a regular one of at least
 * `least` bytes: TRAINER_ENOTFOUND, TRAINER_EIO; TRAINER_ECORRUPT for a length that cannot be. what
 * stands in messages: "checkpoint".
 */
unsigned char *atomic_file_read(const char *path, const char *what, size_t least, size_t *size,
                               enum trainer_status *status, struct trainer_error *err);

#endif
