/* cmd_rerun.c: `lineage rerun`: repeats a command's trial from its provenance. */
#include <fcntl.h>
#include <sys/stat.h>
#include <unistd.h>

#include <lineage/evidence.h>
#include <lineage/render.h>
#include <lineage/snapshot.h>
#include <lineage/text.h>

#include "git/git.h"
#include "night/night.h"
#include "run/run_parts.h"
#include "support/blas_env.h"

struct rerun {
    struct cli_session session;
    int here, quiet;
    char *seeds;                /* number of fresh seeds; NULL: the same again */
    struct lineage_trial was;
    json_t *run, *origin;       /* run.json of the trial, and of the first trial in its chain of reruns */
    char provenance[PATH_MAX];  /* provenance directory of origin */
    char tree[PATH_MAX];        /* directory made for this run, or "" */
    char dir[PATH_MAX];
    struct command_trial trial;
    char notes[8192], top_id[256];
    char noted[LINEAGE_NAME_MAX + 32 + WHAT_RAN_MAX + 2]; /* `rerun of ID`, and what ran */
    char code[LINEAGE_CODE_NOTE_MAX]; /* the piece of notes that names the code; "": it has none */
    char *parent_snapshot;
    size_t n_params; /* of was.params, that the new row has */
    char first_id[LINEAGE_NAME_MAX], name[LINEAGE_NAME_MAX + 32];
    char said[512]; /* what all runs of the trial say */
    const char *cannot; /* why it cannot start; NULL: it can, as far as is known */
};

/* A rerun uses the code of the trial that it repeats. */
static int find_origin(struct rerun *o)
{
    char id[LINEAGE_NAME_MAX];
    snprintf(id, sizeof id, "%s", o->was.exp_id);
    o->origin = json_incref(o->run);
    if (!provenance_origin(&o->origin, id, o->session.store))
        return cli_error(CLI_USAGE, "the provenance of %s, of which this is a rerun, is missing", id);
    return provenance_path(o->provenance, o->session.store, id) ? CLI_GO_ON
                                                                : cli_error(CLI_USAGE, "the provenance of %s is missing", id);
}

/* Returns the directory of the original command relative to the top of its repository, with a leading slash; "" for the
 * top. */
static const char *below_top(const struct rerun *o)
{
    const char *dir = cli_json_string(o->origin, "directory");
    const char *top = cli_json_string(json_object_get(o->origin, "git"), "top");
    size_t n = top ? strlen(top) : 0;
    return dir && top && strncmp(dir, top, n) == 0 && (dir[n] == '/' || !dir[n]) ? dir + n : "";
}

/* git keeps no empty directories, but the command may have worked in one. If creating the directory fails, starting the
 * command reports it. */
static void make_missing(char *dir, size_t from)
{
    for (char *slash = dir + from; *slash; slash += strcspn(slash, "/")) {
        slash += *slash == '/';
        char *end = slash + strcspn(slash, "/"), after = *end;
        *end = '\0';
        mkdir(dir, 0777);
        *end = after;
    }
}

/* Makes the directory in the store instead of /tmp, because the store has room for trials, and because a directory that
 * a crash left behind is found there. */
static int make_tree(struct rerun *o)
{
    char pattern[PATH_MAX];
    int n = snprintf(pattern, sizeof pattern, "%s/.rerun-XXXXXX", lineage_store_dir(o->session.store));
    if (n < 0 || (size_t)n >= sizeof pattern || !mkdtemp(pattern) || !realpath(pattern, o->tree))
        return cli_error(CLI_SYSTEM, "cannot make a directory in %s: %s", lineage_store_dir(o->session.store), strerror(errno));
    const json_t *git = json_object_get(o->origin, "git");
    bool restored = work_tree_diff_restore(o->provenance, git, o->tree);
    if (!restored && !trial_place_of(git)) /* the repository is elsewhere, which says nothing about the trial */
        return CLI_SYSTEM;
    if (!restored)
        o->cannot = "its commit cannot be checked out with the changes of then";
    n = snprintf(o->dir, sizeof o->dir, "%s%s", o->tree, below_top(o));
    if (n < 0 || (size_t)n >= sizeof o->dir)
        return cli_error(CLI_SYSTEM, "a path is too long");
    make_missing(o->dir, strlen(o->tree));
    return CLI_GO_ON;
}

static int choose_directory(struct rerun *o)
{
    const char *dir = cli_json_string(o->origin, "directory");
    if (!o->here && json_object_get(o->origin, "git"))
        return make_tree(o);
    if (!o->here)
        cli_say("the trial has no recorded repository; using its files in their present state");
    snprintf(o->dir, sizeof o->dir, "%s", dir ? dir : "");
    return access(o->dir, X_OK) == 0 ? CLI_GO_ON : cli_error(CLI_USAGE, "cannot work in %s: %s", o->dir, strerror(errno));
}

/* Puts the files that the trial started with into the work directory. */
static bool fill_workdir(void *context, const char *workdir, char why[TRIAL_TEXT_MAX])
{
    struct rerun *o = context;
    struct lineage_code code = {0};
    struct lineage_error err = {0};
    enum lineage_status status = LINEAGE_OK;
    if (o->cannot) {
        snprintf(why, TRIAL_TEXT_MAX, "%s", o->cannot);
        return false;
    }
    if (o->code[0])
        status = lineage_code_load(&code, o->session.store, &o->was, &err);
    if (o->code[0] && status == LINEAGE_OK)
        status = lineage_code_write(o->session.store, &code, workdir, &err);
    lineage_code_release(&code);
    snprintf(why, TRIAL_TEXT_MAX, "%.500s", err.text);
    return status == LINEAGE_OK;
}

/* A trial of a sweep with files also starts from its parent's snapshot, if the parent has one. */
static int find_start(struct rerun *o)
{
    struct lineage_code_note note;
    struct lineage_trial parent = {0};
    struct lineage_error err;
    if (!lineage_code_note_parse(&note, o->was.notes))
        return CLI_GO_ON;
    lineage_code_note_format(o->code, &note);
    if (!o->was.parent_exp || !*o->was.parent_exp)
        return CLI_GO_ON;
    enum lineage_status status = lineage_find(o->session.store, o->was.parent_exp, &parent, &err);
    if (status == LINEAGE_OK)
        status = lineage_snapshot_path(&o->parent_snapshot, o->session.store, &parent, &err);
    if (status == LINEAGE_ENOTFOUND && parent.snapshot_path && *parent.snapshot_path)
        cli_say(err.text); /* the parent was kept, but its snapshot is gone */
    lineage_trial_release(&parent);
    return status == LINEAGE_OK || status == LINEAGE_ENOTFOUND ? CLI_GO_ON : cli_fail(&err);
}

/* Compares the scores to the last bit, because a repetition has the same seed. A difference is printed together with
 * the noise, which shows whether the difference matters. */
static int compare(const struct rerun *o, const struct lineage_trial *row)
{
    char was[LINEAGE_NUMBER_MAX] = "none", is[LINEAGE_NUMBER_MAX] = "none";
    double noise = lineage_store_config(o->session.store)->noise_std;
    bool both = o->was.score.present && row->score.present;
    bool same = both ? o->was.score.value == row->score.value : o->was.score.present == row->score.present;
    if (o->was.score.present)
        lineage_number_format(was, o->was.score.value);
    if (row->score.present)
        lineage_number_format(is, row->score.value);
    cli_tell("the score of %.60s %s: %s, now %s%s", o->was.exp_id, same ? "came out the same" : "did not come out the same", was,
             is,
             same || !both || noise <= 0                                ? ""
             : fabs(o->was.score.value - row->score.value) <= 2 * noise ? " (within two standard deviations of the noise)"
                                                                        : " (beyond the noise)");
    return same ? CLI_OK : CLI_NO;
}

static int find_row(const struct rerun *o, struct lineage_trial *row)
{
    struct lineage_trial again = {0};
    struct lineage_error err;
    if (lineage_find(o->session.store, row->exp_id, &again, &err) != LINEAGE_OK)
        return cli_fail(&err);
    lineage_trial_release(row);
    *row = again;
    return CLI_GO_ON;
}

/* Uses the vector level of the original trial, because the bits of a policy depend on it. */
static void use_same_level(const struct rerun *o)
{
    const char *was = cli_json_string(o->run, "vector_level");
    if (!was || strcmp(was, blas_env_level()) == 0)
        return;
    bool used = blas_env_use_level(was);
    cli_tell(used ? "computes at the vector level of %.60s: %.20s"
                  : "bits may differ: %.60s was computed at vector level %.20s, which this processor lacks",
             o->was.exp_id, was);
}

/* Fresh seeds are further runs of the trial, so that they are those after all that it ran with. */
static int take_seeds(struct rerun *o)
{
    struct lineage_evidence evidence;
    struct lineage_error err;
    struct command_trial *t = &o->trial;
    size_t used = t->seeds ? t->seeds : 1;
    if (!o->seeds || !cli_count_parse(&t->seeds, "seeds", o->seeds))
        return o->seeds ? CLI_USAGE : CLI_GO_ON;
    if (!t->seeds)
        return cli_error(CLI_USAGE, "--seeds needs a number from 1 on");
    if (lineage_evidence_load_for(&evidence, o->session.store, o->was.exp_id, NULL, &err) != LINEAGE_OK)
        return cli_fail(&err);
    size_t i = lineage_evidence_find(&evidence, o->was.exp_id);
    if (i < evidence.n) {
        snprintf(o->first_id, sizeof o->first_id, "%s", evidence.trials[i].exp_id);
        used = evidence.trials[i].runs.n + evidence.trials[i].left_out + evidence.trials[i].failed;
    }
    lineage_evidence_release(&evidence);
    size_t declared;
    uint64_t free_seed = what_ran_largest_seed(&declared, o->session.store, o->was.params, o->was.n_params) + 1;
    free_seed += used > declared ? used - declared : 0; /* earlier reruns name no seed and had these */
    t->first_seed = (t->has_seed ? t->first_seed : 1) + used;
    t->first_seed = t->first_seed > free_seed ? t->first_seed : free_seed;
    t->has_seed = true;
    struct lineage_param *others = command_trial_own(t, calloc(o->was.n_params + 1, sizeof *others));
    for (i = o->n_params = 0; others && i < o->was.n_params; i++) /* its seed is not theirs */
        if (!lineage_param_is_seed(o->was.params[i].name, lineage_store_seeds(o->session.store)))
            others[o->n_params++] = o->was.params[i];
    t->in_force = others;
    t->reseeded = command_trial_own(t, calloc(t->n_params + 1, sizeof *t->reseeded));
    if (!others || !t->reseeded)
        return cli_no_memory();
    if (t->n_params)
        memcpy(t->reseeded, t->params, t->n_params * sizeof *t->params);
    t->params = t->reseeded;
    return CLI_GO_ON;
}

/* The row is evidence for its trial, and never a trial of its own. */
static void settle(void *context, struct lineage_trial *row, struct lineage_append_options *options)
{
    struct rerun *o = context;
    char piece[LINEAGE_REPLICATE_MAX], *text = o->said;
    struct lineage_replicate replicate = {.score = {.present = false}};
    snprintf(replicate.exp_id, sizeof replicate.exp_id, "%s", o->first_id);
    if (options->auto_status && row->core_metric.present)
        rerun_decide(text, sizeof o->said, o->session.store, 0, &replicate, row, options, o->top_id);
    snprintf(o->notes, sizeof o->notes, "%s%s%s%s%s", row->notes ? row->notes : "", row->notes && *row->notes ? "; " : "",
             lineage_replicate_format(piece, &replicate), *text ? "; " : "", text);
    row->notes = o->notes;
}

static int run_again(struct rerun *o)
{
    struct interrupts interrupts;
    struct trial_outcome outcome = {0};
    struct lineage_trial row = {0};
    struct command_trial *t = &o->trial;
    snprintf(o->name, sizeof o->name, "rerun of %.60s", o->was.exp_id);
    o->n_params = o->was.n_params;
    t->in_force = o->was.params;
    if (take_seeds(o) != CLI_GO_ON)
        return CLI_USAGE;
    char ran[WHAT_RAN_MAX];
    what_ran_of(ran, o->here ? NULL : o->was.notes);
    snprintf(o->noted, sizeof o->noted, "%s%s%s", o->name, *ran ? "; " : "", ran);
    t->settings.prune = NULL; /* its score is wanted, however hopeless its curve looks beside later trials */
    /* The row describes the same trial; only its notes say that it is a repetition. */
    t->identity = (struct trial_identity){.specialist = o->was.specialist,
                                          .domain = o->was.domain,
                                          .hypothesis = o->was.hypothesis,
                                          .parent = o->was.parent_exp,
                                          .code = o->code,
                                          .notes = o->noted,
                                          .repeats_measured = lineage_label_is_measured(o->was.status),
                                          .name = o->name};
    if (o->seeds)
        t->identity.settle = settle, t->identity.settle_context = o;
    t->n_in_force = o->n_params;
    t->rerun_of = o->was.exp_id;
    t->parent_snapshot = o->parent_snapshot;
    t->fill = fill_workdir;
    t->fill_context = o;
    t->quiet = o->quiet;
    t->interrupts = &interrupts;
    use_same_level(o);
    int status = interrupts_hold(&interrupts) ? command_trial_run(o->session.store, t, &outcome, &row) : CLI_SYSTEM;
    if (status == CLI_GO_ON)
        status = find_row(o, &row);
    if (status == CLI_GO_ON) {
        puts(row.exp_id);
        if (outcome.reason[0])
            cli_error(CLI_NO, "%s: %s", lineage_label_name(row.status), outcome.reason);
        status = outcome.end == TRIAL_INTERRUPTED   ? CLI_INTERRUPTED
                 : outcome.end == TRIAL_NOT_STARTED ? CLI_SYSTEM
                 : !o->seeds                        ? compare(o, &row)
                 : outcome.reason[0]                ? CLI_NO
                                                    : CLI_OK;
        if (o->said[0])
            cli_say(o->said);
    }
    interrupts_release(&interrupts);
    lineage_trial_release(&row);
    return status;
}

static int work(struct cli_session *session, void *context)
{
    struct rerun *o = context;
    struct lineage_error err;
    cli_deliver_waiting(session->store);
    if (lineage_find_named(session->store, session->args.positional[0], false, &o->was, &err) != LINEAGE_OK)
        return cli_fail(&err);
    if (provenance_is_closed(session->store, o->was.exp_id))
        return CLI_SYSTEM;
    o->run = provenance_load(session->store, o->was.exp_id);
    if (!o->run)
        return cli_error(CLI_USAGE, "trial '%s' has no provenance; only trials of lineage run can be repeated", o->was.exp_id);
    int status = find_origin(o);
    if (status == CLI_GO_ON)
        status = choose_directory(o);
    if (status == CLI_GO_ON)
        status = find_start(o);
    if (status == CLI_GO_ON)
        status = command_from_provenance(&o->trial, o->run, o->dir) ? run_again(o) : CLI_USAGE;
    /* The checkout is removed after a failure too; otherwise one checkout per attempt would fill the disk. */
    if (o->tree[0])
        workdir_remove_tree(AT_FDCWD, o->tree);
    return status;
}

static int run(const struct cli_command *command, int argc, const char **argv)
{
    static struct rerun chosen, *const o = &chosen;
    struct poptOption options[] = {
        CLI_STORE_OPTIONS(&o->session.where),
        CLI_FLAG("here", &o->here, "run in the original directory, in its present state and with files that git ignores"),
        CLI_OPTION("seeds", &o->seeds, "N", "run it with N fresh seeds, which are further runs of its setting"),
        {"quiet", 'q', POPT_ARG_NONE, &o->quiet, 0, "show no progress, and nothing that the command prints", NULL},
        POPT_TABLEEND};
    int status = cli_on_store(&o->session, command, options, 1, 1, argc, argv, work, o);
    command_trial_release(&o->trial);
    lineage_trial_release(&o->was);
    lineage_free(o->parent_snapshot);
    json_decref(o->run);
    json_decref(o->origin);
    return status;
}

const struct cli_command cmd_rerun = {
    .name = "rerun",
    .arguments = "ID",
    .description = "Repeats a trial of `lineage run` as a new row: its commit with the changes that its files\n"
                   "had then (provenance/ID/), its parameters, seeds and limits, in a new directory. Prints\n"
                   "whether the score is the same. Files that git ignores are missing there; --here uses the\n"
                   "original directory in its present state. A trial of a sweep with `files` gets the files\n"
                   "that it started with. If it was measured then and fails now, or cannot start, the new row\n"
                   "is a harness_abort. Exit status: 0 the same score, 1 another, 3 it could not start.\n"
                   "--seeds runs it with seeds that it did not have, and compares nothing: the row holds\n"
                   "their mean, is further runs of the trial, and measures the noise of the store.",
    .examples = "  lineage rerun 014\n  lineage rerun 014 --here\n  lineage rerun 014 --seeds 3",
    .run = run,
};
