/* blas_env.c: settings of OpenBLAS, passed in the environment because OpenBLAS reads them when it is loaded. */
#include "support/blas_env.h"

#include <stdbool.h>
#include <stddef.h>
#include <stdlib.h>
#include <string.h>

/* A setting, and the variable that keeps the user's value meanwhile. Besides the arguments, only the environment
 * survives exec. To OpenBLAS an unset variable and an empty one mean the same, so "" can represent both. */
struct setting {
    const char *name, *saved, *value;
};

/* One BLAS thread, although the trainer uses all cores: its own threads work on different rollouts, and a BLAS that
 * started threads for each of them would multiply their number. blas_env_settings() relies on the order. */
static const struct setting settings[] = {
    {"OPENBLAS_NUM_THREADS", "LINEAGE_OPENBLAS_NUM_THREADS_WAS", "1"},
    {"OPENBLAS_CORETYPE", "LINEAGE_OPENBLAS_CORETYPE_WAS", "SKYLAKEX"},
};

enum { N_SETTINGS = sizeof settings / sizeof *settings };

/* OpenBLAS falls back to generic kernels on a processor that is newer than itself. This asks the processor, because
 * /proc/cpuinfo may be missing. Without AVX-512 nothing is forced: OpenBLAS knows older processors, and SKYLAKEX would
 * be an illegal instruction there. */
static bool has_avx512(void)
{
#if defined(__x86_64__) && defined(__GNUC__)
    return __builtin_cpu_supports("avx512f");
#else
    return false;
#endif
}

/* Keeps a kernel that the user chose. */
static bool applies(const struct setting *setting)
{
    return strcmp(setting->name, "OPENBLAS_CORETYPE") != 0 || (!getenv(setting->name) && has_avx512());
}

/* If setenv fails for lack of memory, OpenBLAS runs with its own settings: slower, but correctly. */
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

/* For a child that is spawned: the settings are added to its environment only, so nothing needs to be restored. */
const char *const *blas_env_settings(void)
{
    static const char *const plain[] = {"OPENBLAS_NUM_THREADS=1", NULL};
    static const char *const with_kernels[] = {"OPENBLAS_NUM_THREADS=1", "OPENBLAS_CORETYPE=SKYLAKEX", NULL};
    return applies(&settings[1]) ? with_kernels : plain;
}
