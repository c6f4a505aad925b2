/* mpi_team.h: what the module lineage-mpi.so exports. */
#pragma once

#include <stdbool.h>
#include <stddef.h>

#include <trainer/comm.h>

/*
 * Connects to the ranks that the launcher started; call it only once in a process. Returns false with the reason in
 * why.
 */
typedef bool mpi_team_open_fn(struct trainer_comm *comm, char *why, size_t size);
typedef void mpi_team_close_fn(struct trainer_comm *comm);

extern __attribute__((visibility("default"))) mpi_team_open_fn mpi_team_open;
extern __attribute__((visibility("default"))) mpi_team_close_fn mpi_team_close;
