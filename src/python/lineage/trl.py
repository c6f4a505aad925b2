"""Records runs of TRL as trials, and uses the core's losses in its trainers.

    from lineage import Store
    from lineage.trl import LineageCallback, LineageLossMixin

    class Trainer(LineageLossMixin, GRPOTrainer):
        lineage_loss = "gspo"

    trainer = Trainer(..., callbacks=[LineageCallback(Store("runs/trl"), hypothesis="gspo instead of grpo")])
    trainer.train()

The loss is a mixin because TRL has no registry of losses (huggingface/trl#7291). It replaces ``_compute_loss(model,
inputs)`` of GRPOTrainer, whose inputs are completion_mask, advantages, old_per_token_logps and the token ids.
It follows the installed release, one of :data:`RELEASES` (tests/python/upstream.sh); another is refused.
"""

from __future__ import annotations

import contextlib
import dataclasses
import importlib.metadata
import json
import os
import re
import subprocess
from typing import TYPE_CHECKING, Any, Mapping, Optional

import torch

from .store import Store, Trial, _mapping
from .torch import PolicyLoss, nothing, reads

if TYPE_CHECKING:
    from transformers import TrainerCallback as _Callback
else:
    _Callback = object  # the functions work without transformers
    with contextlib.suppress(ImportError):
        from transformers import TrainerCallback as _Callback

__all__ = ["LineageCallback", "LineageLossMixin"]

#: Releases of TRL whose loss the mixin follows: from the first up to, without, the second.
RELEASES = ((1, 9, 0), (1, 17, 0))


def _installed() -> "tuple[int, ...]":
    """The installed release; the newest known one without TRL."""
    try:
        text = importlib.metadata.version("trl")
    except importlib.metadata.PackageNotFoundError:
        return (1, 16, 0)
    return tuple(int(part) for part in re.findall(r"\d+", text)[:3])


INSTALLED = _installed()

#: Settings of TrainingArguments that become parameters of the row if they exist.
PARAMS = (
    "learning_rate", "per_device_train_batch_size", "gradient_accumulation_steps", "num_train_epochs", "max_steps",
    "seed", "beta", "epsilon", "epsilon_high", "num_generations", "num_iterations", "temperature", "loss_type",
    "scale_rewards", "max_completion_length", "warmup_ratio", "weight_decay", "adam_beta2", "lr_scheduler_type",
    "importance_sampling_level", "delta", "off_policy_mask_threshold", "top_entropy_quantile", "entropy_coef", "use_vllm",
    "vllm_importance_sampling_correction", "lineage_loss", "lineage_loss_agg_mode",
)  # fmt: skip
_SHORT = {"learning_rate": "lr"}
#: Settings that say where and how a run reports, or how fast it is, and not what is trained. hub_token is a secret.
_NOT_TRAINED = re.compile(
    r"output_dir|run_name|project|report_to|disable_tqdm|overwrite_output_dir|resume_from_checkpoint|load_best_model_at_end|"
    r"local_rank|ddp_\w+|deepspeed|parallelism_config|accelerator_config|fsdp\w*|use_cpu|no_cuda|torch_compile\w*|"
    r"skip_memory_metrics|include_\w+|(logging|log|save|hub|push|dataloader|eval|trackio|wandb|vllm_server)_\w+|"
    r"vllm_(gpu_memory_utilization|group_port|tensor_parallel_size)|chat_template_path|num_completions_to_print"
)


def _changed(args: Any) -> "list[str]":
    """The settings of the configuration's class that differ from its defaults."""
    names = []
    for field in dataclasses.fields(args) if dataclasses.is_dataclass(args) else ():
        made = field.default_factory
        default = made() if callable(made) else field.default
        if not _NOT_TRAINED.fullmatch(field.name) and getattr(args, field.name, None) != default:
            names.append(field.name)
    return names


def params_of(args: Any) -> "dict[str, Any]":
    """The settings of a run as parameters of a row: numbers, booleans as 0 and 1, and texts.

    Those of PARAMS, and every other setting that was changed, since two runs that differ in it are two settings."""
    out: "dict[str, Any]" = {}
    for name in (*PARAMS, *(name for name in _changed(args) if name not in PARAMS)):
        value = getattr(args, name, None)
        value = getattr(value, "value", value)  # an enum of transformers
        if isinstance(value, (bool, int, float)):
            out[_SHORT.get(name, name)] = float(value)
        elif isinstance(value, str) and value:
            out[name] = value
        elif isinstance(value, (list, tuple, dict)) and value:
            out[name] = json.dumps(value, default=str)
        elif value is None and name not in PARAMS:
            out[name] = "none"
    return out


def commit_of(folder: str) -> Optional[str]:
    """The commit that the working directory is at, None outside a repository or without git."""
    try:
        run = subprocess.run(
            ["git", "-C", folder, "rev-parse", "HEAD"], capture_output=True, text=True, timeout=10, check=False
        )
    except (OSError, subprocess.TimeoutExpired):
        return None
    return run.stdout.strip() or None


class LineageCallback(_Callback):
    """Records a run of any transformers Trainer: its metrics during the run, and its row at the end.

    ``metric``: the name in the logs ("eval_reward", "reward") whose last value is the score. plan: the arguments of
    Store.trial. Only the main process of a distributed run records. A run that ends with an exception never calls
    ``on_train_end``; use the callback as a context manager around ``trainer.train()`` to record those runs too.
    """

    def __init__(self, store: Store, metric: str = "reward", **plan: Any) -> None:
        self.store, self.metric, self.plan = store, metric, plan
        self.trial: Optional[Trial] = None
        self.row: "Optional[dict[str, Any]]" = None

    def on_train_begin(self, args: Any, state: Any, control: Any, **_: Any) -> None:
        if not getattr(state, "is_world_process_zero", True) or self.trial is not None:
            return
        plan = dict(self.plan)
        plan["params"] = {**params_of(args), **_mapping(plan.get("params") or {})}
        commit = commit_of(os.getcwd())
        if commit:
            plan["notes"] = "; ".join(part for part in (plan.get("notes"), f"commit {commit}") if part)
        plan.setdefault("job_name", getattr(args, "run_name", None) or "")
        self.trial = self.store.trial(**plan).__enter__()

    def on_log(self, args: Any, state: Any, control: Any, logs: Optional[Mapping[str, Any]] = None, **_: Any) -> None:
        if self.trial is None or not logs:
            return
        numbers = {name.replace("/", "_"): float(value) for name, value in logs.items() if isinstance(value, (int, float))}
        self.trial.log(int(state.global_step), **numbers)
        if self.metric in logs:
            self.trial.score(float(logs[self.metric]))

    def on_train_end(self, args: Any, state: Any, control: Any, **_: Any) -> None:
        self._end(None)

    def _end(self, error: Optional[BaseException]) -> None:
        if self.trial is not None:
            trial, self.trial = self.trial, None
            trial.__exit__(type(error) if error else None, error, None)
            self.row = trial.row

    def __enter__(self) -> "LineageCallback":
        return self

    def __exit__(self, kind: Any, error: Any, _: Any) -> None:
        self._end(error)


#: How TRL's loss_type aggregates token losses. cispo and sapo also name the token loss.
_LOSS_TYPES = ("grpo", "sapo", "bnpo", "dr_grpo", "dapo", "cispo", "luspo", "vespo")
#: loss types that are also the name of the loss
_NAMED = ("cispo", "sapo", "vespo")
_MODEL_INPUTS = (
    "pixel_values", "image_grid_thw", "num_images", "pixel_attention_mask", "spatial_shapes", "num_tiles", "image_sizes",
    "token_type_ids", "mm_token_type_ids", "image_position_ids",
)  # fmt: skip
#: The upper bound of the ratio that stands for "none": the core bounds the logarithm of a ratio by 20.
_NO_BOUND = 1e9


class LineageLossMixin:
    """A base class before GRPOTrainer that replaces its token loss by a policy loss of the core.

    Class attributes: ``lineage_loss`` (vanilla, gspo, cispo, ...), ``lineage_settings`` for it, and
    ``lineage_loss_agg_mode``, which replaces the aggregation of the trainer's ``loss_type`` (grpo, bnpo, dr_grpo, dapo, luspo; also
    cispo, sapo and vespo, if that is the loss) by a mean over each micro-batch.

    Everything else is as the trainer's configuration says: clip range, ``delta``, vLLM's importance weights,
    ``off_policy_mask_threshold``, ``top_entropy_quantile``, a constant ``entropy_coef``, the router's auxiliary loss, and
    accumulation, which does not divide an evaluation loss. Settings without an implementation here raise ValueError when
    the trainer is made: ``beta``, ``use_liger_kernel`` (it would bypass the mixin), an adaptive
    ``entropy_coef``, and combinations of loss and setting that contradict each other."""

    lineage_loss = "vanilla"
    lineage_loss_agg_mode: Optional[str] = None
    lineage_settings: "Mapping[str, Any]" = {}

    def __init__(self, *args: Any, **kwargs: Any) -> None:
        super().__init__(*args, **kwargs)
        _refuse(self)
        settings = getattr(self, "args", None)
        if settings is not None:  # for LineageCallback, which sees only the arguments
            settings.lineage_loss = self.lineage_loss
            settings.lineage_loss_agg_mode = self.lineage_loss_agg_mode or ""

    def compute_loss(self, model: Any, inputs: Any, *args: Any, **kwargs: Any) -> Any:
        _refuse(self)  # the trainer would choose Liger's kernel before it calls _compute_loss
        return super().compute_loss(model, inputs, *args, **kwargs)  # type: ignore[misc]

    def _compute_loss(self, model: Any, inputs: Mapping[str, Any]) -> torch.Tensor:
        me: Any = self
        _refuse(me)
        mask = inputs["completion_mask"]
        if inputs.get("tool_mask") is not None:  # trainers with tools: tokens of tools are not trained
            mask = mask * inputs["tool_mask"]
        log_prob, entropies, auxiliary = _forward(me, model, inputs)
        training = bool(getattr(getattr(me, "model", model), "training", True))
        parts = float(getattr(me, "current_gradient_accumulation_steps", 1)) if training else 1.0
        chosen = _high_entropy(me, entropies, mask)
        mode, divisor = _aggregation(me, inputs, mask, training, parts)
        if bool(mask.any()):
            loss, metrics = _token_loss(me, inputs, log_prob, mask, chosen, mode)
            loss = loss * (_own(mode, mask) if divisor else 1.0) / (divisor or parts)
        else:
            loss, metrics = nothing(log_prob), {}
        if _entropy_coef(me):
            active = mask if chosen is None else mask * chosen
            total = (entropies * active).sum()
            of_batch = INSTALLED < (1, 10, 0) and me.lineage_loss_agg_mode is None and me.loss_type in ("dapo", "cispo")
            mean = total / divisor if of_batch else total / active.sum().clamp(min=1.0) / parts
            loss = loss - _entropy_coef(me) * mean
        if auxiliary is not None and getattr(me, "aux_loss_enabled", False):
            loss = loss + me.router_aux_loss_coef * auxiliary / parts
        _record(me, training, metrics)
        return loss


def _entropy_coef(me: Any) -> float:
    return float(getattr(me, "entropy_coef", 0.0) or 0.0) if getattr(me, "_entropy_bonus_enabled", True) else 0.0


def _refuse(me: Any) -> None:
    """ValueError for a setting of the trainer that the mixin does not implement."""
    args, loss = getattr(me, "args", None), me.lineage_loss
    loss_type, level = getattr(me, "loss_type", None), getattr(me, "importance_sampling_level", "token")
    delta, high = getattr(args, "delta", None), float(getattr(me, "epsilon_high", 0.2))
    own = me.lineage_loss_agg_mode
    by_tokens = own in ("token-mean", "token-sum", "seq-mean-token-sum-norm") or (own is None and loss_type not in (None, "grpo", "sapo", "luspo"))
    problems = (
        (getattr(me, "beta", 0.0), "does not support a KL term; set beta to 0"),
        (getattr(me, "use_liger_kernel", False), "cannot replace the loss of Liger's kernel; set use_liger_kernel to False"),
        (own is None and loss_type is not None and loss_type not in _LOSS_TYPES,
         f"does not support loss_type={loss_type!r}; use one of {', '.join(_LOSS_TYPES)}"),
        (loss_type in _NAMED and loss != loss_type,
         f"has lineage_loss={loss!r}, but loss_type={loss_type!r} names another loss; set both to the same or loss_type to 'dapo'"),
        (level not in ("token", "sequence"), f"does not support importance_sampling_level={level!r}"),
        (level == "sequence" and loss != "gspo",
         f"has lineage_loss={loss!r}, a loss per token; importance_sampling_level='sequence' needs lineage_loss='gspo'"),
        (delta is not None and loss != "vanilla", f"has no bound delta for lineage_loss={loss!r}; only 'vanilla' has one"),
        (delta is not None and delta <= 1 + high, f"needs delta above 1 + epsilon_high, which is {1 + high:g}"),
        (getattr(me, "use_adaptive_entropy", False), "does not support an adaptive entropy_coef; turn use_adaptive_entropy off"),
        (loss == "geo_mean" and by_tokens, "cannot sum geo_mean over tokens, since it is a mean over rows; use loss_type='grpo'"),
        (own is not None and own != "seq-mean-token-mean" and loss == "sapo",
         f"cannot use lineage_loss_agg_mode={own!r} with {loss!r}, which averages over rows"),
        (not RELEASES[0] <= INSTALLED < RELEASES[1] and not os.environ.get("LINEAGE_TRL_ANY_RELEASE"),
         f"follows TRL {' to below '.join('.'.join(map(str, one)) for one in RELEASES)}, and {'.'.join(map(str, INSTALLED))} is "
         "installed: install a known release, or set LINEAGE_TRL_ANY_RELEASE=1 to use the definitions of the newest known one"),
    )  # fmt: skip
    for wrong, text in problems:
        if wrong:
            raise ValueError(f"LineageLossMixin {text}")


def _forward(me: Any, model: Any, inputs: Mapping[str, Any]) -> "tuple[torch.Tensor, Any, Any]":
    """Log-probs of the completion, their entropies and the router's loss; the last two None in trainers without them."""
    ids = torch.cat([inputs["prompt_ids"], inputs["completion_ids"]], dim=1)
    mask = torch.cat([inputs["prompt_mask"], inputs["completion_mask"]], dim=1)
    extra = {name: inputs[name] for name in _MODEL_INPUTS if inputs.get(name) is not None}
    if _entropy_coef(me) or float(getattr(me, "top_entropy_quantile", 1.0)) < 1.0:
        extra["compute_entropy"] = True
    if getattr(me, "aux_loss_enabled", False):
        extra["compute_aux_loss"] = True
    found = me._get_per_token_logps_and_entropies(model, ids, mask, inputs["completion_ids"].size(1), **extra)
    found = found if isinstance(found, tuple) else (found,)
    padded: "tuple[Any, ...]" = (*found, None, None)
    return padded[0], padded[1], padded[2]


def _high_entropy(me: Any, entropies: Any, mask: torch.Tensor) -> Optional[torch.Tensor]:
    """The trainer's mask of the tokens with the highest entropy, None if all tokens are trained."""
    quantile = float(getattr(me, "top_entropy_quantile", 1.0))
    found: Optional[torch.Tensor] = None
    if quantile < 1.0:
        found = me.get_high_entropy_mask(entropies, mask, 1 - quantile)
    return found


def _own(mode: str, mask: torch.Tensor) -> float:
    """What the core divides the sum of this micro-batch by."""
    return float(mask.sum()) if mode == "token-mean" else float((mask != 0).any(dim=1).sum())


def _aggregation(me: Any, inputs: Mapping[str, Any], mask: torch.Tensor, training: bool, parts: float) -> "tuple[str, float]":
    """(mode, divisor): what TRL divides the sum by; 0 for a mean over the micro-batch, divided by the accumulation steps."""
    loss_type = getattr(me, "loss_type", None)
    if me.lineage_loss_agg_mode is not None or loss_type is None:
        return me.lineage_loss_agg_mode or "token-mean", 0.0
    if loss_type in ("grpo", "sapo"):
        return "seq-mean-token-mean", float(mask.shape[0]) * parts
    if loss_type == "luspo":
        return "seq-mean-token-sum", float(mask.shape[0]) * parts
    if loss_type == "bnpo":
        return "token-mean", max(float(mask.sum()), 1.0) * parts
    if loss_type == "dr_grpo":
        return "token-mean", float(mask.shape[0]) * float(me.max_completion_length) * parts
    if inputs.get("num_items_in_batch") is None:
        raise ValueError(f"loss_type={loss_type!r} needs num_items_in_batch, which this version of TRL does not pass")
    count = max(float(inputs["num_items_in_batch"]), 1.0) / float(getattr(getattr(me, "accelerator", None), "num_processes", 1))
    if training and INSTALLED >= (1, 9, 1):  # the items are those of a generation, which several updates may share
        count = count * parts / float(getattr(getattr(me, "args", None), "steps_per_generation", None) or parts)
    return "token-mean", count


def _clip_settings(me: Any) -> "dict[str, Any]":
    """The core's settings for the trainer's. TRL has no dual clip, unless delta is given."""
    args, low, high = getattr(me, "args", None), float(getattr(me, "epsilon_low", 0.2)), float(getattr(me, "epsilon_high", 0.2))
    settings: "dict[str, Any]" = {"clip_ratio_low": low, "clip_ratio_high": high}
    if getattr(me, "loss_type", None) == "cispo":  # there epsilon_high bounds the ratio itself, and nothing bounds it below
        settings = {"clip_ratio_low": 1.0, "clip_ratio_high": high - 1.0}
    if me.lineage_loss == "vanilla":
        delta = getattr(args, "delta", None)
        settings["clip_ratio_c"] = _NO_BOUND if delta is None else float(delta)
    names = {"tau_pos": "sapo_temperature_pos", "tau_neg": "sapo_temperature_neg"}
    names.update((name, name) for name in ("vespo_k_pos", "vespo_lambda_pos", "vespo_k_neg", "vespo_lambda_neg"))
    settings.update({ours: float(getattr(args, theirs)) for ours, theirs in names.items() if getattr(args, theirs, None) is not None})
    return {**{name: value for name, value in settings.items() if reads("policy_loss", me.lineage_loss, name)}, **me.lineage_settings}


def _weights(
    me: Any, inputs: Mapping[str, Any], log_prob: torch.Tensor, old: torch.Tensor, mask: torch.Tensor,
    chosen: Optional[torch.Tensor],
) -> Optional[torch.Tensor]:  # fmt: skip
    """The product of all weights of the token losses, [B][T]; None if there are none."""
    found: "list[torch.Tensor]" = []
    threshold = getattr(me, "off_policy_mask_threshold", None)
    if threshold is not None:
        advantages = inputs["advantages"]
        found.append(me.get_off_policy_mask(
            advantages=advantages.unsqueeze(1) if advantages.dim() == 1 else advantages, per_token_logps=log_prob,
            sampling_per_token_logps=inputs.get("sampling_per_token_logps", old), mask=mask, off_policy_threshold=threshold,
        ))  # fmt: skip
    if chosen is not None:
        found.append(chosen)
    if me.lineage_loss != "vespo" and getattr(me, "use_vllm", False) and getattr(me, "vllm_importance_sampling_correction", False):
        found.append(inputs["importance_sampling_ratio"])
    if not found:
        return None
    total = torch.ones_like(log_prob, dtype=torch.promote_types(log_prob.dtype, torch.float32))
    for part in found:
        total = total * part.detach()
    if getattr(me, "importance_sampling_level", "token") == "sequence":
        # TRL has one ratio per row and sums the weights over its tokens, so that each token's gradient has their mean.
        total = ((total * mask).sum(dim=1, keepdim=True) / mask.sum(dim=1, keepdim=True).clamp(min=1.0)).expand_as(log_prob)
    return total


def _token_loss(
    me: Any, inputs: Mapping[str, Any], log_prob: torch.Tensor, mask: torch.Tensor, chosen: Optional[torch.Tensor], mode: str
) -> "tuple[torch.Tensor, Mapping[str, float]]":
    """The aggregated policy loss and its metrics."""
    advantages, old = inputs["advantages"], inputs.get("old_per_token_logps")
    old = log_prob.detach() if old is None else old
    if advantages.dim() == 1:
        advantages = advantages.unsqueeze(1)
    advantages = advantages.expand_as(log_prob)
    weights = _weights(me, inputs, log_prob, old, mask, chosen)
    if me.lineage_loss == "vespo":
        # Its weights are ratios to the sampler, so that what leaves a token out acts on its advantage.
        advantages = advantages if weights is None else advantages * weights
        weights = inputs.get("importance_sampling_ratio")
        if weights is not None and weights.shape != log_prob.shape:  # one per row: its logarithm enters the row's sum once
            first = torch.zeros_like(log_prob).scatter_(1, (mask != 0).long().argmax(dim=1, keepdim=True), 1.0)
            weights = torch.where(first > 0, weights, torch.ones_like(log_prob))
    if me.lineage_loss == "sapo" and mode == "token-mean":
        # A mean over rows, each weighted by its length, is the sum over tokens of a mean over rows.
        share = mask.sum(dim=1, keepdim=True) * float((mask != 0).any(dim=1).sum()) / float(mask.sum())
        lengths = share.to(torch.promote_types(log_prob.dtype, torch.float32)).expand_as(log_prob)
        weights = lengths if weights is None else weights * lengths
        mode = "seq-mean-token-mean"
    module = PolicyLoss(me.lineage_loss, mode, **_clip_settings(me))
    loss: torch.Tensor = module(log_prob, old, advantages, mask, weights)
    return loss, module.metrics


def _record(me: Any, training: bool, numbers: Mapping[str, float]) -> None:
    metrics = getattr(me, "_metrics", None)
    if metrics is not None:
        for name, value in numbers.items():
            metrics["train" if training else "eval"][f"lineage/{name}"].append(value)
