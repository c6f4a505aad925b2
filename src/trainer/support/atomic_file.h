/*
 * atomic_file.h: replaces files atomically: a file is written under another name, synced and renamed, so that a reader
 * finds the old file or the new one, never a part.
 */
#pragma once

#include <stddef.h>

#include <trainer/status.h>

struct file_part {
    const void *bytes;
    size_t n;
};

/* Writes the parts in order. Returns TRAINER_EIO if this fails, or if path exists and is not a regular file. */
enum trainer_status atomic_file_write(const char *path, const struct file_part *parts, size_t n_parts, struct trainer_error *err);

/* How many bytes a file must and may have. */
struct file_bounds {
    size_t least, most;
};

/*
 * Reads a regular file whose length is within the bounds. Returns its bytes (free) and their number in *size, or NULL with
 * *status: TRAINER_ENOTFOUND, TRAINER_EIO, or TRAINER_ECORRUPT for another length, which is checked before memory is
 * allocated. `what` names the kind of file in messages: "checkpoint".
 */
unsigned char *atomic_file_read(const char *path, const char *what, const struct file_bounds *bounds, size_t *size,
                                enum trainer_status *status, struct trainer_error *err);

/* Reads the first n bytes of a regular file to head. Returns the errors of atomic_file_read. */
enum trainer_status atomic_file_head(const char *path, const char *what, void *head, size_t n, struct trainer_error *err);
