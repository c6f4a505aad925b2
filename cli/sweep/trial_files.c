/*
 * trial_files.c: see trial_files.h.
 *
 * A diff comes from a program that may be wrong about everything. git refuses paths that lead out of the directory, and
 * links on the way; this file also refuses links and other special files, and changes of protected files.
 */
#include "sweep/trial_files.h"

#include <errno.h>
#include <fcntl.h>
#include <fts.h>
#include <limits.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <sys/wait.h>
#include <unistd.h>

enum { TEXT_MAX = 1 << 20 };

static bool refuse(char *why, const char *what, const char *name, const char *reason)
{
    snprintf(why, NIGHT_WHY_MAX, "%s%.200s%s%.300s", what, name, *reason ? ": " : "", reason);
    return false;
}

/* ---- files ---- */

static bool is_regular(const char *path)
{
    struct stat st;
    return lstat(path, &st) == 0 && S_ISREG(st.st_mode);
}

/* Returns false if the path is too long. */
static bool find_file(char path[PATH_MAX], const struct night_sweep *sweep, const char *snapshot, const char *name)
{
    int n = snapshot ? snprintf(path, PATH_MAX, "%s/%s", snapshot, name) : PATH_MAX;
    if (n < PATH_MAX && is_regular(path))
        return true;
    n = snprintf(path, PATH_MAX, "%s/%s", sweep->directory, name);
    return n < PATH_MAX;
}

static char *read_text(const char *path, size_t *length)
{
    FILE *in = fopen(path, "re");
    char *text = in ? malloc(TEXT_MAX + 1) : NULL;
    *length = text ? fread(text, 1, TEXT_MAX + 1, in) : 0;
    int error = text && *length > TEXT_MAX ? EFBIG : errno;
    if (in)
        fclose(in);
    if (text && *length <= TEXT_MAX)
        return text;
    free(text);
    errno = error;
    return NULL;
}

/* Creates missing parent directories. */
static bool write_text(const char *dir, const char *name, const char *text, size_t length)
{
    char path[PATH_MAX];
    int n = snprintf(path, sizeof path, "%s/%s", dir, name);
    if (n >= PATH_MAX)
        return errno = ENAMETOOLONG, false;
    for (char *slash = path + strlen(dir) + 1; (slash = strchr(slash, '/')); slash++) {
        *slash = '\0';
        mkdir(path, 0777);
        *slash = '/';
    }
    FILE *out = fopen(path, "we");
    bool written = out && fwrite(text, 1, length, out) == length;
    return (out ? fclose(out) == 0 : false) && written;
}

static bool copy_file(const struct trial_files *files, const char *dir, const char *name, char *why)
{
    char path[PATH_MAX];
    size_t length;
    char *text = find_file(path, files->sweep, files->parent_snapshot, name) ? read_text(path, &length) : NULL;
    bool copied = text && write_text(dir, name, text, length);
    free(text);
    return copied || refuse(why, "files: ", name, strerror(errno));
}

json_t *trial_files_texts(const struct night_sweep *sweep, const char *parent_snapshot)
{
    size_t i, length;
    json_t *name, *texts = json_object();
    json_array_foreach(json_object_get(sweep->root, "files"), i, name)
    {
        char path[PATH_MAX];
        char *text = find_file(path, sweep, parent_snapshot, json_string_value(name)) ? read_text(path, &length) : NULL;
        if (text)
            json_object_set_new(texts, json_string_value(name), json_stringn(text, length));
        free(text);
    }
    return texts;
}

/* ---- git ---- */

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

/* Runs git, with the diff as its input. Its output goes to `said`, cut to size. Returns its exit status, or -1. */
static int git(const char *const *argv, const char *dir, FILE *diff, char *said, size_t size)
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
    said[used] = '\0';
    close(out[0]);
    while (pid > 0 && waitpid(pid, &state, 0) < 0 && errno == EINTR)
        ;
    return pid > 0 && WIFEXITED(state) ? WEXITSTATUS(state) : -1;
}

static const char *plain(const char *path)
{
    while (strncmp(path, "./", 2) == 0)
        path += 2;
    return path;
}

/* numstat has lines of `git apply --numstat`: added, deleted, path. Returns false if a path is protected. */
static bool check_paths(char *numstat, const json_t *protect, char *why)
{
    char *rest = numstat, *line;
    while ((line = strtok_r(rest, "\n", &rest))) {
        const char *path = strrchr(line, '\t') ? strrchr(line, '\t') + 1 : line;
        for (size_t i = 0; i < json_array_size(protect); i++)
            if (strcmp(plain(json_string_value(json_array_get(protect, i))), plain(path)) == 0)
                return refuse(why, "diff: it touches the protected file ", path, "");
    }
    return true;
}

static bool are_plain_files(const char *dir, char *why)
{
    char *const paths[] = {(char *)(uintptr_t)dir, NULL};
    bool good = true;
    FTS *tree = fts_open(paths, FTS_PHYSICAL | FTS_NOCHDIR, NULL);
    for (FTSENT *entry; good && tree && (entry = fts_read(tree));)
        if (entry->fts_info == FTS_SL || entry->fts_info == FTS_SLNONE || entry->fts_info == FTS_DEFAULT)
            good = refuse(why, "diff: it makes a link or a special file: ", entry->fts_name, "");
    if (tree)
        fts_close(tree);
    return good;
}

static bool apply(const char *diff, const char *dir, const json_t *protect, char *why)
{
    static const char *const numstat[] = {"git", "apply", "--numstat", "-", NULL};
    static const char *const apply_it[] = {"git", "apply", "--whitespace=nowarn", "-", NULL};
    char *said = malloc(TEXT_MAX);
    FILE *in = tmpfile();
    bool good = false;
    if (!said || !in || fputs(diff, in) < 0 || fflush(in) != 0)
        refuse(why, "diff: ", "it cannot be written", strerror(errno));
    else if (git(numstat, dir, in, said, TEXT_MAX) != 0)
        refuse(why, "diff: ", "git cannot read it", said);
    else if (check_paths(said, protect, why) && git(apply_it, dir, in, said, TEXT_MAX) != 0)
        refuse(why, "diff: ", "git cannot apply it to the parent's files", said);
    else
        good = !why[0] && are_plain_files(dir, why);
    if (in)
        fclose(in);
    free(said);
    for (char *c = why; *c; c++)
        if (*c == '\n')
            *c = ' ';
    return good;
}

/* ---- all of them ---- */

bool trial_files_put(const struct trial_files *files, const char *dir, char why[NIGHT_WHY_MAX])
{
    const char *diff = json_string_value(json_object_get(files->spec, "diff"));
    size_t i;
    json_t *name;
    why[0] = '\0';
    json_array_foreach(json_object_get(files->sweep->root, "files"), i, name)
        if (!copy_file(files, dir, json_string_value(name), why))
            return false;
    return !diff || apply(diff, dir, json_object_get(files->spec, "protect"), why);
}

static void remove_tree(const char *dir)
{
    char *const paths[] = {(char *)(uintptr_t)dir, NULL};
    FTS *tree = fts_open(paths, FTS_PHYSICAL | FTS_NOCHDIR, NULL);
    for (FTSENT *entry; tree && (entry = fts_read(tree));)
        if (entry->fts_info == FTS_DP)
            rmdir(entry->fts_accpath);
        else if (entry->fts_info != FTS_D)
            unlink(entry->fts_accpath);
    if (tree)
        fts_close(tree);
}

bool trial_files_try(const struct trial_files *files, const char *parent, char why[NIGHT_WHY_MAX])
{
    char here[PATH_MAX], dir[PATH_MAX];
    if (!realpath(parent, here) || snprintf(dir, sizeof dir, "%s/diff-XXXXXX", here) >= PATH_MAX || !mkdtemp(dir))
        return refuse(why, "diff: ", "no place to try it", strerror(errno));
    bool good = trial_files_put(files, dir, why);
    remove_tree(dir);
    return good;
}
