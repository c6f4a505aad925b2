/*
 * launch.h: detects whether a launcher of parallel programs (mpirun, srun) started this process as one of several, and
 * whether a command may run in that case.
 *
 *     mpirun --- rank 0: lineage train          stands in for its child below
 *             |    '---- lineage train          watches the trial and appends its row, in a session of its own
 *             |            '---- run-trial      trains: rank 0 of the communicator
 *             |--- rank 1: lineage train        trains, and prints nothing
 *             '--- ...
 */
#pragma once

#include <stdbool.h>
#include <stddef.h>

struct launch {
    int rank, size;    /* rank 0 and size 1 without a launcher */
    bool is_open_mpi; /* started by Open MPI's mpirun, or by PMIx, which its libraries also accept */
};

/* Reads the environment. */
struct launch launch_read(void);

/*
 * Whether a command that trains one trial may run: alone, or with the module that connects the ranks (team_is_there in team.h). Returns
 * CLI_GO_ON, or the exit status; rank 0 has printed the error.
 */
int launch_check(const struct launch *launch, bool (*team_is_there)(char *why, size_t size));

/*
 * Refuses to run a night under a launcher, because a night cannot be split into ranks. Returns the same values as
 * launch_check.
 */
int launch_refuse(const struct launch *launch);
