/* workspace.c: see workspace.h. The block only grows, so that no kernel allocates after the first iteration. */
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
