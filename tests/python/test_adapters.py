"""The adapters against the call signatures of the trainers they are for.

The stubs are written from public sources, at these releases: verl 0.9.1
(verl/trainer/ppo/core_algos.py, ray_trainer.py compute_advantage, verl/workers/utils/losses.py ppo_loss),
PrimeIntellect-ai/prime-rl@559b447 (docs on the custom loss; trainer/rl/loss.py), TRL 1.16.0
(trainer/grpo_trainer.py _compute_loss). They hold names and shapes only.
"""

import dataclasses
import importlib
import importlib.metadata
import sys
import types
from collections import defaultdict
from typing import Optional

import pytest

torch = pytest.importorskip("torch")

from lineage import Store, core, prime_rl, trl, verl  # noqa: E402
from lineage import torch as ltorch  # noqa: E402

# A trainer's configuration has the settings of all losses; an adapter passes those that its loss reads.
pytestmark = pytest.mark.filterwarnings("error:.*has no effect:RuntimeWarning")

B, T = 4, 6


def batch():
    generator = torch.Generator().manual_seed(5)
    mask = torch.ones((B, T))
    mask[1, 4:] = 0
    mask[:2, 2] = 0  # a tool's token in two rollouts of one question: two turns each
    rewards = torch.zeros((B, T))
    rewards[0, 1], rewards[0, 5], rewards[1, 1], rewards[1, 3], rewards[2, 5] = 0.3, 1.0, 0.1, 0.5, 1.0
    log_prob = -torch.rand((B, T), generator=generator) - 0.1
    return dict(rewards=rewards, mask=mask, log_prob=log_prob, old=log_prob + 0.1 * torch.randn((B, T), generator=generator))


UID = ["q1", "q1", "q2", "q2"]


# ---- verl ----


class Registry(types.ModuleType):
    """verl.trainer.ppo.core_algos: two decorators."""

    def __init__(self, name):
        super().__init__(name)
        self.estimators, self.losses, self.ADV_ESTIMATOR_REGISTRY = {}, {}, {}

    def register_adv_est(self, name_or_enum):
        return lambda fn: self.estimators.setdefault(name_or_enum, fn)

    def register_policy_loss(self, name):
        return lambda fn: self.losses.setdefault(name, fn)


@dataclasses.dataclass
class ActorConfig:
    """Of verl.workers.config, the members a loss reads."""

    clip_ratio: float = 0.2
    clip_ratio_low: float = 0.2
    clip_ratio_high: float = 0.28
    clip_ratio_c: float = 3.0
    loss_agg_mode: str = "token-mean"
    policy_loss: dict = dataclasses.field(default_factory=lambda: {"loss_mode": "vanilla"})
    global_batch_info: dict = dataclasses.field(default_factory=dict)


@pytest.fixture
def registry(monkeypatch):
    for name in ("verl", "verl.trainer", "verl.trainer.ppo"):
        monkeypatch.setitem(sys.modules, name, types.ModuleType(name))
    algos = Registry("verl.trainer.ppo.core_algos")
    monkeypatch.setitem(sys.modules, algos.__name__, algos)
    sys.modules["verl.trainer.ppo"].core_algos = algos
    importlib.reload(verl)  # as VERL_USE_EXTERNAL_MODULES imports it
    return algos


def test_verl_registers_on_import(registry):
    assert {"lineage_a2tgpo", "lineage_grpo", "lineage_remax"} <= set(registry.estimators)
    assert {"lineage_ppo", "lineage_gspo", "lineage_turn", "lineage_turn_scaled"} <= set(registry.losses)


@pytest.mark.parametrize("name", ["grpo", "rloo", "opo", "gpg", "reinforce_plus_plus", "remax", "a2tgpo"])
def test_verl_estimators_as_compute_advantage_calls_them(registry, name):
    b = batch()
    given = dict(token_level_rewards=b["rewards"], response_mask=b["mask"], config={"gamma": 1.0}, index=UID)
    if name == "remax":
        given["reward_baselines"] = torch.zeros(B)
    advantages, returns = registry.estimators[f"lineage_{name}"](**given)
    assert advantages.shape == returns.shape == (B, T) and advantages.dtype == torch.float32
    assert bool(torch.isfinite(advantages).all())
    if name != "remax":  # remax also has returns at masked tokens, like verl
        assert bool((advantages[b["mask"] == 0] == 0).all())


def ppo_loss(registry, mode, b, rows, config, advantages):
    """One micro-batch as verl's ppo_loss calls a policy loss."""
    log_prob = b["log_prob"][rows].clone().requires_grad_(True)
    loss, metrics = registry.losses[mode](
        old_log_prob=b["old"][rows], log_prob=log_prob, advantages=advantages[rows],
        response_mask=b["mask"][rows].to(bool), loss_agg_mode=config.loss_agg_mode, config=config, rollout_is_weights=None,
    )  # fmt: skip
    loss.backward()
    return float(loss), log_prob.grad, metrics


@pytest.mark.parametrize("mode", ["lineage_ppo", "lineage_cispo", "lineage_turn"])
@pytest.mark.parametrize("agg", ["token-mean", "seq-mean-token-mean"])
def test_verl_losses_add_up_over_micro_batches(registry, mode, agg):
    b = batch()
    advantages, _ = registry.estimators["lineage_a2tgpo"](
        token_level_rewards=b["rewards"], response_mask=b["mask"], config={}, index=UID
    )
    info = dict(dp_size=1, batch_num_tokens=float(b["mask"].sum()), global_batch_size=B, loss_scale_factor=None)
    config = ActorConfig(loss_agg_mode=agg, global_batch_info=info)
    whole, gradient, metrics = ppo_loss(registry, mode, b, slice(0, B), config, advantages)
    parts = [ppo_loss(registry, mode, b, rows, config, advantages) for rows in (slice(0, 1), slice(1, B))]
    assert sum(part[0] for part in parts) == pytest.approx(whole, rel=1e-5, abs=1e-6)  # single precision
    assert torch.allclose(torch.cat([part[1] for part in parts]), gradient, rtol=1e-4, atol=1e-7)
    assert "actor/ppo_kl" in metrics


def test_verl_passes_the_clip_scale_as_weights(registry):
    b = batch()
    data = types.SimpleNamespace(
        batch={"token_level_rewards": b["rewards"], "response_mask": b["mask"]}, non_tensor_batch={"uid": UID}
    )
    verl.put_clip_scale(data, gamma=1.0, alpha=0.3)
    scale = data.batch["rollout_is_weights"]
    assert scale.shape == (B, T) and float(scale.max()) > 1
    loss, _ = registry.losses["lineage_turn_scaled"](
        old_log_prob=b["old"], log_prob=b["log_prob"], advantages=data.batch["advantages"],
        response_mask=b["mask"].to(bool), loss_agg_mode="token-mean", config=ActorConfig(), rollout_is_weights=scale,
    )  # fmt: skip
    turn = ltorch.TurnLoss("token-mean", 0.2, 0.28)
    assert float(loss) == float(turn(b["log_prob"], b["old"], data.batch["advantages"], b["mask"], None, scale))
    with pytest.raises(ValueError, match="in use"):
        verl.put_clip_scale(data)
    with pytest.raises(ValueError, match="importance weights"):
        registry.losses["lineage_turn"](b["old"], b["log_prob"], b["rewards"], b["mask"], rollout_is_weights=scale)


def verl_loss(registry, mode, config, mask, **given):
    """A loss of one batch and its gradient, as verl calls it."""
    b = batch()
    log_prob = b["log_prob"].clone().requires_grad_(True)
    advantages = torch.tensor([0.5, -0.5, 1.0, -1.0])[:, None].expand(B, T)
    agg = config["loss_agg_mode"] if isinstance(config, dict) else config.loss_agg_mode
    loss, _ = registry.losses[mode](b["old"], log_prob, advantages, mask.bool(), loss_agg_mode=agg, config=config, **given)
    loss.backward()
    return float(loss.detach()), log_prob.grad


def reinforce_by_hand(mask, divisor):
    """lineage_gpg's sum over tokens by its formula."""
    advantages = torch.tensor([0.5, -0.5, 1.0, -1.0])[:, None].expand(B, T)
    return float((-batch()["log_prob"] * advantages * mask).sum()) / divisor


def test_verl_divides_the_norm_mode_by_the_rows(registry):
    mask = batch()["mask"]
    mask[3] = 0  # three rows count
    config = ActorConfig(loss_agg_mode="seq-mean-token-sum-norm")
    assert verl_loss(registry, "lineage_gpg", config, mask)[0] == pytest.approx(reinforce_by_hand(mask, 3 * T), rel=1e-5)
    config.global_batch_info = dict(dp_size=2, global_batch_size=8, loss_scale_factor=100)
    assert verl_loss(registry, "lineage_gpg", config, mask)[0] == pytest.approx(reinforce_by_hand(mask, 400), rel=1e-5)
    config.policy_loss["lineage"] = {"loss_agg_mode": verl.BEFORE_5417}
    assert verl_loss(registry, "lineage_gpg", config, mask)[0] == pytest.approx(reinforce_by_hand(mask, 100), rel=1e-5)
    assert verl.definitions(config)["loss_agg_mode"] == verl.BEFORE_5417
    assert verl.definitions(ActorConfig(loss_agg_mode="seq-mean-token-sum-norm"))["loss_agg_mode"].endswith("@5417")


@pytest.mark.parametrize("mode", ["lineage_gpg", "lineage_turn"])
def test_verl_token_sum(registry, mode):
    mask = batch()["mask"]
    whole = verl_loss(registry, mode, ActorConfig(loss_agg_mode="token-sum", global_batch_info={"dp_size": 3}), mask)
    mean = verl_loss(registry, mode, ActorConfig(loss_agg_mode="token-mean"), mask)
    assert whole[0] == pytest.approx(3 * float(mask.sum()) * mean[0], rel=1e-5)
    assert torch.allclose(whole[1], 3 * mask.sum() * mean[1], rtol=1e-5)


def test_verl_refuses_an_unknown_aggregation_and_missing_counts(registry):
    with pytest.raises(ValueError, match="loss_agg_mode is 'mean'"):
        verl_loss(registry, "lineage_gpg", ActorConfig(loss_agg_mode="mean"), batch()["mask"])
    with pytest.raises(ValueError, match="batch_num_tokens is required"):
        verl_loss(registry, "lineage_gpg", ActorConfig(global_batch_info={"dp_size": 2}), batch()["mask"])


@pytest.mark.parametrize("mode", ["lineage_ppo", "lineage_gspo", "lineage_sapo", "lineage_turn", "lineage_geo_mean"])
@pytest.mark.parametrize("agg", ["token-mean", "token-sum", "seq-mean-token-mean", "seq-mean-token-sum-norm"])
def test_verl_rows_without_response_tokens(registry, mode, agg):
    mask = batch()["mask"]
    mask[1] = 0
    value, gradient = verl_loss(registry, mode, ActorConfig(loss_agg_mode=agg), mask)
    assert value == value and bool((gradient[1] == 0).all()) and bool((gradient[0] != 0).any())
    for info in ({}, dict(dp_size=1, batch_num_tokens=9, global_batch_size=4)):
        config = ActorConfig(loss_agg_mode=agg, global_batch_info=info)
        value, gradient = verl_loss(registry, mode, config, torch.zeros((B, T)))
        assert value == 0 and bool((gradient == 0).all())


def test_verl_clip_ratio_stands_in_for_none(registry):
    mask = batch()["mask"]
    none = dict(clip_ratio=0.05, clip_ratio_low=None, clip_ratio_high=None, loss_agg_mode="token-mean")
    both = {**none, "clip_ratio_low": 0.05, "clip_ratio_high": 0.05}
    assert verl_loss(registry, "lineage_ppo", none, mask)[0] == verl_loss(registry, "lineage_ppo", both, mask)[0]
    wide = {**none, "clip_ratio": 0.5}
    assert verl_loss(registry, "lineage_ppo", none, mask)[0] != verl_loss(registry, "lineage_ppo", wide, mask)[0]


def test_verl_sapo_reads_the_temperatures_of_the_actor(registry):
    mask, config = batch()["mask"], dict(clip_ratio=0.2, loss_agg_mode="token-mean", tau_pos=2.0, tau_neg=3.0)
    same = {**config, "tau_pos": 1.0, "tau_neg": 1.05, "policy_loss": {"lineage": {"tau_pos": 2.0, "tau_neg": 3.0}}}
    value = verl_loss(registry, "lineage_sapo", config, mask)[0]
    assert value == verl_loss(registry, "lineage_sapo", same, mask)[0]
    assert value != verl_loss(registry, "lineage_sapo", {**config, "tau_pos": 1.0}, mask)[0]


def test_verl_reinforce_plus_plus_passes_over_the_tokens_of_tools(registry):
    """Without discount all tokens of a turn before a tool's answer have the outcome as their return."""
    mask = torch.tensor([[1.0, 1, 0, 0, 1, 1], [1, 0, 1, 0, 1, 0]])
    rewards = torch.tensor([[0.0, 0, 5, 0, 0, 1], [0, 0, 0, 0, 2, 7]])
    moved = torch.tensor([[0.0, 5, 0, 0, 0, 1], [0, 0, 0, 0, 9, 0]])  # an outcome at a tool's token is that of the action before
    estimate = registry.estimators["lineage_reinforce_plus_plus"]
    _, returns = estimate(token_level_rewards=rewards, response_mask=mask, config={"gamma": 1.0}, index=["a", "b"])
    assert torch.equal(returns, mask * torch.tensor([[6.0, 6, 0, 0, 1, 1], [9, 0, 9, 0, 9, 0]]))
    _, same = estimate(token_level_rewards=moved, response_mask=mask, config={"gamma": 1.0}, index=["a", "b"])
    assert torch.equal(returns, same)
    _, returns = estimate(token_level_rewards=rewards, response_mask=mask, config={"gamma": 0.5}, index=["a", "b"])
    assert torch.allclose(returns[0], torch.tensor([2.625, 5.25, 0, 0, 0.5, 1])) and float(returns[1, 0]) == 2.25
    with pytest.raises(ValueError, match=r"rewards\[0\]\[0\] is 1, before the first response token"):
        verl.ESTIMATORS["lineage_gae"](torch.ones((1, 3)), torch.zeros((1, 3)), torch.tensor([[0, 1, 1]]), 1.0, 1.0)


def values_and_energies():
    generator = torch.Generator().manual_seed(5)
    draw = lambda: torch.rand((B, T), generator=generator)  # noqa: E731
    return dict(values=draw(), old_log_probs=-draw(), sum_pi_squared=0.2 * draw())


@pytest.mark.parametrize("name", list(verl.REPLACEABLE))
def test_verl_estimators_that_need_more_than_its_trainer_passes(registry, name):
    """Under our name they refuse with the way out; under verl's name they get what they need."""
    b = batch()
    given = dict(token_level_rewards=b["rewards"], response_mask=b["mask"], config={"gdpo_reward_keys": ["a"]}, index=UID)
    with pytest.raises(ValueError, match=f"LINEAGE_VERL_REPLACE={name}"):
        registry.estimators[f"lineage_{name}"](**given)
    verl.replace(registry, [name])
    ours = registry.ADV_ESTIMATOR_REGISTRY[name]
    assert ours is getattr(registry, verl.REPLACEABLE[name]) is registry.estimators[f"lineage_{name}"]
    advantages, returns = ours(**given, **values_and_energies(), non_tensor_batch={"a": [0.0, 1.0, 0.5, 1.0]}, batch={})
    assert advantages.shape == returns.shape == (B, T) and bool(torch.isfinite(advantages).all())


def test_verl_replaces_what_the_environment_names(registry, monkeypatch):
    monkeypatch.setenv("LINEAGE_VERL_REPLACE", "gae,gdpo")
    importlib.reload(verl)
    assert set(registry.ADV_ESTIMATOR_REGISTRY) == {"gae", "gdpo"} and registry.compute_gae_advantage_return
    monkeypatch.setenv("LINEAGE_VERL_REPLACE", "grpo")
    with pytest.raises(ValueError, match="'grpo'; it may name gae"):
        importlib.reload(verl)


def test_verl_gdpo_weighs_normalised_parts(registry):
    """Two parts of different scale count the same; the names and the weights of the parts are checked."""
    gdpo = registry.estimators["lineage_gdpo"]
    given = dict(token_level_rewards=torch.zeros((4, 2), dtype=torch.float64), response_mask=torch.ones((4, 2)), index=list("aabb"))
    parts = {"small": [0.0, 0.001, 0.0, 0.001], "large": [5.0, 0.0, 0.0, 5.0]}
    config = {"gdpo_reward_keys": ["small", "large"], "lineage": {"epsilon": 0.0}}
    advantages, _ = gdpo(**given, config=config, non_tensor_batch=parts)
    assert torch.allclose(advantages[:, 0], torch.tensor([0.0, 0, -1, 1]).double() * (7 / 4) ** 0.5, atol=1e-6)
    first, _ = gdpo(**given, config={**config, "gdpo_reward_weights": [1.0, 0.0]}, non_tensor_batch=parts)
    assert torch.allclose(first[:, 0], torch.tensor([-1, 1, -1, 1.0]).double() * (7 / 8) ** 0.5, atol=1e-6)
    for wrong, said in (({"gdpo_reward_keys": ["smal"]}, "'smal'"), ({}, "gdpo_reward_keys"), ({**config, "gdpo_reward_weights": [1]}, "1 gdpo")):
        with pytest.raises(ValueError, match=said):
            gdpo(**given, config=wrong, non_tensor_batch=parts)


def test_verl_grpo_vectorized_sees_a_small_spread(registry):
    rewards = torch.zeros((2, 3))
    rewards[0, 2], rewards[1, 2] = 1.0, 1.00001
    given = dict(token_level_rewards=rewards, response_mask=torch.ones((2, 3)), config={}, index=["a", "a"])
    advantages, _ = registry.estimators["lineage_grpo_vectorized"](**given)
    assert torch.equal(advantages, registry.estimators["lineage_grpo"](**given)[0]) and 0.5 < float(advantages[1, 0]) < 0.7071


def test_verl_config_class_has_a_field_for_our_settings(registry, monkeypatch):
    @dataclasses.dataclass
    class Base:
        loss_mode: str = "vanilla"

    config = types.ModuleType("verl.workers.config")
    config.PolicyLossConfig = Base
    monkeypatch.setitem(sys.modules, "verl.workers", types.ModuleType("verl.workers"))
    monkeypatch.setitem(sys.modules, "verl.workers.config", config)
    made = verl.PolicyLossConfig("lineage_sapo", lineage={"tau_pos": 2.0})
    assert isinstance(made, Base) and made.lineage == {"tau_pos": 2.0} and made.loss_mode == "lineage_sapo"
    vars(verl).pop("PolicyLossConfig")  # the class of this test


# ---- prime-rl ----


@dataclasses.dataclass
class LossInputs:
    trainer_logprobs: "torch.Tensor"
    inference_logprobs: "torch.Tensor"
    ref_logprobs: "Optional[torch.Tensor]"
    advantages: "torch.Tensor"
    loss_mask: "torch.Tensor"
    loss_weights: "Optional[torch.Tensor]" = None


@pytest.mark.parametrize("name", ["vanilla", "cispo", "gspo", "sapo", "reinforce", "turn"])
def test_prime_rl_sequence_by_sequence(name):
    b = batch()
    total = 0.0
    for i in range(B):
        log_prob = b["log_prob"][i].clone().requires_grad_(True)
        out = prime_rl.loss(
            LossInputs(log_prob, b["old"][i], None, torch.full((T,), 0.5), b["mask"][i].bool()), name=name
        )
        out.loss.backward()
        assert log_prob.grad is not None and bool((log_prob.grad[b["mask"][i] == 0] == 0).all())
        assert all(isinstance(value, torch.Tensor) for value in out.metrics.values())
        total += float(out.loss)
    if name in ("vanilla", "cispo", "gspo", "reinforce"):
        whole = core.policy_loss(
            loss=name, loss_agg_mode="token-mean", response_mask=b["mask"], log_prob=b["log_prob"], old_log_prob=b["old"],
            advantages=torch.full((B, T), 0.5),
        )  # fmt: skip
        assert total / float(b["mask"].sum()) == pytest.approx(whole.loss, rel=1e-5)


def test_prime_rl_weights_and_empty_sequences():
    b = batch()
    given = dict(trainer_logprobs=b["log_prob"][2], inference_logprobs=b["old"][2], ref_logprobs=None, advantages=torch.ones(T))
    one = prime_rl.loss(LossInputs(**given, loss_mask=torch.ones(T).bool()))
    two = prime_rl.loss(LossInputs(**given, loss_mask=torch.ones(T).bool(), loss_weights=torch.full((T,), 2.0)))
    assert float(two.loss) == pytest.approx(2 * float(one.loss), rel=1e-6)
    assert float(prime_rl.loss(LossInputs(**given, loss_mask=torch.zeros(T).bool())).loss) == 0


# ---- TRL ----


class GRPOTrainer:
    """Of TRL 1.16, what _compute_loss touches. upstream_drift.py compares with TRL's own class."""

    epsilon_low, epsilon_high, beta, loss_type = 0.2, 0.2, 0.0, "dapo"
    current_gradient_accumulation_steps = 2
    use_liger_kernel = False

    def __init__(self, **settings):
        self._metrics = {"train": defaultdict(list), "eval": defaultdict(list)}
        self.args = types.SimpleNamespace(delta=None)
        self.accelerator = types.SimpleNamespace(num_processes=1)
        self.model = types.SimpleNamespace(training=True)
        vars(self).update(settings)

    def _get_per_token_logps_and_entropies(self, model, input_ids, attention_mask, logits_to_keep, compute_entropy=False, **_):
        assert input_ids.shape == attention_mask.shape
        log_prob = model.log_prob[:, -logits_to_keep:]
        return log_prob, -0.5 * log_prob if compute_entropy else None, None

    def get_off_policy_mask(self, advantages, per_token_logps, sampling_per_token_logps, mask, off_policy_threshold):
        return torch.tensor([[1.0], [0.0], [1.0], [1.0]])

    def get_high_entropy_mask(self, entropies, mask, threshold):
        return (torch.arange(T) % 2 == 0).expand(B, T) & mask.bool()

    def compute_loss(self, model, inputs, return_outputs=False, num_items_in_batch=None):
        return torch.zeros(()) if self.use_liger_kernel else self._compute_loss(model, inputs)


def trl_inputs(**more):
    b = batch()
    prompt = torch.ones((B, 3), dtype=torch.long)
    return dict(
        prompt_ids=prompt, prompt_mask=prompt, completion_ids=torch.ones((B, T), dtype=torch.long),
        completion_mask=b["mask"].long(), advantages=torch.tensor([1.0, -1.0, 0.5, -0.5]), old_per_token_logps=b["old"],
        num_items_in_batch=torch.tensor(100), **more,
    )  # fmt: skip


def trl_loss(trainer, **more):
    model = types.SimpleNamespace(log_prob=batch()["log_prob"].clone().requires_grad_(True))
    loss = trainer.compute_loss(model, {**trl_inputs(), **more})
    loss.backward()
    return float(loss.detach()), model.log_prob.grad


def trl_by_hand(weights=None, delta=None):
    """TRL's token losses, summed: -min(min(r, delta) A, clip(r) A), without dual clip."""
    b = batch()
    advantages = trl_inputs()["advantages"][:, None]
    ratio = (b["log_prob"] - b["old"]).exp()
    free = ratio if delta is None else ratio.clamp(max=delta)
    loss = -torch.min(free * advantages, ratio.clamp(0.8, 1.2) * advantages) * b["mask"]
    return float((loss if weights is None else loss * weights).sum())


class Vanilla(trl.LineageLossMixin, GRPOTrainer):
    pass


@pytest.mark.parametrize("training", [True, False])
def test_trl_aggregations(training):
    tokens, parts = float(batch()["mask"].sum()), 2.0 if training else 1.0  # an evaluation is not accumulated
    for loss_type, divisor in (("dapo", 100), ("bnpo", tokens * parts), ("dr_grpo", B * 40 * parts)):
        trainer = Vanilla(loss_type=loss_type, max_completion_length=40, model=types.SimpleNamespace(training=training))
        assert trl_loss(trainer)[0] == pytest.approx(trl_by_hand() / divisor, rel=1e-5, abs=1e-8)
        assert bool(trainer._metrics["train"]) is training
    trainer = Vanilla(accelerator=types.SimpleNamespace(num_processes=4))
    assert trl_loss(trainer)[0] == pytest.approx(trl_by_hand() / 25, rel=1e-5)


def test_trl_weights_of_tokens():
    weights = 2.0 * torch.ones((B, T))
    trainer = Vanilla(use_vllm=True, vllm_importance_sampling_correction=True)
    assert trl_loss(trainer, importance_sampling_ratio=weights)[0] == pytest.approx(2 * trl_by_hand() / 100, rel=1e-5)
    row = torch.tensor([[1.0], [0.0], [1.0], [1.0]])
    assert trl_loss(Vanilla(off_policy_mask_threshold=0.1))[0] == pytest.approx(trl_by_hand(row) / 100, rel=1e-5)
    even = (torch.arange(T) % 2 == 0).float()
    assert trl_loss(Vanilla(top_entropy_quantile=0.5))[0] == pytest.approx(trl_by_hand(even) / 100, rel=1e-5)


def test_trl_bounds_the_ratio_only_with_delta():
    far = batch()["log_prob"] - 2.0  # ratios of about 7
    assert trl_loss(Vanilla(), old_per_token_logps=far)[0] != pytest.approx(
        trl_loss(Vanilla(args=types.SimpleNamespace(delta=3.0)), old_per_token_logps=far)[0]
    )
    b, advantages = batch(), trl_inputs()["advantages"][:, None]
    ratio = torch.full((B, T), float(torch.tensor(2.0).exp()))
    for delta, free in ((None, ratio), (3.0, ratio.clamp(max=3.0))):
        want = -(torch.min(free * advantages, torch.full_like(ratio, 1.2) * advantages) * b["mask"]).sum() / 100
        trainer = Vanilla(args=types.SimpleNamespace(delta=delta))
        assert trl_loss(trainer, old_per_token_logps=far)[0] == pytest.approx(float(want), rel=1e-5)


def test_trl_entropy_bonus():
    trainer = Vanilla(entropy_coef=0.1, _entropy_bonus_enabled=True)
    """A mean over the micro-batch for every loss type, since TRL 1.10."""
    bonus = 0.1 * float((-0.5 * batch()["log_prob"] * batch()["mask"]).sum() / batch()["mask"].sum()) / 2  # two accumulation steps
    assert trl_loss(trainer)[0] == pytest.approx(trl_by_hand() / 100 - bonus, rel=1e-5)


def test_trl_divides_by_one_accumulation_of_a_generation():
    """num_items_in_batch counts a generation, which steps_per_generation / accumulation steps updates share (since TRL 1.9.1)."""
    once = trl_loss(Vanilla())[0]
    shared = types.SimpleNamespace(delta=None, steps_per_generation=4)
    assert trl_loss(Vanilla(args=shared))[0] == pytest.approx(2 * once, rel=1e-6)
    assert trl_loss(Vanilla(args=shared, model=types.SimpleNamespace(training=False)))[0] == pytest.approx(once, rel=1e-6)


def test_trl_row_has_every_changed_setting():
    @dataclasses.dataclass
    class Config:
        beta: float = 0.0
        steps_per_generation: "int | None" = None
        reward_weights: "list | None" = None
        output_dir: str = "out"
        hub_token: "str | None" = None
        top_p: "float | None" = 1.0

    changed = Config(steps_per_generation=4, reward_weights=[0.5, 1], output_dir="other", hub_token="secret", top_p=None)
    assert trl.params_of(Config()) == {"beta": 0.0}
    assert trl.params_of(changed) == {"beta": 0.0, "steps_per_generation": 4.0, "reward_weights": "[0.5, 1]", "top_p": "none"}


@pytest.mark.parametrize("adapter, name, refused", [(verl, "verl", "0.10.0"), (verl, "verl", "0.8.1"), (trl, "trl", "1.17.0")])
def test_another_release_is_refused(registry, monkeypatch, adapter, name, refused):
    """Its definitions may differ, and nothing would say so."""
    monkeypatch.setattr(importlib.metadata, "version", lambda asked: refused if asked == name else "0")
    try:
        with pytest.raises((RuntimeError, ValueError), match="follows"):
            importlib.reload(adapter)
            type("Trainer", (trl.LineageLossMixin, GRPOTrainer), {})()
        monkeypatch.setenv(f"LINEAGE_{name.upper()}_ANY_RELEASE", "1")
        importlib.reload(adapter)
        type("Trainer", (trl.LineageLossMixin, GRPOTrainer), {})()
    finally:
        monkeypatch.undo()
        importlib.reload(adapter)


def test_verl_compares_the_last_outputs_of_sessions(registry):
    """As verl's default trainer does for its own grpo: the first session has two outputs."""

    def compute_advantage_for_multi_trajectories(batch_keys):  # the name of verl's function
        rewards = torch.tensor([[0.0, 1], [0, 1], [0, 0], [0, 0]])
        return verl.ESTIMATORS["lineage_grpo"](rewards, torch.ones((4, 2)), config={}, index=["a"] * 4)[0][:, 0].tolist()

    found = compute_advantage_for_multi_trajectories(["a_0_1", "a_0_0", "a_1_0", "a_2_0"])
    assert found == pytest.approx([1.1547, 1.1547, -0.57735, -0.57735], abs=1e-4)
    assert compute_advantage_for_multi_trajectories([f"a_{i}_0" for i in range(4)]) == pytest.approx([0.86602] * 2 + [-0.86602] * 2, abs=1e-4)


@pytest.mark.parametrize("loss_type", ["dapo", "grpo", "bnpo"])
def test_trl_without_trainable_tokens(loss_type):
    trainer = Vanilla(loss_type=loss_type)
    value, gradient = trl_loss(trainer, completion_mask=torch.zeros((B, T), dtype=torch.long))
    assert value == 0 and bool((gradient == 0).all())


REFUSED = [
    (dict(beta=0.1), "beta"), (dict(use_liger_kernel=True), "use_liger_kernel"), (dict(loss_type="vespo"), "vespo"),
    (dict(loss_type="ppo"), "loss_type"), (dict(use_adaptive_entropy=True), "adaptive"),
    (dict(importance_sampling_level="sequence"), "gspo"), (dict(loss_type="cispo"), "names another loss"),
    (dict(args=types.SimpleNamespace(delta=1.1)), "delta"), (dict(importance_sampling_level="turn"), "turn"),
    (dict(lineage_loss="cispo", args=types.SimpleNamespace(delta=4.0)), "delta"),
    (dict(lineage_loss="geo_mean"), "geo_mean"), (dict(lineage_loss="sapo", loss_type="sapo", lineage_loss_agg_mode="token-mean"), "rows"),
]  # fmt: skip


@pytest.mark.parametrize("settings, word", REFUSED)
def test_trl_refuses_what_it_does_not_implement(settings, word):
    with pytest.raises(ValueError, match=word):  # when the trainer is made, before a step
        Vanilla(**settings)
    trainer = Vanilla()
    vars(trainer).update(settings)
    with pytest.raises(ValueError, match=word):
        trl_loss(trainer)


def test_trl_row_names_the_loss():
    trainer = Vanilla(lineage_loss="gspo")
    assert trl.params_of(trainer.args)["lineage_loss"] == "gspo"


class Trainer(trl.LineageLossMixin, GRPOTrainer):
    lineage_loss = "cispo"


def test_trl_mixin():
    """Another loss and an aggregation of its own: a mean over the micro-batch, divided by the accumulation."""
    b = batch()
    trainer = Trainer(lineage_loss_agg_mode="token-mean")
    want = core.policy_loss(
        loss="cispo", loss_agg_mode="token-mean", response_mask=b["mask"], log_prob=b["log_prob"], old_log_prob=b["old"],
        advantages=trl_inputs()["advantages"][:, None].expand(B, T), clip_ratio_low=0.2, clip_ratio_high=0.2,
    )  # fmt: skip
    assert trl_loss(trainer)[0] == pytest.approx(want.loss / 2, rel=1e-6)
    assert trainer._metrics["train"]["lineage/ppo_kl"] == [pytest.approx(want.ppo_kl)]


ARGS = types.SimpleNamespace(learning_rate=1e-5, seed=7, beta=0.0, loss_type="dapo", run_name="night", num_generations=8)


def test_trl_callback_records_the_run(tmp_path):
    store = Store(tmp_path / "s", create=True, direction="higher")
    callback = trl.LineageCallback(store, metric="reward", hypothesis="longer", status="baseline")
    state = types.SimpleNamespace(global_step=0, is_world_process_zero=True)
    callback.on_train_begin(ARGS, state, None)
    for step, reward in enumerate((0.1, 0.4)):
        state.global_step = step
        callback.on_log(ARGS, state, None, logs={"loss": 1.0, "reward": reward, "epoch": 0.1, "note": "text"})
    callback.on_train_end(ARGS, state, None)
    row = callback.row
    assert row["status"] == "baseline" and row["score"] == 0.4 and row["job_name"] == "night"
    assert row["params"]["lr"] == 1e-5 and row["params"]["loss_type"] == "dapo" and row["params"]["seed"] == 7


def test_trl_callback_keeps_a_crash_and_other_ranks_silent(tmp_path):
    store = Store(tmp_path / "s", create=True, direction="higher")
    with pytest.raises(RuntimeError):
        with trl.LineageCallback(store, hypothesis="too large") as callback:
            callback.on_train_begin(ARGS, types.SimpleNamespace(global_step=0, is_world_process_zero=True), None)
            raise RuntimeError("CUDA out of memory")
    assert callback.row["status"] == "crash" and "CUDA out of memory" in callback.row["notes"]
    other = trl.LineageCallback(store)
    other.on_train_begin(ARGS, types.SimpleNamespace(global_step=0, is_world_process_zero=False), None)
    other.on_train_end(ARGS, None, None)
    assert other.row is None and len(store.query()) == 1
