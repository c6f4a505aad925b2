/*
 * stream_internal.h: the parts of the loss of three weight streams. A component processes a
 * sequence chunk by chunk: in wide loops, or token by token if the chunk contains a value that the
 * loops do not handle.
 */
#pragma once

#include <rlcore/algorithm.h> /* enum rl_component */
#include <rlcore/stream_loss.h>

#include "support/scratch.h"
#include "support/real.h"

/* In the order of struct rl_streams. */
enum { RL_TRAINER, RL_INFERENCE, RL_STREAM_ADVANTAGES, RL_REF, RL_RL_WEIGHTS, RL_CE_WEIGHTS, RL_REF_KL_WEIGHTS };

struct rl_streaming {
    struct rl_grid batch; /* a row is a sequence */
    const struct rl_streams *streams;
    const struct rl_stream_options *options;
    real *gradient; /* or NULL */
};

/*
 * Constants of ref_kl: the difference of probabilities below which a token is out, and the weight
 * of l^2.
 */
#define RL_REF_MASK_LOW 0.2
#define RL_REF_KL_TAU 1e-3

/* Sums of one component over members of one sequence. */
struct rl_stream_sums {
    double loss, n;
    double out_kl, in_kl, out, low, high, positive, negative;
    double other; /* ce: -trainer, ref_kl: ref - trainer */
};

/* n tokens of a sequence, beginning with its token `from`. */
struct rl_stretch {
    size_t sequence, from, n;
};

/*
 * Add a stretch of at most RL_CHUNK tokens to sums. rl writes its gradient, the other components
 * add theirs. Returns false, and adds nothing, if the stretch contains a value that is not finite,
 * a very small probability, or a difference of probabilities too near to a threshold for rounded
 * numbers.
 */
bool rl_stream_chunk(const struct rl_streaming *s, enum rl_component component, const struct rl_stretch *stretch,
                     struct rl_stream_sums *sums);

/*
 * Does the work of rl_stream_chunk token by token. All components add to the gradient. The error
 * names a value that is not allowed.
 */
enum rl_status rl_stream_tokens(const struct rl_streaming *s, enum rl_component component, const struct rl_stretch *stretch,
                                struct rl_stream_sums *sums, struct rl_error *err);
