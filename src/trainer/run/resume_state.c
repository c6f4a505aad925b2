/*
 * resume_state.c: see resume_state.h. The same list of blocks is used to write, to read and to send the state to other
 * ranks, so that these cannot disagree.
 */
#include "run/resume_state.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <xxhash.h>

#include "run/recipe_digest.h"
#include "run/state_numbers.h"
#include "support/clock.h"
#include "support/error.h"
#include "support/atomic_file.h"

#define MAGIC "LNGSTATE"
#define STATE_NAME "state of a run"
enum { VERSION = 3 };

struct block {
    void *at;
    size_t bytes;
};

enum { BLOCKS = 5 + 3 * TRAINER_ENVS_MAX };

static size_t find_blocks(struct run *run, struct block blocks[BLOCKS])
{
    struct learner *learner = &run->learner;
    size_t n = learner->n_params * sizeof(float), used = 0;
    const struct block all[] = {{learner->params, n},
                                {learner->adam.m, n},
                                {learner->adam.v, n},
                                {run->references.start, n},
                                {run->sampled_by.history, n * ((size_t)run->recipe->sampler.staleness + 1)}};
    for (size_t i = 0; i < sizeof all / sizeof *all; i++)
        if (all[i].at)
            blocks[used++] = all[i];
    for (int32_t task = 0; task < run->recipe->n_tasks; task++)
        if (run->memory.anchor[task])
            blocks[used++] = (struct block){run->memory.anchor[task], (size_t)run->recipe->tasks[task].pool * sizeof(double)};
    for (int32_t task = 0; task < run->recipe->n_tasks; task++) {
        const struct allocation *a = &run->allocation[task];
        if (a->pool > 0) {
            blocks[used++] = (struct block){a->asked, a->pool * sizeof *a->asked};
            blocks[used++] = (struct block){a->right, a->pool * sizeof *a->right};
        }
    }
    return used;
}

/* ---- writing ------------------------------------------------------------------------------ */

static void take_numbers(const struct run *run, int32_t iterations, struct state_numbers *numbers)
{
    memset(numbers, 0, sizeof *numbers);
    memcpy(numbers->magic, MAGIC, sizeof numbers->magic);
    numbers->version = VERSION;
    numbers->size = sizeof *numbers;
    numbers->recipe = recipe_digest(run->recipe);
    numbers->iterations = iterations;
    numbers->steps = (int64_t)run->learner.adam.steps;
    numbers->train_s = clock_now() - run->clock.began;
    numbers->score_sum = run->totals.score_sum;
    numbers->n_scores = run->totals.n_scores;
    numbers->scale_mean_sum = run->totals.scale_mean_sum;
    numbers->scale_std_sum = run->totals.scale_std_sum;
    numbers->entropy_sum = run->totals.entropy_sum;
    numbers->clip_fraction_sum = run->totals.clip_fraction_sum;
    numbers->alpha_sum = run->totals.alpha_sum;
    numbers->n_alpha = run->totals.n_alpha;
    numbers->late_values = run->totals.late_values;
    numbers->n_late_values = run->totals.n_late_values;
    numbers->n_late = run->totals.n_late;
    memcpy(numbers->late, run->totals.late, sizeof numbers->late);
    for (size_t i = 0; i < TRAINER_ENVS_MAX; i++) {
        numbers->baseline[i] = run->memory.baseline[i].value;
        numbers->n_baselines[i] = run->memory.n_baselines[i];
    }
    numbers->judged = run->totals.judged;
    trainer_kernels(numbers->kernels);
}

static uint64_t digest_of(const struct file_part *parts, size_t n)
{
    uint64_t digest = 0;
    for (size_t i = 0; i < n; i++)
        digest = XXH64(parts[i].bytes, parts[i].n, digest);
    return digest;
}

enum trainer_status resume_state_save(struct run *run, const char *path, int32_t iterations, struct trainer_error *err)
{
    struct block blocks[BLOCKS];
    struct file_part parts[BLOCKS + 2];
    struct state_numbers numbers;
    size_t n = 1, used = find_blocks(run, blocks);
    take_numbers(run, iterations, &numbers);
    parts[0] = (struct file_part){&numbers, sizeof numbers};
    for (size_t i = 0; i < used; i++)
        parts[n++] = (struct file_part){blocks[i].at, blocks[i].bytes};
    uint64_t digest = digest_of(parts, n);
    parts[n] = (struct file_part){&digest, sizeof digest};
    return atomic_file_write(path, parts, n + 1, err);
}

/* ---- reading ------------------------------------------------------------------------------ */

static enum trainer_status damaged(struct trainer_error *err, const char *path, const char *what)
{
    return trainer_fail(err, TRAINER_ECORRUPT, "%s: damaged state of a run: %s", path, what);
}

/* The digest is right, so this is not damage: another program wrote the state, or somebody has changed it. */
static enum trainer_status impossible(struct trainer_error *err, const char *path, const char *what)
{
    return trainer_fail(err, TRAINER_ECORRUPT, "%s: state of a run with an impossible value: %s", path, what);
}

/* Magic and version come first, so that a file of another kind is not reported as a damaged state. */
static enum trainer_status check_kind(const struct state_numbers *numbers, const char *path, const struct trainer_recipe *recipe,
                                      struct trainer_error *err)
{
    if (memcmp(numbers->magic, MAGIC, sizeof numbers->magic) != 0)
        return trainer_fail(err, TRAINER_ECORRUPT, "%s: not the state of a run (magic)", path);
    if (numbers->version != VERSION || numbers->size != sizeof *numbers)
        return trainer_fail(err, TRAINER_ECORRUPT, "%s: state of a run by another version of lineage", path);
    if (numbers->recipe != recipe_digest(recipe))
        return trainer_fail(err, TRAINER_EINVAL,
                            "%s: state of a run of another recipe, after iteration %d; remove the file to start over", path,
                            (int)numbers->iterations);
    return TRAINER_OK;
}

static enum trainer_status check_numbers(const struct state_numbers *numbers, const char *path,
                                         const struct trainer_recipe *recipe, struct trainer_error *err)
{
    enum trainer_status status = check_kind(numbers, path, recipe, err);
    const char *wrong = status == TRAINER_OK ? state_numbers_wrong(numbers, recipe) : NULL;
    return wrong ? impossible(err, path, wrong) : status;
}

/* Reads the numbers alone, whatever comes behind them. */
static enum trainer_status read_numbers(const char *path, struct state_numbers *numbers, struct trainer_error *err)
{
    return atomic_file_head(path, STATE_NAME, numbers, sizeof *numbers, err);
}

/*
 * Restores the state from the file's bytes, after checking the digest over the parts in the order in which they were
 * written. The caller has compared the length with that of the parts.
 */
static enum trainer_status take_bytes(const unsigned char *bytes, const char *path, struct run *run,
                                      struct state_numbers *numbers, struct trainer_error *err)
{
    struct block blocks[BLOCKS];
    struct file_part parts[BLOCKS + 1] = {{bytes, sizeof *numbers}};
    size_t n = 1, used = find_blocks(run, blocks), at = sizeof *numbers;
    uint64_t digest;
    for (size_t i = 0; i < used; at += parts[n++].n, i++)
        parts[n] = (struct file_part){bytes + at, blocks[i].bytes};
    memcpy(&digest, bytes + at, sizeof digest);
    if (digest != digest_of(parts, n))
        return damaged(err, path, "digest");
    memcpy(numbers, bytes, sizeof *numbers);
    enum trainer_status status = check_numbers(numbers, path, run->recipe, err);
    for (size_t i = 0; i < used && status == TRAINER_OK; i++)
        memcpy(blocks[i].at, parts[i + 1].bytes, parts[i + 1].n);
    const char *wrong = status == TRAINER_OK ? state_arrays_wrong(run) : NULL;
    return wrong ? impossible(err, path, wrong) : status;
}

static size_t state_bytes(struct run *run)
{
    struct block blocks[BLOCKS];
    size_t used = find_blocks(run, blocks), bytes = sizeof(struct state_numbers) + sizeof(uint64_t);
    for (size_t i = 0; i < used; i++)
        bytes += blocks[i].bytes;
    return bytes;
}

/* A missing file is not an error: the run starts from the beginning. */
static enum trainer_status read_state(struct run *run, const char *path, struct state_numbers *numbers, struct trainer_error *err)
{
    struct trainer_error why;
    size_t size = 0, wanted = state_bytes(run);
    *numbers = (struct state_numbers){.iterations = -1};
    enum trainer_status status = read_numbers(path, numbers, &why);
    if (status == TRAINER_OK)
        status = check_kind(numbers, path, run->recipe, &why);
    if (status == TRAINER_OK) {
        unsigned char *bytes = atomic_file_read(path, STATE_NAME, &(struct file_bounds){wanted, wanted}, &size, &status, &why);
        if (status == TRAINER_OK)
            status = take_bytes(bytes, path, run, numbers, &why);
        free(bytes);
    }
    if (status == TRAINER_ENOTFOUND) {
        numbers->iterations = -1;
        return TRAINER_OK;
    }
    return status == TRAINER_OK ? status : trainer_fail(err, status, "%s", why.text);
}

static void give_numbers(struct run *run, const struct state_numbers *numbers)
{
    run->learner.adam.steps = (uint64_t)numbers->steps;
    run->clock.began = clock_now() - numbers->train_s;
    run->totals.score_sum = numbers->score_sum;
    run->totals.n_scores = numbers->n_scores;
    run->totals.scale_mean_sum = numbers->scale_mean_sum;
    run->totals.scale_std_sum = numbers->scale_std_sum;
    run->totals.entropy_sum = numbers->entropy_sum;
    run->totals.clip_fraction_sum = numbers->clip_fraction_sum;
    run->totals.alpha_sum = numbers->alpha_sum;
    run->totals.n_alpha = numbers->n_alpha;
    run->totals.late_values = numbers->late_values;
    run->totals.n_late_values = numbers->n_late_values;
    run->totals.n_late = numbers->n_late;
    memcpy(run->totals.late, numbers->late, sizeof run->totals.late);
    for (size_t i = 0; i < TRAINER_ENVS_MAX; i++) {
        run->memory.baseline[i] = (struct rl_baseline){NULL, numbers->baseline[i]};
        run->memory.n_baselines[i] = (size_t)numbers->n_baselines[i];
    }
    run->totals.judged = numbers->judged;
}

enum trainer_status resume_state_load(struct run *run, const char *path, int32_t *iterations, struct trainer_error *err)
{
    struct state_numbers numbers = {.iterations = -1};
    struct block blocks[BLOCKS];
    enum trainer_status status = TRAINER_OK;
    if (path && ranks_mine(&run->ranks) == 0)
        status = read_state(run, path, &numbers, err);
    if (status == TRAINER_OK)
        status = ranks_broadcast(&run->ranks, 0, &numbers, sizeof numbers, err);
    *iterations = numbers.iterations;
    if (status != TRAINER_OK || numbers.iterations < 0)
        return status;
    for (size_t i = 0; i < find_blocks(run, blocks) && status == TRAINER_OK; i++)
        status = ranks_broadcast(&run->ranks, 0, blocks[i].at, blocks[i].bytes, err);
    give_numbers(run, &numbers);
    return status;
}

/* ---- asking ------------------------------------------------------------------------------- */

enum trainer_status trainer_state_read(const char *path, const struct trainer_recipe *recipe, int32_t *iterations,
                                       struct trainer_error *err)
{
    struct state_numbers numbers;
    enum trainer_status status = read_numbers(path, &numbers, err);
    if (status == TRAINER_OK)
        status = check_numbers(&numbers, path, recipe, err);
    if (status == TRAINER_OK)
        *iterations = numbers.iterations;
    return status;
}

enum trainer_status trainer_state_kernels(const char *path, char kernels[TRAINER_KERNELS_MAX], struct trainer_error *err)
{
    struct state_numbers numbers;
    enum trainer_status status = read_numbers(path, &numbers, err);
    if (status != TRAINER_OK)
        return status;
    if (memcmp(numbers.magic, MAGIC, sizeof numbers.magic) != 0 || numbers.version != VERSION)
        return trainer_fail(err, TRAINER_ECORRUPT, "%s: not the state of a run", path);
    snprintf(kernels, TRAINER_KERNELS_MAX, "%.*s", TRAINER_KERNELS_MAX - 1, numbers.kernels);
    return TRAINER_OK;
}
