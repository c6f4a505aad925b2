/* cmd_logs.c: `lineage logs`: prints the output of a trial's command. */
#include <fcntl.h>
#include <sys/file.h>
#include <unistd.h>

#include <lineage/render.h>
#include <lineage/text.h>

#include "cli.h"
#include "support/running_files.h"

enum { ROUND_US = 200000, COPY_BYTES = 1 << 16 };

struct logs {
    struct cli_session session;
    int follow, raw;
    bool visible;    /* control characters are printed as stand-ins */
    char pending[4]; /* the beginning of a character whose rest has not been read yet */
    size_t n_pending;
    const char *wanted; /* the id of a row, or the job of a running trial */
    int dir;            /* directory of the running trial that was found; -1: none */
};

/* Returns how many bytes at the end of a text begin a UTF-8 character without its rest. */
static size_t unfinished_bytes(const char *text, size_t length)
{
    for (size_t back = 1; back < 4 && back <= length; back++) {
        unsigned char byte = (unsigned char)text[length - back];
        size_t wanted = byte >= 0xf0 ? 4 : byte >= 0xe0 ? 3 : byte >= 0xc0 ? 2 : 1;
        if (byte < 0x80 || byte >= 0xc0)
            return wanted > back ? back : 0;
    }
    return 0;
}

/* Prints what a terminal would obey as stand-ins; line ends and tabs stay. */
static bool print_visible(const char *text, size_t length)
{
    bool ok = true;
    for (size_t at = 0; ok && at < length;) {
        size_t n = 0;
        while (at + n < length && text[at + n] != '\n' && text[at + n] != '\t')
            n++;
        char *line = lineage_text_visible(text + at, n, 0);
        ok = line && fputs(line, stdout) >= 0;
        lineage_free(line);
        at += n;
        if (at < length)
            putchar(text[at++]);
    }
    return ok;
}

/* Prints bytes that were read. A character may be split between two reads, so its beginning waits for the rest. */
static bool print(struct logs *o, char *text, size_t length)
{
    if (!o->visible)
        return fwrite(text, 1, length, stdout) == length;
    o->n_pending = unfinished_bytes(text, length);
    memcpy(o->pending, text + length - o->n_pending, o->n_pending);
    return print_visible(text, length - o->n_pending);
}

/* Copies everything that this descriptor has now. Returns false if it cannot be read or printed. */
static bool copy(struct logs *o, int fd)
{
    char *buffer = malloc(COPY_BYTES + sizeof o->pending);
    ssize_t n = -1;
    bool ok = buffer != NULL;
    while (ok && (n = read(fd, buffer + o->n_pending, COPY_BYTES)) > 0) {
        memcpy(buffer, o->pending, o->n_pending);
        ok = print(o, buffer, o->n_pending + (size_t)n);
    }
    free(buffer);
    return ok && n == 0 && fflush(stdout) == 0;
}

static int open_log(struct logs *o, const char *exp_id)
{
    char path[PATH_MAX];
    char *dir = NULL;
    struct lineage_error err;
    if (lineage_store_path(&dir, o->session.store, LINEAGE_PLACE_LOGS, &err) != LINEAGE_OK)
        return cli_fail(&err);
    int n = snprintf(path, sizeof path, "%s/%s.log", dir, exp_id);
    lineage_free(dir);
    int fd = n > 0 && n < PATH_MAX ? open(path, O_RDONLY | O_NOFOLLOW | O_NONBLOCK | O_CLOEXEC) : -1;
    if (fd < 0)
        return cli_error(errno == ENOENT ? CLI_NO : CLI_SYSTEM, "trial '%s' has no log: %s", exp_id, strerror(errno));
    int status = copy(o, fd) ? CLI_OK : cli_error(CLI_SYSTEM, "cannot print %s: %s", path, strerror(errno));
    close(fd);
    return status;
}

/* Looks the row up first, because the file is named after the row's id, and the user may write exp_014 as 14. */
static int print_of_row(struct logs *o)
{
    struct lineage_trial row = {0};
    struct lineage_error err;
    if (lineage_find_named(o->session.store, o->wanted, false, &row, &err) != LINEAGE_OK)
        return cli_fail(&err);
    int status = open_log(o, row.exp_id);
    lineage_trial_release(&row);
    return status;
}

/* Accepts `trial-abcdef` and `abcdef`. */
static void find_running(void *context, const char *name, int dir, bool held)
{
    struct logs *o = context;
    bool is_it = strcmp(name + 1, o->wanted) == 0 || strcmp(name + strlen(RUNNING_PREFIX), o->wanted) == 0;
    if (o->dir < 0 && is_it && (held || faccessat(dir, RUNNING_TRIAL, F_OK, 0) == 0))
        o->dir = fcntl(dir, F_DUPFD_CLOEXEC, 0);
}

/* Opens without following links or waiting for pipes, because the trial owns the directory and may have put either
 * there. */
static int open_part(int dir, unsigned part)
{
    char name[64];
    snprintf(name, sizeof name, RUNNING_OUTPUT "%u", part);
    return openat(dir, name, O_RDONLY | O_NOFOLLOW | O_NONBLOCK | O_CLOEXEC);
}

/* Tests the lock instead of a process id, which another process may have by now. */
static bool is_over(int dir)
{
    if (flock(dir, LOCK_SH | LOCK_NB) != 0)
        return false;
    flock(dir, LOCK_UN);
    return true;
}

/* Opens the next part; parts that were deleted meanwhile are skipped. */
static int open_next(int dir, unsigned *part)
{
    for (unsigned ahead = 1; ahead <= 64; ahead++) {
        int fd = open_part(dir, *part + ahead);
        if (fd >= 0) {
            *part += ahead;
            return fd;
        }
    }
    return -1;
}

/* Reads a part to its end before the next one; once the next part exists, nothing is added to the earlier one. The lock
 * is tested before the last read, so that all output until the end is printed. */
static int print_of_running(struct logs *o)
{
    unsigned part = 0;
    int fd = open_part(o->dir, 0), next;
    bool over = false;
    if (fd < 0)
        return cli_error(CLI_NO, "%s has no output yet that is kept", o->wanted);
    for (;;) {
        bool ok = copy(o, fd);
        if (!ok)
            break;
        if ((next = open_next(o->dir, &part)) >= 0) {
            close(fd);
            fd = next;
            continue;
        }
        if (!o->follow || over)
            break;
        over = is_over(o->dir);
        if (!over)
            usleep(ROUND_US);
    }
    close(fd);
    return ferror(stdout) ? cli_error(CLI_SYSTEM, "cannot print: %s", strerror(errno)) : CLI_OK;
}

static int work(struct cli_session *session, void *context)
{
    struct logs *o = context;
    o->wanted = session->args.positional[0];
    o->dir = -1;
    o->visible = !o->raw && isatty(STDOUT_FILENO);
    running_each_dir(lineage_store_dir(session->store), find_running, o);
    int status = o->dir >= 0 ? print_of_running(o) : print_of_row(o);
    cli_close(o->dir);
    return status;
}

static struct logs chosen;
static struct poptOption table[] = {CLI_STORE_OPTIONS(&chosen.session.where),
                                    {"follow", 'f', POPT_ARG_NONE, &chosen.follow, 0, "keep printing until the trial ends", NULL},
                                    CLI_FLAG("raw", &chosen.raw, "print escape sequences unchanged on a terminal"),
                                    POPT_TABLEEND};

const struct cli_command cmd_logs = {
    .name = "logs",
    .arguments = "ID|TRIAL",
    .description = "Prints the output of a trial's command: the first and the last mebibytes of it. On a terminal,\n"
                   "escape sequences and other control characters are shown as visible stand-ins, because a\n"
                   "trial could change what the terminal shows; a file or a pipe gets the bytes unchanged.\n"
                   "ID is the id of a row. TRIAL is a running trial, as `lineage status` names it; -f keeps\n"
                   "printing its output.",
    .examples = "  lineage logs 014 | less\n  lineage logs -f trial-Xb31aQ",
    CLI_ON_STORE(chosen.session, table, 1, 1, work, &chosen),
};
