/* telemetry.h: per-step metrics of a trial, telemetry/EXP_ID.json (schema/telemetry.schema.json). */
#pragma once

#include "../fail.h"
#include "../format/arena.h"

/* Checks JSON text and writes it atomically. LINEAGE_EINVAL if it violates the schema, or if the id cannot be a file
 * name. */
enum lineage_status telemetry_write(int dir_fd, const char *exp_id, const char *text, size_t length, bool sync,
                                    struct lineage_error *err);

/* Reads the file's text without checking it; LINEAGE_ENOTFOUND if the trial has no telemetry. */
enum lineage_status telemetry_read(int dir_fd, const char *exp_id, struct buf *out, struct lineage_error *err);

/* Removes the file that was written for a row that was not added. */
void telemetry_remove(int dir_fd, const char *exp_id);
