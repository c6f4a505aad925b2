/* processor.c: what the bits of products and exponentials depend on. */
#include <cblas.h>
#include <stdio.h>
#include <string.h>

#include <trainer/policy.h>

/* The levels among which this library's clones, glibc's exponentials and OpenBLAS choose. */
static const char *vectors(void)
{
#if defined(__x86_64__) && defined(__GNUC__)
    if (__builtin_cpu_supports("avx512f") && __builtin_cpu_supports("avx512bw") &&
        __builtin_cpu_supports("avx512dq") && __builtin_cpu_supports("avx512vl"))
        return "AVX-512";
    if (__builtin_cpu_supports("avx2") && __builtin_cpu_supports("fma"))
        return "AVX2";
    return "SSE2";
#else
    return "no choice";
#endif
}

/* The configuration begins with name and version; what follows is how it was built. */
void trainer_kernels(char text[TRAINER_KERNELS_MAX])
{
    const char *config = openblas_get_config();
    size_t name = strcspn(config, " "), n = name + (config[name] ? 1 : 0);
    n += strcspn(config + n, " ");
    snprintf(text, TRAINER_KERNELS_MAX, "%.*s %.30s, %s", (int)(n < 40 ? n : 40), config,
             openblas_get_corename(), vectors());
}
