/*
 * forward.c: from tokens to log-probs.
 *
 * Sequences are packed end to end, because episodes differ in length and padding is wasted work. Everything but
 * attention is a product over all tokens of the pack, for which BLAS is fast; attention goes sequence by sequence. The
 * layers keep the data that the backward pass needs.
 *
 * The last layer runs only for tokens at which a log-prob is wanted: keys and values are needed for all tokens, queries
 * and the MLP are not.
 */

#include "support/error.h"
#include "policy/pass.h"

/*
 * `row` and `query` name the token before a wanted one, which predicts it. Tokens come from files and other programs;
 * they are checked once, here, instead of in the loops.
 */
static enum trainer_status index_token(struct trainer_passf *pass, size_t sequence, size_t i, struct trainer_error *err)
{
    const struct trainer_sequences *in = &pass->sequences;
    size_t place = i - in->start[sequence];
    if (in->tokens[i] < 0 || in->tokens[i] >= pass->model.tokens)
        return trainer_fail(err, TRAINER_EINVAL, "tokens[%zu]: %d is not below %d", i, in->tokens[i], pass->model.tokens);
    pass->position[i] = (int32_t)place;
    pass->before[i] = place > 0 ? in->tokens[i - 1] : 0;
    if (!in->wanted[i])
        return TRAINER_OK;
    if (place == 0)
        return trainer_fail(err, TRAINER_EINVAL, "wanted[%zu]: the first token of a sequence cannot be wanted", i);
    if (pass->n_wanted == pass->wanted_capacity)
        return trainer_fail(err, TRAINER_EINVAL, "wanted[%zu]: the pass was made for %zu", i, pass->wanted_capacity);
    pass->row[pass->n_wanted] = (int32_t)i - 1;
    pass->query[pass->n_wanted] = (int32_t)place - 1;
    pass->target[pass->n_wanted++] = in->tokens[i];
    return TRAINER_OK;
}

static enum trainer_status index_sequences(struct trainer_passf *pass, struct trainer_error *err)
{
    const struct trainer_sequences *in = &pass->sequences;
    pass->n_wanted = 0;
    pass->n = in->start[in->n];
    if (pass->n > pass->capacity)
        return trainer_fail(err, TRAINER_EINVAL, "sequences: %zu tokens, the pass was made for %zu", pass->n, pass->capacity);
    for (size_t s = 0; s < in->n; s++) {
        size_t length = in->start[s + 1] - in->start[s];
        if (in->start[s + 1] < in->start[s] || length > (size_t)pass->model.max_tokens)
            return trainer_fail(err, TRAINER_EINVAL, "sequence %zu: longer than max_tokens %d", s, pass->model.max_tokens);
        pass->first[s] = (int32_t)pass->n_wanted;
        for (size_t i = in->start[s]; i < in->start[s + 1]; i++)
            TRY(index_token(pass, s, i, err));
    }
    pass->first[in->n] = (int32_t)pass->n_wanted;
    return TRAINER_OK;
}

/* Queries, keys and values of a sequence are in the rows of one product, 3d apart. */
struct net_attentionf net_pass_attentionf(const struct trainer_passf *pass, const struct pass_layerf *layer, size_t s, bool last)
{
    size_t d = (size_t)pass->model.width, heads = (size_t)pass->model.heads;
    size_t start = pass->sequences.start[s], n = pass->sequences.start[s + 1] - start;
    const real *qkv = layer->qkv + start * 3 * d;
    return (struct net_attentionf){
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

static void attend(struct trainer_passf *pass, struct pass_layerf *layer, bool last)
{
    const struct trainer_sequences *in = &pass->sequences;
    size_t d = (size_t)pass->model.width, heads = (size_t)pass->model.heads;
    for (size_t s = 0; s < in->n; s++) {
        struct net_attentionf a = net_pass_attentionf(pass, layer, s, last);
        size_t out = last ? (size_t)pass->first[s] : in->start[s];
        net_attendf(&a, layer->p + out * heads * pass->pad, layer->att + out * d, pass->scratch);
    }
}

void net_gatherf(size_t n, size_t d, const int32_t *row, const real *from, real *to)
{
    for (size_t i = 0; i < n; i++)
        memcpy(to + i * d, from + (size_t)row[i] * d, d * sizeof *to);
}

void net_rotatef(const struct trainer_passf *pass, real direction, real *qkv)
{
    size_t d = (size_t)pass->model.width, heads = (size_t)pass->model.heads;
    net_ropef(pass->n, pass->position, heads, d / heads, pass->rope, direction, qkv, 3 * d);
    net_ropef(pass->n, pass->position, heads, d / heads, pass->rope, direction, qkv + d, 3 * d);
}

struct net_expertsf net_pass_expertsf(const struct trainer_passf *pass, const real *params, int32_t layer)
{
    return net_layer_expertsf(&pass->model, net_layer(&pass->model, &pass->layout, layer), params);
}

/* place_of returns the index of a token and layer in recorded routes. token_of returns the token of a layer's row. */
static size_t place_of(const struct trainer_passf *pass, size_t token, int32_t layer)
{
    return (token * (size_t)pass->model.layers + (size_t)layer) * (size_t)pass->model.experts_per_token;
}

static size_t token_of(const struct trainer_passf *pass, bool last, size_t row)
{
    return last ? (size_t)pass->row[row] : row;
}

/*
 * A token and layer must have either all of their experts or none, because the router would silently complete a partial
 * choice.
 */
static bool is_route(const uint16_t *experts, size_t k, int32_t n)
{
    size_t none = 0;
    for (size_t j = 0; j < k; j++) {
        none += experts[j] == TRAINER_NO_EXPERT;
        for (size_t i = 0; i < j; i++)
            if (experts[i] == experts[j] && experts[j] != TRAINER_NO_EXPERT)
                return false;
        if (experts[j] != TRAINER_NO_EXPERT && experts[j] >= n)
            return false;
    }
    return none == 0 || none == k;
}

static enum trainer_status check_replay(const struct trainer_passf *pass, struct trainer_error *err)
{
    size_t k = (size_t)pass->model.experts_per_token;
    for (size_t i = 0; pass->model.experts > 0 && pass->replay && i < pass->n; i++)
        for (int32_t l = 0; l < pass->model.layers; l++)
            if (!is_route(pass->replay + place_of(pass, i, l), k, pass->model.experts))
                return trainer_fail(err, TRAINER_EINVAL,
                                    "replay: token %zu, layer %d: not %zu different experts below "
                                    "%d, nor none",
                                    i, l, k, pass->model.experts);
    return TRAINER_OK;
}

static void set_routes(const struct trainer_passf *pass, int32_t l, size_t q, bool last)
{
    size_t k = (size_t)pass->model.experts_per_token;
    uint16_t *chosen = pass->layer[l].choice.chosen;
    for (size_t i = 0; i < q * k; i++)
        chosen[i] = TRAINER_NO_EXPERT;
    for (size_t i = 0; pass->replay && i < q; i++)
        memcpy(chosen + i * k, pass->replay + place_of(pass, token_of(pass, last, i), l), k * sizeof *chosen);
}

static void record_routes(const struct trainer_passf *pass, int32_t l, size_t q, bool last)
{
    size_t k = (size_t)pass->model.experts_per_token;
    const uint16_t *chosen = pass->layer[l].choice.chosen;
    for (size_t i = 0; pass->record && last && i < pass->n; i++)
        for (size_t j = 0; j < k; j++)
            pass->record[place_of(pass, i, l) + j] = TRAINER_NO_EXPERT;
    for (size_t i = 0; pass->record && i < q; i++)
        memcpy(pass->record + place_of(pass, token_of(pass, last, i), l), chosen + i * k, k * sizeof *chosen);
}

static void forward_experts(struct trainer_passf *pass, const real *params, int32_t l, size_t q, real *out)
{
    struct net_expertsf x = net_pass_expertsf(pass, params, l);
    bool last = l + 1 == pass->model.layers;
    set_routes(pass, l, q, last);
    net_experts_forwardf(&x, q, pass->x, &pass->layer[l].choice, pass->y, out);
    record_routes(pass, l, q, last);
}

/* A layer without rows counts as perfectly balanced. */
double trainer_pass_balancef(const struct trainer_passf *pass)
{
    const struct trainer_model *model = &pass->model;
    double sum = 0;
    for (int32_t l = 0; model->experts > 0 && l < model->layers; l++) {
        size_t q = l + 1 < model->layers ? pass->n : pass->n_wanted;
        sum += net_experts_balancef((size_t)model->experts, (size_t)model->experts_per_token, q, &pass->layer[l].choice);
    }
    return sum / model->layers;
}

/*
 * A norm comes before each half of a layer (pre-norm, arXiv 2002.04745), so that nothing scales the residual stream and
 * gradients reach the first layer undiminished. The MLP uses ReLU, because its derivative follows from its output.
 */
static void forward_layer(struct trainer_passf *pass, const real *params, int32_t l, real *out)
{
    size_t d = (size_t)pass->model.width, m = (size_t)pass->model.mlp, n = pass->n;
    bool last = l + 1 == pass->model.layers;
    size_t q = last ? pass->n_wanted : n;
    struct pass_layerf *layer = &pass->layer[l];
    struct net_layer at = net_layer(&pass->model, &pass->layout, l);
    net_normf(n, d, layer->in, params + at.norm1, pass->x);
    net_gemmf(false, false, n, 3 * d, d, pass->x, d, params + at.qkv, 3 * d, 0, layer->qkv, 3 * d);
    net_rotatef(pass, 1, layer->qkv);
    attend(pass, layer, last);
    if (last)
        net_gatherf(q, d, pass->row, layer->in, layer->mid);
    else
        memcpy(layer->mid, layer->in, n * d * sizeof(real));
    net_gemmf(false, false, q, d, d, layer->att, d, params + at.out, d, 1, layer->mid, d);
    net_normf(q, d, layer->mid, params + at.norm2, pass->x);
    memcpy(out, layer->mid, q * d * sizeof(real));
    if (pass->model.experts > 0) {
        forward_experts(pass, params, l, q, out);
        return;
    }
    net_gemmf(false, false, q, m, d, pass->x, d, params + at.up, m, 0, layer->u, m);
    net_reluf(q * m, layer->u);
    net_gemmf(false, false, q, d, m, layer->u, m, params + at.down, d, 1, out, d);
}

/* The embedding is also the output matrix (tied, arXiv 1608.05859). */
enum trainer_status trainer_policy_forwardf(struct trainer_passf *pass, const real *params,
                                            const struct trainer_sequences *sequences, real *log_prob, real *entropy,
                                            struct trainer_error *err)
{
    size_t d = (size_t)pass->model.width, v = (size_t)pass->model.tokens;
    const real *embedding = params + pass->layout.embedding;
    const real *previous = pass->model.previous_token ? params + pass->layout.previous : NULL;
    pass->sequences = *sequences;
    TRY(index_sequences(pass, err));
    TRY(check_replay(pass, err));
    net_embedf(pass->n, d, sequences->tokens, pass->before, embedding, previous, pass->layer[0].in);
    for (int32_t l = 0; l < pass->model.layers; l++)
        forward_layer(pass, params, l, l + 1 < pass->model.layers ? pass->layer[l + 1].in : pass->last);
    net_normf(pass->n_wanted, d, pass->last, params + pass->layout.norm, pass->x);
    net_gemmf(false, true, pass->n_wanted, v, d, pass->x, d, embedding, d, 0, pass->prob, v);
    net_softmaxf(pass->n_wanted, v, pass->prob, pass->target, log_prob, entropy);
    return TRAINER_OK;
}

/* The forward pass has left the normed hidden states in x. */
void trainer_policy_valuesf(struct trainer_passf *pass, const real *params, real *value)
{
    net_valuef(pass->n_wanted, (size_t)pass->model.width, pass->x, params + pass->layout.value, value);
}
