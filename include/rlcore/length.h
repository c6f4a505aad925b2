/*
 * rlcore/length.h: rewards that take the length of a response into account.
 *
 * reward R is 1 for a correct response and 0 for a wrong one by custom; above 0 counts as correct.
 * length L in tokens. Refused: negative lengths, anchors that are not positive, values that are not
 * finite.
 */
#ifndef RLCORE_LENGTH_H
#define RLCORE_LENGTH_H

#include <stddef.h>
#include <stdint.h>

#include <rlcore/status.h>

#ifdef __cplusplus
extern "C" {
#endif

enum rl_length_penalty {
    RL_LENGTH_UNIFORM, /* R - coef L; coef 1e-4 by custom */
    RL_LENGTH_GROUP, /* Kimi k1.5 (arXiv 2501.12599): lambda = 0.5 - (L - min)/(max - min) over the
                        prompt group, 0 if max = min; R + coef lambda if correct, else
                        R + coef min(0, lambda); coef 0.1 by custom */
    RL_LENGTH_ANCHOR /* R - coef max(0, (L - anchor)/anchor); no penalty while a prompt has no
                        anchor; coef 0.01 by custom */
};

/* The coefficients that are custom, as above. */
RL_API double rl_length_coef(enum rl_length_penalty kind);

struct rl_length_input {
    size_t n;              /* rows */
    const double *rewards; /* [n] */
    const double *lengths; /* [n] */
    const int64_t *group;  /* [n] prompt labels; RL_LENGTH_GROUP only */
    const double *anchor;  /* [n] tokens, NaN where the prompt has none; RL_LENGTH_ANCHOR only */
};

/* out [n]: rewards after the penalty; may be in->rewards. RL_LENGTH_GROUP needs a workspace. */
RL_API RL_NODISCARD enum rl_status rl_length_penalty(enum rl_length_penalty kind, double coef,
                                                     const struct rl_length_input *in, double *out,
                                                     struct rl_workspace *ws, struct rl_error *err);

/*
 * The anchor of one prompt: kept if it is already set (a number), else set once pass@1 (the share
 * of correct responses among the n) first exceeds 0.9, to the mean length of the correct ones.
 * *anchor: NaN while unset.
 */
RL_API RL_NODISCARD enum rl_status rl_length_anchor(size_t n, const double *rewards,
                                                    const double *lengths, double *anchor,
                                                    struct rl_error *err);

#ifdef __cplusplus
}
#endif

#endif
