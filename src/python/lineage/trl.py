"""Records runs of TRL as trials, and uses the core's losses in its trainers.

    from lineage import Store
    from lineage.trl import LineageCallback, LineageLossMixin

    class Trainer(LineageLossMixin, GRPOTrainer):
        lineage_loss = "gspo"

    trainer = Trainer(..., callbacks=[LineageCallback(Store("runs/trl"), hypothesis="gspo instead of grpo")])
    trainer.train()

The loss is a mixin because TRL has no registry of losses (huggingface/trl#7291). It replaces ``_compute_loss(model,
inputs)`` of GRPOTrainer, whose inputs are completion_mask, advantages, old_per_token_logps and the token ids.
tests/python/test_adapters.py checks it against TRL 0.21.
"""

from __future__ import annotations

import os
import subprocess
from typing import Any, Mapping, Optional

import torch

from .store import Store, Trial
from .torch import PolicyLoss

try:
    from transformers import TrainerCallback
except ImportError:  # the functions work without transformers

    class TrainerCallback:  # type: ignore[no-redef]
        """Replaces transformers' class if transformers is not installed."""


__all__ = ["LineageCallback", "LineageLossMixin"]

#: Settings of TrainingArguments that become parameters of the row if they exist.
PARAMS = (
    "learning_rate", "per_device_train_batch_size", "gradient_accumulation_steps", "num_train_epochs", "max_steps",
    "seed", "beta", "epsilon", "epsilon_high", "num_generations", "num_iterations", "temperature", "loss_type",
    "scale_rewards", "max_completion_length", "warmup_ratio", "weight_decay", "adam_beta2", "lr_scheduler_type",
)  # fmt: skip
_SHORT = {"learning_rate": "lr"}


def params_of(args: Any) -> "dict[str, Any]":
    """The settings of a run as parameters of a row: numbers, booleans as 0 and 1, and texts."""
    out: "dict[str, Any]" = {}
    for name in PARAMS:
        value = getattr(args, name, None)
        value = getattr(value, "value", value)  # an enum of transformers
        if isinstance(value, (bool, int, float)):
            out[_SHORT.get(name, name)] = float(value)
        elif isinstance(value, str) and value:
            out[name] = value
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


class LineageCallback(TrainerCallback):
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
        plan["params"] = {**params_of(args), **(plan.get("params") or {})}
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


class LineageLossMixin:
    """A base class before GRPOTrainer that replaces its loss by a policy loss of the core.

    Class attributes: ``lineage_loss`` (vanilla, gspo, cispo, ...), ``lineage_loss_agg_mode``, ``lineage_settings``. The
    trainer's KL term (``beta``) is not supported and raises ValueError."""

    lineage_loss = "vanilla"
    lineage_loss_agg_mode = "token-mean"
    lineage_settings: "Mapping[str, Any]" = {}

    def _compute_loss(self, model: Any, inputs: Mapping[str, Any]) -> torch.Tensor:
        me: Any = self
        if getattr(me, "beta", 0.0):
            raise ValueError("LineageLossMixin does not support a KL term; set beta to 0")
        ids = torch.cat([inputs["prompt_ids"], inputs["completion_ids"]], dim=1)
        mask = torch.cat([inputs["prompt_mask"], inputs["completion_mask"]], dim=1)
        found = me._get_per_token_logps_and_entropies(model, ids, mask, inputs["completion_ids"].size(1))
        log_prob = found[0] if isinstance(found, tuple) else found
        old = inputs.get("old_per_token_logps")
        old = log_prob.detach() if old is None else old
        advantages = inputs["advantages"]
        if advantages.dim() == 1:
            advantages = advantages.unsqueeze(1).expand_as(log_prob)
        settings = {
            "clip_ratio_low": float(getattr(me, "epsilon_low", 0.2)),
            "clip_ratio_high": float(getattr(me, "epsilon_high", 0.2)), **self.lineage_settings,
        }  # fmt: skip
        counted = inputs["completion_mask"]
        if inputs.get("tool_mask") is not None:  # trainers with tools: tokens of tools are not trained
            counted = counted * inputs["tool_mask"]
        module = PolicyLoss(self.lineage_loss, self.lineage_loss_agg_mode, **settings)
        loss: torch.Tensor = module(log_prob, old, advantages, counted)
        metrics = getattr(me, "_metrics", None)
        if metrics is not None:
            mode = "train" if getattr(model, "training", True) else "eval"
            for name, value in module.metrics.items():
                metrics[mode][f"lineage/{name}"].append(value)
        return loss / float(getattr(me, "current_gradient_accumulation_steps", 1))
