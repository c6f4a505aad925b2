/* search_index.h: the full-text index of the mirror, an FTS5 table with a row for each row of trials. */
#pragma once

#include "../mirror/mirror.h"
#include "../questions/questions.h"

/*
 * Finds the seqs of the rows that match an expression of FTS5: if `ranked`, best match first and at most limit (0: all), else
 * all of them in any order. Only rows of `among` are found, which gets sorted; NULL: every row. With a limit, only the newest
 * SEARCH_RANKED matches are ranked, or as many as the limit, so the time does not grow with the log. Indexes rows that came
 * since the last search before it looks: about 50,000 a second. Call mirror_sync first.
 */
enum { SEARCH_RANKED = 4000 };

/* Opens lineage.db for writing if rows have to be indexed. Call it after mirror_sync, before a temporary table is made. */
enum lineage_status search_index_make_ready(struct mirror *mirror, struct lineage_error *err);

enum lineage_status search_index_find(struct mirror *mirror, struct lineage_store *store, const char *expression,
                                      struct mirror_seqs *among, bool ranked, size_t limit, struct mirror_seqs *found,
                                      struct lineage_error *err);

/* Finds the rows that share the rarest words of a text, at most limit, best first: the time does not grow with the log. Call
 * search_index_make_ready first. */
enum lineage_status search_index_alike(struct mirror *mirror, struct lineage_store *store, const char *text, size_t limit,
                                       struct mirror_seqs *found, struct lineage_error *err);
