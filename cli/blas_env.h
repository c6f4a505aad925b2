/*
 * blas_env.h: what OpenBLAS reads from the environment before main: one thread, since the trainer
 * has workers of its own, and the AVX-512 kernels where the processor has them but is not
 * recognised.
 */
#ifndef CLI_BLAS_ENV_H
#define CLI_BLAS_ENV_H

#include <stdbool.h>

/* Set it for processes started from here; true if it was set otherwise before. */
bool blas_env_set(void);

/* Begin this program anew with that environment unless it has it. argv[0] is the command's name. */
void blas_env_restart(int argc, const char **argv);

#endif
