"""A callback of Lightning, with which a fit records itself as a trial::

    from lineage import Store
    from lineage.lightning import LineageCallback

    store = Store("runs/lit", create=True, direction="lower")
    Trainer(callbacks=[LineageCallback(store, "val_loss", hypothesis="a longer warm-up")]).fit(model)

The parameters are the hyperparameters of the module and of its data. The steps have what was logged; the score is the last value
of the metric. A fit that raises an exception is a crash.
"""

from __future__ import annotations

from typing import TYPE_CHECKING, Any, Mapping

from .store import Store, Trial, _mapping

if TYPE_CHECKING:
    from lightning.pytorch import Callback as _Callback
else:
    _Callback = object  # the module can be imported without Lightning
    for _name in ("lightning.pytorch", "pytorch_lightning"):
        try:
            _Callback = __import__(_name, fromlist=["Callback"]).Callback
            break
        except ImportError:
            pass

__all__ = ["LineageCallback"]


class LineageCallback(_Callback):
    """Records a fit in the store. `metric` is the score; further arguments are those of Store.trial."""

    def __init__(self, store: Store, metric: str, **plan: Any) -> None:
        super().__init__()
        self._store, self._metric, self._plan = store, metric, plan
        self._trial: "Trial | None" = None

    def on_fit_start(self, trainer: Any, module: Any) -> None:
        params = {**dict(getattr(module, "hparams", None) or {}), **dict(getattr(trainer.datamodule, "hparams", None) or {})}
        plan: "dict[str, Any]" = {**self._plan, "params": {**params, **_mapping(self._plan.get("params") or {})}}
        self._trial = self._store.trial(**plan).__enter__() if trainer.is_global_zero else None

    def _log(self, trainer: Any) -> None:
        if self._trial is not None and not trainer.sanity_checking:
            self._trial.log(trainer.global_step, **_numbers(trainer.callback_metrics))

    def on_train_epoch_end(self, trainer: Any, module: Any) -> None:
        self._log(trainer)

    def on_validation_end(self, trainer: Any, module: Any) -> None:
        self._log(trainer)

    def on_fit_end(self, trainer: Any, module: Any) -> None:
        trial, self._trial = self._trial, None
        if trial is None:
            return
        found = _numbers(trainer.callback_metrics)
        if self._metric in found:
            trial.score(found[self._metric])
        trial.__exit__(None, None, None)

    def on_exception(self, trainer: Any, module: Any, exception: BaseException) -> None:
        trial, self._trial = self._trial, None
        if trial is not None:
            trial.__exit__(type(exception), exception, exception.__traceback__)


def _numbers(metrics: Mapping[str, Any]) -> "dict[str, float]":
    return {name: float(value) for name, value in metrics.items()}
