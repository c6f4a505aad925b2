#include "support/ordered_sum.h"

#include <string.h>

/* Number of floats in a segment: enough to be worth a message, few enough to stay in a cache. */
enum { SEGMENT = 1 << 14 };

/* Adds x to sum [n]. In the order of lanes x comes before sum, but a + b has the same bits as b + a. */
static void add(size_t n, const float *restrict x, float *restrict sum)
{
    for (size_t i = 0; i < n; i++)
        sum[i] += x[i];
}

/*
 * Handles one segment of n floats: receives the sum of the earlier ranks, adds this rank's lanes and sends the sum on.
 * `first` is the segment in this rank's first lane, where the sum accumulates.
 */
static bool sum_segment(const struct trainer_comm *comm, size_t n_mine, size_t stride, size_t n, float *first, bool is_last)
{
    float before[SEGMENT];
    if (comm->rank > 0) {
        if (!comm->receive(comm->context, comm->rank - 1, before, n * sizeof *before))
            return false;
        add(n, before, first);
    }
    for (size_t lane = 1; lane < n_mine; lane++)
        add(n, first + lane * stride, first);
    return is_last || comm->send(comm->context, comm->rank + 1, first, n * sizeof *first);
}

/* The last rank that has lanes gets the complete sum, and broadcasts it. */
static enum trainer_status sum_over(struct ranks *ranks, size_t n_lanes, size_t n, float *lanes, struct trainer_error *err)
{
    const struct trainer_comm *comm = ranks->comm;
    size_t size = (size_t)comm->size, first, end;
    int last = (int)(size < n_lanes ? size : n_lanes) - 1;
    bool well = true;
    ranks_lanes(ranks, n_lanes, comm->rank, &first, &end);
    for (size_t at = 0; at < n && comm->rank <= last && well; at += SEGMENT)
        well = sum_segment(comm, end - first, n, n - at < SEGMENT ? n - at : SEGMENT, lanes + first * n + at, comm->rank == last);
    if (well && comm->rank == last && first > 0)
        memcpy(lanes, lanes + first * n, n * sizeof *lanes);
    well = well && comm->broadcast(comm->context, last, lanes, n * sizeof *lanes);
    return well ? TRAINER_OK : ranks_lost(ranks, err);
}

enum trainer_status ordered_sum(struct ranks *ranks, size_t n_lanes, size_t n, float *lanes, struct trainer_error *err)
{
    if (ranks_count(ranks) == 1) {
        for (size_t lane = 1; lane < n_lanes; lane++)
            add(n, lanes + lane * n, lanes);
        return TRAINER_OK;
    }
    enum trainer_status status = ranks_meet(ranks, TRAINER_OK, NULL, err);
    return status == TRAINER_OK ? sum_over(ranks, n_lanes, n, lanes, err) : status;
}
