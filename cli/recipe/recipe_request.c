/*
 * The trainer runs as a command like any other and reports the same events, so that a crash, a memory limit or a
 * signal never ends the process that appends the row.
 */
#include "recipe/recipe_request.h"

#include <rlcore/algorithm.h>

#include "judge/judge.h"
#include "recipe/recipe_teacher.h"
#include "support/program.h"

struct filling {
    struct recipe_params *params;
    bool has_parent;
};

/*
 * Whether a text fits into a row. The path of a checkpoint, or a command, can be too long or contain a semicolon. Such a text
 * is left out rather than truncated, because two texts with the same beginning would look equal. The recipe in the
 * snapshot has the full text.
 */
static bool fits(const char *text)
{
    return !text || lineage_param_text_ok(text);
}

/* The trainer's table decides which settings a row names. A trial with a parent starts from the parent's checkpoint,
 * so the settings of a warm start are left out: no warm start ran, and its settings would look like a cause of the
 * result. */
static void take(void *context, const struct trainer_setting *setting)
{
    const struct filling *filling = context;
    struct recipe_params *params = filling->params;
    bool of_start = strncmp(setting->path, "start.", 6) == 0;
    if (!setting->named || (of_start && filling->has_parent))
        return;
    if (!fits(setting->text) || params->n == RECIPE_PARAMS_MAX || strlen(setting->name) >= RECIPE_PARAM_NAME_MAX) {
        params->dropped++;
        return;
    }
    char *own = strcpy(params->names[params->n], setting->name);
    params->at[params->n++] = (struct lineage_param){own, setting->value, setting->text};
}

/*
 * Fills in the settings that every row has (seed, algorithm, lr, ..), those that the algorithm uses (alpha, beta, gamma,
 * ..), and all others that are not at their defaults. threads is left out, since it changes no result, and so is start.*
 * for a trial with a parent. A setting that nothing reads is left out. Settings of the second environment are named
 * "env1.alpha".
 */
static void recipe_params_fill(struct recipe_params *params, const struct trainer_recipe *recipe, bool has_parent)
{
    struct filling filling = {params, has_parent};
    params->n = params->dropped = 0;
    trainer_recipe_settings(recipe, take, &filling);
}

/* Writes the full text with every default, because the work directory becomes the snapshot: a trial that starts from its
 * checkpoint next year needs all settings. fclose is checked, since it reports a full disk. */
static bool write_recipe(const struct recipe_request *trial)
{
    char *text = trainer_recipe_text(trial->recipe);
    FILE *out = text ? fopen(trial->file, "w") : NULL;
    bool written = out && fputs(text, out) >= 0;
    if (out && fclose(out) != 0)
        written = false;
    if (!written)
        cli_error(CLI_SYSTEM, "cannot write %s: %s", trial->file, text ? strerror(errno) : "out of memory");
    free(text);
    return written;
}

/*
 * If other trials run on the machine, idle threads of OpenMP sleep at once, because spinning takes processor time from those
 * trials: half of all time in a night of two jobs with two threads each on two cores (tests/bench/jobs_bench.sh). A trial that
 * runs alone spins for some microseconds.
 */
static void choose_environment(struct recipe_request *trial)
{
    size_t n = 0;
    blas_env_settings(&trial->blas, trial->crowded);
    for (const char **setting = trial->blas.setting; *setting; setting++)
        trial->environment[n++] = *setting;
    trial->environment[n] = NULL;
}

/*
 * RECIPE_POLICY is the artifact that the trial must leave, and is kept in the snapshot. The command is this program by
 * its own path, not "lineage" from PATH, so that all trials of a night run the same version.
 */
static bool prepare(void *context, const struct workdir *dir, struct trial_job *job)
{
    struct recipe_request *trial = context;
    workdir_file(trial->file, dir, RECIPE_FILE);
    workdir_file(trial->policy, dir, RECIPE_POLICY);
    if (!program_self(trial->self) || !write_recipe(trial))
        return false;
    if (!workdir_file(trial->cache, dir, "../" JUDGE_CACHE) || !workdir_file(trial->teacher_cache, dir, "../" TEACHER_CACHE))
        return false;
    const char *const argv[] = {"lineage",         "run-trial",          "--events",      "3",
                                "--checkpoint",    trial->policy,        "--judge-cache", trial->cache,
                                "--teacher-cache", trial->teacher_cache, trial->file};
    const char *const state[] = {"--state", trial->state, "--state-every", trial->state_every};
    size_t n = sizeof argv / sizeof *argv;
    memcpy(trial->argv, argv, sizeof argv);
    if (trial->state) {
        memcpy(trial->argv + n, state, sizeof state);
        n += sizeof state / sizeof *state;
    }
    if (trial->rollouts) {
        trial->argv[n++] = "--rollouts";
        trial->argv[n++] = trial->rollouts;
    }
    trial->argv[n] = NULL;
    trial->artifact = (struct trial_artifact){trial->policy, trial->recipe->budget.artifact_bytes};
    job->program = trial->self;
    job->argv = trial->argv;
    choose_environment(trial);
    job->environment = trial->environment;
    job->artifacts = &trial->artifact;
    job->n_artifacts = 1;
    return true;
}

/* Writes the share of trajectories that got each of the judge's marks; marks with a share of 0 are left out. */
static void remark_judge(const struct trial_results *results, char *out, size_t size)
{
    static const char *const marks[] = {"judged", "cached", "skipped", "refused", "truncated", "failed"};
    double share, asked, answered, agreed;
    size_t n = strlen(out);
    n += (size_t)snprintf(out + n, size - n, "%sjudge:", n ? "; " : "");
    for (size_t i = 0; i < sizeof marks / sizeof *marks; i++) {
        char name[32];
        snprintf(name, sizeof name, "judge_%s", marks[i]);
        if (trial_results_final(&share, results, name) && share > 0)
            n += (size_t)snprintf(out + n, size - n, " %.4g %s", share, marks[i]);
    }
    if (trial_results_final(&agreed, results, "judge_agreement"))
        n += (size_t)snprintf(out + n, size - n, ", agrees with the rules in %.4g of the steps", agreed);
    if (trial_results_final(&asked, results, "judge_prompt_tokens") &&
        trial_results_final(&answered, results, "judge_completion_tokens"))
        snprintf(out + n, size - n, ", %.0f + %.0f tokens", asked, answered);
}

/* A trial without training has no clip fraction. */
static void remark_scores(const struct recipe_request *trial, const struct trial_results *results, char *out)
{
    double std, greedy, area, entropy, clipped, explained;
    int n = 0;
    if (trial_results_final(&std, results, "em_std") && trial_results_final(&greedy, results, "em_greedy") &&
        trial_results_final(&area, results, "area"))
        n = snprintf(out, TRIAL_TEXT_MAX, "EM std %.4f over %d sampling seeds, greedy %.4f, area under the curve %.4f", std,
                     (int)trial->recipe->evaluation.seeds, greedy, area);
    if (n > 0 && n < TRIAL_TEXT_MAX && trial_results_final(&entropy, results, "entropy") &&
        trial_results_final(&clipped, results, "clip_fraction"))
        n += snprintf(out + n, (size_t)(TRIAL_TEXT_MAX - n), ", entropy %.4f, clip fraction %.4f", entropy, clipped);
    if (n > 0 && n < TRIAL_TEXT_MAX && trial_results_final(&explained, results, "explained_variance"))
        snprintf(out + n, (size_t)(TRIAL_TEXT_MAX - n), ", explained variance %.4f", explained);
}

/* Adds a remark only for a trial that finished; the row of any other trial has the reason of its failure. */
static void remark(void *context, const struct trial_results *results, const struct trial_outcome *outcome, char *out)
{
    const struct recipe_request *trial = context;
    if (outcome->end != TRIAL_FINISHED)
        return;
    remark_scores(trial, results, out);
    if (trial->recipe->judge.endpoint[0])
        remark_judge(results, out, TRIAL_TEXT_MAX);
}

/*
 * Writes "turn-group-v1d on hopworld" for each environment: only the algorithm of the first environment can be a
 * parameter of the row.
 */
static char *describe(const struct trainer_recipe *recipe)
{
    struct cli_writer writer = {0};
    FILE *out = cli_writer_open(&writer);
    for (int32_t i = 0; out && i < recipe->n_tasks; i++)
        fprintf(out, "%s%s on %s", i ? "; " : "", rl_algorithm_at(recipe->tasks[i].algorithm.name)->name,
                trainer_env_name(recipe->tasks[i].env.kind));
    return cli_writer_close(&writer);
}

/* A missing correction only causes a warning, because its effect is often what the user wants to measure. */
static void warn(const struct trainer_recipe *recipe, size_t dropped)
{
    struct trainer_lack lacks[TRAINER_LACKS_MAX];
    size_t n = trainer_recipe_lacks(recipe, lacks);
    char line[256];
    if (dropped > 0) {
        snprintf(line, sizeof line, "%s: warning: %zu settings do not fit into the row; recipe.json has all of them",
                 recipe->name, dropped);
        cli_say(line);
    }
    for (size_t i = 0; i < n; i++) {
        snprintf(line, sizeof line, "%s: warning: without %s: %s", recipe->name, lacks[i].correction, lacks[i].reason);
        cli_say(line);
    }
}

/* What a query can ask about trained trials without their telemetry. */
static const char *const row_metrics[] = {
    "entropy", "clip_fraction", "info_gain_t*", "clip_scale_turn_mean", "clip_scale_turn_std", "env*", NULL};

/*
 * The notes are made before the trial runs, because if there is no memory for them the trial should not train at all.
 */
bool recipe_request_init(struct recipe_request *trial, struct trial_request *request, const struct trainer_recipe *recipe)
{
    struct trial_plan *plan = &request->plan;
    struct trial_identity *identity = &plan->identity;
    *trial = (struct recipe_request){.recipe = recipe, .notes = describe(recipe)};
    recipe_params_fill(&trial->params, recipe, identity->parent && *identity->parent);
    identity->specialist = recipe->name;
    identity->domain = recipe->domain;
    identity->hypothesis = recipe->hypothesis;
    identity->expected_delta = recipe->expected_delta;
    identity->notes = trial->notes;
    plan->score_key = RECIPE_SCORE;
    plan->score_label = "EM";
    plan->final_metrics = row_metrics;
    plan->params = trial->params.at;
    plan->n_params = trial->params.n;
    plan->settings.train_seconds = recipe->budget.train_seconds;
    plan->settings.eval_seconds = recipe->budget.eval_seconds;
    request->prepare = prepare;
    request->remark = remark;
    request->context = trial;
    request->keep_artifact = RECIPE_POLICY;
    if (!request->quiet)
        warn(recipe, trial->params.dropped);
    return trial->notes != NULL;
}

void recipe_request_release(struct recipe_request *trial)
{
    free(trial->notes);
    trial->notes = NULL;
}

/*
 * `train` and `night` create their store, so that a user's first command does not fail for lack of one. A store in which
 * lower is better would keep the worst policies, so the direction is checked every time.
 */

int recipe_store_make(const char *dir)
{
    const struct lineage_config config = {.direction = LINEAGE_HIGHER};
    if (!dir)
        dir = ".";
    int status = cli_is_store(dir) ? CLI_OK : cli_store_create(dir, &config);
    return status == CLI_OK ? CLI_GO_ON : status;
}

int recipe_store_check(struct lineage_store *store)
{
    const char *name = lineage_store_score_name(store);
    struct lineage_error err;
    if (name && strcmp(name, RECIPE_SCORE) != 0 && lineage_store_name_score(store, RECIPE_SCORE, &err) != LINEAGE_OK)
        return cli_fail(&err);
    if (lineage_store_config(store)->direction == LINEAGE_HIGHER)
        return CLI_GO_ON;
    return cli_error(CLI_USAGE,
                     "in the store %s a lower score is better, but trials are scored by EM; give --direction higher or make "
                     "another store with `lineage init --direction higher`",
                     lineage_store_dir(store));
}
