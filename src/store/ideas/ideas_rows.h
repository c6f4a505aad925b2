/* ideas_rows.h: what `settings` needs to make a set of ideas of the trials that a question with settings in words finds. */
#pragma once

#include <lineage/ideas.h>
#include <lineage/query.h>

/* Adds the trials of a cursor, which is closed, to a set: their texts, rules and programs. */
enum lineage_status ideas_rows_add(struct lineage_ideas *ideas, struct lineage_store *store, struct lineage_cursor *cursor,
                                   struct lineage_error *err);
