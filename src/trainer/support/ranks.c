/*
 * ranks.c: see ranks.h.
 *
 * Sums of floats depend on their order. A library's reduction chooses it by the number of processes
 * and the length of the message; here the running sum goes from rank to rank in the order of lanes,
 * in segments, so that the second rank adds to the first segment while the first is at the next.
 */
#include "support/ranks.h"

#include <stdio.h>
#include <string.h>

#include "support/error.h"

/* Floats of a segment: long enough to pay for its message, short enough to stay in a cache. */
enum { SEGMENT = 1 << 14 };

static enum trainer_status lost(struct ranks *ranks, struct trainer_error *err)
{
    ranks->apart = true;
    return trainer_fail(err, TRAINER_ELOST, "the other processes of the run cannot be reached");
}

/* Items of one size, one for each rank. */
static bool gather_each(const struct trainer_comm *comm, void *items, size_t size)
{
    size_t start[TRAINER_RANKS_MAX + 1];
    for (int r = 0; r <= comm->size; r++)
        start[r] = (size_t)r * size;
    return comm->gather(comm->context, items, start);
}

static int first_failed(const struct trainer_comm *comm, const int32_t *statuses)
{
    int rank = 0;
    while (rank < comm->size && statuses[rank] == TRAINER_OK)
        rank++;
    return rank;
}

/*
 * The lowest rank's error is everybody's: what all ranks compute alike fails on all of them, and is
 * then told in the words of a process alone. Elsewhere it is said where.
 */
static enum trainer_status take_error(struct ranks *ranks, int from, int32_t status,
                                      const struct trainer_error *mine, struct trainer_error *err)
{
    const struct trainer_comm *comm = ranks->comm;
    char text[TRAINER_ERROR_TEXT_MAX] = "";
    if (from == comm->rank && mine)
        memcpy(text, mine->text, sizeof text);
    if (!comm->broadcast(comm->context, from, text, sizeof text))
        return lost(ranks, err);
    text[sizeof text - 1] = '\0';
    ranks->apart = true;
    return from == 0
               ? trainer_fail(err, (enum trainer_status)status, "%s", text)
               : trainer_fail(err, (enum trainer_status)status, "rank %d: %.490s", from, text);
}

/* Whether all is well everywhere. */
static enum trainer_status meet(struct ranks *ranks, enum trainer_status status,
                                const struct trainer_error *mine, struct trainer_error *err)
{
    const struct trainer_comm *comm = ranks->comm;
    int32_t statuses[TRAINER_RANKS_MAX];
    if (ranks->apart)
        return trainer_fail(err, TRAINER_ELOST, "the other processes of the run have left it");
    statuses[comm->rank] = status;
    if (!gather_each(comm, statuses, sizeof *statuses))
        return lost(ranks, err);
    int failed = first_failed(comm, statuses);
    return failed == comm->size ? TRAINER_OK
                                : take_error(ranks, failed, statuses[failed], mine, err);
}

enum trainer_status ranks_broadcast(struct ranks *ranks, int from, void *bytes, size_t n,
                                    struct trainer_error *err)
{
    if (ranks_count(ranks) == 1)
        return TRAINER_OK;
    enum trainer_status status = meet(ranks, TRAINER_OK, NULL, err);
    if (status == TRAINER_OK && !ranks->comm->broadcast(ranks->comm->context, from, bytes, n))
        status = lost(ranks, err);
    return status;
}

enum trainer_status ranks_gather(struct ranks *ranks, void *bytes, const size_t *start,
                                 struct trainer_error *err)
{
    if (ranks_count(ranks) == 1)
        return TRAINER_OK;
    enum trainer_status status = meet(ranks, TRAINER_OK, NULL, err);
    if (status == TRAINER_OK && !ranks->comm->gather(ranks->comm->context, bytes, start))
        status = lost(ranks, err);
    return status;
}

/* ---- sums --------------------------------------------------------------------------------- */

/* Ranges, so that a rank's lanes follow each other in the order of the sum. */
void ranks_lanes(const struct ranks *ranks, size_t n_lanes, int rank, size_t *first, size_t *end)
{
    size_t size = (size_t)ranks_count(ranks), summing = size < n_lanes ? size : n_lanes;
    size_t at = (size_t)rank < summing ? (size_t)rank : summing;
    size_t next = at < summing ? at + 1 : summing;
    *first = n_lanes * at / summing;
    *end = n_lanes * next / summing;
}

/* sum [n] += what comes before it in the order; a + b is b + a to the bit. */
static void add(size_t n, const float *restrict x, float *restrict sum)
{
    for (size_t i = 0; i < n; i++)
        sum[i] += x[i];
}

/*
 * One segment: what the ranks before have summed up, this rank's lanes, and on to the next. first is
 * where the sum of this rank grows.
 */
static bool sum_segment(const struct trainer_comm *comm, size_t n_mine, size_t stride, size_t n,
                        float *first, bool is_last)
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

/* A process alone adds whole lanes: the same sums, element by element. */
static void sum_alone(size_t n_lanes, size_t n, float *lanes)
{
    for (size_t lane = 1; lane < n_lanes; lane++)
        add(n, lanes + lane * n, lanes);
}

/* The last rank that has lanes holds the sum, and gives it to all. */
static enum trainer_status sum_over(struct ranks *ranks, size_t n_lanes, size_t n, float *lanes,
                                    struct trainer_error *err)
{
    const struct trainer_comm *comm = ranks->comm;
    size_t size = (size_t)comm->size, first, end;
    int last = (int)(size < n_lanes ? size : n_lanes) - 1;
    bool well = true;
    ranks_lanes(ranks, n_lanes, comm->rank, &first, &end);
    for (size_t at = 0; at < n && comm->rank <= last && well; at += SEGMENT)
        well = sum_segment(comm, end - first, n, n - at < SEGMENT ? n - at : SEGMENT,
                           lanes + first * n + at, comm->rank == last);
    if (well && comm->rank == last && first > 0)
        memcpy(lanes, lanes + first * n, n * sizeof *lanes);
    well = well && comm->broadcast(comm->context, last, lanes, n * sizeof *lanes);
    return well ? TRAINER_OK : lost(ranks, err);
}

enum trainer_status ranks_sum(struct ranks *ranks, size_t n_lanes, size_t n, float *lanes,
                              struct trainer_error *err)
{
    if (ranks_count(ranks) == 1) {
        sum_alone(n_lanes, n, lanes);
        return TRAINER_OK;
    }
    enum trainer_status status = meet(ranks, TRAINER_OK, NULL, err);
    return status == TRAINER_OK ? sum_over(ranks, n_lanes, n, lanes, err) : status;
}

/* ---- beginning and end -------------------------------------------------------------------- */

enum trainer_status ranks_compare(struct ranks *ranks, const char *what, const char *text,
                                  struct trainer_error *err)
{
    char first[256];
    if (ranks_count(ranks) == 1)
        return TRAINER_OK;
    snprintf(first, sizeof first, "%.255s", text);
    enum trainer_status status = ranks_broadcast(ranks, 0, first, sizeof first, err);
    first[sizeof first - 1] = '\0';
    if (status != TRAINER_OK || strncmp(first, text, sizeof first - 1) == 0)
        return status;
    return trainer_fail(err, TRAINER_EINVAL, "%s %.200s here, %.200s on rank 0", what, text, first);
}

enum trainer_status ranks_leave(struct ranks *ranks, enum trainer_status status,
                                struct trainer_error *err)
{
    if (ranks_count(ranks) == 1 || ranks->apart)
        return status;
    const struct trainer_error mine = *err;
    status = meet(ranks, status, &mine, err);
    ranks->apart = true;
    return status;
}
