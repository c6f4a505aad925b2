#include "run/code_ref.h"

#include <fcntl.h>
#include <inttypes.h>
#include <sys/stat.h>
#include <unistd.h>
#include <xxhash.h>

#include <lineage/notes.h>
#include <lineage/query.h>
#include <lineage/render.h>

#include "git/commit_diff.h"
#include "git/repository.h"
#include "git/trial_place.h"
#include "git/trial_ref.h"
#include "run/provenance_read.h"

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

/* ---- the code and the program of a run in one digest ---- */

enum { SCRIPT_BYTES = 1 << 20 }; /* of a script; what is behind it does not count */

/* Whether the word is a script, or the program itself of the project; names it as seen from `top`, in which the project is, or else by
 * its last part. Configurations do not count: one run each may have its own. */
static bool is_script(char path[PATH_MAX], const char **name, const char *top, const char *dir, const char *word, bool program)
{
    static const char ends[] = " .py .sh .R .r .jl .js .mjs .ts .lua .pl .rb .ipynb ";
    char end[16], at[PATH_MAX];
    struct stat st;
    const char *dot = strrchr(word, '.');
    if (!(*word == '/' ? snprintf(at, sizeof at, "%s", word) < PATH_MAX : cli_path_in(at, dir, word)) || !realpath(at, path) ||
        stat(path, &st) != 0 || !S_ISREG(st.st_mode))
        return false;
    const size_t n = strlen(top);
    const bool inside = n && strncmp(path, top, n) == 0 && path[n] == '/';
    snprintf(end, sizeof end, " %s ", dot ? dot : "?");
    *name = inside ? path + n + 1 : strrchr(path, '/') + 1;
    return strstr(ends, end) || (program && inside && strchr(word, '/') && access(path, X_OK) == 0);
}

/* Whether git ignores the file, so that no tree has it: as a script that was written for one run, it says nothing of the program. */
static bool is_ignored(const char *top, const char *path)
{
    const char *const words[] = {"check-ignore", "--", path, NULL};
    char answer[PATH_MAX];
    return repository_ask(answer, sizeof answer, top, words);
}

/* Adds the name, and the contents of the file unless a tree of git has them; path NULL: no file. */
static void add_script(XXH3_state_t *state, const char *name, const char *path)
{
    char *bytes = path ? malloc(SCRIPT_BYTES) : NULL;
    FILE *in = bytes ? fopen(path, "re") : NULL;
    XXH3_64bits_update(state, name, strlen(name) + 1);
    if (in) {
        XXH3_64bits_update(state, bytes, fread(bytes, 1, SCRIPT_BYTES, in));
        fclose(in);
    }
    free(bytes);
}

/* Adds the first script of the command, or the module behind -m; what comes behind it are its arguments. The words of a shell's command
 * are in one argument. Returns whether there is one. */
static bool add_program(XXH3_state_t *state, const struct command_trial *t, const char *top, bool contents)
{
    char path[PATH_MAX], word[PATH_MAX], here[PATH_MAX];
    const char *name = NULL, *dir = t->dir ? t->dir : ".", *inside = *top || !realpath(dir, here) ? top : here;
    bool module = false;
    for (const char *const *argument = t->argv; argument && *argument; argument++)
        for (const char *at = *argument; *(at += strspn(at, " \t\n'\"=;")); at += strcspn(at, " \t\n'\"=;")) {
            snprintf(word, sizeof word, "%.*s", (int)strcspn(at, " \t\n'\"=;"), at);
            const bool script = is_script(path, &name, inside, dir, word, argument == t->argv);
            if (script && *top && is_ignored(top, path))
                return true;
            if (script || module) {
                add_script(state, script ? name : word, contents && script ? path : NULL);
                return true;
            }
            module = strcmp(word, "-m") == 0;
        }
    return false;
}

/* A cursor over the rows that have these parameters but for the seeds; NULL: there is no such parameter, or no answer. */
static struct lineage_cursor *rows_of_setting(struct lineage_store *store, const struct lineage_param *params, size_t n)
{
    struct lineage_param *wanted = calloc(n + 1, sizeof *wanted);
    struct lineage_cursor *cursor = NULL;
    struct lineage_error err;
    size_t k = 0;
    for (size_t i = 0; wanted && i < n; i++)
        if (!lineage_param_is_seed(params[i].name, lineage_store_seeds(store)))
            wanted[k++] = params[i];
    if (k && lineage_tried(&cursor, store, wanted, k, LINEAGE_TOLERANCE, &err) != LINEAGE_OK)
        cursor = NULL;
    free(wanted);
    return cursor;
}

/* The largest seed among the parameters, or the one before; *declared: whether there is one. */
static uint64_t seed_among(bool *declared, uint64_t largest, const struct lineage_param *params, size_t n,
                           const char *const *seeds)
{
    *declared = false;
    for (size_t i = 0; i < n; i++)
        if (lineage_param_is_seed(params[i].name, seeds)) {
            *declared = true;
            if (!params[i].text && params[i].value > (double)largest && params[i].value < 9e15)
                largest = (uint64_t)params[i].value;
        }
    return largest;
}

uint64_t code_largest_seed(size_t *rows, struct lineage_store *store, const struct lineage_param *params, size_t n)
{
    struct lineage_cursor *cursor = rows_of_setting(store, params, n);
    const char *const *seeds = lineage_store_seeds(store);
    struct lineage_trial row = {0};
    struct lineage_error err;
    bool declared;
    uint64_t largest = seed_among(&declared, 0, params, n, seeds);
    for (*rows = 0; cursor && lineage_cursor_next(cursor, &row, &err) == LINEAGE_OK; lineage_trial_release(&row)) {
        largest = seed_among(&declared, largest, row.params, row.n_params, seeds);
        *rows += declared;
    }
    lineage_cursor_close(cursor);
    return largest;
}

/* What a row without `ran` says of its code: the piece that names the commit, if that is not the code of the trial before. */
static const char *said_of_code(char out[LINEAGE_CODE_NOTE_MAX], const char *notes)
{
    struct lineage_commit_note note;
    out[0] = '\0';
    if (notes && lineage_commit_note_parse(&note, notes) && note.change[0])
        lineage_commit_note_format(out, &note);
    return out;
}

/* Whether runs of the setting are there that say no `ran`, and none that says this one or another commit. */
static bool joins_rows_without(const char *ran, const struct command_trial *t, struct lineage_store *store, const char *code)
{
    struct lineage_cursor *cursor = rows_of_setting(store, t->params, t->n_params);
    char mine[LINEAGE_CODE_NOTE_MAX], its[LINEAGE_CODE_NOTE_MAX];
    const char *const specialist = t->identity.specialist ? t->identity.specialist : "";
    const char *const hypothesis = t->identity.hypothesis ? t->identity.hypothesis : "";
    struct lineage_trial row = {0};
    struct lineage_commit_note here, there;
    struct lineage_error err;
    bool without = false, same = false, declared;
    /* beside a best trial whose code is not known, a row names the commit without a change */
    const bool named = lineage_commit_note_parse(&here, code) && !here.change[0];
    said_of_code(mine, code);
    for (; cursor && !same && lineage_cursor_next(cursor, &row, &err) == LINEAGE_OK; lineage_trial_release(&row)) {
        const char *notes = row.notes ? row.notes : "";
        seed_among(&declared, 0, row.params, row.n_params, lineage_store_seeds(store));
        same = strstr(notes, ran) != NULL ||
               (named && lineage_commit_note_parse(&there, notes) && strcmp(there.commit, here.commit) != 0);
        without = without ||
                  (declared && !strstr(notes, LINEAGE_RAN) && !strstr(notes, "program ") &&
                   strcmp(row.specialist ? row.specialist : "", specialist) == 0 &&
                   strcmp(row.hypothesis ? row.hypothesis : "", hypothesis) == 0 && strcmp(said_of_code(its, notes), mine) == 0);
    }
    lineage_cursor_close(cursor);
    return without && !same;
}

void code_ran_note(char out[CODE_RAN_MAX], const json_t *git, const struct command_trial *t, struct lineage_store *store,
                   const char *code)
{
    const char *tree = cli_json_string(git, "tree");
    XXH3_state_t *state = XXH3_createState();
    bool declared;
    *out = '\0';
    seed_among(&declared, 0, t->params, t->n_params, lineage_store_seeds(store));
    if (state && (declared || (t->has_seed && t->seeds < 2)) && XXH3_64bits_reset(state) == XXH_OK) {
        XXH3_64bits_update(state, tree ? tree : "", tree ? strlen(tree) + 1 : 1);
        if (add_program(state, t, cli_json_member(git, "top"), !tree) || tree)
            snprintf(out, CODE_RAN_MAX, LINEAGE_RAN "%016" PRIx64, (uint64_t)XXH3_64bits_digest(state));
    }
    XXH3_freeState(state);
    if (*out && joins_rows_without(out, t, store, code))
        *out = '\0';
}

void code_ran_of(char out[CODE_RAN_MAX], const char *notes)
{
    const char *piece = notes ? strstr(notes, "; " LINEAGE_RAN) : NULL;
    const size_t n = piece ? strcspn(piece + 2, ";") : 0;
    snprintf(out, CODE_RAN_MAX, "%.*s", n < CODE_RAN_MAX ? (int)n : 0, piece ? piece + 2 : "");
}
