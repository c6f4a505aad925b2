/*
 * The diff comes from a planner, so nothing in it is trusted. git refuses paths that lead out of the directory or
 * through a symbolic link. This file also refuses diffs that create links or other special files, or that change
 * protected files.
 */
#include "git/git.h"

#include <errno.h>
#include <fcntl.h>
#include <fts.h>
#include <limits.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/wait.h>
#include <unistd.h>

/* At most this many bytes of git's output are read. */
enum { TEXT_MAX = 1 << 20 };

static bool refuse(char *why, size_t size, const char *what, const char *name, const char *reason)
{
    snprintf(why, size, "%s%.200s%s%.300s", what, name, *reason ? ": " : "", reason);
    return false;
}

static _Noreturn void run_git(const char *const *argv, const char *dir, int in, int out)
{
    char ceiling[PATH_MAX];
    snprintf(ceiling, sizeof ceiling, "%s", dir);
    *strrchr(ceiling, '/') = '\0'; /* ignore a repository above the directory */
    setenv("GIT_CEILING_DIRECTORIES", ceiling, 1);
    setenv("GIT_CONFIG_NOSYSTEM", "1", 1);
    setenv("GIT_CONFIG_SYSTEM", "/dev/null", 1);
    setenv("GIT_CONFIG_GLOBAL", "/dev/null", 1);
    setenv("LC_ALL", "C", 1);
    unsetenv("GIT_DIR");
    unsetenv("GIT_WORK_TREE");
    unsetenv("GIT_CONFIG_COUNT");
    unsetenv("GIT_CONFIG_PARAMETERS");
    if (chdir(dir) == 0 && dup2(in, 0) == 0 && dup2(out, 1) == 1 && dup2(out, 2) == 2)
        execvp("git", (char *const *)(uintptr_t)argv);
    _exit(127);
}

/*
 * Runs git, with the diff as its input. Its output is written to `said`, truncated to `size` bytes; *length is its length.
 * Returns its exit status, or -1.
 */
static int git(const char *const *argv, const char *dir, FILE *diff, char *said, size_t size, size_t *length)
{
    int out[2], state = 0;
    size_t used = 0;
    ssize_t n = 1;
    char beyond[512];
    if (pipe(out) != 0)
        return -1;
    fcntl(out[0], F_SETFD, FD_CLOEXEC);
    lseek(fileno(diff), 0, SEEK_SET);
    pid_t pid = fork();
    if (pid == 0)
        run_git(argv, dir, fileno(diff), out[1]);
    close(out[1]);
    while (pid > 0 && n > 0) {
        n = used + 1 < size ? read(out[0], said + used, size - used - 1) : read(out[0], beyond, sizeof beyond);
        used += n > 0 && used + 1 < size ? (size_t)n : 0;
    }
    said[ *length = used] = '\0';
    close(out[0]);
    while (pid > 0 && waitpid(pid, &state, 0) < 0 && errno == EINTR)
        ;
    return pid > 0 && WIFEXITED(state) ? WEXITSTATUS(state) : -1;
}

/*
 * numstat is the output of `git apply --numstat -z`: ADDED TAB DELETED TAB PATH NUL for each file. With -z git quotes no
 * name. Returns false if a path is protected, or if the output is not of that form.
 */
static bool check_paths(const char *numstat, size_t length, bool (*is_protected)(const void *context, const char *path),
                        const void *context, char *why, size_t size)
{
    for (const char *at = numstat; at < numstat + length; at += strlen(at) + 1) {
        const char *tab = strchr(at, '\t'), *path = tab ? strchr(tab + 1, '\t') : NULL;
        if (!path || at + strlen(at) == numstat + length)
            return refuse(why, size, "diff: ", "the names of its files cannot be read", "");
        if (is_protected(context, path + 1))
            return refuse(why, size, "diff: it touches the protected file ", path + 1, "");
    }
    return true;
}

static bool are_plain_files(const char *dir, char *why, size_t size)
{
    char *const paths[] = {(char *)(uintptr_t)dir, NULL};
    bool good = true;
    FTS *tree = fts_open(paths, FTS_PHYSICAL | FTS_NOCHDIR, NULL);
    for (FTSENT *entry; good && tree && (entry = fts_read(tree));)
        if (entry->fts_info == FTS_SL || entry->fts_info == FTS_SLNONE || entry->fts_info == FTS_DEFAULT)
            good = refuse(why, size, "diff: it makes a link or a special file: ", entry->fts_name, "");
    if (tree)
        fts_close(tree);
    return good;
}

bool apply_diff(const char *diff, const char *dir, bool (*is_protected)(const void *context, const char *path),
                const void *context, char *why, size_t size)
{
    static const char *const numstat[] = {"git", "apply", "--numstat", "-z", "--whitespace=nowarn", "-", NULL};
    /* The new name of a renamed file is the old name in the reverse direction. */
    static const char *const old_names[] = {"git", "apply", "-R", "--numstat", "-z", "--whitespace=nowarn", "-", NULL};
    static const char *const apply_it[] = {"git", "apply", "--whitespace=nowarn", "-", NULL};
    char *said = malloc(TEXT_MAX);
    FILE *in = tmpfile();
    bool good = false;
    size_t length;
    why[0] = '\0';
    if (!said || !in || fputs(diff, in) < 0 || fflush(in) != 0)
        refuse(why, size, "diff: ", "it cannot be written", strerror(errno));
    else if (git(numstat, dir, in, said, TEXT_MAX, &length) != 0)
        refuse(why, size, "diff: ", "git cannot read it", said);
    else if (!check_paths(said, length, is_protected, context, why, size))
        good = false;
    else if (git(old_names, dir, in, said, TEXT_MAX, &length) != 0)
        refuse(why, size, "diff: ", "git cannot read it", said);
    else if (check_paths(said, length, is_protected, context, why, size) && git(apply_it, dir, in, said, TEXT_MAX, &length) != 0)
        refuse(why, size, "diff: ", "git cannot apply it to the parent's files", said);
    else
        good = !why[0] && are_plain_files(dir, why, size);
    if (in)
        fclose(in);
    free(said);
    for (char *c = why; *c; c++)
        if (*c == '\n')
            *c = ' ';
    return good;
}
