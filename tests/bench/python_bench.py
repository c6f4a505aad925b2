"""The Python package against the formulas written in PyTorch, 256 rows of 2048 tokens, conversion included.

usage: LINEAGE_LIBRARY_PATH=... PYTHONPATH=src/python python3 tests/bench/python_bench.py [--rows 256] [--tokens 2048]

Prints a line a case: milliseconds (the smallest of several runs) of PyTorch's formulas with autograd, of the package on the
same tensors, and their ratio, in double and single precision. The formulas are those of fixtures/golden/README.md, written
with PyTorch's operations as trainers write them: PPO over the whole batch at once; turns one by one, as the reference
implementation of A2TGPO takes them.
"""

import argparse
import time

import torch
from lineage.torch import PolicyLoss, TurnLoss, a2tgpo_advantage


def batch(rows, tokens, dtype):
    generator = torch.Generator().manual_seed(1)
    real = lambda: torch.rand((rows, tokens), generator=generator, dtype=torch.float64).to(dtype)  # noqa: E731
    turn = torch.arange(tokens) * 5 // tokens  # five turns, a tool's answer between them
    mask = torch.ones((rows, tokens), dtype=torch.uint8)
    mask[:, torch.arange(tokens) % (tokens // 5) < 16] = 0
    ends = torch.tensor([int((turn == k).nonzero().max()) for k in range(5)])
    rewards = torch.zeros((rows, tokens), dtype=dtype)
    rewards[:, ends] = torch.rand((rows, 5), generator=generator, dtype=torch.float64).to(dtype)
    log_prob = -real()
    turn_id = torch.where(mask != 0, turn, -1).to(torch.int32)
    group = torch.arange(rows) // 8
    return dict(mask=mask, rewards=rewards, log_prob=log_prob, old=log_prob + 0.1 * (real() - 0.5), turn=turn_id, group=group)


def ppo(b, log_prob, advantages):
    """Dual-clip PPO, token-mean."""
    mask = b["mask"].to(log_prob.dtype)
    log_ratio = (log_prob - b["old"]).clamp(-20, 20)
    ratio = log_ratio.exp()
    first, second = -advantages * ratio, -advantages * ratio.clamp(0.8, 1.28)
    worst = torch.maximum(first, second)
    token = torch.where(advantages < 0, torch.minimum(-advantages * 3.0, worst), worst)
    ((second > first) * mask).sum() / mask.sum(), (-log_ratio * mask).sum() / mask.sum()  # the metrics
    return (token * mask).sum() / mask.sum()


def turn_loss(b, log_prob, advantages):
    """One ratio per turn, row by row and turn by turn."""
    total = log_prob.new_zeros(())
    delta = log_prob - b["old"]
    for i in range(len(log_prob)):
        row = log_prob.new_zeros(())
        for k in range(int(b["turn"][i].max()) + 1):
            here = b["turn"][i] == k
            ratio = delta[i][here].mean().clamp(max=10).exp()
            a = advantages[i][here]
            row = row + torch.maximum(-a * ratio, -a * ratio.clamp(0.8, 1.28)).sum()
        total = total + row / b["mask"][i].sum()
    return total / len(log_prob)


def v1d(b, alpha=0.3, gamma=1.0, beta=0.3):
    """Turn-group normalisation with variance-rescaled accumulation, loops over groups and turns."""
    n_turns = int(b["turn"].max()) + 1
    values = torch.zeros((len(b["mask"]), n_turns), dtype=torch.float64)
    for i in range(len(values)):
        for k in range(n_turns):
            values[i, k] = b["rewards"][i][b["turn"][i] == k].sum()
    z = torch.zeros_like(values)
    for g in b["group"].unique():
        rows = b["group"] == g
        for k in range(n_turns):
            cell = values[rows, k]
            z[rows, k] = (cell - cell.mean()) / ((cell.var(unbiased=False) + 1e-8).sqrt() + 1e-6)
    advantages, scale = torch.zeros_like(b["rewards"]), torch.ones_like(b["rewards"])
    for i in range(len(values)):
        for k in range(n_turns):
            left = n_turns - 1 - k
            ahead = sum(gamma ** (j - k) * z[i, j] for j in range(k, n_turns - 1))
            here = b["turn"][i] == k
            last = z[i, n_turns - 1]
            advantages[i][here] = (alpha * ahead / left**0.5 + last if left else last).to(advantages.dtype)
            if left:
                scale[i][here] = (1 + beta * (2 * torch.sigmoid(z[i, k]) - 1)).to(scale.dtype)
    return advantages, scale


def milliseconds(run, least=3, seconds=1.0):
    best, begun = float("inf"), time.perf_counter()
    n = 0
    while n < least or time.perf_counter() - begun < seconds:
        at = time.perf_counter()
        run()
        best = min(best, time.perf_counter() - at)
        n += 1
        if n >= least and best > seconds:
            break
    return 1000 * best


def with_gradient(loss, b, advantages):
    def run():
        log_prob = b["log_prob"].detach().requires_grad_(True)
        loss(log_prob, advantages).backward()

    return run


def main():
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--rows", type=int, default=256)
    parser.add_argument("--tokens", type=int, default=2048)
    args = parser.parse_args()
    print(f"{args.rows} x {args.tokens}, {torch.get_num_threads()} threads; milliseconds")
    print(f"{'case':<42}{'PyTorch':>10}{'package':>10}{'ratio':>9}")
    for dtype in (torch.float64, torch.float32):
        b = batch(args.rows, args.tokens, dtype)
        name = str(dtype).rsplit(".", 1)[1]
        credit = a2tgpo_advantage(b["rewards"], b["mask"], b["group"], b["turn"], alpha=0.3, gamma=1.0, clip_beta=0.3)
        policy, turns = PolicyLoss(), TurnLoss("seq-mean-token-mean", dynamic_clip=False)
        cases = {
            "a2tgpo_advantage, turn-group-v1d": (
                lambda: v1d(b),
                lambda: a2tgpo_advantage(b["rewards"], b["mask"], b["group"], b["turn"], alpha=0.3, gamma=1.0, clip_beta=0.3),
            ),
            "turn loss with gradient": (
                with_gradient(lambda x, a: turn_loss(b, x, a), b, credit.advantages),
                with_gradient(lambda x, a: turns(x, b["old"], a, b["mask"], b["turn"]), b, credit.advantages),
            ),
            "PPO with gradient": (
                with_gradient(lambda x, a: ppo(b, x, a), b, credit.advantages),
                with_gradient(lambda x, a: policy(x, b["old"], a, b["mask"]), b, credit.advantages),
            ),
        }
        for case, (theirs, ours) in cases.items():
            reference, own = milliseconds(theirs), milliseconds(ours)
            print(f"{case + ', ' + name:<42}{reference:>10.2f}{own:>10.2f}{reference / own:>9.1f}")


if __name__ == "__main__":
    main()
