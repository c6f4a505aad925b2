"""The core's losses for PyTorch: autograd functions and modules, A2TGPO on a trainer's batch, and a check of
micro-batching.

A loss computes d loss / d log_prob itself, so autograd traces nothing: ``backward`` multiplies the gradient that the
forward pass computed. Only ``log_prob`` receives a gradient (in the value loss ``vpreds``). A second derivative
and torch.jit.trace raise RuntimeError. Tensors on a GPU are computed on the CPU, through pinned memory (see :mod:`lineage.core`).

    loss_fn = PolicyLoss("vanilla", clip_ratio_low=0.2, clip_ratio_high=0.28)
    loss = loss_fn(log_prob, old_log_prob, advantages, response_mask)
    loss.backward()
    loss_fn.metrics["pg_clipfrac"]

If the loss of a batch is computed in parts, over micro-batches or data-parallel ranks, pass the numbers of the whole
batch (``batch_num_tokens``, ``global_batch_size``, ``dp_size``). :func:`totals` counts them, and
:func:`check_partition` checks that the partition does not change the result.
"""

from __future__ import annotations

import functools
from typing import Any, Callable, Mapping, NamedTuple, Optional, Sequence, cast

import torch
from torch import Tensor, nn

from . import core
from .turns import AdaptiveTurnClipper, InformationGain, NormalizedTurns, TurnGroupNormalizer

__all__ = [
    "A2TGPO", "AdaptiveTurnClipper", "AggLoss", "BypassLoss", "ComposedLoss", "DecoupledLoss", "DistillationLoss", "Gradients",
    "InformationGain", "KLPenalty", "NormalizedTurns", "PartitionReport", "PolicyLoss", "StreamLoss", "TurnGroupNormalizer",
    "TurnLoss", "ValueLoss", "a2tgpo_advantage", "check_partition", "nothing", "totals",
]  # fmt: skip


class Gradients(torch.autograd.Function):
    """An autograd function for any kernel with a loss and a gradient. The modules below use it.

    ``Gradients.apply(input, box, family, input_name, loss_name, gradient_name, given)`` returns the result
    loss_name as a tensor with input's type and device; box["out"] receives the :class:`lineage.core.Result`.
    """

    @staticmethod
    def forward(ctx: Any, *args: Any, **_: Any) -> Tensor:
        input: Tensor
        box: "dict[str, core.Result]"
        given: "Mapping[str, Any]"
        input, box, family, input_name, loss_name, gradient_name, given = args
        out = core.run_kernel(family, **{**given, input_name: input})
        box["out"] = out
        gradient = out[gradient_name]
        if isinstance(gradient, core.Ragged):
            gradient = gradient.values
        ctx.save_for_backward(input, gradient)
        value = out[loss_name]
        if isinstance(value, Tensor):
            return value.to(dtype=input.dtype)
        half = input.dtype in (torch.bfloat16, torch.float16)  # a loss has more digits than such an input
        return torch.tensor(value, dtype=torch.float32 if half else input.dtype, device=input.device)

    @staticmethod
    def backward(ctx: Any, *grad_outputs: Any) -> Any:
        outer: Tensor
        (outer,) = grad_outputs
        input, gradient = ctx.saved_tensors
        gradient = gradient.to(dtype=outer.dtype) * outer
        if torch.is_grad_enabled():  # create_graph=True
            gradient = cast(Tensor, _FirstOnly.apply(gradient, input))
        return gradient.to(dtype=input.dtype), None, None, None, None, None, None


class _FirstOnly(torch.autograd.Function):
    """Passes a gradient on, as a function of the input whose derivative is refused.

    PyTorch's once_differentiable refuses only where the outer gradient needs one itself; elsewhere it treats the
    gradient as a constant, and a second derivative lacks the curvature of the loss without a word."""

    @staticmethod
    def forward(ctx: Any, *args: Any, **_: Any) -> Tensor:
        gradient: Tensor = args[0]  # args[1] is the input, whose derivative is refused
        return gradient.clone()

    @staticmethod
    def backward(ctx: Any, *grad_outputs: Any) -> Any:
        raise RuntimeError("the losses of lineage have first derivatives only; a second derivative was asked for")


def nothing(log_prob: Tensor) -> Tensor:
    """A loss of 0 whose gradient is 0, also where log_prob is not finite: for a part without trained tokens."""
    nowhere = torch.zeros_like(log_prob, dtype=torch.bool)
    return torch.where(nowhere, log_prob, torch.zeros_like(log_prob)).sum().float()


class _Loss(nn.Module):
    """A loss with its settings. ``metrics``: the other numbers of the last call; ``outputs``: all its results."""

    family = ""
    input_name, loss_name, gradient_name = "log_prob", "loss", "d_log_prob"

    def __init__(self, **settings: Any) -> None:
        super().__init__()
        known = {item["name"] for kernel in core.kernels() if kernel["family"] == self.family for item in kernel["inputs"]}
        for name in settings:
            if name not in known:
                raise TypeError(f"{type(self).__name__}() takes no setting {name!r}; it takes {', '.join(sorted(known))}")
        self.settings = settings
        self.outputs: core.Result = core.Result()

    def extra_repr(self) -> str:
        return ", ".join(f"{name}={value!r}" for name, value in self.settings.items())

    @property
    def metrics(self) -> "dict[str, float]":
        numbers = {name: value for name, value in self.outputs.items() if isinstance(value, float)}
        found = {name: value for name, value in numbers.items() if name != self.loss_name}
        nested = self.outputs.get("metrics")
        return {**found, **(nested if isinstance(nested, Mapping) else {})}

    def _run(self, input: Tensor, given: Mapping[str, Any], **call: Any) -> Tensor:
        # torch.jit.is_tracing has no type in older releases
        if torch._C._get_tracing_state() is not None:  # pyright: ignore[reportPrivateImportUsage]
            raise RuntimeError(f"{type(self).__name__} cannot be traced: torch.jit.trace would keep its result as a constant")
        box: "dict[str, core.Result]" = {}
        loss = Gradients.apply(
            input, box, self.family, self.input_name, self.loss_name, self.gradient_name,
            {**self.settings, **given, **call},
        )  # fmt: skip
        self.outputs = box["out"]
        return cast(Tensor, loss)


@functools.lru_cache(maxsize=None)  # asked for each setting in each step
def reads(family: str, chosen: str, setting: str) -> bool:
    """Whether the loss or estimator of that name has the setting; the kernel warns of one that has no effect."""
    inputs = next(kernel["inputs"] for kernel in core.kernels() if kernel["family"] == family)
    return any(item["name"] == setting and (not item.get("only") or chosen in item["only"]) for item in inputs)


#: Losses whose papers have a mean per row. gspo has the other aggregations, too.
MEANS_PER_ROW = ("gspo", "sapo", "geo_mean")


class PolicyLoss(_Loss):
    """PPO ("vanilla", with dual clip), "gspo", "cispo", "sapo", "gpg", "reinforce", "geo_mean", "dppo_tv", "dppo_kl",
    "dro", "vespo" (rlcore/loss.h). LUSPO is gspo with "seq-mean-token-sum".

    loss_agg_mode: "seq-mean-token-mean" for :data:`MEANS_PER_ROW`, else "token-mean"."""

    family = "policy_loss"

    def __init__(self, loss: str = "vanilla", loss_agg_mode: Optional[str] = None, **settings: Any) -> None:
        mode = loss_agg_mode or ("seq-mean-token-mean" if loss in MEANS_PER_ROW else "token-mean")
        super().__init__(loss=loss, loss_agg_mode=mode, **settings)

    def forward(
        self, log_prob: Tensor, old_log_prob: Optional[Tensor], advantages: Tensor, response_mask: Tensor,
        rollout_is_weights: Optional[Tensor] = None, **call: Any,
    ) -> Tensor:  # fmt: skip
        """All tensors are [B][T]. call: settings of this call, such as batch_num_tokens."""
        given = dict(
            old_log_prob=old_log_prob, advantages=advantages, response_mask=response_mask,
            rollout_is_weights=rollout_is_weights,
        )  # fmt: skip
        return self._run(log_prob, given, **call)


class TurnLoss(_Loss):
    """A2TGPO's loss, with one importance ratio and one clip range per turn (rlcore/a2tgpo.h)."""

    family = "a2tgpo_turn_loss"

    def __init__(
        self, loss_agg_mode: str = "seq-mean-token-mean", cliprange_low: float = 0.2, cliprange_high: float = 0.28,
        dynamic_clip: bool = True, **settings: Any,
    ) -> None:  # fmt: skip
        super().__init__(
            loss_agg_mode=loss_agg_mode, cliprange_low=cliprange_low, cliprange_high=cliprange_high,
            dynamic_clip=dynamic_clip, **settings,
        )  # fmt: skip

    def forward(
        self, log_prob: Tensor, old_log_prob: Tensor, advantages: Tensor, response_mask: Tensor,
        turn_id: Optional[Tensor] = None, ig_clip_scale: Optional[Tensor] = None,
    ) -> Tensor:  # fmt: skip
        """All tensors are [B][T]. Without turn_id, turns are the runs of the mask."""
        if turn_id is None:
            turn_id = core.turns_from_mask(response_mask)
        given = dict(
            old_log_prob=old_log_prob, advantages=advantages, response_mask=response_mask, turn_id=turn_id,
            ig_clip_scale=ig_clip_scale,
        )  # fmt: skip
        return self._run(log_prob, given)


class ValueLoss(_Loss):
    """PPO's clipped value loss."""

    family = "value_loss"
    input_name, gradient_name = "vpreds", "d_vpreds"

    def __init__(self, cliprange_value: float = 0.2, loss_agg_mode: str = "token-mean", **settings: Any) -> None:
        super().__init__(cliprange_value=cliprange_value, loss_agg_mode=loss_agg_mode, **settings)

    def forward(self, vpreds: Tensor, values: Tensor, returns: Tensor, response_mask: Tensor, **call: Any) -> Tensor:
        """All tensors are [B][T]."""
        return self._run(vpreds, dict(values=values, returns=returns, response_mask=response_mask), **call)


class AggLoss(_Loss):
    """Aggregates your own token losses [B][T] with verl's denominators."""

    family = "agg_loss"
    input_name, gradient_name = "loss_mat", "d_loss_mat"

    def __init__(self, loss_agg_mode: str = "token-mean", **settings: Any) -> None:
        super().__init__(loss_agg_mode=loss_agg_mode, **settings)

    def forward(self, loss_mat: Tensor, loss_mask: Tensor, **call: Any) -> Tensor:
        return self._run(loss_mat, dict(loss_mask=loss_mask), **call)


class KLPenalty(_Loss):
    """KL estimate per token, [B][T]: k1, k2, k3 or abs; with ``+`` appended straight-through. With ``old_log_prob`` of the policy that
    sampled, the value is times the ratio to it, and the gradient is the unbiased one, which is the same for all estimators; k3 is
    DeepSeek-V3.2's estimate off policy (TRL: ``use_bias_correction_kl``)."""

    family = "kl_penalty"
    loss_name = "kl"

    def __init__(self, kl_penalty: str = "k3", **settings: Any) -> None:
        super().__init__(kl_penalty=kl_penalty, **settings)

    def forward(self, log_prob: Tensor, ref_log_prob: Tensor, **call: Any) -> Tensor:
        return self._run(log_prob, dict(ref_log_prob=ref_log_prob), **call)


class BypassLoss(_Loss):
    """Policy loss whose old log-probs are those of the sampler."""

    family = "bypass_loss"

    def __init__(self, loss_type: str = "ppo_clip", loss_agg_mode: str = "token-mean", **settings: Any) -> None:
        super().__init__(loss_type=loss_type, loss_agg_mode=loss_agg_mode, **settings)

    def forward(
        self, log_prob: Tensor, rollout_log_prob: Tensor, advantages: Tensor, response_mask: Tensor, **call: Any
    ) -> Tensor:
        given = dict(rollout_log_prob=rollout_log_prob, advantages=advantages, response_mask=response_mask)
        return self._run(log_prob, given, **call)


class DecoupledLoss(_Loss):
    """Decoupled PPO with current, proximal and sampling policy."""

    family = "decoupled_loss"

    def __init__(self, loss_agg_mode: str = "token-mean", **settings: Any) -> None:
        super().__init__(loss_agg_mode=loss_agg_mode, **settings)

    def forward(
        self, log_prob: Tensor, proximal_log_prob: Tensor, rollout_log_prob: Tensor, advantages: Tensor,
        response_mask: Tensor, **call: Any,
    ) -> Tensor:  # fmt: skip
        given = dict(
            proximal_log_prob=proximal_log_prob, rollout_log_prob=rollout_log_prob, advantages=advantages,
            response_mask=response_mask,
        )  # fmt: skip
        return self._run(log_prob, given, **call)


class ComposedLoss(_Loss):
    """Policy loss of an asynchronous agent: backend, staleness and clipped ratio (rlcore/compose.h)."""

    family = "compose_corrections"

    def __init__(self, loss_agg_mode: str = "token-mean", **settings: Any) -> None:
        super().__init__(loss_agg_mode=loss_agg_mode, **settings)

    def forward(self, log_prob: Tensor, advantages: Tensor, response_mask: Tensor, **given: Any) -> Tensor:
        """given: proximal_log_prob, behaviour_log_prob, sampler_log_prob, tool_mask, turn_id, routes."""
        return self._run(log_prob, dict(advantages=advantages, response_mask=response_mask), **given)


class DistillationLoss(_Loss):
    """On-policy distillation as a loss (K2) on failed rollouts; ``outputs.advantages`` are K1's."""

    family = "distillation"
    loss_name = "kd_loss"

    def __init__(
        self, pass_rate_threshold: float, horizon: int, normalise: bool = False, kd_coef: float = 1.0, **settings: Any
    ) -> None:
        super().__init__(
            pass_rate_threshold=pass_rate_threshold, horizon=horizon, normalise=normalise, kd_coef=kd_coef, **settings
        )

    def forward(
        self, log_prob: Tensor, teacher_log_prob: Tensor, rl_advantages: Tensor, response_mask: Tensor,
        group_index: Any, rewards: Any, **call: Any,
    ) -> Tensor:  # fmt: skip
        """call: the numbers of :meth:`totals`, if this is a part of a batch."""
        given = dict(
            teacher_log_prob=teacher_log_prob, rl_advantages=rl_advantages, response_mask=response_mask,
            group_index=group_index, rewards=rewards,
        )  # fmt: skip
        return self._run(log_prob, given, **call)

    def totals(self, batch: Mapping[str, Any], dp_size: int = 1) -> "dict[str, Any]":
        """Numbers of the whole batch for its parts: the pass rate of each row's group [B], which is split with the rows,
        the distilled tokens, and the ranks. batch: the arguments of a call on the whole batch."""
        with torch.no_grad():
            self(**batch)
        known: "dict[str, Any]" = dict(pass_rate=list(map(float, self.outputs["pass_rate"])), dp_size=float(dp_size))
        if self.outputs["eligible_tokens"]:
            known["eligible_tokens"] = int(self.outputs["eligible_tokens"])
        return known


class StreamLoss(_Loss):
    """prime-rl's loss over packed sequences: rl, ce and ref_kl weight streams (rlcore/stream_loss.h)."""

    family = "prime_loss"
    input_name, gradient_name = "trainer_logprobs", "d_trainer_logprobs"

    def __init__(self, rl_loss: str = "default", **settings: Any) -> None:
        super().__init__(rl_loss=rl_loss, **settings)

    def forward(
        self, trainer_logprobs: Tensor, inference_logprobs: Tensor, advantages: Tensor, loss_mask: Tensor,
        cu_seqlens: Any, **given: Any,
    ) -> Tensor:  # fmt: skip
        """Flat tensors of all sequences, end to end; cu_seqlens [B + 1]. given: ref_logprobs, rl_weights, ..."""
        arrays = dict(inference_logprobs=inference_logprobs, advantages=advantages, loss_mask=loss_mask)
        return self._run(trainer_logprobs, arrays, cu_seqlens=cu_seqlens, **given)


# ---- A2TGPO on a batch of a trainer ----


class A2TGPO(NamedTuple):
    """advantages [B][T]; ig_clip_scale [B][T] (turn-group-v1d, else None); turn_id [B][T]."""

    advantages: Tensor
    ig_clip_scale: Optional[Tensor]
    turn_id: Tensor


def a2tgpo_advantage(
    token_level_rewards: Tensor, response_mask: Tensor, group_index: Any, turn_id: Optional[Tensor] = None,
    info_gain_norm_mode: str = "turn-group-v1d", **settings: Any,
) -> A2TGPO:  # fmt: skip
    """Compute advantages and clip scales.

    token_level_rewards [B][T]: the information gain at the last token of each turn, and the outcome at the last token
    of the last turn. group_index [B]: the prompt of each row, numbers or strings (verl's uid). Without turn_id, turns
    are the runs of the mask. settings: alpha, gamma, clip_beta, ..."""
    turns: Tensor = core.turns_from_mask(response_mask) if turn_id is None else turn_id
    if not isinstance(group_index, Tensor):
        group_index = core.group_numbers(group_index)
    out = core.run_kernel(
        "a2tgpo_advantage", token_level_rewards=token_level_rewards, response_mask=response_mask,
        group_index=group_index, turn_id=turns, info_gain_norm_mode=info_gain_norm_mode, **settings,
    )  # fmt: skip
    return A2TGPO(out.advantages, out.get("ig_clip_scale"), turns)


# ---- check of the partition ----


def totals(response_mask: Tensor, dp_size: int = 1) -> "dict[str, float]":
    """Numbers of the whole batch for the losses of its parts: response tokens, rows with tokens, ranks.

    verl does not apply dp_size to seq-mean-token-sum-norm, so the mean over ranks is smaller by that factor. Here the
    divisor is smaller by the same factor, so that this mode does not depend on the number of ranks either."""
    return dict(
        batch_num_tokens=float(response_mask.sum()),
        global_batch_size=float((response_mask != 0).any(dim=1).sum()),
        loss_scale_factor=float(response_mask.shape[1]) / dp_size,
        dp_size=float(dp_size),
    )


class PartitionReport(NamedTuple):
    """The result of :func:`check_partition`.

    loss: the loss of the whole batch. cases: (ranks, micro-batches per rank, loss, largest difference of a gradient
    relative to the largest gradient). same: True if all cases agree within the tolerance."""

    same: bool
    loss: float
    cases: "list[tuple[int, int, float, float]]"

    def __str__(self) -> str:
        lines = [f"{'same' if self.same else 'NOT the same'}; whole batch: {self.loss:.12g}"]
        for ranks, parts, loss, difference in self.cases:
            lines.append(f"  {ranks} ranks x {parts} micro-batches: {loss:.12g}, gradient off by {difference:.3g}")
        return "\n".join(lines)


def _rows(batch: Mapping[str, Any], index: Tensor) -> "dict[str, Any]":
    n = batch["response_mask"].shape[0]
    whole = {key: value for key, value in batch.items()}
    for key, value in batch.items():
        if isinstance(value, Tensor) and value.dim() > 0 and value.shape[0] == n:
            whole[key] = value[index]
        elif isinstance(value, (list, tuple)) and len(value) == n:
            whole[key] = [value[i] for i in index.tolist()]
    return whole


def check_partition(
    loss: Callable[..., Tensor], batch: Mapping[str, Any], *, input: str = "log_prob",
    ranks: Sequence[int] = (1, 2, 3), micro_batches: Sequence[int] = (1, 2, 3), tolerance: float = 1e-9,
    shuffle: int = 0,
) -> PartitionReport:  # fmt: skip
    """Check that a loss and its gradient do not depend on how the batch is split.

    loss(**part, **totals) is called for each part, with the totals of ``loss.totals(batch, ranks)`` if the loss has that
    method, else of :func:`totals`. The parts of a rank are added (gradient accumulation) and the ranks are averaged (data parallel), as in verl and PyTorch's DDP. batch: the inputs by the names of the loss, with
    response_mask. Inputs with B entries are split by row, into at most B parts. The rows are shuffled with the seed
    ``shuffle``, so that the parts have different lengths. A loss that ignores ``totals`` divides by the tokens or rows
    of its part; this check finds that mistake.
    """
    rows = batch["response_mask"].shape[0]
    order = torch.randperm(rows, generator=torch.Generator().manual_seed(shuffle))

    def measure(n_ranks: int, parts: int) -> "tuple[float, Tensor]":
        leaf = batch[input].detach().clone().requires_grad_(True)
        own = getattr(loss, "totals", None)
        known = own(batch, n_ranks) if own else totals(batch["response_mask"], n_ranks)
        total = torch.zeros((), dtype=leaf.dtype, device=leaf.device)
        for share in order.tensor_split(n_ranks):
            for index in share.tensor_split(parts):
                if len(index):
                    total = total + loss(**_rows({**batch, **known, input: leaf}, index)) / n_ranks
        torch.autograd.backward(total)
        assert leaf.grad is not None
        return float(total.detach()), leaf.grad

    whole, gradient = measure(1, 1)
    largest = float(gradient.abs().max()) or 1.0
    cases, same = [], True
    for n_ranks in ranks:
        for parts in micro_batches:
            if n_ranks * parts > rows:
                continue  # the report lists only the cases that were measured
            value, split = measure(n_ranks, parts)
            difference = float((split - gradient).abs().max()) / largest
            same &= difference <= tolerance and abs(value - whole) <= tolerance * max(1.0, abs(whole))
            cases.append((n_ranks, parts, value, difference))
    return PartitionReport(same, whole, cases)
