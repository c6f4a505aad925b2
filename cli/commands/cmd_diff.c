/* cmd_diff.c: `lineage diff`: a unified diff of what two trials were run from. */
#include <fcntl.h>
#include <strings.h>
#include <sys/stat.h>

#include <lineage/code.h>
#include <lineage/notes.h>
#include <lineage/render.h>
#include <lineage/snapshot.h>

#include "git/git.h"
#include "output/ideas_out.h"
#include "output/show.h"
#include "run/run_parts.h"
#include "trial/one_trial.h"

/* ---- the stored code of a trial as a directory of files ---- */

/* Whether the row names stored code. */
static bool stored_code_is_named(const struct lineage_trial *trial)
{
    struct lineage_code_note note;
    return lineage_code_note_parse(&note, trial->notes);
}

/* Writes the files of the trial into a new temporary directory, which the caller removes with workdir_remove_tree.
 * Returns CLI_GO_ON, or an exit status after printing the error; dir is then "".
 * The directory is not in the store, because the store may be readable only. */
static int stored_code_directory(char dir[PATH_MAX], struct lineage_store *store, const struct lineage_trial *trial)
{
    struct lineage_code code;
    struct lineage_error err;
    dir[0] = '\0';
    if (lineage_code_load(&code, store, trial, &err) != LINEAGE_OK)
        return cli_fail(&err);
    int status = CLI_GO_ON;
    if (!cli_temporary_dir(dir, PATH_MAX, "lineage-code"))
        status = cli_error(CLI_SYSTEM, "cannot make a temporary directory: %s", strerror(errno));
    else if (lineage_code_write(store, &code, dir, &err) != LINEAGE_OK) {
        status = cli_fail(&err);
        workdir_remove_tree(AT_FDCWD, dir);
        dir[0] = '\0';
    }
    lineage_code_release(&code);
    return status;
}

/* ---- `lineage diff`: a unified diff of what two trials were run from ---- */

#define MAX_BYTES ((size_t)16 << 20)
#define STAT_FILE_MAX ((size_t)4 << 20) /* as for the diffs that `run` records */

struct diff_options {
    struct cli_session session;
    char *max_bytes;
    size_t limit;
    int stat;
};

/* The two sides of a diff. */
struct sides {
    struct lineage_trial from, to;
};

/* Opens the directory without following links. All files in it are opened relative to this descriptor, because another
 * process could change what a path means. */
static int open_snapshot(int *fd, const char *path)
{
    *fd = open(path, O_RDONLY | O_DIRECTORY | O_NOFOLLOW | O_CLOEXEC);
    return *fd >= 0 ? CLI_GO_ON : cli_error(CLI_SYSTEM, "cannot open the snapshot %s: %s", path, strerror(errno));
}

static int diff_directories(const char *from_path, const char *to_path, size_t limit)
{
    int from = -1, to = -1, status;
    if ((status = open_snapshot(&from, from_path)) == CLI_GO_ON && (status = open_snapshot(&to, to_path)) == CLI_GO_ON)
        status = tree_diff(stdout, from, to, limit, 0);
    cli_close(from);
    cli_close(to);
    return status;
}

/* Loads both trials: the two that the IDs name, or, if there is only one ID, the parent of that trial and the trial
 * itself. A trial without a parent is an error, because an empty diff would say that nothing changed. */
static int load_sides(struct sides *sides, struct cli_session *session)
{
    struct lineage_error err;
    const char *const *ids = session->args.positional;
    bool two = session->args.n_positional > 1;
    if (lineage_find_named(session->store, ids[two], false, &sides->to, &err) != LINEAGE_OK)
        return cli_fail(&err);
    const char *from = two ? ids[0] : sides->to.parent_exp;
    char against[LINEAGE_NAME_MAX];
    if ((!from || !*from) && cli_compared_with(against, session->store, sides->to.exp_id))
        from = against;
    if (!from || !*from)
        return cli_error(CLI_USAGE, "trial '%s' has no parent; name the trial to compare it with: `lineage diff ID ID`",
                         sides->to.exp_id);
    const enum lineage_status status = two ? lineage_find_named(session->store, from, false, &sides->from, &err)
                                           : lineage_find(session->store, from, &sides->from, &err);
    return status == LINEAGE_OK ? CLI_GO_ON : cli_fail(&err);
}

static int diff_snapshots(const struct sides *sides, struct lineage_store *store, size_t limit)
{
    char *from = NULL, *to = NULL;
    struct lineage_error err;
    int status;
    if (lineage_snapshot_path(&to, store, &sides->to, &err) != LINEAGE_OK ||
        lineage_snapshot_path(&from, store, &sides->from, &err) != LINEAGE_OK)
        status = cli_fail(&err);
    else
        status = diff_directories(from, to, limit);
    lineage_free(from);
    lineage_free(to);
    return status;
}

static bool has_snapshot(const struct lineage_trial *trial)
{
    return trial->snapshot_path && *trial->snapshot_path;
}

/* The state of the repository that a trial was run from; NULL if none was recorded. */
static json_t *load_git(const struct lineage_store *store, const char *exp_id)
{
    char id[LINEAGE_NAME_MAX];
    json_t *run = provenance_load(store, exp_id);
    json_t *git = provenance_origin(&run, id, store) ? json_incref(json_object_get(run, "git")) : NULL;
    json_decref(run);
    return git;
}

/* Prints what changed between the commits of two trials. Returns false if that is not known. */
static bool diff_commits(const struct sides *sides, const struct lineage_store *store, size_t limit)
{
    json_t *from = load_git(store, sides->from.exp_id), *to = load_git(store, sides->to.exp_id);
    char lack[TRIAL_PLACE_LACK_MAX];
    size_t length;
    char *text = from && to ? commit_diff(from, to, limit, &length) : NULL;
    if (text)
        tree_diff_print(text, length);
    if (text && commit_plan_differs(from, to))
        cli_say("the file of the night, which the trials do not name, differs and is left out");
    if (!text && from && to && !trial_place_of(to))
        cli_error(CLI_NO, "the commits cannot be compared: %s; comparing what was recorded beside them",
                  trial_place_lack(lack, to));
    else if (!text && from && to)
        cli_say("the commits of the two trials cannot be compared; comparing what was recorded beside them");
    free(text);
    json_decref(from);
    json_decref(to);
    return text != NULL;
}

static bool put_run(const char *dir, const char *name, const struct lineage_store *store, const char *exp_id)
{
    char path[PATH_MAX + 32];
    json_t *run = provenance_load(store, exp_id);
    snprintf(path, sizeof path, "%s/%s", dir, name);
    bool made = run && mkdir(path, 0700) == 0;
    snprintf(path, sizeof path, "%s/%s/run.json", dir, name);
    json_object_del(run, "git");
    FILE *out = made ? fopen(path, "we") : NULL;
    if (out)
        cli_json_print(out, run, true);
    json_decref(run);
    return out && fclose(out) == 0;
}

/* Compares run.json of both trials without what it says about the repository, which was compared already. */
static int diff_runs(const struct sides *sides, const struct lineage_store *store, size_t limit)
{
    char dir[PATH_MAX / 2], from[PATH_MAX], to[PATH_MAX];
    if (!cli_temporary_dir(dir, sizeof dir, "lineage"))
        return cli_error(CLI_SYSTEM, "cannot make a temporary directory: %s", strerror(errno));
    snprintf(from, sizeof from, "%s/from", dir);
    snprintf(to, sizeof to, "%s/to", dir);
    int status = put_run(dir, "from", store, sides->from.exp_id) && put_run(dir, "to", store, sides->to.exp_id)
                     ? diff_directories(from, to, limit)
                     : cli_error(CLI_SYSTEM, "cannot write in %s: %s", dir, strerror(errno));
    workdir_remove_tree(AT_FDCWD, dir);
    return status;
}

static int diff_code(const struct sides *sides, struct lineage_store *store, size_t limit)
{
    char from[PATH_MAX] = "", to[PATH_MAX] = "";
    int status = stored_code_directory(to, store, &sides->to);
    if (status == CLI_GO_ON)
        status = stored_code_directory(from, store, &sides->from);
    if (status == CLI_GO_ON)
        status = diff_directories(from, to, limit);
    if (from[0])
        workdir_remove_tree(AT_FDCWD, from);
    if (to[0])
        workdir_remove_tree(AT_FDCWD, to);
    return status;
}

/* Discarded and failed trials have no snapshot, but those of a sweep with files have their code. */
static int diff_files(const struct sides *sides, struct lineage_store *store, size_t limit)
{
    bool snapshots = has_snapshot(&sides->from) && has_snapshot(&sides->to);
    return !snapshots && stored_code_is_named(&sides->from) && stored_code_is_named(&sides->to)
               ? diff_code(sides, store, limit)
               : diff_snapshots(sides, store, limit);
}

/* A snapshot may be gone, for example with `git clean`, while the commit of the trial is there. */
static bool is_there(struct lineage_store *store, const struct lineage_trial *trial)
{
    struct lineage_error err;
    char *path = NULL;
    bool there = lineage_snapshot_path(&path, store, trial, &err) == LINEAGE_OK;
    if (!there)
        cli_say(err.text);
    lineage_free(path);
    return there;
}

/* Compares first the provenance of two commands (changes to the code, the command, the machine), then the files: the
 * snapshots, or the stored code. Other trials without a snapshot have only their provenance to compare. */
static int diff(const struct sides *sides, struct lineage_store *store, size_t limit)
{
    char from[PATH_MAX], to[PATH_MAX];
    bool files = (has_snapshot(&sides->from) && has_snapshot(&sides->to)) ||
                 (stored_code_is_named(&sides->from) && stored_code_is_named(&sides->to));
    if (!provenance_path(from, store, sides->from.exp_id) || !provenance_path(to, store, sides->to.exp_id))
        return files ? diff_files(sides, store, limit)
                     : cli_error(
                           CLI_USAGE,
                           "diff: the store has no code of %s and %s in one form (snapshots, files or commits); `lineage diff "
                           "--stat %s %s` compares their settings",
                           sides->from.exp_id, sides->to.exp_id, sides->from.exp_id, sides->to.exp_id);
    bool commits = diff_commits(sides, store, limit);
    int status = commits ? diff_runs(sides, store, limit) : diff_directories(from, to, limit);
    if (status > CLI_NO || !files)
        return status;
    if (commits && has_snapshot(&sides->from) && has_snapshot(&sides->to) &&
        !(is_there(store, &sides->from) && is_there(store, &sides->to)))
        return status;
    int second = diff_files(sides, store, limit);
    return second == CLI_OK ? status : second;
}

static const struct lineage_effective_setting *declared(const struct lineage_effective *settings, const char *knob)
{
    for (size_t i = 0; i < settings->n; i++)
        if (settings->items[i].source == LINEAGE_CHANGE_DECLARED && strcmp(settings->items[i].knob, knob) == 0)
            return &settings->items[i];
    return NULL;
}

static bool is_measured(const struct lineage_measured *measured, const char *name)
{
    for (size_t i = 0; i < measured->n_changes; i++)
        if (strcasecmp(measured->changes[i].name, name) == 0)
            return true;
    return false;
}

/* Appends the parameters in force that differ, unless the code shows the change. Returns changes with room for them (free), or NULL. */
static struct lineage_measured_change *add_params(struct lineage_measured *measured, const struct lineage_effective *from,
                                                  const struct lineage_effective *to)
{
    struct lineage_measured_change *changes = calloc(measured->n_changes + to->n + 1, sizeof *changes);
    size_t n = measured->n_changes;
    if (!changes)
        return NULL;
    for (size_t i = 0; i < n; i++)
        changes[i] = measured->changes[i];
    for (size_t i = 0; i < to->n; i++) {
        const struct lineage_effective_setting *s = &to->items[i], *was = declared(from, s->knob);
        const bool counts =
            lineage_param_is_inherited(s->name, NULL) || lineage_param_is_seed(s->name, NULL); /* not who proposed it */
        if (counts && s->source == LINEAGE_CHANGE_DECLARED && (!was || !lineage_quantity_equal(was->value, s->value)) &&
            !is_measured(measured, s->name))
            changes[n++] = (struct lineage_measured_change){
                .file = "parameter", .scope = "", .name = s->name, .from = was ? was->value : NULL, .to = s->value};
    }
    measured->changes = changes;
    measured->n_changes = n;
    return changes;
}

/* nothing: why no code was compared; NULL: it was. */
static int print_with_params(struct lineage_measured *measured, const struct sides *sides, struct lineage_store *store,
                             const struct lineage_error *nothing)
{
    struct lineage_effective from = {0}, to = {0};
    struct lineage_ideas *ideas = NULL;
    struct lineage_error err;
    size_t at[2];
    int status = cli_ideas_load(&ideas, store);
    if (status != CLI_OK)
        return status;
    if (lineage_ideas_find(&at[0], ideas, sides->from.exp_id) && lineage_ideas_find(&at[1], ideas, sides->to.exp_id) &&
        (lineage_effective_find(&from, ideas, at[0], &err) != LINEAGE_OK ||
         lineage_effective_find(&to, ideas, at[1], &err) != LINEAGE_OK))
        status = cli_fail(&err);
    struct lineage_measured_change *changes = status == CLI_OK ? add_params(measured, &from, &to) : NULL;
    if (changes && nothing && !measured->n_changes)
        status = cli_fail(nothing);
    else if (changes)
        cli_measured_stat(measured);
    else if (status == CLI_OK)
        status = cli_no_memory();
    free(changes);
    lineage_effective_release(&from);
    lineage_effective_release(&to);
    lineage_ideas_release(ideas);
    return status;
}

/* With one ID, compares with the same ancestor as `show`: the nearest one whose code is known in the same form. */
static int print_stat(const struct sides *sides, struct cli_session *session)
{
    struct lineage_measured measured = {.memory = NULL};
    struct lineage_error err;
    enum lineage_status status = LINEAGE_OK;
    bool two = session->args.n_positional > 1;
    if (!two)
        status = lineage_measure_trial(&measured, session->store, &sides->to, &err);
    if (status == LINEAGE_OK && (two || !*measured.against)) {
        json_t *from = load_git(session->store, sides->from.exp_id), *to = load_git(session->store, sides->to.exp_id);
        size_t length = 0;
        char *text = from && to ? commit_diff(from, to, STAT_FILE_MAX, &length) : NULL;
        if (text || two || !*measured.command_against) {
            lineage_measured_release(&measured);
            status = lineage_measure_pair_by(&measured, session->store, &sides->from, &sides->to, text, length, &err);
        }
        free(text);
        json_decref(from);
        json_decref(to);
    }
    const struct lineage_error *nothing = status == LINEAGE_ENOTFOUND ? &err : NULL;
    int printed = status == LINEAGE_OK || nothing ? print_with_params(&measured, sides, session->store, nothing) : cli_fail(&err);
    lineage_measured_release(&measured);
    return printed;
}

static int work(struct cli_session *session, void *context)
{
    const struct diff_options *o = context;
    struct sides sides = {0};
    int status = load_sides(&sides, session);
    const bool closed = status == CLI_GO_ON && (provenance_is_closed(session->store, sides.to.exp_id) ||
                                                provenance_is_closed(session->store, sides.from.exp_id));
    if (status == CLI_GO_ON)
        status = o->stat ? print_stat(&sides, session) : diff(&sides, session->store, o->limit);
    if (status == CLI_OK && closed)
        status = CLI_NO;
    lineage_trial_release(&sides.from);
    lineage_trial_release(&sides.to);
    return status;
}

static int read_limit(struct cli_session *session, void *context)
{
    struct diff_options *o = context;
    (void)session;
    return o->max_bytes && !cli_count_parse(&o->limit, "max-bytes", o->max_bytes) ? CLI_USAGE : CLI_GO_ON;
}

static struct diff_options chosen = {.session.before_open = read_limit, .limit = MAX_BYTES};
static struct poptOption table[] = {
    CLI_STORE_OPTIONS(&chosen.session.where),
    CLI_OPTION("max-bytes", &chosen.max_bytes, "N", "files larger than N bytes are only named (default: 16777216)"),
    CLI_FLAG("stat", &chosen.stat, "print the changed settings, and the number of changed lines of each file and function"),
    POPT_TABLEEND};

const struct cli_command cmd_diff = {
    .name = "diff",
    .arguments = "ID [ID]",
    .description = "Prints a unified diff of what two commands were run from, commits and uncommitted changes\n"
                   "included, and of two snapshots. Trials of a sweep with `files` that have no snapshot are\n"
                   "compared by the files that they started with. Binary and large files are only named. With\n"
                   "one ID, the parent is compared with the trial; with two, the first with the second. git's\n"
                   "configuration is not read, and no program that attributes name is run. If a commit is\n"
                   "gone (see `lineage refs`), the changes recorded in provenance/ID/ are compared.\n"
                   "--stat prints settings with another value (assignments and defaults in Python, C, shell,\n"
                   "YAML, TOML and JSON, options of the command) and counts the changed lines of each\n"
                   "function; with one ID it compares with the nearest ancestor whose code is known.",
    .examples = "  lineage diff 014\n  lineage diff 003 014\n  lineage diff --stat 014",
    CLI_ON_STORE(chosen.session, table, 1, 2, work, &chosen),
};
