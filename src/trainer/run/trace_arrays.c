#include "run/trace_arrays.h"

#include <stdlib.h>

#include "recipe/recipe_needs.h"
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
