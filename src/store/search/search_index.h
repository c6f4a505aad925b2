/* search_index.h: the full-text index of the mirror, an FTS5 table with a row for each row of trials. */
#ifndef SEARCH_SEARCH_INDEX_H
#define SEARCH_SEARCH_INDEX_H

#include "../mirror/mirror.h"
#include "../questions/questions.h"

/*
 * Finds the seqs of the rows that match an expression of FTS5, best match first. Indexes rows that came since the last
 * search before it looks: about 50,000 a second. At most limit seqs, 0: all. Call mirror_sync first.
 */
enum lineage_status search_index_find(struct mirror *mirror, struct lineage_store *store, const char *expression,
                                      size_t limit, struct mirror_seqs *found, struct lineage_error *err);

#endif
