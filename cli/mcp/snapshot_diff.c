/*
 * snapshot_diff.c: runs `lineage diff` on the snapshots of two trials, as a child process. The tool and the resource
 * print its output.
 */
#include "mcp/snapshot_diff.h"

#include <errno.h>
#include <poll.h>
#include <signal.h>
#include <spawn.h>
#include <stdlib.h>
#include <string.h>
#include <sys/wait.h>
#include <unistd.h>

#include <lineage/code.h>
#include <lineage/render.h>
#include <lineage/snapshot.h>

extern char **environ;

/* The longest delay, in milliseconds, until a cancellation is noticed. */
enum { LOOK_MS = 200 };

/* ---- the child ---- */

/* Runs `lineage diff` as a separate process, so that its files, memory and time are its own and it can be killed. Without code
 * the settings are compared. */
static pid_t start_diff(struct mcp_call *call, bool code, const char *from, const char *to, int *out)
{
    const char *const argv[] = {"lineage",
                                "diff",
                                "-C",
                                lineage_store_dir(call->server->store),
                                code ? "--" : "--stat",
                                code ? from : "--",
                                code ? to : from,
                                code ? NULL : to,
                                NULL};
    posix_spawn_file_actions_t actions;
    int ends[2];
    pid_t child = -1;
    if (pipe(ends) != 0) {
        mcp_trouble(call, "cannot make a pipe: %s", strerror(errno));
        return -1;
    }
    posix_spawn_file_actions_init(&actions);
    posix_spawn_file_actions_addopen(&actions, 0, "/dev/null", 0, 0); /* standard input belongs to the client */
    posix_spawn_file_actions_adddup2(&actions, ends[1], 1);
    posix_spawn_file_actions_addclose(&actions, ends[0]);
    posix_spawn_file_actions_addclose(&actions, ends[1]);
    /* Uses /proc/self/exe instead of a search in PATH, so that the same program and version makes the diff. "--"
     * precedes the ids, because an id may begin with a dash. */
    int error = posix_spawn(&child, "/proc/self/exe", &actions, NULL, (char *const *)(uintptr_t)argv, environ);
    posix_spawn_file_actions_destroy(&actions);
    close(ends[1]);
    if (!error) {
        *out = ends[0];
        return child;
    }
    close(ends[0]);
    mcp_trouble(call, "cannot run lineage diff: %s", strerror(error));
    return -1;
}

/* Reads until the child is done, has printed enough, or the request was cancelled. */
static void read_output(struct mcp_snapshot_diff *changes, struct mcp_call *call, int fd, FILE *text)
{
    char bytes[65536];
    struct pollfd wait = {fd, POLLIN, 0};
    while (!mcp_inbox_cancelled(call->server->inbox) && !changes->cut) {
        if (poll(&wait, 1, LOOK_MS) <= 0)
            continue;
        ssize_t n = read(fd, bytes, sizeof bytes);
        if (n < 0 && errno == EINTR)
            continue;
        if (n <= 0)
            return;
        /* The output exceeds the limit by at most one read; then the child is killed, whatever the size of the
         * snapshots. */
        changes->length += (size_t)n;
        fwrite(bytes, 1, (size_t)n, text);
        changes->cut = changes->length > MCP_SNAPSHOT_DIFF_MAX;
    }
}

/* Waits for the child. If its output was cut off, the child is killed first, and its end by a signal is not an
 * error. */
static bool await_diff(struct mcp_call *call, pid_t child, bool cut)
{
    int state = 0;
    if (cut)
        kill(child, SIGKILL);
    while (waitpid(child, &state, 0) < 0 && errno == EINTR)
        ;
    /* The child shares the server's stderr, so its message is in the client's log. */
    if (cut || (WIFEXITED(state) && WEXITSTATUS(state) == 0))
        return true;
    return mcp_trouble(call, "the trials cannot be compared; run `lineage diff` for the reason"), false;
}

static bool run_diff(struct mcp_snapshot_diff *changes, struct mcp_call *call, bool code, const char *from, const char *to)
{
    struct cli_writer text = {0};
    int fd;
    pid_t child = start_diff(call, code, from, to, &fd);
    if (child < 0)
        return false;
    bool opened = cli_writer_open(&text);
    if (opened)
        read_output(changes, call, fd, text.out);
    close(fd);
    bool ok = await_diff(call, child, !opened || changes->cut || mcp_inbox_cancelled(call->server->inbox));
    if (!opened)
        return false;
    cli_writer_close(&text);
    changes->text = text.text;
    changes->length = text.length;
    return ok && text.text;
}

/* ---- selecting what is compared ---- */

/* The path must stay inside the snapshot. */
static bool path_ok(struct mcp_call *call, const char *path)
{
    size_t length = path ? strlen(path) : 0;
    if (!path || (length && path[0] != '/' && !strstr(path, "..") && length < 1024))
        return true;
    return mcp_trouble(call, "path: '%.80s' is not a path inside a snapshot; use for example train.py", path), false;
}

static bool has_snapshot(const struct mcp_call *call, const struct lineage_trial *trial)
{
    struct lineage_error err;
    char *path = NULL;
    bool has = lineage_snapshot_path(&path, call->server->store, trial, &err) == LINEAGE_OK;
    lineage_free(path);
    return has;
}

/* Whether both trials have code that the store keeps, or a commit. */
static bool are_stored(const struct lineage_trial *a, const struct lineage_trial *b)
{
    struct lineage_code_note note;
    struct lineage_commit_note commit;
    return (lineage_code_note_parse(&note, a->notes) && lineage_code_note_parse(&note, b->notes)) ||
           (lineage_commit_note_parse(&commit, a->notes) && lineage_commit_note_parse(&commit, b->notes));
}

/* Whether the line "diff --git a/PATH b/PATH" is about that path. */
static bool is_header_of(const char *line, size_t length, const char *path)
{
    size_t n = strlen(path);
    return length > n + 3 && memcmp(line + length - n, path, n) == 0 && memcmp(line + length - n - 3, " b/", 3) == 0;
}

/* Keeps only the part about one file. */
static bool keep_file(struct mcp_snapshot_diff *changes, struct mcp_call *call, const char *path)
{
    size_t kept = 0;
    bool keeping = false;
    for (size_t i = 0; path && i < changes->length;) {
        const char *line = changes->text + i, *end = memchr(line, '\n', changes->length - i);
        size_t n = end ? (size_t)(end - line) + 1 : changes->length - i;
        if (n > 11 && memcmp(line, "diff --git ", 11) == 0)
            keeping = is_header_of(line, n - (end != NULL), path);
        if (keeping) {
            memmove(changes->text + kept, line, n);
            kept += n;
        }
        i += n;
    }
    if (!path)
        return true;
    changes->length = kept;
    if (!kept)
        mcp_trouble(call, "no difference in a file '%.80s'", path);
    return kept > 0;
}

bool mcp_snapshot_diff_load(struct mcp_snapshot_diff *changes, struct mcp_call *call, const char *id, const char *against,
                            const char *path)
{
    *changes = (struct mcp_snapshot_diff){.text = NULL};
    if (!path_ok(call, path) || !mcp_find(&changes->trial, call, id))
        return false;
    if (!against)
        against = changes->trial.trial.parent_exp;
    if (!against || !*against)
        return mcp_trouble(call, "trial '%.80s' has no parent; name the trial to compare with in `against`", id), false;
    if (!mcp_find(&changes->other, call, against))
        return false;
    const struct lineage_trial *to = &changes->trial.trial, *from = &changes->other.trial;
    bool code = are_stored(from, to) || (has_snapshot(call, to) && has_snapshot(call, from));
    return run_diff(changes, call, code, from->exp_id, to->exp_id) && keep_file(changes, call, path);
}

void mcp_snapshot_diff_release(struct mcp_snapshot_diff *changes)
{
    mcp_found_release(&changes->trial);
    mcp_found_release(&changes->other);
    free(changes->text);
    *changes = (struct mcp_snapshot_diff){.text = NULL};
}
