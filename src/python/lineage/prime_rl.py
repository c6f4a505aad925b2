"""The core's losses as custom losses of prime-rl::

    [trainer.loss]
    type = "custom"
    import_path = "lineage.prime_rl.loss"

    [trainer.loss.kwargs]
    name = "gspo"
    clip_ratio_high = 0.28

prime-rl calls a loss for one sequence at a time, with the members of the rl stream in ``loss_mask``. It adds up
the sequences and divides by the tokens of the batch itself, so losses here are sums over tokens. A loss that
needs several sequences is not available in this form. Contract: PrimeIntellect-ai/prime-rl@559b447
(docs, "custom loss"; src/prime_rl/trainer/rl/loss.py: LossInputs, LossOutputs), checked by
tests/python/test_adapters.py.
"""

from __future__ import annotations

from typing import Any

import torch
from torch import Tensor

from .torch import PolicyLoss, TurnLoss

__all__ = ["loss"]


class _Outputs:
    """Replaces LossOutputs if prime-rl is not installed."""

    def __init__(self, loss: Tensor, metrics: "dict[str, Tensor]") -> None:
        self.loss, self.metrics = loss, metrics


def _outputs(loss: Tensor, metrics: "dict[str, Tensor]") -> Any:
    try:
        from prime_rl.trainer.rl.loss import LossOutputs
    except ImportError:
        return _Outputs(loss, metrics)
    return LossOutputs(loss=loss, metrics=metrics)


def loss(inputs: Any, name: str = "vanilla", **settings: Any) -> Any:
    """Compute the LossOutputs of one sequence.

    ``name`` is a loss of :class:`lineage.torch.PolicyLoss`, or "turn" for A2TGPO's, whose turns are the runs of the
    mask. settings: clip_ratio_low, ... ``inputs.loss_weights``, if the sequence has them, multiply the token losses."""
    mask = inputs.loss_mask.unsqueeze(0)
    log_prob, old = inputs.trainer_logprobs.unsqueeze(0), inputs.inference_logprobs.unsqueeze(0)
    advantages = inputs.advantages.unsqueeze(0)
    weights = getattr(inputs, "loss_weights", None)
    if not bool(mask.any()):
        return _outputs((log_prob * 0).sum(), {})  # no member of the stream: a loss of 0 that has a gradient
    if name == "turn":
        if weights is not None:
            raise ValueError("the turn loss has no weights per token")
        module: Any = TurnLoss("seq-mean-token-sum", dynamic_clip=False, **settings)
        value = module(log_prob, old.detach(), advantages.detach(), mask)
    else:
        module = PolicyLoss(name, None if name in ("sapo", "geo_mean") else "seq-mean-token-sum", **settings)
        scale = None if weights is None else weights.unsqueeze(0).detach()
        value = module(log_prob, old.detach(), advantages.detach(), mask, scale)
    if name == "sapo":
        value = value * mask.sum()  # it always averages over the sequence; prime-rl expects the sum
    metrics = {key: torch.tensor(number) for key, number in module.metrics.items()}
    return _outputs(value, metrics)
