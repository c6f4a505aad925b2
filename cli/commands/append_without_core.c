/* append_without_core.c: stands in for append_batch.c in `lineage`, the program without the training core. */
#include "commands/append_request.h"

append_batch_fn *const append_take_batch = NULL;
