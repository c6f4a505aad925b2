/*
 * resume_state.c: see resume_state.h. The same list of blocks is used to write and to read the state, so that these
 * cannot disagree.
 */
#include "run/resume_state.h"

#include <xxhash.h>

#include "recipe/recipe_needs.h"
#include "support/clock.h"
#include "support/error.h"
#include "support/atomic_file.h"

/* The numbers of a saved run (resume_state.h), and whether they can be those of a run of a recipe.
 *
 * The digest of a state only shows damage: anybody can compute it. So each number that bounds a loop or is an index is
 * compared with the recipe before it is used. */

/*
 * Everything except the large arrays. The struct is zeroed before it is filled, because a digest covers its bytes,
 * padding included.
 */
struct state_numbers {
    char magic[8];
    uint32_t version, size; /* of this struct */
    uint64_t recipe;
    int32_t iterations, n_scores, n_late, n_alpha, n_late_values, pad;
    int64_t steps;
    double train_s, score_sum, scale_mean_sum, scale_std_sum, entropy_sum, clip_fraction_sum;
    double alpha_sum;
    struct trainer_values late_values;
    double baseline[TRAINER_ENVS_MAX];
    uint64_t n_baselines[TRAINER_ENVS_MAX];
    struct trainer_turn_gain late[TRAINER_TURNS_MAX];
    struct trainer_judge_counts judged;
    char kernels[TRAINER_KERNELS_MAX]; /* of the process that wrote the state; other kernels may round differently */
};

/* The members of struct run_totals that are saved under the same name; `late` is an array and is copied apart. */
/* clang-format off */
#define TOTALS(X)                                                                                                                \
    X(score_sum) X(n_scores) X(scale_mean_sum) X(scale_std_sum) X(entropy_sum) X(clip_fraction_sum) X(alpha_sum) X(n_alpha)      \
    X(late_values) X(n_late_values) X(n_late) X(judged)
/* clang-format on */

#define SECONDS_MOST 1e9 /* 30 years */
#define COUNT_MOST ((uint64_t)1 << 62)

/* A sum over the iterations of something that is at most `most` in each; the excess allows for rounding. */
static bool is_sum(double sum, double least, double most)
{
    return isfinite(sum) && sum >= least && sum <= most * (1 + 1e-9) + 1e-9;
}

/* ---- numbers ---- */

static const char *wrong_counts(const struct state_numbers *n, const struct trainer_recipe *recipe)
{
    const struct trainer_training *training = &recipe->training;
    int32_t every = recipe->evaluation.every;
    double rows = (double)recipe_rows(recipe), done = n->iterations;
    double updates = done * training->epochs * ceil(rows / training->minibatch);
    int32_t late = training->iterations - (training->iterations + 9) / 10; /* the first one that run_totals_add counts */
    if (n->iterations < 0 || n->iterations > training->iterations)
        return "iterations";
    /* one evaluation comes before the first iteration, and one after the last */
    if (n->n_scores < 0 || (every > 0 ? n->n_scores > n->iterations / every + 2 : n->n_scores > 0))
        return "scores";
    if (n->n_late < 0 || n->n_late > TRAINER_TURNS_MAX || (n->n_late > 0 && n->iterations <= late))
        return "n_late";
    if (n->n_alpha < 0 || n->n_alpha > n->iterations)
        return "n_alpha";
    if (n->n_late_values < 0 || n->n_late_values > (n->iterations > late ? n->iterations - late : 0))
        return "n_late_values";
    if (n->steps < 0 || (double)n->steps > updates)
        return "steps";
    for (size_t i = 0; i < TRAINER_ENVS_MAX; i++)
        if (n->n_baselines[i] > 1) /* each task has one agent (credit.c) */
            return "n_baselines";
    return NULL;
}

static const char *wrong_sums(const struct state_numbers *n)
{
    const struct trainer_values *v = &n->late_values;
    const double finite[] = {n->scale_mean_sum,     n->scale_std_sum, n->entropy_sum, n->alpha_sum,    v->loss,
                             v->explained_variance, v->mean,          v->returned,    v->clip_fraction};
    if (!is_sum(n->train_s, 0, SECONDS_MOST))
        return "train_s";
    if (!is_sum(n->score_sum, 0, n->n_scores)) /* shares of right answers */
        return "score_sum";
    if (!is_sum(n->clip_fraction_sum, 0, n->iterations))
        return "clip_fraction_sum";
    for (size_t i = 0; i < sizeof finite / sizeof *finite; i++)
        if (!isfinite(finite[i]))
            return "sums";
    for (size_t i = 0; i < TRAINER_ENVS_MAX; i++)
        if (!isfinite(n->baseline[i]))
            return "baseline";
    return NULL;
}

static const char *wrong_late(const struct state_numbers *n)
{
    for (int32_t k = 0; k < TRAINER_TURNS_MAX; k++) {
        const struct trainer_turn_gain *late = &n->late[k];
        if (!isfinite(late->mean) || !(late->std >= 0) || !isfinite(late->std) || late->count > COUNT_MOST ||
            (k >= n->n_late && late->count > 0))
            return "late";
    }
    return NULL;
}

static const char *wrong_judged(const struct trainer_judge_counts *judged)
{
    const uint64_t counts[] = {judged->good[0],  judged->good[1],       judged->bad[0],           judged->bad[1],
                               judged->compared, judged->prompt_tokens, judged->completion_tokens};
    for (size_t i = 0; i < sizeof counts / sizeof *counts; i++)
        if (counts[i] > COUNT_MOST)
            return "judged";
    for (size_t i = 0; i < TRAINER_N_JUDGE_MARKS; i++)
        if (judged->rows[i] > COUNT_MOST)
            return "judged";
    return judged->agreed <= judged->compared && is_sum(judged->seconds, 0, SECONDS_MOST) ? NULL : "judged";
}

/* Returns NULL, or the name of the first number that no run of the recipe can have. */
static const char *state_numbers_wrong(const struct state_numbers *numbers, const struct trainer_recipe *recipe)
{
    const char *wrong = wrong_counts(numbers, recipe);
    if (!wrong)
        wrong = wrong_sums(numbers);
    if (!wrong)
        wrong = wrong_late(numbers);
    if (!wrong)
        wrong = wrong_judged(&numbers->judged);
    if (!wrong && (numbers->pad || !memchr(numbers->kernels, '\0', sizeof numbers->kernels)))
        wrong = "padding";
    return wrong;
}

/* ---- arrays ---- */

static bool are_finite(const float *values, size_t n)
{
    for (size_t i = 0; values && i < n; i++)
        if (!isfinite(values[i]))
            return false;
    return true;
}

/* The optimizer takes the root of these. */
static bool are_squares(const float *values, size_t n)
{
    for (size_t i = 0; values && i < n; i++)
        if (!(values[i] >= 0) || !isfinite(values[i]))
            return false;
    return true;
}

/* An anchor is a length in tokens, and NaN until it is set. */
static bool are_anchors(const double *anchor, size_t n, double longest)
{
    for (size_t i = 0; anchor && i < n; i++)
        if (!isnan(anchor[i]) && !(anchor[i] >= 0 && anchor[i] <= longest))
            return false;
    return true;
}

static bool are_rates(const struct allocation *a, size_t rows)
{
    for (size_t i = 0; i < a->pool; i++)
        if (a->asked[i] < 0 || (uint64_t)a->asked[i] > rows || a->right[i] < 0 || a->right[i] > a->asked[i])
            return false;
    return true;
}

/* Checks the arrays of the run after they were restored: weights and moments, the ring of earlier weights, anchors, and pass
 * rates. Returns NULL, or the name of the array in which a value is not finite or is impossible. */
static const char *state_arrays_wrong(const struct run *run)
{
    const struct learner *learner = &run->learner;
    size_t n = learner->n_params, kept = (size_t)run->recipe->sampler.staleness + 1;
    if (!are_finite(learner->params, n))
        return "weights";
    if (!are_finite(learner->adam.m, n) || !are_squares(learner->adam.v, n))
        return "moments";
    if (!are_finite(run->references.start, n))
        return "first weights";
    if (!are_finite(run->sampled_by.history, n * kept))
        return "earlier weights";
    for (int32_t task = 0; task < run->recipe->n_tasks; task++) {
        if (!are_anchors(run->memory.anchor[task], (size_t)run->recipe->tasks[task].pool, run->recipe->model.max_tokens))
            return "anchors";
        if (!are_rates(&run->allocation[task], recipe_rows(run->recipe)))
            return "pass rates";
    }
    return NULL;
}

/* ---- the state of a run ---- */

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
#define TAKE(member) numbers->member = run->totals.member;
    TOTALS(TAKE)
    memcpy(numbers->late, run->totals.late, sizeof numbers->late);
    for (size_t i = 0; i < TRAINER_ENVS_MAX; i++) {
        numbers->baseline[i] = run->memory.baseline[i].value;
        numbers->n_baselines[i] = run->memory.n_baselines[i];
    }
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
#define GIVE(member) run->totals.member = numbers->member;
    TOTALS(GIVE)
    memcpy(run->totals.late, numbers->late, sizeof run->totals.late);
    for (size_t i = 0; i < TRAINER_ENVS_MAX; i++) {
        run->memory.baseline[i] = (struct rl_baseline){NULL, numbers->baseline[i]};
        run->memory.n_baselines[i] = (size_t)numbers->n_baselines[i];
    }
}

enum trainer_status resume_state_load(struct run *run, const char *path, int32_t *iterations, struct trainer_error *err)
{
    struct state_numbers numbers = {.iterations = -1};
    enum trainer_status status = path ? read_state(run, path, &numbers, err) : TRAINER_OK;
    *iterations = numbers.iterations;
    if (status == TRAINER_OK && numbers.iterations >= 0)
        give_numbers(run, &numbers);
    return status;
}

/* ---- asking ------------------------------------------------------------------------------- */

enum trainer_status trainer_state_read(const char *path, const struct trainer_recipe *recipe, int32_t *iterations,
                                       struct trainer_error *err)
{
    struct state_numbers numbers;
    TRY(read_numbers(path, &numbers, err));
    TRY(check_numbers(&numbers, path, recipe, err));
    *iterations = numbers.iterations;
    return TRAINER_OK;
}

enum trainer_status trainer_state_kernels(const char *path, char kernels[TRAINER_KERNELS_MAX], struct trainer_error *err)
{
    struct state_numbers numbers;
    TRY(read_numbers(path, &numbers, err));
    if (memcmp(numbers.magic, MAGIC, sizeof numbers.magic) != 0 || numbers.version != VERSION)
        return trainer_fail(err, TRAINER_ECORRUPT, "%s: not the state of a run", path);
    snprintf(kernels, TRAINER_KERNELS_MAX, "%.*s", TRAINER_KERNELS_MAX - 1, numbers.kernels);
    return TRAINER_OK;
}
