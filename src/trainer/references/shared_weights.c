#include "references/shared_weights.h"

enum trainer_status shared_weights_load(struct ranks *ranks, const struct trainer_model *model, const char *path, float *params,
                                        struct trainer_error *err)
{
    enum trainer_status status = TRAINER_OK;
    if (ranks_mine(ranks) == 0)
        status = trainer_checkpoint_load_as(path, model, params, NULL, err);
    if (status == TRAINER_OK)
        status = ranks_broadcast(ranks, 0, params, trainer_model_parameters(model) * sizeof *params, err);
    return status;
}
