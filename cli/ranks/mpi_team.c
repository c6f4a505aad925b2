/*
 * mpi_team.c: implements trainer/comm.h with Open MPI; no other file uses MPI. It only transfers bytes: MPI's
 * reductions are not used, because the MPI standard does not define the order of their sums.
 *
 * Open MPI polls without pause while it waits. On a busy machine, polling takes processor time from the other ranks:
 * with two ranks on two busy cores, four fifths of all time. So this file soon sleeps briefly between polls.
 */
#include "ranks/mpi_team.h"

#include <limits.h>
#include <mpi.h>
#include <stdio.h>
#include <time.h>

/*
 * POLLS is the number of polls before the first sleep. They take about a tenth of a millisecond, in which most messages
 * arrive on an idle machine. SLEEP is the length of a sleep in nanoseconds, to which the kernel adds 50,000.
 */
enum { POLLS = 200, SLEEP = 20000 };

/* MPI counts bytes in an int, so longer messages are split into pieces of this many bytes. */
enum { PIECE = 1 << 30 };

enum { TAG = 1 };

static bool went_well(int result)
{
    return result == MPI_SUCCESS;
}

/* Waits until a started transfer has finished. `begun` is the MPI status of the call that started it. */
static bool finish(int begun, MPI_Request *request)
{
    const struct timespec moment = {.tv_nsec = SLEEP};
    int done = 0;
    bool well = went_well(begun);
    for (int asked = 0; well && (well = went_well(MPI_Test(request, &done, MPI_STATUS_IGNORE))) && !done; asked++)
        if (asked >= POLLS)
            nanosleep(&moment, NULL);
    return well;
}

static int piece_of(size_t n)
{
    return n < PIECE ? (int)n : PIECE;
}

static bool broadcast(void *context, int from, void *bytes, size_t n)
{
    MPI_Request request;
    bool well = true;
    (void)context;
    for (size_t at = 0; at < n && well; at += PIECE)
        well = finish(MPI_Ibcast((char *)bytes + at, piece_of(n - at), MPI_BYTE, from, MPI_COMM_WORLD, &request), &request);
    return well;
}

/* Gathers part by part, for data whose offsets exceed an int. */
static bool gather_by_parts(char *bytes, const size_t *start, int size)
{
    bool well = true;
    for (int r = 0; r < size && well; r++)
        well = broadcast(NULL, r, bytes + start[r], start[r + 1] - start[r]);
    return well;
}

static bool gather(void *context, void *bytes, const size_t *start)
{
    const struct trainer_comm *comm = context;
    MPI_Request request;
    int counts[TRAINER_RANKS_MAX], places[TRAINER_RANKS_MAX];
    if (start[comm->size] > INT_MAX)
        return gather_by_parts(bytes, start, comm->size);
    for (int r = 0; r < comm->size; r++) {
        counts[r] = (int)(start[r + 1] - start[r]);
        places[r] = (int)start[r];
    }
    return finish(MPI_Iallgatherv(MPI_IN_PLACE, 0, MPI_BYTE, bytes, counts, places, MPI_BYTE, MPI_COMM_WORLD, &request),
                  &request);
}

static bool send(void *context, int to, const void *bytes, size_t n)
{
    MPI_Request request;
    bool well = true;
    (void)context;
    for (size_t at = 0; at < n && well; at += PIECE)
        well =
            finish(MPI_Isend((const char *)bytes + at, piece_of(n - at), MPI_BYTE, to, TAG, MPI_COMM_WORLD, &request), &request);
    return well;
}

static bool receive(void *context, int from, void *bytes, size_t n)
{
    MPI_Request request;
    bool well = true;
    (void)context;
    for (size_t at = 0; at < n && well; at += PIECE)
        well = finish(MPI_Irecv((char *)bytes + at, piece_of(n - at), MPI_BYTE, from, TAG, MPI_COMM_WORLD, &request), &request);
    return well;
}

/*
 * Only the thread that trains calls MPI; other threads only compute. Errors are returned to the caller and reported in
 * the row.
 */
bool mpi_team_open(struct trainer_comm *comm, char *why, size_t size)
{
    int level = MPI_THREAD_SINGLE;
    if (!went_well(MPI_Init_thread(NULL, NULL, MPI_THREAD_FUNNELED, &level)) || level < MPI_THREAD_FUNNELED) {
        snprintf(why, size, "MPI does not support programs with threads");
        return false;
    }
    MPI_Comm_set_errhandler(MPI_COMM_WORLD, MPI_ERRORS_RETURN);
    *comm = (struct trainer_comm){.context = comm, .broadcast = broadcast, .gather = gather, .send = send, .receive = receive};
    MPI_Comm_rank(MPI_COMM_WORLD, &comm->rank);
    MPI_Comm_size(MPI_COMM_WORLD, &comm->size);
    if (comm->size <= TRAINER_RANKS_MAX)
        return true;
    snprintf(why, size, "%d ranks, at most %d are allowed", comm->size, TRAINER_RANKS_MAX);
    MPI_Finalize();
    return false;
}

void mpi_team_close(struct trainer_comm *comm)
{
    (void)comm;
    MPI_Finalize();
}
