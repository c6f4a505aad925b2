/*
 * rlcore/length.h: rewards that take the length of a response into account.
 *
 * By convention the reward R is 1 for a correct response and 0 for a wrong one; a reward above 0
 * counts as correct. The length L is in tokens. Negative lengths, anchors that are not positive and
 * values that are not finite are refused.
 */
#ifndef RLCORE_LENGTH_H
#define RLCORE_LENGTH_H

#include <stddef.h>
#include <stdint.h>

#include <rlcore/status.h>

enum rl_length_penalty {
    RL_LENGTH_UNIFORM, /* R - coef L; coef is usually 1e-4 */
    RL_LENGTH_GROUP, /* Kimi k1.5 (arXiv 2501.12599): lambda = 0.5 - (L - min)/(max - min) over the
                        prompt group, 0 if max = min; R + coef lambda if correct, else R + coef
                        min(0, lambda); coef is usually 0.1 */
    RL_LENGTH_ANCHOR, /* R - coef max(0, (L - anchor)/anchor); no penalty while a prompt has no
                        anchor; coef is usually 0.01 */
    RL_LENGTH_STEP /* LASER (arXiv 2505.15612): R + coef if correct and L <= anchor, else R; the
                      anchor is the target length, which is set beforehand; coef is usually 0.5 */
};

/* The usual coefficient of each penalty, as given above. */
RL_API double rl_length_coef(enum rl_length_penalty kind);

struct rl_length_input {
    size_t n;              /* rows */
    const double *rewards; /* [n] */
    const double *lengths; /* [n] */
    const int64_t *group;  /* [n] prompt labels; RL_LENGTH_GROUP only */
    const double *anchor;  /* [n] tokens, NaN where the prompt has none; RL_LENGTH_ANCHOR and
                              RL_LENGTH_STEP only */
};

/*
 * out [n] receives the rewards after the penalty and may be in->rewards. RL_LENGTH_GROUP needs a
 * workspace.
 */
RL_API RL_NODISCARD enum rl_status rl_length_penalty(enum rl_length_penalty kind, double coef, const struct rl_length_input *in,
                                                     double *out, struct rl_workspace *ws, struct rl_error *err);

/*
 * Updates the anchor of one prompt. *anchor is NaN while it is unset, and never changes once it is
 * set. It is set as soon as pass@1 (the share of correct responses among the n) exceeds 0.9, to the
 * mean length of the correct responses.
 */
RL_API RL_NODISCARD enum rl_status rl_length_anchor(size_t n, const double *rewards, const double *lengths, double *anchor,
                                                    struct rl_error *err);

#endif
