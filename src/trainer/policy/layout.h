/* layout.h: the place of each parameter in the flat array. */
#pragma once

#include <trainer/policy.h>

/* Members are offsets and not pointers, so that one layout serves parameters, gradients and moments. */
struct net_layer {
    size_t norm1, qkv, out, norm2;
    size_t router;      /* only with experts */
    size_t up, down;    /* offsets of the first expert, or of the only MLP */
    size_t per_expert;  /* offset from one expert's matrices to the next expert's */
};

struct net_layout {
    size_t embedding, previous, layers, per_layer, norm, value, count; /* value equals count without a value head */
};

/* Returns the number of MLPs in a layer. */
static inline size_t net_mlps(const struct trainer_model *model)
{
    return model->experts > 0 ? (size_t)model->experts : 1;
}

struct net_layout net_layout(const struct trainer_model *model);
struct net_layer net_layer(const struct trainer_model *model, const struct net_layout *layout, int32_t layer);
