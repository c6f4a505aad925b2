/*
 * tree_diff.c: compares two directories, and runs diffutils' diff on each pair of files.
 *
 * `git diff --no-index` is not used, because it reads .git/config and .gitattributes of the current directory and of
 * the compared directories, and runs the filters and textconv commands that the user configured. A store from somebody
 * else could therefore run commands. diff has no configuration; it gets two open files instead of names, and an
 * environment of only PATH and the C locale.
 */
#include "show.h"

#include <dirent.h>
#include <fcntl.h>
#include <spawn.h>
#include <sys/stat.h>
#include <sys/wait.h>
#include <unistd.h>

#include "cli.h"

#define MAX_DEPTH 64 /* the depth limit of a snapshot */
#define BLOCK ((size_t)1 << 16)

/* descriptors of the two files in the child; this process uses higher descriptors for them */
enum { CHILD_FROM = 3, CHILD_TO = 4, ABOVE = 5 };

struct comparing {
    FILE *out;
    size_t max_bytes, enough; /* enough: no further file once this much was printed */
    bool tame; /* it is a terminal, so control characters must be escaped */
    char path[PATH_MAX];
    size_t path_length;
    unsigned depth;
};

/* One of the two sides of a comparison. */
struct side {
    int dir; /* -1: the directory is missing on this side */
    bool exists;
    struct stat st;
    int fd; /* of the file being compared; /dev/null if it does not exist */
};

/* The exit status is 3 instead of 2, because an unreadable snapshot is not the caller's mistake. */
static int failed(const struct comparing *c, const char *doing)
{
    return cli_error(CLI_SYSTEM, "diff: cannot %s %s: %s", doing, c->path_length ? c->path : "the snapshot", strerror(errno));
}

/* ---- printing ---------------------------------------------------------------------------------------------------- */

/* A file or a pipe gets the original bytes, because patch needs them. C1 controls are two bytes in UTF-8 and act like
 * escape sequences. */
static void print_bytes(const struct comparing *c, const char *text, size_t length)
{
    if (!c->tame) {
        fwrite(text, 1, length, c->out);
        return;
    }
    for (size_t i = 0; i < length; i++) {
        unsigned char byte = (unsigned char)text[i];
        bool c1 = byte == 0xc2 && i + 1 < length && (unsigned char)text[i + 1] < 0xa0;
        if (c1)
            i++;
        putc(c1 || (byte < 0x20 && byte != '\t' && byte != '\n') || byte == 0x7f ? '?' : byte, c->out);
    }
}

void tree_diff_print(const char *text, size_t length)
{
    const struct comparing c = {.out = stdout, .tame = isatty(1)};
    print_bytes(&c, text, length);
}

static void print_path(const struct comparing *c, const char *before, const char *after)
{
    fputs(before, c->out);
    print_bytes(c, c->path, c->path_length);
    fputs(after, c->out);
}

/* The mode as git shows it: executable, not executable, or link. */
static mode_t mode_shown(const struct side *side)
{
    return S_ISLNK(side->st.st_mode) ? 0120000 : side->st.st_mode & 0100 ? 0100755 : 0100644;
}

/* Prints the header lines of git's diffs, so that review tools can read them. */
static void print_head(const struct comparing *c, const struct side *from, const struct side *to)
{
    print_path(c, "diff --git a/", " b/");
    print_path(c, "", "\n");
    if (!from->exists)
        fprintf(c->out, "new file mode %o\n", (unsigned)mode_shown(to));
    else if (!to->exists)
        fprintf(c->out, "deleted file mode %o\n", (unsigned)mode_shown(from));
    else if (mode_shown(from) != mode_shown(to))
        fprintf(c->out, "old mode %o\nnew mode %o\n", (unsigned)mode_shown(from), (unsigned)mode_shown(to));
}

static void print_names(const struct comparing *c, const struct side *from, const struct side *to, const char *before,
                        const char *between, const char *after)
{
    fputs(before, c->out);
    if (from->exists)
        print_path(c, "a/", between);
    else
        fprintf(c->out, "/dev/null%s", between);
    if (to->exists)
        print_path(c, "b/", after);
    else
        fprintf(c->out, "/dev/null%s", after);
}

/* ---- files ------------------------------------------------------------------------------------------------------- */

static ssize_t read_block(int fd, char *block, size_t length)
{
    size_t done = 0;
    while (done < length) {
        ssize_t n = read(fd, block + done, length - done);
        if (n < 0 && errno == EINTR)
            continue;
        if (n < 0)
            return -1;
        if (n == 0)
            break;
        done += (size_t)n;
    }
    return (ssize_t)done;
}

static const char *last_name(const struct comparing *c)
{
    const char *slash = strrchr(c->path, '/');
    return slash ? slash + 1 : c->path;
}

/* O_NOFOLLOW and O_NONBLOCK: since its type was checked, the name may have become a link out of the snapshot, or a pipe
 * without a writer. */
static int open_side(const struct comparing *c, struct side *side)
{
    side->fd = side->exists ? openat(side->dir, last_name(c), O_RDONLY | O_NOFOLLOW | O_NONBLOCK | O_CLOEXEC)
                            : open("/dev/null", O_RDONLY | O_CLOEXEC);
    if (side->fd >= 0 && side->fd < ABOVE) {
        int low = side->fd;
        side->fd = fcntl(low, F_DUPFD_CLOEXEC, ABOVE);
        close(low);
    }
    return side->fd >= 0 ? CLI_OK : failed(c, "read");
}

/* Reads both files from their beginning and rewinds them. A file with a NUL near its beginning is binary, as in git. */
static int compare_bytes(const struct comparing *c, const struct side *from, const struct side *to, bool *differ, bool *binary)
{
    char *a = malloc(2 * BLOCK), *b = a ? a + BLOCK : NULL;
    ssize_t n = 0, m = 0;
    bool first = true;
    int status = CLI_OK;
    *differ = *binary = false;
    do {
        n = a ? read_block(from->fd, a, BLOCK) : -1;
        m = a ? read_block(to->fd, b, BLOCK) : -1;
        if (n < 0 || m < 0) {
            status = failed(c, "read");
            break;
        }
        if (first)
            /* The file is binary if either side is: a text that became binary has no text diff. */
            *binary = memchr(a, 0, (size_t)n) || memchr(b, 0, (size_t)m);
        first = false;
        *differ = n != m || memcmp(a, b, (size_t)n) != 0;
    /* Stops at the first difference; diff finds the others. */
    } while (n > 0 && !*differ);
    free(a);
    if (status == CLI_OK && (lseek(from->fd, 0, SEEK_SET) != 0 || lseek(to->fd, 0, SEEK_SET) != 0))
        status = failed(c, "read");
    return status;
}

/* The pipe is moved first, so that its descriptor is not overwritten when the files are moved to 3 and 4. */
static int spawn_diff(const struct side *from, const struct side *to, const int ends[2], char *const *environment, pid_t *child)
{
    const char *const argv[] = {"diff", "-u", "-a", "--label", "a", "--label", "b", "--", "/dev/fd/3", "/dev/fd/4", NULL};
    posix_spawn_file_actions_t actions;
    int error = posix_spawn_file_actions_init(&actions);
    if (error)
        return error;
    error = posix_spawn_file_actions_addclose(&actions, ends[0]);
    error = error ? error : posix_spawn_file_actions_adddup2(&actions, ends[1], 1);
    error = error ? error : posix_spawn_file_actions_adddup2(&actions, from->fd, CHILD_FROM);
    error = error ? error : posix_spawn_file_actions_adddup2(&actions, to->fd, CHILD_TO);
    error = error ? error : posix_spawnp(child, "diff", &actions, NULL, (char *const *)(uintptr_t)argv, environment);
    posix_spawn_file_actions_destroy(&actions);
    return error;
}

/* Returns the descriptor to read diff's output from, or -1 after a message. The environment has only PATH and the C
 * locale: diff translates its remark on a missing line end, and patch knows only the English one. */
static int start_diff(const struct comparing *c, const struct side *from, const struct side *to, pid_t *child)
{
    const char *search = getenv("PATH");
    char *path = search ? malloc(strlen(search) + 6) : NULL;
    char *const environment[] = {(char[]){"LC_ALL=C"}, path, NULL};
    int ends[2], error;
    if (path)
        sprintf(path, "PATH=%s", search);
    if (pipe(ends) != 0) {
        error = errno;
    } else {
        error = spawn_diff(from, to, ends, environment, child);
        close(ends[1]);
        if (error)
            close(ends[0]);
    }
    free(path);
    if (!error)
        return ends[0];
    cli_error(CLI_SYSTEM, "cannot run diff on %s: %s", c->path, strerror(error));
    return -1;
}

/* Replaces the two header lines with file names; the rest is diff's. */
static void print_hunks(const struct comparing *c, FILE *in)
{
    char *line = NULL;
    size_t room = 0, n = 0;
    for (ssize_t length; (length = getline(&line, &room, in)) > 0; n++)
        if (n >= 2)
            print_bytes(c, line, (size_t)length);
    free(line);
}

/* diff's exit status 1 means that the files differ, which is known; 2 and above mean failure. */
static int print_text_diff(struct comparing *c, const struct side *from, const struct side *to)
{
    pid_t child;
    int state, out = start_diff(c, from, to, &child);
    if (out < 0)
        return CLI_SYSTEM;
    print_names(c, from, to, "--- ", "\n+++ ", "\n");
    FILE *in = fdopen(out, "r");
    if (in)
        print_hunks(c, in);
    if (in)
        fclose(in);
    else
        close(out);
    while (waitpid(child, &state, 0) < 0)
        if (errno != EINTR)
            return cli_error(CLI_SYSTEM, "lost the process of diff: %s", strerror(errno));
    if (in && WIFEXITED(state) && WEXITSTATUS(state) <= 1)
        return CLI_OK;
    return cli_error(CLI_SYSTEM, "diff failed on %s", c->path);
}

/* The limit applies to what is printed, not to what is compared, because a text diff of a checkpoint helps nobody. */
static bool is_large(const struct comparing *c, const struct side *side)
{
    return side->exists && (uintmax_t)side->st.st_size > c->max_bytes;
}

/* Compares large files of equal size too, because unchanged files must not be listed. The remark on --max-bytes goes to
 * standard error and does not change the exit status. */
static int compare_open(struct comparing *c, const struct side *from, const struct side *to)
{
    bool differ = true, binary = false, large = is_large(c, from) || is_large(c, to);
    bool both = from->exists && to->exists;
    int status = CLI_OK;
    if (!large || (both && from->st.st_size == to->st.st_size))
        status = compare_bytes(c, from, to, &differ, &binary);
    if (status != CLI_OK || (!differ && both && mode_shown(from) == mode_shown(to)))
        return status;
    print_head(c, from, to);
    if (!differ)
        return CLI_OK;
    if (!binary && !large)
        return print_text_diff(c, from, to);
    print_names(c, from, to, binary ? "Binary files " : "Large files ", " and ", " differ\n");
    if (large)
        cli_error(CLI_OK, "diff: %s is larger than %zu bytes; raise --max-bytes to show it", c->path, c->max_bytes);
    return CLI_OK;
}

static int compare_files(struct comparing *c, struct side from, struct side to)
{
    from.fd = to.fd = -1;
    int status = open_side(c, &from);
    if (status == CLI_OK)
        status = open_side(c, &to);
    if (status == CLI_OK)
        status = compare_open(c, &from, &to);
    cli_close(from.fd);
    cli_close(to.fd);
    return status;
}

/* Prints where a link points; nothing if it is missing. */
static int print_target(const struct comparing *c, const struct side *side, char sign)
{
    char target[PATH_MAX];
    if (!side->exists)
        return CLI_OK;
    ssize_t n = readlinkat(side->dir, last_name(c), target, sizeof target);
    if (n < 0)
        return failed(c, "read the link");
    putc(sign, c->out);
    print_bytes(c, target, (size_t)n);
    fputs("\n\\ No newline at end of file\n", c->out);
    return CLI_OK;
}

static int compare_links(const struct comparing *c, const struct side *from, const struct side *to)
{
    char a[PATH_MAX], b[PATH_MAX];
    if (from->exists && to->exists) {
        ssize_t n = readlinkat(from->dir, last_name(c), a, sizeof a), m = readlinkat(to->dir, last_name(c), b, sizeof b);
        if (n == m && n >= 0 && memcmp(a, b, (size_t)n) == 0)
            return CLI_OK;
    }
    print_head(c, from, to);
    print_names(c, from, to, "--- ", "\n+++ ", "\n");
    fprintf(c->out, "@@ -%d +%d @@\n", from->exists, to->exists);
    int status = print_target(c, from, '-');
    return status == CLI_OK ? print_target(c, to, '+') : status;
}

/* ---- directories --------------------------------------------------------------------------------------------------- */

static int compare_trees(struct comparing *c, int from, int to);

static int open_below(const struct side *side, const char *name)
{
    return side->exists && S_ISDIR(side->st.st_mode) ? openat(side->dir, name, O_RDONLY | O_DIRECTORY | O_NOFOLLOW | O_CLOEXEC)
                                                     : -1;
}

/* A tree deeper than a snapshot can be is refused, because each level holds two descriptors open. */
static int compare_below(struct comparing *c, const struct side *from, const struct side *to, const char *name)
{
    int a = open_below(from, name), b = open_below(to, name), status = CLI_OK;
    if (++c->depth > MAX_DEPTH)
        status = cli_error(CLI_USAGE, "diff: %s is more than %d directories deep", c->path, MAX_DEPTH);
    else
        status = compare_trees(c, a, b);
    c->depth--;
    cli_close(a);
    cli_close(b);
    return status;
}

/* Uses the type that was read once, without following links, so that a name cannot change its type in between. */
static bool is_dir(const struct side *side)
{
    return side->exists && S_ISDIR(side->st.st_mode);
}

static struct side look(int dir, const char *name)
{
    struct side side = {.dir = dir};
    side.exists = dir >= 0 && fstatat(dir, name, &side.st, AT_SYMLINK_NOFOLLOW) == 0;
    return side;
}

static bool is_file(const struct side *side)
{
    return side->exists && S_ISREG(side->st.st_mode);
}

static bool is_link(const struct side *side)
{
    return side->exists && S_ISLNK(side->st.st_mode);
}

/* If a file became a directory or a link, it is shown as removed and added. A snapshot contains no other types. */
static int compare_name(struct comparing *c, int from_dir, int to_dir, const char *name)
{
    const struct side from = look(from_dir, name), to = look(to_dir, name), none = {.dir = -1};
    int status = CLI_OK;
    if (is_dir(&from) || is_dir(&to))
        status = compare_below(c, is_dir(&from) ? &from : &none, is_dir(&to) ? &to : &none, name);
    if (status == CLI_OK && (is_file(&from) || is_file(&to)))
        status = compare_files(c, is_file(&from) ? from : none, is_file(&to) ? to : none);
    if (status == CLI_OK && (is_link(&from) || is_link(&to)))
        status = compare_links(c, is_link(&from) ? &from : &none, is_link(&to) ? &to : &none);
    return status;
}

struct names {
    char **list;
    size_t n, room;
};

/* The names of both sides go into one list. After sorting, equal names are adjacent, and the output has git's order. */
static bool add_name(struct names *names, const char *name)
{
    if (!CLI_ROOM(names->list, names->n, names->room))
        return false;
    names->list[names->n] = strdup(name);
    return names->list[names->n] && ++names->n;
}

/* Duplicates the descriptor, because closedir closes it. errno is set to 0 before each readdir, which returns NULL both
 * at the end and on failure. */
static int add_names(const struct comparing *c, struct names *names, int dir_fd)
{
    int fd = dir_fd < 0 ? -1 : openat(dir_fd, ".", O_RDONLY | O_DIRECTORY | O_CLOEXEC);
    DIR *dir = fd < 0 ? NULL : fdopendir(fd);
    struct dirent *entry;
    bool ok = true;
    if (dir_fd < 0)
        return CLI_OK;
    if (!dir) {
        int status = failed(c, "list");
        cli_close(fd);
        return status;
    }
    while (ok && (errno = 0, entry = readdir(dir)))
        if (strcmp(entry->d_name, ".") != 0 && strcmp(entry->d_name, "..") != 0)
            ok = add_name(names, entry->d_name);
    int status = ok && !errno ? CLI_OK : failed(c, "list");
    closedir(dir);
    return status;
}

static int compare_named(struct comparing *c, int from, int to, const char *name)
{
    size_t before = c->path_length, length = strlen(name);
    /* The path is only for messages and headers; files are opened by their last name relative to an open directory. */
    if (before + length + 2 > sizeof c->path)
        return cli_error(CLI_USAGE, "diff: a path in %s is too long", c->path);
    if (before)
        c->path[c->path_length++] = '/';
    memcpy(c->path + c->path_length, name, length + 1);
    c->path_length += length;
    int status = compare_name(c, from, to, name);
    c->path[c->path_length = before] = '\0';
    return status;
}

/* -1 stands for a missing side. */
static int compare_trees(struct comparing *c, int from, int to)
{
    struct names names = {0};
    int status = add_names(c, &names, from);
    if (status == CLI_OK)
        status = add_names(c, &names, to);
    if (names.n)
        qsort(names.list, names.n, sizeof *names.list, cli_by_text);
    for (size_t i = 0; status == CLI_OK && i < names.n && (!c->enough || (size_t)ftello(c->out) < c->enough); i++)
        if (i == 0 || strcmp(names.list[i], names.list[i - 1]) != 0)
            status = compare_named(c, from, to, names.list[i]);
    for (size_t i = 0; i < names.n; i++)
        free(names.list[i]);
    free(names.list);
    return status;
}

int tree_diff(FILE *out, int from, int to, size_t max_bytes, size_t enough)
{
    struct comparing c = {.out = out, .max_bytes = max_bytes, .enough = enough, .tame = isatty(fileno(out))};
    int status = compare_trees(&c, from, to);
    return status == CLI_OK && fflush(out) != 0 ? cli_error(CLI_SYSTEM, "cannot write: %s", strerror(errno)) : status;
}
