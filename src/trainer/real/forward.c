/* forward.c: tokens to log-probs. */
#include <string.h>

#include "../internal.h"
#include "pass.h"

static enum trainer_status index_token(struct TR(trainer_pass) * pass, size_t sequence, size_t i,
                                       struct trainer_error *err)
{
    const struct trainer_sequences *in = &pass->sequences;
    size_t place = i - in->start[sequence];
    if (in->tokens[i] < 0 || in->tokens[i] >= pass->model.tokens)
        return trainer_fail(err, TRAINER_EINVAL, "tokens[%zu]: %d is not below %d", i,
                            in->tokens[i], pass->model.tokens);
    pass->position[i] = (int32_t)place;
    pass->before[i] = place > 0 ? in->tokens[i - 1] : 0;
    if (!in->wanted[i])
        return TRAINER_OK;
    if (place == 0)
        return trainer_fail(err, TRAINER_EINVAL,
                            "wanted[%zu]: nothing stands before the first token", i);
    if (pass->n_wanted == pass->wanted_capacity)
        return trainer_fail(err, TRAINER_EINVAL, "wanted[%zu]: the pass was made for %zu", i,
                            pass->wanted_capacity);
    pass->row[pass->n_wanted] = (int32_t)i - 1;
    pass->query[pass->n_wanted] = (int32_t)place - 1;
    pass->target[pass->n_wanted++] = in->tokens[i];
    return TRAINER_OK;
}

static enum trainer_status index_sequences(struct TR(trainer_pass) * pass,
                                           struct trainer_error *err)
{
    const struct trainer_sequences *in = &pass->sequences;
    enum trainer_status status = TRAINER_OK;
    pass->n_wanted = 0;
    pass->n = in->start[in->n];
    if (pass->n > pass->capacity)
        return trainer_fail(err, TRAINER_EINVAL, "sequences: %zu tokens, the pass was made for %zu",
                            pass->n, pass->capacity);
    for (size_t s = 0; s < in->n && status == TRAINER_OK; s++) {
        size_t length = in->start[s + 1] - in->start[s];
        if (in->start[s + 1] < in->start[s] || length > (size_t)pass->model.max_tokens)
            return trainer_fail(err, TRAINER_EINVAL, "sequence %zu: longer than max_tokens %d", s,
                                pass->model.max_tokens);
        pass->first[s] = (int32_t)pass->n_wanted;
        for (size_t i = in->start[s]; i < in->start[s + 1] && status == TRAINER_OK; i++)
            status = index_token(pass, s, i, err);
    }
    pass->first[in->n] = (int32_t)pass->n_wanted;
    return status;
}

struct TR(net_attention)
    TR(net_pass_attention)(const struct TR(trainer_pass) * pass,
                           const struct TR(pass_layer) * layer, size_t s, bool last)
{
    size_t d = (size_t)pass->model.width, heads = (size_t)pass->model.heads;
    size_t start = pass->sequences.start[s], n = pass->sequences.start[s + 1] - start;
    const real *qkv = layer->qkv + start * 3 * d;
    return (struct TR(net_attention)){
        .heads = heads,
        .head_dim = d / heads,
        .n_queries = last ? (size_t)(pass->first[s + 1] - pass->first[s]) : n,
        .query = last ? pass->query + pass->first[s] : pass->every,
        .q = qkv,
        .k = qkv + d,
        .v = qkv + 2 * d,
        .q_stride = 3 * d,
        .k_stride = 3 * d,
        .v_stride = 3 * d,
        .n_keys = n,
        .pad = pass->pad,
    };
}

static void attend(struct TR(trainer_pass) * pass, struct TR(pass_layer) * layer, bool last)
{
    const struct trainer_sequences *in = &pass->sequences;
    size_t d = (size_t)pass->model.width, heads = (size_t)pass->model.heads;
    for (size_t s = 0; s < in->n; s++) {
        struct TR(net_attention) a = TR(net_pass_attention)(pass, layer, s, last);
        size_t out = last ? (size_t)pass->first[s] : in->start[s];
        TR(net_attend)(&a, layer->p + out * heads * pass->pad, layer->att + out * d, pass->scratch);
    }
}

void TR(net_gather)(size_t n, size_t d, const int32_t *row, const real *from, real *to)
{
    for (size_t i = 0; i < n; i++)
        memcpy(to + i * d, from + (size_t)row[i] * d, d * sizeof *to);
}

void TR(net_rotate)(const struct TR(trainer_pass) * pass, real direction, real *qkv)
{
    size_t d = (size_t)pass->model.width, heads = (size_t)pass->model.heads;
    TR(net_rope)(pass->n, pass->position, heads, d / heads, pass->rope, direction, qkv, 3 * d);
    TR(net_rope)(pass->n, pass->position, heads, d / heads, pass->rope, direction, qkv + d, 3 * d);
}

static void forward_layer(struct TR(trainer_pass) * pass, const real *params, int32_t l, real *out)
{
    size_t d = (size_t)pass->model.width, m = (size_t)pass->model.mlp, n = pass->n;
    bool last = l + 1 == pass->model.layers;
    size_t q = last ? pass->n_wanted : n;
    struct TR(pass_layer) *layer = &pass->layer[l];
    struct net_layer at = net_layer(&pass->model, &pass->layout, l);
    TR(net_norm)(n, d, layer->in, params + at.norm1, pass->x);
    TR(net_gemm)
    (false, false, n, 3 * d, d, pass->x, d, params + at.qkv, 3 * d, 0, layer->qkv, 3 * d);
    TR(net_rotate)(pass, 1, layer->qkv);
    attend(pass, layer, last);
    if (last)
        TR(net_gather)(q, d, pass->row, layer->in, layer->mid);
    else
        memcpy(layer->mid, layer->in, n * d * sizeof(real));
    TR(net_gemm)(false, false, q, d, d, layer->att, d, params + at.out, d, 1, layer->mid, d);
    TR(net_norm)(q, d, layer->mid, params + at.norm2, pass->x);
    TR(net_gemm)(false, false, q, m, d, pass->x, d, params + at.up, m, 0, layer->u, m);
    TR(net_relu)(q * m, layer->u);
    memcpy(out, layer->mid, q * d * sizeof(real));
    TR(net_gemm)(false, false, q, d, m, layer->u, m, params + at.down, d, 1, out, d);
}

enum trainer_status TR(trainer_policy_forward)(struct TR(trainer_pass) * pass, const real *params,
                                               const struct trainer_sequences *sequences,
                                               real *log_prob, real *entropy,
                                               struct trainer_error *err)
{
    size_t d = (size_t)pass->model.width, v = (size_t)pass->model.tokens;
    const real *embedding = params + pass->layout.embedding;
    const real *previous = pass->model.previous_token ? params + pass->layout.previous : NULL;
    pass->sequences = *sequences;
    enum trainer_status status = index_sequences(pass, err);
    if (status != TRAINER_OK)
        return status;
    TR(net_embed)
    (pass->n, d, sequences->tokens, pass->before, embedding, previous, pass->layer[0].in);
    for (int32_t l = 0; l < pass->model.layers; l++)
        forward_layer(pass, params, l,
                      l + 1 < pass->model.layers ? pass->layer[l + 1].in : pass->last);
    TR(net_norm)(pass->n_wanted, d, pass->last, params + pass->layout.norm, pass->x);
    TR(net_gemm)(false, true, pass->n_wanted, v, d, pass->x, d, embedding, d, 0, pass->prob, v);
    TR(net_softmax)(pass->n_wanted, v, pass->prob, pass->target, log_prob, entropy);
    return TRAINER_OK;
}
