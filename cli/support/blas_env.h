/*
 * blas_env.h: what OpenBLAS, glibc and libgomp read from the environment before main: the number of threads, the kernels, the
 * exponentials, and how long idle threads spin. OpenBLAS gets one thread, because the trainer has its own workers, and because
 * OpenBLAS retries forever if its threads do not fit into a limited address space. The AVX-512 kernels are set if the
 * processor has AVX-512, which OpenBLAS may not recognise. If LINEAGE_VECTOR_LEVEL lowers the vector level (rlcore/level.h),
 * the kernels and exponentials of that level are set.
 *
 * The settings must be in the environment when the program is loaded and be removed afterwards: the commands that a
 * trial or a night runs must find the user's environment.
 */
#pragma once

#include <stdbool.h>

/* Sets the settings for the program that this process becomes, and remembers the user's values. */
void blas_env_lend(void);

/* Called in the new program: restores what blas_env_lend replaced. Does nothing if blas_env_lend was not called. */
void blas_env_give_back(void);

/* Settings as NAME=VALUE, ended by NULL. The texts are in the struct. */
enum { BLAS_ENV_MAX = 4 };
struct blas_env {
    char text[BLAS_ENV_MAX][96];
    const char *setting[BLAS_ENV_MAX + 1];
};

/* The settings for the environment of a child that trains. crowded: other trials run on this machine, too. */
void blas_env_settings(struct blas_env *env, bool crowded);

/*
 * How often an idle thread of libgomp looks for work before it sleeps: some microseconds. libgomp's default is 300,000, some
 * milliseconds: if another process needs the processors, two threads that wait for each other lose most of their time in that
 * loop (tests/bench/spin_bench.c). It is set unless the user has set GOMP_SPINCOUNT or OMP_WAIT_POLICY.
 */
#define BLAS_ENV_SPINS "1000"

#define VECTOR_LEVEL "LINEAGE_VECTOR_LEVEL"

/* The name of the vector level at which a program that is started now computes: "sse2", "avx2" or "avx512". */
const char *blas_env_level(void);

/* Sets the level for programs that are started from now on; false if this processor does not have it. */
bool blas_env_use_level(const char *name);

/* Sets the kernels and the level that a text of trainer_kernels names ("OpenBLAS 0.3.21 Zen, AVX2"). */
bool blas_env_use_kernels(const char *reported);
