/* mirror_file.h: decides whether the file called lineage.db may be opened as a mirror, and how. */
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

/* Creates an empty file with the mode that the umask gives results.tsv, so that every user who may write results.tsv
 * may write lineage.db too. */
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
