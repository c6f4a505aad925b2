/*
 * launch.h: whether a launcher of parallel programs (mpirun, srun) started this process as one of
 * several, and what becomes of a command then.
 *
 *     mpirun --- rank 0: lineage train          stands in for the next one, and passes signals on
 *             |    '---- lineage train          watches and writes the row, in a session of its own
 *             |            '---- run-trial      trains: rank 0 of the communicator
 *             |--- rank 1: lineage train        trains, and says nothing
 *             '--- ...
 *
 * A launcher ends all ranks, by KILL, when it loses one. Who writes the row must outlive that: it is a
 * child in a session of its own, which no signal to the ranks reaches.
 */
#ifndef CLI_LAUNCH_H
#define CLI_LAUNCH_H

#include <stdbool.h>

struct launch {
    int rank, size;    /* 0 of 1 without a launcher */
    bool is_open_mpi; /* by mpirun of Open MPI, or by PMIx, as its libraries want it */
};

/* From the environment, which is all that there is before a library of the launcher is loaded. */
struct launch launch_read(void);

/*
 * Whether a command that trains one trial may go on: alone, or with the module that connects ranks at
 * hand. CLI_GO_ON, or the exit status; rank 0 has printed why.
 */
int launch_check(const struct launch *launch);

/* The same for a night, which is not to be run by several processes that way. */
int launch_refuse(const struct launch *launch);

/*
 * Of rank 0: CLI_GO_ON in a child with a session of its own, which is to do the work; its exit status in
 * this process, when that is over.
 */
int launch_apart(void);

/* The process that stands in for this one or its parent; 0: none. */
long launch_stand_in(void);

#endif
