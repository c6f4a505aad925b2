/*
 * ranks.h: work shared by several processes over a communicator (trainer/comm.h).
 *
 * Before every exchange the ranks tell each other whether all is well. Whoever has failed says so at
 * the next exchange of the others, whatever that would have been, and all of them leave with the
 * same error: nobody waits for one who will not come. After that, or when a communicator fails, no
 * exchange is made any more.
 *
 * A NULL struct ranks, or one without a communicator, is a process alone: all of this is then
 * nothing.
 */
#ifndef TRAINER_RANKS_H
#define TRAINER_RANKS_H

#include <stdint.h>

#include <trainer/comm.h>
#include <trainer/status.h>

struct ranks {
    const struct trainer_comm *comm; /* NULL: alone */
    bool apart;                      /* there is no further exchange */
};

static inline int ranks_count(const struct ranks *ranks)
{
    return ranks && ranks->comm ? ranks->comm->size : 1;
}

static inline int ranks_mine(const struct ranks *ranks)
{
    return ranks && ranks->comm ? ranks->comm->rank : 0;
}

/* Whether the error that was just met is another's, who has said where it happened. */
static inline bool ranks_are_apart(const struct ranks *ranks)
{
    return ranks && ranks->apart;
}

/* Of n items that are dealt out in ranges, the first of a rank; rank ranks_count() gives n. */
static inline size_t ranks_first(const struct ranks *ranks, size_t n, int rank)
{
    return n * (size_t)rank / (size_t)ranks_count(ranks);
}

/* As in trainer/comm.h, after asking whether all is well. */
enum trainer_status ranks_broadcast(struct ranks *ranks, int from, void *bytes, size_t n,
                                    struct trainer_error *err);
enum trainer_status ranks_gather(struct ranks *ranks, void *bytes, const size_t *start,
                                 struct trainer_error *err);

/*
 * lanes [n_lanes][n]: the sum of all of them, added in the order of their numbers, ends up in the
 * first one on every rank. Lanes are dealt out by ranks_lanes; those of others need not hold anything.
 */
enum trainer_status ranks_sum(struct ranks *ranks, size_t n_lanes, size_t n, float *lanes,
                              struct trainer_error *err);

/* Lanes [*first, *end) of a rank; those of the later ranks may be none. */
void ranks_lanes(const struct ranks *ranks, size_t n_lanes, int rank, size_t *first, size_t *end);

/* TRAINER_EINVAL on every rank unless all have the same text, which says what. */
enum trainer_status ranks_compare(struct ranks *ranks, const char *what, const char *text,
                                  struct trainer_error *err);

/*
 * The last word of a rank, which has failed with status and *err or is done: the status of all, the
 * lowest rank's that failed. err must not be NULL.
 */
enum trainer_status ranks_leave(struct ranks *ranks, enum trainer_status status,
                                struct trainer_error *err);

#endif
