/* snapshot_diff.h: what a trial changed: its snapshot compared with its parent's or another trial's, as `lineage diff`
 * prints it, or, if the two have no code in one form, their settings, as `lineage diff --stat` does. */
#pragma once

#include "mcp/field.h"

#define MCP_SNAPSHOT_DIFF_MAX ((size_t)4 << 20) /* at most this many bytes of a diff are read */

/* Comes before a text that has settings only. */
#define MCP_SETTINGS_ONLY "The store has no code of both in one form; their settings:\n"

struct mcp_snapshot_diff {
    struct mcp_found trial, other;
    char *text; /* the unified diff; paths are relative to the snapshots */
    size_t length;
    bool settings_only; /* the text compares settings, because the store has no code of both in one form */
    bool cut; /* the diff is longer than MCP_SNAPSHOT_DIFF_MAX */
};

/* against: the trial to compare with; NULL means the parent. path: the only file to show; NULL means all files. Returns
 * false after mcp_trouble. Release *changes in any case. */
bool mcp_snapshot_diff_load(struct mcp_snapshot_diff *changes, struct mcp_call *call, const char *id, const char *against,
                            const char *path);
void mcp_snapshot_diff_release(struct mcp_snapshot_diff *changes);
