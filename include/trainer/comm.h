/*
 * trainer/comm.h: how the processes of one run communicate.
 *
 * A run can be shared by several processes, its ranks. Each calls trainer_run_process with the same recipe and its
 * own communicator (trainer/train.h). The trainer does not include a communicator: the program that starts the
 * processes fills in this table, for example with functions that call MPI. A communicator only carries bytes; the
 * trainer adds all numbers itself, in an order that follows from the batch, so that results never depend on the number
 * of processes.
 *
 * All ranks call every function in the same order; `send` and `receive` are called by the two ranks that they
 * concern. All calls come from the thread that called trainer_run_process. A function returns false if the other ranks
 * cannot be reached; the run then ends with TRAINER_ELOST and makes no further call. The trainer has no timeouts: a
 * call that waits for a dead rank waits until the process is ended from outside.
 */
#ifndef TRAINER_COMM_H
#define TRAINER_COMM_H

#include <stdbool.h>
#include <stddef.h>

#define TRAINER_RANKS_MAX 256

struct trainer_comm {
    int rank, size; /* this process's number, from 0; number of processes, at most TRAINER_RANKS_MAX */
    void *context;  /* passed to every function of the table */
    /* Sends bytes [n] of rank `from` to all other ranks. */
    bool (*broadcast)(void *context, int from, void *bytes, size_t n);
    /*
     * Sends bytes start[r] .. start[r+1] of each rank r to all other ranks. start [size+1] ascends from 0 and is the
     * same on all ranks. A rank's own part is unchanged.
     */
    bool (*gather)(void *context, void *bytes, const size_t *start);
    /* Sends bytes [n] to a rank that receives the same number of bytes; may block until that rank receives them. */
    bool (*send)(void *context, int to, const void *bytes, size_t n);
    bool (*receive)(void *context, int from, void *bytes, size_t n);
};

#endif
