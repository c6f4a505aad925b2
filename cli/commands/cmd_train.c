/* cmd_train.c: `lineage train`: trains by a recipe and records the trial. */
#include <unistd.h>

#include "recipe/recipe_source.h"
#include "output/show.h"
#include "recipe/recipe_request.h"
#include "support/launchers.h"
#include "run/run_parts.h"

struct train_options {
    struct cli_session session;
    char *hypothesis, *expected_delta, *parent, *checkpoint, *seed, *iterations, *threads, *state, *every, *rollouts;
    char **sets;
    int baseline, quiet;

    struct recipe_source source;
    struct trainer_recipe recipe;
    struct origin origin;
    struct recipe_request trial;
    char refused[TRAINER_ERROR_TEXT_MAX + 32];
};

/* Sets a text, not JSON, so that a hypothesis which looks like a number stays a text. */
static bool set_text(struct train_options *o, const char *setting, const char *text)
{
    return !text || recipe_source_set(&o->source, setting, text, true);
}

static bool set_count(struct train_options *o, const char *setting, const char *text)
{
    size_t count;
    return !text || (cli_count_parse(&count, setting, text) && recipe_source_set(&o->source, setting, text, false));
}

/* Applies --set first, so that options for a single setting override it. */
static bool change_recipe(struct train_options *o)
{
    for (char **set = o->sets; set && *set; set++)
        if (!recipe_source_assign(&o->source, *set))
            return false;
    return set_text(o, "hypothesis", o->hypothesis) && set_text(o, "expected_delta", o->expected_delta) &&
           set_text(o, "start.checkpoint", o->checkpoint) && set_count(o, "seed", o->seed) &&
           set_count(o, "iterations", o->iterations) && set_count(o, "threads", o->threads);
}

/* If the parent has no checkpoint and --checkpoint names no file, the trial cannot start; like any such trial it gets a
 * row that states the reason. */
static int find_parent(struct train_options *o)
{
    struct lineage_error err;
    if (origin_of_trial(&o->origin, o->session.store, o->parent, &err) != LINEAGE_OK)
        return cli_fail(&err);
    if (!o->origin.checkpoint[0] && !o->checkpoint)
        snprintf(o->refused, sizeof o->refused, "no checkpoint to start from: %s", o->origin.why);
    return CLI_GO_ON;
}

/* If the checkpoint is in one of this store's snapshots, its trial is the parent. */
static int find_parent_of_checkpoint(struct train_options *o)
{
    struct lineage_error err;
    if (!o->recipe.checkpoint[0])
        return CLI_GO_ON;
    if (origin_of_checkpoint(&o->origin, o->session.store, o->recipe.checkpoint, &err) != LINEAGE_OK)
        return cli_fail(&err);
    return CLI_GO_ON;
}

/* A wrong recipe is the user's mistake, so it gives exit status 2 and no row, as in `night`. */
static int parse_recipe(struct train_options *o)
{
    struct trainer_error err;
    if (recipe_source_parse(&o->source, &o->recipe, &err) == TRAINER_OK)
        return CLI_GO_ON;
    return cli_error(err.status == TRAINER_ENOMEM ? CLI_SYSTEM : CLI_USAGE, "%s", err.text);
}

/* Reads the recipe before a store is created, so that a refused recipe leaves nothing behind. */
static int read_recipe(struct cli_session *session, void *context)
{
    struct train_options *o = context;
    if (launchers_check_copies() != CLI_GO_ON || !recipe_source_open(&o->source, session->args.positional[0]) ||
        !change_recipe(o))
        return CLI_USAGE;
    int status = parse_recipe(o);
    return status == CLI_GO_ON ? recipe_store_make(session->where.dir) : status;
}

/* --checkpoint wins over the parent's own checkpoint. The recipe is parsed again, because the checkpoint is checked too
 * and becomes part of the snapshot. */
static int start_from_parent(struct train_options *o)
{
    if (!o->origin.checkpoint[0] || o->checkpoint)
        return CLI_GO_ON;
    return set_text(o, "start.checkpoint", o->origin.checkpoint) ? parse_recipe(o) : CLI_USAGE;
}

/* Prints only the exp_id on standard output, so that `id=$(lineage train ..)` works; the reason of a failure goes to
 * standard error. Returns 1 if the trial failed (its row is written all the same), and 130 after an interruption, as
 * shells do. */
static int report(const struct train_options *o, const struct trial_outcome *outcome, const struct lineage_trial *row)
{
    int shown = CLI_OK;
    if (o->session.format_text)
        shown = cli_show_trial(row, NULL, o->session.format, NULL);
    else
        puts(row->exp_id);
    if (outcome->end != TRIAL_FINISHED)
        cli_error(CLI_NO, "%s: %s", lineage_label_name(row->status), outcome->reason);
    if (outcome->end == TRIAL_INTERRUPTED)
        return CLI_INTERRUPTED;
    return outcome->end == TRIAL_FINISHED ? shown : CLI_NO;
}

/* Continues with the kernels of the interrupted run, because other kernels give other bits. A vector level that the
 * user chose is kept. */
static void use_kernels_of_state(const char *path)
{
    char was[TRAINER_KERNELS_MAX], is[TRAINER_KERNELS_MAX];
    struct trainer_error err;
    trainer_kernels(is);
    if (trainer_state_kernels(path, was, &err) != TRAINER_OK || strcmp(was, is) == 0)
        return;
    bool chosen = getenv(VECTOR_LEVEL) != NULL, same = !chosen && blas_env_use_kernels(was);
    cli_tell(same ? "goes on with the kernels of the state: %s"
                  : "bits may differ: the state was computed with %s, and this goes on with %s",
             was, is);
}

/* Refuses the state of another recipe before the trial starts, because a typing error should not become a row. */
static int look_at_state(struct train_options *o)
{
    struct trainer_error err;
    int32_t behind;
    size_t every;
    if (o->rollouts && !o->state && access(o->rollouts, F_OK) == 0)
        return cli_error(CLI_USAGE, "--rollouts '%s' exists already; name a new file", o->rollouts);
    if (!o->state)
        return o->every ? cli_error(CLI_USAGE, "--save-every needs --resume FILE") : CLI_GO_ON;
    if (o->every && !cli_count_parse(&every, "--save-every", o->every))
        return CLI_USAGE;
    if (o->every && every > INT32_MAX)
        return cli_error(CLI_USAGE, "--save-every must be at most %d", INT32_MAX);
    enum trainer_status status = trainer_state_read(o->state, &o->recipe, &behind, &err);
    if (status == TRAINER_OK)
        use_kernels_of_state(o->state);
    if (status == TRAINER_OK || status == TRAINER_ENOTFOUND)
        return CLI_GO_ON;
    return cli_error(status == TRAINER_ENOMEM || status == TRAINER_EIO ? CLI_SYSTEM : CLI_USAGE, "%s", err.text);
}

/* Signals are held from before the child starts until its row is written, so that an interruption in between is
 * recorded too. */
static int run_trial(struct train_options *o)
{
    struct interrupts interrupts;
    struct trial_outcome outcome;
    struct lineage_trial row = {0};
    struct trial_request request = {
        .plan.identity = {.parent = o->origin.exp_id, .baseline = o->baseline, .name = o->recipe.name},
        .refused = o->refused[0] ? o->refused : NULL,
        .quiet = o->quiet,
        .interrupts = &interrupts};
    if (!recipe_request_init(&o->trial, &request, &o->recipe))
        return cli_no_memory();
    o->trial.state = o->state;
    o->trial.rollouts = o->rollouts;
    o->trial.state_every = o->every ? o->every : "10";
    int status = interrupts_hold(&interrupts) ? trial_run_and_append(o->session.store, &request, &outcome, &row) : CLI_SYSTEM;
    if (status == CLI_GO_ON && o->state && outcome.end == TRIAL_FINISHED)
        unlink(o->state); /* the trial has a row and a checkpoint, so its state is no longer needed */
    if (status == CLI_GO_ON)
        status = report(o, &outcome, &row);
    interrupts_release(&interrupts);
    lineage_trial_release(&row);
    recipe_request_release(&o->trial);
    return status;
}

/* Checks the direction first: in a store where lower is better, training makes no sense. */
static int work(struct cli_session *session, void *context)
{
    struct train_options *o = context;
    int status = recipe_store_check(session->store);
    if (status == CLI_GO_ON)
        cli_deliver_waiting(session->store);
    if (status == CLI_GO_ON)
        status = abandoned_trials_record(session->store);
    if (status == CLI_GO_ON)
        status = o->parent ? find_parent(o) : find_parent_of_checkpoint(o);
    if (status == CLI_GO_ON && o->parent)
        status = start_from_parent(o);
    if (status == CLI_GO_ON)
        status = look_at_state(o);
    return status == CLI_GO_ON ? run_trial(o) : status;
}

/* Reads numbers as text, because popt's numbers are signed and not checked for a range, and its messages do not say
 * which values are allowed. */
static int run_train(struct train_options *o, const struct cli_command *command, int argc, const char **argv)
{
    struct poptOption options[] = {
        CLI_SESSION_OPTIONS(&o->session),
        CLI_OPTION("hypothesis", &o->hypothesis, "TEXT", "what is tried and why"),
        CLI_OPTION("expected-delta", &o->expected_delta, "TEXT", "expected improvement"),
        CLI_OPTION("parent", &o->parent, "ID|best", "start from the checkpoint of this trial"),
        CLI_OPTION("checkpoint", &o->checkpoint, "FILE", "start from this checkpoint"),
        CLI_OPTION("seed", &o->seed, "N", "seed of the trial (default: the recipe's)"),
        CLI_OPTION("iterations", &o->iterations, "N", "iterations of training (default: the recipe's)"),
        CLI_OPTION("threads", &o->threads, "N", "threads; 0: all processors (default: the recipe's)"),
        CLI_REPEATED("set", &o->sets, "NAME=VALUE", "set any setting of the recipe; may be repeated"),
        CLI_OPTION("resume", &o->state, "FILE", "save the run's state in FILE, and continue from it if it exists"),
        CLI_OPTION("save-every", &o->every, "N", "save the state every N iterations (default: 10)"),
        CLI_OPTION("rollouts", &o->rollouts, "FILE",
                   "write the token streams of all rollouts to this new file, one rollout per line"),
        CLI_FLAG("baseline", &o->baseline, "label a finished trial baseline"),
        {"quiet", 'q', POPT_ARG_NONE, &o->quiet, 0, "show no progress", NULL},
        CLI_INPUT_OPTION,
        POPT_TABLEEND};
    o->session.before_open = read_recipe;
    int status = cli_on_store(&o->session, command, options, 1, 1, argc, argv, work, o);
    recipe_source_release(&o->source);
    origin_release(&o->origin);
    return status;
}

static int run(const struct cli_command *command, int argc, const char **argv)
{
    static struct train_options chosen;
    return run_train(&chosen, command, argc, argv);
}

const struct cli_command cmd_train = {
    .name = "train",
    .arguments = "RECIPE",
    .description = "Trains in a child process, within the budgets of the recipe, and appends a row with a\n"
                   "label: keep or discard according to the score (EM, decided like --status auto of append),\n"
                   "or the way in which it failed: crash, train_budget_overrun, eval_budget_overrun,\n"
                   "size_blocked, preflight_crash, or harness_abort after an interruption. The row contains\n"
                   "the settings, the clip scale and the information gain by turn; telemetry contains every\n"
                   "step; the snapshot of a kept trial contains recipe.json and policy.ckpt. The parent is\n"
                   "the trial that the checkpoint came from. Creates the store if there is none. Prints the\n"
                   "exp_id. Exit status: 0 measured, 1 failed but recorded, 130 interrupted.\n\n"
                   "If the sampler differs from the learner (sampler.*) or the policy routes tokens\n"
                   "(model.experts.*), the recipe is compared with the core's plan of corrections. Missing\n"
                   "corrections are reported as warnings (not with --quiet), and the trial runs.\n\n"
                   "--set takes a setting by its name in rows (lr, alpha, k_max) or by its path in the recipe\n"
                   "(schema/recipe.schema.json), with a value in JSON or a text: lr=1e-4, loss.name=gspo,\n"
                   "environments[0].algorithm.alpha=0.9. A setting of environments without an index applies\n"
                   "to all. If the recipe or a setting is refused, the exit status is 2 and no row is\n"
                   "written.\n\n"
                   "With --resume, repeating the command continues an interrupted trial, which ends with the\n"
                   "same checkpoint and score as without the interruption. Its row says resumed_after, and\n"
                   "its telemetry begins there. The file is removed when the trial is measured. Training time\n"
                   "before the interruption counts.",
    .examples = "  lineage train recipe.json -C runs/hop --hypothesis 'wider clip'\n"
                "  lineage train recipe.json -C runs/hop --parent best --seed 2 \\\n"
                "      --set algorithm.name=turn-group-v1d --set alpha=0.9",
    .run = run,
};
