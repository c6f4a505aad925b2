/*
 * Keys are stored transposed, [feature][position], so that the scores of a query run over contiguous positions;
 * values are stored by row, because their mixture runs over features. Segments of all rows of a lane go through a
 * layer's products together, which makes batching fast; attention goes row by row.
 */
#include "rollout/kv_decode.h"

#include <string.h>

#include "support/carve.h"
#include "policy/layout.h"
#include "policy/kernels.h"

/* Sizes are those of the largest feed (LANE_TOKENS, LANE_OUTPUTS), so that nothing is allocated during play. */
static void carve_decode(struct decode *decode, struct carve *block)
{
    const struct trainer_model *model = &decode->model;
    size_t d = (size_t)model->width, layers = (size_t)model->layers, n = decode->capacity;
    size_t cache = decode->slots * layers * d * decode->pad;
    decode->kt = carve(block, cache, sizeof(float));
    decode->v = carve(block, cache, sizeof(float));
    decode->segments = carve(block, n, sizeof *decode->segments);
    decode->tokens = carve(block, n, sizeof(int32_t));
    decode->position = carve(block, n, sizeof(int32_t));
    decode->before = carve(block, n, sizeof(int32_t));
    decode->out_row = carve(block, decode->outputs, sizeof(int32_t));
    decode->logits = carve(block, decode->outputs * (size_t)model->tokens, sizeof(float));
    decode->rope = carve(block, (size_t)model->max_tokens * (d / (size_t)model->heads), sizeof(float));
    decode->h = carve(block, n * d, sizeof(float));
    decode->x = carve(block, n * d, sizeof(float));
    decode->qkv = carve(block, 3 * n * d, sizeof(float));
    decode->att = carve(block, n * d, sizeof(float));
    if (model->experts > 0) {
        decode->choice = net_carve_choicef(model, n, block);
        decode->routes = carve(block, n * trainer_model_routes(model), sizeof(uint16_t));
    } else {
        decode->u = carve(block, n * (size_t)model->mlp, sizeof(float));
    }
    decode->kept = carve(block, 2 * d * decode->pad, sizeof(float));
    decode->scratch = carve(block, decode->pad + (size_t)model->tokens, sizeof(float));
    if (model->value_head)
        decode->value = carve(block, decode->outputs, sizeof(float));
}

static struct decode sized(const struct trainer_model *model, size_t slots, size_t capacity, size_t outputs)
{
    return (struct decode){
        .model = *model, .slots = slots, .capacity = capacity, .outputs = outputs, .pad = net_padded((size_t)model->max_tokens)};
}

size_t decode_bytes(const struct trainer_model *model, size_t slots, size_t capacity, size_t outputs)
{
    struct decode decode = sized(model, slots, capacity, outputs);
    struct carve block = {NULL, 0};
    carve(&block, 1, sizeof decode);
    carve_decode(&decode, &block);
    return block.used;
}

struct decode *decode_new(const struct trainer_model *model, size_t slots, size_t capacity, size_t outputs)
{
    struct carve block = {carve_block(decode_bytes(model, slots, capacity, outputs)), 0};
    if (!block.base)
        return NULL;
    struct decode *decode = carve(&block, 1, sizeof *decode);
    *decode = sized(model, slots, capacity, outputs);
    carve_decode(decode, &block);
    net_rope_tablef((size_t)model->max_tokens, (size_t)(model->width / model->heads), model->rope_base, decode->rope);
    return decode;
}

void decode_clear(struct decode *decode)
{
    decode->n_segments = decode->n = decode->n_outputs = 0;
}

/*
 * `before` is needed for the second embedding (model.previous_token), which at the segment's start uses the token
 * before the segment.
 */
void decode_add(struct decode *decode, struct decode_segment segment, const int32_t *tokens)
{
    for (int32_t i = 0; i < segment.n; i++) {
        size_t at = decode->n++;
        decode->tokens[at] = tokens[i];
        decode->position[at] = segment.position + i;
        decode->before[at] = i > 0 ? tokens[i - 1] : segment.before;
        if (segment.every || i + 1 == segment.n)
            decode->out_row[decode->n_outputs++] = (int32_t)at;
    }
    decode->segments[decode->n_segments++] = segment;
}

struct place {
    float *kt, *v; /* keys and values of one slot and layer */
};

static struct place place_of(const struct decode *decode, size_t slot, int32_t layer)
{
    size_t size = (size_t)decode->model.width * decode->pad;
    size_t at = (slot * (size_t)decode->model.layers + (size_t)layer) * size;
    return (struct place){decode->kt + at, decode->v + at};
}

/*
 * Copies columns position .. position+n of kt, and rows of v, to or from a compact buffer. A branch (the true answer,
 * tried after each observation) overwrites the positions of the tokens with which the rollout continued, and must
 * restore them. Copying n columns out and back is cheaper than a second cache for all rows.
 */
static void keep_columns(const struct decode *decode, struct place place, const struct decode_segment *segment, bool restore)
{
    size_t d = (size_t)decode->model.width, n = (size_t)segment->n, at = (size_t)segment->position;
    float *kept = decode->kept;
    for (size_t j = 0; j < d; j++) {
        float *column = place.kt + j * decode->pad + at;
        memcpy(restore ? column : kept + j * n, restore ? kept + j * n : column, n * sizeof *kept);
    }
    float *rows = place.v + at * d, *kept_rows = kept + d * n;
    memcpy(restore ? rows : kept_rows, restore ? kept_rows : rows, n * d * sizeof *kept);
}

/* Called before attention, because a token attends to itself. */
static void store(const struct decode *decode, struct place place, const struct decode_segment *segment, const float *qkv)
{
    size_t d = (size_t)decode->model.width, pad = decode->pad;
    for (int32_t i = 0; i < segment->n; i++, qkv += 3 * d) {
        size_t at = (size_t)(segment->position + i);
        for (size_t j = 0; j < d; j++)
            place.kt[j * pad + at] = qkv[d + j];
        memcpy(place.v + at * d, qkv + 2 * d, d * sizeof *qkv);
    }
}

/* In the last layer only the keys and values of a segment's earlier tokens are needed, not their outputs. */
static void attend_segment(struct decode *decode, const struct decode_segment *segment, int32_t layer, size_t first,
                           bool outputs_only)
{
    size_t d = (size_t)decode->model.width, heads = (size_t)decode->model.heads;
    struct place place = place_of(decode, segment->slot, layer);
    const float *qkv = decode->qkv + first * 3 * d;
    if (segment->branch)
        keep_columns(decode, place, segment, false);
    store(decode, place, segment, qkv);
    int32_t i = outputs_only && !segment->every ? segment->n - 1 : 0;
    for (; i < segment->n; i++)
        net_attend_cachedf(heads, d / heads, (size_t)(segment->position + i + 1), decode->pad, qkv + (size_t)i * 3 * d, place.kt,
                           place.v, decode->att + (first + (size_t)i) * d, decode->scratch);
    if (segment->branch)
        keep_columns(decode, place, segment, true);
}

/*
 * Attention is computed row by row, because caches differ in length and a product over the longest cache would mostly
 * multiply zeros.
 */
static void attend(struct decode *decode, int32_t layer, bool last)
{
    size_t first = 0;
    for (size_t s = 0; s < decode->n_segments; s++) {
        attend_segment(decode, &decode->segments[s], layer, first, last);
        first += (size_t)decode->segments[s].n;
    }
}

/* Used for the rows of a group, which begin with the same prompt: the prompt is fed once and copied. */
void decode_copy(struct decode *decode, size_t from, size_t to, size_t n)
{
    size_t d = (size_t)decode->model.width;
    for (int32_t l = 0; l < decode->model.layers; l++) {
        struct place a = place_of(decode, from, l), b = place_of(decode, to, l);
        for (size_t j = 0; j < d; j++)
            memcpy(b.kt + j * decode->pad, a.kt + j * decode->pad, n * sizeof *a.kt);
        memcpy(b.v, a.v, n * d * sizeof *a.v);
    }
}

/* Rows ascend and move to lower or equal places, so that no row is overwritten before it is read. */
static void gather_outputs(struct decode *decode, const float *from, float *to)
{
    size_t d = (size_t)decode->model.width;
    for (size_t i = 0; i < decode->n_outputs; i++)
        memmove(to + i * d, from + (size_t)decode->out_row[i] * d, d * sizeof *to);
}

/* Records the routes of n rows of layer l: all fed tokens, or in the last layer the tokens with an output. */
static void record_routes(struct decode *decode, int32_t l, size_t n, bool last)
{
    size_t k = (size_t)decode->model.experts_per_token, places = trainer_model_routes(&decode->model);
    uint16_t *at = decode->routes + (size_t)l * k;
    for (size_t i = 0; last && i < decode->n; i++)
        for (size_t j = 0; j < k; j++)
            at[i * places + j] = TRAINER_NO_EXPERT;
    for (size_t i = 0; i < n; i++)
        memcpy(at + (last ? (size_t)decode->out_row[i] : i) * places, decode->choice.chosen + i * k, k * sizeof *at);
}

/* Uses the memory of queries, keys and values, which are not needed any more. */
static void feed_experts(struct decode *decode, const float *params, struct net_layer at, int32_t l, size_t n)
{
    struct net_expertsf x = net_layer_expertsf(&decode->model, at, params);
    for (size_t i = 0; i < n * x.k; i++)
        decode->choice.chosen[i] = TRAINER_NO_EXPERT;
    net_experts_forwardf(&x, n, decode->x, &decode->choice, decode->qkv, decode->h);
    record_routes(decode, l, n, l + 1 == decode->model.layers);
}

/* Replaces h by the layer's output; in the last layer only at tokens with an output. */
static void feed_layer(struct decode *decode, const float *params, int32_t l)
{
    const struct trainer_model *model = &decode->model;
    size_t d = (size_t)model->width, m = (size_t)model->mlp, heads = (size_t)model->heads, n = decode->n;
    bool last = l + 1 == model->layers;
    struct net_layout layout = net_layout(model);
    struct net_layer at = net_layer(model, &layout, l);
    net_normf(n, d, decode->h, params + at.norm1, decode->x);
    net_gemmf(false, false, n, 3 * d, d, decode->x, d, params + at.qkv, 3 * d, 0, decode->qkv, 3 * d);
    net_ropef(n, decode->position, heads, d / heads, decode->rope, 1, decode->qkv, 3 * d);
    net_ropef(n, decode->position, heads, d / heads, decode->rope, 1, decode->qkv + d, 3 * d);
    attend(decode, l, last);
    if (last) {
        gather_outputs(decode, decode->att, decode->att);
        gather_outputs(decode, decode->h, decode->h);
        n = decode->n_outputs;
    }
    net_gemmf(false, false, n, d, d, decode->att, d, params + at.out, d, 1, decode->h, d);
    net_normf(n, d, decode->h, params + at.norm2, decode->x);
    if (model->experts > 0) {
        feed_experts(decode, params, at, l, n);
        return;
    }
    net_gemmf(false, false, n, m, d, decode->x, d, params + at.up, m, 0, decode->u, m);
    net_reluf(n * m, decode->u);
    net_gemmf(false, false, n, d, m, decode->u, m, params + at.down, d, 1, decode->h, d);
}

/*
 * Takes the same steps as policy/forward.c with the same kernels, so that log-probs of sampling and of training agree
 * up to rounding. On-policy rollouts therefore need not be scored again (run/off_policy_correction.c).
 */
void decode_feed(struct decode *decode, const float *params)
{
    const struct trainer_model *model = &decode->model;
    struct net_layout layout = net_layout(model);
    size_t d = (size_t)model->width, v = (size_t)model->tokens;
    net_embedf(decode->n, d, decode->tokens, decode->before, params + layout.embedding,
               model->previous_token ? params + layout.previous : NULL, decode->h);
    for (int32_t l = 0; l < model->layers; l++)
        feed_layer(decode, params, l);
    net_normf(decode->n_outputs, d, decode->h, params + layout.norm, decode->x);
    net_gemmf(false, true, decode->n_outputs, v, d, decode->x, d, params + layout.embedding, d, 0, decode->logits, v);
    if (model->value_head)
        net_valuef(decode->n_outputs, d, decode->x, params + layout.value, decode->value);
}
