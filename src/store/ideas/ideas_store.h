/* ideas_store.h: parts of adding the trials of a store to a set of ideas. */
#ifndef IDEAS_STORE_H
#define IDEAS_STORE_H

#include "ideas_internal.h"

/* Adds the rules of lineage.json about names, once. */
enum lineage_status ideas_add_rules_of(struct lineage_ideas *ideas, struct lineage_store *store, struct lineage_error *err);

/* Adds what the programs of the trials seqs[n] changed, which are the rows of the set from `first` on, ascending. */
enum lineage_status ideas_add_measured(struct lineage_ideas *ideas, struct lineage_store *store, size_t first,
                                       const int64_t *seqs, size_t n, struct lineage_error *err);

#endif
