/*
 * address_space.c: what is mapped, what threads will map, and the limit.
 *
 * Linux gives address space out freely, so limits on it are met by programs that map much and use
 * little, as BLAS, OpenMP and malloc do for each thread. They answer by trying again, by aborting
 * or with NULL; none of them says "ulimit -v". Here it is said before they are asked.
 */
#include "recipe/address_space.h"

#include <malloc.h>
#include <stdbool.h>
#include <stdint.h>
#include <stdio.h>
#include <sys/resource.h>
#include <unistd.h>

#if defined(__SANITIZE_ADDRESS__) || defined(__SANITIZE_THREAD__)
static const bool address_space_is_ours = false; /* shadow memory does not fit under any limit */
#else
static const bool address_space_is_ours = true;
#endif

static const double MIB = 1 << 20;

/* A thread maps a stack (8 MiB), a buffer of OpenBLAS (BUFFER_SIZE, 128 on x86-64) and an arena of malloc (64 at
 * least). malloc can do without the last; OpenBLAS cannot do without its buffer. */
static const double LEAST_PER_THREAD = 136, MOST_PER_THREAD = 200, SLACK = 64;

/* Bytes that are mapped before the run begins; 0 without /proc, where the limit is then that much too low for
 * comfort but never too low for the run: SLACK is more than the libraries take. */
static double mapped_bytes(void)
{
    unsigned long pages = 0;
    FILE *statm = fopen("/proc/self/statm", "r");
    if (!statm || fscanf(statm, "%lu", &pages) != 1)
        pages = 0;
    if (statm)
        fclose(statm);
    return (double)pages * (double)sysconf(_SC_PAGESIZE);
}

static double threads(const struct trainer_recipe *recipe)
{
    return recipe->threads ? recipe->threads : (double)sysconf(_SC_NPROCESSORS_ONLN);
}

/* The arena of one thread would take the room of another one's buffer. Threads that wait for each other in malloc
 * are slower; the trainer's hardly call it. */
static void share_arena(void)
{
#ifdef M_ARENA_MAX
    mallopt(M_ARENA_MAX, 1);
#endif
}

/* Between what is needed and what would be comfortable one arena is shared, which costs a
 * little speed; below it the answer is no. Nothing is refused without a limit: how much memory
 * the machine has is the kernel's affair. */
enum trainer_status address_space_suffices(const struct trainer_recipe *recipe, double bytes,
                                           struct trainer_error *err)
{
    const double own = mapped_bytes() + bytes, n = threads(recipe), needed = own + n * LEAST_PER_THREAD * MIB;
    struct rlimit limit;
    if (!address_space_is_ours || getrlimit(RLIMIT_AS, &limit) != 0 || limit.rlim_cur == RLIM_INFINITY)
        return TRAINER_OK;
    if ((double)limit.rlim_cur < own + (SLACK + n * MOST_PER_THREAD) * MIB)
        share_arena();
    if (needed <= (double)limit.rlim_cur)
        return TRAINER_OK;
    err->status = TRAINER_ENOMEM;
    snprintf(err->text, sizeof err->text,
             "out of memory: the limit on address space (ulimit -v) is %.0f MiB, and this needs up to %.0f MiB "
             "with %.0f threads",
             (double)limit.rlim_cur / MIB, needed / MIB, n);
    return TRAINER_ENOMEM;
}

/* Room for threads and libraries is added on top, so that the limit is met by a leak or a wrong
 * bound and never by a run within its budget. Only the soft limit: the hard one could not be
 * raised again. */
void address_space_limit(const struct trainer_recipe *recipe)
{
    double bytes =
        mapped_bytes() + recipe->budget.memory_bytes + (SLACK + threads(recipe) * MOST_PER_THREAD) * MIB;
    struct rlimit limit;
    if (!address_space_is_ours || recipe->budget.memory_bytes <= 0 || bytes >= (double)INT64_MAX ||
        getrlimit(RLIMIT_AS, &limit) != 0 || (rlim_t)bytes >= limit.rlim_cur)
        return;
    limit.rlim_cur = (rlim_t)bytes;
    setrlimit(RLIMIT_AS, &limit);
}
