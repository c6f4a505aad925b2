/* threads.h: OpenMP's threads, or one thread if the compiler does not support OpenMP. */
#pragma once

#include <stdint.h>

#ifdef _OPENMP
#include <omp.h>
#endif

/* Returns the number of threads for a recipe's setting n; 0 = one for each processor. */
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
 * Sets the number of threads of all further parallel regions that this thread starts, the core's included. Returns the
 * old number.
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

/* Returns the number of the calling thread in its parallel region, from 0. */
static inline int threads_mine(void)
{
#ifdef _OPENMP
    return omp_get_thread_num();
#else
    return 0;
#endif
}
