/* workspace.h: scratch memory for the core's kernels, which ask their caller for it. */
#ifndef TRAINER_WORKSPACE_H
#define TRAINER_WORKSPACE_H

#include <stdbool.h>

#include <rlcore/status.h>

/* Zeroed before its first use, kept from call to call, freed by workspace_free. */
struct workspace {
    struct rl_workspace ws;
};

/* After RL_EWORKSPACE: allocates what the kernel asked for, and returns true if it should be called again. */
bool workspace_grow(struct workspace *workspace, enum rl_status status);
void workspace_free(struct workspace *workspace);

/*
 * Calls a kernel, and calls it again while it needs more scratch memory. That may take several rounds, because a kernel
 * that calls another learns the other's need only once its own is met.
 *     CORE_CALL(status, workspace, rl_ppo_lossf(.., &workspace->ws, &core))
 */
#define CORE_CALL(status, workspace, call)                                                         \
    do {                                                                                           \
        (status) = (call);                                                                         \
        while (workspace_grow((workspace), (status)))                                              \
            (status) = (call);                                                                     \
    } while (0)

#endif
