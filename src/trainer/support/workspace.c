/*
 * workspace.c: see workspace.h. The block only grows and lives as long as the run: after the first
 * iteration no kernel allocates.
 */
#include "support/workspace.h"

#include <stdlib.h>

bool workspace_grow(struct workspace *workspace, enum rl_status status)
{
    struct rl_workspace *ws = &workspace->ws;
    if (status != RL_EWORKSPACE || ws->needed <= ws->size)
        return false;
    free(ws->data);
    ws->data = malloc(ws->needed);
    ws->size = ws->data ? ws->needed : 0;
    return ws->data != NULL;
}

void workspace_free(struct workspace *workspace)
{
    free(workspace->ws.data);
}
