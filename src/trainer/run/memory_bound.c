#include "run/memory_bound.h"

#include <rlcore/envelope.h>

#include "learn/learner.h"
#include "learn/minibatch.h"
#include "recipe/recipe_needs.h"
#include "references/reference_policies.h"
#include "references/sampler_weights.h"
#include "rollout/data_set.h"
#include "rollout/evaluate.h"
#include "rollout/question_allocation.h"
#include "run/environment_losses.h"
#include "run/route_replay.h"
#include "run/side_rows.h"
#include "run/value_arrays.h"
#include "support/error.h"
#include "support/threads.h"

size_t memory_bound_largest_batch(const struct trainer_recipe *recipe)
{
    size_t rows = (size_t)recipe->training.minibatch;
    bool warm = !recipe->checkpoint[0] && recipe->warm_start.steps > 0;
    return warm && (size_t)recipe->warm_start.batch > rows ? (size_t)recipe->warm_start.batch : rows;
}

/* Bytes of what a run stores about the questions of pools: anchors and pass rates. */
static double pool_bytes(const struct trainer_recipe *recipe)
{
    double n = 0;
    for (int32_t i = 0; i < recipe->n_tasks; i++)
        n += recipe->tasks[i].pool * (double)sizeof(double) + allocation_bytes(&recipe->tasks[i]);
    return n;
}

static double data_bytes(const struct trainer_recipe *recipe)
{
    double bytes = 0;
    for (int32_t i = 0; i < recipe->n_tasks; i++)
        bytes += data_set_bytes(recipe, i);
    return bytes;
}

/*
 * A checkpoint has 128 bytes of header, the parameters as floats, and 8 bytes of digest (policy/checkpoint.c). The size
 * is exact, so that a run fits into a budget of exactly this size.
 */
double trainer_artifact_bytes(const struct trainer_recipe *recipe)
{
    return 128 + 4 * (double)trainer_model_parameters(&recipe->model) + 8;
}

/*
 * `program` is the memory of the program, its libraries, and the buffers that BLAS allocates for each thread. It is
 * generous on purpose, because a run must never use more than the bound. The artifact counts twice: the writer encodes
 * it completely in addition to the parameters, and a teacher's checkpoint is in memory as bytes and as floats while it
 * is read. 64 bytes per token cover all small arrays.
 */
double trainer_memory_bound(const struct trainer_recipe *recipe)
{
    int threads = threads_wanted(recipe->threads);
    size_t rows = recipe_rows(recipe), width = (size_t)recipe->model.max_tokens;
    size_t demos = recipe->checkpoint[0] ? 0 : (size_t)recipe->warm_start.batch;
    double sets = sampler_weights_sets(recipe) + reference_policies_sets(recipe);
    double params = (double)trainer_model_parameters(&recipe->model) * sizeof(float);
    double tokens = (double)rows * (double)width;
    double program = 48e6 + 40e6 * threads;
    return program + learner_bytes(&recipe->model, memory_bound_largest_batch(recipe), &recipe->micro_batch) +
           sampler_bytes(recipe, threads) + (double)rollouts_bytes(rows, width) +
           (double)rollouts_bytes(evaluate_rows(recipe), width) +
           (double)minibatch_bytes((size_t)recipe->training.minibatch, width) + trace_arrays_bytes(recipe) +
           environment_losses_bytes(recipe) + side_bytes(recipe) + routing_bytes(recipe, rows) + value_arrays_bytes(recipe) +
           sets * params + pool_bytes(recipe) + data_bytes(recipe) + reference_policies_bytes(recipe) +
           16 * (double)demos * (double)width + 64 * tokens + 2 * trainer_artifact_bytes(recipe);
}

enum trainer_status memory_bound_check(const struct trainer_recipe *recipe, struct trainer_error *err)
{
    const struct trainer_budget *budget = &recipe->budget;
    double memory = trainer_memory_bound(recipe), artifact = trainer_artifact_bytes(recipe);
    if (budget->memory_bytes > 0 && memory > budget->memory_bytes)
        return trainer_fail(err, TRAINER_ESIZE, "the run needs up to %.0f bytes of memory, budget.memory_bytes is %.0f", memory,
                            budget->memory_bytes);
    if (recipe->envelope[0]) {
        double parts[RL_ENVELOPE_PARTS], capacity = budget->memory_bytes;
        struct rl_envelope envelope;
        struct rl_error core;
        enum rl_status status = rl_envelope_read(recipe->envelope, parts, &capacity, &core);
        if (status == RL_OK)
            status = rl_envelope_judge(parts, capacity, &envelope, &core);
        if (status != RL_OK)
            return trainer_core_failed(err, "envelope.parts", status, &core);
        if (!envelope.fits)
            return trainer_fail(err, TRAINER_ESIZE, "envelope.parts: %s", envelope.text);
    }
    if (budget->artifact_bytes > 0 && artifact > budget->artifact_bytes)
        return trainer_fail(err, TRAINER_ESIZE, "the checkpoint has %.0f bytes, budget.artifact_bytes is %.0f", artifact,
                            budget->artifact_bytes);
    return TRAINER_OK;
}
