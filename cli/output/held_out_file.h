/*
 * held_out_file.h: held-out.jsonl of a store: the scores that no planner sees (`run --held-out`), one JSON object a line: exp_id, name,
 * value, runs. Only its owner may read it. Nothing reads it but `lineage report --held-out`.
 */
#pragma once

#include <lineage/store.h>

/* Adds the value of a trial, a mean over that many runs. Returns false after printing why it is not kept. */
bool held_out_file_add(const struct lineage_store *store, const char *exp_id, const char *name, double value, size_t runs);

/* Calls visit for each value, oldest first; lines that cannot be read are counted in *unread. Returns false after printing why the file
 * cannot be read; a store without one has no values. */
bool held_out_file_read(const struct lineage_store *store,
                        void (*visit)(void *context, const char *exp_id, const char *name, double value), void *context,
                        size_t *unread);
