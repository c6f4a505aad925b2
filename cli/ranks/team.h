/*
 * team.h: the ranks of a run, connected by Open MPI.
 *
 * `lineage-train` knows nothing of MPI: what connects the ranks is a module of its own (mpi_team.c,
 * lineage-mpi.so beside the program), which is loaded when a launcher has started several processes.
 */
#ifndef CLI_TEAM_H
#define CLI_TEAM_H

#include <stdbool.h>
#include <stddef.h>

#include <jansson.h>

#include <trainer/train.h>

struct team {
    struct trainer_comm comm;
    void *library;
    void (*close)(struct trainer_comm *comm);
};

/* Whether the module can be loaded; if not, why. */
bool team_is_there(char *why, size_t size);

/* Meet the other ranks: every one of them calls it. TRAINER_ELOST with why not. */
enum trainer_status team_open(struct team *team, struct trainer_error *err);

/* Part from them. After a run of which some rank was lost nobody is waited for, and well is false. */
void team_close(struct team *team, bool well);

/* Every rank: *recipe is rank 0's. TRAINER_ELOST, TRAINER_EINVAL if they are programs of two versions. */
enum trainer_status team_share(struct team *team, struct trainer_recipe *recipe, struct trainer_error *err);

/*
 * Every rank: on rank 0 a line of event_lines.h that names the other processes of this machine without
 * which the run cannot go on; elsewhere, and when memory or ranks were lost, NULL.
 */
json_t *team_peers(struct team *team);

/* The work of a rank other than 0, from meeting to parting. Exit status. */
int team_work(int rank);

#endif
