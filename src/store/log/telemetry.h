/* telemetry.h: telemetry/<exp_id>.json. */
#ifndef LOG_TELEMETRY_H
#define LOG_TELEMETRY_H

#include <stdbool.h>

#include "../internal.h"

#define TELEMETRY_PATH_MAX 288

/* The file's path in the store; false if the id cannot be a file name (empty, too long, `/`, leading dot). */
bool telemetry_path(char path[TELEMETRY_PATH_MAX], const char *exp_id);

/* Whether the store has a telemetry directory. */
bool telemetry_exists(int dir_fd);

/* Check JSON text (schema/telemetry.schema.json) and write it atomically. */
enum lineage_status telemetry_write(int dir_fd, const char *exp_id, const char *text, size_t length, bool sync,
                                    struct lineage_error *err);

#endif
