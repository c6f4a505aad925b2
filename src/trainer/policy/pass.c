/*
 * pass.c: memory of a pass: one block, divided once for the largest pack. Nothing is allocated during training, so that
 * a run that has started does not run out of memory in the middle of the night. Without a block the carve_* functions
 * only compute the size, which trainer_memory_bound uses before the run.
 */

#include "support/error.h"
#include "policy/pass.h"

/*
 * The last layer only keeps rows of wanted tokens (see forward.c). Its attention weights are the largest array of a
 * pass.
 */
static void carve_layers(struct trainer_passf *pass, struct carve *block)
{
    const struct trainer_model *model = &pass->model;
    size_t d = (size_t)model->width, n = pass->capacity;
    pass->layer = carve(block, (size_t)model->layers, sizeof *pass->layer);
    for (int32_t l = 0; l < model->layers; l++) {
        size_t q = l + 1 < model->layers ? n : pass->wanted_capacity;
        struct pass_layerf layer = {.in = carve(block, n * d, sizeof(real)),
                                    .qkv = carve(block, 3 * n * d, sizeof(real)),
                                    .p = carve(block, q * (size_t)model->heads * pass->pad, sizeof(real)),
                                    .att = carve(block, q * d, sizeof(real)),
                                    .mid = carve(block, q * d, sizeof(real)),
                                    .u = model->experts > 0 ? NULL : carve(block, q * (size_t)model->mlp, sizeof(real))};
        if (model->experts > 0)
            layer.choice = net_carve_choicef(model, q, block);
        if (block->base)
            pass->layer[l] = layer;
    }
}

static void carve_indices(struct trainer_passf *pass, struct carve *block)
{
    size_t n = pass->capacity, w = pass->wanted_capacity;
    pass->position = carve(block, n, sizeof(int32_t));
    pass->before = carve(block, n, sizeof(int32_t));
    pass->every = carve(block, (size_t)pass->model.max_tokens, sizeof(int32_t));
    pass->first = carve(block, n + 1, sizeof(int32_t));
    pass->row = carve(block, w, sizeof(int32_t));
    pass->target = carve(block, w, sizeof(int32_t));
    pass->query = carve(block, w, sizeof(int32_t));
}

/* All layers share the d_* arrays, because the backward pass handles one layer at a time. */
static void carve_pass(struct trainer_passf *pass, struct carve *block)
{
    const struct trainer_model *model = &pass->model;
    size_t d = (size_t)model->width, dh = d / (size_t)model->heads, n = pass->capacity;
    size_t w = pass->wanted_capacity;
    carve_layers(pass, block);
    carve_indices(pass, block);
    pass->rope = carve(block, (size_t)model->max_tokens * dh, sizeof(real));
    pass->last = carve(block, w * d, sizeof(real));
    pass->prob = carve(block, w * (size_t)model->tokens, sizeof(real));
    pass->x = carve(block, n * d, sizeof(real));
    pass->y = carve(block, n * d, sizeof(real));
    pass->d_in = carve(block, n * d, sizeof(real));
    pass->d_out = carve(block, n * d, sizeof(real));
    pass->d_qkv = carve(block, 3 * n * d, sizeof(real));
    pass->d_u = carve(block, n * (size_t)model->mlp, sizeof(real));
    pass->scratch = carve(block, (3 * dh + NET_QUERIES) * pass->pad, sizeof(real));
    if (model->experts == 0)
        return;
    pass->d_gate = carve(block, n * (size_t)model->experts_per_token, sizeof(real));
    pass->d_prob = carve(block, (size_t)model->experts, sizeof(real));
}

static struct trainer_passf sized(const struct trainer_model *model, size_t n_tokens, size_t n_wanted)
{
    return (struct trainer_passf){.model = *model,
                                  .layout = net_layout(model),
                                  .capacity = n_tokens,
                                  .wanted_capacity = n_wanted,
                                  .pad = net_padded((size_t)model->max_tokens)};
}

size_t trainer_pass_bytesf(const struct trainer_model *model, size_t n_tokens, size_t n_wanted)
{
    struct trainer_passf pass = sized(model, n_tokens, n_wanted);
    struct carve block = {NULL, 0};
    carve(&block, 1, sizeof pass);
    carve_pass(&pass, &block);
    return block.used;
}

enum trainer_status trainer_pass_createf(struct trainer_passf **pass, const struct trainer_model *model, size_t n_tokens,
                                         size_t n_wanted, struct trainer_error *err)
{
    *pass = NULL;
    TRY(trainer_model_check(model, err));
    size_t bytes = trainer_pass_bytesf(model, n_tokens, n_wanted);
    struct carve block = {carve_block(bytes), 0};
    if (!block.base)
        return trainer_no_memory(err, bytes);
    *pass = carve(&block, 1, sizeof **pass);
    **pass = sized(model, n_tokens, n_wanted);
    carve_pass(*pass, &block);
    net_rope_tablef((size_t)model->max_tokens, (size_t)(model->width / model->heads), model->rope_base, (*pass)->rope);
    for (int32_t i = 0; i < model->max_tokens; i++)
        (*pass)->every[i] = i;
    return TRAINER_OK;
}

void trainer_pass_routef(struct trainer_passf *pass, const uint16_t *replay, uint16_t *record)
{
    pass->replay = replay;
    pass->record = record;
}

void trainer_pass_weigh_balancef(struct trainer_passf *pass, double weight)
{
    pass->balance = weight;
}

/* One free() suffices, because layers and indices are in the same block. */
void trainer_pass_freef(struct trainer_passf *pass)
{
    free(pass);
}
