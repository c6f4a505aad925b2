/* append_elsewhere.c: `lineage append` in the program without the training core. */
#include "commands/append_request.h"

append_batch_fn *const append_take_batch = NULL;
