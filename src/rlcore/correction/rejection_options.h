/* rejection_options.h: the parsed rejection options of a correction. */
#pragma once

#include <stddef.h>

#include <rlcore/offpolicy.h>

enum rl_reject_over { RL_REJECT_TOKEN, RL_REJECT_SEQ_SUM, RL_REJECT_SEQ_MEAN, RL_REJECT_SEQ_MAX };

struct rl_rejection {
    const char *name; /* "seq_mean_k3" */
    enum rl_reject_over over;
    int k;               /* 1, 2, 3 */
    double lower, upper; /* bounds of the statistic; lower is used for k = 1 only, else 0 */
};

#define RL_REJECTIONS_MAX 11

/* Parse the options in `rs` with their thresholds; *n receives their number. */
enum rl_status rl_rejections_parse(const char *rs, const char *thresholds, struct rl_rejection *out, size_t *n,
                                   struct rl_error *err);
