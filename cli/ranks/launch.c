#include "ranks/launch.h"

#include "cli.h"

static int number_of(const char *name, int otherwise)
{
    const char *text = getenv(name);
    char *end;
    long n = text ? strtol(text, &end, 10) : -1;
    return text && *text && !*end && n >= 0 && n <= INT_MAX ? (int)n : otherwise;
}

/*
 * Open MPI's mpirun sets rank and size; under srun with PMIx the rank comes from PMIx and the size from Slurm. MPICH
 * and others set PMI_RANK: our module cannot connect their processes, but this function must detect that there are
 * several.
 */
struct launch launch_read(void)
{
    struct launch launch = {number_of("OMPI_COMM_WORLD_RANK", -1), number_of("OMPI_COMM_WORLD_SIZE", -1), true};
    if (launch.size < 1 && getenv("PMIX_RANK"))
        launch = (struct launch){number_of("PMIX_RANK", 0), number_of("SLURM_STEP_NUM_TASKS", -1), true};
    if (launch.size < 1)
        launch = (struct launch){number_of("PMI_RANK", -1), number_of("PMI_SIZE", -1), false};
    if (launch.rank < 0 || launch.size < 1)
        launch = (struct launch){0, 1, false};
    return launch;
}

/* Every rank prints the error: mpirun kills the others when the first one ends, which is often not rank 0. */
static int refused(const struct launch *launch, enum cli_exit status, const char *why)
{
    return cli_error(status, "started as %d processes, which cannot train one trial together: %s", launch->size, why);
}

/* srun without PMI starts several processes that know nothing of each other. They may be meant to train different trials, so
 * this is a warning. Only the first of them prints it. */
static void warn_of_copies(void)
{
    const int n = number_of("SLURM_STEP_NUM_TASKS", 1);
    char text[256];
    if (n <= 1 || number_of("SLURM_PROCID", 1) != 0)
        return;
    snprintf(text, sizeof text,
             "srun started %d processes without PMI, so each trains a whole trial of its own; `srun --mpi=pmix` or mpirun makes "
             "them train one together",
             n);
    cli_say(text);
}

int launch_check(const struct launch *launch, bool (*team_is_there)(char *why, size_t size))
{
    char why[512];
    if (launch->size == 1) {
        warn_of_copies();
        return CLI_GO_ON;
    }
    if (!launch->is_open_mpi)
        return refused(launch, CLI_SYSTEM, "their launcher is not Open MPI's mpirun");
    return team_is_there(why, sizeof why) ? CLI_GO_ON : refused(launch, CLI_SYSTEM, why);
}

int launch_refuse(const struct launch *launch)
{
    if (launch->size == 1)
        return CLI_GO_ON;
    return refused(launch, CLI_USAGE, "under mpirun there is `lineage train`; a night is run by one process");
}
