/* torn_file.h: the file results.tsv.torn-N, which keeps a record that may be incomplete. */
#pragma once

#include <stddef.h>

#include "../fail.h"

/* Saves the bytes durably under the next free number; name receives the file's name. place is the name of the log for
 * error messages. */
enum lineage_status torn_save(int dir_fd, const char *place, const char *bytes, size_t length, char name[64],
                              struct lineage_error *err);
