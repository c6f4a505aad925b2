/* report_load.h: loads everything that a report shows of one store. */
#ifndef REPORT_LOAD_H
#define REPORT_LOAD_H

#include "report/report_model.h"

/* Loads the model. The store must stay open as long as the model is used. Release the model even after a failure. */
LINEAGE_NODISCARD enum lineage_status model_load(struct model *model, struct lineage_store *store,
                                                 struct lineage_error *err);
void model_release(struct model *model);

#endif
