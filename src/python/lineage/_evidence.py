"""The evidence of repeated trials, the noise of a score, and the front of two scores, as the library computes them
(lineage/evidence.h and lineage/front.h have the formulas and their sources). :class:`lineage.Store` has the methods."""

from __future__ import annotations

import ctypes
import itertools
import math
from typing import Any, Callable, Iterator, Optional

from . import _library
from . import store as _store

_double, _size, _text = ctypes.c_double, ctypes.c_size_t, ctypes.c_char_p


class _Noise(ctypes.Structure):
    _fields_ = [
        ("std", _double), ("freedom", _double), ("low", _double), ("high", _double), ("runs", _size), ("left_out", _size),
        ("estimated", ctypes.c_bool),
    ]  # fmt: skip


class _Runs(ctypes.Structure):
    _fields_ = [("n", _size), ("mean", _double)]


class _Rule(ctypes.Structure):
    _fields_ = [("min_delta", _double), ("trials", _size), ("runs_max", _size), ("higher", ctypes.c_bool)]


class _Judgement(ctypes.Structure):
    _fields_ = [
        ("state", ctypes.c_int), ("candidate", ctypes.c_bool), ("near", ctypes.c_bool), ("gain", _double), ("error", _double),
        ("odds", _double), ("one_std", _double),
    ]  # fmt: skip


class _Trial(ctypes.Structure):
    _fields_ = [
        ("exp_id", _text), ("kept_id", _text), ("seq", ctypes.c_uint64), ("status", ctypes.c_int), ("runs", _Runs),
        ("fresh", _Runs), ("again", _size), ("failed", _size), ("variance", _double), ("is_best", ctypes.c_bool),
        ("judgement", _Judgement), ("suggested", ctypes.c_bool), ("left_out", _size), ("expected", _double), ("doubt", _double),
        ("stray", ctypes.c_bool),
    ]  # fmt: skip


class _FailedSetting(ctypes.Structure):
    _fields_ = [("exp_id", _text), ("last_id", _text), ("status", ctypes.c_int), ("n", _size)]


class _Evidence(ctypes.Structure):
    _fields_ = [
        ("trials", ctypes.POINTER(_Trial)), ("n", _size), ("best", _size), ("best_id", _text),
        ("best_runs", _Runs), ("noise", _Noise), ("rule", _Rule), ("answer", _size), ("second", _size), ("sure", _double),
        ("over_second", _double), ("top_id", _text), ("memory", ctypes.c_void_p),
    ]  # fmt: skip


class _Point(ctypes.Structure):
    _fields_ = [("exp_id", _text), ("score", _double), ("second", _double)]


class _Front(ctypes.Structure):
    _fields_ = [("points", ctypes.POINTER(_Point)), ("n", _size), ("memory", ctypes.c_void_p)]


_STRUCTS = {
    "lineage_noise": _Noise, "lineage_runs": _Runs, "lineage_evidence_rule": _Rule, "lineage_judgement": _Judgement,
    "lineage_evidence_trial": _Trial, "lineage_evidence": _Evidence, "lineage_failed_setting": _FailedSetting,
    "lineage_front_point": _Point, "lineage_front": _Front,
}  # fmt: skip

_pointer = ctypes.POINTER
_PROTOTYPES: "dict[str, tuple[Any, list[Any]]]" = {
    "lineage_evidence_load": (ctypes.c_int, [
        _pointer(_Evidence), ctypes.c_void_p, _pointer(_Rule), _pointer(_store._Error)]),
    "lineage_evidence_release": (None, [_pointer(_Evidence)]),
    "lineage_evidence_order": (None, [_pointer(_size), _pointer(_Evidence)]),
    "lineage_evidence_failed": (_pointer(_FailedSetting), [_pointer(_Evidence), _size]),
    "lineage_judgement_interval": (None, [_pointer(_double), _pointer(_double), _pointer(_Judgement), _pointer(_Noise)]),
    "lineage_store_config": (_pointer(_store._Config), [ctypes.c_void_p]),
    "lineage_noise_of_config": (None, [_pointer(_Noise), _pointer(_store._Config)]),
    "lineage_floor_moved": (ctypes.c_bool, [_pointer(_store._Config), _pointer(_Noise)]),
    "lineage_floor_text": (_text, [ctypes.c_char * 240, _pointer(_store._Config), _double]),
    "lineage_noise_text": (_text, [ctypes.c_char * 160, _pointer(_Noise)]),
    "lineage_claim_text": (_text, [ctypes.c_char * 400, ctypes.c_void_p, _pointer(_store._Trial)]),
    "lineage_noise_margin": (_double, [_pointer(_Noise), _size]),
    "lineage_front_load": (ctypes.c_int, [_pointer(_Front), ctypes.c_void_p, _pointer(_store._Error)]),
    "lineage_front_release": (None, [_pointer(_Front)]),
}  # fmt: skip

_lib = _store._lib
_library.check_sizes(_library.abi_sizes(_lib, "lineage"), _STRUCTS, "liblineage")
for _name, (_result, _arguments) in _PROTOTYPES.items():
    getattr(_lib, _name).restype, getattr(_lib, _name).argtypes = _result, _arguments

#: The states of a judgement, in the library's order.
STATES = tuple(_store._names_of("lineage_evidence_state_name"))


def _known(value: float) -> Optional[float]:
    """None for a number that the library does not know."""
    return None if math.isnan(value) else value


def _noise(noise: _Noise) -> "dict[str, Any]":
    text = ctypes.create_string_buffer(160)
    return {
        "std": noise.std, "freedom": noise.freedom, "low": noise.low, "high": noise.high, "runs": noise.runs,
        "left_out": noise.left_out, "estimated": noise.estimated,
        "text": _store._text(_lib.lineage_noise_text(text, ctypes.byref(noise))),
    }  # fmt: skip


def follow_floor(handle: int, measure: "Callable[[_store._Error], Any]", any_change: bool) -> str:
    """Has the store measure its noise floor anew, when the row is in the log. Returns what the caller should know: that this failed,
    or that the floor moved, as the command says it; else ""."""
    before, error = _Noise(), _store._Error()
    _lib.lineage_noise_of_config(ctypes.byref(before), _lib.lineage_store_config(handle))
    if measure(error):
        return f"the noise floor was not measured again: {_store._text(error.text)}"
    config = _lib.lineage_store_config(handle)
    changed = config.contents.noise_std != before.std if any_change else _lib.lineage_floor_moved(config, ctypes.byref(before))
    return _store._text(_lib.lineage_floor_text(ctypes.create_string_buffer(240), config, before.std)) if changed else ""


def claim(handle: int, trial: "_store._Trial") -> Optional[str]:
    return _store._text(_lib.lineage_claim_text(ctypes.create_string_buffer(400), handle, ctypes.byref(trial))) or None


def _trial(evidence: _Evidence, trial: _Trial) -> "dict[str, Any]":
    out: "dict[str, Any]" = {
        "exp_id": _store._text(trial.exp_id), "kept_id": _store._text(trial.kept_id) or None,
        "status": _store.LABELS[trial.status], "n": trial.runs.n, "mean": trial.runs.mean, "fresh_n": trial.fresh.n,
        "fresh_mean": trial.fresh.mean if trial.fresh.n else None, "again": trial.again, "failed": trial.failed,
        "std": math.sqrt(trial.variance) if trial.runs.n > 1 else None,
        "margin": _known(_lib.lineage_noise_margin(ctypes.byref(evidence.noise), trial.runs.n)), "is_best": trial.is_best,
        "expected": trial.expected, "left_out": trial.left_out, "stray": bool(trial.stray),
    }  # fmt: skip
    judged = trial.judgement if evidence.best < evidence.n and not trial.is_best else None
    low, high = _double(math.nan), _double(math.nan)
    if judged is not None:
        _lib.lineage_judgement_interval(ctypes.byref(low), ctypes.byref(high), ctypes.byref(judged), ctypes.byref(evidence.noise))
    return {
        **out, "state": STATES[judged.state] if judged is not None else None,
        "gain": judged.gain if judged is not None else None, "error": _known(judged.error) if judged is not None else None,
        "low": _known(low.value), "high": _known(high.value), "odds": judged.odds if judged is not None else None,
        "candidate": bool(judged is not None and judged.candidate), "near": bool(judged is not None and judged.near),
    }  # fmt: skip


def _failed(evidence: _Evidence) -> "Iterator[dict[str, Any]]":
    """The settings without a score, with the keys of the others and ``last_id``, the newest of their failed rows."""
    for i in itertools.count():
        found = _lib.lineage_evidence_failed(ctypes.byref(evidence), i)
        if not found:
            return
        row = found.contents
        yield {
            **_trial(evidence, _Trial(exp_id=row.exp_id, status=row.status, failed=row.n, again=row.n - 1)),
            "last_id": _store._text(row.last_id), "mean": None, "margin": None, "expected": None, "state": None, "gain": None,
            "error": None, "low": None, "high": None, "odds": None,
        }  # fmt: skip


def load(handle: int, trials: int, runs_max: int, in_order: bool = False) -> "tuple[dict[str, Any], list[dict[str, Any]]]":
    """The noise, and the evidence of each trial, in the order of the log or of their expected values."""
    evidence, rule, error = _Evidence(), _Rule(trials=trials, runs_max=runs_max), _store._Error()
    status = _lib.lineage_evidence_load(ctypes.byref(evidence), handle, ctypes.byref(rule), ctypes.byref(error))
    try:
        _store._check(status, error)
        order = (_size * evidence.n)(*range(evidence.n))
        if in_order:
            _lib.lineage_evidence_order(order, ctypes.byref(evidence))
        failed = _failed(evidence) if in_order else ()
        return _noise(evidence.noise), [*(_trial(evidence, evidence.trials[i]) for i in order), *failed]
    finally:
        _lib.lineage_evidence_release(ctypes.byref(evidence))


def front(handle: int) -> "list[dict[str, Any]]":
    """The front of two scores."""
    found, error = _Front(), _store._Error()
    status = _lib.lineage_front_load(ctypes.byref(found), handle, ctypes.byref(error))
    try:
        _store._check(status, error)
        points = (found.points[i] for i in range(found.n))
        return [{"exp_id": _store._text(point.exp_id), "score": point.score, "second": point.second} for point in points]
    finally:
        _lib.lineage_front_release(ctypes.byref(found))
