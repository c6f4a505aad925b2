/*
 * hot.h: attributes of the inner loops.
 *
 * A loop over tokens stands in its own RL_HOT function, which is compiled for several vector widths
 * and picked at load time. Products and sums are never fused, so all versions round alike per
 * element, and sums go through rl_sum, whose order is the same for all widths. RL_HOT functions are
 * static: GCC exports the resolver of any other, whatever the visibility.
 */
#ifndef RLCORE_HOT_H
#define RLCORE_HOT_H

#ifdef RL_MULTIVERSION
#define RL_HOT __attribute__((target_clones("arch=x86-64-v4", "arch=x86-64-v3", "default")))
#else
#define RL_HOT
#endif

/*
 * For the body that several RL_HOT functions share, with the function it calls given as a constant.
 */
#define RL_INLINE inline __attribute__((always_inline))

/* Tokens per inner loop: partial sums in `real` stay short, buffers in the first-level cache. */
enum { RL_CHUNK = 128 };

/* Below this many tokens, starting threads costs more than it saves. */
enum { RL_PARALLEL_TOKENS = 1 << 14 };

#endif
