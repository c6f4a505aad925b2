/* processor.c: names the kernels and instructions on which the bits of products and exponentials depend. */
#include <cblas.h>
#include <stdio.h>
#include <string.h>

#include <rlcore/level.h>
#include <trainer/policy.h>

/* The vector level of this library's loops, in the wording used in rows. */
static const char *vectors(void)
{
#if defined(__x86_64__)
    static const char *const names[] = {"SSE2", "AVX2", "AVX-512"};
    return names[rl_level()];
#elif defined(__aarch64__)
    return "NEON";
#else
    return "no choice";
#endif
}

/* OpenBLAS's configuration begins with name and version, which are kept; its build options follow and are dropped. */
void trainer_kernels(char text[TRAINER_KERNELS_MAX])
{
    const char *config = openblas_get_config();
    size_t name = strcspn(config, " "), n = name + (config[name] ? 1 : 0);
    n += strcspn(config + n, " ");
    snprintf(text, TRAINER_KERNELS_MAX, "%.*s %.30s, %s", (int)(n < 40 ? n : 40), config, openblas_get_corename(), vectors());
}
