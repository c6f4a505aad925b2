#include "run/command_trial.h"

#include <fts.h>
#include <glob.h>
#include <sys/stat.h>

/* A metric that is held out must not be asked for by another setting, whose use would show it. Returns that setting, or NULL. */
static const char *shows_held_out(const struct command_trial *trial)
{
    const struct {
        const char *key;
        const char *const *texts;
    } lists[] = {{"metric", trial->settings.metrics.names},
                 {"require", trial->settings.require},
                 {"metric-regex", trial->metric_regex},
                 {"metric-file", trial->metric_file}};
    const char *held = trial->settings.held_out;
    char name[METRIC_NAME_BYTES];
    if (trial->settings.score && held_out_is(held, trial->settings.score))
        return "score";
    const char *key = trial->examples ? strrchr(trial->examples, '#') : NULL;
    if (key && held_out_is(held, key + 1))
        return "examples";
    for (size_t i = 0; i < sizeof lists / sizeof *lists; i++)
        for (const char *const *text = lists[i].texts; text && *text; text++) {
            snprintf(name, sizeof name, "%.*s", (int)strcspn(*text, i ? "=<> " : ""), *text);
            if (held_out_is(held, name))
                return lists[i].key;
        }
    return NULL;
}

bool command_trial_check(const struct command_trial *trial, bool sweep, char *why, size_t size)
{
    const char *sealed = sweep ? "sealed_eval" : "--sealed-eval", *held = trial->settings.held_out,
               *shown = held ? shows_held_out(trial) : NULL;
    if (held && (!*held || strlen(held) >= METRIC_NAME_BYTES || strcmp(held, "score") == 0))
        snprintf(why, size, "%s '%.80s': use the name of a metric, which is not the score and has at most %d bytes",
                 sweep ? "held_out" : "--held-out", held, METRIC_NAME_BYTES - 1);
    else if (shown)
        snprintf(why, size, "%s '%.63s' is also named by %s, which would show it", sweep ? "held_out" : "--held-out", held,
                 shown);
    else if (trial->examples && trial->seeds > 1)
        snprintf(why, size,
                 "%s and several seeds exclude each other: a trial has one value for each example; run each seed as a trial",
                 sweep ? "examples" : "--examples");
    else if (trial->decide_by && !trial->examples)
        snprintf(why, size, "%s needs %s, the file of their scores", sweep ? "decide_by" : "--decide-by",
                 sweep ? "examples" : "--examples");
    else if (trial->decide_by && trial->sealed_eval)
        snprintf(why, size, "%s and %s exclude each other: the trial itself has written the file",
                 sweep ? "decide_by" : "--decide-by", sealed);
    else if (trial->sealed_eval && trial->eval)
        snprintf(why, size, "%s and %s exclude each other", sweep ? "eval" : "--eval", sealed);
    else if (trial->sealed_eval && !(trial->protect && trial->protect[0]))
        snprintf(why, size, "%s needs %s: the files of the evaluator, which is all that it finds", sealed,
                 sweep ? "protect" : "--protect");
    else if (!sweep && trial->sandbox_write && trial->sandbox_write[0] && !trial->sandbox) /* a night may add it to a sweep */
        snprintf(why, size, "--sandbox-write needs --sandbox");
    else if (!sweep && trial->sandbox_read && trial->sandbox_read[0] && !trial->sandbox)
        snprintf(why, size, "--sandbox-read needs --sandbox");
    else
        return true;
    return false;
}

void *command_trial_own(struct command_trial *trial, void *memory)
{
    void **grown = memory ? realloc(trial->owned, (trial->n_owned + 1) * sizeof *grown) : NULL;
    if (!grown) {
        free(memory);
        return NULL;
    }
    trial->owned = grown;
    return trial->owned[trial->n_owned++] = memory;
}

static bool is_in_force(const struct lineage_param *params, size_t n, const char *name, const char *const *seeds)
{
    for (size_t i = 0; i < n; i++)
        if (strcmp(params[i].name, name) == 0)
            return true;
    return !lineage_param_is_inherited(name, seeds);
}

/* Adds what the ancestor has set and no nearer trial. */
static bool add_inherited(struct command_trial *trial, struct lineage_param **params, size_t *n,
                          const struct lineage_trial *ancestor, const char *const *seeds)
{
    struct lineage_param *grown = realloc(*params, (*n + ancestor->n_params + 1) * sizeof *grown);
    bool good = grown != NULL;
    if (grown)
        *params = grown;
    for (size_t i = 0; good && i < ancestor->n_params; i++) {
        const struct lineage_param *from = &ancestor->params[i];
        if (is_in_force(grown, *n, from->name, seeds))
            continue;
        grown[*n] = *from;
        good = (grown[*n].name = command_trial_own(trial, strdup(from->name))) &&
               (!from->text || (grown[*n].text = command_trial_own(trial, strdup(from->text))));
        *n += good;
    }
    return good;
}

/* A log that anybody can edit may have a cycle of parents. */
enum { ANCESTORS_MAX = 1000 };

bool command_trial_inherit(struct command_trial *trial, struct lineage_store *store, const char *parent)
{
    struct lineage_param *params = calloc(trial->n_params + 1, sizeof *params);
    struct lineage_trial ancestor = {0}, next = {0};
    size_t n = trial->n_params;
    bool good = params != NULL;
    if (params && n)
        memcpy(params, trial->params, n * sizeof *params);
    for (int depth = 0; good && depth < ANCESTORS_MAX && parent && *parent; depth++) {
        if (lineage_find(store, parent, &next, NULL) != LINEAGE_OK)
            break;
        lineage_trial_release(&ancestor);
        ancestor = next;
        next = (struct lineage_trial){0};
        good = add_inherited(trial, &params, &n, &ancestor, lineage_store_seeds(store));
        parent = ancestor.parent_exp;
    }
    lineage_trial_release(&ancestor);
    trial->in_force = command_trial_own(trial, params);
    trial->n_in_force = trial->in_force ? n : 0;
    return good && trial->in_force;
}

void command_trial_release(struct command_trial *trial)
{
    for (size_t i = 0; i < trial->n_owned; i++)
        free(trial->owned[i]);
    free(trial->owned);
    *trial = (struct command_trial){0};
}

/*
 * Returns the size of a file, or of all files below a directory. A link that the pattern itself matches is followed;
 * links below a directory are not.
 */
static double bytes_of(char *path)
{
    char *const paths[] = {path, NULL};
    double bytes = 0;
    FTS *tree = fts_open(paths, FTS_COMFOLLOW | FTS_PHYSICAL | FTS_NOCHDIR, NULL);
    for (FTSENT *entry; tree && (entry = fts_read(tree));)
        if (entry->fts_info == FTS_F)
            bytes += (double)entry->fts_statp->st_size;
    if (tree)
        fts_close(tree);
    return bytes;
}

static void judge(struct trial_outcome *outcome, const struct command_artifact *artifact, const struct command_values *values)
{
    char *pattern = placeholders_replace(artifact->glob, values);
    glob_t found = {0};
    if (!pattern || glob(pattern, 0, NULL, &found) != 0) {
        outcome->end = TRIAL_FAILED;
        snprintf(outcome->text, sizeof outcome->text, "it did not leave %.400s behind", artifact->glob);
    }
    for (size_t i = 0; i < found.gl_pathc && outcome->end == TRIAL_FINISHED && artifact->max_bytes > 0; i++) {
        double bytes = bytes_of(found.gl_pathv[i]);
        if (bytes <= artifact->max_bytes)
            continue;
        outcome->end = TRIAL_ARTIFACT_OVERRUN;
        snprintf(outcome->text, sizeof outcome->text, "%.400s has %.0f bytes, %.0f are allowed", found.gl_pathv[i], bytes,
                 artifact->max_bytes);
    }
    globfree(&found);
    free(pattern);
}

void command_artifacts_judge(struct trial_outcome *outcome, const struct command_trial *trial,
                             const struct command_values *values)
{
    for (size_t i = 0; i < trial->n_artifacts && outcome->end == TRIAL_FINISHED; i++)
        judge(outcome, &trial->artifacts[i], values);
}
