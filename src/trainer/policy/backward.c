/*
 * backward.c: from d loss / d log-prob to the gradient of all parameters, layer by layer from the end.
 *
 * Each product of the forward pass becomes two products here: the product with the transposed input gives the gradient
 * of the weight (which is added, because the chunks of a lane share a buffer), and the product with the weight gives
 * the gradient of the input.
 *
 * Norms are computed again instead of stored, which costs a pass over a row and saves two activations per layer.
 * tests/unit/trainer_policy.c checks all gradients in double against central differences.
 */
#include <string.h>

#include "policy/pass.h"

/* Uses buffers of attention, which are unused while this half of a layer is computed. */
static void backward_experts(struct trainer_passf *pass, const real *params, int32_t l, size_t q, real *gradient)
{
    size_t d = (size_t)pass->model.width;
    struct pass_layerf *layer = &pass->layer[l];
    struct net_layer at = net_layer(&pass->model, &pass->layout, l);
    struct net_expertsf x = net_pass_expertsf(pass, params, l);
    struct net_experts_gradientf g = {gradient + at.router, gradient + at.up, gradient + at.down};
    const struct net_experts_scratchf scratch = {.rows = pass->d_qkv,
                                                 .d_rows = pass->d_qkv + pass->n * d,
                                                 .d_u = pass->d_u,
                                                 .d_gate = pass->d_gate,
                                                 .d_prob = pass->d_prob};
    net_normf(q, d, layer->mid, params + at.norm2, pass->x);
    net_experts_backwardf(&x, q, pass->x, pass->d_out, pass->balance / pass->model.layers, &layer->choice, &scratch, pass->y, &g);
    net_norm_backwardf(q, d, layer->mid, params + at.norm2, pass->y, pass->d_out, gradient + at.norm2);
}

/* Backward pass of the MLP half: d_out [q][d] becomes d mid. */
static void backward_mlp(struct trainer_passf *pass, const real *params, int32_t l, size_t q, real *gradient)
{
    size_t d = (size_t)pass->model.width, m = (size_t)pass->model.mlp;
    struct pass_layerf *layer = &pass->layer[l];
    struct net_layer at = net_layer(&pass->model, &pass->layout, l);
    net_gemmf(true, false, m, d, q, layer->u, m, pass->d_out, d, 1, gradient + at.down, d);
    net_gemmf(false, true, q, m, d, pass->d_out, d, params + at.down, d, 0, pass->d_u, m);
    net_relu_backwardf(q * m, layer->u, pass->d_u);
    net_normf(q, d, layer->mid, params + at.norm2, pass->x);
    net_gemmf(true, false, d, m, q, pass->x, d, pass->d_u, m, 1, gradient + at.up, m);
    net_gemmf(false, true, q, d, m, pass->d_u, m, params + at.up, m, 0, pass->y, d);
    net_norm_backwardf(q, d, layer->mid, params + at.norm2, pass->y, pass->d_out, gradient + at.norm2);
}

static void backward_attention(struct trainer_passf *pass, struct pass_layerf *layer, bool last)
{
    const struct trainer_sequences *in = &pass->sequences;
    size_t d = (size_t)pass->model.width, heads = (size_t)pass->model.heads;
    for (size_t s = 0; s < in->n; s++) {
        struct net_attentionf a = net_pass_attentionf(pass, layer, s, last);
        size_t out = last ? (size_t)pass->first[s] : in->start[s];
        real *d_qkv = pass->d_qkv + in->start[s] * 3 * d;
        net_attend_backwardf(&a, layer->p + out * heads * pass->pad, pass->x + out * d, d_qkv, d_qkv + d, d_qkv + 2 * d, 3 * d,
                             pass->scratch);
    }
    net_rotatef(pass, -1, pass->d_qkv);
}

/*
 * Backward pass of the attention half of a layer: d_out [q][d], which holds d mid, becomes the gradient of the layer's input [N][d]. The
 * residual stream passes d_out on unchanged. In the last layer, which has rows for wanted tokens only, they are spread over d_in.
 */
static void backward_half(struct trainer_passf *pass, const real *params, int32_t l, size_t q, real *gradient)
{
    size_t d = (size_t)pass->model.width, n = pass->n;
    bool last = l + 1 == pass->model.layers;
    struct pass_layerf *layer = &pass->layer[l];
    struct net_layer at = net_layer(&pass->model, &pass->layout, l);
    net_gemmf(true, false, d, d, q, layer->att, d, pass->d_out, d, 1, gradient + at.out, d);
    net_gemmf(false, true, q, d, d, pass->d_out, d, params + at.out, d, 0, pass->x, d);
    backward_attention(pass, layer, last);
    if (last) {
        real *rows = pass->d_out;
        memset(pass->d_in, 0, n * d * sizeof(real));
        for (size_t i = 0; i < pass->n_wanted; i++)
            memcpy(pass->d_in + (size_t)pass->row[i] * d, rows + i * d, d * sizeof(real));
        pass->d_out = pass->d_in;
        pass->d_in = rows;
    }
    net_normf(n, d, layer->in, params + at.norm1, pass->x);
    net_gemmf(true, false, d, 3 * d, n, pass->x, d, pass->d_qkv, 3 * d, 1, gradient + at.qkv, 3 * d);
    net_gemmf(false, true, n, d, 3 * d, pass->d_qkv, 3 * d, params + at.qkv, 3 * d, 0, pass->y, d);
    net_norm_backwardf(n, d, layer->in, params + at.norm1, pass->y, pass->d_out, gradient + at.norm1);
}

/*
 * The embedding gets a part of its gradient here, as the output matrix, and the rest from net_embed_backward at the
 * end. d_out starts at 0 because the norm adds to it.
 */
static void backward_output(struct trainer_passf *pass, const real *params, const real *d_log_prob, const real *d_value,
                            real *gradient)
{
    size_t d = (size_t)pass->model.width, v = (size_t)pass->model.tokens, w = pass->n_wanted;
    const struct net_layout *layout = &pass->layout;
    net_softmax_backwardf(w, v, pass->prob, pass->target, d_log_prob);
    net_normf(w, d, pass->last, params + layout->norm, pass->x);
    net_gemmf(true, false, v, d, w, pass->prob, v, pass->x, d, 1, gradient + layout->embedding, d);
    net_gemmf(false, false, w, d, v, pass->prob, v, params + layout->embedding, d, 0, pass->y, d);
    if (d_value)
        net_value_backwardf(w, d, pass->x, params + layout->value, d_value, pass->y, gradient + layout->value);
    memset(pass->d_out, 0, w * d * sizeof(real));
    net_norm_backwardf(w, d, pass->last, params + layout->norm, pass->y, pass->d_out, gradient + layout->norm);
}

void trainer_policy_backwardf(struct trainer_passf *pass, const real *params, const real *d_log_prob, real *gradient)
{
    trainer_policy_backward_valuesf(pass, params, d_log_prob, NULL, gradient);
}

void trainer_policy_backward_valuesf(struct trainer_passf *pass, const real *params, const real *d_log_prob, const real *d_value,
                                     real *gradient)
{
    size_t d = (size_t)pass->model.width;
    backward_output(pass, params, d_log_prob, d_value, gradient);
    for (int32_t l = pass->model.layers - 1; l >= 0; l--) {
        size_t q = l + 1 == pass->model.layers ? pass->n_wanted : pass->n;
        if (pass->model.experts > 0)
            backward_experts(pass, params, l, q, gradient);
        else
            backward_mlp(pass, params, l, q, gradient);
        backward_half(pass, params, l, q, gradient);
    }
    net_embed_backwardf(pass->n, d, pass->sequences.tokens, pass->before, pass->d_out, gradient + pass->layout.embedding,
                        pass->model.previous_token ? gradient + pass->layout.previous : NULL);
}
