/*
 * stand_in.h: splits rank 0 into two processes: a stand-in, which the launcher sees as the rank, and a child, which
 * watches the trial and appends its row.
 *
 * A launcher kills all ranks when it loses one rank. The child survives this, because it is in a session of its own
 * that no signal to the ranks reaches. The stand-in passes signals on to the child.
 */
#pragma once

/*
 * Forks. Returns CLI_GO_ON in the child, which does the work; in the parent, returns after the child has exited, with
 * the child's exit status or the status of an error.
 */
int stand_in_fork(void);

/* Returns the pid of the process that stands in for this process or for its parent; 0 if there is none. */
long stand_in_pid(void);
