/* report_load.h: loads everything that a report shows of one store. */
#pragma once

#include "report/report_model.h"

/* Loads the model. The store must stay open as long as the model is used. Release the model even after a failure. */
LINEAGE_NODISCARD enum lineage_status model_load(struct model *model, struct lineage_store *store, struct lineage_error *err);

/*
 * Makes the trials after a trial or a time those that are new to the reader, instead of the last night. `since` is an id, with or
 * without exp_, or a date in any form of lineage/time.h; it is borrowed. Returns LINEAGE_ENOTFOUND if it is neither.
 */
LINEAGE_NODISCARD enum lineage_status model_set_since(struct model *model, const char *since, struct lineage_error *err);
void model_release(struct model *model);
