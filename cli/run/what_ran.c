/* what_ran.c: a digest of the code and the program of a run, which runs of one setting share, whatever their seeds. */
#include "run/run_parts.h"

#include <inttypes.h>
#include <sys/stat.h>
#include <unistd.h>
#include <xxhash.h>

#include <lineage/code.h>
#include <lineage/notes.h>
#include <lineage/query.h>

#include "git/git.h"

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
    const char *below = *top ? work_tree_below(top, path) : NULL;
    snprintf(end, sizeof end, " %s ", dot ? dot : "?");
    *name = below ? below : strrchr(path, '/') + 1;
    return strstr(ends, end) || (program && below && strchr(word, '/') && access(path, X_OK) == 0);
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

/* ---- earlier runs of the setting ---- */

/* A cursor over the rows that have these parameters, whatever their seeds; NULL without a parameter but seeds, or without an answer. */
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

uint64_t what_ran_largest_seed(size_t *rows, struct lineage_store *store, const struct lineage_param *params, size_t n)
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
    bool without = false, apart = false, declared;
    /* beside a best trial whose code is not known, a row names the commit without a change */
    const bool named = lineage_commit_note_parse(&here, code) && !here.change[0];
    said_of_code(mine, code);
    for (; cursor && !apart && lineage_cursor_next(cursor, &row, &err) == LINEAGE_OK; lineage_trial_release(&row)) {
        const char *notes = row.notes ? row.notes : "";
        seed_among(&declared, 0, row.params, row.n_params, lineage_store_seeds(store));
        apart = strstr(notes, ran) != NULL ||
                (named && lineage_commit_note_parse(&there, notes) && strcmp(there.commit, here.commit) != 0);
        without = without ||
                  (declared && !strstr(notes, LINEAGE_RAN) && !strstr(notes, "program ") &&
                   strcmp(row.specialist ? row.specialist : "", specialist) == 0 &&
                   strcmp(row.hypothesis ? row.hypothesis : "", hypothesis) == 0 && strcmp(said_of_code(its, notes), mine) == 0);
    }
    lineage_cursor_close(cursor);
    return without && !apart;
}

/* ---- the piece of the notes ---- */

void what_ran_note(char out[WHAT_RAN_MAX], const json_t *git, const struct command_trial *t, struct lineage_store *store,
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
            snprintf(out, WHAT_RAN_MAX, LINEAGE_RAN "%016" PRIx64, (uint64_t)XXH3_64bits_digest(state));
    }
    XXH3_freeState(state);
    if (*out && joins_rows_without(out, t, store, code))
        *out = '\0';
}

void what_ran_of(char out[WHAT_RAN_MAX], const char *notes)
{
    const char *piece = notes ? strstr(notes, "; " LINEAGE_RAN) : NULL;
    const size_t n = piece ? strcspn(piece + 2, ";") : 0;
    snprintf(out, WHAT_RAN_MAX, "%.*s", n < WHAT_RAN_MAX ? (int)n : 0, piece ? piece + 2 : "");
}
