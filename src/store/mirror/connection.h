/* connection.h: opening lineage.db or a database in memory, with its schema. */
#pragma once

#include "mirror.h"

/* Closes the open connection and opens the mirror on disk or in memory. A damaged lineage.db is rebuilt at once, with a
 * notice. After a failure no connection is open. */
enum lineage_status mirror_connect(struct mirror *mirror, bool on_disk, struct lineage_error *err);

/* Replaces lineage.db by an empty file, whatever it contains, and opens that. */
enum lineage_status mirror_connect_anew(struct mirror *mirror, struct lineage_error *err);

/* If the file is read without locks and could be written, opens it for writing; everything known about it is forgotten.
 * mirror_can_thaw: whether that is so. */
bool mirror_can_thaw(const struct mirror *mirror);
enum lineage_status mirror_thaw(struct mirror *mirror, struct lineage_error *err);

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

/* Sets how long a statement waits for other processes that hold lineage.db: not at all if no_more is true, otherwise
 * the configured time. */
void mirror_wait_no_more(struct mirror *mirror, bool no_more);

enum lineage_status mirror_make_indexes(struct mirror *mirror, struct lineage_error *err);
enum lineage_status mirror_drop_indexes(struct mirror *mirror, struct lineage_error *err);
