/* trainer_memory.c: tests that the memory of a run stays below its bound and does not grow. */
#include "support/unit.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/wait.h>
#include <unistd.h>

#include "support/files.h"
#include "support/small_recipe.h"

/* Returns the value of a line of /proc/self/status in bytes. */
static double memory_of(const char *what)
{
    char line[256];
    double kib = 0;
    FILE *file = fopen("/proc/self/status", "r");
    while (file && fgets(line, sizeof line, file))
        if (strncmp(line, what, strlen(what)) == 0)
            kib = strtod(line + strlen(what) + 1, NULL);
    if (file)
        fclose(file);
    return 1024 * kib;
}

/* What a run in a child process reports about itself. */
struct measure {
    enum trainer_status status;
    double bound, most, early, late; /* resident bytes: bound, peak, and after an early and a late iteration */
};

static bool listen(void *context, const struct trainer_event *event)
{
    struct measure *measure = context;
    if (event->kind == TRAINER_EVENT_START)
        measure->bound = event->memory_bound;
    if (event->kind == TRAINER_EVENT_ITERATION && event->step == event->steps / 3)
        measure->early = memory_of("VmRSS");
    if (event->kind == TRAINER_EVENT_ITERATION && event->step == event->steps)
        measure->late = memory_of("VmRSS");
    return true;
}

static struct measure measured(const struct trainer_recipe *recipe)
{
    struct measure measure = {TRAINER_EIO, 0, 0, 0, 0};
    int ends[2], status;
    assert_int_equal(pipe(ends), 0);
    pid_t child = fork();
    if (child == 0) {
        const struct trainer_run_options options = {.event = listen, .context = &measure};
        measure.status = trainer_run(recipe, &options, NULL);
        measure.most = memory_of("VmHWM");
        _exit(write(ends[1], &measure, sizeof measure) == sizeof measure ? 0 : 1);
    }
    assert_int_equal(read(ends[0], &measure, sizeof measure), sizeof measure);
    assert_int_equal(waitpid(child, &status, 0), child);
    close(ends[0]);
    close(ends[1]);
    assert_int_equal(measure.status, TRAINER_OK);
    return measure;
}

static void assert_bounded(const struct trainer_recipe *recipe, const char *what)
{
    struct measure m = measured(recipe);
    print_message("%s: %.1f MB at most, bound %.1f MB\n", what, m.most / 1e6, m.bound / 1e6);
    assert_true(m.most > 1e6);
    assert_true(m.most < m.bound);
    assert_true(m.bound < 20 * m.most);
}

static void the_usual_run_stays_below_its_bound(void **state)
{
    (void)state;
    struct trainer_recipe recipe;
    trainer_recipe_init(&recipe);
    recipe.threads = 2;
    recipe.warm_start.steps = 2;
    recipe.training.iterations = 2;
    recipe.evaluation.every = 0;
    recipe.evaluation.seeds = 1;
    recipe.tasks[0].algorithm.name = RL_ALGORITHM_TURN_GROUP_V1D;
    check_recipe(&recipe);
    assert_bounded(&recipe, "default");
}

/*
 * Uses everything that costs memory at the same time: old weights, the start policy, a teacher, hinted rows, two
 * environments.
 */
static void a_run_with_everything_stays_below_its_bound(void **state)
{
    (void)state;
    struct trainer_recipe recipe;
    char *dir = make_dir(), *warm = join(dir, "warm.ckpt");
    trainer_recipe_init(&recipe);
    recipe.threads = 1;
    recipe.model.width = 128;
    recipe.model.mlp = 512;
    recipe.n_tasks = 2;
    recipe.tasks[1] = recipe.tasks[0];
    recipe.tasks[0].questions = recipe.tasks[1].questions = 4;
    recipe.tasks[0].algorithm.name = RL_ALGORITHM_OPSD;
    recipe.tasks[1].algorithm.name = RL_ALGORITHM_OPD;
    recipe.training.iterations = 2;
    recipe.training.epochs = 1;
    recipe.loss.kl_coef = 0.1;
    recipe.sampler.precision = TRAINER_INT8;
    recipe.sampler.staleness = 16;
    recipe.correction.name = TRAINER_CORRECTION_DECOUPLED;
    recipe.evaluation.questions = 32;
    recipe.evaluation.every = 0;
    recipe.evaluation.seeds = 1;
    snprintf(recipe.tasks[1].algorithm.teacher, TRAINER_PATH_MAX, "%s", warm);
    snprintf(recipe.checkpoint, TRAINER_PATH_MAX, "%s", warm);
    check_recipe(&recipe);
    warm_checkpoint(&recipe, 0, warm);
    assert_bounded(&recipe, "everything");
    free(warm);
    remove_dir(dir);
}

static void many_rollouts_stay_below_their_bound(void **state)
{
    (void)state;
    struct trainer_recipe recipe = small_recipe(TRAINER_HOPWORLD);
    recipe.threads = 2;
    recipe.tasks[0].env.max_turns = TRAINER_TURNS_MAX;
    recipe.tasks[0].env.facts = TRAINER_FACTS_MAX;
    recipe.tasks[0].algorithm.name = RL_ALGORITHM_PROCESS;
    recipe.tasks[0].questions = 64;
    recipe.training.group_size = 16;
    recipe.training.minibatch = 32;
    recipe.training.iterations = 1;
    recipe.training.epochs = 1;
    check_recipe(&recipe);
    assert_bounded(&recipe, "1024 rollouts");
}

static void memory_does_not_grow(void **state)
{
    (void)state;
    struct trainer_recipe recipe = small_recipe(TRAINER_HOPWORLD);
    recipe.tasks[0].algorithm.name = RL_ALGORITHM_TURN_GROUP_V1D;
    recipe.warm_start.steps = 100;
    recipe.training.iterations = 300;
    recipe.evaluation.every = 50;
    recipe.sampler.precision = TRAINER_BF16;
    recipe.correction.name = TRAINER_CORRECTION_TIS;
    struct measure m = measured(&recipe);
    print_message("%.0f kB after 100 iterations, %.0f after 300\n", m.early / 1e3, m.late / 1e3);
    assert_true(m.late - m.early < 512e3);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(the_usual_run_stays_below_its_bound),
        cmocka_unit_test(a_run_with_everything_stays_below_its_bound),
        cmocka_unit_test(many_rollouts_stay_below_their_bound),
        cmocka_unit_test(memory_does_not_grow),
    };
#ifdef __SANITIZE_ADDRESS__
    return 77; /* skipped, because a sanitizer's own memory would be counted */
#endif
    return cmocka_run_group_tests(tests, NULL, NULL);
}
