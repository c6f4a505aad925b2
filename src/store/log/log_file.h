/* log_file.h: the log as the file results.tsv of a directory. */
#pragma once

#include "log.h"

/* Opens the log; a missing file is an empty log, which the first append creates. The caller owns dir_fd and must keep
 * it open; dir is used in messages. */
enum lineage_status log_file_open(struct log **log, int dir_fd, const char *dir, struct lineage_error *err);
