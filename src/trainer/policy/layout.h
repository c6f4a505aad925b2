/* layout.h: where each parameter stands in the flat array. */
#ifndef TRAINER_LAYOUT_H
#define TRAINER_LAYOUT_H

#include <trainer/policy.h>

/* Offsets, not pointers: the same layout serves parameters, gradients and moments. */
struct net_layer {
    size_t norm1, qkv, out, norm2, up, down;
};

struct net_layout {
    size_t embedding, previous, layers, per_layer, norm, count;
};

struct net_layout net_layout(const struct trainer_model *model);
struct net_layer net_layer(const struct trainer_model *model, const struct net_layout *layout,
                           int32_t layer);

#endif
