/* flat_rows.h: trials as flat arrays (lineage/rows.h). */
#pragma once

#include <lineage/rows.h>

#include "../format/arena.h"

/* One struct lineage_row_values. */
struct flat_values {
    struct buf ends, names, texts, values, is_text;
};

/* The memory of a struct lineage_rows, one buffer per array. Zeroed: empty. */
struct flat_rows {
    struct buf texts, numbers, present, labels, seqs, lines, turn_ends, turns;
    struct flat_values params, metrics, extras;
};

/* Empties the buffers and keeps their memory. */
void flat_rows_reset(struct flat_rows *flat);

/* Adds a trial. A failed allocation shows in flat_rows_view. */
void flat_rows_add(struct flat_rows *flat, const struct lineage_trial *trial);

/* The arrays of the n trials that were added, valid until the next change. Returns false if memory ran out. */
bool flat_rows_view(const struct flat_rows *flat, size_t n, struct lineage_rows *rows);

void flat_rows_release(struct flat_rows *flat);
