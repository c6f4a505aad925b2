/* snapshot_diff.h: what a trial changed: its snapshot against its parent's, or another's, as `lineage diff` tells it. */
#ifndef MCP_SNAPSHOT_DIFF_H
#define MCP_SNAPSHOT_DIFF_H

#include "mcp/field.h"

#define MCP_SNAPSHOT_DIFF_MAX ((size_t)4 << 20) /* bytes of a diff that are looked at */

struct mcp_snapshot_diff {
    struct mcp_found trial, other;
    char *text; /* unified diff, paths relative to the snapshots */
    size_t length;
    bool cut; /* there was more than MCP_SNAPSHOT_DIFF_MAX */
};

/* against NULL: the parent. path: only that file, NULL for all. False after mcp_trouble; release in any case. */
bool mcp_snapshot_diff_load(struct mcp_snapshot_diff *changes, struct mcp_call *call, const char *id, const char *against,
                      const char *path);
void mcp_snapshot_diff_release(struct mcp_snapshot_diff *changes);

#endif
