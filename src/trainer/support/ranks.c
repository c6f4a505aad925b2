#include "support/ranks.h"

#include "support/error.h"

enum trainer_status ranks_lost(struct ranks *ranks, struct trainer_error *err)
{
    ranks->apart = true;
    return trainer_fail(err, TRAINER_ELOST, "the other processes of the run cannot be reached");
}

/* items: one item of `size` bytes for each rank. */
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
 * All ranks return the error of the lowest rank that failed. If a computation that every rank repeats fails, it fails
 * on all ranks, and rank 0 reports the error as a single process would; an error of another rank names that rank.
 */
static enum trainer_status take_error(struct ranks *ranks, int from, int32_t status, const struct trainer_error *mine,
                                      struct trainer_error *err)
{
    const struct trainer_comm *comm = ranks->comm;
    char text[TRAINER_ERROR_TEXT_MAX] = "";
    if (from == comm->rank && mine)
        memcpy(text, mine->text, sizeof text);
    if (!comm->broadcast(comm->context, from, text, sizeof text))
        return ranks_lost(ranks, err);
    text[sizeof text - 1] = '\0';
    ranks->apart = true;
    return from == 0 ? trainer_fail(err, (enum trainer_status)status, "%s", text)
                     : trainer_fail(err, (enum trainer_status)status, "rank %d: %.490s", from, text);
}

enum trainer_status ranks_meet(struct ranks *ranks, enum trainer_status status, const struct trainer_error *mine,
                               struct trainer_error *err)
{
    const struct trainer_comm *comm = ranks->comm;
    int32_t statuses[TRAINER_RANKS_MAX];
    if (ranks->apart)
        return trainer_fail(err, TRAINER_ELOST, "the other processes of the run have left it");
    statuses[comm->rank] = status;
    if (!gather_each(comm, statuses, sizeof *statuses))
        return ranks_lost(ranks, err);
    int failed = first_failed(comm, statuses);
    return failed == comm->size ? TRAINER_OK : take_error(ranks, failed, statuses[failed], mine, err);
}

enum trainer_status ranks_broadcast(struct ranks *ranks, int from, void *bytes, size_t n, struct trainer_error *err)
{
    if (ranks_count(ranks) == 1)
        return TRAINER_OK;
    enum trainer_status status = ranks_meet(ranks, TRAINER_OK, NULL, err);
    if (status == TRAINER_OK && !ranks->comm->broadcast(ranks->comm->context, from, bytes, n))
        status = ranks_lost(ranks, err);
    return status;
}

enum trainer_status ranks_gather(struct ranks *ranks, void *bytes, const size_t *start, struct trainer_error *err)
{
    if (ranks_count(ranks) == 1)
        return TRAINER_OK;
    enum trainer_status status = ranks_meet(ranks, TRAINER_OK, NULL, err);
    if (status == TRAINER_OK && !ranks->comm->gather(ranks->comm->context, bytes, start))
        status = ranks_lost(ranks, err);
    return status;
}

/* Each rank gets a range of lanes, so that its lanes are adjacent in the order of the sum. */
void ranks_lanes(const struct ranks *ranks, size_t n_lanes, int rank, size_t *first, size_t *end)
{
    size_t size = (size_t)ranks_count(ranks), summing = size < n_lanes ? size : n_lanes;
    size_t at = (size_t)rank < summing ? (size_t)rank : summing;
    size_t next = at < summing ? at + 1 : summing;
    *first = n_lanes * at / summing;
    *end = n_lanes * next / summing;
}

enum trainer_status ranks_compare(struct ranks *ranks, const char *what, const char *text, struct trainer_error *err)
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

enum trainer_status ranks_leave(struct ranks *ranks, enum trainer_status status, struct trainer_error *err)
{
    if (ranks_count(ranks) == 1 || ranks->apart)
        return status;
    const struct trainer_error mine = *err;
    status = ranks_meet(ranks, status, &mine, err);
    ranks->apart = true;
    return status;
}
