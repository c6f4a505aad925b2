"""The core's advantage estimators and policy losses for verl.

Load the module in every process of the run, through the environment::

    VERL_USE_EXTERNAL_MODULES=lineage.verl python -m verl.trainer.main_ppo \\
        algorithm.adv_estimator=lineage_a2tgpo actor_rollout_ref.actor.policy_loss.loss_mode=lineage_turn

Advantage estimators: ``lineage_a2tgpo``, and ``lineage_`` + each estimator of ``lineage.core.advantage`` that needs no
value model (grpo, rloo, opo, gpg, reinforce_plus_plus, remax, ...). Policy losses: ``lineage_`` + ppo, gspo, cispo,
sapo, gpg, reinforce or geo_mean, and ``lineage_turn`` (A2TGPO's). Settings that verl's configuration does not have are
read from the mappings ``algorithm.lineage`` and ``actor.policy_loss.lineage`` (``+algorithm.lineage.alpha=0.3``).

verl passes an estimator only rewards, mask, ids and configuration, and a loss only the fields of its own list
(verl/workers/utils/losses.py). Turns are therefore the runs of the mask. A2TGPO's clip scale, which the advantage
computes from whole groups, does not reach the loss, which sees micro-batches; ``lineage_turn`` therefore uses the plain
clip range. A trainer that can add a field may call :func:`put_clip_scale`, which stores the scale as
rollout_is_weights, a [B, T] tensor that verl passes on, and use ``lineage_turn_scaled``. Such runs cannot have
importance weights.

Signatures are those of verl-project/verl@1dda039 (verl/trainer/ppo/core_algos.py, ray_trainer.py,
verl/workers/utils/losses.py); tests/python/test_adapters.py checks them.
"""

from __future__ import annotations

from typing import Any, Mapping, Optional

import torch
from torch import Tensor

from . import core
from .torch import PolicyLoss, TurnLoss, a2tgpo_advantage

__all__ = ["ESTIMATORS", "LOSSES", "put_clip_scale", "register"]

_PREFIX = "lineage_"
_NO_VALUES = (
    "grpo", "grpo_vectorized", "grpo_passk", "rloo", "rloo_vectorized", "opo", "gpg",
    "reinforce_plus_plus_baseline", "reinforce_plus_plus", "remax",
)  # fmt: skip
_LOSS_NAMES = {
    "ppo": "vanilla", "gspo": "gspo", "cispo": "cispo", "sapo": "sapo", "gpg": "gpg", "reinforce": "reinforce",
    "geo_mean": "geo_mean",
}  # fmt: skip


def _get(config: Any, name: str, default: Any = None) -> Any:
    """Read a setting from OmegaConf, a dataclass or a dict."""
    if config is None:
        return default
    if isinstance(config, Mapping):
        return config.get(name, default)
    value = getattr(config, name, None)
    return default if value is None else value


def _groups(index: Any, rows: int) -> "list[int]":
    """Group numbers from verl's uid, one string per row."""
    if index is None:
        return list(range(rows))
    return core.group_numbers(index)


# ---- advantage estimators: called with keywords, return (advantages, returns) ----


def _a2tgpo(
    token_level_rewards: Tensor, response_mask: Tensor, config: Any = None, index: Any = None, **_: Any
) -> "tuple[Tensor, Tensor]":
    settings = dict(_get(config, "lineage") or {})
    settings.setdefault("gamma", float(_get(config, "gamma", 1.0)))
    groups = _groups(index, len(response_mask))
    out = a2tgpo_advantage(token_level_rewards, response_mask, groups, **settings)
    advantages = out.advantages.to(token_level_rewards.dtype)
    return advantages, advantages


def _estimator(name: str) -> Any:
    def estimate(
        token_level_rewards: Tensor, response_mask: Tensor, config: Any = None, index: Any = None,
        reward_baselines: Optional[Tensor] = None, **_: Any,
    ) -> "tuple[Tensor, Tensor]":  # fmt: skip
        settings = dict(_get(config, "lineage") or {})
        if name == "reinforce_plus_plus":
            settings.setdefault("gamma", float(_get(config, "gamma", 1.0)))
        settings.setdefault("norm_adv_by_std", bool(_get(config, "norm_adv_by_std_in_grpo", True)))
        out = core.run_kernel(
            "advantage", estimator=name, token_level_rewards=token_level_rewards, response_mask=response_mask,
            group_index=_groups(index, len(response_mask)), reward_baselines=reward_baselines, **settings,
        )  # fmt: skip
        return out.advantages.to(token_level_rewards.dtype), out.returns.to(token_level_rewards.dtype)

    estimate.__name__ = f"estimate_{name}"
    return estimate


#: Estimators by the names under which they are registered.
ESTIMATORS: "dict[str, Any]" = {f"{_PREFIX}{name}": _estimator(name) for name in _NO_VALUES}
ESTIMATORS[f"{_PREFIX}a2tgpo"] = _a2tgpo


# ---- policy losses: called with keywords, return (loss, metrics) ----


def _clip(config: Any) -> "dict[str, float]":
    ratio = float(_get(config, "clip_ratio", 0.2))
    return dict(low=float(_get(config, "clip_ratio_low", ratio)), high=float(_get(config, "clip_ratio_high", ratio)))


def _settings(config: Any) -> "dict[str, Any]":
    return dict(_get(_get(config, "policy_loss"), "lineage") or {})


def _batch(config: Any) -> "dict[str, float]":
    """Numbers of the whole batch from verl, with which micro-batches and ranks add up to its loss."""
    info = dict(_get(config, "global_batch_info") or {})
    names = ("dp_size", "batch_num_tokens", "global_batch_size", "loss_scale_factor")
    return {name: float(info[name]) for name in names if info.get(name) is not None}


def _metrics(numbers: Mapping[str, float]) -> "dict[str, float]":
    return {f"actor/{name}": float(value) for name, value in numbers.items()}


def _policy(name: str) -> Any:
    def loss(
        old_log_prob: Tensor, log_prob: Tensor, advantages: Tensor, response_mask: Tensor,
        loss_agg_mode: str = "token-mean", config: Any = None, rollout_is_weights: Optional[Tensor] = None,
    ) -> "tuple[Tensor, dict[str, float]]":  # fmt: skip
        clip = _clip(config)
        settings: "dict[str, Any]" = dict(clip_ratio_low=clip["low"], clip_ratio_high=clip["high"])
        if _get(config, "clip_ratio_c") is not None:
            settings["clip_ratio_c"] = float(_get(config, "clip_ratio_c"))
        module = PolicyLoss(name, loss_agg_mode, **{**settings, **_settings(config)})
        value = module(log_prob, old_log_prob, advantages, response_mask, rollout_is_weights, **_batch(config))
        return value, _metrics(module.metrics)

    loss.__name__ = f"loss_{name}"
    return loss


def _turn(scaled: bool) -> Any:
    def loss(
        old_log_prob: Tensor, log_prob: Tensor, advantages: Tensor, response_mask: Tensor,
        loss_agg_mode: str = "token-mean", config: Any = None, rollout_is_weights: Optional[Tensor] = None,
    ) -> "tuple[Tensor, dict[str, float]]":  # fmt: skip
        if rollout_is_weights is not None and not scaled:
            raise ValueError("lineage_turn does not support importance weights; turn rollout_is off")
        clip = _clip(config)
        settings = {"cliprange_low": clip["low"], "cliprange_high": clip["high"], **_settings(config)}
        module = TurnLoss(loss_agg_mode, dynamic_clip=scaled, **settings)
        value = module(log_prob, old_log_prob, advantages, response_mask, None, rollout_is_weights if scaled else None)
        return value * _share(response_mask, loss_agg_mode, config), _metrics(module.metrics)

    return loss


def _share(response_mask: Tensor, mode: str, config: Any) -> float:
    """Share of a part in the whole batch; 1 if verl gives no numbers of the batch.

    The turn loss divides by its own rows or tokens, while verl adds micro-batches and averages ranks."""
    whole = _batch(config)
    ranks = whole.get("dp_size", 1.0)
    if mode == "token-mean" and "batch_num_tokens" in whole:
        return float(response_mask.sum()) / whole["batch_num_tokens"] * ranks
    if mode.startswith("seq-mean-token-sum-norm") and "loss_scale_factor" in whole:
        return float(response_mask.shape[1]) / whole["loss_scale_factor"]
    if mode in ("seq-mean-token-sum", "seq-mean-token-mean") and "global_batch_size" in whole:
        return len(response_mask) / whole["global_batch_size"] * ranks
    return 1.0


LOSSES: "dict[str, Any]" = {f"{_PREFIX}{name}": _policy(ours) for name, ours in _LOSS_NAMES.items()}
LOSSES[f"{_PREFIX}turn"] = _turn(False)
LOSSES[f"{_PREFIX}turn_scaled"] = _turn(True)


def put_clip_scale(data: Any, **settings: Any) -> None:
    """For your own trainer: replace the advantages of a DataProto (``batch`` and ``non_tensor_batch["uid"]``) by A2TGPO's,
    and store the clip scale as rollout_is_weights, where ``lineage_turn_scaled`` reads it."""
    batch = data.batch
    if "rollout_is_weights" in batch.keys():
        raise ValueError("rollout_is_weights are in use and cannot hold the clip scale")
    rewards, mask = batch["token_level_rewards"], batch["response_mask"]
    out = a2tgpo_advantage(rewards, mask, _groups(data.non_tensor_batch.get("uid"), len(mask)), **settings)
    if out.ig_clip_scale is None:
        raise ValueError("only turn-group-v1d has a clip scale")
    batch["advantages"] = out.advantages.to(rewards.dtype)
    batch["returns"] = batch["advantages"]
    batch["rollout_is_weights"] = out.ig_clip_scale.to(rewards.dtype)


def register(core_algos: Any) -> None:
    """Register all estimators and losses with verl. Runs on import if verl is installed."""
    for name, estimator in ESTIMATORS.items():
        core_algos.register_adv_est(name)(estimator)
    for name, loss in LOSSES.items():
        core_algos.register_policy_loss(name)(loss)


try:
    from verl.trainer.ppo import core_algos as _core_algos
except ImportError:
    pass  # the functions work without verl
else:
    register(_core_algos)
