/*
 * state_dir.h: this user's directory for what lineage remembers outside of stores: ${XDG_STATE_HOME:-~/.local/state}/lineage.
 * It contains the local directories of stores on servers, and the records of own_record.h.
 */
#pragma once

#include "../format/arena.h"
#include "../fail.h"

/* Appends the path of the directory. Returns LINEAGE_EINVAL, with `what` in the message, if neither XDG_STATE_HOME nor HOME
 * is an absolute path; LINEAGE_ENOMEM is left to the caller, who finds path->failed. */
enum lineage_status state_dir_path(struct buf *path, const char *what, struct lineage_error *err);

/* Creates the missing directories of path up to its last slash, for this user only. They stay after a failure, because later
 * calls find them by name. path is unchanged when the function returns. */
enum lineage_status state_dir_make_parents(char *path, struct lineage_error *err);
