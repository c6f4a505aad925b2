/*
 * snapshot_diff.c: runs `lineage diff` on the snapshots of two trials, as a child process. The tool and the resource
 * print its output.
 */
#include "mcp/snapshot_diff.h"

#include <poll.h>
#include <signal.h>
#include <spawn.h>
#include <sys/wait.h>
#include <unistd.h>

#include <lineage/code.h>
#include <lineage/render.h>
#include <lineage/snapshot.h>

#include "mcp/tools.h"
#include "output/show.h"

extern char **environ;

/* The longest delay, in milliseconds, until a cancellation is noticed. */
enum { LOOK_MS = 200 };

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
    if (!path_ok(call, path) || !mcp_find_named(&changes->trial, call, id))
        return false;
    char compared[LINEAGE_NAME_MAX];
    const bool named = against != NULL;
    if (!against)
        against = changes->trial.trial.parent_exp;
    if ((!against || !*against) && cli_compared_with(compared, call->server->store, changes->trial.trial.exp_id))
        against = compared;
    if (!against || !*against)
        return mcp_trouble(call, "trial '%.80s' has no parent; name the trial to compare with in `against`", id), false;
    if (!(named ? mcp_find_named(&changes->other, call, against) : mcp_find(&changes->other, call, against)))
        return false;
    const struct lineage_trial *to = &changes->trial.trial, *from = &changes->other.trial;
    const bool stored = are_stored(from, to), to_has = has_snapshot(call, to), from_has = has_snapshot(call, from),
               code = stored || (to_has && from_has);
    if (!code && path)
        return mcp_trouble(call, "the store has no code of %s%s%s that could be compared; without `path` their settings are",
                           from_has ? "" : from->exp_id, from_has || to_has ? "" : " and ", to_has ? "" : to->exp_id),
               false;
    changes->settings_only = !code;
    return run_diff(changes, call, code, from->exp_id, to->exp_id) && keep_file(changes, call, path);
}

void mcp_snapshot_diff_release(struct mcp_snapshot_diff *changes)
{
    mcp_found_release(&changes->trial);
    mcp_found_release(&changes->other);
    free(changes->text);
    *changes = (struct mcp_snapshot_diff){.text = NULL};
}

/* The tool `diff`: what a trial changed, file by file. The list of files covers the whole diff even if its
 * text is cut for the answer, so that a reader can then ask for one file by `path`. */

enum { FILES_MAX = 50, FRAME = 400 };

static const struct mcp_argument arguments[] = {{"id", MCP_TEXT, true, "", 0, 400, NULL},
                                                {"against", MCP_TEXT, false, "default: the parent", 0, 400, NULL},
                                                {"path", MCP_TEXT, false, "only this file", 0, 1000, NULL},
                                                {"max_bytes", MCP_COUNT, false, "default 6000", 500, 200000, NULL},
                                                {.name = NULL}};

/* Whether the line begins a file: "diff --git a/PATH b/PATH". Both halves are equal, whatever the path contains. */
static bool is_header(const char *line, size_t length)
{
    return length > 11 && memcmp(line, "diff --git ", 11) == 0;
}

/* The path is the second half of the line; searching for " b/" would fail for paths that contain it. */
static json_t *path_of(const char *line, size_t length)
{
    char path[400];
    size_t n = length > 16 ? (length - 16) / 2 : 0;
    snprintf(path, sizeof path, "%.*s", (int)(n < sizeof path ? n : sizeof path - 1), line + 13);
    return mcp_cell(path, 120);
}

struct file {
    json_t *path;
    size_t added, removed;
};

/* Beyond FILES_MAX files are only counted (n_files): a trial that copied in a library must not fill the answer with
 * names. */
static void add_file(json_t *files, struct file *file)
{
    if (file->path && json_array_size(files) < FILES_MAX)
        json_array_append_new(files, json_pack("[o,i,i]", file->path, (int)file->added, (int)file->removed));
    else
        json_decref(file->path);
    *file = (struct file){.path = NULL};
}

/* Lists [path, lines added, lines removed] of each file. */
static json_t *list_files(const struct mcp_snapshot_diff *changes, size_t *n)
{
    json_t *files = json_array();
    struct file file = {.path = NULL};
    const char *text = changes->text, *end = text + changes->length;
    bool in_hunk = false;
    *n = 0;
    while (text < end) {
        const char *stop = memchr(text, '\n', (size_t)(end - text));
        size_t length = (size_t)((stop ? stop : end) - text);
        if (is_header(text, length)) {
            add_file(files, &file);
            file.path = path_of(text, length);
            in_hunk = false;
            ++*n;
        }
        /* Counts only inside a hunk: the header lines --- and +++ would count as one removed and one added. */
        in_hunk = in_hunk || (length > 2 && memcmp(text, "@@ ", 3) == 0);
        file.added += in_hunk && text[0] == '+';
        file.removed += in_hunk && text[0] == '-';
        text += length + 1;
    }
    add_file(files, &file);
    return files;
}

static json_t *call_diff(struct mcp_call *call)
{
    struct mcp_snapshot_diff changes;
    json_t *result = NULL;
    size_t max = mcp_count_argument(call, "max_bytes", 6000), n;
    if (mcp_snapshot_diff_load(&changes, call, mcp_text_argument(call, "id"), mcp_text_argument(call, "against"),
                               mcp_text_argument(call, "path"))) {
        json_t *files = list_files(&changes, &n);
        char *block = mcp_untrusted_block("diff", changes.text, changes.length, max);
        json_t *text = block && changes.settings_only ? json_sprintf("%s%s", MCP_SETTINGS_ONLY, block) : cli_json_text(block);
        result = json_pack("{s:o, s:o, s:i, s:o, s:o}", "from", mcp_id(&changes.other.trial), "to", mcp_id(&changes.trial.trial),
                           "n_files", (int)n, "files", files, "diff", text);
        free(block);
    }
    mcp_snapshot_diff_release(&changes);
    return result;
}

const struct mcp_tool mcp_tool_diff = {
    .name = "diff",
    .title = "What a trial changed",
    .description = "Diff of a trial's code and snapshot, or else settings, against its parent or another.",
    .arguments = arguments,
    .output = "\"from\":{\"type\":\"string\"},\"to\":{\"type\":\"string\"},\"n_files\":{\"type\":\"integer\"},"
              "\"files\":{\"type\":\"array\",\"description\":\"[path, added, removed], 50 at most\"},"
              "\"diff\":{\"type\":\"string\"}",
    .needed = "\"from\",\"to\",\"n_files\",\"files\",\"diff\"",
    .call = call_diff,
};
