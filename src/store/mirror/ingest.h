/* ingest.h: turns new bytes of the log into rows of the mirror. */
#pragma once

#include "mirror.h"

/* Reads the log from the watermark to the size in `log`. The caller holds the transaction. */
enum lineage_status mirror_ingest(struct mirror *mirror, const struct log_state *log, struct lineage_error *err);
