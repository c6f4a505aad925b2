/*
 * Chunk c belongs to lane c mod GRADIENT_LANES, whichever thread computes it. Each lane sums into its
 * own gradient, and the lanes are added in order. Sums of floats depend on their order; this order depends on the batch
 * alone, so that a trial gives the same bits on any number of threads.
 */
#include "learn/learner.h"

#include <rlcore/routing.h>

#include "support/carve.h"
#include "support/error.h"
#include "policy/layout.h"
#include "support/threads.h"

/* A packed micro-batch. Its arrays are parts of the arrays of learner.whole. */
struct learner_chunk {
    struct trainer_passf *pass; /* the pass that keeps this chunk's activations, or NULL */
    struct trainer_sequences sequences;
    size_t n_rows;
    const size_t *row; /* [n_rows] numbers of the chunk's rows in the batch */
    size_t *start;     /* [n_rows + 1] */
    int32_t *tokens;
    uint8_t *wanted;
    size_t n_wanted;
    size_t *place; /* [n_wanted] place of each wanted token in the [n*width] arrays */
    float *log_prob, *entropy, *d_log_prob;
    uint16_t *replay, *record; /* with experts: [n][layers][experts_per_token] */
    size_t *predicts;          /* [n] place of the next token, SIZE_MAX at a row's end */
    bool replays;
    float *value; /* with a value head: first values, then their gradient */
};

_Static_assert(TRAINER_NO_EXPERT == RL_NO_EXPERT, "routes are the core's");

/* Number of tokens of all chunks together. */
static size_t all_tokens(const struct learner *learner)
{
    return learner->micro.max_rows * (size_t)learner->model.max_tokens;
}

/* Called twice: with a NULL block it only computes the size. */
static void carve_chunks(struct learner *learner, struct carve *block)
{
    size_t n = all_tokens(learner), places = trainer_model_routes(&learner->model);
    size_t starts = learner->micro.max_rows + learner->micro.most;
    learner->chunks = carve(block, learner->micro.most, sizeof *learner->chunks);
    learner->whole = carve(block, 1, sizeof *learner->whole);
    struct learner_chunk whole = {.start = carve(block, starts, sizeof(size_t)),
                                  .tokens = carve(block, n, sizeof(int32_t)),
                                  .wanted = carve(block, n, 1),
                                  .place = carve(block, n, sizeof(size_t)),
                                  .log_prob = carve(block, n, sizeof(float)),
                                  .entropy = carve(block, n, sizeof(float)),
                                  .d_log_prob = carve(block, n, sizeof(float))};
    if (places > 0) {
        whole.replay = carve(block, n * places, sizeof(uint16_t));
        whole.record = carve(block, n * places, sizeof(uint16_t));
        whole.predicts = carve(block, n, sizeof(size_t));
    }
    if (learner->model.value_head)
        whole.value = carve(block, n, sizeof(float));
    if (block->base)
        *learner->whole = whole;
}

static void carve_learner(struct learner *learner, struct carve *block)
{
    size_t d = (size_t)learner->model.width, m = (size_t)learner->model.mlp;
    size_t most = m > d ? m : d;
    learner->params = carve(block, learner->n_params, sizeof(float));
    learner->gradient = carve(block, GRADIENT_LANES * learner->n_params, sizeof(float));
    learner->adam.m = carve(block, learner->n_params, sizeof(float));
    learner->adam.v = carve(block, learner->n_params, sizeof(float));
    learner->muon = carve(block, muon_scratch(d, most), sizeof(float));
    learner->pass = carve(block, learner->n_passes, sizeof(struct trainer_passf *));
    micro_batches_carve(&learner->micro, block);
    carve_chunks(learner, block);
}

static size_t pass_bytes(const struct learner *learner)
{
    return trainer_pass_bytesf(&learner->model, learner->micro.tokens, learner->micro.tokens);
}

static struct learner sized(const struct trainer_model *model, size_t max_rows, const struct trainer_micro_batch *micro)
{
    struct learner learner = {
        .model = *model, .n_params = trainer_model_parameters(model), .micro = micro_batches_sized(model, max_rows, micro)};
    double room = micro ? micro->activation_bytes : 0, fit = room / (double)pass_bytes(&learner);
    learner.n_passes = room > 0 && fit < (double)learner.micro.most ? (size_t)fmax(1, fit) : learner.micro.most;
    return learner;
}

double learner_bytes(const struct trainer_model *model, size_t max_rows, const struct trainer_micro_batch *micro)
{
    struct learner learner = sized(model, max_rows, micro);
    struct carve block = {NULL, 0};
    carve_learner(&learner, &block);
    return (double)block.used + micro_batches_workspace(&learner.micro) + (double)learner.n_passes * (double)pass_bytes(&learner);
}

/*
 * If every chunk has its own pass, the backward pass of a minibatch reads the activations that the forward pass left
 * there. The caller also closes the learner after a failure, so n_passes must be right at any time.
 */
enum trainer_status learner_open(struct learner *learner, const struct trainer_model *model, size_t max_rows,
                                 const struct trainer_micro_batch *micro, int threads, struct trainer_error *err)
{
    struct carve block = {NULL, 0};
    *learner = sized(model, max_rows, micro);
    carve_learner(learner, &block);
    size_t bytes = block.used, tokens = learner->micro.tokens;
    block = (struct carve){carve_block(bytes), 0};
    if (!block.base) {
        learner->n_passes = 0;
        return trainer_no_memory(err, bytes);
    }
    learner->threads = threads;
    carve_learner(learner, &block);
    for (size_t i = 0; i < learner->n_passes; i++)
        TRY(trainer_pass_createf(&learner->pass[i], model, tokens, tokens, err));
    return TRAINER_OK;
}

void learner_close(struct learner *learner)
{
    for (size_t i = 0; i < learner->n_passes; i++)
        trainer_pass_freef(learner->pass[i]);
    micro_batches_close(&learner->micro);
    free(learner->params);
}

/*
 * 1e-8 is Adam's own epsilon (arXiv 1412.6980). With this epsilon, the first steps after a restart have about the size
 * of the learning rate, whatever the gradient's scale. Such steps are the reason for the warm-up.
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

/* Wanted tokens are numbered in order and their places are stored, because a pass returns log-probs packed. */
static void pack(struct learner_chunk *chunk, const struct learner_rows *rows)
{
    size_t n = 0;
    chunk->n_wanted = 0;
    for (size_t i = 0; i < chunk->n_rows; i++) {
        chunk->start[i] = n;
        for (size_t t = 0; t < (size_t)rows->length[chunk->row[i]]; t++, n++) {
            size_t place = chunk->row[i] * rows->width + t;
            chunk->tokens[n] = rows->tokens[place];
            chunk->wanted[n] = rows->wanted[place];
            if (rows->wanted[place])
                chunk->place[chunk->n_wanted++] = place;
        }
    }
    chunk->start[chunk->n_rows] = n;
    chunk->sequences = (struct trainer_sequences){chunk->n_rows, chunk->start, chunk->tokens, chunk->wanted};
}

/* ---- routes ------------------------------------------------------------------------------- */

static void find_predicted(struct learner_chunk *chunk, const struct learner_rows *rows)
{
    size_t n = 0;
    for (size_t i = 0; i < chunk->n_rows; i++) {
        size_t row = chunk->row[i];
        for (size_t t = 1; t <= (size_t)rows->length[row]; t++)
            chunk->predicts[n++] = t < (size_t)rows->length[row] ? row * rows->width + t : SIZE_MAX;
    }
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
    enum rl_status status = rl_routes_carry(&routes, rows->n * rows->width, chunk->predicts,
                                            chunk->sequences.start[chunk->sequences.n], chunk->replay, &core);
    return status == RL_OK ? TRAINER_OK : trainer_core_failed(err, "route replay", status, &core);
}

/* Tokens that predict nothing, such as padding, have no route. */
static void give_routes(const struct learner *learner, const struct learner_chunk *chunk, const struct learner_rows *rows)
{
    size_t places = trainer_model_routes(&learner->model), row_size = rows->width * places;
    uint16_t *to = learner->record;
    for (size_t r = 0; r < chunk->n_rows; r++)
        for (size_t i = 0; i < row_size; i++)
            to[chunk->row[r] * row_size + i] = TRAINER_NO_EXPERT;
    for (size_t i = 0; i < chunk->start[chunk->n_rows]; i++)
        if (chunk->predicts[i] != SIZE_MAX)
            memcpy(to + chunk->predicts[i] * places, chunk->record + i * places, places * sizeof *to);
}

static enum trainer_status prepare_routes(const struct learner *learner, struct learner_chunk *chunk, struct trainer_passf *pass,
                                          const struct learner_rows *rows, struct trainer_error *err)
{
    if (learner->model.experts == 0)
        return TRAINER_OK;
    find_predicted(chunk, rows);
    chunk->replays = learner->replay != NULL;
    trainer_pass_routef(pass, chunk->replays ? chunk->replay : NULL, learner->record ? chunk->record : NULL);
    return chunk->replays ? take_routes(learner, chunk, rows, err) : TRAINER_OK;
}

/* ---- a chunk ------------------------------------------------------------------------------ */

/* Returns the chunk's own pass, or the calling worker's pass if the chunk has none. */
static struct trainer_passf *pass_of(const struct learner *learner, const struct learner_chunk *chunk)
{
    return chunk->pass ? chunk->pass : learner->pass[learner->n_kept + (size_t)threads_mine()];
}

static void give_values(struct learner_chunk *chunk, float *log_prob, float *entropy)
{
    for (size_t i = 0; i < chunk->n_wanted; i++) {
        log_prob[chunk->place[i]] = chunk->log_prob[i];
        if (entropy)
            entropy[chunk->place[i]] = chunk->entropy[i];
    }
}

/*
 * Entropies are computed only on request, because they take another pass over the logits and scoring does not read
 * them. Values are read immediately, because the next chunk may use the same pass.
 */
static enum trainer_status forward_chunk(const struct learner *learner, struct learner_chunk *chunk, const float *params,
                                         const struct learner_rows *rows, float *log_prob, float *entropy,
                                         struct trainer_error *err)
{
    struct trainer_passf *pass = pass_of(learner, chunk);
    pack(chunk, rows);
    TRY(prepare_routes(learner, chunk, pass, rows, err));
    TRY(trainer_policy_forwardf(pass, params, &chunk->sequences, chunk->log_prob, entropy ? chunk->entropy : NULL, err));
    if (learner->record)
        give_routes(learner, chunk, rows);
    if (chunk->value)
        trainer_policy_valuesf(pass, params, chunk->value);
    give_values(chunk, log_prob, entropy);
    return TRAINER_OK;
}

/*
 * Cuts the batch into chunks and gives each chunk its part of the arrays. The first chunks keep their activations.
 */
static void cut_chunks(struct learner *learner, const struct learner_rows *rows)
{
    const struct micro_batches *micro = &learner->micro;
    const struct learner_chunk *whole = learner->whole;
    size_t places = trainer_model_routes(&learner->model), kept = 0, at = 0, started = 0;
    for (size_t c = 0; c < micro->n; c++) {
        struct learner_chunk *chunk = &learner->chunks[c];
        *chunk = (struct learner_chunk){.n_rows = micro->count[c],
                                        .row = micro->row + micro->first[c],
                                        .start = whole->start + started,
                                        .tokens = whole->tokens + at,
                                        .wanted = whole->wanted + at,
                                        .place = whole->place + at,
                                        .log_prob = whole->log_prob + at,
                                        .entropy = whole->entropy + at,
                                        .d_log_prob = whole->d_log_prob + at,
                                        .value = whole->value ? whole->value + at : NULL};
        if (places > 0) {
            chunk->replay = whole->replay + at * places;
            chunk->record = whole->record + at * places;
            chunk->predicts = whole->predicts + at;
        }
        if (chunk->n_rows > 0 && kept < learner->n_kept)
            chunk->pass = learner->pass[kept++];
        started += chunk->n_rows + 1;
        for (size_t i = 0; i < chunk->n_rows; i++)
            at += (size_t)rows->length[chunk->row[i]];
    }
}

/*
 * If not all activations can be kept, every thread needs its own pass, so the number of passes limits the number of
 * threads.
 */
static void share_passes(struct learner *learner)
{
    size_t mine = 0, threads = (size_t)learner->threads;
    for (size_t c = 0; c < learner->micro.n; c++)
        mine += learner->micro.count[c] > 0;
    if (mine > learner->n_passes && threads > learner->n_passes)
        threads = learner->n_passes;
    learner->workers = (int)threads;
    learner->n_kept = mine <= learner->n_passes ? mine : learner->n_passes - threads;
}

/* If several chunks fail, timing decides which error is kept; any error ends the run. */
static void keep_error(enum trainer_status *failed, struct trainer_error *kept, const struct trainer_error *err)
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
 * An OpenMP loop cannot be left early, so after a failure the other chunks still run, but their results are not read.
 */
enum trainer_status learner_forward(struct learner *learner, const float *params, const struct learner_rows *rows,
                                    float *log_prob, float *entropy, struct trainer_error *err)
{
    struct trainer_error first_error = {TRAINER_OK, ""};
    enum trainer_status failed = micro_batches_plan(&learner->micro, rows->n, rows->length, err);
    if (failed != TRAINER_OK)
        return failed;
    share_passes(learner);
    cut_chunks(learner, rows);
#ifdef _OPENMP
#pragma omp parallel for num_threads(learner->workers) schedule(dynamic, 1)
#endif
    for (size_t c = 0; c < learner->micro.n; c++) {
        struct learner_chunk *chunk = &learner->chunks[c];
        struct trainer_error local;
        enum trainer_status status = TRAINER_OK;
        if (chunk->n_rows > 0)
            status = forward_chunk(learner, chunk, params, rows, log_prob, entropy, &local);
        if (status != TRAINER_OK)
            keep_error(&failed, &first_error, &local);
    }
    if (failed != TRAINER_OK && err)
        *err = first_error;
    return failed;
}

void learner_values(const struct learner *learner, float *value)
{
    for (size_t c = 0; c < learner->micro.n; c++) {
        const struct learner_chunk *chunk = &learner->chunks[c];
        for (size_t i = 0; i < chunk->n_wanted; i++)
            value[chunk->place[i]] = chunk->value[i];
    }
}

/* Scores as many rows at a time as there is memory for. */
enum trainer_status learner_score(struct learner *learner, const float *params, const struct learner_rows *rows, float *log_prob,
                                  struct trainer_error *err)
{
    enum trainer_status status = TRAINER_OK;
    size_t step = learner->micro.max_rows, places = trainer_model_routes(&learner->model);
    const uint16_t *replay = learner->replay;
    uint16_t *record = learner->record;
    for (size_t first = 0; first < rows->n && status == TRAINER_OK; first += step) {
        size_t at = first * rows->width, left = rows->n - first;
        struct learner_rows part = {left < step ? left : step, rows->width, rows->tokens + at, rows->length + first,
                                    rows->wanted + at};
        learner->replay = replay ? replay + at * places : NULL;
        learner->record = record ? record + at * places : NULL;
        status = learner_forward(learner, params, &part, log_prob + at, NULL, err);
    }
    learner->replay = replay;
    learner->record = record;
    return status;
}

/* Repeats, with the same input, the forward pass of a chunk whose activations were not kept. */
static enum trainer_status recompute(const struct learner *learner, struct learner_chunk *chunk, struct trainer_passf *pass,
                                     struct trainer_error *err)
{
    trainer_pass_routef(pass, chunk->replays ? chunk->replay : NULL, NULL);
    return trainer_policy_forwardf(pass, learner->params, &chunk->sequences, chunk->log_prob, NULL, err);
}

static enum trainer_status backward_chunk(const struct learner *learner, struct learner_chunk *chunk, const float *d_log_prob,
                                          const float *d_value, float *gradient, struct trainer_error *err)
{
    struct trainer_passf *pass = pass_of(learner, chunk);
    if (!chunk->pass)
        TRY(recompute(learner, chunk, pass, err));
    for (size_t i = 0; i < chunk->n_wanted; i++)
        chunk->d_log_prob[i] = d_log_prob[chunk->place[i]];
    trainer_pass_weigh_balancef(pass, learner->balance / (double)learner->micro.n_full);
    for (size_t i = 0; d_value && i < chunk->n_wanted; i++)
        chunk->value[i] = d_value[chunk->place[i]];
    trainer_policy_backward_valuesf(pass, learner->params, chunk->d_log_prob, d_value ? chunk->value : NULL, gradient);
    return TRAINER_OK;
}

/* A lane's gradient is zeroed first, so that nothing remains of a minibatch that failed halfway. */
static enum trainer_status backward_lane(struct learner *learner, size_t lane, const float *d_log_prob, const float *d_value,
                                         struct trainer_error *err)
{
    float *gradient = learner->gradient + lane * learner->n_params;
    memset(gradient, 0, learner->n_params * sizeof *gradient);
    for (size_t c = lane; c < learner->micro.n; c += GRADIENT_LANES)
        if (learner->chunks[c].n_rows > 0)
            TRY(backward_chunk(learner, &learner->chunks[c], d_log_prob, d_value, gradient, err));
    return TRAINER_OK;
}

static enum trainer_status backward_lanes(struct learner *learner, const float *d_log_prob, const float *d_value,
                                          struct trainer_error *err)
{
    enum trainer_status failed = TRAINER_OK;
    struct trainer_error first_error = {TRAINER_OK, ""};
#ifdef _OPENMP
#pragma omp parallel for num_threads(learner->workers) schedule(dynamic, 1)
#endif
    for (size_t l = 0; l < GRADIENT_LANES; l++) {
        struct trainer_error local;
        if (backward_lane(learner, l, d_log_prob, d_value, &local) != TRAINER_OK)
            keep_error(&failed, &first_error, &local);
    }
    if (failed != TRAINER_OK && err)
        *err = first_error;
    return failed;
}

/*
 * Muon updates the matrices that multiply activations. AdamW updates embeddings, a router's columns and norms, as
 * Muon's author recommends, because these are tables and gains, whose rows are not directions to orthogonalise. q, k
 * and v are three matrices that happen to be stored as one.
 */
static void move_matrix(struct learner *learner, size_t at, size_t rows, size_t columns, size_t stride, double rate, double scale)
{
    struct muon_matrix matrix = {rows, columns, stride, learner->gradient + at, learner->adam.m + at, learner->params + at};
    muon_step(&matrix, rate, scale, learner->muon);
}

static void move_layer(struct learner *learner, struct net_layer at, const struct learner_rates *rates, double scale)
{
    size_t d = (size_t)learner->model.width, m = (size_t)learner->model.mlp;
    for (size_t part = 0; part < 3; part++)
        move_matrix(learner, at.qkv + part * d, d, d, 3 * d, rates->matrix_rate, scale);
    move_matrix(learner, at.out, d, d, d, rates->matrix_rate, scale);
    for (size_t e = 0; e < net_mlps(&learner->model); e++) {
        move_matrix(learner, at.up + e * at.per_expert, d, m, m, rates->matrix_rate, scale);
        move_matrix(learner, at.down + e * at.per_expert, m, d, d, rates->matrix_rate, scale);
    }
    adamw_step(&learner->adam, at.router, d * (size_t)learner->model.experts, rates->rate, scale, learner->gradient,
               learner->params);
    adamw_step(&learner->adam, at.norm1, d, rates->rate, scale, learner->gradient, learner->params);
    adamw_step(&learner->adam, at.norm2, d, rates->rate, scale, learner->gradient, learner->params);
}

/* Updates all parameters from `first` on with AdamW; the value head has its own rate. */
static void move_end(struct learner *learner, size_t first, const struct learner_rates *rates, double scale)
{
    size_t head = net_layout(&learner->model).value;
    adamw_step(&learner->adam, first, head - first, rates->rate, scale, learner->gradient, learner->params);
    if (head < learner->n_params)
        adamw_step(&learner->adam, head, learner->n_params - head, rates->value_rate > 0 ? rates->value_rate : rates->rate, scale,
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
    adamw_step(&learner->adam, 0, layout.layers, rates->rate, scale, learner->gradient, learner->params);
    move_end(learner, layout.norm, rates, scale);
}

static void add(size_t n, const float *restrict x, float *restrict sum)
{
    for (size_t i = 0; i < n; i++)
        sum[i] += x[i];
}

/*
 * The sum of all lanes ends up in the first lane. There are few lanes because each costs the memory of a gradient and
 * an addition. The price is that backward passes cannot use more cores than there are lanes.
 *
 * The norm is checked before the step and the weights after it. Otherwise a NaN in the weights would appear as garbage
 * rollouts an iteration later, without a hint at its cause.
 */
enum trainer_status learner_update(struct learner *learner, const float *d_log_prob, const float *d_value,
                                   const struct learner_rates *rates, double *norm, struct trainer_error *err)
{
    TRY(backward_lanes(learner, d_log_prob, d_value, err));
    for (size_t lane = 1; lane < GRADIENT_LANES; lane++)
        add(learner->n_params, learner->gradient + lane * learner->n_params, learner->gradient);
    *norm = adamw_norm(learner->n_params, learner->gradient);
    if (!isfinite(*norm))
        return trainer_fail(err, TRAINER_ENUMERIC, "the gradient is not finite");
    move(learner, rates, rates->clip_norm > 0 && *norm > rates->clip_norm ? rates->clip_norm / (*norm + 1e-6) : 1);
    if (!isfinite(adamw_norm(learner->n_params, learner->params)))
        return trainer_fail(err, TRAINER_ENUMERIC, "the weights are not finite");
    return TRAINER_OK;
}
