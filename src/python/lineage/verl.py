"""The core's advantage estimators and policy losses for verl.

Load the module in every process of the run, through the environment::

    VERL_USE_EXTERNAL_MODULES=lineage.verl python -m verl.trainer.main_ppo \\
        algorithm.adv_estimator=lineage_a2tgpo actor_rollout_ref.actor.policy_loss.loss_mode=lineage_turn

Advantage estimators: ``lineage_a2tgpo``, ``lineage_gdpo``, and ``lineage_`` + each estimator of ``lineage.core.advantage``
(grpo, rloo, opo, gpg, reinforce_plus_plus, remax, gae, optimal_token_baseline, ...). Policy losses: ``lineage_`` + ppo, gspo, cispo,
sapo, gpg, reinforce, geo_mean, dppo_tv, dppo_kl or dro, and ``lineage_turn`` (A2TGPO's). Settings that verl's configuration does not have are
read from the mappings ``algorithm.lineage`` and ``actor.policy_loss.lineage`` (``+algorithm.lineage.alpha=0.3``).
verl's class for ``actor.policy_loss`` has no field for the second one, so name ours in its place::

    actor_rollout_ref.actor.policy_loss._target_=lineage.verl.PolicyLossConfig \\
    +actor_rollout_ref.actor.policy_loss.lineage.tau_pos=0.8

verl's trainer passes values, sum_pi_squared and the parts of a reward only to estimators under verl's own names. So ours
take the place of those four (:data:`REPLACEABLE`) if the environment names them::

    LINEAGE_VERL_REPLACE=gae,gdpo,optimal_token_baseline,tir_optimal_token_baseline

Since verl 0.9.0 the default trainer (``trainer.use_v1``) passes only the values, to gae: the other three, and
``lineage_remax``, need ``trainer.use_v1=False``.

Definitions are those of the installed release, one of :data:`RELEASES`; another is refused. gspo follows loss_agg_mode
since 0.9.1. Unlike verl's functions, ours move a reward at the token of a tool to the last response token before it. ``seq-mean-token-sum-norm`` was sum / length before verl#5417 and is
now also divided by the rows; the earlier definition is ``policy_loss.lineage.loss_agg_mode =
"seq-mean-token-sum-norm@before-5417"``. :func:`definitions` returns the definitions of a run for the params of its row.

verl passes an estimator only rewards, mask, ids and configuration, and a loss only the fields of its own list
(verl/workers/utils/losses.py). Turns are therefore the runs of the mask. A2TGPO's clip scale, which the advantage
computes from whole groups, does not reach the loss, which sees micro-batches; ``lineage_turn`` therefore uses the plain
clip range. A trainer that can add a field may call :func:`put_clip_scale`, which stores the scale as
rollout_is_weights, a [B, T] tensor that verl passes on, and use ``lineage_turn_scaled``. Such runs cannot have
importance weights.

Signatures are those of verl 0.9.0 and 0.9.1 (verl/trainer/ppo/core_algos.py, ray_trainer.py,
verl/workers/utils/losses.py); tests/python/upstream.sh checks them.
"""

from __future__ import annotations

import dataclasses
import importlib.metadata
import os
import re
import sys
from typing import Any, Mapping, Optional

import numpy as np
import torch
from torch import Tensor

from . import core
from .torch import MEANS_PER_ROW, AggLoss, PolicyLoss, TurnLoss, a2tgpo_advantage, nothing, reads

__all__ = [
    "BEFORE_5417", "ESTIMATORS", "LOSSES", "RELEASES", "REPLACEABLE", "aggregate", "definitions", "put_clip_scale", "register", "replace",
]  # fmt: skip

#: Releases of verl that the adapter follows: from the first up to, without, the second.
RELEASES = ((0, 9, 0), (0, 10, 0))


def _installed() -> "tuple[int, ...]":
    """The installed release; the newest known one if verl is not installed (its functions then have no trainer to agree with).

    RuntimeError for a release outside of RELEASES, whose definitions may differ without a message, unless the environment
    variable LINEAGE_VERL_ANY_RELEASE is set."""
    try:
        text = importlib.metadata.version("verl")
    except importlib.metadata.PackageNotFoundError:
        return (0, 9, 1)
    release = tuple(int(part) for part in re.findall(r"\d+", text)[:3])
    if not RELEASES[0] <= release < RELEASES[1] and not os.environ.get("LINEAGE_VERL_ANY_RELEASE"):
        known = " to below ".join(".".join(map(str, one)) for one in RELEASES)
        raise RuntimeError(f"lineage.verl follows verl {known}, and verl {text} is installed: install a known release, or set "
                           "LINEAGE_VERL_ANY_RELEASE=1 to use the definitions of the newest known one")
    return release


INSTALLED = _installed()

_PREFIX = "lineage_"
_NORM = "seq-mean-token-sum-norm"
#: The definition that this aggregation had before verl#5417: the sum over the length, whatever the number of rows.
BEFORE_5417 = _NORM + "@before-5417"
_SEQ_MODES = ("seq-mean-token-sum", "seq-mean-token-mean", _NORM)
_NO_VALUES = (
    "grpo", "grpo_vectorized", "grpo_passk", "rloo", "rloo_vectorized", "opo", "gpg",
    "reinforce_plus_plus_baseline", "reinforce_plus_plus", "remax",
)  # fmt: skip
_LOSS_NAMES = {
    "ppo": "vanilla", "gspo": "gspo", "cispo": "cispo", "sapo": "sapo", "gpg": "gpg", "reinforce": "reinforce",
    "geo_mean": "geo_mean", "dppo_tv": "dppo_tv", "dppo_kl": "dppo_kl", "dro": "dro",
}  # fmt: skip


def _get(config: Any, name: str, default: Any = None) -> Any:
    """Read a setting from OmegaConf, a dataclass or a dict."""
    if config is None:
        return default
    value = config.get(name) if isinstance(config, Mapping) else getattr(config, name, None)
    return default if value is None else value


def _groups(index: Any, rows: int) -> "list[int]":
    """Group numbers from verl's uid, one string per row."""
    if index is None:
        return list(range(rows))
    return core.group_numbers(index)


def _to_responses(rewards: Tensor, mask: Tensor) -> Tensor:
    """Move each reward at a token of a tool to the last response token before it.

    verl's trainer puts the outcome at the last token of the rollout. Estimators that read rewards at response tokens would not
    see it if a tool wrote that token. Rows without response tokens lose theirs, since nothing of them is trained."""
    on = mask != 0
    moved = ~on & (rewards != 0) & torch.isfinite(rewards)
    if not bool(moved.any()):
        return rewards
    places = torch.arange(rewards.shape[1], device=rewards.device).expand_as(rewards)
    before = torch.where(on, places, torch.full_like(places, -1)).cummax(dim=1).values
    first = (moved & (before < 0) & on.any(dim=1, keepdim=True)).nonzero()
    if len(first):
        row, token = first[0].tolist()
        raise ValueError(f"token_level_rewards[{row}][{token}] is {float(rewards[row, token]):g}, before the first response token")
    kept = torch.where(on, rewards, torch.zeros_like(rewards))
    return kept.scatter_add(1, before.clamp(min=0), torch.where(moved & (before >= 0), rewards, torch.zeros_like(rewards)))


def _sessions() -> "Optional[list[int]]":
    """For each row the row with the last output of its session; None where every session has one output.

    An agent's session may have several outputs since verl 0.9.0, and grpo then compares only the last ones. verl passes the
    keys of the rows to no estimator, so they are read from its calling function."""
    frame: Any = sys._getframe(1)
    while frame is not None and frame.f_code.co_name != "compute_advantage_for_multi_trajectories":
        frame = frame.f_back
    if frame is None:
        return None
    keys = [str(key).rsplit("_", 1) for key in frame.f_locals["batch_keys"]]
    last: "dict[str, tuple[int, int]]" = {}
    for row, (session, output) in enumerate(keys):
        last[session] = max(last.get(session, (-1, -1)), (int(output), row))
    return [last[session][1] for session, _ in keys] if len(last) < len(keys) else None


# ---- advantage estimators: called with keywords, return (advantages, returns) ----


def _a2tgpo(
    token_level_rewards: Tensor, response_mask: Tensor, config: Any = None, index: Any = None, **_: Any
) -> "tuple[Tensor, Tensor]":
    settings = dict(_get(config, "lineage") or {})
    settings.setdefault("gamma", float(_get(config, "gamma", 1.0)))
    groups = _groups(index, len(response_mask))
    out = a2tgpo_advantage(_to_responses(token_level_rewards, response_mask), response_mask, groups, **settings)
    advantages = out.advantages.to(token_level_rewards.dtype)
    return advantages, advantages


#: verl's vectorised estimator sums squared differences from the mean (since verl#6348), which is grpo's formula. The
#: core's kernel of that name has the earlier formula, which finds no spread between 1 and 1.00001.
_SAME = {"grpo_vectorized": "grpo"}


#: Estimators that do not read rewards at the tokens of tools. The others sum the rewards of the whole row.
_AT_RESPONSES = ("gae", "remax", "reinforce_plus_plus", "optimal_token_baseline", "tir_optimal_token_baseline")


def _advantage(estimator: str, rewards: Tensor, mask: Tensor, **given: Any) -> "tuple[Tensor, Tensor]":
    if estimator in _AT_RESPONSES:
        rewards = _to_responses(rewards, mask)
    out = core.run_kernel("advantage", estimator=estimator, token_level_rewards=rewards, response_mask=mask, **given)
    return out.advantages.to(rewards.dtype), out.returns.to(rewards.dtype)


def _estimator(name: str) -> Any:
    def estimate(
        token_level_rewards: Tensor, response_mask: Tensor, config: Any = None, index: Any = None,
        reward_baselines: Optional[Tensor] = None, **_: Any,
    ) -> "tuple[Tensor, Tensor]":  # fmt: skip
        settings = dict(_get(config, "lineage") or {})
        if name == "reinforce_plus_plus":
            settings.setdefault("gamma", float(_get(config, "gamma", 1.0)))
            settings.setdefault("through_holes", True)  # since verl#7300 tokens of tools pass the return on unchanged
        elif reads("advantage", name, "norm_adv_by_std"):
            settings.setdefault("norm_adv_by_std", bool(_get(config, "norm_adv_by_std_in_grpo", True)))
        if name == "remax" and reward_baselines is None:
            raise ValueError(f"{_PREFIX}remax needs reward_baselines, which {_V1}: set trainer.use_v1=False")
        groups = _groups(index, len(response_mask))
        last = _sessions() if name == "grpo" else None
        if last is not None:
            return _last_outputs(last, token_level_rewards, response_mask, groups, settings)
        advantages, returns = _advantage(
            _SAME.get(name, name), token_level_rewards, response_mask, group_index=groups,
            reward_baselines=reward_baselines if name == "remax" else None, **settings,
        )  # fmt: skip
        if name == "reinforce_plus_plus":
            returns = returns * (response_mask != 0)
        return advantages, returns

    estimate.__name__ = f"estimate_{name}"
    return estimate


def _last_outputs(
    last: "list[int]", rewards: Tensor, mask: Tensor, groups: "list[int]", settings: "dict[str, Any]"
) -> "tuple[Tensor, Tensor]":
    """grpo over the last outputs of the sessions; the others have the advantage of their session's last one, as in verl."""
    rows = sorted(set(last))
    found, _ = _advantage("grpo", rewards[rows], mask[rows], group_index=[groups[row] for row in rows], **settings)
    scores = found.gather(1, (mask[rows] != 0).long().argmax(dim=1, keepdim=True))
    advantages = scores[[rows.index(row) for row in last]] * (mask != 0)
    return advantages, advantages


#: Why an input is missing in verl's default trainer since 0.9.0.
_V1 = "verl's default trainer (trainer.use_v1) does not read"


def _needs(name: str, given: Any, what: str) -> None:
    if given is None:
        also = "" if name == "gae" else f". As {_V1} them, also set trainer.use_v1=False"
        raise ValueError(
            f"{_PREFIX}{name} needs {what}, which verl's trainer passes only under its own name: set "
            f"algorithm.adv_estimator={name} and the environment variable LINEAGE_VERL_REPLACE={name}{also}"
        )


def _gae(
    token_level_rewards: Tensor, values: Optional[Tensor] = None, response_mask: Any = None, gamma: Any = None, lam: Any = None,
    config: Any = None, **_: Any,
) -> "tuple[Tensor, Tensor]":  # fmt: skip
    _needs("gae", values, "values")
    settings = dict(_get(config, "lineage") or {})
    for name, value in (("gamma", gamma), ("lam", lam)):
        settings.setdefault(name, float(_get(config, name, 1.0) if value is None else value))
    return _advantage("gae", token_level_rewards, response_mask, values=values, **settings)


def _token_baseline(name: str) -> Any:
    def estimate(
        token_level_rewards: Tensor, response_mask: Tensor, index: Any = None, old_log_probs: Optional[Tensor] = None,
        sum_pi_squared: Optional[Tensor] = None, rollout_is_weights: Optional[Tensor] = None, handle_zero_tail: bool = True,
        epsilon: float = 1e-8, config: Any = None, **_: Any,
    ) -> "tuple[Tensor, Tensor]":  # fmt: skip
        _needs(name, sum_pi_squared, "sum_pi_squared")
        _needs(name, old_log_probs, "old_log_probs")
        settings = {"handle_zero_tail": handle_zero_tail, "epsilon": epsilon, **dict(_get(config, "lineage") or {})}
        return _advantage(
            name, token_level_rewards, response_mask, group_index=_groups(index, len(response_mask)), old_log_prob=old_log_probs,
            sum_pi_squared=sum_pi_squared, rollout_is_weights=rollout_is_weights, **settings,
        )  # fmt: skip

    estimate.__name__ = f"estimate_{name}"
    return estimate


def _reward_parts(rewards: Tensor, config: Any, parts: Any) -> "list[tuple[float, Tensor]]":
    """The parts of the reward that GDPO normalises, each with its weight, as token rewards: verl's gdpo_reward_keys."""
    keys = _get(config, "gdpo_reward_keys")
    if parts is None:
        if keys:
            _needs("gdpo", parts, "the parts of the reward (non_tensor_batch)")
        return [(1.0, rewards)]
    if not keys:
        raise ValueError("gdpo needs algorithm.gdpo_reward_keys, the names of the parts of the reward that compute_score returns")
    missing = [key for key in keys if key not in parts]
    if missing:
        raise ValueError(f"gdpo: compute_score did not return {missing[0]!r}; it returned {', '.join(map(str, parts))}")
    weights = list(_get(config, "gdpo_reward_weights") or [1.0] * len(keys))
    if len(weights) != len(keys):
        raise ValueError(f"gdpo: {len(weights)} gdpo_reward_weights for {len(keys)} gdpo_reward_keys")
    found = []
    for key, weight in zip(keys, weights):
        placed = torch.zeros_like(rewards)
        placed[:, -1] = torch.as_tensor(np.asarray(parts[key], dtype=np.float64)).to(placed)
        found.append((float(weight), placed))
    return found


def _gdpo(
    token_level_rewards: Tensor, response_mask: Tensor, index: Any = None, epsilon: float = 1e-6, config: Any = None,
    non_tensor_batch: Any = None, **_: Any,
) -> "tuple[Tensor, Tensor]":  # fmt: skip
    """GDPO (arXiv 2601.05242): each part of the reward is normalised within its group as by GRPO, the weighted sum is whitened
    over the response tokens of the batch."""
    settings = {"epsilon": epsilon, **dict(_get(config, "lineage") or {})}
    settings.setdefault("norm_adv_by_std", bool(_get(config, "norm_adv_by_std_in_grpo", True)))
    groups = _groups(index, len(response_mask))
    total = torch.zeros_like(token_level_rewards)
    for weight, rewards in _reward_parts(token_level_rewards, config, non_tensor_batch):
        total = total + weight * _advantage("grpo", rewards, response_mask, group_index=groups, **settings)[0]
    advantages = core.run_kernel("whiten", advantages=total, response_mask=response_mask, masked=True).advantages.to(total.dtype)
    return advantages, advantages


#: Estimators by the names under which they are registered.
ESTIMATORS: "dict[str, Any]" = {f"{_PREFIX}{name}": _estimator(name) for name in _NO_VALUES}
ESTIMATORS[f"{_PREFIX}a2tgpo"] = _a2tgpo
ESTIMATORS[f"{_PREFIX}gdpo"] = _gdpo
ESTIMATORS[f"{_PREFIX}gae"] = _gae
for _name in ("optimal_token_baseline", "tir_optimal_token_baseline"):
    ESTIMATORS[f"{_PREFIX}{_name}"] = _token_baseline(_name)

#: verl's functions by the names of the estimators that ours may replace.
REPLACEABLE = {
    "gae": "compute_gae_advantage_return", "gdpo": "compute_gdpo_outcome_advantage",
    "optimal_token_baseline": "compute_optimal_token_baseline_advantage",
    "tir_optimal_token_baseline": "compute_multi_turn_optimal_token_baseline_advantage",
}  # fmt: skip


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


def _denominator(mode: str, mask: Tensor, whole: Mapping[str, float]) -> "tuple[float, float]":
    """(ranks, count): the sum of a part is multiplied by the first and divided by the second. verl's agg_loss.

    A count of 0 means that there is nothing to average, and that the numbers of the whole batch are unknown."""
    ranks = whole.get("dp_size", 1.0)
    if mode == "token-sum":
        return ranks, 1.0
    name = "batch_num_tokens" if mode == "token-mean" else "global_batch_size"
    if mode != "token-mean" and mode not in _SEQ_MODES:
        raise ValueError(f"loss_agg_mode is {mode!r}; known: token-mean, token-sum, {', '.join(_SEQ_MODES)}, {BEFORE_5417}")
    if name not in whole:
        if ranks > 1:
            raise ValueError(f"{name} is required when dp_size > 1")
        count = float(mask.sum()) if mode == "token-mean" else float((mask != 0).any(dim=1).sum())
    else:
        count = whole[name]
    if mode == _NORM:
        count *= whole.get("loss_scale_factor", float(mask.shape[1]))
    return ranks, count


def _core_mode(mode: str, mask: Tensor, whole: Mapping[str, float]) -> "Optional[tuple[str, float]]":
    """(the core's mode, the factor of its loss of this part) for verl's mode; None if the part has no tokens.

    The core divides by the tokens or rows of the part, so that the factor holds whatever verl divides by."""
    own = float(mask.sum()) if mode in ("token-mean", "token-sum") else float((mask != 0).any(dim=1).sum())
    if not own:
        return None
    return _MODES.get(mode, mode), _share(mask, mode, whole)


def aggregate(
    loss_mat: Tensor, loss_mask: Tensor, loss_agg_mode: str, dp_size: int = 1, batch_num_tokens: Optional[int] = None,
    global_batch_size: Optional[int] = None, loss_scale_factor: Optional[int] = None,
) -> Tensor:  # fmt: skip
    """verl's ``agg_loss`` with the same arguments, and :data:`BEFORE_5417` as a further mode.

    loss_mat, loss_mask: [B][T]. Returns a scalar with a gradient for loss_mat; 0 if the mask has no token. ValueError
    for an unknown mode, or if dp_size exceeds 1 without the count of the whole batch."""
    given = dict(
        dp_size=dp_size, batch_num_tokens=batch_num_tokens, global_batch_size=global_batch_size,
        loss_scale_factor=loss_scale_factor,
    )  # fmt: skip
    found = _core_mode(loss_agg_mode, loss_mask, {name: float(value) for name, value in given.items() if value is not None})
    if found is None:
        return nothing(loss_mat)
    loss: Tensor = AggLoss(found[0])(loss_mat, loss_mask) * found[1]
    return loss


def definitions(config: Any) -> "dict[str, str]":
    """The definitions of an actor's loss as params for ``Store.trial``: loss_mode and loss_agg_mode with its version."""
    mode = str(_settings(config).get("loss_agg_mode") or _get(config, "loss_agg_mode", "token-mean"))
    return {
        "loss_mode": str(_get(_get(config, "policy_loss"), "loss_mode", "vanilla")),
        "loss_agg_mode": mode + "@5417" if mode == _NORM else mode,
    }


def _metrics(numbers: Mapping[str, float]) -> "dict[str, float]":
    return {f"actor/{name}": float(value) for name, value in numbers.items()}


def _is_mean_per_row(name: str) -> bool:
    """Whether verl's loss averages over rows whatever loss_agg_mode says."""
    return name in MEANS_PER_ROW and (name != "gspo" or INSTALLED < (0, 9, 1))


def _policy(name: str) -> Any:
    def loss(
        old_log_prob: Tensor, log_prob: Tensor, advantages: Tensor, response_mask: Tensor,
        loss_agg_mode: str = "token-mean", config: Any = None, rollout_is_weights: Optional[Tensor] = None,
    ) -> "tuple[Tensor, dict[str, float]]":  # fmt: skip
        clip = _clip(config)
        settings: "dict[str, Any]" = dict(clip_ratio_low=clip["low"], clip_ratio_high=clip["high"])
        for of, setting in ((config, "clip_ratio_c"), (config, "tau_pos"), (config, "tau_neg"), (_get(config, "policy_loss"), "dro_beta")):
            if _get(of, setting) is not None:
                settings[setting] = float(_get(of, setting))
        settings = {key: value for key, value in settings.items() if reads("policy_loss", name, key)}
        settings.update(_settings(config))
        mode = str(settings.pop("loss_agg_mode", None) or loss_agg_mode)
        # verl's geo_mean is the mean of the rows of its part
        whole = {} if name == "geo_mean" else _batch(config)
        found = _core_mode("seq-mean-token-mean" if _is_mean_per_row(name) else mode, response_mask, whole)
        if found is None:
            return nothing(log_prob), {}
        module = PolicyLoss(name, found[0], **settings)
        value = module(log_prob, old_log_prob, advantages, response_mask, rollout_is_weights) * found[1]
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
        mode = str(settings.pop("loss_agg_mode", None) or loss_agg_mode)
        share = _share(response_mask, mode, _batch(config))
        full = (response_mask != 0).any(dim=1)  # rows without a response token have no turn
        if not bool(full.any()):
            return nothing(log_prob), {}
        scale = rollout_is_weights[full] if scaled and rollout_is_weights is not None else None
        module = TurnLoss(_MODES.get(mode, mode), dynamic_clip=scaled, **settings)
        value = module(log_prob[full], old_log_prob[full], advantages[full], response_mask[full], None, scale)
        return value * share, _metrics(module.metrics)

    return loss


#: The modes of the core that have the sum of a mode with another count.
_MODES = {"token-sum": "token-mean", _NORM: "seq-mean-token-sum", BEFORE_5417: _NORM}


def _share(mask: Tensor, mode: str, whole: Mapping[str, float]) -> float:
    """The factor that turns a loss that divides by the part's own tokens or rows into verl's share of the batch."""
    if mode == BEFORE_5417:
        return float(mask.shape[1]) / whole.get("loss_scale_factor", float(mask.shape[1]))
    ranks, count = _denominator(mode, mask, whole)
    own = float(mask.sum()) if mode in ("token-mean", "token-sum") else float((mask != 0).any(dim=1).sum())
    return own * ranks / count if count else 0.0


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


def replace(core_algos: Any, names: "list[str]") -> None:
    """Put our estimators in the place of verl's, under verl's names (keys of REPLACEABLE). Runs on import with the names in
    LINEAGE_VERL_REPLACE. ValueError for another name."""
    for name in names:
        if name not in REPLACEABLE:
            raise ValueError(f"LINEAGE_VERL_REPLACE names {name!r}; it may name {', '.join(REPLACEABLE)}")
    for name in names:
        ours = ESTIMATORS[_PREFIX + name]
        setattr(core_algos, REPLACEABLE[name], ours)  # where compute_advantage calls gae
        core_algos.ADV_ESTIMATOR_REGISTRY[name] = ours


def _config_class(base: Any) -> Any:
    """verl's PolicyLossConfig with a field for the core's settings."""
    fields: Any = [("lineage", "dict[str, Any]", dataclasses.field(default_factory=dict))]
    made = dataclasses.make_dataclass("PolicyLossConfig", fields, bases=(base,))
    made.__module__ = __name__  # where pickle and Hydra look it up
    made.__doc__ = "verl's PolicyLossConfig with a field ``lineage``, the settings of the core's losses."
    return made


def __getattr__(name: str) -> Any:
    """Make PolicyLossConfig when it is first asked for: at import verl may still be importing its own classes."""
    if name != "PolicyLossConfig":
        raise AttributeError(f"module {__name__!r} has no attribute {name!r}")
    from verl.workers.config import PolicyLossConfig as base

    globals()[name] = _config_class(base)
    return globals()[name]


try:
    from verl.trainer.ppo import core_algos as _core_algos
except ImportError:
    pass  # the functions work without verl
else:
    register(_core_algos)
    replace(_core_algos, [name for name in os.environ.get("LINEAGE_VERL_REPLACE", "").split(",") if name])
