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

#include "mirror_internal.h"

enum mirror_file {
    MIRROR_FILE_NEW,     /* no file, or an empty one */
    MIRROR_FILE_OURS,    /* a mirror with a digest in each page */
    MIRROR_FILE_USELESS, /* a mirror that must be rebuilt: its header is damaged, or it has no digests */
};

/* *writable is true if this process may write the file and create files beside it. Returns LINEAGE_EDB for a file that
 * must not be touched: a link, a device, or the database of another application. */
enum lineage_status mirror_file_look(struct mirror *mirror, enum mirror_file *file, bool *writable, struct lineage_error *err);

/* Creates an empty file with the mode of results.tsv under the same umask, so that every user of the log may write it. */
enum lineage_status mirror_file_make(struct mirror *mirror, struct lineage_error *err);

/* Returns the identity, size and time of change of the file. */
struct mirror_file_state mirror_file_state(const struct mirror *mirror);

bool mirror_file_is_same(const struct mirror *mirror); /* whether it is still in the state mirror->file */

/* Whether the file that the connection writes has lost its name, because another process has replaced or removed it. */
bool mirror_file_is_gone(const struct mirror *mirror);

/* Whether the file was last written before the machine was started, as far as the clocks tell. Then it is useless, and no fault. */
bool mirror_file_is_of_earlier_boot(const struct mirror *mirror);

/*
 * Whether the file can be read without locks, in the state mirror->file. Every program of SQLite writes the file only while a
 * journal or a write-ahead log beside it holds something. If both are empty or missing, and the last change of the file is so
 * long ago that a later one gets another time, then a page that is read while the state is unchanged (checked_pages.c) belongs
 * to the transaction that ended last. *soon is true if only the time is missing: it is settled a moment later unless it changes
 * again.
 */
bool mirror_file_is_settled(const struct mirror *mirror, bool *soon);

/* Returns the path for SQLite, or NULL if memory runs out; free it with sqlite3_free. If `frozen`, the path is a URI
 * that makes SQLite read the file without locks. */
char *mirror_file_path(const struct mirror *mirror, bool frozen);

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
