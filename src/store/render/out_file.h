/*
 * out_file.h: the file that a block is written to, wherever its name leads.
 *
 * A link stays a link: its target is replaced, atomically, in the target's directory. A device or a pipe is written
 * to, never replaced. Mode and owner of the file stay.
 */
#pragma once

#include <sys/stat.h>

#include "../format/arena.h"
#include "../internal.h"

struct out_file {
    int dir_fd;  /* directory of the file after all links were followed; -1 for a stream */
    char *path;  /* the file itself */
    char *name;  /* the last part of path */
    bool linked; /* a link was followed, so path differs from the path that the user named */
    bool stream; /* cannot be replaced: a device, a pipe, a descriptor */
    bool exists;
    struct stat before; /* when it was read */
};

enum lineage_status out_file_open(struct out_file *file, const char *path, struct lineage_error *err);
void out_file_close(struct out_file *file);

/* Reads the file; nothing for a new file or a stream. Remembers its state. */
enum lineage_status out_file_read(struct out_file *file, struct buf *bytes, struct lineage_error *err);

/* Whether the file is unchanged since it was read. */
bool out_file_same(const struct out_file *file);

enum lineage_status out_file_write(const struct out_file *file, const char *data, size_t length, struct lineage_error *err);
