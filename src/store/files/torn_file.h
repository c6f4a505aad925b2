/* torn_file.h: a record that nothing proves whole, kept beside the store's other files: results.tsv.torn-N. */
#ifndef FILES_TORN_FILE_H
#define FILES_TORN_FILE_H

#include <stddef.h>

#include "../fail.h"

/* Durably, under the next free number; name receives it. place names the log in a message. */
enum lineage_status torn_save(int dir_fd, const char *place, const char *bytes, size_t length, char name[64],
                              struct lineage_error *err);

#endif
