/*
 * stand_in.h: rank 0 as two processes: one that stands in for it towards the launcher, and a child that watches the
 * trial and appends its row.
 *
 * A launcher kills all ranks when it loses one. The child is in a session of its own, which no signal to the ranks
 * reaches, and so outlives that. The stand-in passes signals on to the child.
 */
#ifndef CLI_STAND_IN_H
#define CLI_STAND_IN_H

/*
 * Forks. Returns CLI_GO_ON in the child, which does the work; in the parent, once the child has exited, its exit
 * status, or the status of an error.
 */
int stand_in_fork(void);

/* The process that stands in for this one or for its parent; 0: none. */
long stand_in_pid(void);

#endif
