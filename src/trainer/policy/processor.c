/* processor.c: what the bits of products and exponentials depend on. */
#include <cblas.h>
#include <stdio.h>
#include <string.h>

#include <rlcore/level.h>
#include <trainer/policy.h>

/* The level of this library's loops, as rows have it. */
static const char *vectors(void)
{
    static const char *const names[] = {"SSE2", "AVX2", "AVX-512"};
#ifdef __x86_64__
    return names[rl_level()];
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
