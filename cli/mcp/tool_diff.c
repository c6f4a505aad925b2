/*
 * tool_diff.c: the tool `diff`: what a trial changed, file by file. The list of files covers the whole diff even if its
 * text is cut for the answer, so that a reader can then ask for one file by `path`.
 */
#include <stdlib.h>
#include <string.h>

#include "mcp/snapshot_diff.h"
#include "mcp/tools.h"
#include "mcp/untrusted.h"

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
        result = json_pack("{s:o, s:o, s:i, s:o, s:o}", "from", mcp_id(&changes.other.trial), "to", mcp_id(&changes.trial.trial),
                           "n_files", (int)n, "files", files, "diff", cli_json_text(block));
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
