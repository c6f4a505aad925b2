/*
 * routing.c: comparison of routes, moving them along with tokens, and the choice of a replay.
 *
 * A place is one token in one layer. Its experts are a set: their order comes from the router's
 * scores and does not matter to the result of the layer.
 */
#include <rlcore/routing.h>

#include "support/grid.h"
#include "support/loops.h"
#include "support/scratch.h"
#include "routing/routing_internal.h"

static enum rl_status check_shape(const char *name, const struct rl_routes *routes, size_t cells, struct rl_error *err)
{
    size_t size = 0;
    if (routes->n_layers == 0 || routes->top_k == 0 || routes->top_k > routes->n_experts || routes->n_experts > RL_NO_EXPERT)
        return rl_fail(err, RL_EINVAL, "%s: %zu layers with %zu of %zu experts are invalid routes", name, routes->n_layers,
                       routes->top_k, routes->n_experts);
    if (__builtin_mul_overflow(routes->n_layers, routes->top_k, &size) || __builtin_mul_overflow(size, cells, &size))
        return rl_fail(err, RL_EINVAL, "%s are too many", name);
    if (cells && !routes->experts)
        return rl_fail(err, RL_EINVAL, "%s are missing", name);
    return RL_OK;
}

/*
 * The first expert of a place that is out of range or listed twice; K if there is none. An expert
 * listed twice would count twice in every comparison. The cost is quadratic in top-k, which is at
 * most 8 in current models.
 */
static size_t bad_expert(const uint16_t *place, size_t k, size_t n_experts)
{
    for (size_t i = 0; i < k; i++) {
        if (place[i] >= n_experts)
            return i;
        for (size_t j = 0; j < i; j++)
            if (place[j] == place[i])
                return i;
    }
    return k;
}

/* Check token t of a row, whose index is i. */
static enum rl_status check_token(const char *name, const struct rl_routes *routes, size_t row, size_t t, size_t i,
                                  struct rl_error *err)
{
    size_t k = routes->top_k, layers = routes->n_layers;
    for (size_t layer = 0; layer < layers; layer++) {
        const uint16_t *place = routes->experts + (i * layers + layer) * k;
        size_t bad = bad_expert(place, k, routes->n_experts);
        if (bad < k)
            return rl_fail(err, RL_EVALUE, "%s[%zu][%zu][%zu][%zu] is %u, %s", name, row, t, layer, bad, place[bad],
                           place[bad] >= routes->n_experts ? "not an expert" : "an expert listed twice");
    }
    return RL_OK;
}

static enum rl_status check_routes(const char *name, const struct rl_routes *routes, const struct rl_grid *batch,
                                   struct rl_error *err)
{
    RL_TRY(check_shape(name, routes, rl_grid_end(batch), err));
    for (size_t row = 0; row < batch->n_rows; row++)
        for (size_t i = rl_row_at(batch, row), t = 0; t < rl_row_length(batch, row); t++)
            if (rl_on(batch, i + t))
                RL_TRY(check_token(name, routes, row, t, i + t, err));
    return RL_OK;
}

enum rl_status rl_routes_check(const char *name, const struct rl_routes *routes, const struct rl_batch *batch,
                               struct rl_error *err)
{
    struct rl_grid grid;
    RL_TRY(RL_NEED(err, {"name", name}, {"routes", routes}, {"batch", batch}));
    RL_TRY(rl_grid_open(&grid, batch, RL_NEEDS_MASK, true, err));
    return check_routes(name, routes, &grid, err);
}

/*
 * The number of experts that two places have in common. Nearly all places agree, even in their
 * order, which the comparison of bytes detects.
 */
static size_t count_common(const uint16_t *a, const uint16_t *b, size_t k)
{
    size_t common = 0;
    if (memcmp(a, b, k * sizeof *a) == 0)
        return k;
    for (size_t i = 0; i < k; i++)
        for (size_t j = 0; j < k; j++)
            common += a[i] == b[j];
    return common;
}

static enum rl_status check_pair(const struct rl_grid *batch, const struct rl_routes *a, const struct rl_routes *b,
                                 struct rl_error *err)
{
    RL_TRY(check_routes("routes a", a, batch, err));
    RL_TRY(check_routes("routes b", b, batch, err));
    if (a->n_layers != b->n_layers || a->top_k != b->top_k)
        return rl_fail(err, RL_EINVAL, "routes of %zu layers x %zu experts and of %zu x %zu", a->n_layers, a->top_k, b->n_layers,
                       b->top_k);
    return RL_OK;
}

/*
 * Experts in common per row and layer, and places that agree completely. The counts are whole
 * numbers with one set per row, so the order of adding, and with it the number of threads, does not
 * matter.
 */
struct counts {
    uint64_t *common; /* [B][L] */
    uint64_t *exact;  /* [B] */
    uint64_t *tokens; /* [B] */
};

static struct counts take_counts(struct rl_scratch *s, size_t n_rows, size_t n_places)
{
    struct counts c;
    c.common = rl_scratch_take(s, n_places, sizeof *c.common);
    c.exact = rl_scratch_take(s, n_rows, sizeof *c.exact);
    c.tokens = rl_scratch_take(s, n_rows, sizeof *c.tokens);
    return c;
}

size_t rl_routes_bytes(size_t n_rows, size_t n_layers)
{
    struct rl_scratch s = rl_scratch_begin(NULL);
    take_counts(&s, n_rows, n_rows * n_layers);
    return s.used;
}

static void compare_row(const struct rl_grid *batch, const struct rl_routes *a, const struct rl_routes *b, size_t row,
                        const struct counts *counts, double *per_token)
{
    size_t layers = a->n_layers, k = a->top_k;
    for (size_t layer = 0; layer < layers; layer++)
        counts->common[row * layers + layer] = 0;
    counts->exact[row] = counts->tokens[row] = 0;
    for (size_t i = rl_row_at(batch, row), end = rl_row_end(batch, row); i < end; i++) {
        uint64_t of_token = 0;
        for (size_t layer = 0; rl_on(batch, i) && layer < layers; layer++) {
            size_t place = (i * layers + layer) * k;
            size_t common = count_common(a->experts + place, b->experts + place, k);
            counts->common[row * layers + layer] += common;
            counts->exact[row] += common == k;
            of_token += common;
        }
        counts->tokens[row] += rl_on(batch, i);
        if (per_token)
            per_token[i] = (double)of_token / (double)(layers * k);
    }
}

static void add_up(const struct rl_grid *batch, const struct rl_routes *a, const struct counts *counts, double *per_layer,
                   struct rl_route_agreement *out)
{
    uint64_t tokens = 0, exact = 0, all = 0;
    for (size_t row = 0; row < batch->n_rows; row++) {
        tokens += counts->tokens[row];
        exact += counts->exact[row];
    }
    for (size_t layer = 0; layer < a->n_layers; layer++) {
        uint64_t common = 0;
        for (size_t row = 0; row < batch->n_rows; row++)
            common += counts->common[row * a->n_layers + layer];
        all += common;
        if (per_layer)
            per_layer[layer] = tokens ? (double)common / (double)(tokens * a->top_k) : 1;
    }
    out->n_places = tokens * a->n_layers;
    out->share = tokens ? (double)all / (double)(out->n_places * a->top_k) : 1;
    out->exact = tokens ? (double)exact / (double)out->n_places : 1;
}

enum rl_status rl_routes_compare(const struct rl_batch *batch, const struct rl_routes *a, const struct rl_routes *b,
                                 double *per_layer, double *per_token, struct rl_route_agreement *out, struct rl_workspace *ws,
                                 struct rl_error *err)
{
    RL_TRY(RL_NEED(err, {"batch", batch}, {"routes a", a}, {"routes b", b}, {"out", out}));
    size_t places = 0;
    struct rl_grid grid;
    enum rl_status status = rl_grid_open(&grid, batch, RL_NEEDS_MASK, true, err);
    if (status == RL_OK)
        status = check_pair(&grid, a, b, err);
    if (status != RL_OK)
        return status;
    if (__builtin_mul_overflow(grid.n_rows, a->n_layers, &places))
        return rl_fail(err, RL_EINVAL, "the routes are too many");
    struct rl_scratch s = rl_scratch_begin(ws);
    struct counts counts = take_counts(&s, grid.n_rows, places);
    if (!rl_scratch_fits(&s))
        return rl_scratch_short(&s, err);
#pragma omp parallel for schedule(static) if (places * grid.n_tokens >= RL_PARALLEL_TOKENS)
    for (size_t row = 0; row < grid.n_rows; row++)
        compare_row(&grid, a, b, row, &counts, per_token);
    add_up(&grid, a, &counts, per_layer, out);
    return RL_OK;
}

static enum rl_status check_replayed(const struct rl_routes *used, const struct rl_routes *recorded, size_t row, size_t t,
                                     size_t i, struct rl_error *err)
{
    size_t layers = used->n_layers, k = used->top_k;
    for (size_t layer = 0; layer < layers; layer++) {
        size_t place = (i * layers + layer) * k;
        if (count_common(used->experts + place, recorded->experts + place, k) < k)
            return rl_fail(err, RL_EVALUE,
                           "routes used[%zu][%zu][%zu] are not those recorded: the pass did not "
                           "replay them",
                           row, t, layer);
    }
    return RL_OK;
}

/*
 * A missing replay looks like a working run with a slightly worse ratio, so every place is checked
 * instead of a sample of them.
 */
enum rl_status rl_routes_replayed(const struct rl_batch *batch, const struct rl_routes *used, const struct rl_routes *recorded,
                                  struct rl_error *err)
{
    RL_TRY(RL_NEED(err, {"batch", batch}, {"routes used", used}, {"routes recorded", recorded}));
    struct rl_grid grid;
    RL_TRY(rl_grid_open(&grid, batch, RL_NEEDS_MASK, true, err));
    RL_TRY(check_pair(&grid, used, recorded, err));
    for (size_t row = 0; row < grid.n_rows; row++)
        for (size_t i = rl_row_at(&grid, row), t = 0; t < rl_row_length(&grid, row); t++)
            if (rl_on(&grid, i + t))
                RL_TRY(check_replayed(used, recorded, row, t, i + t, err));
    return RL_OK;
}

enum rl_status rl_routes_carry(const struct rl_routes *routes, size_t n_tokens, const size_t *source, size_t n_out, uint16_t *out,
                               struct rl_error *err)
{
    RL_TRY(RL_NEED(err, {"routes", routes}));
    RL_TRY(check_shape("routes", routes, n_tokens, err));
    if (n_out)
        RL_TRY(RL_NEED(err, {"source", source}, {"out", out}));
    size_t size = routes->n_layers * routes->top_k;
    for (size_t i = 0; i < n_out; i++) {
        if (source[i] == SIZE_MAX)
            /*
             * New tokens, such as padding, get RL_NO_EXPERT (0xffff), so that they do not look like
             * expert 0.
             */
            memset(out + i * size, 0xff, size * sizeof *out);
        else if (source[i] < n_tokens)
            memcpy(out + i * size, routes->experts + source[i] * size, size * sizeof *out);
        else
            return rl_fail(err, RL_EINVAL, "source[%zu] is %zu of %zu tokens", i, source[i], n_tokens);
    }
    return RL_OK;
}

/*
 * The off-policiness is the number of updates per batch. One update needs no replay. For two or
 * three updates, the training engine's routes (R2) make the ratio depend on the weights only. For
 * more updates, only the routes of the inference engine (R3) do.
 */
enum rl_status rl_replay_choose(double global_batch, double mini_batch, enum rl_replay *replay, double *off_policiness,
                                struct rl_error *err)
{
    RL_TRY(RL_NEED(err, {"replay", replay}));
    if (!(mini_batch > 0 && mini_batch <= global_batch) || !isfinite(global_batch) || floor(mini_batch) != mini_batch ||
        floor(global_batch) != global_batch)
        return rl_fail(err, RL_EINVAL, "mini batch %g and global batch %g are invalid: use whole numbers, 0 < mini <= global",
                       mini_batch, global_batch);
    double n = global_batch / mini_batch;
    *replay = n <= 1 ? RL_REPLAY_NONE : n <= 3 ? RL_REPLAY_R2 : RL_REPLAY_R3;
    if (off_policiness)
        *off_policiness = n;
    return RL_OK;
}

const char *rl_replay_name(enum rl_replay replay)
{
    static const char *const names[] = {"none", "R2", "R3"};
    return (unsigned)replay <= RL_REPLAY_R3 ? names[replay] : "unknown";
}
