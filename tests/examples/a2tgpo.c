#include <rlcore/a2tgpo.h>
#include <stdio.h>

enum { B = 2, T = 6 };

int main(void)
{
    const uint8_t mask[B * T] = {1, 1, 0, 1, 1, 1, 1, 1, 1, 0, 1, 0}; /* 0: tool output, padding */
    const int32_t turn[B * T] = {0, 0, -1, 1, 1, 2, 0, 1, 1, -1, 2, -1};
    const int64_t group[B] = {7, 7};
    const double rewards[B * T] = {0, 0.4, 0, 0, 0.1, 1, 0.1, 0, 0.3}; /* gains, then the outcome */
    const double old[B * T] = {-0.9, -1.2, 0, -0.4, -2.0, -0.7, -1.1, -0.3, -1.6, 0, -0.8, 0};
    const double now[B * T] = {-0.6, -0.9, 0, -0.5, -1.9, -0.7, -1.5, -0.2, -1.3, 0, -1.2, 0};
    const struct rl_batch batch = {B, T, mask, turn, group};
    _Alignas(16) char memory[4096];
    double advantages[B * T], scale[B * T], gradient[B * T];
    struct rl_workspace ws = {memory, sizeof memory, 0};
    struct rl_loss_input in = {.log_prob = now, .old_log_prob = old, .advantages = advantages};
    struct rl_a2tgpo_options credit;
    struct rl_turn_loss_options clip;
    struct rl_loss_result result;
    struct rl_error err;
    rl_a2tgpo_options_init(&credit);
    rl_turn_loss_options_init(&clip);
    if (rl_a2tgpo_advantage(&batch, &credit, rewards, advantages, scale, NULL, &ws, &err) ||
        rl_a2tgpo_turn_loss(&batch, &in, scale, &clip, gradient, NULL, &result, &ws, &err))
        return fprintf(stderr, "%s\n", err.text), 1;
    printf("loss %.17g, clipped %.17g\n", result.loss, result.pg_clipfrac);
    for (size_t i = 0; i < B * T; i++)
        printf("%.17g %.17g %.17g\n", advantages[i], scale[i], gradient[i]);
}
