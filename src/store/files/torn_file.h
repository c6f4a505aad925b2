/* torn_file.h: the file results.tsv.torn-N, which keeps a record that nothing proves complete. */
#ifndef FILES_TORN_FILE_H
#define FILES_TORN_FILE_H

#include <stddef.h>

#include "../fail.h"

/* Saves the bytes durably under the next free number; name receives the file's name. place names the log in a
 * message. */
enum lineage_status torn_save(int dir_fd, const char *place, const char *bytes, size_t length, char name[64],
                              struct lineage_error *err);

#endif
