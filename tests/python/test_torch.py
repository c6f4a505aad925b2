"""Gradients by autograd against differences, devices and types, partitions."""

import numpy as np
import pytest

torch = pytest.importorskip("torch")

from lineage import core  # noqa: E402
from lineage import torch as ltorch  # noqa: E402

B, T = 4, 7


def tensors(seed=3, dtype=torch.float64):
    generator = torch.Generator().manual_seed(seed)
    lengths = torch.tensor([7, 4, 6, 2])
    mask = (torch.arange(T) < lengths[:, None]).to(torch.uint8)
    mask[0, 3] = 0  # a tool's token: two turns
    log_prob = -torch.rand((B, T), generator=generator, dtype=torch.float64) - 0.1
    step = 0.1 * torch.randn((B, T), generator=generator, dtype=torch.float64)
    rows = torch.randn((B, 1), generator=generator, dtype=torch.float64)
    return dict(
        log_prob=log_prob.to(dtype).requires_grad_(True), old_log_prob=(log_prob + step).to(dtype),
        advantages=rows.expand(B, T).contiguous().to(dtype), response_mask=mask,
    )  # fmt: skip


MODES = ["token-mean", "seq-mean-token-sum", "seq-mean-token-mean", "seq-mean-token-sum-norm"]
POLICY_LOSSES = ["vanilla", "gspo", "sapo", "gpg", "reinforce", "geo_mean"]


@pytest.mark.parametrize("mode", MODES)
@pytest.mark.parametrize("loss", POLICY_LOSSES)
def test_policy_losses(loss, mode):
    t = tensors()
    fn = ltorch.PolicyLoss(loss, mode)
    rest = t["old_log_prob"], t["advantages"], t["response_mask"]
    assert torch.autograd.gradcheck(lambda x: fn(x, *rest), t["log_prob"])


def test_cispo_gives_the_gradient_of_its_surrogate():
    """The weight of cispo carries no gradient, which differences cannot know: against its definition."""
    t = tensors()
    fn = ltorch.PolicyLoss("cispo", clip_ratio_low=0.05, clip_ratio_high=0.05)
    fn(t["log_prob"], t["old_log_prob"], t["advantages"], t["response_mask"]).backward()
    mask = t["response_mask"]
    ratio = (t["log_prob"].detach() - t["old_log_prob"]).exp().clamp(0.95, 1.05)
    assert torch.allclose(t["log_prob"].grad, -ratio * t["advantages"] * mask / mask.sum(), rtol=1e-12, atol=0)


@pytest.mark.parametrize("mode", MODES)
def test_turn_loss(mode):
    t = tensors()
    fn = ltorch.TurnLoss(mode, 0.2, 0.28)
    scale = torch.full((B, T), 1.1, dtype=torch.float64)
    rest = t["old_log_prob"], t["advantages"], t["response_mask"], None, scale
    assert torch.autograd.gradcheck(lambda x: fn(x, *rest), t["log_prob"])


def test_the_other_losses():
    t = tensors()
    mask, old, adv = t["response_mask"], t["old_log_prob"], t["advantages"]
    other = old - 0.05
    check = torch.autograd.gradcheck
    assert check(lambda x: ltorch.ValueLoss(0.3)(x, old, adv, mask), t["log_prob"])
    assert check(lambda x: ltorch.AggLoss("seq-mean-token-mean")(x, mask), t["log_prob"])
    for kind in ("k1", "k2", "k3", "abs"):
        assert check(lambda x, kind=kind: ltorch.KLPenalty(kind)(x, old), t["log_prob"])
    assert check(lambda x: ltorch.BypassLoss()(x, old, adv, mask), t["log_prob"])
    assert check(lambda x: ltorch.DecoupledLoss()(x, old, other, adv, mask), t["log_prob"])
    composed = ltorch.ComposedLoss(backend_cap=10)
    assert check(lambda x: composed(x, adv, mask, proximal_log_prob=old, sampler_log_prob=other), t["log_prob"])
    distill = ltorch.DistillationLoss(0.5, 5, kd_coef=0.7)
    groups, rewards = [0, 0, 1, 1], [0.0, 0.0, 1.0, 0.0]
    assert check(lambda x: distill(x, old, adv, mask, groups, rewards), t["log_prob"])
    assert distill.outputs.eligible == [True, True, False, True]


def test_stream_loss():
    """The importance weight of the rl stream carries a gradient there; ce alone is a plain log-likelihood."""
    t = tensors()
    valid = t["response_mask"] != 0
    starts = [0, *np.cumsum(valid.sum(1).tolist()).tolist()]
    flat = t["log_prob"].detach()[valid].requires_grad_(True)
    inference, advantages = t["old_log_prob"][valid], t["advantages"][valid]
    ones = torch.ones_like(flat)
    fn = ltorch.StreamLoss(rl_scale=3.0)
    loss = fn(flat, inference, advantages, ones, starts, ce_weights=0.5 * ones.detach(), rl_weights=0 * ones.detach())
    loss.backward()
    assert torch.allclose(flat.grad, torch.full_like(flat, -0.5))
    assert float(loss) == pytest.approx(float(-0.5 * flat.sum()))


def test_types_and_outer_gradients():
    t = tensors(dtype=torch.float32)
    fn = ltorch.PolicyLoss()
    loss = fn(t["log_prob"], t["old_log_prob"], t["advantages"], t["response_mask"].bool())
    (3 * loss).backward()
    assert loss.dtype == torch.float32 and t["log_prob"].grad.dtype == torch.float32
    assert torch.equal(t["log_prob"].grad, 3 * fn.outputs.d_log_prob)
    assert set(fn.metrics) >= {"ppo_kl", "pg_clipfrac"}
    half = t["log_prob"].detach().bfloat16().requires_grad_(True)
    fn(half, t["old_log_prob"].bfloat16(), t["advantages"].bfloat16(), t["response_mask"]).backward()
    assert half.grad.dtype == torch.bfloat16


def test_no_second_derivative():
    t = tensors()
    loss = ltorch.PolicyLoss()(t["log_prob"], t["old_log_prob"], t["advantages"], t["response_mask"])
    (first,) = torch.autograd.grad(loss, t["log_prob"], create_graph=True)
    with pytest.raises(RuntimeError):
        first.sum().backward()


def test_no_second_derivative_through_a_model():
    """A Hessian-vector product with respect to a model's weights: every path through the loss is refused."""
    t = tensors()
    weight = torch.full((1,), 1.0, dtype=torch.float64, requires_grad=True)
    loss = ltorch.PolicyLoss()(t["log_prob"].detach() * weight**2, t["old_log_prob"], t["advantages"], t["response_mask"])
    (first,) = torch.autograd.grad(loss, weight, create_graph=True)
    with pytest.raises(RuntimeError, match="first derivatives only"):
        torch.autograd.grad(first.sum(), weight)


def test_tracing_is_refused():
    t = tensors()
    fn = ltorch.PolicyLoss()
    rest = t["old_log_prob"], t["advantages"], t["response_mask"]
    with pytest.raises(RuntimeError, match="cannot be traced"):
        torch.jit.trace(lambda x: fn(x, *rest), (t["log_prob"].detach(),))


@pytest.mark.parametrize("dtype", [torch.bfloat16, torch.float16])
def test_a_loss_of_half_precision_input_is_float32(dtype):
    t = tensors(dtype=dtype)
    loss = ltorch.PolicyLoss()(t["log_prob"], t["old_log_prob"], t["advantages"], t["response_mask"])
    loss.backward()
    assert loss.dtype == torch.float32 and t["log_prob"].grad.dtype == dtype


def test_settings_are_checked():
    with pytest.raises(TypeError, match="clip_ratio_lo"):
        ltorch.PolicyLoss(clip_ratio_lo=0.1)
    assert "clip_ratio_low=0.1" in repr(ltorch.PolicyLoss(clip_ratio_low=0.1))


def test_a2tgpo_on_a_batch_of_a_trainer():
    t = tensors()
    rewards = torch.zeros((B, T), dtype=torch.float64)
    rewards[0, 2], rewards[0, 6] = 0.4, 1.0
    rewards[1, 3], rewards[2, 5], rewards[3, 1] = 0.0, 1.0, 0.0
    out = ltorch.a2tgpo_advantage(rewards, t["response_mask"], ["p", "p", "q", "q"], gamma=1.0, alpha=0.3)
    assert out.turn_id[0].tolist() == [0, 0, 0, -1, 1, 1, 1]
    direct = core.a2tgpo_advantage(
        info_gain_norm_mode="turn-group-v1d", response_mask=t["response_mask"].numpy(), turn_id=out.turn_id.numpy(),
        group_index=[0, 0, 1, 1], token_level_rewards=rewards.numpy(), gamma=1.0, alpha=0.3,
    )  # fmt: skip
    assert torch.equal(out.advantages, torch.from_numpy(direct.advantages))
    assert torch.equal(out.ig_clip_scale, torch.from_numpy(direct.ig_clip_scale))
    ltorch.TurnLoss()(t["log_prob"], t["old_log_prob"], out.advantages, t["response_mask"], out.turn_id, out.ig_clip_scale)


# ---- partitions ----


@pytest.mark.parametrize("mode", MODES)
@pytest.mark.parametrize("name", ["vanilla", "gspo", "cispo", "gpg", "reinforce"])
def test_token_losses_do_not_depend_on_the_partition(name, mode):
    report = ltorch.check_partition(ltorch.PolicyLoss(name, mode), tensors())
    assert report.same, str(report)


def test_distillation_does_not_depend_on_the_partition():
    """Parts take the pass rates of whole groups and the tokens of the whole batch; a group that is split teaches the same rows."""
    generator = torch.Generator().manual_seed(1)
    draw = lambda: -torch.rand((9, 7), generator=generator, dtype=torch.float64)  # noqa: E731
    given = dict(
        log_prob=draw(), teacher_log_prob=draw(), rl_advantages=draw(), response_mask=(draw() < -0.3).long(),
        group_index=[0, 0, 0, 1, 1, 1, 2, 2, 2], rewards=[0.0, 1, 0, 0, 1, 0, 0, 1, 1],
    )  # fmt: skip
    loss = ltorch.DistillationLoss(0.5, 4, kd_coef=2.0)
    report = ltorch.check_partition(loss, given)
    assert report.same and len(report.cases) == 9, str(report)
    assert not ltorch.check_partition(lambda **part: loss(**{name: part[name] for name in given}), given).same


@pytest.mark.parametrize("name", ["sapo"])
def test_sequence_losses_do_not_depend_on_the_partition(name):
    report = ltorch.check_partition(ltorch.PolicyLoss(name, "seq-mean-token-mean"), tensors())
    assert report.same, str(report)


@pytest.mark.parametrize("mode", MODES)
def test_value_and_agg(mode):
    t = tensors()
    value = dict(vpreds=t["log_prob"], values=t["old_log_prob"], returns=t["advantages"], response_mask=t["response_mask"])
    assert ltorch.check_partition(ltorch.ValueLoss(0.3, mode), value, input="vpreds").same
    agg = ltorch.AggLoss(mode)
    report = ltorch.check_partition(
        lambda loss_mat, response_mask, **known: agg(loss_mat, response_mask, **known),
        dict(loss_mat=t["log_prob"], response_mask=t["response_mask"]), input="loss_mat",
    )  # fmt: skip
    assert report.same, str(report)


def test_the_usual_mistake_is_found():
    def mean_of_the_part(log_prob, response_mask, **_):
        return -(log_prob * response_mask).sum() / response_mask.sum()

    t = tensors()
    report = ltorch.check_partition(mean_of_the_part, dict(log_prob=t["log_prob"], response_mask=t["response_mask"]))
    assert not report.same and "NOT the same" in str(report)


@pytest.mark.skipif(not torch.cuda.is_available(), reason="no GPU")
def test_gpu():
    t = {name: value.detach().cuda() for name, value in tensors(dtype=torch.float32).items()}
    t["log_prob"].requires_grad_(True)
    loss = ltorch.PolicyLoss()(t["log_prob"], t["old_log_prob"], t["advantages"], t["response_mask"])
    loss.backward()
    assert loss.is_cuda and t["log_prob"].grad.is_cuda


def test_the_unbiased_kl_penalty_back_propagates_the_ratio_times_the_difference():
    log_prob = torch.tensor([[-1.0, -2.0]], dtype=torch.float64, requires_grad=True)
    ref, old = torch.tensor([[-1.5, -1.0]], dtype=torch.float64), torch.tensor([[-1.25, -2.5]], dtype=torch.float64)
    ltorch.KLPenalty("k3")(log_prob, ref, old_log_prob=old).sum().backward()
    expected = (log_prob - old).exp() * (log_prob - ref)
    assert torch.allclose(log_prob.grad, expected.detach(), rtol=1e-12)
