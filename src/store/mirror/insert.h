/* insert.h: inserts one trial or one finding into the tables of the mirror. */
#pragma once

#include "mirror.h"
#include "param_batch.h"

/* Inserts a trial with the digest of its record. Its parameters are added to `params`, and a flush of `params` writes
 * them to the tables. */
enum lineage_status mirror_insert(struct mirror *mirror, const struct lineage_trial *trial, const struct tsv_record *record,
                                  int64_t digest, struct param_batch *params, struct lineage_error *err);

/* Records the trial as the one of its night, if its notes name one and it was not aborted. */
enum lineage_status mirror_insert_night(struct mirror *mirror, const struct lineage_trial *trial, struct lineage_error *err);

/* Inserts a finding about a record. is_row tells that the record is still a valid trial. */
enum lineage_status mirror_insert_finding(struct mirror *mirror, const struct tsv_record *record, int64_t digest,
                                          enum row_fault fault, bool is_row, const char *exp_id, const char *text,
                                          struct lineage_error *err);
