#include "git/trial_ref.h"

#include <limits.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "git/repository.h"
#include "git/trial_place.h"

#include "cli.h"

#define REFS "refs/lineage/"
#define RUNNING_REFS "refs/lineage-running/"

enum { NAME_MAX_BYTES = 200, NAMES_TRIED = 1000 };

/* The commit that the refs of the trial name. */
static const char *code_of(const json_t *git)
{
    const char *code = cli_json_member(git, "code");
    return *code ? code : cli_json_member(git, "commit");
}

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
    if (r && *top == '/' && is_commit(code_of(git)) && strlen(top) < sizeof r->top) {
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
    bool created = r && is_ours(ref, RUNNING_REFS) && repository_ref_set(r, ref, code_of(git), "");
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
        if (repository_ref_set(r, ref, code_of(git), "")) {
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
        repository_ref_set(r, ref, NULL, code_of(git));
}

bool trial_ref_keep(json_t *git, const char *exp_id)
{
    struct repository *r = open_own(git);
    const char *ref = cli_json_member(git, "ref");
    bool kept = r && ((is_ours(ref, REFS) && has_value(r, ref, code_of(git))) || create(r, git, exp_id));
    if (kept) {
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
    bool removed = r && is_ours(ref, REFS) && has_value(r, ref, code_of(git)) && repository_ref_set(r, ref, NULL, code_of(git));
    if (r)
        remove_running(r, git);
    free(r);
    return removed;
}

bool trial_ref_exists(const json_t *git)
{
    struct repository *r = open_repository(git);
    const char *ref = cli_json_member(git, "ref");
    bool exists = r && is_ours(ref, REFS) && has_value(r, ref, code_of(git));
    free(r);
    return exists;
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
