/*
 * work_tree_diff.c: see work_tree_diff.h.
 *
 * A repository's configuration may name programs: filters, external diffs, monitors, hooks. So the only git command run
 * in the user's repository is rev-parse, which finds the repository and runs none of these programs. The diffs are made
 * in a scratch repository of our own: its HEAD is the user's commit, objects/info/alternates points to the user's
 * objects, the index is a copy, and the configuration is ours. Filters that attributes in the work tree name are
 * therefore not defined there. Submodules have configurations of their own and are left out.
 */
#include "git/work_tree_diff.h"

#include <errno.h>
#include <fcntl.h>
#include <limits.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

#include "cli.h"
#include "git/read_command.h"
#include "trial/workdir.h"

#define SCRATCH ".lineage-git"

/* Time limit of a git command: a repository may be large and a disk slow, but a trial must not wait forever. */
static const double seconds = 60;

struct repository {
    char top[PATH_MAX], objects[PATH_MAX], index[PATH_MAX], commit[80], format[16], branch[256];
    char scratch[PATH_MAX], git_dir[PATH_MAX + 16], work_tree[PATH_MAX + 16];
};

/* The environment of rev-parse. A repository that belongs to another user is refused by git itself. */
static const char *const asking[] = {"GIT_OPTIONAL_LOCKS=0", "GIT_TERMINAL_PROMPT=0", NULL};

static bool ask(char *out, size_t size, const char *dir, const char *what, const char *which)
{
    const char *const argv[] = {"git", "-C", dir, "-c", "core.fsmonitor=false", "rev-parse", what, which, NULL};
    size_t length;
    char *text = read_command(argv, asking, seconds, PATH_MAX, &length);
    if (!text)
        return false;
    text[strcspn(text, "\n")] = '\0';
    bool fits = *text && strlen(text) < size;
    if (fits)
        strcpy(out, text);
    free(text);
    return fits;
}

/* --git-path prints a path relative to the directory in which it runs. */
static bool find_path(char out[PATH_MAX], const struct repository *r, const char *name)
{
    char path[PATH_MAX], whole[2 * PATH_MAX];
    if (!ask(path, sizeof path, r->top, "--git-path", name))
        return false;
    snprintf(whole, sizeof whole, "%s%s%s", path[0] == '/' ? "" : r->top, path[0] == '/' ? "" : "/", path);
    return realpath(whole, out) != NULL;
}

/* Finds the repository around dir. */
static bool find(struct repository *r, const char *dir)
{
    if (!ask(r->top, sizeof r->top, dir, "--show-toplevel", NULL) ||
        !ask(r->commit, sizeof r->commit, dir, "--verify", "HEAD") || !find_path(r->objects, r, "objects"))
        return false;
    if (!find_path(r->index, r, "index"))
        r->index[0] = '\0';
    if (!ask(r->branch, sizeof r->branch, dir, "--abbrev-ref", "HEAD"))
        r->branch[0] = '\0';
    if (!ask(r->format, sizeof r->format, dir, "--show-object-format", NULL))
        strcpy(r->format, "sha1");
    return true;
}

/* ---- the scratch repository ---- */

static bool put_file(const char *dir, const char *name, const char *text, const char *more)
{
    char path[PATH_MAX];
    int n = snprintf(path, sizeof path, "%s/%s", dir, name);
    FILE *out = n > 0 && n < PATH_MAX ? fopen(path, "we") : NULL;
    if (!out)
        return false;
    bool ok = fprintf(out, "%s%s\n", text, more) >= 0;
    return fclose(out) == 0 && ok;
}

static bool put_dir(const char *dir, const char *name)
{
    char path[PATH_MAX];
    int n = snprintf(path, sizeof path, "%s/%s", dir, name);
    return n > 0 && n < PATH_MAX && mkdir(path, 0700) == 0;
}

/* The index records which files are unchanged since git last read them. Without it git would read every file. */
static bool copy_index(const struct repository *r)
{
    char to[PATH_MAX], buffer[1 << 14];
    int n = snprintf(to, sizeof to, "%s/index", r->scratch);
    int from_fd = r->index[0] ? open(r->index, O_RDONLY | O_CLOEXEC) : -1;
    if (from_fd < 0)
        return true;
    int to_fd = n > 0 && n < PATH_MAX ? open(to, O_WRONLY | O_CREAT | O_EXCL | O_CLOEXEC, 0600) : -1;
    ssize_t got = -1;
    bool ok = to_fd >= 0;
    while (ok && (got = read(from_fd, buffer, sizeof buffer)) > 0)
        ok = write(to_fd, buffer, (size_t)got) == got;
    close(from_fd);
    if (to_fd >= 0)
        close(to_fd);
    return ok && got == 0;
}

static bool make_scratch(struct repository *r, const char *dir)
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
           put_file(r->scratch, "config", config, "") && put_file(r->scratch, "HEAD", r->commit, "") &&
           put_file(r->scratch, "objects/info/alternates", r->objects, "") && copy_index(r);
}

/*
 * Runs git with these arguments. Its environment overrides variables of the user that would point git to another
 * repository.
 */
static char *git(const struct repository *r, const char *const *words, size_t max, size_t *length)
{
    const char *argv[24] = {"git", "-C", r->top, "-c", "diff.autoRefreshIndex=false"};
    const char *const environment[] = {r->git_dir, r->work_tree, "GIT_CONFIG_NOSYSTEM=1", "GIT_CONFIG_GLOBAL=/dev/null",
                                       "GIT_CONFIG_COUNT=0", "GIT_CONFIG_PARAMETERS=", "GIT_EXTERNAL_DIFF=",
                                       "GIT_OPTIONAL_LOCKS=0", "GIT_NO_LAZY_FETCH=1", "GIT_PAGER=cat",
                                       "GIT_ALTERNATE_OBJECT_DIRECTORIES=", "GIT_ATTR_NOSYSTEM=1", NULL};
    size_t n = 5;
    while (*words && n < sizeof argv / sizeof *argv - 1)
        argv[n++] = *words++;
    argv[n] = NULL;
    return read_command(argv, environment, seconds, max, length);
}

/* ---- diffs ---- */

static bool write_bytes(const char *dir, const char *name, const char *text, size_t length)
{
    char path[PATH_MAX];
    int n = snprintf(path, sizeof path, "%s/%s", dir, name);
    FILE *out = n > 0 && n < PATH_MAX ? fopen(path, "we") : NULL;
    if (!out)
        return false;
    bool ok = fwrite(text, 1, length, out) == length;
    return fclose(out) == 0 && ok;
}

/*
 * cached is "--cached" to compare the index with HEAD, or NULL to compare the files with the index. A diff that is too
 * large is left out rather than truncated, because half a diff cannot be applied.
 */
static void write_diff(const struct repository *r, const char *dir, const char *name, const char *key, const char *cached,
                       json_t *result)
{
    char file[64];
    const char *const words[] = {"diff", "--no-ext-diff", "--no-textconv", "--no-color", "--binary", "--full-index",
                                 "--ignore-submodules=all", cached ? cached : "--no-renames", NULL};
    size_t length;
    char *text = git(r, words, GIT_DIFF_MAX, &length);
    snprintf(file, sizeof file, "%s.diff", name);
    if (!text || (length > 0 && !write_bytes(dir, file, text, length)))
        json_object_set_new(result, "left_out", json_string("a diff that git could not make, or of more than 8 MiB"));
    else
        json_object_set_new(result, key, json_integer((json_int_t)length));
    free(text);
}

/* ---- untracked files ---- */

/* Creates the parent directories of a path. The part of the path before offset `from` already exists. */
static bool make_parents(char *path, size_t from)
{
    for (char *slash = path + from; (slash = strchr(slash + 1, '/'));) {
        *slash = '\0';
        bool ok = mkdir(path, 0777) == 0 || errno == EEXIST;
        *slash = '/';
        if (!ok)
            return false;
    }
    return true;
}

/* Copies a regular file. Returns false for a link or another kind of file, if it is larger than *room, or if copying
 * fails. */
static bool copy_untracked(const char *top, const char *dir, const char *name, size_t *room)
{
    char from[PATH_MAX], to[PATH_MAX];
    struct stat st;
    int n = snprintf(from, sizeof from, "%s/%s", top, name), m = snprintf(to, sizeof to, "%s/untracked/%s", dir, name);
    if (n < 0 || n >= PATH_MAX || m < 0 || m >= PATH_MAX)
        return false;
    int fd = open(from, O_RDONLY | O_NOFOLLOW | O_NONBLOCK | O_CLOEXEC);
    bool ok = fd >= 0 && fstat(fd, &st) == 0 && S_ISREG(st.st_mode) && (size_t)st.st_size <= *room;
    char *bytes = ok ? malloc((size_t)st.st_size + 1) : NULL;
    ssize_t got = bytes ? read(fd, bytes, (size_t)st.st_size) : -1;
    ok = got >= 0 && make_parents(to, strlen(dir)) && write_bytes(dir, to + strlen(dir) + 1, bytes, (size_t)got);
    if (ok)
        *room -= (size_t)got;
    free(bytes);
    if (fd >= 0)
        close(fd);
    return ok;
}

/*
 * Whether the file belongs to the store. If the store is the top directory of the repository, its files are recognized
 * by name.
 */
static bool is_of_store(const char *top, const char *name, const char *store)
{
    static const char *const own[] = {"results.tsv", ".trial-", "lineage.", "telemetry/", "snapshots/", "logs/",
                                      "provenance/", "checkpoints/", "KNOWLEDGE.md", NULL};
    char resolved[PATH_MAX];
    size_t n = strlen(top);
    if (!realpath(store, resolved) || strncmp(resolved, top, n) != 0)
        return false;
    if (resolved[n] == '/')
        return strncmp(name, resolved + n + 1, strlen(resolved + n + 1)) == 0 && name[strlen(resolved + n + 1)] == '/';
    for (size_t i = 0; !resolved[n] && own[i]; i++)
        if (strncmp(name, own[i], strlen(own[i])) == 0)
            return true;
    return false;
}

static void write_untracked(const struct repository *r, const char *dir, const char *store, json_t *result)
{
    static const char *const words[] = {"ls-files", "-z", "--others", "--exclude-standard", NULL};
    size_t length, room = GIT_UNTRACKED_MAX, copied = 0, left = 0;
    char *names = git(r, words, 1 << 20, &length);
    for (size_t at = 0; names && at < length; at += strlen(names + at) + 1)
        if (is_of_store(r->top, names + at, store))
            continue;
        else if (copied < GIT_UNTRACKED_FILES && names[at] != '/' && !strstr(names + at, "..") &&
            copy_untracked(r->top, dir, names + at, &room))
            copied++;
        else
            left++;
    json_object_set_new(result, "untracked", json_integer((json_int_t)copied));
    if (left || !names)
        json_object_set_new(result, "left_out", json_sprintf("%zu untracked files: too many, too large, or no files", left));
    free(names);
}

json_t *work_tree_diff_write(const char *dir, const char *store)
{
    struct repository *r = calloc(1, sizeof *r);
    json_t *result = NULL;
    char absolute[PATH_MAX]; /* git runs in another directory */
    if (r && realpath(dir, absolute) && find(r, ".")) {
        dir = absolute;
        result = json_pack("{s:s, s:s}", "commit", r->commit, "top", r->top);
        if (r->branch[0])
            json_object_set_new(result, "branch", json_string(r->branch));
        if (make_scratch(r, dir)) {
            write_diff(r, dir, "staged", "staged", "--cached", result);
            write_diff(r, dir, "unstaged", "unstaged", NULL, result);
            write_untracked(r, dir, store, result);
        }
        workdir_remove_tree(AT_FDCWD, r->scratch);
    }
    free(r);
    return result;
}

/* ---- restoring ---- */

static bool run_git(const struct repository *r, const char *const *words)
{
    size_t length;
    char *text = git(r, words, 1 << 20, &length);
    free(text);
    return text != NULL;
}

/* If the diff file is missing, there were no changes to record. */
static bool apply(const struct repository *r, const char *provenance, const char *name)
{
    char path[PATH_MAX];
    const char *const words[] = {"apply", "--whitespace=nowarn", path, NULL};
    int n = snprintf(path, sizeof path, "%s/%s", provenance, name);
    return n > 0 && n < PATH_MAX && (access(path, F_OK) != 0 || run_git(r, words));
}

static bool copy_back(const char *provenance, const char *to)
{
    char from[PATH_MAX], target[PATH_MAX];
    const char *const argv[] = {"cp", "-R", "-P", from, target, NULL};
    size_t length;
    int n = snprintf(from, sizeof from, "%s/untracked/.", provenance), m = snprintf(target, sizeof target, "%s/", to);
    if (n < 0 || n >= PATH_MAX || m < 0 || m >= PATH_MAX || access(from, F_OK) != 0)
        return true;
    char *text = read_command(argv, NULL, seconds, 1 << 16, &length);
    free(text);
    return text != NULL;
}

static bool restore(struct repository *r, const char *provenance, const char *to)
{
    char prefix[PATH_MAX + 16];
    const char *const read_tree[] = {"read-tree", r->commit, NULL};
    const char *const checkout[] = {"checkout-index", "--all", "--force", prefix, NULL};
    char absolute[PATH_MAX];
    if (!realpath(provenance, absolute))
        return false;
    snprintf(prefix, sizeof prefix, "--prefix=%s/", to);
    r->index[0] = '\0'; /* read-tree creates the commit's index */
    if (!make_scratch(r, to) || !run_git(r, read_tree) || !run_git(r, checkout))
        return false;
    snprintf(r->top, sizeof r->top, "%s", to);
    snprintf(r->work_tree, sizeof r->work_tree, "GIT_WORK_TREE=%s", to);
    return apply(r, absolute, "staged.diff") && apply(r, absolute, "unstaged.diff") && copy_back(absolute, to);
}

bool work_tree_diff_restore(const char *provenance, const json_t *git, const char *to)
{
    const char *top = json_string_value(json_object_get(git, "top"));
    const char *commit = json_string_value(json_object_get(git, "commit"));
    struct repository *r = calloc(1, sizeof *r);
    bool ok = r && top && commit && strlen(commit) < sizeof r->commit && find(r, top);
    if (!ok) {
        cli_error(CLI_USAGE, "no repository in %s any more", top ? top : "(unknown)");
    } else {
        strcpy(r->commit, commit);
        ok = restore(r, provenance, to);
        if (!ok)
            cli_error(CLI_SYSTEM, "cannot bring back commit %.40s of %s with its changes", commit, top);
        workdir_remove_tree(AT_FDCWD, r->scratch);
    }
    free(r);
    return ok;
}
