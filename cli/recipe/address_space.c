/*
 * Linux gives out address space freely, so BLAS, OpenMP and malloc map much more per thread than they use, and a limit
 * on address space hits them. They then retry, abort or return NULL, and none of their messages names "ulimit -v". This
 * file reports the limit before they reach it.
 */
#include "recipe/address_space.h"

#include <malloc.h>
#include <stdio.h>
#include <sys/resource.h>
#include <unistd.h>

#if defined(__SANITIZE_ADDRESS__) || defined(__SANITIZE_THREAD__)
static const bool address_space_is_ours = false; /* the sanitizer's shadow memory exceeds any limit */
#else
static const bool address_space_is_ours = true;
#endif

static const double MIB = 1 << 20;

/* MiB. A thread maps a stack (8), a buffer of OpenBLAS (BUFFER_SIZE, 128 on x86-64) and an arena of malloc (at least 64).
 * malloc can do without the arena, but OpenBLAS needs its buffer. */
static const double LEAST_PER_THREAD = 136, MOST_PER_THREAD = 200, SLACK = 64;

/*
 * Returns the bytes that are mapped before the run begins; 0 without /proc. The computed limit is then lower by these
 * bytes, but still high enough, because SLACK is more than the libraries need.
 */
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

/*
 * The malloc arena of one thread would take the address space of another thread's buffer. With one arena, threads wait
 * for each other in malloc, which the trainer's threads rarely call.
 */
static void share_arena(void)
{
#ifdef M_ARENA_MAX
    mallopt(M_ARENA_MAX, 1);
#endif
}

/* If the limit leaves enough room but not ample room, the threads share one arena, which costs a little speed.
 * Without a limit nothing is refused: the kernel decides how much memory the machine has. */
enum trainer_status address_space_suffices(const struct trainer_recipe *recipe, double bytes, struct trainer_error *err)
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
             "out of memory: the limit on address space (ulimit -v) is %.0f MiB, and this needs up to %.0f MiB with %.0f threads",
             (double)limit.rlim_cur / MIB, needed / MIB, n);
    return TRAINER_ENOMEM;
}

/*
 * Adds room for threads and libraries, so that a run within its budget never reaches the limit, but a leak or a wrong
 * bound does. Only the soft limit is set, because the hard limit could not be raised again.
 */
void address_space_limit(const struct trainer_recipe *recipe)
{
    double bytes = mapped_bytes() + recipe->budget.memory_bytes + (SLACK + threads(recipe) * MOST_PER_THREAD) * MIB;
    struct rlimit limit;
    if (!address_space_is_ours || recipe->budget.memory_bytes <= 0 || bytes >= (double)INT64_MAX ||
        getrlimit(RLIMIT_AS, &limit) != 0 || (rlim_t)bytes >= limit.rlim_cur)
        return;
    limit.rlim_cur = (rlim_t)bytes;
    setrlimit(RLIMIT_AS, &limit);
}
