#include "recipe_night/night_recipes.h"

#include <xxhash.h>

#include <trainer/sweep.h>

#include "recipe/recipe_request.h"

_Static_assert(NIGHT_PATH_MAX == TRAINER_PATH_MAX && NIGHT_NAME_MAX == TRAINER_NAME_MAX &&
                   NIGHT_TRIAL_NAME_MAX == TRAINER_TRIAL_NAME_MAX && NIGHT_TRIALS_MAX == TRAINER_SWEEP_TRIALS_MAX &&
                   NIGHT_WHY_MAX >= TRAINER_ERROR_TEXT_MAX,
               "a night has the limits of the trainer");

static bool read(struct trainer_sweep **list, const struct night_sweep *sweep, const char *text, char why[NIGHT_WHY_MAX])
{
    struct trainer_error err = {0};
    enum trainer_status status = text ? trainer_sweep_parse(list, sweep->file, text, strlen(text), sweep->directory, &err)
                                      : trainer_sweep_load(list, sweep->file, &err);
    if (status != TRAINER_OK)
        snprintf(why, NIGHT_WHY_MAX, "%s", err.text);
    return status == TRAINER_OK;
}

/*
 * Makes the recipe that runs only the warm start of another recipe. Every setting that does not affect the warm start is set to
 * its default, so that trials which differ only in such settings share a warm start. The run must end with an evaluation, but its
 * score is not used, so one question is enough. clip_norm is kept because it also clips the updates of the warm start.
 */
static void warm_start_recipe(struct trainer_recipe *warm, const struct trainer_recipe *recipe)
{
    trainer_recipe_init(warm);
    snprintf(warm->name, sizeof warm->name, "warm start, seed %" PRIu64, recipe->seed);
    warm->seed = recipe->seed;
    warm->world = recipe->world;
    warm->model = recipe->model;
    warm->warm_start = recipe->warm_start;
    warm->n_tasks = recipe->n_tasks;
    for (int32_t i = 0; i < recipe->n_tasks; i++) {
        warm->tasks[i] = warm->tasks[0];
        warm->tasks[i].env = recipe->tasks[i].env;
    }
    warm->training.iterations = 0;
    warm->training.clip_norm = recipe->training.clip_norm;
    warm->evaluation.questions = 1;
    warm->evaluation.seeds = 1;
    warm->evaluation.every = 0;
}

/*
 * Hashes the text of the recipe instead of the struct, because the struct's padding is undefined and a later night must
 * compute the same digest.
 */
static uint64_t warm_start_digest(const struct trainer_recipe *recipe)
{
    struct trainer_recipe warm;
    warm_start_recipe(&warm, recipe);
    char *text = trainer_recipe_text(&warm);
    uint64_t hash = text ? XXH64(text, strlen(text), 0) : 0;
    free(text);
    return hash;
}

/*
 * The work of a trial is counted in rows of rollouts or demonstrations that pass through the network. A backward pass with its share
 * of the optimizer counts as three forward passes, which is the ratio of update to generation time that train_bench measures.
 * The final evaluation runs its seeds and one greedy pass (+ 1).
 */
static double rows_of(const struct trainer_recipe *recipe)
{
    const struct trainer_training *training = &recipe->training;
    const struct trainer_evaluation *evaluation = &recipe->evaluation;
    double evaluations = evaluation->every > 0 ? 1 + ceil((double)training->iterations / evaluation->every) : 0;
    double rows = 0;
    for (int32_t i = 0; i < recipe->n_tasks; i++)
        rows += (double)recipe->tasks[i].questions * training->group_size;
    rows *= training->iterations * (1 + 4.0 * training->epochs);
    return rows + (evaluations + evaluation->seeds + 1) * evaluation->questions * recipe->n_tasks;
}

static enum night_parent parent_of(enum trainer_parent parent)
{
    switch (parent) {
    case TRAINER_PARENT_BASE: break;
    case TRAINER_PARENT_TRIAL: return NIGHT_PARENT_TRIAL;
    case TRAINER_PARENT_OTHER: return NIGHT_PARENT_OTHER;
    }
    return NIGHT_PARENT_BASE;
}

static struct night_trial trial(const struct trainer_sweep *list, size_t i)
{
    const struct trainer_trial *spec = trainer_sweep_trial(list, i);
    const struct trainer_recipe *recipe = &spec->recipe;
    const double row = (double)recipe->model.max_tokens * (double)trainer_model_parameters(&recipe->model);
    return (struct night_trial){.name = spec->name,
                                .key = spec->key,
                                .parent = parent_of(spec->parent),
                                .parent_trial = spec->parent_trial,
                                .parent_name = spec->parent_name,
                                .recipe = recipe,
                                .checkpoint = recipe->checkpoint,
                                .recipe_seed = recipe->seed,
                                .warm_start = recipe->warm_start.steps > 0 ? warm_start_digest(recipe) : 0,
                                .work = rows_of(recipe) * row,
                                .warm_work = 4.0 * recipe->warm_start.steps * recipe->warm_start.batch * row};
}

struct taker {
    void (*take)(void *context, const struct lineage_param *param);
    void *context;
};

static void take_setting(void *context, const struct trainer_setting *setting)
{
    const struct taker *taker = context;
    const struct lineage_param param = {setting->name, setting->value, setting->text};
    taker->take(taker->context, &param);
}

static void settings(const struct trainer_recipe *recipe, void (*take)(void *context, const struct lineage_param *param),
                     void *context)
{
    struct taker taker = {take, context};
    trainer_recipe_settings(recipe, take_setting, &taker);
}

/* The memory of one run; too large for the stack. */
struct run {
    struct trainer_recipe recipe;
    struct recipe_request request;
    char notes[2048];
};

static void start_from(struct trainer_recipe *recipe, const struct recipe_start *start)
{
    snprintf(recipe->checkpoint, sizeof recipe->checkpoint, "%s", start->checkpoint);
    if (start->fresh_seed)
        recipe->seed = *start->fresh_seed;
}

/* The proposer is a parameter of the row but not a setting of the recipe. */
static void complete_row(struct run *run, struct trial_request *request, const struct recipe_start *start)
{
    struct recipe_params *params = &run->request.params;
    if (start->proposer && params->n < RECIPE_PARAMS_MAX) {
        params->at[params->n++] = (struct lineage_param){"proposer", (double)NAN, start->proposer};
        request->plan.n_params = params->n;
    }
    if (*start->notes) {
        snprintf(run->notes, sizeof run->notes, "%s; %s", start->notes, request->plan.identity.notes);
        request->plan.identity.notes = run->notes;
    }
}

/* recipe_request_init sets the time limits of the recipe; requirements and the rule for pruning are the night's. */
static int run_recipe(struct lineage_store *store, struct trial_request *request, const struct recipe_start *start,
                      struct trial_outcome *outcome, struct lineage_trial *row)
{
    struct run *run = calloc(1, sizeof *run);
    int status = CLI_SYSTEM;
    if (!run)
        return cli_no_memory();
    run->recipe = *start->recipe;
    start_from(&run->recipe, start);
    if (recipe_request_init(&run->request, request, &run->recipe)) {
        run->request.crowded = start->crowded;
        complete_row(run, request, start);
        status = trial_run_and_append(store, request, outcome, row);
    } else
        status = cli_no_memory();
    recipe_request_release(&run->request);
    free(run);
    return status;
}

/* `threads` is the trial's own value: it changes no result and is not part of the digest. */
static bool run_warm_start(const char *store_dir, struct trial_request *request, const struct recipe_start *start,
                           struct trial_outcome *outcome)
{
    struct run *run = calloc(1, sizeof *run);
    bool trained = false;
    if (!run)
        return false;
    warm_start_recipe(&run->recipe, start->recipe);
    run->recipe.threads = start->recipe->threads;
    request->plan.identity.name = run->recipe.name;
    if (recipe_request_init(&run->request, request, &run->recipe)) {
        run->request.crowded = start->crowded;
        trained = trial_run_unrecorded(request, store_dir, outcome);
    }
    recipe_request_release(&run->request);
    free(run);
    return trained;
}

const struct recipe_trials night_recipes = {.read = read,
                                            .release = trainer_sweep_free,
                                            .name = trainer_sweep_name,
                                            .count = trainer_sweep_count,
                                            .trial = trial,
                                            .settings = settings,
                                            .make_store = recipe_store_make,
                                            .check_store = recipe_store_check,
                                            .run = run_recipe,
                                            .run_warm_start = run_warm_start};
