/* blas_env.c: OpenBLAS settings, by environment because that is read when the library is loaded. */
#include "support/blas_env.h"

#include <stdbool.h>
#include <stddef.h>
#include <stdlib.h>
#include <string.h>

/* A setting, and where its value waits while it is lent. The value waits in the environment
 * itself, the only thing besides arguments that lives on through exec. Not set and set to
 * nothing mean the same to OpenBLAS, so that "" can stand for both. */
struct setting {
    const char *name, *saved, *value;
};

/* One thread although the trainer uses all cores: its threads work on different rollouts, and
 * BLAS starting its own for each would make as many as their product. blas_env_settings()
 * relies on the order. */
static const struct setting settings[] = {
    {"OPENBLAS_NUM_THREADS", "LINEAGE_OPENBLAS_NUM_THREADS_WAS", "1"},
    {"OPENBLAS_CORETYPE", "LINEAGE_OPENBLAS_CORETYPE_WAS", "SKYLAKEX"},
};

enum { N_SETTINGS = sizeof settings / sizeof *settings };

/* OpenBLAS takes its plain kernels on a processor that is newer than it knows. Asked of the
 * processor, not of /proc/cpuinfo, which need not be there. Without AVX-512 nothing is forced:
 * OpenBLAS knows older processors, and SKYLAKEX on them is an illegal instruction. */
static bool has_avx512(void)
{
#if defined(__x86_64__) && defined(__GNUC__)
    return __builtin_cpu_supports("avx512f");
#else
    return false;
#endif
}

/* Whoever chose kernels knows better. */
static bool applies(const struct setting *setting)
{
    return strcmp(setting->name, "OPENBLAS_CORETYPE") != 0 || (!getenv(setting->name) && has_avx512());
}

/* setenv may fail for lack of memory; then OpenBLAS runs as it would have run, slower and not
 * wrong. */
void blas_env_lend(void)
{
    for (size_t i = 0; i < N_SETTINGS; i++)
        if (applies(&settings[i])) {
            const char *was = getenv(settings[i].name);
            setenv(settings[i].saved, was ? was : "", 1);
            setenv(settings[i].name, settings[i].value, 1);
        }
}

void blas_env_give_back(void)
{
    for (size_t i = 0; i < N_SETTINGS; i++) {
        const char *was = getenv(settings[i].saved);
        if (!was)
            continue;
        if (*was)
            setenv(settings[i].name, was, 1);
        else
            unsetenv(settings[i].name);
        unsetenv(settings[i].saved);
    }
}

/* For a child that is spawned there is nothing to give back: the list goes over its environment
 * alone. */
const char *const *blas_env_settings(void)
{
    static const char *const plain[] = {"OPENBLAS_NUM_THREADS=1", NULL};
    static const char *const with_kernels[] = {"OPENBLAS_NUM_THREADS=1", "OPENBLAS_CORETYPE=SKYLAKEX", NULL};
    return applies(&settings[1]) ? with_kernels : plain;
}
