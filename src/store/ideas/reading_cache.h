/* reading_cache.h: readings of a store's trials in lineage.db. */
#ifndef IDEAS_READING_CACHE_H
#define IDEAS_READING_CACHE_H

#include "ideas_internal.h"

/* Makes the readings of rows[n] of the set, which are trials of the store. */
typedef enum lineage_status reading_cache_rest(struct lineage_ideas *ideas, struct lineage_store *store, const size_t *rows,
                                               size_t n, struct lineage_error *err);

/*
 * Makes sure that rows[first..) of the set, which are trials of the store, are read: takes the readings that lineage.db
 * has, lets read_rest read the other texts, and saves these readings. If lineage.db cannot be written now, they are not saved, which
 * is not a failure. What is found does not depend on what was saved before.
 */
enum lineage_status reading_cache_read(struct lineage_ideas *ideas, struct lineage_store *store, size_t first,
                                       reading_cache_rest *read_rest, struct lineage_error *err);

/* Whether lineage.db has the readings of all trials of the store, made by this version of the reader for the columns of
 * the set, which holds a trial of the store. Call it right after that trial was added. */
enum lineage_status reading_cache_is_complete(bool *complete, const struct lineage_ideas *ideas,
                                              struct lineage_store *store, struct lineage_error *err);

#endif
