/* connection.h: opening lineage.db or a database in memory, with its schema. */
#pragma once

#include "mirror.h"

/* The ways to open the mirror, in the order in which sync.c tries them. */
enum mirror_way {
    MIRROR_AS_IS,   /* the connection that is open now */
    MIRROR_READ,    /* lineage.db, without locks if nothing writes it */
    MIRROR_WRITE,   /* lineage.db, for writing if that is possible */
    MIRROR_REWRITE, /* likewise; then all tables are made again in one transaction */
    MIRROR_ANEW,    /* a new file in the place of lineage.db, whatever it contains */
    MIRROR_MEMORY
};

/* Closes the open connection and opens the mirror in that way, which is not MIRROR_AS_IS. After a failure no connection is open, and
 * `damaged`, `unusable` and `frozen` say what was found. */
enum lineage_status mirror_connect(struct mirror *mirror, enum mirror_way way, struct lineage_error *err);

/* Whether the file is read without locks and could be written. */
bool mirror_can_thaw(const struct mirror *mirror);

/* Makes a handle usable again after memory ran out: opens the connection if it could not be opened, and rolls back a
 * transaction that could not be ended. */
enum lineage_status mirror_recover(struct mirror *mirror, struct lineage_error *err);

void mirror_disconnect(struct mirror *mirror);

/* Call it inside a transaction. Replaces every table by an empty one; other processes read the old tables until the
 * commit. */
enum lineage_status mirror_start_anew(struct mirror *mirror, struct lineage_error *err);

/* Switches lineage.db to write-ahead mode, in which readers and a writer do not wait for each other. Call it after a
 * commit. If another process has the file open, nothing happens and the next sync tries again. */
void mirror_share(struct mirror *mirror);

/* Sets how long a statement waits for other processes that hold lineage.db: the configured time, or not at all in a hurry. */
void mirror_hurry(struct mirror *mirror, bool hurry);

enum lineage_status mirror_make_indexes(struct mirror *mirror, struct lineage_error *err);
enum lineage_status mirror_drop_indexes(struct mirror *mirror, struct lineage_error *err);
