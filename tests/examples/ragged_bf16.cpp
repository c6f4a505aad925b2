// One PPO loss on a packed batch as a PyTorch trainer holds it: log-probs in bfloat16, masks in int64, rows one
// behind the other with cu_seqlens. Nothing is copied or converted on the way.
#include <rlcore/loss.h>

#include <cstdint>
#include <cstdio>
#include <cstring>
#include <vector>

// A trainer's tensors are bfloat16 already; here the numbers are made so.
static std::vector<std::uint16_t> bfloat16(const std::vector<float> &numbers)
{
    std::vector<std::uint16_t> halves;
    for (float x : numbers) {
        std::uint32_t bits;
        std::memcpy(&bits, &x, sizeof bits);
        halves.push_back(static_cast<std::uint16_t>(bits >> 16));
    }
    return halves;
}

static const float *reals(const std::vector<std::uint16_t> &halves)
{
    return reinterpret_cast<const float *>(halves.data());
}

int main()
{
    const std::vector<std::int64_t> cu_seqlens = {0, 4, 6, 9}; // rows of 4, 2 and 3 tokens
    const std::vector<std::int64_t> mask = {1, 1, 0, 1, 1, 1, 1, 1, 0}; // 0: a tool's output
    const auto now = bfloat16({-0.5f, -1.25f, 0, -0.375f, -2, -0.125f, -1, -0.75f, 0});
    const auto old = bfloat16({-0.75f, -1, 0, -0.375f, -1.5f, -0.25f, -1.625f, -0.75f, 0});
    const std::vector<float> advantages = {1, 1, 0, 1, -0.5f, -0.5f, 0.25f, 0.25f, 0};
    std::vector<float> gradient(mask.size());

    rl_layout layout = {};
    layout.size = sizeof layout;
    layout.batch.n_rows = cu_seqlens.size() - 1;
    layout.batch.n_tokens = RL_LAYOUT; // "look at the members behind batch"
    layout.batch.mask = reinterpret_cast<const std::uint8_t *>(mask.data());
    layout.mask_type = RL_INTEGERS_64;
    layout.start = reinterpret_cast<const std::size_t *>(cu_seqlens.data());
    layout.bf16 = RL_BF16(0) | RL_BF16(1); // log_prob and old_log_prob; the advantages are float

    rl_loss_inputf in = {};
    in.log_prob = reals(now);
    in.old_log_prob = reals(old);
    in.advantages = advantages.data();
    rl_loss_options options;
    rl_loss_options_init(&options);

    rl_loss_result out;
    rl_error err;
    rl_workspace ws = {};
    std::vector<char> scratch;
    rl_status status = rl_ppo_lossf(&layout.batch, &in, &options, gradient.data(), &out, &ws, &err);
    if (status == RL_EWORKSPACE) { // it says how much it needs; the block serves for later batches too
        scratch.resize(ws.needed);
        ws.data = scratch.data();
        ws.size = scratch.size();
        status = rl_ppo_lossf(&layout.batch, &in, &options, gradient.data(), &out, &ws, &err);
    }
    if (status != RL_OK) {
        std::fprintf(stderr, "%s\n", err.text);
        return 1;
    }
    std::printf("%.9g %.9g\n", out.loss, out.pg_clipfrac);
    for (float g : gradient)
        std::printf("%.9g\n", static_cast<double>(g));
}
