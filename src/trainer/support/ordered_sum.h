/*
 * ordered_sum.h: the sum of gradients over the processes of a run, always added in the same order.
 *
 * Sums of floats depend on their order. The reduction of a library chooses the order by the number of processes and
 * the length of the message. Here the running sum goes from rank to rank in the order of lanes, so that the result
 * has the same bits for any number of processes. It goes in segments: the second rank adds to the first segment
 * while the first rank works on the next.
 */
#ifndef TRAINER_ORDERED_SUM_H
#define TRAINER_ORDERED_SUM_H

#include "support/ranks.h"

/*
 * lanes [n_lanes][n]: on return the first lane holds the sum of all lanes, added in the order of their numbers, on
 * every rank; the others are undefined. ranks_lanes says which lanes a rank fills in; it need not fill in the
 * others.
 */
enum trainer_status ordered_sum(struct ranks *ranks, size_t n_lanes, size_t n, float *lanes,
                                struct trainer_error *err);

#endif
