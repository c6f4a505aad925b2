/*
 * rlcore/level.h: which vector instructions the inner loops of rlcore and of the trainer use.
 *
 * Both libraries contain their inner loops compiled for several levels and use the highest level
 * that the processor has. The environment variable LINEAGE_VECTOR_LEVEL (sse2, avx2 or avx512)
 * lowers it. rlcore computes the same bits at every level. The trainer's policies do not, because
 * their sums are taken in vectors. A trial is therefore reproduced to the bit only at the level
 * that its row names.
 */
#ifndef RLCORE_LEVEL_H
#define RLCORE_LEVEL_H

#include <rlcore/status.h>

enum rl_level {
    RL_LEVEL_SSE2, /* also used by builds and processors that have only one level */
    RL_LEVEL_AVX2, /* x86-64-v3: with FMA */
    RL_LEVEL_AVX512 /* x86-64-v4: F, BW, CD, DQ and VL */
};

/* "sse2", "avx2", "avx512"; NULL for any other value. */
RL_API const char *rl_level_name(enum rl_level level);

/* The highest level that both this processor and this build have. */
RL_API enum rl_level rl_level_highest(void);

/*
 * The level in use. The first call reads LINEAGE_VECTOR_LEVEL; a value that rl_level_check rejects
 * leaves the highest level in use.
 */
RL_API enum rl_level rl_level(void);

/*
 * Is LINEAGE_VECTOR_LEVEL unset, empty or the name of a level that can be used here? RL_EVALUE and a
 * message otherwise. Programs call it before they compute, and the trainer at the start of a run.
 */
RL_API RL_NODISCARD enum rl_status rl_level_check(struct rl_error *err);

/*
 * Uses another level from now on, in the whole process; no other thread may compute meanwhile.
 * RL_EVALUE if it is higher than rl_level_highest().
 */
RL_API RL_NODISCARD enum rl_status rl_level_use(enum rl_level level, struct rl_error *err);

#endif
