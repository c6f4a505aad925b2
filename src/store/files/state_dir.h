/*
 * state_dir.h: this user's directory for what lineage remembers outside of stores: ${XDG_STATE_HOME:-~/.local/state}/lineage.
 * It contains the local directories of stores on servers, and the records of state_dir.h.
 */
#pragma once

#include "../format/arena.h"

#include "../fail.h"
#include "fs.h"

/* Appends the path of the directory. Returns LINEAGE_EINVAL, with `what` in the message, if neither XDG_STATE_HOME nor HOME
 * is an absolute path; LINEAGE_ENOMEM is left to the caller, who finds path->failed. */
enum lineage_status state_dir_path(struct buf *path, const char *what, struct lineage_error *err);

/* Creates the missing directories of path up to its last slash, for this user only. They stay after a failure, because later
 * calls find them by name. path is unchanged when the function returns. */
enum lineage_status state_dir_make_parents(char *path, struct lineage_error *err);

/* ---- records of the files and directories that this user's commands made. Anybody can put any bytes into a
 * directory that is sent to others. So the records are in this user's state directory, one small file each, and name what
 * they record by device, inode and time of birth, which nobody can copy.
 */

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

/* ---- records of the directories whose remote log this user trusts. lineage.json may name a server, and libpq sends
 * passwords to it and rows come from it. So the name is obeyed only in a directory that this user's commands made, or that the
 * user has trusted with `lineage trust`. A record names directory and server: a lineage.json that names another server later is
 * not trusted.
 */

enum trust {
    TRUST_YES,
    TRUST_NO,
    TRUST_OTHER, /* the directory is trusted with another server */
};

/* Whether the directory is trusted with this server. *other receives the trusted server for TRUST_OTHER and is otherwise NULL;
 * the caller frees it. Returns LINEAGE_EINVAL without a state directory, LINEAGE_EIO if the record cannot be read. */
enum lineage_status trust_record_check(int dir_fd, const char *server, enum trust *trust, char **other,
                                       struct lineage_error *err);

/* Trusts the directory, under this path, with this server. A record of the directory is replaced. */
enum lineage_status trust_record_write(int dir_fd, const char *path, const char *server, struct lineage_error *err);
