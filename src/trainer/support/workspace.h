/* workspace.h: the scratch memory that the core's kernels ask their caller for. */
#ifndef TRAINER_WORKSPACE_H
#define TRAINER_WORKSPACE_H

#include <stdbool.h>

#include <rlcore/status.h>

/* Scratch memory of the core's kernels, kept from call to call; workspace_free at the end. */
struct workspace {
    struct rl_workspace ws;
};

/* Make room after RL_EWORKSPACE: true if the call should be made again. */
bool workspace_grow(struct workspace *workspace, enum rl_status status);
void workspace_free(struct workspace *workspace);

/*
 * Call a kernel, again when it needs more scratch memory: a kernel that calls another learns what
 * that one needs only when its own part suffices.
 *     CORE_CALL(status, workspace, rl_ppo_lossf(.., &workspace->ws, &core))
 */
#define CORE_CALL(status, workspace, call)                                                         \
    do {                                                                                           \
        (status) = (call);                                                                         \
        while (workspace_grow((workspace), (status)))                                              \
            (status) = (call);                                                                     \
    } while (0)

#endif
