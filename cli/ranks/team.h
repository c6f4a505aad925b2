/*
 * team.h: connects the ranks of a run by Open MPI.
 *
 * `lineage-train` is not linked with MPI. A module (mpi_team.c, lineage-mpi.so beside the program) connects the
 * ranks; it is loaded only if a launcher has started several processes.
 */
#pragma once

#include <jansson.h>
#include <stdbool.h>
#include <stddef.h>

#include <trainer/train.h>

struct team {
    struct trainer_comm comm;
    void *library;
    void (*close)(struct trainer_comm *comm);
};

/* Whether the module can be loaded; if not, writes the reason to why. */
bool team_is_there(char *why, size_t size);

/* Connects to the other ranks; every rank calls it. rank and size are those of the environment (launch.h). Returns TRAINER_ELOST
 * with the reason if that fails, or if MPI says otherwise. */
enum trainer_status team_open(struct team *team, int rank, int size, struct trainer_error *err);

/*
 * Disconnects from the other ranks. Set well to false after a run in which a rank was lost: this process then does not
 * wait for the others.
 */
void team_close(struct team *team, bool well);

/*
 * Gives every rank the recipe of rank 0; every rank calls it. Returns TRAINER_ELOST if a rank was lost, or
 * TRAINER_EINVAL if the ranks run different versions of the program.
 */
enum trainer_status team_share(struct team *team, struct trainer_recipe *recipe, struct trainer_error *err);

/*
 * Called by every rank. On rank 0, returns an event line (metrics/event_lines.h) that names the other processes
 * without which the run cannot continue; on the other ranks, and if a rank was lost or memory ran out, returns NULL.
 */
json_t *team_peers(struct team *team);

/* Does all the work of a rank other than 0. Returns the exit status of the process. */
int team_work(int rank, int size);

/* ---- the process between a launcher and a trial ---- */

/*
 * Splits rank 0 into two processes: a stand-in, which the launcher sees as the rank, and a child, which watches the trial
 * and appends its row. A launcher kills all ranks when it loses one rank. The child survives this, because it is in a
 * session of its own that no signal to the ranks reaches. The stand-in passes signals on to the child.
 */

/*
 * Forks. Returns CLI_GO_ON in the child, which does the work; in the parent, returns after the child has exited, with
 * the child's exit status or the status of an error.
 */
int stand_in_fork(void);
