/* append_ids.h: ids of rows (format/id.h). A row without an id gets the next number. */
#pragma once

#include "appending.h"

/* Finds out how the store spells the id. Looks for the id unchanged, then without the prefix, then with it. *there is
 * NULL if the store has none of these. An id that is too long for appending_format_text is not looked up with the
 * prefix. */
enum lineage_status append_id_find(struct appending *a, const char *id, const char **there, struct lineage_error *err);

/* Fills in a->trial.exp_id with the next number, or checks the id that the caller gave: LINEAGE_EEXIST if the store has
 * it in either spelling. */
enum lineage_status append_id_give(struct appending *a, struct lineage_error *err);
