/* cmd_logs.c: `lineage logs`: prints the output of a trial's command. */
#include <errno.h>
#include <fcntl.h>
#include <limits.h>
#include <stdlib.h>
#include <string.h>
#include <sys/file.h>
#include <unistd.h>

#include <lineage/render.h>

#include "cli.h"
#include "support/running_files.h"

enum { ROUND_US = 200000, COPY_BYTES = 1 << 16 };

struct logs {
    struct cli_session session;
    int follow;
    const char *wanted; /* the id of a row, or the job of a running trial */
    int dir;            /* directory of the running trial that was found; -1: none */
};

/* Copies everything that this descriptor has now. Returns false if it cannot be read or printed. */
static bool copy(int fd)
{
    char *buffer = malloc(COPY_BYTES);
    ssize_t n = -1;
    bool ok = buffer != NULL;
    while (ok && (n = read(fd, buffer, COPY_BYTES)) > 0)
        ok = fwrite(buffer, 1, (size_t)n, stdout) == (size_t)n;
    free(buffer);
    return ok && n == 0 && fflush(stdout) == 0;
}

/* ---- a trial with a row ---- */

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
    int status = copy(fd) ? CLI_OK : cli_error(CLI_SYSTEM, "cannot print %s: %s", path, strerror(errno));
    close(fd);
    return status;
}

/* Looks the row up first, because the file is named after the row's id, and the user may write exp_014 as 14. */
static int print_of_row(struct logs *o)
{
    struct lineage_trial row = {0};
    struct lineage_error err;
    if (lineage_find(o->session.store, o->wanted, &row, &err) != LINEAGE_OK)
        return cli_fail(&err);
    int status = open_log(o, row.exp_id);
    lineage_trial_release(&row);
    return status;
}

/* ---- a running trial ---- */

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
        bool ok = copy(fd);
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
    running_each_dir(lineage_store_dir(session->store), find_running, o);
    int status = o->dir >= 0 ? print_of_running(o) : print_of_row(o);
    if (o->dir >= 0)
        close(o->dir);
    return status;
}

static int run(const struct cli_command *command, int argc, const char **argv)
{
    struct logs o = {0};
    struct poptOption options[] = {CLI_STORE_OPTIONS(&o.session.where),
                                   {"follow", 'f', POPT_ARG_NONE, &o.follow, 0, "keep printing until the trial ends", NULL},
                                   POPT_TABLEEND};
    return cli_on_store(&o.session, command, options, 1, 1, argc, argv, work, &o);
}

const struct cli_command cmd_logs = {
    .name = "logs",
    .arguments = "ID|TRIAL",
    .description = "Prints the output of a trial's command unchanged: the first and the last mebibytes of "
                   "it.\n"
                   "ID is the id of a row. TRIAL is a running trial, as `lineage status` names it; -f keeps\n"
                   "printing its output.",
    .examples = "  lineage logs 014 | less -R\n  lineage logs -f trial-Xb31aQ",
    .run = run,
};
