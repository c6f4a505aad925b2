/* pass.c: memory of a pass, and what the sequences say about it. */
#include <stdlib.h>

#include "../internal.h"
#include "pass.h"

static void carve_layers(struct TR(trainer_pass) * pass, struct carve *block)
{
    const struct trainer_model *model = &pass->model;
    size_t d = (size_t)model->width, n = pass->capacity;
    pass->layer = carve(block, (size_t)model->layers, sizeof *pass->layer);
    for (int32_t l = 0; l < model->layers; l++) {
        size_t q = l + 1 < model->layers ? n : pass->wanted_capacity;
        struct TR(pass_layer)
            layer = {.in = carve(block, n * d, sizeof(real)),
                     .qkv = carve(block, 3 * n * d, sizeof(real)),
                     .p = carve(block, q * (size_t)model->heads * pass->pad, sizeof(real)),
                     .att = carve(block, q * d, sizeof(real)),
                     .mid = carve(block, q * d, sizeof(real)),
                     .u = carve(block, q * (size_t)model->mlp, sizeof(real))};
        if (block->base)
            pass->layer[l] = layer;
    }
}

static void carve_indices(struct TR(trainer_pass) * pass, struct carve *block)
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

static void carve_pass(struct TR(trainer_pass) * pass, struct carve *block)
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
    pass->scratch = carve(block, (3 * dh + 1) * pass->pad, sizeof(real));
}

static struct TR(trainer_pass)
    sized(const struct trainer_model *model, size_t n_tokens, size_t n_wanted)
{
    return (struct TR(trainer_pass)){.model = *model,
                                     .layout = net_layout(model),
                                     .capacity = n_tokens,
                                     .wanted_capacity = n_wanted,
                                     .pad = net_padded((size_t)model->max_tokens)};
}

size_t TR(net_pass_bytes)(const struct trainer_model *model, size_t n_tokens, size_t n_wanted)
{
    struct TR(trainer_pass) pass = sized(model, n_tokens, n_wanted);
    struct carve block = {NULL, 0};
    carve(&block, 1, sizeof pass);
    carve_pass(&pass, &block);
    return block.used;
}

enum trainer_status TR(trainer_pass_create)(struct TR(trainer_pass) * *pass,
                                            const struct trainer_model *model, size_t n_tokens,
                                            size_t n_wanted, struct trainer_error *err)
{
    enum trainer_status status = trainer_model_check(model, err);
    *pass = NULL;
    if (status != TRAINER_OK)
        return status;
    size_t bytes = TR(net_pass_bytes)(model, n_tokens, n_wanted);
    struct carve block = {carve_block(bytes), 0};
    if (!block.base)
        return trainer_no_memory(err, bytes);
    *pass = carve(&block, 1, sizeof **pass);
    **pass = sized(model, n_tokens, n_wanted);
    carve_pass(*pass, &block);
    TR(net_rope_table)
    ((size_t)model->max_tokens, (size_t)(model->width / model->heads), model->rope_base,
     (*pass)->rope);
    for (int32_t i = 0; i < model->max_tokens; i++)
        (*pass)->every[i] = i;
    return TRAINER_OK;
}

void TR(trainer_pass_free)(struct TR(trainer_pass) * pass)
{
    free(pass);
}
