/* threads.h: OpenMP where there is one. */
#ifndef TRAINER_THREADS_H
#define TRAINER_THREADS_H

#include <stdint.h>

#ifdef _OPENMP
#include <omp.h>
#endif

/* Threads to use when the recipe asks for n; 0 = all processors. */
static inline int threads_wanted(int32_t n)
{
#ifdef _OPENMP
    return n > 0 ? n : omp_get_num_procs();
#else
    (void)n;
    return 1;
#endif
}

/*
 * Parallel regions that this thread starts, the core's among them, use n threads; returns how many
 * it was.
 */
static inline int threads_limit(int n)
{
#ifdef _OPENMP
    int before = omp_get_max_threads();
    omp_set_num_threads(n);
    return before;
#else
    return n;
#endif
}

static inline int threads_mine(void)
{
#ifdef _OPENMP
    return omp_get_thread_num();
#else
    return 0;
#endif
}

#endif
