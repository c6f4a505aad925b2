/*
 * trainer/comm.h: how the processes of one run speak to each other.
 *
 * A run may be shared by several processes, its ranks: each calls trainer_run with the same recipe
 * and a communicator of its own (trainer/train.h). The trainer brings none: whoever starts the
 * processes fills this table from what connects them. Numbers never depend on how many there are,
 * because the trainer alone adds, in an order that the batch decides: a communicator only carries
 * bytes.
 *
 * Every function is called by all ranks in the same order, `send` and `receive` by the two that it
 * concerns, each from the thread that called trainer_run. It returns false if the others cannot be
 * reached; the run then ends with TRAINER_ELOST and makes no further call. A call that waits for a
 * rank that is gone waits until somebody ends it: the trainer keeps no time.
 */
#ifndef TRAINER_COMM_H
#define TRAINER_COMM_H

#include <stdbool.h>
#include <stddef.h>

#ifdef __cplusplus
extern "C" {
#endif

#define TRAINER_RANKS_MAX 256

struct trainer_comm {
    int rank, size; /* this process, from 0; how many there are, at most TRAINER_RANKS_MAX */
    void *context;  /* of all of them */
    /* Bytes [n] of rank `from` to all others. */
    bool (*broadcast)(void *context, int from, void *bytes, size_t n);
    /*
     * Bytes start[r] .. start[r+1] of rank r to all others; start [size+1] ascends from 0 and is
     * the same everywhere. What a rank has in its own part stays.
     */
    bool (*gather)(void *context, void *bytes, const size_t *start);
    /* Bytes [n] to the rank that receives as many. It may wait for that. */
    bool (*send)(void *context, int to, const void *bytes, size_t n);
    bool (*receive)(void *context, int from, void *bytes, size_t n);
};

#ifdef __cplusplus
}
#endif

#endif
