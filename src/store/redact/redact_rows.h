/* redact_rows.h: takes a secret out of results.tsv. */
#pragma once

#include <lineage/redact.h>

#include "forms.h"

/* Completes redactions that were interrupted, under a claim of its own. */
enum lineage_status redact_rows_finish(struct lineage_store *store, size_t *rows, struct lineage_error *err);

/* Overwrites the secret in every row. All rows are examined before the first byte is changed. */
enum lineage_status redact_rows(struct lineage_store *store, const struct forms *forms, struct lineage_redaction *done,
                                struct lineage_error *err);
