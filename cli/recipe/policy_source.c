/*
 * The argument is a directory, a file (its first character tells a recipe from a checkpoint), or else the id of a
 * trial. The checks are in this order because the first kinds can be recognized with certainty.
 */
#include <sys/stat.h>
#include <unistd.h>

#include <lineage/render.h>
#include <lineage/snapshot.h>

#include "recipe/address_space.h"
#include "recipe/policy_source.h"
#include "trial/progress.h"
#include "recipe/recipe_source.h"
#include "recipe/recipe_request.h"

/* Exit status 3 for errors of memory and disk, 2 for errors of files and settings. */
int policy_fail(const struct trainer_error *err)
{
    bool system = err->status == TRAINER_ENOMEM || err->status == TRAINER_EIO;
    return cli_error(system ? CLI_SYSTEM : CLI_USAGE, "%s", err->text);
}

struct found {
    char recipe[PATH_MAX];     /* "": the defaults */
    char checkpoint[PATH_MAX]; /* "": the recipe's own checkpoint */
};

/*
 * Finds a file beside the checkpoint. An unreadable file counts as missing, which is not an error because the user did
 * not name the file.
 */
static void beside(char out[PATH_MAX], const char *dir, size_t length, const char *name)
{
    snprintf(out, PATH_MAX, "%.*s%s", (int)length, dir, name);
    if (access(out, R_OK) != 0)
        out[0] = '\0';
}

static int find_in_directory(struct found *found, const char *dir)
{
    char slash[PATH_MAX];
    snprintf(slash, sizeof slash, "%.*s/", PATH_MAX - 32, dir);
    beside(found->recipe, slash, strlen(slash), RECIPE_FILE);
    beside(found->checkpoint, slash, strlen(slash), RECIPE_POLICY);
    if (!found->recipe[0] || !found->checkpoint[0])
        return cli_error(CLI_USAGE, "%s holds no " RECIPE_FILE " with " RECIPE_POLICY, dir);
    return CLI_GO_ON;
}

/* A recipe is a JSON object and begins with a brace; a checkpoint begins with its magic number. */
static int find_by_file(struct found *found, const char *path)
{
    size_t length;
    char *text = cli_read_all(path, &length);
    if (!text)
        return CLI_USAGE;
    bool recipe = text[strspn(text, " \t\r\n")] == '{';
    free(text);
    snprintf(recipe ? found->recipe : found->checkpoint, PATH_MAX, "%s", path);
    const char *slash = strrchr(path, '/');
    if (!recipe)
        beside(found->recipe, path, slash ? (size_t)(slash - path) + 1 : 0, RECIPE_FILE);
    return CLI_GO_ON;
}

static int find_snapshot(struct found *found, struct lineage_store *store, const char *id)
{
    struct lineage_trial trial = {0};
    struct lineage_error err;
    char *snapshot = NULL;
    int status = CLI_GO_ON;
    if (lineage_find(store, id, &trial, &err) != LINEAGE_OK)
        status = cli_error(CLI_USAGE, "no file %s, and %s", id, err.text);
    else if (lineage_snapshot_path(&snapshot, store, &trial, &err) != LINEAGE_OK)
        status = cli_fail(&err);
    if (status == CLI_GO_ON)
        status = find_in_directory(found, snapshot);
    lineage_free(snapshot);
    lineage_trial_release(&trial);
    return status;
}

/*
 * Opens the store without its mirror, because a policy can be shown where nothing can be written. A name with a slash
 * was meant as a path, so for such a name the message does not mention trials.
 */
static int find_by_trial(struct found *found, const char *dir, const char *id)
{
    const struct lineage_open_options options = {.no_mirror = true};
    struct lineage_store *store;
    struct lineage_error err;
    if (strchr(id, '/') || lineage_store_open(&store, dir, &options, &err) != LINEAGE_OK)
        return cli_error(CLI_USAGE, "no file %s, and no trial of that id", id);
    int status = find_snapshot(found, store, id);
    lineage_store_close(store);
    return status;
}

/*
 * --recipe and --checkpoint override the files that were found, so that a trial's recipe can be tried with another
 * policy.
 */
static int find(struct found *found, const struct policy_source *source, const char *what)
{
    struct stat st;
    int status;
    if (stat(what, &st) != 0)
        status = find_by_trial(found, source->store ? source->store : ".", what);
    else if (S_ISDIR(st.st_mode))
        status = find_in_directory(found, what);
    else
        status = find_by_file(found, what);
    if (source->recipe_file)
        snprintf(found->recipe, PATH_MAX, "%s", source->recipe_file);
    if (source->checkpoint)
        snprintf(found->checkpoint, PATH_MAX, "%s", source->checkpoint);
    return status;
}

/*
 * A checkpoint without a recipe still has the sizes of its policy. These sizes are written as the text of a recipe, so
 * that --set works as with a file and the same checks apply. 17 digits preserve rope_base exactly.
 */
static int recipe_of_checkpoint(struct recipe_source *text, const char *checkpoint)
{
    struct trainer_checkpoint header;
    struct trainer_error err;
    if (trainer_checkpoint_load(checkpoint, &header, NULL, 0, &err) != TRAINER_OK)
        return policy_fail(&err);
    const struct trainer_model *model = &header.model;
    json_t *root = json_pack("{s:{s:i, s:i, s:i, s:i, s:f, s:b}}", "model", "width", (int)model->width, "layers",
                             (int)model->layers, "heads", (int)model->heads, "mlp", (int)model->mlp, "rope_base",
                             model->rope_base, "previous_token", (int)model->previous_token);
    *text = (struct recipe_source){.name = checkpoint};
    text->text = root ? json_dumps(root, JSON_REAL_PRECISION(17)) : NULL;
    text->length = text->text ? strlen(text->text) : 0;
    json_decref(root);
    return text->text ? CLI_GO_ON : cli_no_memory();
}

/* --threads is also applied as a setting of the recipe, because the table of settings checks its range. */
static int change(const struct policy_source *source, struct recipe_source *text)
{
    size_t threads;
    for (char **set = source->sets; set && *set; set++)
        if (!recipe_source_assign(text, *set))
            return CLI_USAGE;
    if (source->threads &&
        (!cli_count_parse(&threads, "threads", source->threads) || !recipe_source_set(text, "threads", source->threads, false)))
        return CLI_USAGE;
    return CLI_GO_ON;
}

/*
 * Checks address space before the parameters are allocated, because without enough of it the allocation would crash.
 * These commands need about as many bytes as the policy has.
 */
static int read_recipe(struct policy_source *source, const struct found *found)
{
    struct recipe_source text = {0};
    struct trainer_error err;
    int status = CLI_GO_ON;
    if (!found->recipe[0])
        status = recipe_of_checkpoint(&text, found->checkpoint);
    else if (!recipe_source_open(&text, found->recipe))
        status = CLI_USAGE;
    text.recorded = true;
    if (status == CLI_GO_ON)
        status = change(source, &text);
    if (status == CLI_GO_ON && recipe_source_parse(&text, &source->recipe, &err) != TRAINER_OK)
        status = policy_fail(&err);
    recipe_source_release(&text);
    if (status == CLI_GO_ON &&
        address_space_suffices(&source->recipe, trainer_artifact_bytes(&source->recipe), &err) != TRAINER_OK)
        status = policy_fail(&err);
    return status;
}

struct warming {
    struct progress progress;
    struct recipe_events wire;
    struct interrupts interrupts;
};

/* Shows an event of the warm start. Progress reads JSON lines, so the event is converted as in a child process. */
static void show(struct warming *warming, const struct trainer_event *event)
{
    struct trial_event shown;
    json_t *line = recipe_events_event(&warming->wire, event);
    char *text = json_dumps(line, JSON_COMPACT);
    json_t *read = text ? event_line_read(&shown, text, strlen(text), NULL) : NULL;
    if (read)
        progress_event(&warming->progress, &shown);
    json_decref(read);
    free(text);
    json_decref(line);
}

static bool on_event(void *context, const struct trainer_event *event)
{
    struct warming *warming = context;
    if (event->kind == TRAINER_EVENT_WARM)
        show(warming, event);
    return !interrupts_came(&warming->interrupts);
}

/*
 * The evaluation cannot be omitted, so it is reduced to one question. Signals are caught, because a warm start takes
 * minutes and its temporary file must be removed.
 */
static enum trainer_status warm_up(const struct trainer_recipe *recipe, const char *checkpoint, struct trainer_error *err)
{
    struct warming warming = {.wire = {0}};
    struct trainer_recipe warm = *recipe;
    struct trainer_run_options options = {.checkpoint = checkpoint, .event = on_event, .context = &warming};
    warm.training.iterations = 0;
    warm.evaluation.questions = warm.evaluation.seeds = 1;
    if (!interrupts_hold(&warming.interrupts))
        return err->status = TRAINER_EIO;
    progress_begin(&warming.progress, "no checkpoint, so first the warm start", NULL, false);
    enum trainer_status status = trainer_run(&warm, &options, err);
    progress_end(&warming.progress);
    interrupts_release(&warming.interrupts);
    return status;
}

/*
 * The policy is passed through a file, as in a trial. The file is removed before the policy is used, so a command that
 * is killed later leaves nothing in /tmp.
 */
static int train_warm_start(struct policy_source *source)
{
    const char *tmp = getenv("TMPDIR");
    struct trainer_error err = {0};
    char path[PATH_MAX];
    snprintf(path, sizeof path, "%.*s/lineage-warm-XXXXXX", PATH_MAX - 64, tmp && *tmp ? tmp : "/tmp");
    int fd = mkstemp(path);
    if (fd < 0)
        return cli_error(CLI_SYSTEM, "cannot make a file in %s", tmp && *tmp ? tmp : "/tmp");
    close(fd);
    enum trainer_status status = warm_up(&source->recipe, path, &err);
    if (status == TRAINER_OK)
        status = trainer_checkpoint_load_as(path, &source->recipe.model, source->params, &source->steps, &err);
    unlink(path);
    if (status == TRAINER_ESTOPPED)
        return CLI_INTERRUPTED;
    return status == TRAINER_OK ? CLI_GO_ON : policy_fail(&err);
}

/*
 * The shape of the policy comes from the recipe. A checkpoint of another shape is refused with a message that names the
 * differing size.
 */
static int load_policy(struct policy_source *source, const char *checkpoint)
{
    struct trainer_error err;
    source->params = malloc(trainer_model_parameters(&source->recipe.model) * sizeof *source->params);
    if (!source->params)
        return cli_no_memory();
    snprintf(source->path, sizeof source->path, "%s", checkpoint[0] ? checkpoint : source->recipe.checkpoint);
    if (!source->path[0])
        return train_warm_start(source);
    if (trainer_checkpoint_load_as(source->path, &source->recipe.model, source->params, &source->steps, &err) != TRAINER_OK)
        return policy_fail(&err);
    return CLI_GO_ON;
}

int policy_source_open(struct policy_source *source, const char *what)
{
    struct found found = {"", ""};
    int status = find(&found, source, what);
    if (status == CLI_GO_ON)
        status = read_recipe(source, &found);
    if (status == CLI_GO_ON)
        status = load_policy(source, found.checkpoint);
    return status;
}

void policy_source_release(struct policy_source *source)
{
    free(source->params);
    source->params = NULL;
}

/* Releases the source itself, so that no command can forget to do so. */
int policy_command_run(struct policy_source *source, const struct cli_command *command, struct poptOption *options, int argc,
                       const char **argv, policy_work_fn *work, void *context)
{
    struct cli_args args;
    int status = cli_parse(&args, command, options, 1, 1, argc, argv);
    if (status == CLI_GO_ON)
        status = work(context, args.positional[0]);
    policy_source_release(source);
    cli_args_release(&args);
    return status;
}
