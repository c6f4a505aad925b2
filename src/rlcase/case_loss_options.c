#include "case_loss_options.h"

/*
 * A size must be positive if present. A missing size means "that of this batch", for which the core
 * uses 0.
 */
static double size_or_own(struct case_call *call, const char *name)
{
    double size = case_number_or(call, name, 0);
    if (case_present(call, name) && !(size > 0))
        case_fail(call, "inputs.%s is %g, not a positive number", name, size);
    return size;
}

struct rl_agg case_agg(struct case_call *call)
{
    static const char *const modes[] = {"token-mean", "seq-mean-token-sum", "seq-mean-token-mean", "seq-mean-token-sum-norm",
                                        NULL};
    return (struct rl_agg){
        .mode = (enum rl_agg_mode)case_choice(call, "loss_agg_mode", modes),
        .dp_size = size_or_own(call, "dp_size"),
        .batch_num_tokens = size_or_own(call, "batch_num_tokens"),
        .global_batch_size = size_or_own(call, "global_batch_size"),
        .loss_scale_factor = size_or_own(call, "loss_scale_factor"),
    };
}

/* Defaults are read from the core and not repeated here; the names are verl's. */
struct rl_loss_options case_loss_options(struct case_call *call)
{
    struct rl_loss_options o;
    rl_loss_options_init(&o);
    o.agg = case_agg(call);
    o.clip_low = case_number_or(call, "clip_ratio_low", o.clip_low);
    o.clip_high = case_number_or(call, "clip_ratio_high", o.clip_high);
    o.clip_c = case_number_or(call, "clip_ratio_c", o.clip_c);
    o.tau_pos = case_number_or(call, "tau_pos", o.tau_pos);
    o.tau_neg = case_number_or(call, "tau_neg", o.tau_neg);
    o.dro_beta = case_number_or(call, "dro_beta", o.dro_beta);
    o.vespo_k_pos = case_number_or(call, "vespo_k_pos", o.vespo_k_pos);
    o.vespo_lambda_pos = case_number_or(call, "vespo_lambda_pos", o.vespo_lambda_pos);
    o.vespo_k_neg = case_number_or(call, "vespo_k_neg", o.vespo_k_neg);
    o.vespo_lambda_neg = case_number_or(call, "vespo_lambda_neg", o.vespo_lambda_neg);
    return o;
}
