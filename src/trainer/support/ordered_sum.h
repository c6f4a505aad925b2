/*
 * ordered_sum.h: the sum of gradients over the processes of a run, always added in the same order.
 *
 * Sums of floats depend on their order. In a library's reduction the order depends on the number of processes and the
 * length of the message. Here the running sum goes from rank to rank in the order of lanes, so that the result has the
 * same bits for any number of processes. The sum is sent in segments: the second rank adds to the first segment while
 * the first rank works on the next one.
 */
#pragma once

#include "support/ranks.h"

/*
 * lanes [n_lanes][n]: on return, on every rank, the first lane holds the sum of all lanes, added in the order of their
 * numbers; the other lanes are undefined. Each rank must fill in only the lanes that ranks_lanes gives it.
 */
enum trainer_status ordered_sum(struct ranks *ranks, size_t n_lanes, size_t n, float *lanes, struct trainer_error *err);
