#include <rlcore/level.h>

#include <stdatomic.h>

#include "support/fail.h"

#define VARIABLE "LINEAGE_VECTOR_LEVEL"

static const char *const names[] = {"sse2", "avx2", "avx512"};
enum { LEVELS = sizeof names / sizeof *names };

/*
 * 0 until the first call of rl_level, then the level plus 1. It is the only global setting of the
 * process, because inner loops read it deep inside calls that have no argument for it.
 */
static _Atomic int in_use;

const char *rl_level_name(enum rl_level level)
{
    return (size_t)level < LEVELS ? names[level] : NULL;
}

enum rl_level rl_level_highest(void)
{
#ifdef VECTOR_LEVELS
    if (__builtin_cpu_supports("x86-64-v4"))
        return RL_LEVEL_AVX512;
    if (__builtin_cpu_supports("x86-64-v3"))
        return RL_LEVEL_AVX2;
#endif
    return RL_LEVEL_SSE2;
}

/*
 * The level that the environment variable names: LEVELS for an unknown name, the highest level if
 * it is unset or empty.
 */
static size_t wanted(const char **text)
{
    size_t level = 0;
    *text = getenv(VARIABLE);
    if (!*text || !**text)
        return (size_t)rl_level_highest();
    while (level < LEVELS && strcmp(*text, names[level]) != 0)
        level++;
    return level;
}

enum rl_level rl_level(void)
{
    int level = atomic_load_explicit(&in_use, memory_order_relaxed);
    if (level == 0) {
        const char *text;
        size_t want = wanted(&text), highest = (size_t)rl_level_highest();
        level = 1 + (int)(want < highest ? want : highest);
        atomic_store_explicit(&in_use, level, memory_order_relaxed);
    }
    return (enum rl_level)(level - 1);
}

enum rl_status rl_level_check(struct rl_error *err)
{
    const char *text;
    size_t want = wanted(&text);
    if (want == LEVELS)
        return rl_fail(err, RL_EVALUE, VARIABLE " is '%.40s'; use sse2, avx2 or avx512", text);
    if (want > (size_t)rl_level_highest())
        return rl_fail(err, RL_EVALUE, VARIABLE " is %s, but the highest level of this processor and this build is %s", text,
                       names[rl_level_highest()]);
    return RL_OK;
}

enum rl_status rl_level_use(enum rl_level level, struct rl_error *err)
{
    if (!rl_level_name(level) || level > rl_level_highest())
        return rl_fail(err, RL_EVALUE, "vector level %d: the highest level here is %s", (int)level, names[rl_level_highest()]);
    atomic_store_explicit(&in_use, 1 + (int)level, memory_order_relaxed);
    return RL_OK;
}
