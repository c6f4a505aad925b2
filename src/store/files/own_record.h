/*
 * own_record.h: records of the files and directories that this user's commands made. Anybody can put any bytes into a
 * directory that is sent to others. So the records are in this user's state directory, one small file each, and name what
 * they record by device, inode and time of birth, which nobody can copy.
 */
#pragma once

#include <stdbool.h>

#include "fs.h"

enum own {
    OWN_YES,
    OWN_NO,      /* the record is missing */
    OWN_OTHER,   /* the record is about another file */
    OWN_UNKNOWN, /* the record cannot be read, or there is no state directory */
};

/* Appends the path of the record about the store in this directory: STATE/mirrors/DEVICE-INODE-BIRTH. Creates nothing.
 * Returns LINEAGE_EINVAL without a state directory. */
enum lineage_status own_record_base(struct buf *base, int store_dir_fd, struct lineage_error *err);

/* Compares the record with the file. */
enum own own_record_check(const char *base, const struct fs_identity *file);

/* Writes that record, in one step, and creates the directories above it. */
enum lineage_status own_record_write(const char *base, const struct fs_identity *file, struct lineage_error *err);

/* Opens and locks STATE/mirrors/.lock, so that one process at a time replaces a file and records it. Returns the descriptor,
 * which fs_close unlocks, or -1. */
int own_record_lock(const char *base);
