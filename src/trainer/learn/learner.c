/*
 * learner.c: see learner.h.
 *
 * Rows go through the network in chunks of CHUNK_ROWS, chunks in lanes: chunk c belongs to lane
 * c mod GRADIENT_LANES whoever computes it, each lane sums into its own gradient and lanes are
 * added in order. Floating sums depend on order; this order depends on the batch alone, so that a
 * trial repeats to the bit with any number of threads.
 */
#include "learn/learner.h"

#include <math.h>
#include <stdlib.h>
#include <string.h>

#include <rlcore/routing.h>

#include "support/carve.h"
#include "support/error.h"
#include "policy/layout.h"
#include "learn/muon.h"
#include "policy/kernels.h"
#include "support/threads.h"

/* CHUNK_ROWS rows, packed. */
struct learner_chunk {
    struct trainer_passf *pass;
    struct trainer_sequences sequences;
    size_t start[CHUNK_ROWS + 1];
    int32_t *tokens;
    uint8_t *wanted;
    size_t n_wanted;
    size_t *place; /* [n_wanted] of each wanted token in the [n*width] arrays */
    float *log_prob, *entropy, *d_log_prob;
    uint16_t *replay, *record; /* with experts: [n][layers][experts_per_token] of each token */
    size_t *predicts;          /* [n] place of the token behind, SIZE_MAX at a row's end */
    float *value; /* with a value head: values, then their gradient */
};

_Static_assert(TRAINER_NO_EXPERT == RL_NO_EXPERT, "routes are the core's");

static size_t chunk_tokens(const struct trainer_model *model)
{
    return CHUNK_ROWS * (size_t)model->max_tokens;
}

static size_t chunks_for(size_t rows)
{
    return (rows + CHUNK_ROWS - 1) / CHUNK_ROWS;
}

/*
 * Called twice, once without a block to measure it. Chunks are written only when there is one: in
 * the first call the array of chunks is not there yet.
 */
static void carve_learner(struct learner *learner, struct carve *block)
{
    size_t n = chunk_tokens(&learner->model), d = (size_t)learner->model.width,
           m = (size_t)learner->model.mlp;
    size_t most = m > d ? m : d, places = trainer_model_routes(&learner->model);
    learner->params = carve(block, learner->n_params, sizeof(float));
    learner->gradient = carve(block, GRADIENT_LANES * learner->n_params, sizeof(float));
    learner->adam.m = carve(block, learner->n_params, sizeof(float));
    learner->adam.v = carve(block, learner->n_params, sizeof(float));
    learner->muon = carve(block, muon_scratch(d, most), sizeof(float));
    learner->chunks = carve(block, learner->n_chunks, sizeof *learner->chunks);
    for (size_t i = 0; i < learner->n_chunks; i++) {
        struct learner_chunk chunk = {.tokens = carve(block, n, sizeof(int32_t)),
                                      .wanted = carve(block, n, 1),
                                      .place = carve(block, n, sizeof(size_t)),
                                      .log_prob = carve(block, n, sizeof(float)),
                                      .entropy = carve(block, n, sizeof(float)),
                                      .d_log_prob = carve(block, n, sizeof(float))};
        if (places > 0) {
            chunk.replay = carve(block, n * places, sizeof(uint16_t));
            chunk.record = carve(block, n * places, sizeof(uint16_t));
            chunk.predicts = carve(block, n, sizeof(size_t));
        }
        if (learner->model.value_head)
            chunk.value = carve(block, n, sizeof(float));
        if (block->base)
            learner->chunks[i] = chunk;
    }
}

static struct learner sized(const struct trainer_model *model, size_t max_rows)
{
    return (struct learner){.model = *model,
                            .n_params = trainer_model_parameters(model),
                            .max_rows = max_rows,
                            .n_chunks = chunks_for(max_rows)};
}

double learner_bytes(const struct trainer_model *model, size_t max_rows)
{
    struct learner learner = sized(model, max_rows);
    struct carve block = {NULL, 0};
    size_t n = chunk_tokens(model);
    carve_learner(&learner, &block);
    return (double)block.used + (double)learner.n_chunks * (double)trainer_pass_bytesf(model, n, n);
}

/*
 * Every chunk has a pass of its own: the backward pass of a minibatch reads what the forward pass
 * left in all of them. A failure halfway is closed by the caller, so n_chunks must be right at
 * once.
 */
enum trainer_status learner_open(struct learner *learner, const struct trainer_model *model,
                                 size_t max_rows, int threads, struct trainer_error *err)
{
    enum trainer_status status = TRAINER_OK;
    struct carve block = {NULL, 0};
    size_t n = chunk_tokens(model);
    *learner = sized(model, max_rows);
    carve_learner(learner, &block);
    size_t bytes = block.used;
    block = (struct carve){carve_block(bytes), 0};
    if (!block.base) {
        learner->n_chunks = 0;
        return trainer_no_memory(err, bytes);
    }
    learner->threads = threads;
    carve_learner(learner, &block);
    for (size_t i = 0; i < learner->n_chunks && status == TRAINER_OK; i++)
        status = trainer_pass_createf(&learner->chunks[i].pass, model, n, n, err);
    return status;
}

void learner_close(struct learner *learner)
{
    for (size_t i = 0; i < learner->n_chunks; i++)
        trainer_pass_freef(learner->chunks[i].pass);
    free(learner->shared);
    free(learner->shared_routes);
    free(learner->params);
}

/*
 * 1e-8 is Adam's own (arXiv 1412.6980). With it the first steps after a restart have about the
 * size of the rate whatever the gradient's scale, which is what warm-up is for.
 */
void learner_restart(struct learner *learner, double beta1, double beta2, double weight_decay)
{
    struct adamw *adam = &learner->adam;
    memset(adam->m, 0, learner->n_params * sizeof *adam->m);
    memset(adam->v, 0, learner->n_params * sizeof *adam->v);
    adam->n = learner->n_params;
    adam->steps = 0;
    adam->beta1 = beta1;
    adam->beta2 = beta2;
    adam->epsilon = 1e-8;
    adam->weight_decay = weight_decay;
}

/* ---- passes ------------------------------------------------------------------------------- */

/* What is wanted is numbered in order, and its place kept: log-probs come back packed. */
static void pack(struct learner_chunk *chunk, const struct learner_rows *rows, size_t first,
                 size_t end)
{
    size_t n = 0;
    chunk->n_wanted = 0;
    for (size_t row = first; row < end; row++) {
        chunk->start[row - first] = n;
        for (size_t t = 0; t < (size_t)rows->length[row]; t++, n++) {
            size_t place = row * rows->width + t;
            chunk->tokens[n] = rows->tokens[place];
            chunk->wanted[n] = rows->wanted[place];
            if (rows->wanted[place])
                chunk->place[chunk->n_wanted++] = place;
        }
    }
    chunk->start[end - first] = n;
    chunk->sequences =
        (struct trainer_sequences){end - first, chunk->start, chunk->tokens, chunk->wanted};
}

/* ---- routes ------------------------------------------------------------------------------- */

static void find_predicted(struct learner_chunk *chunk, const struct learner_rows *rows,
                           size_t first, size_t end)
{
    size_t n = 0;
    for (size_t row = first; row < end; row++)
        for (size_t t = 1; t <= (size_t)rows->length[row]; t++)
            chunk->predicts[n++] =
                t < (size_t)rows->length[row] ? row * rows->width + t : SIZE_MAX;
}

static enum trainer_status take_routes(const struct learner *learner, struct learner_chunk *chunk,
                                       const struct learner_rows *rows, struct trainer_error *err)
{
    const struct trainer_model *model = &learner->model;
    const struct rl_routes routes = {.n_layers = (size_t)model->layers,
                                     .top_k = (size_t)model->experts_per_token,
                                     .n_experts = (size_t)model->experts,
                                     .experts = learner->replay};
    struct rl_error core;
    enum rl_status status =
        rl_routes_carry(&routes, rows->n * rows->width, chunk->predicts,
                        chunk->sequences.start[chunk->sequences.n], chunk->replay, &core);
    return status == RL_OK ? TRAINER_OK : trainer_core_failed(err, "route replay", status, &core);
}

/* Places that predict nothing, padding as well, have no route. */
static void give_routes(const struct learner *learner, const struct learner_chunk *chunk,
                        const struct learner_rows *rows, size_t first, size_t end)
{
    size_t places = trainer_model_routes(&learner->model), n = chunk->sequences.start[end - first];
    uint16_t *to = learner->record;
    for (size_t i = first * rows->width * places; i < end * rows->width * places; i++)
        to[i] = TRAINER_NO_EXPERT;
    for (size_t i = 0; i < n; i++)
        if (chunk->predicts[i] != SIZE_MAX)
            memcpy(to + chunk->predicts[i] * places, chunk->record + i * places,
                   places * sizeof *to);
}

static enum trainer_status prepare_routes(const struct learner *learner,
                                          struct learner_chunk *chunk,
                                          const struct learner_rows *rows, size_t first, size_t end,
                                          struct trainer_error *err)
{
    if (learner->model.experts == 0)
        return TRAINER_OK;
    find_predicted(chunk, rows, first, end);
    trainer_pass_routef(chunk->pass, learner->replay ? chunk->replay : NULL,
                        learner->record ? chunk->record : NULL);
    return learner->replay ? take_routes(learner, chunk, rows, err) : TRAINER_OK;
}

/* ---- a chunk ------------------------------------------------------------------------------ */

/*
 * Entropy only where it is asked for: it is one more pass over the logits, and scoring does not
 * read it.
 */
static enum trainer_status forward_chunk(const struct learner *learner, size_t index,
                                         const float *params, const struct learner_rows *rows,
                                         float *log_prob, float *entropy, struct trainer_error *err)
{
    struct learner_chunk *chunk = &learner->chunks[index];
    size_t first = index * CHUNK_ROWS,
           end = first + CHUNK_ROWS < rows->n ? first + CHUNK_ROWS : rows->n;
    pack(chunk, rows, first, end);
    enum trainer_status status = prepare_routes(learner, chunk, rows, first, end, err);
    if (status == TRAINER_OK)
        status = trainer_policy_forwardf(chunk->pass, params, &chunk->sequences, chunk->log_prob,
                                         entropy ? chunk->entropy : NULL, err);
    if (status == TRAINER_OK && learner->record)
        give_routes(learner, chunk, rows, first, end);
    for (size_t i = 0; i < chunk->n_wanted && status == TRAINER_OK; i++) {
        log_prob[chunk->place[i]] = chunk->log_prob[i];
        if (entropy)
            entropy[chunk->place[i]] = chunk->entropy[i];
    }
    return status;
}

/* ---- over several processes ---------------------------------------------------------------- */

static size_t lane_of(size_t chunk)
{
    return chunk % GRADIENT_LANES;
}

/* Whether this process computes a chunk: those of its lanes, whose gradients it will sum. */
static bool is_mine(const struct learner *learner, size_t chunk)
{
    size_t first, end;
    ranks_lanes(learner->ranks, GRADIENT_LANES, ranks_mine(learner->ranks), &first, &end);
    return lane_of(chunk) >= first && lane_of(chunk) < end;
}

enum direction { PASS_OVER, TO_SHARED, FROM_SHARED };

/* Wanted values of a chunk, one behind the other at *shared, which moves on. */
static void move_values(const struct learner_rows *rows, size_t chunk, enum direction direction,
                        float *values, float **shared)
{
    size_t first = chunk * CHUNK_ROWS,
           end = first + CHUNK_ROWS < rows->n ? first + CHUNK_ROWS : rows->n;
    for (size_t row = first; row < end; row++)
        for (size_t t = 0; t < (size_t)rows->length[row]; t++) {
            size_t place = row * rows->width + t;
            if (!rows->wanted[place])
                continue;
            if (direction == TO_SHARED)
                **shared = values[place];
            else if (direction == FROM_SHARED)
                values[place] = **shared;
            ++*shared;
        }
}

/*
 * All chunks, those of rank 0 first. Every process counts what every other will send: rows and masks
 * are the same everywhere. mine and others: what is done with whose values.
 */
static void move_chunks(const struct learner *learner, const struct learner_rows *rows,
                        enum direction mine, enum direction others, float *values, size_t *start)
{
    float *at = learner->shared;
    for (int rank = 0; rank < ranks_count(learner->ranks); rank++) {
        size_t lane, end;
        start[rank] = (size_t)(at - learner->shared) * sizeof *at;
        ranks_lanes(learner->ranks, GRADIENT_LANES, rank, &lane, &end);
        for (; lane < end; lane++)
            for (size_t c = lane; c < learner->used; c += GRADIENT_LANES)
                move_values(rows, c, rank == ranks_mine(learner->ranks) ? mine : others, values,
                            &at);
        start[rank + 1] = (size_t)(at - learner->shared) * sizeof *at;
    }
}

/* values, of which each process has those of its chunks, are whole on all of them afterwards. */
static enum trainer_status share_values(struct learner *learner, const struct learner_rows *rows,
                                        float *values, struct trainer_error *err)
{
    size_t start[TRAINER_RANKS_MAX + 1];
    size_t bytes = learner->n_chunks * chunk_tokens(&learner->model) * sizeof *learner->shared;
    if (ranks_count(learner->ranks) == 1 || !values)
        return TRAINER_OK;
    if (!learner->shared && !(learner->shared = malloc(bytes)))
        return trainer_no_memory(err, bytes);
    move_chunks(learner, rows, TO_SHARED, PASS_OVER, values, start);
    enum trainer_status status = ranks_gather(learner->ranks, learner->shared, start, err);
    if (status == TRAINER_OK)
        move_chunks(learner, rows, PASS_OVER, FROM_SHARED, values, start);
    return status;
}

/* Whole rows of the chunks of one rank, to or from *shared, which moves on. */
static void move_routes(const struct learner *learner, const struct learner_rows *rows, int rank,
                        bool to_shared, uint16_t **shared)
{
    size_t lane, end, row_size = rows->width * trainer_model_routes(&learner->model);
    ranks_lanes(learner->ranks, GRADIENT_LANES, rank, &lane, &end);
    for (; lane < end; lane++)
        for (size_t c = lane; c < learner->used; c += GRADIENT_LANES) {
            size_t first = c * CHUNK_ROWS, left = rows->n - first;
            size_t n = (left < CHUNK_ROWS ? left : CHUNK_ROWS) * row_size;
            uint16_t *own = learner->record + first * row_size;
            memcpy(to_shared ? *shared : own, to_shared ? own : *shared, n * sizeof *own);
            *shared += n;
        }
}

/* Routes that were recorded are whole on all ranks afterwards, as log-probs are. */
static enum trainer_status share_routes(struct learner *learner, const struct learner_rows *rows,
                                        struct trainer_error *err)
{
    size_t start[TRAINER_RANKS_MAX + 1] = {0};
    size_t bytes = learner->n_chunks * chunk_tokens(&learner->model) *
                   trainer_model_routes(&learner->model) * sizeof *learner->shared_routes;
    int size = ranks_count(learner->ranks);
    if (size == 1 || !learner->record)
        return TRAINER_OK;
    if (!learner->shared_routes && !(learner->shared_routes = malloc(bytes)))
        return trainer_no_memory(err, bytes);
    uint16_t *at = learner->shared_routes;
    for (int rank = 0; rank < size; rank++) {
        uint16_t *begin = at;
        move_routes(learner, rows, rank, true, &at); /* others' are overwritten by the gather */
        start[rank + 1] = start[rank] + (size_t)(at - begin) * sizeof *at;
    }
    enum trainer_status status = ranks_gather(learner->ranks, learner->shared_routes, start, err);
    at = learner->shared_routes;
    for (int rank = 0; rank < size && status == TRAINER_OK; rank++)
        move_routes(learner, rows, rank, false, &at);
    return status;
}

/* Where several chunks fail, which error is kept depends on timing; any of them ends the run. */
static void keep_error(enum trainer_status *failed, struct trainer_error *kept,
                       const struct trainer_error *err)
{
#ifdef _OPENMP
#pragma omp critical(trainer_learner)
#endif
    {
        *failed = err->status;
        *kept = *err;
    }
}

/*
 * A parallel loop cannot be left: chunks after a failure still run, and what they computed is not
 * read.
 */
enum trainer_status learner_forward(struct learner *learner, const float *params,
                                    const struct learner_rows *rows, float *log_prob,
                                    float *entropy, struct trainer_error *err)
{
    enum trainer_status failed = TRAINER_OK;
    struct trainer_error first_error = {TRAINER_OK, ""};
    learner->used = chunks_for(rows->n);
#ifdef _OPENMP
#pragma omp parallel for num_threads(learner->threads) schedule(dynamic, 1)
#endif
    for (size_t c = 0; c < learner->used; c++) {
        struct trainer_error local;
        enum trainer_status status = TRAINER_OK;
        if (is_mine(learner, c))
            status = forward_chunk(learner, c, params, rows, log_prob, entropy, &local);
        if (status != TRAINER_OK)
            keep_error(&failed, &first_error, &local);
    }
    if (failed != TRAINER_OK && err)
        *err = first_error;
    if (failed == TRAINER_OK)
        failed = share_values(learner, rows, log_prob, err);
    if (failed == TRAINER_OK)
        failed = share_routes(learner, rows, err);
    return failed == TRAINER_OK ? share_values(learner, rows, entropy, err) : failed;
}

enum trainer_status learner_values(struct learner *learner, const float *params,
                                   const struct learner_rows *rows, float *value,
                                   struct trainer_error *err)
{
#ifdef _OPENMP
#pragma omp parallel for num_threads(learner->threads) schedule(dynamic, 1)
#endif
    for (size_t c = 0; c < learner->used; c++) {
        struct learner_chunk *chunk = &learner->chunks[c];
        if (!is_mine(learner, c))
            continue;
        trainer_policy_valuesf(chunk->pass, params, chunk->value);
        for (size_t i = 0; i < chunk->n_wanted; i++)
            value[chunk->place[i]] = chunk->value[i];
    }
    return share_values(learner, rows, value, err);
}

/* Log-probs alone, of any number of rows: as many at a time as there are chunks for. */
enum trainer_status learner_score(struct learner *learner, const float *params,
                                  const struct learner_rows *rows, float *log_prob,
                                  struct trainer_error *err)
{
    enum trainer_status status = TRAINER_OK;
    size_t step = learner->n_chunks * CHUNK_ROWS, places = trainer_model_routes(&learner->model);
    const uint16_t *replay = learner->replay;
    uint16_t *record = learner->record;
    for (size_t first = 0; first < rows->n && status == TRAINER_OK; first += step) {
        size_t at = first * rows->width, left = rows->n - first;
        struct learner_rows part = {left < step ? left : step, rows->width, rows->tokens + at,
                                    rows->length + first, rows->wanted + at};
        learner->replay = replay ? replay + at * places : NULL;
        learner->record = record ? record + at * places : NULL;
        status = learner_forward(learner, params, &part, log_prob + at, NULL, err);
    }
    learner->replay = replay;
    learner->record = record;
    return status;
}

/* Lanes start from zero each time: a minibatch that failed halfway leaves nothing behind. */
static void backward_lane(struct learner *learner, size_t lane, const float *d_log_prob,
                          const float *d_value)
{
    float *gradient = learner->gradient + lane * learner->n_params;
    memset(gradient, 0, learner->n_params * sizeof *gradient);
    for (size_t c = lane; c < learner->used; c += GRADIENT_LANES) {
        struct learner_chunk *chunk = &learner->chunks[c];
        for (size_t i = 0; i < chunk->n_wanted; i++)
            chunk->d_log_prob[i] = d_log_prob[chunk->place[i]];
        trainer_pass_weigh_balancef(chunk->pass, learner->balance / (double)learner->used);
        for (size_t i = 0; d_value && i < chunk->n_wanted; i++)
            chunk->value[i] = d_value[chunk->place[i]];
        trainer_policy_backward_valuesf(chunk->pass, learner->params, chunk->d_log_prob,
                                        d_value ? chunk->value : NULL, gradient);
    }
}

/*
 * Muon is for matrices that multiply activations. Embeddings and a router's columns are tables and
 * norms are gains: their rows are not directions to orthogonalise, and they stay with AdamW, as its author has it. q, k
 * and v are three matrices that happen to be stored as one.
 */
static void move_matrix(struct learner *learner, size_t at, size_t rows, size_t columns,
                        size_t stride, double rate, double scale)
{
    struct muon_matrix matrix = {
        rows, columns, stride, learner->gradient + at, learner->adam.m + at, learner->params + at};
    muon_step(&matrix, rate, scale, learner->muon);
}

static void move_layer(struct learner *learner, struct net_layer at,
                       const struct learner_rates *rates, double scale)
{
    size_t d = (size_t)learner->model.width, m = (size_t)learner->model.mlp;
    for (size_t part = 0; part < 3; part++)
        move_matrix(learner, at.qkv + part * d, d, d, 3 * d, rates->matrix_rate, scale);
    move_matrix(learner, at.out, d, d, d, rates->matrix_rate, scale);
    for (size_t e = 0; e < net_mlps(&learner->model); e++) {
        move_matrix(learner, at.up + e * at.per_expert, d, m, m, rates->matrix_rate, scale);
        move_matrix(learner, at.down + e * at.per_expert, m, d, d, rates->matrix_rate, scale);
    }
    adamw_step(&learner->adam, at.router, d * (size_t)learner->model.experts, rates->rate, scale,
               learner->gradient, learner->params);
    adamw_step(&learner->adam, at.norm1, d, rates->rate, scale, learner->gradient, learner->params);
    adamw_step(&learner->adam, at.norm2, d, rates->rate, scale, learner->gradient, learner->params);
}

/* All from `first` on by AdamW, the value head at its own rate. */
static void move_end(struct learner *learner, size_t first, const struct learner_rates *rates,
                     double scale)
{
    size_t head = net_layout(&learner->model).value;
    adamw_step(&learner->adam, first, head - first, rates->rate, scale, learner->gradient,
               learner->params);
    if (head < learner->n_params)
        adamw_step(&learner->adam, head, learner->n_params - head,
                   rates->value_rate > 0 ? rates->value_rate : rates->rate, scale,
                   learner->gradient, learner->params);
}

static void move(struct learner *learner, const struct learner_rates *rates, double scale)
{
    const struct trainer_model *model = &learner->model;
    struct net_layout layout = net_layout(model);
    adamw_begin(&learner->adam);
    if (rates->matrix_rate <= 0) {
        move_end(learner, 0, rates, scale);
        return;
    }
    for (int32_t l = 0; l < model->layers; l++)
        move_layer(learner, net_layer(model, &layout, l), rates, scale);
    adamw_step(&learner->adam, 0, layout.layers, rates->rate, scale, learner->gradient,
               learner->params);
    move_end(learner, layout.norm, rates, scale);
}

/*
 * The sum of all lanes ends up in the first. Few lanes: each costs a gradient's memory and an
 * addition, and backward passes use no more cores, or processes, than there are lanes.
 *
 * The norm is checked before the step and the weights after it: a NaN that got into the weights
 * would show as garbage rollouts an iteration later, with nothing to say where it came from.
 */
enum trainer_status learner_update(struct learner *learner, const float *d_log_prob,
                                   const float *d_value,
                                   const struct learner_rates *rates, double *norm,
                                   struct trainer_error *err)
{
    size_t lane, end;
    ranks_lanes(learner->ranks, GRADIENT_LANES, ranks_mine(learner->ranks), &lane, &end);
#ifdef _OPENMP
#pragma omp parallel for num_threads(learner->threads) schedule(dynamic, 1)
#endif
    for (size_t l = lane; l < end; l++)
        backward_lane(learner, l, d_log_prob, d_value);
    enum trainer_status status =
        ranks_sum(learner->ranks, GRADIENT_LANES, learner->n_params, learner->gradient, err);
    if (status != TRAINER_OK)
        return status;
    *norm = adamw_norm(learner->n_params, learner->gradient);
    if (!isfinite(*norm))
        return trainer_fail(err, TRAINER_ENUMERIC, "the gradient is not finite");
    move(learner, rates,
         rates->clip_norm > 0 && *norm > rates->clip_norm ? rates->clip_norm / (*norm + 1e-6) : 1);
    if (!isfinite(adamw_norm(learner->n_params, learner->params)))
        return trainer_fail(err, TRAINER_ENUMERIC, "the weights are not finite");
    return TRAINER_OK;
}
