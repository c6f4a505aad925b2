/*
 * mpi_team.c: trainer/comm.h by Open MPI; the one file that knows MPI. It only carries bytes: MPI's own
 * sums are not used, whose order the standard leaves open.
 */
#include "ranks/mpi_team.h"

#include <limits.h>
#include <mpi.h>
#include <stdio.h>

/* MPI counts in int: longer messages go in pieces. */
enum { PIECE = 1 << 30 };

enum { TAG = 1 };

static bool went_well(int result)
{
    return result == MPI_SUCCESS;
}

static int piece_of(size_t n)
{
    return n < PIECE ? (int)n : PIECE;
}

static bool broadcast(void *context, int from, void *bytes, size_t n)
{
    bool well = true;
    (void)context;
    for (size_t at = 0; at < n && well; at += PIECE)
        well = went_well(MPI_Bcast((char *)bytes + at, piece_of(n - at), MPI_BYTE, from, MPI_COMM_WORLD));
    return well;
}

/* Part after part, where places in it are more than an int holds. */
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
    int counts[TRAINER_RANKS_MAX], places[TRAINER_RANKS_MAX];
    if (start[comm->size] > INT_MAX)
        return gather_by_parts(bytes, start, comm->size);
    for (int r = 0; r < comm->size; r++) {
        counts[r] = (int)(start[r + 1] - start[r]);
        places[r] = (int)start[r];
    }
    return went_well(MPI_Allgatherv(MPI_IN_PLACE, 0, MPI_BYTE, bytes, counts, places, MPI_BYTE, MPI_COMM_WORLD));
}

static bool send(void *context, int to, const void *bytes, size_t n)
{
    bool well = true;
    (void)context;
    for (size_t at = 0; at < n && well; at += PIECE)
        well = went_well(MPI_Send((const char *)bytes + at, piece_of(n - at), MPI_BYTE, to, TAG, MPI_COMM_WORLD));
    return well;
}

static bool receive(void *context, int from, void *bytes, size_t n)
{
    bool well = true;
    (void)context;
    for (size_t at = 0; at < n && well; at += PIECE)
        well = went_well(MPI_Recv((char *)bytes + at, piece_of(n - at), MPI_BYTE, from, TAG, MPI_COMM_WORLD,
                                  MPI_STATUS_IGNORE));
    return well;
}

/* Calls come from the thread that trains, others only compute. Errors are returned, for whoever writes the row. */
bool mpi_team_open(struct trainer_comm *comm, char *why, size_t size)
{
    int level = MPI_THREAD_SINGLE;
    if (!went_well(MPI_Init_thread(NULL, NULL, MPI_THREAD_FUNNELED, &level)) || level < MPI_THREAD_FUNNELED) {
        snprintf(why, size, "MPI cannot be begun for a program with threads");
        return false;
    }
    MPI_Comm_set_errhandler(MPI_COMM_WORLD, MPI_ERRORS_RETURN);
    *comm = (struct trainer_comm){
        .context = comm, .broadcast = broadcast, .gather = gather, .send = send, .receive = receive};
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
