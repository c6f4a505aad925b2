/* telemetry.h: per-step metrics of a trial, telemetry/EXP_ID.json (schema/telemetry.schema.json). */
#ifndef FILES_TELEMETRY_H
#define FILES_TELEMETRY_H

#include "../fail.h"
#include "../format/arena.h"

/* Check JSON text and write it atomically. LINEAGE_EINVAL if it is not what the schema says, or the id
 * cannot name a file. */
enum lineage_status telemetry_write(int dir_fd, const char *exp_id, const char *text, size_t length, bool sync,
                                    struct lineage_error *err);

/* The file's text, unchecked; LINEAGE_ENOTFOUND if the trial has none. */
enum lineage_status telemetry_read(int dir_fd, const char *exp_id, struct buf *out, struct lineage_error *err);

/* Take back what was written for a row that did not get in. */
void telemetry_remove(int dir_fd, const char *exp_id);

#endif
