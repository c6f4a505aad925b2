/*
 * blas_env.h: what OpenBLAS reads from the environment before main: one thread, because the trainer has its own workers
 * (and because OpenBLAS retries forever if its threads do not fit into a limited address space), and the AVX-512
 * kernels if the processor has AVX-512 but OpenBLAS does not recognise it.
 *
 * The settings must be in the environment when the program is loaded and be removed afterwards: the commands that a
 * trial or a night runs must find the user's environment.
 */
#ifndef CLI_BLAS_ENV_H
#define CLI_BLAS_ENV_H

/* Sets the settings for the program that this process becomes, and remembers the user's values. */
void blas_env_lend(void);

/* In that program: restores what blas_env_lend replaced. Does nothing if blas_env_lend was not called. */
void blas_env_give_back(void);

/* Returns the settings as NAME=VALUE, ended by NULL, for the environment of a child that trains. */
const char *const *blas_env_settings(void);

#endif
