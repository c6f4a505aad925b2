/* judge_again.h: gives the verdicts that a log without its void rows would give. */
#pragma once

#include "../mirror/mirror.h"

/* The mirror_judge_fn of a store. */
enum lineage_status judge_rows_again(struct lineage_store *store, const struct mirror_seqs *seqs, int64_t first, int64_t last,
                                     struct lineage_error *err);
