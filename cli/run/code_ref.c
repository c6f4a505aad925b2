#include "run/run_parts.h"

#include <fcntl.h>
#include <sys/stat.h>
#include <unistd.h>

#include <lineage/notes.h>
#include <lineage/render.h>

#include "git/git.h"

/* The file is replaced by one rename, so that a kill leaves the old or the new one. */
static bool write_run(const struct lineage_store *store, const char *exp_id, const json_t *run)
{
    char dir[PATH_MAX], path[PATH_MAX + 16], fresh[PATH_MAX + 16];
    if (!provenance_path(dir, store, exp_id))
        return false;
    snprintf(path, sizeof path, "%s/run.json", dir);
    snprintf(fresh, sizeof fresh, "%s/run.json.new", dir);
    struct stat was;
    FILE *out = cli_private_file(fresh);
    if (!out)
        return false;
    if (stat(path, &was) == 0) /* open to the group, perhaps (files_beside_row.c) */
        (void)!(fchown(fileno(out), (uid_t)-1, was.st_gid) == 0 && fchmod(fileno(out), was.st_mode & 0770) == 0);
    json_t *copy = json_deep_copy(run);
    trial_place_forget(json_object_get(copy, "git"));
    cli_json_print(out, copy, true);
    json_decref(copy);
    if (fclose(out) == 0 && rename(fresh, path) == 0)
        return true;
    unlink(fresh);
    return false;
}

void code_ref_name(json_t *git, const char *dir)
{
    const char *slash = strrchr(dir, '/'), *name = slash ? slash + 1 : dir;
    if (trial_ref_is_allowed(git))
        trial_ref_name_running(git, name + (name[0] == '.'));
}

void code_ref_hold(const json_t *git)
{
    if (json_object_get(git, "running"))
        trial_ref_create_running(git);
}

/* The name is written once the ref exists; without the name nobody would find the ref. */
static bool keep(const struct lineage_store *store, const char *exp_id, json_t *run, json_t *git)
{
    char said[256];
    bool kept = trial_ref_keep(git, exp_id, lineage_store_dir(store)) && write_run(store, exp_id, run);
    if (!kept) {
        snprintf(said, sizeof said, "the code of %.60s has no ref in %.120s, so git may remove it", exp_id,
                 cli_json_string(git, "top"));
        cli_say(said);
    }
    return kept;
}

/* Anything but a regular file could hang, or lead elsewhere. */
static int open_runs(const struct lineage_store *store, int flags)
{
    struct lineage_error err;
    struct stat st;
    char *path = NULL;
    int fd = lineage_store_path(&path, store, LINEAGE_PLACE_REPEATED_RUNS, &err) == LINEAGE_OK
                 ? open(path, flags | O_NOFOLLOW | O_NONBLOCK | O_CLOEXEC, 0600)
                 : -1;
    lineage_free(path);
    if (fd < 0 || (fstat(fd, &st) == 0 && S_ISREG(st.st_mode)))
        return fd;
    cli_close(fd);
    return -1;
}

/* The line ends of both sides keep a line apart from one that a kill has cut. */
static void repeat(struct lineage_store *store, const char *exp_id, json_t *run)
{
    struct lineage_trial trial = {0};
    struct lineage_error err;
    char *text = NULL;
    if (!run || lineage_find(store, exp_id, &trial, &err) != LINEAGE_OK)
        return;
    trial_place_forget(json_object_get(run, "git"));
    json_t *line =
        json_pack("{s:o, s:o, s:O}", "exp_id", cli_json_text(exp_id), "timestamp", cli_json_text(trial.timestamp), "run", run);
    size_t length = 0;
    char *object = line ? cli_json_compact(line, &length) : NULL;
    int fd = object && (text = malloc(length + 3)) ? open_runs(store, O_WRONLY | O_APPEND | O_CREAT) : -1;
    if (fd >= 0)
        (void)cli_write_all(fd, text,
                            (size_t)snprintf(text, length + 3, "\n%s\n", object)); /* as the repeated rows, it is a help */
    cli_close(fd);
    free(text);
    free(object);
    json_decref(line);
    lineage_trial_release(&trial);
}

void code_ref_keep(struct lineage_store *store, const char *exp_id)
{
    json_t *run = provenance_load(store, exp_id), *git = json_object_get(run, "git");
    if (json_object_get(git, "running"))
        keep(store, exp_id, run, git);
    repeat(store, exp_id, run);
    json_decref(run);
}

void code_ref_drop(const json_t *git)
{
    if (json_object_get(git, "running"))
        trial_ref_remove(git);
}

bool code_ref_remove(const struct lineage_store *store, const char *exp_id)
{
    json_t *run = provenance_load(store, exp_id), *git = json_object_get(run, "git");
    char lack[TRIAL_PLACE_LACK_MAX];
    bool removed = trial_ref_remove(git);
    if (json_object_get(git, "ref") && trial_place_is_others(git))
        cli_error(CLI_NO, "the ref of %s is in %s, where the store %s uses it; it is left there", exp_id, trial_place_of(git),
                  cli_json_string(git, "store"));
    else if (json_object_get(git, "ref") && !trial_place_of(git))
        cli_error(CLI_NO, "the ref of %s cannot be removed: %s", exp_id, trial_place_lack(lack, git));
    else if (json_object_del(git, "ref") == 0)
        write_run(store, exp_id, run);
    json_decref(run);
    return removed;
}

bool code_ref_add(const struct lineage_store *store, const char *exp_id)
{
    json_t *run = provenance_load(store, exp_id), *git = json_object_get(run, "git");
    bool kept = git && (trial_ref_exists(git) || keep(store, exp_id, run, git));
    json_decref(run);
    return kept;
}

static bool write_anew(const struct lineage_store *store, const char *exp_id, const json_t *run)
{
    struct lineage_error err;
    char path[PATH_MAX], *all = NULL;
    bool made = lineage_store_path(&all, store, LINEAGE_PLACE_PROVENANCE, &err) == LINEAGE_OK && cli_path_in(path, all, exp_id) &&
                (mkdir(all, 0700) == 0 || errno == EEXIST) && mkdir(path, 0700) == 0 && write_run(store, exp_id, run);
    lineage_free(all);
    return made;
}

/* Whether the row is of that run: ids come again in other stores, and after rows were given up. */
static bool is_run_of(const json_t *line, const struct lineage_trial *trial)
{
    const json_t *run = json_object_get(line, "run"), *git = json_object_get(run, "git");
    const char *name, *code = cli_json_member(git, json_object_get(git, "code") ? "code" : "commit");
    json_t *value;
    struct lineage_commit_note note;
    bool same = trial->timestamp && strcmp(cli_json_member(line, "timestamp"), trial->timestamp) == 0;
    json_object_foreach(json_object_get(run, "params"), name, value) {
        const struct lineage_param *param = lineage_trial_find_param(trial, lineage_param_canonical(name));
        same = same && param &&
               (param->text ? json_is_string(value) && strcmp(json_string_value(value), param->text) == 0
                            : json_is_number(value) && json_number_value(value) == param->value);
    }
    return same && (!lineage_commit_note_parse(&note, trial->notes) || strncmp(code, note.commit, strlen(note.commit)) == 0);
}

static bool restore_line(struct lineage_store *store, const json_t *line)
{
    struct lineage_trial trial = {0};
    struct lineage_error err;
    char path[PATH_MAX];
    const char *id = cli_json_member(line, "exp_id");
    const json_t *run = json_object_get(line, "run");
    bool made = *id && *id != '.' && !strchr(id, '/') && json_is_object(run) && !provenance_path(path, store, id) &&
                lineage_find(store, id, &trial, &err) == LINEAGE_OK && is_run_of(line, &trial) && write_anew(store, id, run);
    lineage_trial_release(&trial);
    return made;
}

size_t code_ref_restore_runs(struct lineage_store *store)
{
    char *text = NULL;
    size_t size = 0, n = 0;
    int fd = open_runs(store, O_RDONLY);
    FILE *in = fd >= 0 ? fdopen(fd, "r") : NULL;
    while (in && getline(&text, &size, in) > 0) {
        json_t *line = *text == '{' ? json_loads(text, 0, NULL) : NULL;
        n += line && restore_line(store, line);
        json_decref(line);
    }
    if (in)
        fclose(in);
    else
        cli_close(fd);
    free(text);
    return n;
}

bool code_ref_restore(const struct lineage_store *store, const struct lineage_trial *trial)
{
    struct lineage_commit_note note;
    char path[PATH_MAX];
    if (!lineage_commit_note_parse(&note, trial->notes) || provenance_path(path, store, trial->exp_id))
        return false;
    json_t *git = trial_ref_find(trial->exp_id, note.commit, lineage_store_dir(store));
    json_t *run = git ? json_pack("{s:o}", "git", git) : NULL;
    bool made = run && write_anew(store, trial->exp_id, run);
    json_decref(run);
    return made;
}

/* The diff of a larger file cannot be summarised in a line. */
enum { FILE_MAX = 4 << 20 };

/* The exp_id of the trial to compare with; false if there is none. */
static bool find_other(char id[LINEAGE_NAME_MAX], struct lineage_store *store, const char *parent)
{
    struct lineage_trial best = {0};
    struct lineage_error err;
    bool found = parent && *parent;
    if (found)
        snprintf(id, LINEAGE_NAME_MAX, "%s", parent);
    else if ((found = lineage_best_kept(store, &best, &err) == LINEAGE_OK))
        snprintf(id, LINEAGE_NAME_MAX, "%s", best.exp_id);
    lineage_trial_release(&best);
    return found;
}

/* The trial goes on without the file. */
static void write_diff(const char *dir, const char *diff, size_t length)
{
    char path[PATH_MAX];
    int n = snprintf(path, sizeof path, "%s/parent.diff", dir);
    FILE *out = n > 0 && n < PATH_MAX ? cli_private_file(path) : NULL;
    bool written = out && fwrite(diff, 1, length, out) == length;
    if (out && (fclose(out) != 0 || !written))
        unlink(path);
}

bool code_is_named(const struct command_trial *t, const char *path)
{
    const char *slash = strrchr(path, '/'), *name = slash ? slash + 1 : path;
    bool named = t->eval && strstr(t->eval, name);
    for (const char *const *word = t->argv; !named && word && *word; word++)
        named = strstr(*word, name) != NULL;
    return named;
}

void code_change_find(json_t *git, struct lineage_store *store, const struct command_trial *t, const char *dir)
{
    const char *parent = t->identity.parent, *plan;
    char other[LINEAGE_NAME_MAX], origin[LINEAGE_NAME_MAX], text[LINEAGE_DIFFSTAT_MAX];
    struct lineage_diffstat stat;
    size_t length;
    if (!find_other(other, store, parent))
        return;
    json_t *run = provenance_load(store, other);
    bool known = provenance_origin(&run, origin, store);
    const json_t *was = json_object_get(run, "git");
    enum commit_lack lack = known && parent && *parent ? commit_lacks(git, was) : COMMIT_LACKS_NOTHING;
    if (lack == COMMIT_LACKS_COMMITS)
        cli_error(CLI_NO,
                  "HEAD does not contain the code of %s, the parent of this trial; check its commit out or name another parent",
                  parent);
    else if (lack == COMMIT_LACKS_CHANGES)
        cli_error(
            CLI_NO,
            "what %s, the parent of this trial, had not committed is not here: changes or untracked files that `git diff --stat "
            "%.12s %.12s` lists",
            parent, cli_json_member(was, "commit"), cli_json_member(was, "code"));
    if (lack != COMMIT_LACKS_NOTHING)
        json_object_set_new(git, "lacks_parent", json_true());
    plan = known ? cli_json_string(json_object_get(run, "git"), "plan") : NULL;
    if (plan && *plan && code_is_named(t, plan))
        json_object_set_new(git, "plan", json_string(""));
    char *diff = known ? commit_diff(json_object_get(run, "git"), git, FILE_MAX, &length) : NULL;
    if (diff) {
        lineage_diffstat_read(&stat, diff, length);
        json_object_set_new(git, "against", cli_json_text(other));
        if (length)
            write_diff(dir, diff, length);
        json_object_set_new(git, "change", cli_json_text(length ? lineage_diffstat_format(text, &stat) : ""));
    }
    free(diff);
    json_decref(run);
}

void code_change_note(char out[LINEAGE_CODE_NOTE_MAX], const json_t *git)
{
    const char *commit = cli_json_string(git, "code");
    const char *change = cli_json_string(git, "change");
    struct lineage_commit_note note;
    out[0] = '\0';
    if (!commit)
        commit = cli_json_string(git, "commit");
    if (!commit || (change && !*change))
        return;
    snprintf(note.commit, sizeof note.commit, "%s", commit);
    snprintf(note.change, sizeof note.change, "%s", change ? change : "");
    lineage_commit_note_format(out, &note);
}
