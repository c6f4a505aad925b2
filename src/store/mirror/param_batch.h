/* param_batch.h: collects parameters and inserts them in sorted order. */
#pragma once

#include "mirror.h"

/*
 * A batch holds rows of param_rows, and the sums of param_values over these rows. A flush writes both. param_batch_rows
 * and then param_batch_sums do the same in two steps; nothing may be added between them.
 */
struct param_batch;

struct param_batch *param_batch_new(void); /* NULL if memory runs out */
void param_batch_free(struct param_batch *batch);
enum lineage_status param_batch_add(struct param_batch *batch, struct mirror *mirror, const struct lineage_trial *trial,
                                    struct lineage_error *err);

/* Sorts the batch before a flush, possibly in another thread. Nothing may be added to the batch meanwhile. */
void param_batch_sort(struct param_batch *batch);

enum lineage_status param_batch_rows(struct param_batch *batch, struct mirror *mirror, struct lineage_error *err);
enum lineage_status param_batch_sums(struct param_batch *batch, struct mirror *mirror, struct lineage_error *err);
enum lineage_status param_batch_flush(struct param_batch *batch, struct mirror *mirror, struct lineage_error *err);
