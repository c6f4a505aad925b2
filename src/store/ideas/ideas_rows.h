/* ideas_rows.h: what `settings` needs to make a set of ideas of the trials that a question with settings in words finds. */
#pragma once

#include <lineage/ideas.h>
#include <lineage/query.h>

/* Adds the trials of a cursor, which is closed, to a set: their texts, rules and programs. */
enum lineage_status ideas_rows_add(struct lineage_ideas *ideas, struct lineage_store *store, struct lineage_cursor *cursor,
                                   struct lineage_error *err);

/* Opens a cursor over the trials of a query that names no settings in words. */
enum lineage_status ideas_rows_open(struct lineage_cursor **cursor, struct lineage_store *store,
                                    const struct lineage_query *query, struct lineage_error *err);
