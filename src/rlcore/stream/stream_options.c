/* stream_options.c: prime-rl's default options, in a file that is compiled only once. */
#include <rlcore/stream_loss.h>

void rl_stream_options_init(struct rl_stream_options *options)
{
    *options = (struct rl_stream_options){.dppo_mask_low = 0.2,
                                          .dppo_mask_high = 0.2,
                                          .ipo_threshold = 0.1,
                                          .adv_tau = 1,
                                          .kl_tau = 1e-3,
                                          .rl_scale = 1,
                                          .ce_scale = 1,
                                          .ref_kl_scale = 1};
}
