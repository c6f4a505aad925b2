/* backward.c: from d loss / d log-prob to the gradient of all parameters. */
#include <string.h>

#include "pass.h"

/* The MLP half: d_out [q][d] becomes d mid. */
static void backward_mlp(struct TR(trainer_pass) * pass, const real *params, int32_t l, size_t q,
                         real *gradient)
{
    size_t d = (size_t)pass->model.width, m = (size_t)pass->model.mlp;
    struct TR(pass_layer) *layer = &pass->layer[l];
    struct net_layer at = net_layer(&pass->model, &pass->layout, l);
    TR(net_gemm)(true, false, m, d, q, layer->u, m, pass->d_out, d, 1, gradient + at.down, d);
    TR(net_gemm)(false, true, q, m, d, pass->d_out, d, params + at.down, d, 0, pass->d_u, m);
    TR(net_relu_backward)(q * m, layer->u, pass->d_u);
    TR(net_norm)(q, d, layer->mid, params + at.norm2, pass->x);
    TR(net_gemm)(true, false, d, m, q, pass->x, d, pass->d_u, m, 1, gradient + at.up, m);
    TR(net_gemm)(false, true, q, d, m, pass->d_u, m, params + at.up, m, 0, pass->y, d);
    TR(net_norm_backward)
    (q, d, layer->mid, params + at.norm2, pass->y, pass->d_out, gradient + at.norm2);
}

static void backward_attention(struct TR(trainer_pass) * pass, struct TR(pass_layer) * layer,
                               bool last)
{
    const struct trainer_sequences *in = &pass->sequences;
    size_t d = (size_t)pass->model.width, heads = (size_t)pass->model.heads;
    for (size_t s = 0; s < in->n; s++) {
        struct TR(net_attention) a = TR(net_pass_attention)(pass, layer, s, last);
        size_t out = last ? (size_t)pass->first[s] : in->start[s];
        real *d_qkv = pass->d_qkv + in->start[s] * 3 * d;
        TR(net_attend_backward)
        (&a, layer->p + out * heads * pass->pad, pass->x + out * d, d_qkv, d_qkv + d, d_qkv + 2 * d,
         3 * d, pass->scratch);
    }
    TR(net_rotate)(pass, -1, pass->d_qkv);
}

/* The residual stream: d_in [N][d] = d_out at the rows that came out. */
static void spread_rows(struct TR(trainer_pass) * pass, bool last)
{
    size_t d = (size_t)pass->model.width;
    if (!last) {
        memcpy(pass->d_in, pass->d_out, pass->n * d * sizeof(real));
        return;
    }
    memset(pass->d_in, 0, pass->n * d * sizeof(real));
    for (size_t i = 0; i < pass->n_wanted; i++)
        memcpy(pass->d_in + (size_t)pass->row[i] * d, pass->d_out + i * d, d * sizeof(real));
}

/* The attention half: d_out [q][d] = d mid becomes d_in [N][d]. */
static void backward_half(struct TR(trainer_pass) * pass, const real *params, int32_t l, size_t q,
                          real *gradient)
{
    size_t d = (size_t)pass->model.width, n = pass->n;
    bool last = l + 1 == pass->model.layers;
    struct TR(pass_layer) *layer = &pass->layer[l];
    struct net_layer at = net_layer(&pass->model, &pass->layout, l);
    TR(net_gemm)(true, false, d, d, q, layer->att, d, pass->d_out, d, 1, gradient + at.out, d);
    TR(net_gemm)(false, true, q, d, d, pass->d_out, d, params + at.out, d, 0, pass->x, d);
    backward_attention(pass, layer, last);
    spread_rows(pass, last);
    TR(net_norm)(n, d, layer->in, params + at.norm1, pass->x);
    TR(net_gemm)
    (true, false, d, 3 * d, n, pass->x, d, pass->d_qkv, 3 * d, 1, gradient + at.qkv, 3 * d);
    TR(net_gemm)
    (false, true, n, d, 3 * d, pass->d_qkv, 3 * d, params + at.qkv, 3 * d, 0, pass->y, d);
    TR(net_norm_backward)
    (n, d, layer->in, params + at.norm1, pass->y, pass->d_in, gradient + at.norm1);
}

static void backward_output(struct TR(trainer_pass) * pass, const real *params,
                            const real *d_log_prob, real *gradient)
{
    size_t d = (size_t)pass->model.width, v = (size_t)pass->model.tokens, w = pass->n_wanted;
    const struct net_layout *layout = &pass->layout;
    TR(net_softmax_backward)(w, v, pass->prob, pass->target, d_log_prob);
    TR(net_norm)(w, d, pass->last, params + layout->norm, pass->x);
    TR(net_gemm)
    (true, false, v, d, w, pass->prob, v, pass->x, d, 1, gradient + layout->embedding, d);
    TR(net_gemm)
    (false, false, w, d, v, pass->prob, v, params + layout->embedding, d, 0, pass->y, d);
    memset(pass->d_out, 0, w * d * sizeof(real));
    TR(net_norm_backward)
    (w, d, pass->last, params + layout->norm, pass->y, pass->d_out, gradient + layout->norm);
}

void TR(trainer_policy_backward)(struct TR(trainer_pass) * pass, const real *params,
                                 const real *d_log_prob, real *gradient)
{
    size_t d = (size_t)pass->model.width;
    backward_output(pass, params, d_log_prob, gradient);
    for (int32_t l = pass->model.layers - 1; l >= 0; l--) {
        size_t q = l + 1 == pass->model.layers ? pass->n_wanted : pass->n;
        backward_mlp(pass, params, l, q, gradient);
        backward_half(pass, params, l, q, gradient);
        real *swap = pass->d_out;
        pass->d_out = pass->d_in;
        pass->d_in = swap;
    }
    TR(net_embed_backward)
    (pass->n, d, pass->sequences.tokens, pass->before, pass->d_out,
     gradient + pass->layout.embedding,
     pass->model.previous_token ? gradient + pass->layout.previous : NULL);
}
