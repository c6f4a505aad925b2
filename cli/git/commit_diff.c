#include "git/git.h"

#include <fcntl.h>

#include "cli.h"
#include "trial/one_trial.h"

/* With these attributes git finds the function or class around a change, for the heading of a hunk. They have
 * precedence over the attributes of the work tree. */
static const char attributes[] = "*.py diff=python\n*.c diff=cpp\n*.h diff=cpp\n*.cc diff=cpp\n*.cpp diff=cpp\n*.cu diff=cpp\n"
                                 "*.cuh diff=cpp\n*.rs diff=rust\n*.go diff=golang\n*.java diff=java\n*.sh diff=bash\n"
                                 "*.md diff=markdown\n";

/* Whether the repository of one trial has the commits of both. */
static bool find(struct repository *r, const json_t *place, const char *from, const char *to)
{
    const char *top = trial_place_of(place);
    char commit[REPOSITORY_COMMIT_MAX];
    return top && repository_find(r, top) && repository_commit(commit, r, from) && repository_commit(commit, r, to);
}

static bool write_attributes(const struct repository *r)
{
    char path[PATH_MAX + 32];
    snprintf(path, sizeof path, "%s/info/attributes", r->scratch);
    FILE *out = fopen(path, "we");
    return out && (fputs(attributes, out) >= 0) + (fclose(out) == 0) == 2;
}

/* Asks git in a scratch repository and returns its output, which the caller frees. */
static char *ask_scratch(struct repository *r, const char *const *words, size_t *length)
{
    char dir[PATH_MAX], *text = NULL;
    if (!cli_temporary_dir(dir, sizeof dir, "lineage"))
        return NULL;
    r->index[0] = '\0'; /* neither side is the work tree */
    if (repository_scratch_make(r, dir) && write_attributes(r))
        text = repository_git(r, NULL, words, GIT_DIFF_MAX, length);
    workdir_remove_tree(AT_FDCWD, dir);
    return text;
}

enum { PLANS = 2, PATHSPEC_MAX = PATH_MAX + 32 };

/* The files of the nights that ran the two trials, to be left out; NULL: none. If a trial read its own (""), none is left out. */
static void find_plans(const char *plans[PLANS], const json_t *from, const json_t *to)
{
    plans[0] = json_string_value(json_object_get(from, "plan"));
    plans[1] = json_string_value(json_object_get(to, "plan"));
    if ((plans[0] && !*plans[0]) || (plans[1] && !*plans[1]))
        plans[0] = plans[1] = NULL;
}

/* Appends pathspecs of the plans, with this magic, at words[n]. Returns the number of words. */
static size_t add_plans(const char **words, size_t n, char texts[PLANS][PATHSPEC_MAX], const char *magic,
                        const char *const plans[PLANS])
{
    for (size_t i = 0; i < PLANS; i++)
        if (plans[i] && snprintf(texts[i], PATHSPEC_MAX, ":(top,%s)%s", magic, plans[i]) > 0)
            words[n++] = texts[i];
    return n;
}

/* Appends a pathspec that leaves out the store of a trial at words[n]: in a repository that tracks it, its files are in the commits, also of
 * trials in other work trees. A store at the top is not left out, because a user's files may have the same names. */
static size_t add_store(const char **words, size_t n, char text[PATHSPEC_MAX], const json_t *git)
{
    const char *store = cli_json_member(git, "store"), *common = cli_json_member(git, "common"), *slash = strrchr(common, '/');
    char top[PATH_MAX];
    snprintf(top, sizeof top, "%.*s", slash ? (int)(slash - common) : 0, common);
    const char *below = work_tree_below(cli_json_member(git, "top"), store);
    below = !below && *top ? work_tree_below(top, store) : below;
    if (below && *below && snprintf(text, PATHSPEC_MAX, ":(top,exclude,literal)%s", below) > 0)
        words[n++] = text;
    return n;
}

enum { OUTPUTS_MAX = GIT_UNTRACKED_FILES };

/* Asks git, with a pathspec behind the words for each file that one of the trials (from NULL: the other alone) has as what programs left
 * beside the code: earlier versions had these in their commits. */
static char *ask_without_outputs(struct repository *r, const char *const *words, const json_t *from, const json_t *to,
                                 size_t *length)
{
    const json_t *const both[] = {json_object_get(from, "outputs"), json_object_get(to, "outputs")}, *name;
    json_t *specs = json_object(), *spec; /* each once */
    const char *key, **all;
    size_t n = 0, i;
    for (size_t k = 0; k < 2; k++)
        json_array_foreach(both[k], i, name)
            json_object_set_new(specs, json_string_value(name),
                                json_sprintf(":(top,exclude,literal)%s", json_string_value(name)));
    while (words[n])
        n++;
    all = calloc(n + json_object_size(specs) + 1, sizeof *all);
    if (all)
        memcpy(all, words, n * sizeof *all);
    i = 0;
    json_object_foreach(specs, key, spec)
        if (all && i++ < OUTPUTS_MAX)
            all[n++] = json_string_value(spec);
    char *text = all ? ask_scratch(r, all, length) : NULL;
    free(all);
    json_decref(specs);
    return text;
}

static char *diff(struct repository *r, const json_t *from, const json_t *to, size_t file_max, size_t *length)
{
    char big[64], pathspecs[PLANS][PATHSPEC_MAX], stores[2][PATHSPEC_MAX];
    const char *plans[PLANS];
    const char *words[20] = {"-c",
                             big,
                             "diff",
                             "--no-ext-diff",
                             "--no-textconv",
                             "--no-color",
                             "--find-renames",
                             "--submodule=short",
                             "--end-of-options",
                             trial_place_code(from),
                             trial_place_code(to),
                             "--",
                             ":(top)"};
    snprintf(big, sizeof big, "core.bigFileThreshold=%zu", file_max);
    find_plans(plans, from, to);
    size_t n = add_plans(words, 13, pathspecs, "exclude,literal", plans);
    n = add_store(words, n, stores[0], to);
    add_store(words, n, stores[1], from);
    return ask_without_outputs(r, words, from, to, length);
}

/* Finds the repository of one of the two trials that has the commits of both. */
static bool find_of_both(struct repository *r, const json_t *from, const json_t *to)
{
    const char *a = trial_place_code(from), *b = trial_place_code(to);
    return r && *a && *b && (find(r, to, a, b) || find(r, from, a, b));
}

/* git compares patches, so a commit that was rebased or picked counts as contained, and so does one whose files HEAD has,
 * after a squash or a rebase that dropped what a later commit replaced. */
static bool has_more(struct repository *r, const json_t *git, const char *head, const char *commit)
{
    const char *const same[] = {"diff", "--name-only", "--end-of-options", head, commit, "--", ":(top)", NULL};
    char range[2 * REPOSITORY_COMMIT_MAX + 8];
    const char *const words[] = {"rev-list", "--cherry-pick", "--right-only", "--no-merges", "-n", "1", range, "--", NULL};
    size_t length = 0;
    snprintf(range, sizeof range, "%s...%s", head, commit);
    char *text = ask_without_outputs(r, words, NULL, git, &length);
    bool more = text && length > 0;
    free(text);
    if (more && (text = ask_without_outputs(r, same, NULL, git, &length))) {
        more = length > 0;
        free(text);
    }
    return more;
}

/* Changes that the parent had not committed are missing for certain only where the working tree has no changes. */
enum commit_lack commit_lacks(const json_t *git, const json_t *parent)
{
    const char *now = trial_place_code(git), *then = trial_place_code(parent),
               *base = json_string_value(json_object_get(parent, "commit"));
    const char *head = json_string_value(json_object_get(git, "commit"));
    struct repository *r = calloc(1, sizeof *r);
    enum commit_lack lack = COMMIT_LACKS_NOTHING;
    bool known = r && *now && *then && base && head && strcmp(now, then) != 0 && find(r, git, now, then);
    bool uncommitted = known && strcmp(then, base) != 0;
    if (known && !(uncommitted && strcmp(now, head) != 0) && has_more(r, git, head, then))
        lack = uncommitted && !has_more(r, git, head, base) ? COMMIT_LACKS_CHANGES : COMMIT_LACKS_COMMITS;
    free(r);
    return lack;
}

bool commit_plan_differs(const json_t *from, const json_t *to)
{
    const char *plans[PLANS], *a = trial_place_code(from), *b = trial_place_code(to);
    char pathspecs[PLANS][PATHSPEC_MAX];
    const char *words[10] = {"diff", "--name-only", "--end-of-options", a, b, "--"};
    struct repository *r = calloc(1, sizeof *r);
    char *text = NULL;
    size_t length = 0;
    find_plans(plans, from, to);
    if (add_plans(words, 6, pathspecs, "literal", plans) > 6 && *a && *b && strcmp(a, b) != 0 && find_of_both(r, from, to))
        text = ask_scratch(r, words, &length);
    free(text);
    free(r);
    return length > 0;
}

char *commit_diff(const json_t *from, const json_t *to, size_t file_max, size_t *length)
{
    const char *a = trial_place_code(from), *b = trial_place_code(to);
    struct repository *r = calloc(1, sizeof *r);
    char *text = NULL;
    *length = 0;
    if (*a && *b && strcmp(a, b) == 0)
        text = strdup("");
    else if (find_of_both(r, from, to))
        text = diff(r, from, to, file_max, length);
    free(r);
    return text;
}
