/* blas_env.c: OpenBLAS settings, by environment because that is read when the library is loaded. */
#include "blas_env.h"

#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

static bool processor_has(const char *flag)
{
    char *line = NULL;
    size_t capacity = 0;
    bool found = false;
    FILE *in = fopen("/proc/cpuinfo", "r");
    while (in && !found && getline(&line, &capacity, in) > 0)
        found = strncmp(line, "flags", 5) == 0 && strstr(line, flag);
    free(line);
    if (in)
        fclose(in);
    return found;
}

bool blas_env_set(void)
{
    const char *threads = getenv("OPENBLAS_NUM_THREADS");
    bool changed = !threads || strcmp(threads, "1") != 0;
    if (changed)
        setenv("OPENBLAS_NUM_THREADS", "1", 1);
    if (!getenv("OPENBLAS_CORETYPE") && processor_has("avx512f")) {
        setenv("OPENBLAS_CORETYPE", "SKYLAKEX", 1);
        changed = true;
    }
    return changed;
}

void blas_env_restart(int argc, const char **argv)
{
    if (!blas_env_set())
        return;
    const char **again = calloc((size_t)argc + 2, sizeof *again);
    if (!again)
        return;
    again[0] = "lineage";
    memcpy(again + 1, argv, (size_t)argc * sizeof *argv);
    execv("/proc/self/exe", (char *const *)(uintptr_t)again);
    free((void *)again); /* without /proc: only slower */
}
