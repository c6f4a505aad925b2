"""The three modules of A2TGPO against golden vectors, the library's kernels, and hostile inputs."""

import json
import os
from pathlib import Path

import numpy as np
import pytest

torch = pytest.importorskip("torch")

from lineage import core  # noqa: E402
from lineage.turns import AdaptiveTurnClipper, InformationGain, TurnGroupNormalizer  # noqa: E402

SOURCE = Path(os.environ.get("SOURCE", Path(__file__).resolve().parents[2]))
FOLDERS = [SOURCE / "fixtures/golden", SOURCE / "fixtures/edge", SOURCE.parent / "shared/golden"]


def cases(family):
    paths = [path for folder in FOLDERS for path in sorted(folder.glob(f"{family}/*.json"))]
    loaded = [json.loads(path.read_text()) for path in paths]
    return [pytest.param(case, id=case["name"]) for case in loaded if "error" not in case["expected"]]


V1D = [param for param in cases("a2tgpo_advantage") if param.values[0]["inputs"]["info_gain_norm_mode"] == "turn-group-v1d"]
# Without the edge cases of this project, which omit the reference's 1e-8 in the number of tokens.
LOSSES = [param for param in cases("a2tgpo_turn_loss") if "source" in param.values[0]]
DYNAMIC = [param for param in LOSSES if param.values[0]["inputs"].get("ig_clip_scale")]


def real(value):
    return torch.tensor(value, dtype=torch.float64)


def batch(given):
    return torch.tensor(given["response_mask"]), torch.tensor(given["turn_id"], dtype=torch.int32)


def normalizer(given):
    names = ("gamma", "alpha", "norm_adv_by_std", "epsilon")
    return TurnGroupNormalizer(**{name: given[name] for name in names if name in given})


def close(got, want, largest=1.0):
    assert torch.allclose(got, want, rtol=1e-9, atol=max(1e-10, 1e-9 * largest)), (got - want).abs().max()


def test_there_are_vectors():
    assert len(V1D) >= 8 and len(DYNAMIC) >= 4


@pytest.mark.parametrize("case", V1D)
def test_advantages_and_clip_scales_of_vectors(case):
    given, expected = case["inputs"], case["expected"]
    mask, turn_id = batch(given)
    rewards = real(given["token_level_rewards"])
    copies = rewards.clone(), mask.clone(), turn_id.clone()
    out = normalizer(given)(rewards, mask, turn_id, torch.tensor(given["group_index"]))
    close(out.advantages, real(expected["advantages"]), float(out.advantages.abs().max()))
    scale = AdaptiveTurnClipper(given.get("clip_beta", 0.3))(out.z, mask, turn_id)
    close(scale, real(expected["ig_clip_scale"]))
    assert all(torch.equal(*pair) for pair in zip(copies, (rewards, mask, turn_id)))


@pytest.mark.parametrize("case", DYNAMIC)
def test_clip_bounds_give_the_loss_of_vectors(case):
    given, expected = case["inputs"], case["expected"]
    mask, ratio = torch.tensor(given["response_mask"]), real(expected["turn_ratio"])
    advantages, scale = real(given["advantages"]), real(given["ig_clip_scale"])
    if not given.get("dynamic_clip", True):
        scale = torch.ones_like(scale)
    low, high = AdaptiveTurnClipper.bounds(scale, given["cliprange_low"], given["cliprange_high"])
    loss = mask * torch.max(-advantages * ratio, -advantages * torch.clamp(ratio, low, high))
    n = mask.sum(dim=1)
    total = {
        "token-mean": lambda: loss.sum() / (n.sum() + 1e-8),
        "seq-mean-token-sum": lambda: loss.sum(dim=1).mean(),
        "seq-mean-token-mean": lambda: (loss.sum(dim=1) / n).mean(),
        "seq-mean-token-sum-norm": lambda: loss.sum() / mask.shape[1],
    }[given["loss_agg_mode"]]()
    close(total, real(expected["loss"]), float(loss.abs().max()))


@pytest.mark.parametrize("case", cases("information_gain"))
def test_gains_of_vectors(case):
    given = case["inputs"]
    log_prob = real(given["answer_log_prob"])[None]
    turns = torch.arange(log_prob.shape[1])[None]  # K gains and an outcome, one token each
    module = InformationGain(given.get("gain", "mean_log_prob"))
    got = module(log_prob, torch.ones_like(turns), turns, outcome=torch.tensor([7.0]))
    close(got[0, :-1], real(case["expected"]["information_gain"]))
    assert got[0, -1] == 7.0


def random_batch(seed):
    """Rows with up to five turns, holes, turns that touch, empty rows and gains of exactly 0."""
    rng = np.random.default_rng(seed)
    rows, width = int(rng.integers(1, 9)), int(rng.integers(6, 24))
    turn = np.full((rows, width), -1, dtype=np.int64)
    rewards = np.zeros((rows, width))
    for row in turn:
        at, wanted = 0, int(rng.integers(0, 6))
        for k in range(wanted):
            at += int(rng.integers(0, 2))
            end = min(at + int(rng.integers(1, 4)), width)
            if at >= end:
                break
            row[at:end] = k
            at = end
    for i, row in enumerate(turn):
        for k in range(row.max() + 1):
            rewards[i, np.flatnonzero(row == k)[-1]] = rng.choice([0.0, 1.0, rng.normal()])
    groups = rng.integers(0, 3, rows)
    return torch.tensor(rewards), torch.tensor(turn >= 0), torch.tensor(turn), torch.tensor(groups)


@pytest.mark.parametrize("seed", range(60))
def test_the_modules_agree_with_the_kernels(seed):
    rewards, mask, turn_id, groups = random_batch(seed)
    rng = np.random.default_rng(seed)
    settings = dict(gamma=float(rng.choice([0.0, 0.5, 1.0])), alpha=0.7, norm_adv_by_std=bool(rng.integers(2)), epsilon=1e-6)
    want = core.a2tgpo_advantage(
        info_gain_norm_mode="turn-group-v1d", token_level_rewards=rewards, response_mask=mask, turn_id=turn_id.int(),
        group_index=groups, clip_beta=0.45, **settings,
    )  # fmt: skip
    out = TurnGroupNormalizer(**settings)(rewards, mask, turn_id, groups)
    close(out.advantages, want.advantages)
    close(AdaptiveTurnClipper(0.45)(out.z, mask, turn_id), want.ig_clip_scale)


def test_a_loop_of_the_three_modules():
    gain, normalize, clip = InformationGain(), TurnGroupNormalizer(gamma=0.9), AdaptiveTurnClipper(beta=0.3)
    turn_id = torch.tensor([[0, 0, -1, 1, 1], [0, -1, 1, 2, -1], [-1] * 5])
    mask = (turn_id >= 0).int()
    answer = torch.log(torch.tensor([[[0.1, 0.2], [0.4, 0.2], [9, 9]], [[0.1, 0.2], [0.1, 0.2], [0.5, 0.5]], [[9, 9]] * 3]))
    answer_mask = torch.tensor([[1, 1], [1, 0], [1, 1]])
    outcome = torch.tensor([1.0, 0.0, 5.0])
    rewards = gain(answer, mask, turn_id, outcome, answer_mask)
    want = torch.zeros(2, 5)
    want[0, 1], want[0, 4] = np.log(4) / 2, 1.0
    want[1, 2] = np.log(5)
    assert torch.allclose(rewards[:2], want) and not rewards[2].any() and rewards.dtype == torch.float32
    turns = normalize(rewards, mask, turn_id, ["a", "a", "b"])
    low, high = clip.bounds(clip(turns.z, mask, turn_id), 0.2, 0.28)
    ratio = torch.full((3, 5), 1.1, requires_grad=True)
    loss = -torch.min(ratio * turns.advantages, torch.clamp(ratio, low, high) * turns.advantages)
    (loss * mask).sum().backward()
    assert ratio.grad is not None and not turns.advantages.requires_grad
    assert turns.z[0, 0] > 0.99 and turns.z[1, 0] < -0.99 and turns.z[1, 2] == 0  # index 1 has no peer: outcome of row 0
    assert float(high[0, 0]) > 1.28 > float(high[1, 0]) and abs(float(high[0, 4]) - 1.28) < 1e-6
    assert torch.equal(turns.z[2], torch.zeros(5))


ONE = torch.ones(1, 3)
TURNS = torch.tensor([[0, 0, 1]])


@pytest.mark.parametrize(
    "call, place",
    [
        (lambda: normalize3(torch.tensor([[1.0, 0, 0]])), r"token_level_rewards\[0\]\[0\] is not 0"),
        (lambda: normalize3(torch.tensor([[0, float("nan"), 0]])), r"token_level_rewards\[0\]\[1\] is not finite"),
        (lambda: normalize3(torch.zeros(1, 4)), "token_level_rewards has the shape"),
        (lambda: normalize3(torch.zeros(1, 3), groups=[0, 1]), "group_index has 2 numbers for 1 rows"),
        (lambda: normalize3(torch.zeros(1, 3), turns=torch.tensor([[0, -1, 1]])), r"turn_id\[0\]\[1\] is not -1"),
        (lambda: normalize3(torch.zeros(1, 3), turns=torch.tensor([[1, 1, 2]])), r"turn_id\[0\]\[0\] does not ascend"),
        (lambda: normalize3(torch.zeros(1, 3), turns=torch.tensor([[0, 1, 0]])), r"turn_id\[0\]\[2\] does not ascend"),
        (lambda: normalize3(torch.zeros(1, 3), turns=torch.tensor([[0, 0, 2]])), r"turn_id\[0\]\[2\] does not ascend"),
        (lambda: normalize3(torch.zeros(1, 3), turns=torch.tensor([0, 0, 1])), r"turn_id has the shape \(3,\)"),
        (lambda: AdaptiveTurnClipper()(torch.tensor([[0.1, 0.2, 0]]), ONE, TURNS), r"z\[0\]\[0\] differs"),
        (lambda: AdaptiveTurnClipper(1.5), "beta is 1.5"),
        (lambda: AdaptiveTurnClipper(float("nan")), "beta is nan"),
        (lambda: TurnGroupNormalizer(gamma=-1), "gamma is -1"),
        (lambda: InformationGain("probability"), "value is 'probability'"),
        (lambda: InformationGain()(torch.zeros(1, 1, 2), ONE, TURNS), "answer_log_prob has the shape"),
        (lambda: InformationGain()(torch.full((1, 2, 2), 0.5), ONE, TURNS), r"answer_log_prob\[0\]\[0\]\[0\] is not a log-prob"),
        (lambda: InformationGain()(torch.zeros(1, 2, 2), ONE, TURNS, None, torch.zeros(1, 2)), r"answer_mask\[0\] has no token"),
        (lambda: InformationGain()(torch.zeros(1, 2, 2), ONE, TURNS, None, torch.ones(1, 3)), "answer_mask has the shape"),
        (lambda: InformationGain()(torch.zeros(1, 2, 2), ONE, TURNS, torch.zeros(2)), "outcome has 2 numbers for 1 rows"),
    ],
)  # fmt: skip
def test_what_is_refused(call, place):
    with pytest.raises(core.CoreError, match=place):
        call()


def normalize3(rewards, turns=TURNS, groups=(0,)):
    return TurnGroupNormalizer()(rewards, torch.ones(1, 3), turns, list(groups))


def test_batches_without_turns():
    none = torch.full((2, 4), -1)
    out = TurnGroupNormalizer()(torch.zeros(2, 4), torch.zeros(2, 4), none, [0, 0])
    assert not out.z.any() and not out.advantages.any()
    assert torch.equal(AdaptiveTurnClipper()(out.z, torch.zeros(2, 4), none), torch.ones(2, 4))
    assert not InformationGain()(torch.zeros(2, 1, 1), torch.zeros(2, 4), none, torch.ones(2)).any()
    empty = torch.zeros(0, 4)
    assert TurnGroupNormalizer()(empty, empty, empty.long(), []).z.shape == (0, 4)
