#include "run/value_arrays.h"

#include "recipe/recipe_needs.h"
#include "support/carve.h"
#include "support/error.h"

static size_t cells(const struct trainer_recipe *recipe)
{
    return recipe_rows(recipe) * (size_t)recipe->model.max_tokens;
}

double trace_arrays_bytes(const struct trainer_recipe *recipe)
{
    struct recipe_traced traced[RECIPE_TRACED_MAX];
    double n = (double)cells(recipe), pools = 0;
    if (recipe_traced(recipe, traced) == 0)
        return 0;
    for (int32_t task = 0; task < recipe->n_tasks; task++)
        pools += (double)recipe->tasks[task].pool * 2 * sizeof(double);
    return (double)sizeof(struct gradient_trace) + pools + n * sizeof(double) +
           trace_epochs(recipe) * (n * 4 * sizeof(float) + (double)recipe_rows(recipe) * sizeof(size_t)) +
           (double)rollouts_bytes(recipe_rows(recipe), (size_t)recipe->model.max_tokens);
}

enum trainer_status trace_arrays_open(struct gradient_trace **made, const struct trainer_recipe *recipe,
                                      struct trainer_error *err)
{
    size_t n = cells(recipe), epochs = (size_t)trace_epochs(recipe), values = recipe->model.value_head ? n : 0;
    *made = NULL;
    if (trace_arrays_bytes(recipe) <= 0)
        return TRAINER_OK;
    struct gradient_trace *trace = *made = calloc(1, sizeof *trace);
    if (!trace)
        return trainer_no_memory(err, sizeof *trace);
    trace->n = recipe_traced(recipe, trace->left);
    trace->original = *recipe;
    trace->original.judge.endpoint[0] = 0; /* a judge costs money; its rules give flags for the same steps */
    trace->rollouts = rollouts_new(recipe_rows(recipe), (size_t)recipe->model.max_tokens);
    trace->gradient = malloc(epochs * n * sizeof *trace->gradient);
    trace->log_prob = malloc(epochs * n * sizeof *trace->log_prob);
    trace->order = malloc(epochs * recipe_rows(recipe) * sizeof *trace->order);
    trace->returns = malloc((values + 1) * sizeof *trace->returns);
    trace->d_value = malloc((epochs * values + 1) * sizeof *trace->d_value);
    trace->value = malloc((epochs * values + 1) * sizeof *trace->value);
    bool whole =
        trace->rollouts && trace->gradient && trace->log_prob && trace->order && trace->returns && trace->d_value && trace->value;
    for (int32_t task = 0; task < recipe->n_tasks && whole; task++)
        if (recipe->tasks[task].pool > 0)
            whole = (trace->anchor[task] = malloc(2 * (size_t)recipe->tasks[task].pool * sizeof(double))) != NULL;
    return whole ? TRAINER_OK : trainer_no_memory(err, (size_t)trace_arrays_bytes(recipe));
}

void trace_arrays_close(struct gradient_trace *trace)
{
    if (!trace)
        return;
    free(trace->rollouts);
    free(trace->gradient);
    free(trace->log_prob);
    free(trace->value);
    free(trace->order);
    free(trace->returns);
    free(trace->d_value);
    for (int32_t task = 0; task < TRAINER_ENVS_MAX; task++)
        free(trace->anchor[task]);
    free(trace);
}

/* With a NULL block, only computes the size. */
static void carve_values(const struct trainer_recipe *recipe, struct carve *block, struct trainer_rollouts *r,
                         struct minibatch *b)
{
    size_t width = (size_t)recipe->model.max_tokens, n = recipe_rows(recipe) * width;
    size_t part = (size_t)recipe->training.minibatch * width;
    r->expected = carve(block, n, sizeof(double));
    r->returns = carve(block, n, sizeof(double));
    b->value = carve(block, part, sizeof(float));
    b->expected = carve(block, part, sizeof(float));
    b->returns = carve(block, part, sizeof(float));
    b->d_value = carve(block, part, sizeof(float));
    b->valued = carve(block, part, 1);
}

double value_arrays_bytes(const struct trainer_recipe *recipe)
{
    struct trainer_rollouts r;
    struct minibatch b;
    struct carve block = {NULL, 0};
    if (!recipe->model.value_head)
        return 0;
    carve_values(recipe, &block, &r, &b);
    return (double)block.used;
}

enum trainer_status value_arrays_open(void **memory, const struct trainer_recipe *recipe, struct trainer_rollouts *rollouts,
                                      struct minibatch *minibatch, struct trainer_error *err)
{
    size_t bytes = (size_t)value_arrays_bytes(recipe);
    *memory = NULL;
    if (bytes == 0)
        return TRAINER_OK;
    struct carve block = {carve_block(bytes), 0};
    if (!block.base)
        return trainer_no_memory(err, bytes);
    *memory = block.base;
    carve_values(recipe, &block, rollouts, minibatch);
    return TRAINER_OK;
}

struct moments {
    double n, sum, square;
};

static void add(struct moments *m, double x)
{
    m->n++;
    m->sum += x;
    m->square += x * x;
}

static double mean(const struct moments *m)
{
    return m->n > 0 ? m->sum / m->n : 0;
}

static double variance(const struct moments *m)
{
    return m->n > 1 ? fmax(0, m->square - m->sum * mean(m)) / (m->n - 1) : 0;
}

/*
 * Explained variance: 1 - var(returns - values) / var(returns), with verl's 1e-5 in the denominator
 * (vf_explained_var). It is 1 if the values predicted every return exactly, and 0 if a single constant would predict as
 * well.
 */
void value_arrays_measure(const struct trainer_rollouts *r, struct trainer_iteration *metrics)
{
    struct moments returns = {0}, values = {0}, errors = {0};
    for (size_t i = 0; r->expected && i < r->n * r->width; i++) {
        if (!r->mask[i] || isnan(r->returns[i]))
            continue;
        add(&returns, r->returns[i]);
        add(&values, r->expected[i]);
        add(&errors, r->returns[i] - r->expected[i]);
    }
    if (returns.n <= 0)
        return;
    metrics->values.explained_variance = 1 - variance(&errors) / (variance(&returns) + 1e-5);
    metrics->values.mean = mean(&values);
    metrics->values.returned = mean(&returns);
}
