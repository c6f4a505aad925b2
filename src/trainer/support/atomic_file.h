/*
 * atomic_file.h: replaces files atomically: a file is written under another name, synced and renamed, so that a reader
 * finds the old file or the new one, never a part.
 */
#ifndef TRAINER_ATOMIC_FILE_H
#define TRAINER_ATOMIC_FILE_H

#include <stddef.h>

#include <trainer/status.h>

struct file_part {
    const void *bytes;
    size_t n;
};

/* Writes the parts in order. Returns TRAINER_EIO if this fails, or if path exists and is not a regular file. */
enum trainer_status atomic_file_write(const char *path, const struct file_part *parts,
                                     size_t n_parts, struct trainer_error *err);

/*
 * Reads a regular file of at least `least` bytes. Returns its bytes (free) and their number in *size, or NULL with
 * *status: TRAINER_ENOTFOUND, TRAINER_EIO, or TRAINER_ECORRUPT for a shorter file. `what` names the kind of file in
 * messages: "checkpoint".
 */
unsigned char *atomic_file_read(const char *path, const char *what, size_t least, size_t *size,
                               enum trainer_status *status, struct trainer_error *err);

#endif
