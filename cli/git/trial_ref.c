#include "git/git.h"

#include <unistd.h>

#define REFS "refs/lineage/"
#define RUNNING_REFS "refs/lineage-running/"
#define STORES "lineage-stores" /* in the repository's directory: the stores that have refs there, one a line */

enum { NAME_MAX_BYTES = 200, NAMES_TRIED = 1000, DIGITS_MAX = 9 };

/* The whole name of a commit: run.json may come from anybody, and git must not take a text in it for an option. */
static bool is_commit(const char *text)
{
    size_t n = strspn(text, "0123456789abcdef");
    return !text[n] && (n == 40 || n == 64);
}

/* Returns the repository of the trial, or NULL. Its directory is all that refs need. The struct is too large for the stack
 * of a thread. */
static struct repository *open_repository(const json_t *git)
{
    struct repository *r = calloc(1, sizeof *r);
    const char *top = trial_place_of(git) ? trial_place_of(git) : "";
    if (r && *top == '/' && is_commit(trial_place_code(git)) && strlen(top) < sizeof r->top) {
        strcpy(r->top, top);
        return r;
    }
    free(r);
    return NULL;
}

/* Like open_repository, for changes: the repository that another store uses is left alone. */
static struct repository *open_own(const json_t *git)
{
    return trial_place_is_others(git) ? NULL : open_repository(git);
}

/* Only refs under our prefixes are ever written, whatever run.json says. */
static bool is_ours(const char *ref, const char *prefix)
{
    return strncmp(ref, prefix, strlen(prefix)) == 0 && ref[strlen(prefix)] && !strchr(ref + strlen(prefix), '/');
}

/* Whether the byte may be in the name of a ref at this place (git-check-ref-format). */
static bool is_allowed(const char *id, size_t i)
{
    char c = id[i];
    if ((c >= '0' && c <= '9') || (c >= 'a' && c <= 'z') || (c >= 'A' && c <= 'Z') || c == '_' || (c == '-' && i > 0))
        return true;
    return c == '.' && i > 0 && id[i + 1] && id[i + 1] != '.' && strcmp(id + i, ".lock") != 0;
}

/* Bytes that a ref forbids become %XX. A long id is cut: the name need not tell ids apart. */
static void make_name(char ref[REPOSITORY_REF_MAX], const char *prefix, const char *id, unsigned n)
{
    size_t at = (size_t)snprintf(ref, REPOSITORY_REF_MAX, "%s", prefix), end = at + NAME_MAX_BYTES;
    for (size_t i = 0; id[i] && at < end; i++)
        if (is_allowed(id, i))
            ref[at++] = id[i];
        else
            at += (size_t)snprintf(ref + at, REPOSITORY_REF_MAX - at, "%%%02X", (unsigned char)id[i]);
    if (n > 1)
        snprintf(ref + at, REPOSITORY_REF_MAX - at, ".%u", n);
    else
        snprintf(ref + at, REPOSITORY_REF_MAX - at, "%s", at == strlen(prefix) || ref[at - 1] == '.' ? "%00" : "");
}

static bool has_value(const struct repository *r, const char *ref, const char *commit)
{
    char value[REPOSITORY_COMMIT_MAX];
    return repository_commit(value, r, ref) && strcmp(value, commit) == 0;
}

bool trial_ref_is_allowed(const json_t *git)
{
    struct repository *r = open_repository(git);
    bool allowed = r && repository_flag(r, "lineage.refs", true);
    free(r);
    return allowed;
}

void trial_ref_name_running(json_t *git, const char *job)
{
    char ref[REPOSITORY_REF_MAX];
    make_name(ref, RUNNING_REFS, job, 1);
    json_object_set_new(git, "running", json_string(ref));
}

bool trial_ref_create_running(const json_t *git)
{
    struct repository *r = open_repository(git);
    const char *ref = cli_json_member(git, "running");
    bool created = r && is_ours(ref, RUNNING_REFS) && repository_ref_set(r, ref, trial_place_code(git), "");
    free(r);
    return created;
}

/* A name that is taken belongs to another store, or to an earlier store in the same place, and its commit is kept, too. */
static bool create(const struct repository *r, json_t *git, const char *exp_id)
{
    char ref[REPOSITORY_REF_MAX], value[REPOSITORY_COMMIT_MAX];
    for (unsigned n = 1; n <= NAMES_TRIED; n++) {
        make_name(ref, REFS, exp_id, n);
        if (repository_commit(value, r, ref))
            continue;
        if (repository_ref_set(r, ref, trial_place_code(git), "")) {
            json_object_set_new(git, "ref", json_string(ref));
            return true;
        }
        if (!repository_commit(value, r, ref)) /* no other process was faster */
            return false;
    }
    return false;
}

static void remove_running(const struct repository *r, const json_t *git)
{
    const char *ref = cli_json_member(git, "running");
    if (is_ours(ref, RUNNING_REFS))
        repository_ref_set(r, ref, NULL, trial_place_code(git));
}

/* common: the directory of the repository (repository_common). Lines are relative to what is around the repository's
 * directory where they can be, so that a copied or moved project lists its own stores. */
static FILE *open_stores(const char *common, const char *mode)
{
    char path[2 * PATH_MAX + 32];
    snprintf(path, sizeof path, "%s/" STORES, common);
    return fopen(path, mode);
}

/* The next store of the list, as the kernel knows it, if it is there. */
static bool next_store(char store[PATH_MAX], const char *common, FILE *stores)
{
    char line[PATH_MAX + 2], path[2 * PATH_MAX + 16];
    while (fgets(line, sizeof line, stores)) {
        line[strcspn(line, "\n")] = '\0';
        snprintf(path, sizeof path, "%s%s%s", line[0] == '/' ? "" : common, line[0] == '/' ? "" : "/../", line);
        if (line[0] && realpath(path, store))
            return true;
    }
    return false;
}

static bool is_listed(const char *common, FILE *stores, const char *store)
{
    char there[PATH_MAX];
    while (next_store(there, common, stores))
        if (strcmp(there, store) == 0)
            return true;
    return false;
}

/* Whether trials of the store may have had the refs of a repository that is not around it: it is listed, or a clone has no list. */
static bool may_own(const char *common, const char *store)
{
    FILE *stores = open_stores(common, "re");
    bool may = !stores || is_listed(common, stores, store);
    if (stores)
        fclose(stores);
    return may;
}

/* Nothing depends on it that the list is complete: ids of a store that it lacks are passed. */
static void list_store(const struct repository *r, const char *dir)
{
    char common[PATH_MAX], store[PATH_MAX];
    if (!realpath(dir, store) || !repository_common(common, r->top))
        return;
    FILE *stores = open_stores(common, "a+e");
    const char *slash = strrchr(common, '/');
    size_t n = slash ? (size_t)(slash - common) + 1 : 0;
    if (stores && !is_listed(common, stores, store))
        fprintf(stores, "%s\n", n && strncmp(store, common, n) == 0 && store[n] ? store + n : store);
    if (stores)
        fclose(stores);
}

/* Whether another store that is still there has a trial with this ref. */
static bool has_owner(const char *ref, const char *id, const char *common, const char *store)
{
    char other[PATH_MAX], path[PATH_MAX + LINEAGE_NAME_MAX + 32];
    FILE *stores = open_stores(common, "re");
    bool owned = false;
    while (stores && !owned && next_store(other, common, stores)) {
        snprintf(path, sizeof path, "%s/provenance/%s/run.json", other, id);
        json_t *run = strcmp(other, store) != 0 && cli_is_store(other) && access(path, F_OK) == 0 ? cli_json_load(path) : NULL;
        owned = strcmp(cli_json_member(json_object_get(run, "git"), "ref"), ref) == 0;
        json_decref(run);
    }
    if (stores)
        fclose(stores);
    return owned;
}

/* Writes the id that the ref has, without the number of another store. Returns false if it is not a number that a store would give,
 * because one stray ref must not make all later ids long. */
static bool id_of(char id[LINEAGE_NAME_MAX], const char *ref)
{
    const char *name = ref + strlen(REFS);
    size_t n = strspn(name, "0123456789");
    if (!n || n > DIGITS_MAX || (name[n] && name[n] != '.'))
        return false;
    snprintf(id, LINEAGE_NAME_MAX, "%.*s", (int)n, name);
    return true;
}

static bool has_row(struct lineage_store *store, const char *exp_id)
{
    struct lineage_trial row = {0};
    bool found = lineage_find(store, exp_id, &row, NULL) == LINEAGE_OK;
    lineage_trial_release(&row);
    return found;
}

/* The refs that the trials with an id of their own would get: {REF: ID}. */
static json_t *wanted_refs(const struct lineage_trial *trials, size_t n)
{
    char ref[REPOSITORY_REF_MAX];
    json_t *wanted = json_object();
    for (size_t i = 0; i < n; i++)
        if (trials[i].exp_id && *trials[i].exp_id) {
            make_name(ref, REFS, trials[i].exp_id, 1);
            json_object_set_new(wanted, ref, cli_json_text(trials[i].exp_id));
        }
    return wanted;
}

/* The refs of one repository, one a line, whose trials may have been those of the store. */
struct repository_of {
    const char *common, *dir; /* of the repository, and of the store */
    char *refs;
};

/* Visits the repositories around the store and around the current directory, until visit returns false. */
static void each_repository(struct lineage_store *store, bool (*visit)(void *context, const struct repository_of *of),
                            void *context)
{
    const char *const places[] = {lineage_store_dir(store), "."};
    char now[PATH_MAX], common[2][PATH_MAX] = {"", ""};
    bool goes_on = true;
    for (size_t i = 0; i < 2 && goes_on && realpath(places[0], now); i++) {
        if (!repository_common(common[i], places[i]) || (i && (strcmp(common[0], common[1]) == 0 || !may_own(common[i], now))))
            continue;
        struct repository_of of = {common[i], now, repository_refs(places[i], REFS)};
        goes_on = !of.refs || visit(context, &of);
        free(of.refs);
    }
}

struct passing {
    struct lineage_store *store;
    json_t *wanted;
    bool good;
};

static bool pass(void *context, const struct repository_of *of)
{
    struct passing *p = context;
    char *rest = of->refs, *ref, id[LINEAGE_NAME_MAX];
    for (bool passed = false; (ref = strsep(&rest, "\n")) && p->good;) {
        const char *exp_id = cli_json_string(p->wanted, ref);
        const bool is_wanted = exp_id && !has_row(p->store, exp_id);
        if ((passed && !is_wanted) || !id_of(id, ref) || has_owner(ref, id, of->common, of->dir))
            continue;
        if (!passed)
            lineage_store_pass_id(p->store, id);
        passed = true;
        p->good = !is_wanted || cli_refuse("the id %.80s has the code of another trial, whose row is not in this store: see `git "
                                           "show %s`; take another id, or remove the ref: git update-ref -d %s",
                                           exp_id, ref, ref);
    }
    return p->good;
}

bool trial_ref_pass(struct lineage_store *store, const struct lineage_trial *trials, size_t n)
{
    struct passing p = {store, wanted_refs(trials, n), true};
    each_repository(store, pass, &p);
    json_decref(p.wanted);
    return p.good;
}

struct listing {
    struct lineage_store *store;
    void (*visit)(void *context, const char *id, const char *ref);
    void *context;
};

static bool list_without_row(void *context, const struct repository_of *of)
{
    const struct listing *l = context;
    char *rest = of->refs, *ref, id[LINEAGE_NAME_MAX];
    while ((ref = strsep(&rest, "\n")))
        if (id_of(id, ref) && !has_row(l->store, id) && !has_owner(ref, id, of->common, of->dir))
            l->visit(l->context, id, ref);
    return true;
}

void trial_ref_without_row(struct lineage_store *store, void (*visit)(void *context, const char *id, const char *ref),
                           void *context)
{
    struct listing l = {store, visit, context};
    each_repository(store, list_without_row, &l);
}

bool trial_ref_keep(json_t *git, const char *exp_id, const char *store)
{
    struct repository *r = open_own(git);
    const char *ref = cli_json_member(git, "ref");
    bool kept = r && ((is_ours(ref, REFS) && has_value(r, ref, trial_place_code(git))) || create(r, git, exp_id));
    if (kept) {
        list_store(r, store);
        remove_running(r, git);
        json_object_del(git, "running");
    }
    free(r);
    return kept;
}

bool trial_ref_remove(const json_t *git)
{
    struct repository *r = open_own(git);
    const char *ref = cli_json_member(git, "ref");
    bool removed = r && is_ours(ref, REFS) && has_value(r, ref, trial_place_code(git)) &&
                   repository_ref_set(r, ref, NULL, trial_place_code(git));
    if (r)
        remove_running(r, git);
    free(r);
    return removed;
}

bool trial_ref_exists(const json_t *git)
{
    struct repository *r = open_repository(git);
    const char *ref = cli_json_member(git, "ref");
    bool exists = r && is_ours(ref, REFS) && has_value(r, ref, trial_place_code(git));
    free(r);
    return exists;
}

bool trial_ref_is_other(const json_t *git)
{
    char commit[REPOSITORY_COMMIT_MAX];
    struct repository *r = open_repository(git);
    const char *ref = cli_json_member(git, "ref");
    bool other = r && is_ours(ref, REFS) && repository_commit(commit, r, ref) && strcmp(commit, trial_place_code(git)) != 0;
    free(r);
    return other;
}

json_t *trial_ref_find(const char *exp_id, const char *begin, const char *store)
{
    const char *const places[] = {store, "."};
    char ref[REPOSITORY_REF_MAX], commit[REPOSITORY_COMMIT_MAX], now[PATH_MAX];
    struct repository *r = calloc(1, sizeof *r);
    json_t *git = NULL;
    for (size_t i = 0; r && i < 2 && !git && realpath(store, now); i++)
        for (unsigned n = 1; (n > 1 || repository_find(r, places[i])) && n <= NAMES_TRIED && !git; n++) {
            make_name(ref, REFS, exp_id, n);
            if (!repository_commit(commit, r, ref))
                break;
            if (*begin && strncmp(commit, begin, strlen(begin)) == 0)
                git = json_pack("{s:s, s:s, s:o, s:s, s:s, s:s}", "commit", commit, "top", r->top, "common",
                                json_stringn(r->objects, strlen(r->objects) - strlen("/objects")), "store", now, "code", commit,
                                "ref", ref);
        }
    free(r);
    return git;
}
