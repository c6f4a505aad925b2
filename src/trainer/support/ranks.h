/*
 * ranks.h: the processes that share a run, over a communicator (trainer/comm.h).
 *
 * Before every exchange the ranks tell each other whether they have failed. A rank that fails reports the failure at
 * the next exchange of the other ranks, whichever that is, and all ranks return the same error. So no rank waits for a
 * rank that has left. After that, or when the communicator fails, no further exchange is made.
 *
 * A NULL struct ranks, or one without a communicator, means a single process, for which these functions do nothing.
 */
#pragma once

#include <stdint.h>

#include <trainer/comm.h>
#include <trainer/status.h>

struct ranks {
    const struct trainer_comm *comm; /* NULL: alone */
    bool apart;                      /* an exchange has failed; no further one is made */
};

static inline int ranks_count(const struct ranks *ranks)
{
    return ranks && ranks->comm ? ranks->comm->size : 1;
}

static inline int ranks_mine(const struct ranks *ranks)
{
    return ranks && ranks->comm ? ranks->comm->rank : 0;
}

/* Whether the last error may come from another rank; its message then already says where it happened. */
static inline bool ranks_are_apart(const struct ranks *ranks)
{
    return ranks && ranks->apart;
}

/*
 * Divides n items into a range for each rank, and returns the first item of a rank's range; for rank ranks_count(), n.
 */
static inline size_t ranks_first(const struct ranks *ranks, size_t n, int rank)
{
    return n * (size_t)rank / (size_t)ranks_count(ranks);
}

/* Like the functions of trainer/comm.h, but first check whether a rank has failed. */
enum trainer_status ranks_broadcast(struct ranks *ranks, int from, void *bytes, size_t n, struct trainer_error *err);
enum trainer_status ranks_gather(struct ranks *ranks, void *bytes, const size_t *start, struct trainer_error *err);

/* Sets the lanes [*first, *end) of a rank; later ranks may have no lanes. */
void ranks_lanes(const struct ranks *ranks, size_t n_lanes, int rank, size_t *first, size_t *end);

/* Returns TRAINER_EINVAL unless all ranks have the same text; `what` names the text in the message. */
enum trainer_status ranks_compare(struct ranks *ranks, const char *what, const char *text, struct trainer_error *err);

/*
 * Makes the last exchange of a rank, whose work has ended with `status` and *err. Returns the status of the run, which
 * is that of the lowest rank that failed; *err then has that rank's message. err must not be NULL.
 */
enum trainer_status ranks_leave(struct ranks *ranks, enum trainer_status status, struct trainer_error *err);

/*
 * For exchanges without a function in this header: all ranks call this before such an exchange, and if the communicator
 * fails.
 */
enum trainer_status ranks_meet(struct ranks *ranks, enum trainer_status status, const struct trainer_error *mine,
                               struct trainer_error *err);
enum trainer_status ranks_lost(struct ranks *ranks, struct trainer_error *err);
