/*
 * spent_tokens.h: what planning models have used, in telemetry/planner-tokens.jsonl of the store, a line for each answer of an
 * endpoint. `lineage agent` writes it as soon as it has the answer, so a night that is killed has counted what it paid for, and the
 * next night of the sweep goes on counting. Workers that share the directory share the count.
 */
#pragma once

#include <stdbool.h>
#include <stdint.h>
#include <sys/types.h>

#include <lineage/store.h>

/* The sum so far. Zeroed before it is first read. */
struct spent_tokens {
    uint64_t sum;
    off_t read; /* lines before this offset have been added */
};

/* Adds a line by a single write. Returns false after printing a message. */
bool spent_tokens_add(struct lineage_store *store, const char *sweep, const char *model, uint64_t prompt, uint64_t completion);

/* Adds the lines about a sweep that were written since the last call. A missing file and damaged lines add nothing. */
void spent_tokens_read(struct spent_tokens *spent, struct lineage_store *store, const char *sweep);
