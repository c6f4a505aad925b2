/* mirror_file.h: whether the file called lineage.db may be opened as a mirror, and how. */
#ifndef MIRROR_MIRROR_FILE_H
#define MIRROR_MIRROR_FILE_H

#include "mirror_internal.h"

enum mirror_file {
    MIRROR_FILE_NEW,     /* there is none, or an empty one */
    MIRROR_FILE_OURS,    /* a mirror with a digest in each page */
    MIRROR_FILE_USELESS, /* ours, but to be made anew: damaged in its head, or without digests as earlier versions made it */
};

/* *writable: this process may write it and make files beside it. LINEAGE_EDB for a file that is not to be touched: a
 * link, a device, the database of another application. */
enum lineage_status mirror_file_look(struct mirror *mirror, enum mirror_file *file, bool *writable, struct lineage_error *err);

/* Make an empty file with the mode that the umask gives results.tsv, so that who may write the one may write the other. */
enum lineage_status mirror_file_make(struct mirror *mirror, struct lineage_error *err);

/* Identity and time of the file as it is now. */
struct mirror_file_state mirror_file_state(const struct mirror *mirror);

/* Whether a write-ahead log with something in it lies beside it. */
bool mirror_file_has_wal(const struct mirror *mirror);

/* Path for SQLite; as a URI that names a file nobody writes to, if `frozen`. sqlite3_free; NULL without memory. */
char *mirror_file_path(const struct mirror *mirror, bool frozen);

#endif
