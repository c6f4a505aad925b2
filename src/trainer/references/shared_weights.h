/* shared_weights.h: loads the same weights from a checkpoint on every process of a run. */
#pragma once

#include <trainer/policy.h>

#include "support/ranks.h"

/*
 * Fills params [trainer_model_parameters(model)] from the checkpoint at path. Only rank 0 reads the file, so the
 * other processes need no access to it; if rank 0 cannot read it, the other ranks fail in the broadcast with the same
 * error.
 */
enum trainer_status shared_weights_load(struct ranks *ranks, const struct trainer_model *model, const char *path, float *params,
                                        struct trainer_error *err);
