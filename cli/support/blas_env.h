/*
 * blas_env.h: what OpenBLAS reads from the environment before main: one thread, since the trainer has
 * workers of its own (and since more threads than fit into a limited address space make it try again for
 * ever), and the AVX-512 kernels where the processor has them but is not recognised.
 *
 * It must stand in the environment when the program is loaded, and must be gone from it afterwards: the
 * commands of others that a trial or a night runs shall find the environment they were given.
 */
#ifndef CLI_BLAS_ENV_H
#define CLI_BLAS_ENV_H

/* Set it for the program that this process becomes, remembering what stood there. */
void blas_env_lend(void);

/* In that program: put back what blas_env_lend found. Does nothing if it was not called. */
void blas_env_give_back(void);

/* The settings as NAME=VALUE, ended by NULL, for the environment of a child that trains. */
const char *const *blas_env_settings(void);

#endif
