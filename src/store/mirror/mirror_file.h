/* mirror_file.h: whether the file called lineage.db may be opened as a mirror, and how. */
#ifndef MIRROR_MIRROR_FILE_H
#define MIRROR_MIRROR_FILE_H

#include "mirror_internal.h"

enum mirror_file {
    MIRROR_FILE_NEW,     /* no file, or an empty one */
    MIRROR_FILE_OURS,    /* a mirror with a digest in each page */
    MIRROR_FILE_USELESS, /* a mirror that must be rebuilt: its head is damaged, or an earlier version made it without digests */
};

/* *writable: this process may write the file and create files beside it. LINEAGE_EDB for a file that must not be
 * touched: a link, a device, the database of another application. */
enum lineage_status mirror_file_look(struct mirror *mirror, enum mirror_file *file, bool *writable, struct lineage_error *err);

/* Creates an empty file with the mode that the umask gives results.tsv, so that everybody who may write the one may
 * write the other. */
enum lineage_status mirror_file_make(struct mirror *mirror, struct lineage_error *err);

/* Identity and time of the file now. */
struct mirror_file_state mirror_file_state(const struct mirror *mirror);

/* Whether there is a write-ahead log that is not empty. */
bool mirror_file_has_wal(const struct mirror *mirror);

/* Path for SQLite; if `frozen`, as a URI that declares that nobody writes the file. Free with sqlite3_free; NULL
 * without memory. */
char *mirror_file_path(const struct mirror *mirror, bool frozen);

#endif
