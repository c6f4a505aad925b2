/*
 * stream_internal.h: parts of the loss of three weight streams. A component runs over a sequence a
 * chunk at a time: in wide loops, or token by token where a chunk holds something that these leave
 * out.
 */
#ifndef RLCORE_STREAM_INTERNAL_H
#define RLCORE_STREAM_INTERNAL_H

#include <rlcore/algorithm.h> /* enum rl_component */
#include <rlcore/stream_loss.h>

#include "support/scratch.h"
#include "support/real.h"

/* In the order of struct rl_streams. */
enum {
    RL_TRAINER,
    RL_INFERENCE,
    RL_STREAM_ADVANTAGES,
    RL_REF,
    RL_RL_WEIGHTS,
    RL_CE_WEIGHTS,
    RL_REF_KL_WEIGHTS
};

struct rl_streaming {
    struct rl_grid batch; /* a row is a sequence */
    const struct rl_streams *streams;
    const struct rl_stream_options *options;
    real *gradient; /* or NULL */
};

/* Where the rl loss ignores a token of ref_kl, and the weight of its square. */
#define RL_REF_MASK_LOW 0.2
#define RL_REF_KL_TAU 1e-3

/* Sums of one component over members of one sequence. */
struct rl_stream_sums {
    double loss, n;
    double out_kl, in_kl, out, low, high, positive, negative;
    double other; /* ce: -trainer, ref_kl: ref - trainer */
};

/* n tokens of a sequence from its token `from` on. */
struct rl_stretch {
    size_t sequence, from, n;
};

/*
 * Add a stretch of at most RL_CHUNK tokens to sums; rl writes its gradient, the others add theirs.
 * False, and nothing added, if it holds a value that is not finite, a very small probability, or a
 * difference of probabilities too near a threshold to tell in rounded numbers.
 */
bool rl_stream_chunk(const struct rl_streaming *s, enum rl_component component,
                     const struct rl_stretch *stretch, struct rl_stream_sums *sums);

/* The same, token by token, all adding to the gradient; names a value that is not allowed. */
enum rl_status rl_stream_tokens(const struct rl_streaming *s, enum rl_component component,
                                const struct rl_stretch *stretch, struct rl_stream_sums *sums,
                                struct rl_error *err);

#endif
