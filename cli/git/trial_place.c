#include "git/git.h"

#include <unistd.h>

#include "cli.h"

static bool has(const char *dir, const char *name)
{
    char path[PATH_MAX];
    return *dir == '/' && cli_path_in(path, dir, name) && access(path, F_OK) == 0;
}

/* Writes the path as it would be if the store had been moved together with everything around it: what comes before the common end of
 * both paths of the store is replaced. Returns false if the path does not begin with that. */
static bool move_along(char out[PATH_MAX], const char *path, const char *was, const char *now)
{
    size_t n = strlen(was), m = strlen(now), same = 0;
    for (size_t i = 1; i <= n && i <= m && was[n - i] == now[m - i]; i++)
        if (was[n - i] == '/')
            same = i;
    n -= same;
    m -= same;
    if (strncmp(path, was, n) != 0 || (path[n] && path[n] != '/'))
        return false;
    int length = snprintf(out, PATH_MAX, "%.*s%s", (int)m, now, path + n);
    return length > 0 && length < PATH_MAX;
}

/* The work tree or, if it was removed, the directory of the repository. */
static bool take(struct repository *r, const char *top, const char *common)
{
    if (!has(top, ".git") && !has(common, "objects"))
        return false;
    snprintf(r->top, sizeof r->top, "%s", has(top, ".git") ? top : common);
    return true;
}

/* A repository is known by the commits that it has and not by its path: another one may be where it was, or beside a copy of the
 * store. */
static bool knows_trial(const struct repository *r, const json_t *git)
{
    char commit[REPOSITORY_COMMIT_MAX];
    return repository_commit(commit, r, trial_place_code(git));
}

/* A repository that may be another one must have the commit. If it is the recorded one, it belongs to the store of then, which may
 * still be there. */
static bool take_if_known(struct repository *r, const json_t *git, const char *dir, bool *others)
{
    const char *common = cli_json_member(git, "common");
    if (!repository_find(r, dir) || !knows_trial(r, git))
        return false;
    size_t n = strlen(r->objects) - strlen("/objects");
    *others = strlen(common) == n && strncmp(r->objects, common, n) == 0 && has(cli_json_member(git, "store"), "results.tsv");
    return true;
}

/*
 * git filter-repo gives commits new ids, moves the refs of trials along, and lists both ids in a file. The commits of the trial
 * become the new ones. After several runs the file lists the ids before the first one and after the last; a trial in between is
 * found by its ref, if that names a commit of the list. git filter-branch keeps each old ref below refs/original instead.
 */
static void follow_rewriting(json_t *git, const struct repository *r)
{
    static const char *const files[] = {".git/filter-repo/commit-map", "filter-repo/commit-map"}, *const keys[] = {"code",
                                                                                                                   "commit"};
    char path[PATH_MAX], line[4 * REPOSITORY_COMMIT_MAX], was[REPOSITORY_COMMIT_MAX], is[REPOSITORY_COMMIT_MAX],
        kept[REPOSITORY_COMMIT_MAX] = "";
    const char *ref = cli_json_member(git, "ref");
    bool listed = false, moved = false;
    FILE *in = NULL;
    for (size_t i = 0; !in && i < 2; i++)
        if (snprintf(path, sizeof path, "%s/%s", r->top, files[i]) < PATH_MAX)
            in = fopen(path, "re");
    if (strncmp(ref, "refs/lineage/", 13) == 0 && !repository_commit(kept, r, ref))
        kept[0] = '\0';
    if (*kept && snprintf(path, sizeof path, "refs/original/%s", ref) < PATH_MAX && repository_commit(was, r, path))
        moved = strcmp(was, trial_place_code(git)) == 0;
    while (in && fgets(line, sizeof line, in)) {
        if (sscanf(line, "%79s %79s", was, is) != 2 || strspn(is, "0") == strlen(is))
            continue;
        moved = moved || strcmp(is, kept) == 0;
        for (size_t k = 0; k < 2; k++)
            if (strcmp(was, cli_json_member(git, keys[k])) == 0)
                listed = json_object_set_new(git, keys[k], json_string(is)) == 0;
    }
    for (size_t k = 0; k < 2 && moved && !listed; k++)
        if (*cli_json_member(git, keys[k]))
            json_object_set_new(git, keys[k], json_string(kept));
    if (in)
        fclose(in);
}

void trial_place_find(json_t *git, const char *store)
{
    const char *top = cli_json_member(git, "top"), *common = cli_json_member(git, "common"), *was = cli_json_member(git, "store");
    char now[PATH_MAX], moved_top[PATH_MAX], moved_common[PATH_MAX];
    bool others = false, found = false, mute = false;
    if (!*top || !realpath(store, now))
        return;
    bool moved = *was && strcmp(was, now) != 0;
    struct repository *r = calloc(1, sizeof *r);
    if (!r)
        return;
    if (moved)
        found = take(r, move_along(moved_top, top, was, now) ? moved_top : "",
                     move_along(moved_common, common, was, now) ? moved_common : "") &&
                knows_trial(r, git);
    else if (*was || (strncmp(now, top, strlen(top)) == 0 && now[strlen(top)] == '/'))
        found = take(r, top, common) && knows_trial(r, git);
    found = found || take_if_known(r, git, now, &others) || (!*was && take(r, top, common) && knows_trial(r, git)) ||
            take_if_known(r, git, ".", &others);
    if (!found) { /* it has lost the commit, or git filter-repo has rewritten it */
        found = take(r, top, common);
        others = has(was, "results.tsv");
        mute = found && repository_is_mute(now, r->top);
    }
    if (found)
        follow_rewriting(git, r);
    cli_json_set(git, "place", found && !mute ? json_string(r->top) : json_null(), "others", others && moved ? json_true() : NULL,
                 "mute", mute ? json_string(r->top) : NULL, NULL);
    free(r);
}

const char *trial_place_of(const json_t *git)
{
    const json_t *place = json_object_get(git, "place");
    return json_string_value(place ? place : json_object_get(git, "top"));
}

const char *trial_place_code(const json_t *git)
{
    const char *code = cli_json_member(git, "code");
    return *code ? code : cli_json_member(git, "commit");
}

bool trial_place_is_others(const json_t *git)
{
    return json_is_true(json_object_get(git, "others"));
}

const char *trial_place_lack(char out[TRIAL_PLACE_LACK_MAX], const json_t *git)
{
    const char *mute = cli_json_string(git, "mute");
    if (mute)
        snprintf(out, TRIAL_PLACE_LACK_MAX, "git does not answer for the repository %.200s; `git -C %.200s status` says why",
                 mute, mute);
    else
        snprintf(out, TRIAL_PLACE_LACK_MAX, "the repository %.400s is not there", cli_json_member(git, "top"));
    return out;
}

void trial_place_forget(json_t *git)
{
    json_object_del(git, "mute");
    json_object_del(git, "place");
    json_object_del(git, "others");
}
