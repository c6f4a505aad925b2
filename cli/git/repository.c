#include "git/git.h"

#include <fcntl.h>
#include <sys/stat.h>
#include <unistd.h>

#include "cli.h"
#include "trial/one_trial.h"

#define SCRATCH ".lineage-git"

/* Time limit of a git command: a repository may be large and a disk slow, but a trial must not wait forever. */
static const double seconds = 60;

enum { WORDS_MAX = 256, ENVIRONMENT_MAX = 32, REFS_MAX = 64 << 20 };

bool repository_above(char top[PATH_MAX], const char *dir, const char *mark)
{
    char path[PATH_MAX], *slash = NULL;
    if (!realpath(dir, top))
        return false;
    while (!cli_path_in(path, top, mark) || access(path, F_OK) != 0) {
        if ((slash = strrchr(top, '/')) == top || !slash)
            return false;
        *slash = '\0';
    }
    return true;
}

/* A repository that belongs to another user is refused by git itself. The variables that git sets for its hooks name the repository of the
 * hook, so they count only where dir has no .git. */
static char *in_users(const char *dir, const char *const *words, size_t max, size_t *length)
{
    static const char *const all[] = {"GIT_DIR",
                                      "GIT_WORK_TREE",
                                      "GIT_INDEX_FILE",
                                      "GIT_COMMON_DIR",
                                      "GIT_NAMESPACE",
                                      "GIT_OPTIONAL_LOCKS=0",
                                      "GIT_TERMINAL_PROMPT=0",
                                      "GIT_NO_LAZY_FETCH=1",
                                      NULL};
    char top[PATH_MAX];
    const char *const *environment = all + (repository_above(top, dir, ".git") ? 0 : 5);
    const char *argv[WORDS_MAX] = {
        "git", "-C", dir, "-c", "core.fsmonitor=false", "-c", "core.hooksPath=/dev/null", "-c", "core.logAllRefUpdates=false"};
    size_t n = 9;
    while (*words && n < WORDS_MAX - 1)
        argv[n++] = *words++;
    argv[n] = NULL;
    return read_command(argv, environment, seconds, max, length);
}

bool repository_ask(char *out, size_t size, const char *dir, const char *const *words)
{
    size_t length;
    char *text = in_users(dir, words, PATH_MAX, &length);
    return read_first_line(out, size, text);
}

static bool rev_parse(char *out, size_t size, const char *dir, const char *what, const char *which)
{
    const char *const words[] = {"rev-parse", what, which, NULL};
    return repository_ask(out, size, dir, words);
}

bool repository_common(char out[PATH_MAX], const char *dir)
{
    static const char *const words[] = {"rev-parse", "--path-format=absolute", "--git-common-dir", NULL};
    return repository_ask(out, PATH_MAX, dir, words);
}

/* Asks several things of one git, which takes most of the time of a question: a line each. Returns false if there are fewer. text owns the
 * lines. */
static bool ask_lines(char **text, char **lines, size_t n, const char *dir, const char *const *words)
{
    size_t length, k = 0;
    *text = in_users(dir, words, 8 * PATH_MAX, &length);
    for (char *at = *text; at && *at && k < n; k++) {
        lines[k] = at;
        at += strcspn(at, "\n");
        if (*at)
            *at++ = '\0';
    }
    return k == n;
}

/* --git-path prints a path relative to the directory in which it runs. "" if the file is not there. */
static bool take_path(char out[PATH_MAX], const struct repository *r, const char *path)
{
    char whole[2 * PATH_MAX];
    snprintf(whole, sizeof whole, "%s%s%s", path[0] == '/' ? "" : r->top, path[0] == '/' ? "" : "/", path);
    bool found = realpath(whole, out) != NULL;
    if (!found)
        out[0] = '\0';
    return found;
}

enum { OBJECTS, INDEX, SHALLOW, EXCLUDE, FORMAT, PLACES };

/* An old git prints an option that it does not know. */
static bool find_places(struct repository *r)
{
    static const char *const words[] = {"rev-parse", "--git-path", "objects",      "--git-path",           "index", "--git-path",
                                        "shallow",   "--git-path", "info/exclude", "--show-object-format", NULL};
    char *text, *lines[PLACES];
    bool found = ask_lines(&text, lines, PLACES, r->top, words) && take_path(r->objects, r, lines[OBJECTS]);
    if (found) {
        take_path(r->index, r, lines[INDEX]);
        take_path(r->shallow, r, lines[SHALLOW]);
        take_path(r->excludes[0], r, lines[EXCLUDE]);
        snprintf(r->format, sizeof r->format, "%s", lines[FORMAT][0] == '-' ? "sha1" : lines[FORMAT]);
    }
    free(text);
    return found;
}

bool repository_find(struct repository *r, const char *dir)
{
    static const char *const excludes[] = {"config", "--type=path", "--get", "core.excludesFile", NULL};
    static const char *const head[] = {"rev-parse", "HEAD", "HEAD^{tree}", "--abbrev-ref", "HEAD", NULL};
    char *text, *lines[3];
    *r = (struct repository){0};
    r->has_files = rev_parse(r->top, sizeof r->top, dir, "--show-toplevel", NULL);
    if ((!r->has_files && !rev_parse(r->top, sizeof r->top, dir, "--absolute-git-dir", NULL)) || !find_places(r))
        return false;
    if (!repository_ask(r->excludes[1], sizeof r->excludes[1], r->top, excludes))
        r->excludes[1][0] = '\0';
    if (ask_lines(&text, lines, 3, dir, head)) {
        snprintf(r->commit, sizeof r->commit, "%s", lines[0]);
        snprintf(r->tree, sizeof r->tree, "%s", lines[1]);
        snprintf(r->branch, sizeof r->branch, "%s", lines[2]);
    }
    free(text);
    return true;
}

bool repository_is_mute(char top[PATH_MAX], const char *dir)
{
    char common[PATH_MAX];
    return !repository_common(common, dir) && repository_above(top, dir, ".git");
}

bool repository_has_no_files(const char *dir)
{
    char answer[8];
    static const char *const inside[] = {"rev-parse", "--is-inside-git-dir", NULL};
    return repository_ask(answer, sizeof answer, dir, inside) && strcmp(answer, "true") == 0;
}

/* --end-of-options, because the name may come from a file that anybody can edit. */
bool repository_commit(char commit[REPOSITORY_COMMIT_MAX], const struct repository *r, const char *name)
{
    char peeled[REPOSITORY_REF_MAX + 16];
    const char *const words[] = {"rev-parse", "--verify", "--quiet", "--end-of-options", peeled, NULL};
    int n = snprintf(peeled, sizeof peeled, "%s^{commit}", name);
    return n > 0 && (size_t)n < sizeof peeled && repository_ask(commit, REPOSITORY_COMMIT_MAX, r->top, words);
}

bool repository_flag(const struct repository *r, const char *key, bool otherwise)
{
    char value[64];
    const char *const words[] = {"config", "--type=bool-or-str", "--get", key, NULL};
    if (!repository_ask(value, sizeof value, r->top, words))
        return otherwise;
    if (strcmp(value, "true") != 0 && strcmp(value, "false") != 0)
        cli_error(CLI_USAGE, "git config %s of %s is not true or false; it counts as false", key, r->top);
    return strcmp(value, "true") == 0;
}

char *repository_refs(const char *dir, const char *prefix)
{
    const char *const words[] = {"for-each-ref", "--sort=-version:refname", "--format=%(refname)", prefix, NULL};
    size_t length;
    char *text = in_users(dir, words, REFS_MAX, &length);
    if (text && length)
        return text;
    free(text);
    return NULL;
}

bool repository_ref_set(const struct repository *r, const char *ref, const char *commit, const char *before)
{
    const char *const set[] = {"update-ref", "--no-deref", ref, commit, before, NULL};
    const char *const remove[] = {"update-ref", "--no-deref", "-d", ref, before, NULL};
    size_t length;
    char *text = in_users(r->top, commit ? set : remove, 1 << 12, &length);
    free(text);
    return text != NULL;
}

static bool put_file(const char *dir, const char *name, const char *text)
{
    char path[PATH_MAX];
    FILE *out = cli_path_in(path, dir, name) ? fopen(path, "we") : NULL;
    if (!out)
        return false;
    bool ok = fprintf(out, "%s\n", text) >= 0;
    return fclose(out) == 0 && ok;
}

static bool put_dir(const char *dir, const char *name)
{
    char path[PATH_MAX];
    return cli_path_in(path, dir, name) && mkdir(path, 0700) == 0;
}

/*
 * Copies a file of the user's repository; one that does not exist is left out. The copy has the time of the original: git
 * reads a file that was changed in the same second as the index, and would take it for unchanged if the index were newer.
 */
static bool copy_file(const struct repository *r, const char *from, const char *name)
{
    char to[PATH_MAX], buffer[1 << 14];
    struct stat st;
    int n = snprintf(to, sizeof to, "%s/%s", r->scratch, name);
    int from_fd = from[0] ? open(from, O_RDONLY | O_CLOEXEC) : -1;
    if (from_fd < 0)
        return true;
    int to_fd = n > 0 && n < PATH_MAX ? open(to, O_WRONLY | O_CREAT | O_EXCL | O_CLOEXEC, 0600) : -1;
    ssize_t got = -1;
    bool ok = to_fd >= 0;
    while (ok && (got = read(from_fd, buffer, sizeof buffer)) > 0)
        ok = write(to_fd, buffer, (size_t)got) == got;
    ok = ok && got == 0 && fstat(from_fd, &st) == 0 && futimens(to_fd, (struct timespec[]){st.st_atim, st.st_mtim}) == 0;
    close(from_fd);
    cli_close(to_fd);
    return ok;
}

bool repository_scratch_head(const struct repository *r)
{
    return put_file(r->scratch, "HEAD", r->commit[0] ? r->commit : "ref: refs/heads/none");
}

/* The index records which files are unchanged since git last read them. Without it git would read every file. */
bool repository_scratch_make(struct repository *r, const char *dir)
{
    char config[256];
    int n = snprintf(r->scratch, sizeof r->scratch, "%s/" SCRATCH, dir);
    snprintf(config, sizeof config, "[core]\nrepositoryformatversion = 1\nbare = false\n[extensions]\nobjectFormat = %s",
             r->format);
    if (n < 0 || (size_t)n >= sizeof r->scratch || mkdir(r->scratch, 0700) != 0)
        return false;
    snprintf(r->git_dir, sizeof r->git_dir, "GIT_DIR=%s", r->scratch);
    snprintf(r->work_tree, sizeof r->work_tree, "GIT_WORK_TREE=%s", r->top);
    return put_dir(r->scratch, "refs") && put_dir(r->scratch, "objects") && put_dir(r->scratch, "objects/info") &&
           put_dir(r->scratch, "info") && put_file(r->scratch, "config", config) && repository_scratch_head(r) &&
           put_file(r->scratch, "objects/info/alternates", r->objects) && copy_file(r, r->index, "index") &&
           copy_file(r, r->shallow, "shallow") && copy_file(r, r->excludes[0], "info/exclude");
}

void repository_scratch_remove(struct repository *r)
{
    if (r->scratch[0])
        workdir_remove_tree(AT_FDCWD, r->scratch);
    r->scratch[0] = '\0';
}

/* The environment overrides variables of the user that would point git to another repository. */
char *repository_git(const struct repository *r, const char *const *more, const char *const *words, size_t max, size_t *length)
{
    char excludes[PATH_MAX + 32], index[PATH_MAX + 32], objects[PATH_MAX + 32];
    const char *argv[WORDS_MAX] = {"git", "-C", r->top, "-c", "diff.autoRefreshIndex=false", "-c", "core.safecrlf=false"};
    const char *environment[ENVIRONMENT_MAX] = {r->git_dir,
                                                r->work_tree,
                                                "GIT_CONFIG_NOSYSTEM=1",
                                                "GIT_CONFIG_GLOBAL=/dev/null",
                                                "GIT_CONFIG_COUNT=0",
                                                "GIT_CONFIG_PARAMETERS=",
                                                "GIT_EXTERNAL_DIFF=",
                                                "GIT_OPTIONAL_LOCKS=0",
                                                "GIT_NO_LAZY_FETCH=1",
                                                "GIT_PAGER=cat",
                                                "GIT_ALTERNATE_OBJECT_DIRECTORIES=",
                                                "GIT_ATTR_NOSYSTEM=1",
                                                "GIT_LITERAL_PATHSPECS=0",
                                                "GIT_GLOB_PATHSPECS=0",
                                                "GIT_NOGLOB_PATHSPECS=0",
                                                "GIT_ICASE_PATHSPECS=0",
                                                index,
                                                objects};
    size_t n = 7, m = 18;
    snprintf(index, sizeof index, "GIT_INDEX_FILE=%s/index", r->scratch);
    snprintf(objects, sizeof objects, "GIT_OBJECT_DIRECTORY=%s%s", r->shares_objects ? r->objects : r->scratch,
             r->shares_objects ? "" : "/objects");
    if (r->excludes[1][0]) {
        snprintf(excludes, sizeof excludes, "core.excludesFile=%s", r->excludes[1]);
        argv[n++] = "-c";
        argv[n++] = excludes;
    }
    while (*words && n < WORDS_MAX - 1)
        argv[n++] = *words++;
    if (*words) /* without the rest it would be another question */
        return NULL;
    while (more && *more && m < ENVIRONMENT_MAX - 1)
        environment[m++] = *more++;
    return read_command(argv, environment, seconds, max, length);
}

bool repository_run(const struct repository *r, const char *const *words)
{
    size_t length;
    char *text = repository_git(r, NULL, words, 1 << 20, &length);
    free(text);
    return text != NULL;
}
