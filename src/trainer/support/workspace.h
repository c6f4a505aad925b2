/* workspace.h: scratch memory for the core's kernels, which require it from their caller. */
#pragma once

#include <stdbool.h>

#include <rlcore/status.h>

/*
 * The caller zeroes the struct before its first use. Its memory is kept from call to call and freed by workspace_free.
 */
struct workspace {
    struct rl_workspace ws;
};

/*
 * Called after a kernel. If status is RL_EWORKSPACE, allocates the memory that the kernel needs and returns true, which
 * means that the kernel should be called again.
 */
bool workspace_grow(struct workspace *workspace, enum rl_status status);
void workspace_free(struct workspace *workspace);

/*
 * Calls a kernel, and calls it again while it needs more scratch memory. That may take several rounds, because a kernel
 * that calls another kernel learns the other's need only after its own need is met.
 *     CORE_CALL(status, workspace, rl_ppo_lossf(.., &workspace->ws, &core))
 */
#define CORE_CALL(status, workspace, call)                                                                                       \
    do {                                                                                                                         \
        (status) = (call);                                                                                                       \
        while (workspace_grow((workspace), (status)))                                                                            \
            (status) = (call);                                                                                                   \
    } while (0)
