/*
 * trainer_state_forged.c: tests that a state whose digest is right but whose values no run can have is refused before a
 * value is used. The digest of a state can be computed by anybody, so each number is forged in turn.
 */
#include "support/unit.h"

#include <math.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

#include "run/resume_state.h"
#include "support/files.h"
#include "support/opened_run.h"
#include "support/rng.h"
#include "support/small_recipe.h"

enum { DONE = 4 };

struct place {
    char *dir, *state;
    struct trainer_recipe recipe;
    float *params;
};

/* A recipe with every array that a state may have. */
static int open_place(void **state)
{
    struct place *place = calloc(1, sizeof *place);
    place->recipe = small_recipe(TRAINER_HOPWORLD);
    place->recipe.loss.kl_coef = 0.1;
    place->recipe.sampler.staleness = 1;
    place->recipe.correction.name = TRAINER_CORRECTION_TIS;
    place->recipe.tasks[0].pool = 6;
    place->recipe.tasks[0].hardness = 3;
    place->recipe.tasks[0].algorithm.length_penalty = TRAINER_LENGTH_ANCHOR;
    place->recipe.tasks[0].algorithm.length_coef = 1;
    place->recipe.training.iterations = 6;
    place->recipe.evaluation.every = 2;
    check_recipe(&place->recipe);
    place->dir = make_dir();
    place->state = join(place->dir, "run.state");
    place->params = warm_policy(&place->recipe, 1);
    *state = place;
    return 0;
}

static int close_place(void **state)
{
    struct place *place = *state;
    free(place->state);
    free(place->params);
    remove_dir(place->dir);
    free(place);
    return 0;
}

/* A run after DONE iterations. */
static struct run *sound_run(const struct place *place)
{
    struct run *run = opened_run(&place->recipe, place->params);
    memcpy(run->references.start, place->params, run->learner.n_params * sizeof(float));
    run->learner.adam.steps = DONE;
    run->totals.n_scores = 3;
    run->totals.score_sum = 1.5;
    run->allocation[0].asked[0] = 4;
    run->allocation[0].right[0] = 2;
    return run;
}

/* Loads the state into another run, and returns the status with its message in err. */
static enum trainer_status load(const struct place *place, struct trainer_error *err, int32_t *iterations)
{
    struct run *run = opened_run(&place->recipe, place->params);
    enum trainer_status status = resume_state_load(run, place->state, iterations, err);
    if (status == TRAINER_OK) { /* what indexes arrays and bounds loops is in range whatever the bytes were */
        assert_in_range(run->totals.n_late, 0, TRAINER_TURNS_MAX);
        assert_in_range(*iterations, 0, place->recipe.training.iterations);
        assert_in_range(run->memory.n_baselines[0], 0, 1);
    }
    close_run(run);
    return status;
}

static void assert_refused(const struct place *place, struct run *forged, int32_t iterations, const char *what)
{
    struct trainer_error err;
    int32_t done;
    assert_int_equal(resume_state_save(forged, place->state, iterations, &err), TRAINER_OK);
    enum trainer_status status = load(place, &err, &done);
    if (status != TRAINER_ECORRUPT || !strstr(err.text, "impossible value") || !strstr(err.text, what))
        fail_msg("%s: %d, %s", what, (int)status, status == TRAINER_OK ? "accepted" : err.text);
    close_run(forged);
}

static void a_sound_state_is_accepted(void **state)
{
    const struct place *place = *state;
    struct trainer_error err;
    int32_t done = 0;
    struct run *run = sound_run(place);
    assert_int_equal(resume_state_save(run, place->state, DONE, NULL), TRAINER_OK);
    close_run(run);
    if (load(place, &err, &done) != TRAINER_OK)
        fail_msg("%s", err.text);
    assert_int_equal(done, DONE);
    assert_int_equal(trainer_state_read(place->state, &place->recipe, &done, NULL), TRAINER_OK);
}

static void iterations_are_bounded(void **state)
{
    const struct place *place = *state;
    static const int32_t bad[] = {-1, -2, INT32_MIN, 7, 1000, INT32_MAX};
    for (size_t i = 0; i < sizeof bad / sizeof *bad; i++)
        assert_refused(place, sound_run(place), bad[i], "iterations");
    int32_t done;
    assert_int_equal(trainer_state_read(place->state, &place->recipe, &done, NULL), TRAINER_ECORRUPT);
}

static void counts_are_bounded(void **state)
{
    const struct place *place = *state;
    static const int32_t bad[] = {-1, INT32_MIN, 1000, INT32_MAX};
    for (size_t i = 0; i < sizeof bad / sizeof *bad; i++) {
        struct run *run = sound_run(place);
        run->totals.n_late = bad[i];
        assert_refused(place, run, 6, "n_late");
        (run = sound_run(place))->totals.n_late_values = bad[i];
        assert_refused(place, run, DONE, "n_late_values");
        (run = sound_run(place))->totals.n_alpha = bad[i];
        assert_refused(place, run, DONE, "n_alpha");
        (run = sound_run(place))->totals.n_scores = bad[i];
        assert_refused(place, run, DONE, "scores");
    }
    struct run *run = sound_run(place);
    run->memory.n_baselines[0] = 2; /* the core would read behind the only baseline */
    assert_refused(place, run, DONE, "n_baselines");
    (run = sound_run(place))->learner.adam.steps = UINT64_MAX;
    assert_refused(place, run, DONE, "steps");
    (run = sound_run(place))->learner.adam.steps = (uint64_t)1 << 40;
    assert_refused(place, run, DONE, "steps");
    (run = sound_run(place))->totals.judged.agreed = 1;
    assert_refused(place, run, DONE, "judged");
    (run = sound_run(place))->totals.judged.rows[0] = UINT64_MAX;
    assert_refused(place, run, DONE, "judged");
    (run = sound_run(place))->totals.late[3].count = 5;
    assert_refused(place, run, DONE, "late");
}

static void numbers_are_finite(void **state)
{
    const struct place *place = *state;
    static const double bad[] = {NAN, INFINITY, -INFINITY};
    for (size_t i = 0; i < sizeof bad / sizeof *bad; i++) {
        struct run *run = sound_run(place);
        run->totals.score_sum = bad[i];
        assert_refused(place, run, DONE, "score_sum");
        (run = sound_run(place))->totals.entropy_sum = bad[i];
        assert_refused(place, run, DONE, "sums");
        (run = sound_run(place))->totals.late_values.mean = bad[i];
        assert_refused(place, run, DONE, "sums");
        (run = sound_run(place))->totals.late[0].std = bad[i];
        assert_refused(place, run, DONE, "late");
        (run = sound_run(place))->memory.baseline[1].value = bad[i];
        assert_refused(place, run, DONE, "baseline");
        (run = sound_run(place))->clock.began = bad[i];
        assert_refused(place, run, DONE, "train_s");
        (run = sound_run(place))->totals.judged.seconds = bad[i];
        assert_refused(place, run, DONE, "judged");
    }
    struct run *run = sound_run(place);
    run->totals.score_sum = 3.5; /* of three shares */
    assert_refused(place, run, DONE, "score_sum");
    (run = sound_run(place))->totals.clip_fraction_sum = DONE + 1;
    assert_refused(place, run, DONE, "clip_fraction_sum");
}

static void arrays_are_checked(void **state)
{
    const struct place *place = *state;
    struct run *run = sound_run(place);
    size_t last = run->learner.n_params - 1;
    run->learner.params[last] = NAN;
    assert_refused(place, run, DONE, "weights");
    (run = sound_run(place))->learner.adam.m[last] = INFINITY;
    assert_refused(place, run, DONE, "moments");
    (run = sound_run(place))->learner.adam.v[0] = -1;
    assert_refused(place, run, DONE, "moments");
    (run = sound_run(place))->references.start[last] = NAN;
    assert_refused(place, run, DONE, "first weights");
    (run = sound_run(place))->sampled_by.history[2 * last] = NAN;
    assert_refused(place, run, DONE, "earlier weights");
    (run = sound_run(place))->memory.anchor[0][5] = -1;
    assert_refused(place, run, DONE, "anchors");
    (run = sound_run(place))->memory.anchor[0][0] = 1e9;
    assert_refused(place, run, DONE, "anchors");
    (run = sound_run(place))->allocation[0].right[5] = 1; /* of 0 that were asked */
    assert_refused(place, run, DONE, "pass rates");
    (run = sound_run(place))->allocation[0].asked[0] = INT64_MIN;
    assert_refused(place, run, DONE, "pass rates");
}

/* Random bytes in the totals: the state is refused, or every number is in its range (load checks that). */
static void random_totals_are_refused_or_bounded(void **state)
{
    const struct place *place = *state;
    struct trainer_rng rng = {trainer_seed(1, 'f', 0)};
    int refused = 0;
    for (int i = 0; i < 300; i++) {
        struct run *run = sound_run(place);
        unsigned char *totals = (unsigned char *)&run->totals;
        struct trainer_error err;
        int32_t done;
        for (int32_t k = trainer_rng_below(&rng, 8); k >= 0; k--)
            totals[trainer_rng_below(&rng, (int32_t)sizeof run->totals)] ^= (unsigned char)(1 + trainer_rng_below(&rng, 255));
        assert_int_equal(resume_state_save(run, place->state, trainer_rng_below(&rng, 8), NULL), TRAINER_OK);
        refused += load(place, &err, &done) != TRAINER_OK;
        close_run(run);
    }
    assert_in_range(refused, 1, 300);
}

/* A file of 1 TB is refused by its length, and a pipe by its kind, before anything is read. */
static void other_files_are_not_read(void **state)
{
    const struct place *place = *state;
    struct trainer_error err;
    struct trainer_checkpoint checkpoint;
    int32_t done;
    struct run *run = sound_run(place);
    assert_int_equal(resume_state_save(run, place->state, DONE, NULL), TRAINER_OK);
    close_run(run);
    assert_int_equal(truncate(place->state, (off_t)1 << 40), 0);
    assert_int_equal(load(place, &err, &done), TRAINER_ECORRUPT);
    assert_non_null(strstr(err.text, "length"));
    assert_int_equal(
        trainer_checkpoint_save(place->state, &(struct trainer_checkpoint){place->recipe.model, 1}, place->params, NULL),
        TRAINER_OK);
    assert_int_equal(truncate(place->state, (off_t)1 << 35), 0);
    assert_int_equal(trainer_checkpoint_load(place->state, &checkpoint, NULL, 0, &err), TRAINER_ECORRUPT);
    assert_non_null(strstr(err.text, "length"));
    unlink(place->state);
    assert_int_equal(mkfifo(place->state, 0600), 0);
    assert_int_equal(load(place, &err, &done), TRAINER_EIO);
    assert_non_null(strstr(err.text, "not a regular file"));
    assert_int_equal(trainer_checkpoint_load(place->state, &checkpoint, NULL, 0, &err), TRAINER_EIO);
    unlink(place->state);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(a_sound_state_is_accepted), cmocka_unit_test(iterations_are_bounded),
        cmocka_unit_test(counts_are_bounded),        cmocka_unit_test(numbers_are_finite),
        cmocka_unit_test(arrays_are_checked),        cmocka_unit_test(random_totals_are_refused_or_bounded),
        cmocka_unit_test(other_files_are_not_read),
    };
    return cmocka_run_group_tests(tests, open_place, close_place);
}
