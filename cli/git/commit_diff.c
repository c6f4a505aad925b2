/* commit_diff.c: see commit_diff.h. */
#include "git/commit_diff.h"

#include <fcntl.h>
#include <limits.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "git/repository.h"
#include "git/trial_place.h"
#include "git/work_tree_diff.h"
#include "trial/workdir.h"

/* With these attributes git finds the function or class around a change, for the heading of a hunk. They have
 * precedence over the attributes of the work tree. */
static const char attributes[] = "*.py diff=python\n*.c diff=cpp\n*.h diff=cpp\n*.cc diff=cpp\n*.cpp diff=cpp\n*.cu diff=cpp\n"
                                 "*.cuh diff=cpp\n*.rs diff=rust\n*.go diff=golang\n*.java diff=java\n*.sh diff=bash\n"
                                 "*.md diff=markdown\n";

static const char *code_of(const json_t *git)
{
    const char *code = json_string_value(json_object_get(git, "code"));
    return code ? code : json_string_value(json_object_get(git, "commit"));
}

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

static char *diff(struct repository *r, const char *from, const char *to, size_t file_max, size_t *length)
{
    char dir[PATH_MAX], big[64], *text = NULL;
    const char *place = getenv("TMPDIR");
    const char *const words[] = {"-c", big, "diff", "--no-ext-diff", "--no-textconv", "--no-color", "--find-renames",
                                 "--submodule=short", "--end-of-options", from, to, NULL};
    int n = snprintf(dir, sizeof dir, "%s/lineage-XXXXXX", place && *place ? place : "/tmp");
    snprintf(big, sizeof big, "core.bigFileThreshold=%zu", file_max);
    if (n < 0 || n >= PATH_MAX || !mkdtemp(dir))
        return NULL;
    r->index[0] = '\0'; /* neither side is the work tree */
    if (repository_scratch_make(r, dir) && write_attributes(r))
        text = repository_git(r, NULL, words, GIT_DIFF_MAX, length);
    workdir_remove_tree(AT_FDCWD, dir);
    return text;
}

char *commit_diff(const json_t *from, const json_t *to, size_t file_max, size_t *length)
{
    const char *a = code_of(from), *b = code_of(to);
    struct repository *r = calloc(1, sizeof *r);
    char *text = NULL;
    *length = 0;
    if (a && b && strcmp(a, b) == 0)
        text = strdup("");
    else if (r && a && b && (find(r, to, a, b) || find(r, from, a, b)))
        text = diff(r, a, b, file_max, length);
    free(r);
    return text;
}
