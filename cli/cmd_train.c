/* cmd_train.c: `lineage train`. */
#include <stdlib.h>
#include <string.h>

#include <lineage/text.h>

#include "cli.h"
#include "origin.h"
#include "recipe_source.h"
#include "show.h"
#include "trial.h"
#include "trial_store.h"

struct train_options {
    struct cli_session session;
    char *hypothesis, *expected_delta, *parent, *checkpoint, *seed, *iterations, *threads;
    char **sets;
    int baseline, quiet;

    struct recipe_source source;
    struct trainer_recipe recipe;
    struct trainer_error recipe_error;
    struct origin origin;
    char specialist[TRAINER_NAME_MAX];
    char refused[TRAINER_ERROR_TEXT_MAX + 32];
};

static bool set_text(struct train_options *o, const char *path, const char *text)
{
    return !text || recipe_source_set(&o->source, path, cli_json_text(text));
}

static bool set_count(struct train_options *o, const char *path, const char *option,
                      const char *text)
{
    size_t count;
    return !text || (cli_count_parse(&count, option, text) &&
                     recipe_source_set(&o->source, path, json_integer((json_int_t)count)));
}

/* --set first, so that the options with names of their own win. */
static bool change_recipe(struct train_options *o)
{
    for (char **set = o->sets; set && *set; set++)
        if (!recipe_source_assign(&o->source, *set))
            return false;
    if (o->origin.checkpoint[0] && !set_text(o, "start.checkpoint", o->origin.checkpoint))
        return false;
    return set_text(o, "hypothesis", o->hypothesis) &&
           set_text(o, "expected_delta", o->expected_delta) &&
           set_text(o, "start.checkpoint", o->checkpoint) &&
           set_count(o, "seed", "seed", o->seed) &&
           set_count(o, "training.iterations", "iterations", o->iterations) &&
           set_count(o, "threads", "threads", o->threads);
}

/* What a recipe that is refused says of itself, as far as it is JSON. */
static const char *said(const struct train_options *o, const char *key)
{
    return json_string_value(json_object_get(o->source.root, key));
}

/* A recipe without a name that can be read is called by its file's, without directory and ending.
 */
static void name_specialist(struct train_options *o, const char *path)
{
    const char *slash = strrchr(path, '/'), *file = slash ? slash + 1 : path;
    const char *name = said(o, "name");
    char *line = cli_text_line(name ? name : file, TRAINER_NAME_MAX / 4);
    snprintf(o->specialist, sizeof o->specialist, "%s", line ? line : "");
    free(line);
    char *dot = name ? NULL : strrchr(o->specialist, '.');
    if (dot && dot != o->specialist)
        *dot = '\0';
}

static int find_parent(struct train_options *o)
{
    struct lineage_error err;
    if (!o->parent)
        return CLI_GO_ON;
    if (origin_of_trial(&o->origin, o->session.store, o->parent, &err) != LINEAGE_OK)
        return cli_fail(&err);
    if (!o->origin.checkpoint[0] && !o->checkpoint)
        snprintf(o->refused, sizeof o->refused, "no checkpoint to start from: %s", o->origin.why);
    return CLI_GO_ON;
}

/* A checkpoint out of this store's snapshots says whose child the trial is. */
static int find_parent_of_checkpoint(struct train_options *o)
{
    struct lineage_error err;
    if (o->parent || !o->recipe.checkpoint[0])
        return CLI_GO_ON;
    if (origin_of_checkpoint(&o->origin, o->session.store, o->recipe.checkpoint, &err) !=
        LINEAGE_OK)
        return cli_fail(&err);
    return CLI_GO_ON;
}

static int read_recipe(struct train_options *o, const char *path)
{
    name_specialist(o, path);
    if (!change_recipe(o))
        return CLI_USAGE;
    if (recipe_source_parse(&o->source, &o->recipe, &o->recipe_error) == TRAINER_OK)
        return find_parent_of_checkpoint(o);
    snprintf(o->refused, sizeof o->refused, "%s", o->recipe_error.text);
    return CLI_GO_ON;
}

static int report(const struct train_options *o, const struct trial_outcome *outcome,
                  const struct lineage_trial *row)
{
    int shown = CLI_OK;
    if (o->session.format_text)
        shown = cli_show_trial(row, o->session.format);
    else
        puts(row->exp_id);
    if (outcome->end != TRIAL_FINISHED)
        cli_error(CLI_NO, "%s: %s", lineage_label_name(row->status), outcome->reason);
    if (outcome->end == TRIAL_INTERRUPTED)
        return CLI_INTERRUPTED;
    return outcome->end == TRIAL_FINISHED ? shown : CLI_NO;
}

static int run_trial(struct train_options *o)
{
    struct interrupts interrupts;
    struct trial_outcome outcome;
    struct lineage_trial row = {0};
    bool readable = o->recipe_error.status == TRAINER_OK;
    struct trial_request request = {.recipe = readable ? &o->recipe : NULL,
                                    .refused = o->refused[0] ? o->refused : NULL,
                                    .context = {.parent = o->origin.exp_id,
                                                .remark = "",
                                                .baseline = o->baseline,
                                                .specialist = o->specialist,
                                                .hypothesis = said(o, "hypothesis"),
                                                .expected_delta = said(o, "expected_delta")},
                                    .name = readable ? o->recipe.name : o->specialist,
                                    .quiet = o->quiet,
                                    .interrupts = &interrupts};
    int status = interrupts_hold(&interrupts)
                     ? trial_run(o->session.store, &request, &outcome, &row)
                     : CLI_SYSTEM;
    if (status == CLI_GO_ON)
        status = report(o, &outcome, &row);
    interrupts_release(&interrupts);
    lineage_trial_release(&row);
    return status;
}

static int work(struct cli_session *session, void *context)
{
    struct train_options *o = context;
    const char *path = session->args.positional[0];
    int status = trial_store_check(session->store);
    if (status == CLI_GO_ON && !recipe_source_open(&o->source, path))
        status = CLI_USAGE;
    if (status == CLI_GO_ON)
        status = find_parent(o);
    if (status == CLI_GO_ON)
        status = read_recipe(o, path);
    if (status == CLI_GO_ON)
        status = run_trial(o);
    recipe_source_release(&o->source);
    origin_release(&o->origin);
    return status;
}

static int run_train(struct train_options *o, const struct cli_command *command, int argc,
                     const char **argv)
{
    struct poptOption options[] = {
        CLI_SESSION_OPTIONS(&o->session),
        {"hypothesis", 0, POPT_ARG_STRING, &o->hypothesis, 0, "what is tried and why", "TEXT"},
        {"expected-delta", 0, POPT_ARG_STRING, &o->expected_delta, 0, "what it is to bring",
         "TEXT"},
        {"parent", 0, POPT_ARG_STRING, &o->parent, 0, "start from this trial's checkpoint",
         "ID|best"},
        {"checkpoint", 0, POPT_ARG_STRING, &o->checkpoint, 0, "start from this file", "FILE"},
        {"seed", 0, POPT_ARG_STRING, &o->seed, 0, "seed of the trial", "N"},
        {"iterations", 0, POPT_ARG_STRING, &o->iterations, 0, "iterations of training", "N"},
        {"threads", 0, POPT_ARG_STRING, &o->threads, 0, "threads (0: all processors)", "N"},
        {"set", 0, POPT_ARG_ARGV, &o->sets, 0, "any setting of the recipe; may be repeated",
         "PATH=VALUE"},
        {"baseline", 0, POPT_ARG_NONE, &o->baseline, 0, "label a finished trial baseline", NULL},
        {"quiet", 'q', POPT_ARG_NONE, &o->quiet, 0, "no progress", NULL},
        POPT_TABLEEND};
    o->session.before_open = trial_store_make;
    return cli_on_store(&o->session, command, options, 1, 1, argc, argv, work, o);
}

static int run(const struct cli_command *command, int argc, const char **argv)
{
    struct train_options *o = calloc(1, sizeof *o);
    if (!o)
        return cli_error(CLI_SYSTEM, "out of memory");
    int status = run_train(o, command, argc, argv);
    free(o);
    return status;
}

const struct cli_command cmd_train = {
    .name = "train",
    .arguments = "RECIPE",
    .summary = "train by a recipe and record the trial",
    .description =
        "Trains in a child process, within the budgets of the recipe, and appends a row: keep or\n"
        "discard by the score (EM, as --status auto of append decides), or why it failed: crash,\n"
        "train_budget_overrun, eval_budget_overrun, size_blocked, preflight_crash, and\n"
        "harness_abort after an interruption. The row names the settings and holds clip scale and\n"
        "information gain by turn; telemetry holds every step, the snapshot of a kept trial its\n"
        "recipe.json and policy.ckpt. The parent is the trial that the checkpoint came from. The\n"
        "store is made if there is none. Prints the exp_id. Exit status: 0 measured, 1 failed but\n"
        "recorded, 130 interrupted.\n"
        "\n"
        "--set takes a path in the recipe (schema/recipe.schema.json) and JSON or text:\n"
        "training.learning_rate=1e-4, environments[0].algorithm.alpha=0.9; algorithm.alpha and\n"
        "env.k_min mean all environments.",
    .examples = "  lineage train recipe.json -C runs/hop --hypothesis 'wider clip'\n"
                "  lineage train recipe.json -C runs/hop --parent best --seed 2 \\\n"
                "      --set algorithm.name=turn-group-v1d --set algorithm.alpha=0.9",
    .run = run,
};
