/*
 * mirror_place.h: decides which lineage.db this user may trust. A mirror that came with a directory may state anything about
 * the rows, so only a file is used that this user's commands made:
 *
 *   - lineage.db beside the log, if this user's records name it and a running process made the files of SQLite beside it;
 *   - otherwise, if nothing shows that another process uses that file, it is replaced by an empty one, which is recorded;
 *   - otherwise a mirror in this user's state directory. The file beside the log stays unchanged. So users who share a store,
 *     or containers with state directories of their own, each have a mirror, and none makes that of another anew.
 */
#pragma once

#include "mirror_file.h"

/* Sets mirror->place and returns what mirror_file_look says of the file there. A file beside the log is created or replaced if
 * that is necessary. Returns LINEAGE_EDB if no mirror on disk can be trusted. */
enum lineage_status mirror_place_find(struct mirror *mirror, enum mirror_file *file, bool *writable, struct lineage_error *err);

/* Replaces the lineage.db beside the log if this user did not make it, although another process may use it. For a user who
 * asks for that. The connection must be closed. */
enum lineage_status mirror_place_take_over(struct mirror *mirror, struct lineage_error *err);

/* Replaces the file that was opened last, unless another process has replaced it already. The connection must be closed; other
 * processes that have the file open keep it. */
enum lineage_status mirror_place_renew(struct mirror *mirror, struct lineage_error *err);

/*
 * Locks the store's directory for a connection that may write, so that nobody replaces the file under it: the files of SQLite
 * beside it are found by name, and two databases of one name would read each other's journals. Waits while a file is being
 * replaced. Without a lock (a file system that has none) it is as before there were locks. LINEAGE_EDB if one is held for long.
 */
enum lineage_status mirror_place_hold(struct mirror *mirror, struct lineage_error *err);

/* Gives the lock back. The connection must be closed, or read-only without locks. */
void mirror_place_let_go(struct mirror *mirror);

void mirror_place_release(struct mirror *mirror);
