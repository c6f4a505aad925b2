/*
 * launch.h: whether a launcher of parallel programs (mpirun, srun) started this process as one of several, and whether a
 * command may run then.
 *
 *     mpirun --- rank 0: lineage train          stands in for the next one (stand_in.h)
 *             |    '---- lineage train          watches and appends the row, in a session of its own
 *             |            '---- run-trial      trains: rank 0 of the communicator
 *             |--- rank 1: lineage train        trains, and prints nothing
 *             '--- ...
 *
 *   launch     what the launcher set in the environment
 *   stand_in   the two processes of rank 0
 *   team       the ranks, connected; mpi_team is the module that connects them
 */
#ifndef CLI_LAUNCH_H
#define CLI_LAUNCH_H

#include <stdbool.h>

struct launch {
    int rank, size;    /* 0 of 1 without a launcher */
    bool is_open_mpi; /* started by Open MPI's mpirun, or by PMIx, which its libraries also accept */
};

/* Reads the environment. */
struct launch launch_read(void);

/*
 * Whether a command that trains one trial may run: alone, or with the module that connects the ranks. Returns
 * CLI_GO_ON, or the exit status; rank 0 has printed the error.
 */
int launch_check(const struct launch *launch);

/* Refuses a night, which several processes cannot run this way; returns like launch_check. */
int launch_refuse(const struct launch *launch);

#endif
