/* blas_env.c: settings of OpenBLAS, glibc and libgomp, passed in the environment because they read them when they are loaded. */
#include "support/blas_env.h"

#include <stddef.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

/* A level of rlcore/level.h, with what makes OpenBLAS and glibc compute the same bits on every processor that has it. */
struct level {
    const char *name;     /* in LINEAGE_VECTOR_LEVEL */
    const char *reported; /* by trainer_kernels */
    const char *kernels;  /* of OpenBLAS */
    const char *tunables; /* of glibc, for exp and log; NULL: glibc's own choice is the same on all */
};

static const struct level levels[] = {
    {"sse2", ", SSE2", "PRESCOTT", "glibc.cpu.hwcaps=-AVX2,-FMA,-FMA4,-AVX512F"},
    {"avx2", ", AVX2", "HASWELL", NULL},
    {"avx512", ", AVX-512", "SKYLAKEX", NULL},
};
enum { N_LEVELS = sizeof levels / sizeof *levels };

/* Asks the processor itself, because /proc/cpuinfo may be missing. */
static size_t highest_level(void)
{
#if defined(__x86_64__) && defined(__GNUC__)
    if (__builtin_cpu_supports("avx512f") && __builtin_cpu_supports("avx512bw") && __builtin_cpu_supports("avx512dq") &&
        __builtin_cpu_supports("avx512vl"))
        return 2;
    if (__builtin_cpu_supports("avx2") && __builtin_cpu_supports("fma"))
        return 1;
#endif
    return 0;
}

/* Returns the level that the user asks for. Returns NULL if it is not set, or if it is unknown or this processor does
 * not have it, which lineage-train reports. */
static const struct level *asked_level(void)
{
    const char *name = getenv(VECTOR_LEVEL);
    for (size_t i = 0; name && i <= highest_level(); i++)
        if (strcmp(name, levels[i].name) == 0)
            return &levels[i];
    return NULL;
}

/* A setting, and the variable that keeps the user's value until blas_env_give_back. A variable is used because only
 * arguments and environment survive exec. An unset variable and an empty one mean the same to all three libraries, although
 * libgomp warns of an empty one, so "" can represent both. */
struct setting {
    const char *name, *saved;
};
enum { THREADS, KERNELS, TUNABLES, SPINS, N_SETTINGS };
static const struct setting settings[N_SETTINGS] = {
    {"OPENBLAS_NUM_THREADS", "LINEAGE_OPENBLAS_NUM_THREADS_WAS"},
    {"OPENBLAS_CORETYPE", "LINEAGE_OPENBLAS_CORETYPE_WAS"},
    {"GLIBC_TUNABLES", "LINEAGE_GLIBC_TUNABLES_WAS"},
    {"GOMP_SPINCOUNT", "LINEAGE_GOMP_SPINCOUNT_WAS"},
};

/*
 * Returns the value to set, or NULL to keep the user's. BLAS gets one thread although the trainer uses all cores: the
 * trainer's threads work on different rollouts, and a BLAS that started threads for each of them would multiply their
 * number. Without a level only AVX-512 kernels are chosen, because OpenBLAS uses generic kernels on a processor that is
 * newer than itself; it knows the processors without AVX-512. What the user chose is kept, except for the threads.
 */
static const char *value_of(size_t setting, bool crowded)
{
    const char *waiting = getenv("OMP_WAIT_POLICY");
    const struct level *level = asked_level();
    const char *own = getenv(settings[setting].name);
    if (setting == THREADS)
        return "1";
    if (own && *own)
        return NULL;
    if (setting == SPINS)
        return waiting && *waiting ? NULL : crowded ? "0" : BLAS_ENV_SPINS;
    if (setting == TUNABLES)
        return level ? level->tunables : NULL;
    return level ? level->kernels : highest_level() == 2 ? levels[2].kernels : NULL;
}

/* If setenv fails for lack of memory, OpenBLAS runs with its own settings: slower, but correctly. */
void blas_env_lend(void)
{
    for (size_t i = 0; i < N_SETTINGS; i++) {
        const char *value = value_of(i, false), *was = getenv(settings[i].name);
        if (!value)
            continue;
        setenv(settings[i].saved, was ? was : "", 1);
        setenv(settings[i].name, value, 1);
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

void blas_env_settings(struct blas_env *env, bool crowded)
{
    size_t n = 0;
    for (size_t i = 0; i < N_SETTINGS; i++) {
        const char *value = value_of(i, crowded);
        if (!value)
            continue;
        snprintf(env->text[n], sizeof env->text[n], "%s=%s", settings[i].name, value);
        env->setting[n] = env->text[n];
        n++;
    }
    env->setting[n] = NULL;
}

const char *blas_env_level(void)
{
    const struct level *level = asked_level();
    return level ? level->name : levels[highest_level()].name;
}

/* Only levels that the processor has are accepted; any other level would end in an illegal instruction. */
bool blas_env_use_level(const char *name)
{
    for (size_t i = 0; i <= highest_level(); i++)
        if (strcmp(name, levels[i].name) == 0)
            return setenv(VECTOR_LEVEL, levels[i].name, 1) == 0;
    return false;
}

bool blas_env_use_kernels(const char *reported)
{
    static const struct {
        const char *name;
        size_t level; /* the lowest level whose processors have all instructions of these kernels */
    } known[] = {{"Prescott", 0}, {"Nehalem", 1}, {"Sandybridge", 1}, {"Haswell", 1}, {"Zen", 1}, {"SkylakeX", 2}};
    char name[32] = "";
    const char *vectors = strrchr(reported, ',');
    sscanf(reported, "%*s %*s %31[^ ,]", name);
    for (size_t i = 0; i < sizeof known / sizeof *known; i++)
        for (size_t l = 0; vectors && l <= highest_level(); l++)
            if (strcmp(name, known[i].name) == 0 && known[i].level <= highest_level() && strcmp(vectors, levels[l].reported) == 0)
                return blas_env_use_level(levels[l].name) && setenv(settings[KERNELS].name, name, 1) == 0;
    return false;
}
