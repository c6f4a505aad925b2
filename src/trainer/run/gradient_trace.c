#include "run/gradient_trace.h"

#include "learn/minibatch_loss.h"
#include "recipe/recipe_needs.h"
#include "run/value_arrays.h"
#include "support/clock.h"
#include "support/error.h"

/* 0 to 3, 7, 15, ..: an effect that begins late is found, and the cost stays a small share of a long run. */
static bool is_due(int32_t iteration)
{
    return iteration < 4 || ((uint32_t)iteration & ((uint32_t)iteration + 1)) == 0;
}

static bool is_looking(const struct gradient_trace *trace, int32_t iteration)
{
    return trace && trace->n > 0 && is_due(iteration);
}

/* Gives the trace its own copy of everything that credit writes. */
static struct credit_memory copy_state(const struct run *run, struct gradient_trace *trace)
{
    struct credit_memory memory = run->memory;
    rollouts_copy(trace->rollouts, run->rollouts);
    trace->rollouts->expected = run->rollouts->expected;
    trace->rollouts->returns = run->rollouts->returns ? trace->returns : NULL;
    memory.judging.ask = NULL;
    memory.given.ask = NULL;
    for (int32_t task = 0; task < run->recipe->n_tasks; task++)
        if (memory.anchor[task]) {
            memcpy(trace->anchor[task], memory.anchor[task], (size_t)run->recipe->tasks[task].pool * sizeof(double));
            memory.anchor[task] = trace->anchor[task];
        }
    return memory;
}

static enum trainer_status assign(struct run *run, const struct trainer_recipe *recipe, int32_t iteration,
                                  struct credit_memory *memory, struct trainer_error *err)
{
    struct gradient_trace *trace = run->trace;
    size_t first = 0;
    *memory = copy_state(run, trace);
    for (int32_t task = 0; task < recipe->n_tasks; task++) {
        size_t n = recipe_task_rows(recipe, task);
        const struct credit_task at = {recipe, task, first, n, iteration};
        struct rl_a2tgpo_stats stats;
        TRY(credit_assign(trace->rollouts, &at, memory, &run->workspace, &stats, err));
        first += n;
    }
    return correction_weigh(recipe, trace->rollouts, &run->workspace, err);
}

/* Rows are visited once in each epoch, so a row's log-probs in an epoch have one place. */
void gradient_trace_note(struct run *run, int32_t iteration, int32_t epoch)
{
    struct gradient_trace *trace = run->trace;
    const struct minibatch *b = run->minibatch;
    if (!is_looking(trace, iteration) || epoch >= trace_epochs(run->recipe))
        return;
    size_t cells = run->rollouts->capacity * b->width, at = (size_t)epoch * cells;
    for (size_t i = 0; i < b->n; i++) {
        size_t to = at + b->row[i] * b->width;
        memcpy(trace->log_prob + to, b->log_prob + i * b->width, b->width * sizeof *b->log_prob);
        if (b->value)
            memcpy(trace->value + to, b->value + i * b->width, b->width * sizeof *b->value);
    }
    memcpy(trace->order + (size_t)epoch * run->rollouts->capacity, run->order, run->rollouts->n * sizeof *run->order);
}

/* Gives a gathered minibatch the log-probs and values that it had at its update. */
static void recall(const struct gradient_trace *trace, struct minibatch *b, size_t at)
{
    for (size_t i = 0; i < b->n; i++) {
        size_t from = at + b->row[i] * b->width;
        memcpy(b->log_prob + i * b->width, trace->log_prob + from, b->width * sizeof *b->log_prob);
        if (b->value)
            memcpy(b->value + i * b->width, trace->value + from, b->width * sizeof *b->value);
    }
    memset(b->entropy, 0, b->n * b->width * sizeof *b->entropy); /* only statistics read it */
}

/* Computes the gradients of one minibatch, which are then in b->d_log_prob and b->d_value. */
static enum trainer_status losses(struct run *run, const struct trainer_recipe *recipe, size_t epoch, size_t first, size_t n,
                                  struct trainer_error *err)
{
    struct gradient_trace *trace = run->trace;
    struct minibatch *b = run->minibatch;
    struct loss_result result;
    size_t rows = run->rollouts->capacity;
    minibatch_gather(b, trace->rollouts, trace->order + epoch * rows + first, n);
    recall(trace, b, epoch * rows * b->width);
    b->bypass = recipe_bypass(recipe);
    b->tasks = recipe->tasks;
    minibatch_leave_out_likely(b);
    enum trainer_status status = minibatch_loss(b, &recipe->loss, &run->workspace, &result, err);
    b->bypass = recipe_bypass(run->recipe);
    b->tasks = run->recipe->tasks;
    return status == TRAINER_OK && b->value ? minibatch_value_loss(b, recipe, &run->workspace, &result, err) : status;
}

/* Compares the gradients at wanted tokens with those of the unchanged recipe, or keeps them for later comparisons. */
static bool differs(const struct run *run, size_t at, bool keep)
{
    const struct minibatch *b = run->minibatch;
    float *gradient = run->trace->gradient + at * b->width, *d_value = run->trace->d_value + at * b->width;
    size_t n = b->n * b->width;
    bool other = false;
    for (size_t i = 0; i < n; i++) {
        float d = b->wanted[i] ? b->d_log_prob[i] : 0;
        other = other || memcmp(&d, &gradient[i], sizeof d) != 0;
        gradient[i] = keep ? d : gradient[i];
    }
    if (b->d_value && keep)
        memcpy(d_value, b->d_value, n * sizeof *d_value);
    return other || (b->d_value && memcmp(d_value, b->d_value, n * sizeof *d_value) != 0);
}

/* Whether later iterations would begin with another memory. */
static bool memory_differs(const struct run *run, const struct credit_memory *memory)
{
    const struct gradient_trace *trace = run->trace;
    bool other = memcmp(memory->baseline, trace->after.baseline, sizeof memory->baseline) != 0;
    for (int32_t task = 0; task < run->recipe->n_tasks && !other; task++) {
        size_t n = (size_t)run->recipe->tasks[task].pool;
        other = memory->anchor[task] && memcmp(trace->anchor[task], trace->anchor[task] + n, n * sizeof(double)) != 0;
    }
    return other;
}

/* Compares the gradients of the updates of one epoch. */
static enum trainer_status try_epoch(struct run *run, const struct trainer_recipe *recipe, size_t epoch, bool keep, bool *other,
                                     struct trainer_error *err)
{
    size_t n = run->rollouts->n, size = (size_t)recipe->training.minibatch;
    for (size_t first = 0; first < n && !*other; first += size) {
        TRY(losses(run, recipe, epoch, first, first + size < n ? size : n - first, err));
        *other = differs(run, epoch * run->rollouts->capacity + first, keep) && !keep;
    }
    return TRAINER_OK;
}

/* Sets *other to whether the variant has other gradients than the unchanged recipe; keep: it is the unchanged recipe. */
static enum trainer_status try(struct run *run, const struct trainer_recipe *recipe, int32_t iteration, bool keep, bool *other,
                               struct trainer_error *err)
{
    struct gradient_trace *trace = run->trace;
    struct credit_memory memory;
    enum trainer_status status = assign(run, recipe, iteration, &memory, err);
    *other = status == TRAINER_OK && !keep && memory_differs(run, &memory);
    for (int32_t epoch = 0; epoch < trace_epochs(recipe) && status == TRAINER_OK && !*other; epoch++)
        status = try_epoch(run, recipe, (size_t)epoch, keep, other, err);
    if (keep)
        trace->after = memory;
    for (int32_t task = 0; task < recipe->n_tasks && keep; task++)
        if (memory.anchor[task])
            memcpy(trace->anchor[task] + recipe->tasks[task].pool, trace->anchor[task],
                   (size_t)recipe->tasks[task].pool * sizeof(double));
    return status;
}

/* Removes the settings without which the gradients differ. A variant that fails has an effect, namely the failure, unless
 * memory ran out. */
static enum trainer_status try_variants(struct run *run, int32_t iteration, struct trainer_error *err)
{
    struct gradient_trace *trace = run->trace;
    size_t left = 0;
    for (size_t i = 0; i < trace->n; i++) {
        bool other = false;
        struct trainer_error failure = {TRAINER_OK, ""};
        recipe_variant(&trace->variant, &trace->original, &trace->left[i]);
        enum trainer_status status = try(run, &trace->variant, iteration, false, &other, &failure);
        if (status == TRAINER_ENOMEM)
            return trainer_fail(err, status, "%s", failure.text);
        if (status == TRAINER_OK && !other)
            trace->left[left++] = trace->left[i];
    }
    trace->n = left;
    trace->looked++;
    return TRAINER_OK;
}

enum trainer_status gradient_trace_look(struct run *run, int32_t iteration, struct trainer_error *err)
{
    struct gradient_trace *trace = run->trace;
    struct trainer_error failure = {TRAINER_OK, ""};
    double began = clock_now();
    bool other;
    if (!is_looking(trace, iteration))
        return TRAINER_OK;
    trace->partial = trace->partial || (trace->looked == 0 && iteration > 0);
    enum trainer_status status = try(run, &trace->original, iteration, true, &other, &failure);
    if (status == TRAINER_OK)
        status = try_variants(run, iteration, &failure);
    trace->seconds += clock_now() - began;
    return status == TRAINER_ENOMEM ? trainer_fail(err, status, "%s", failure.text) : TRAINER_OK;
}

void gradient_trace_report(const struct run *run, struct trainer_event *event)
{
    struct gradient_trace *trace = run->trace;
    size_t used = 0;
    if (!trace)
        return;
    event->trace_s = trace->seconds;
    for (size_t i = 0; i < trace->n && trace->looked > 0 && !trace->partial && used < sizeof trace->inert; i++) {
        char name[160];
        recipe_traced_name(name, &trace->left[i]);
        used += (size_t)snprintf(trace->inert + used, sizeof trace->inert - used, "%s%s", i > 0 ? ", " : "", name);
    }
    event->inert = trace->inert;
}
