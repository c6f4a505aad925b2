"""Stores of trials: append, query and render trials, and trials that record themselves.

    from lineage import Store

    store = Store("runs/atpo", create=True, direction="higher")
    with store.trial(hypothesis="wider clip", params={"alpha": 0.3}, parent=store.best_id()) as t:
        for step in range(100):
            t.log(step, loss=train(step))
        t.score(evaluate())
    print(t.row["exp_id"], t.row["status"])

The rules are those of the library (schema/FORMAT.md): a row is in results.tsv completely or not at all, and it is on
disk when append returns. Trials are returned as dicts with the columns of results.tsv and ``params``, ``turns``,
``score``. ``len(store)``, ``store["014"]`` and iteration read them, too.

A :class:`Store` may be used from several threads and after a fork: each thread of each process opens its own handle,
because a handle holds the lock that keeps ids unique. Handles are closed with the store or with their thread.
"""

from __future__ import annotations

import argparse
import base64
import contextlib
import ctypes
import dataclasses
import decimal
import errno
import functools
import hashlib
import html
import inspect
import itertools
import json
import math
import numbers
import os
import pathlib
import re
import shutil
import struct
import subprocess
import sys
import sysconfig
import threading
import time
import types
import warnings
import weakref
from typing import Any, Callable, ClassVar, Iterator, Mapping, Optional, Protocol, Sequence, Union

from . import _library, _rows, _running
from ._rows import LAST_TEXTS as _LAST_TEXTS, NUMBERS as _NUMBERS, SCALES as _SCALES, TEXTS as _TEXTS

__all__ = ["CAUSES", "LABELS", "NotFound", "SOURCES", "Store", "StoreError", "Trial"]

_lib = _library.load("lineage")


def _names_of(function: str) -> "Iterator[str]":
    """The names that a function of the library has for 0, 1, .. until it returns NULL."""
    name_of = getattr(_lib, function)
    name_of.restype, name_of.argtypes = ctypes.c_char_p, [ctypes.c_int]
    names = (name_of(i) for i in itertools.count())
    return (name.decode() for name in itertools.takewhile(lambda name: name is not None, names))


#: The labels of a trial, in the library's order.
LABELS = tuple(_names_of("lineage_label_name"))

#: What can have ended a trial, beside its label, in the library's order; the first one is "" for unknown.
CAUSES = tuple(_names_of("lineage_cause_name"))

#: Where a change of a setting was read from, most trusted first: the parameters of a row, the trial's program, its words.
SOURCES = ("declared", "measured", "stated")

Param = Union[float, int, bool, str, None, Sequence[Any], Mapping[str, Any]]


class _Dataclass(Protocol):
    __dataclass_fields__: "ClassVar[dict[str, Any]]"


Params = Union[Mapping[str, Param], argparse.Namespace, types.SimpleNamespace, _Dataclass]
_STATUS = {
    -1: "invalid", -2: "no memory", -3: "system", -4: "corrupt", -5: "exists", -6: "not found", -7: "locked",
    -8: "database", -9: "limit", -10: "cancelled", -11: "away", -12: "refused",
}  # fmt: skip
_NOT_FOUND = -6
_NAME_MAX = 64
_NONE = ctypes.c_size_t(-1).value  # SIZE_MAX


class StoreError(OSError):
    """The store refused or failed. ``kind``: "invalid", "no memory", "system", "corrupt", "exists", "not found", "locked",
    "database", "limit", "cancelled", "away" (the server with the log cannot be reached) or "refused" (by that server); of a newer library perhaps
    another one, in its own words. ``line``: the line of results.tsv that the error is about, or 0."""

    def __init__(self, error: "_Error") -> None:
        super().__init__(error.os_errno or None, error.text.decode(errors="replace"))
        self.kind: str = _STATUS.get(error.status) or _text(_lib.lineage_status_text(error.status))
        self.line = error.line

    def __str__(self) -> str:
        return str(self.args[1])


class NotFound(StoreError, KeyError):
    """The trial, file or store does not exist."""


# ---- the library's structs ----


class _Error(ctypes.Structure):
    _fields_ = [
        ("status", ctypes.c_int), ("os_errno", ctypes.c_int), ("line", ctypes.c_uint64), ("text", ctypes.c_char * 512),
    ]  # fmt: skip


class _Number(ctypes.Structure):
    _fields_ = [("present", ctypes.c_bool), ("value", ctypes.c_double)]


class _Param(ctypes.Structure):
    _fields_ = [("name", ctypes.c_char_p), ("value", ctypes.c_double), ("text", ctypes.c_char_p)]


class _TurnStat(ctypes.Structure):
    _fields_ = [
        ("turn", ctypes.c_uint32), ("mean", ctypes.c_double), ("std", ctypes.c_double), ("count", ctypes.c_uint64),
    ]  # fmt: skip


class _Extra(ctypes.Structure):
    _fields_ = [("column", ctypes.c_char_p), ("text", ctypes.c_char_p)]



class _Trial(ctypes.Structure):
    _fields_ = [
        *((name, ctypes.c_char_p) for name in _TEXTS),
        ("status", ctypes.c_int),
        *((name, _Number) for name in _NUMBERS),
        *((name, ctypes.c_char_p) for name in _LAST_TEXTS),
        *((name, _Number) for name in _SCALES),
        ("params", ctypes.POINTER(_Param)), ("n_params", ctypes.c_size_t),
        ("turns", ctypes.POINTER(_TurnStat)), ("n_turns", ctypes.c_size_t),
        ("metrics", ctypes.POINTER(_Param)), ("n_metrics", ctypes.c_size_t),
        ("extras", ctypes.POINTER(_Extra)), ("n_extras", ctypes.c_size_t),
        ("score", _Number), ("seq", ctypes.c_uint64), ("line", ctypes.c_uint64), ("void_label", ctypes.c_char_p),
        ("memory", ctypes.c_void_p),
    ]  # fmt: skip


class _Config(ctypes.Structure):
    _fields_ = [
        ("direction", ctypes.c_int), ("metric", ctypes.c_char * _NAME_MAX), ("metric_label", ctypes.c_char * _NAME_MAX),
        ("min_delta", ctypes.c_double), ("noise_std", ctypes.c_double), ("noise_seeds", ctypes.c_uint),
        ("noise_freedom", ctypes.c_uint), ("noise_runs", ctypes.c_uint), ("night_trials", ctypes.c_uint),
        ("newest_night", ctypes.c_uint),
        ("second", ctypes.c_char * _NAME_MAX), ("second_direction", ctypes.c_int), ("second_noise_std", ctypes.c_double),
    ]  # fmt: skip


class _AppendOptions(ctypes.Structure):
    _fields_ = [
        ("no_sync", ctypes.c_bool), ("allow_missing_parent", ctypes.c_bool), ("auto_status", ctypes.c_bool),
        ("no_mirror_sync", ctypes.c_bool), ("min_delta", ctypes.c_double), ("noise_std", ctypes.c_double),
        ("noise_seeds", ctypes.c_uint), ("noise_freedom", ctypes.c_uint), ("once_per_night", ctypes.c_bool),
        ("unconfirmed", ctypes.c_bool), ("keep_against", ctypes.c_char_p),
        ("first_is_baseline", ctypes.c_bool), ("snapshot_dir", ctypes.c_char_p),
        ("beside", ctypes.c_void_p), ("beside_context", ctypes.c_void_p), ("telemetry", ctypes.c_char_p),
        ("telemetry_length", ctypes.c_size_t),
    ]  # fmt: skip


class _Chain(ctypes.Structure):
    _fields_ = [
        ("trials", ctypes.POINTER(_Trial)), ("passed_over", ctypes.POINTER(ctypes.c_size_t)), ("n", ctypes.c_size_t),
        ("end", ctypes.c_int), ("end_id", ctypes.c_char_p), ("left_out", ctypes.c_size_t),
        ("keeps", ctypes.c_size_t), ("memory", ctypes.c_void_p),
    ]  # fmt: skip


class _Range(ctypes.Structure):
    _fields_ = [("low", _Number), ("high", _Number)]


class _Condition(ctypes.Structure):
    _fields_ = [
        ("name", ctypes.c_char_p), ("range", _Range), ("texts", ctypes.POINTER(ctypes.c_char_p)),
        ("n_texts", ctypes.c_size_t),
    ]  # fmt: skip


class _Query(ctypes.Structure):
    _fields_ = [
        ("labels", ctypes.c_uint), ("specialist", ctypes.c_char_p), ("since", ctypes.c_char_p),
        ("until", ctypes.c_char_p), ("conditions", ctypes.POINTER(_Condition)), ("n_conditions", ctypes.c_size_t),
        ("sort", ctypes.c_char_p), ("after", ctypes.c_uint64), ("limit", ctypes.c_size_t),
    ]  # fmt: skip


class _SweepCell(ctypes.Structure):
    _fields_ = [
        ("x", ctypes.c_double), ("y", ctypes.c_double), ("x_text", ctypes.c_char_p), ("y_text", ctypes.c_char_p),
        ("count", ctypes.c_size_t), ("labels", ctypes.c_size_t * len(LABELS)), ("best", _Number),
        ("best_id", ctypes.c_char_p),
    ]  # fmt: skip


class _Sweep(ctypes.Structure):
    _fields_ = [
        ("cells", ctypes.POINTER(_SweepCell)), ("n_cells", ctypes.c_size_t),
        ("xs", ctypes.POINTER(ctypes.c_double)), ("ys", ctypes.POINTER(ctypes.c_double)),
        ("x_texts", ctypes.POINTER(ctypes.c_char_p)), ("y_texts", ctypes.POINTER(ctypes.c_char_p)),
        ("n_xs", ctypes.c_size_t), ("n_ys", ctypes.c_size_t), ("without", ctypes.c_size_t), ("aborted", ctypes.c_size_t),
        ("measured", ctypes.c_bool),
    ]  # fmt: skip


class _RenderOptions(ctypes.Structure):
    _fields_ = [
        ("style", ctypes.c_int), ("specialist", ctypes.c_char_p), ("timestamp", ctypes.c_char_p),
        ("top_k", ctypes.c_size_t), ("recent", ctypes.c_size_t), ("full", ctypes.c_size_t),
        ("sections", ctypes.c_char_p), ("max_bytes", ctypes.c_size_t), ("insights", ctypes.c_char_p),
    ]  # fmt: skip


class _SqlLimits(ctypes.Structure):
    _fields_ = [("seconds", ctypes.c_double), ("bytes", ctypes.c_size_t), ("rows", ctypes.c_size_t)]


class _OpenOptions(ctypes.Structure):
    _fields_ = [
        ("direction", ctypes.c_int), ("metric", ctypes.c_char_p), ("no_mirror", ctypes.c_bool), ("busy_ms", ctypes.c_uint),
        ("notice", ctypes.c_void_p), ("cancelled", ctypes.c_void_p), ("context", ctypes.c_void_p), ("sql", _SqlLimits),
    ]  # fmt: skip


class _Void(ctypes.Structure):
    _fields_ = [
        ("exp_id", ctypes.c_char_p), ("by", ctypes.c_char_p), ("timestamp", ctypes.c_char_p), ("reason", ctypes.c_char_p),
        ("label", ctypes.c_int), ("score", _Number), ("seq", ctypes.c_uint64),
    ]  # fmt: skip


class _Change(ctypes.Structure):
    _fields_ = [
        ("name", ctypes.c_char_p), ("knob", ctypes.c_char_p), ("old", ctypes.c_char_p), ("new", ctypes.c_char_p),
        ("old_value", _Number), ("new_value", _Number), ("source", ctypes.c_int),
    ]  # fmt: skip


class _Idea(ctypes.Structure):
    _fields_ = [
        ("exp_id", ctypes.c_char_p), ("specialist", ctypes.c_char_p), ("parent_exp", ctypes.c_char_p),
        ("hypothesis", ctypes.c_char_p), ("status", ctypes.c_int), ("running", ctypes.c_bool), ("score", _Number),
        ("delta_vs_best", _Number), ("seq", ctypes.c_uint64),
        ("n_changes", ctypes.c_size_t),
        ("cites", ctypes.POINTER(ctypes.c_size_t)), ("n_cites", ctypes.c_size_t),
        ("cited_by", ctypes.POINTER(ctypes.c_size_t)), ("n_cited_by", ctypes.c_size_t),
    ]  # fmt: skip


class _Similar(ctypes.Structure):
    _fields_ = [("trial", ctypes.c_size_t), ("score", ctypes.c_double), ("same", ctypes.c_bool), ("why", ctypes.c_char_p)]


class _SimilarList(ctypes.Structure):
    _fields_ = [("items", ctypes.POINTER(_Similar)), ("n", ctypes.c_size_t), ("remark", ctypes.c_char_p), ("memory", ctypes.c_void_p)]


class _KnobTry(ctypes.Structure):
    _fields_ = [("trial", ctypes.c_size_t), ("change", ctypes.POINTER(_Change)), ("direction", ctypes.c_int)]


class _Knob(ctypes.Structure):
    _fields_ = [
        ("name", ctypes.c_char_p), ("knob", ctypes.c_char_p), ("value", ctypes.c_char_p), ("set_by", ctypes.c_size_t),
        ("tries", ctypes.POINTER(_KnobTry)), ("n_tries", ctypes.c_size_t), ("n", ctypes.c_size_t),
        ("up", ctypes.c_size_t), ("up_kept", ctypes.c_size_t), ("down", ctypes.c_size_t), ("down_kept", ctypes.c_size_t),
    ]  # fmt: skip


class _Knobs(ctypes.Structure):
    _fields_ = [("items", ctypes.POINTER(_Knob)), ("n", ctypes.c_size_t), ("memory", ctypes.c_void_p)]


class _SettingName(ctypes.Structure):
    _fields_ = [
        ("name", ctypes.c_char_p), ("trials", ctypes.c_size_t), ("sources", ctypes.c_size_t * len(SOURCES)),
        ("nearest", ctypes.c_char_p),
    ]  # fmt: skip


class _Settings(ctypes.Structure):
    _fields_ = [("names", ctypes.POINTER(_SettingName)), ("n", ctypes.c_size_t), ("memory", ctypes.c_void_p)]


_VISIT_VOID = ctypes.CFUNCTYPE(ctypes.c_bool, ctypes.c_void_p, ctypes.POINTER(_Void))

_STRUCTS = {
    "lineage_error": _Error, "lineage_number": _Number, "lineage_param": _Param, "lineage_turn_stat": _TurnStat,
    "lineage_extra": _Extra, "lineage_trial": _Trial, "lineage_config": _Config,
    "lineage_append_options": _AppendOptions, "lineage_chain": _Chain, "lineage_range": _Range,
    "lineage_condition": _Condition, "lineage_query": _Query, "lineage_sweep_cell": _SweepCell,
    "lineage_sweep": _Sweep, "lineage_render_options": _RenderOptions, "lineage_void": _Void,
    "lineage_sql_limits": _SqlLimits, "lineage_open_options": _OpenOptions, "lineage_change": _Change, "lineage_idea": _Idea, "lineage_similar": _Similar, "lineage_similar_list": _SimilarList,
    "lineage_knob_try": _KnobTry, "lineage_knob": _Knob, "lineage_knobs": _Knobs,
    "lineage_setting_name": _SettingName, "lineage_settings": _Settings, "lineage_row_texts": _rows.RowTexts,
    "lineage_row_values": _rows.RowValues, "lineage_rows": _rows.Rows,
}  # fmt: skip

_handle = ctypes.c_void_p
_err = ctypes.POINTER(_Error)
_PROTOTYPES: "dict[str, tuple[Any, list[Any]]]" = {
    "lineage_store_create": (ctypes.c_int, [ctypes.c_char_p, ctypes.POINTER(_Config), _err]),
    "lineage_store_open": (ctypes.c_int, [
        ctypes.POINTER(_handle), ctypes.c_char_p, ctypes.POINTER(_OpenOptions), _err]),
    "lineage_store_close": (None, [_handle]),
    "lineage_store_dir": (ctypes.c_char_p, [_handle]),
    "lineage_store_name_score": (ctypes.c_int, [_handle, ctypes.c_char_p, _err]),
    "lineage_store_score_name": (ctypes.c_char_p, [_handle]),
    "lineage_store_pass_id": (None, [_handle, ctypes.c_char_p]),
    "lineage_append_options_init": (None, [ctypes.POINTER(_AppendOptions)]),
    "lineage_store_append": (ctypes.c_int, [
        _handle, ctypes.POINTER(_Trial), ctypes.POINTER(_AppendOptions), ctypes.POINTER(_Trial), _err]),
    "lineage_noise_after_append": (ctypes.c_int, [_handle, ctypes.POINTER(_Trial), ctypes.c_size_t, _err]),
    "lineage_noise_after_void": (ctypes.c_int, [_handle, ctypes.c_char_p, _err]),
    "lineage_store_append_check": (ctypes.c_int, [_handle, ctypes.POINTER(_Trial), ctypes.POINTER(_AppendOptions), _err]),
    "lineage_trial_release": (None, [ctypes.POINTER(_Trial)]),
    "lineage_find": (ctypes.c_int, [_handle, ctypes.c_char_p, ctypes.POINTER(_Trial), _err]),
    "lineage_find_named": (ctypes.c_int, [_handle, ctypes.c_char_p, ctypes.c_bool, ctypes.POINTER(_Trial), _err]),
    "lineage_best": (ctypes.c_int, [_handle, ctypes.POINTER(_Trial), _err]),
    "lineage_chain_load": (ctypes.c_int, [_handle, ctypes.c_char_p, ctypes.POINTER(_Chain), _err]),
    "lineage_chain_release": (None, [ctypes.POINTER(_Chain)]),
    "lineage_param_is_text": (ctypes.c_bool, [ctypes.c_char_p]),
    "lineage_range_parse": (ctypes.c_int, [ctypes.POINTER(_Range), ctypes.c_char_p, _err]),
    "lineage_query_open": (ctypes.c_int, [ctypes.POINTER(_handle), _handle, ctypes.POINTER(_Query), _err]),
    "lineage_query_count": (ctypes.c_int, [ctypes.POINTER(ctypes.c_size_t), _handle, ctypes.POINTER(_Query), _err]),
    "lineage_store_path": (ctypes.c_int, [ctypes.POINTER(ctypes.c_void_p), _handle, ctypes.c_int, _err]),
    "lineage_cursor_rows": (ctypes.c_int, [_handle, ctypes.POINTER(_rows.Rows), _err]),
    "lineage_cursor_close": (None, [_handle]),
    "lineage_tried": (ctypes.c_int, [
        ctypes.POINTER(_handle), _handle, ctypes.POINTER(_Param), ctypes.c_size_t, ctypes.c_double, _err]),
    "lineage_sweep_load": (ctypes.c_int, [_handle, ctypes.c_char_p, ctypes.c_char_p, ctypes.POINTER(_Sweep), _err]),
    "lineage_sweep_release": (None, [ctypes.POINTER(_Sweep)]),
    "lineage_render_options_init": (None, [ctypes.POINTER(_RenderOptions)]),
    "lineage_render": (ctypes.c_int, [
        ctypes.POINTER(ctypes.c_void_p), ctypes.POINTER(ctypes.c_size_t), _handle, ctypes.POINTER(_RenderOptions), _err]),
    "lineage_void_append": (ctypes.c_int, [_handle, ctypes.c_char_p, ctypes.c_char_p, ctypes.POINTER(_Trial), _err]),
    "lineage_void_take_back": (ctypes.c_int, [_handle, ctypes.c_char_p, ctypes.c_char_p, ctypes.POINTER(_Trial), _err]),
    "lineage_voids_read": (ctypes.c_int, [_handle, ctypes.c_char_p, _VISIT_VOID, ctypes.c_void_p, _err]),
    "lineage_search": (ctypes.c_int, [
        ctypes.POINTER(_handle), _handle, ctypes.c_char_p, ctypes.POINTER(_Query), _err]),
    "lineage_ideas_new": (ctypes.c_int, [ctypes.POINTER(_handle), _err]),
    "lineage_ideas_add": (ctypes.c_int, [_handle, ctypes.POINTER(_Trial), ctypes.c_bool, _err]),
    "lineage_search_ideas": (ctypes.c_int, [_handle, _handle, ctypes.c_char_p, _err]),
    "lineage_ideas_add_store": (ctypes.c_int, [_handle, _handle, _err]),
    "lineage_ideas_settle": (ctypes.c_int, [_handle, _err]),
    "lineage_ideas_release": (None, [_handle]),
    "lineage_ideas_get": (ctypes.POINTER(_Idea), [_handle, ctypes.c_size_t]),
    "lineage_ideas_find": (ctypes.c_bool, [ctypes.POINTER(ctypes.c_size_t), _handle, ctypes.c_char_p]),
    "lineage_ideas_set_strictness": (ctypes.c_int, [_handle, ctypes.c_double, _err]),
    "lineage_ideas_similar": (ctypes.c_int, [
        ctypes.POINTER(_SimilarList), _handle, ctypes.c_size_t, ctypes.c_bool, ctypes.c_size_t, _err]),
    "lineage_ideas_similar_text": (ctypes.c_int, [
        ctypes.POINTER(_SimilarList), _handle, ctypes.c_char_p, ctypes.c_size_t, _err]),
    "lineage_similar_release": (None, [ctypes.POINTER(_SimilarList)]),
    "lineage_knobs_find": (ctypes.c_int, [ctypes.POINTER(_Knobs), _handle, ctypes.c_size_t, ctypes.c_size_t, _err]),
    "lineage_knobs_named": (ctypes.POINTER(_Knob), [ctypes.POINTER(_Knobs), _handle, ctypes.c_char_p]),
    "lineage_knobs_release": (None, [ctypes.POINTER(_Knobs)]),
    "lineage_settings_find": (ctypes.c_int, [
        ctypes.POINTER(_Settings), _handle, ctypes.POINTER(ctypes.c_char_p), ctypes.c_size_t, _err]),
    "lineage_settings_release": (None, [ctypes.POINTER(_Settings)]),
    "lineage_notes_cause": (ctypes.c_int, [ctypes.c_char_p]),
    "lineage_status_text": (ctypes.c_char_p, [ctypes.c_int]),
    "lineage_free": (None, [ctypes.c_void_p]),
}  # fmt: skip


def _check_library() -> None:
    _library.check_sizes(_library.abi_sizes(_lib, "lineage"), _STRUCTS, "liblineage")
    for name, (result, arguments) in _PROTOTYPES.items():
        try:
            function = getattr(_lib, name)
        except AttributeError:
            raise _library.LibraryError(f"liblineage is older than this package: it lacks {name}; install both from one tree") from None
        function.restype, function.argtypes = result, arguments


_check_library()


def _check(status: int, error: _Error) -> None:
    if status:
        raise (NotFound if status == _NOT_FOUND else StoreError)(error)


def _bytes(value: Any) -> Optional[bytes]:
    return None if value is None else str(value).encode("utf-8", "surrogateescape")


def _text(value: Optional[bytes]) -> str:
    return value.decode("utf-8", "replace") if value else ""


def _number(name: str, value: Optional[float]) -> _Number:
    return _Number(value is not None, _real(name, value) if value is not None else 0.0)


# ---- trials in and out ----


# Reading each number by ctypes takes as long as all that is left of _dict.
_TRIAL = struct.Struct("@8Pi4x" + "?d" * len(_NUMBERS) + "3P" + "?d" * len(_SCALES) + "PQ" * 4 + "?d2Q2P")
assert _TRIAL.size == ctypes.sizeof(_Trial)
_CELLS = {name: 9 + 2 * i for i, name in enumerate(_NUMBERS)}
_CELLS.update((name, 12 + 2 * len(_NUMBERS) + 2 * i) for i, name in enumerate(_SCALES))
_CELLS["score"] = 12 + 2 * len(_NUMBERS) + 2 * len(_SCALES) + 8


def _named(items: Any, n: int) -> "dict[str, Any]":
    """Parameters or metrics by name."""
    return {_text(one.name): one.value if one.text is None else _text(one.text) for one in items[:n]}


def _dict(trial: _Trial) -> "dict[str, Any]":
    """One trial in the form of _rows.dicts, which reads many. A test compares both."""
    out: "dict[str, Any]" = {name: _text(getattr(trial, name)) for name in _TEXTS}
    out["status"] = LABELS[trial.status]
    cells = _TRIAL.unpack_from(trial)
    for name, at in _CELLS.items():
        out[name] = cells[at + 1] if cells[at] else None
    out.update((name, _text(getattr(trial, name))) for name in _LAST_TEXTS)
    out["void"] = _text(trial.void_label)
    params = _named(trial.params, trial.n_params)
    out["params"] = {name: value if isinstance(value, str) else _rows.setting(value) for name, value in params.items()}
    out["metrics"] = _named(trial.metrics, trial.n_metrics)
    out["turns"] = [dict(turn=s.turn, mean=s.mean, std=s.std, count=s.count) for s in trial.turns[: trial.n_turns]]
    out["extras"] = {_text(one.column): _text(one.text) for one in trial.extras[: trial.n_extras]}
    out["seq"], out["line"] = trial.seq, trial.line
    return _with_cause(out)


def _with_cause(row: "dict[str, Any]") -> "dict[str, Any]":
    """Adds what ended the trial, as its notes name it; None if they do not."""
    known = "cause " in row["notes"] and _lib.lineage_notes_cause(row["notes"].encode())
    row["cause"] = CAUSES[known] if known else None
    return row


def _telemetry(folder: str, exp_id: str) -> "dict[str, Any]":
    """The telemetry of a trial; {} if it has none."""
    try:
        with open(os.path.join(folder, exp_id + ".json"), encoding="utf-8") as file:
            found = json.load(file)
    except FileNotFoundError:
        return {}
    return found if isinstance(found, dict) else {}


def _outcome(idea: _Idea) -> "dict[str, Any]":
    """The trial of a set of ideas as `similar` and `knobs` show it."""
    return {
        "exp_id": _text(idea.exp_id), "status": "running" if idea.running else LABELS[idea.status],
        "score": idea.score.value if idea.score.present else None,
        "delta_vs_best": idea.delta_vs_best.value if idea.delta_vs_best.present else None,
        "hypothesis": _text(idea.hypothesis), "parent_exp": _text(idea.parent_exp),
    }  # fmt: skip


def _words(words: str) -> bytes:
    """C ends a text at a NUL, so the rest would be ignored silently."""
    if "\0" in words:
        raise ValueError("the text contains a NUL character")
    return words.encode("utf-8", "replace")


def _at_least(name: str, value: int, least: int) -> int:
    if value < least:
        raise ValueError(f"{name} is {value}; give at least {least}")
    return value


_TEXT_MAX = 128  # bytes of a parameter's text (LINEAGE_PARAM_TEXT_MAX)


_WIDE = 1 << 53  # an integer from here on is a text (lineage_param_is_text)


def _members(value: Any) -> "Optional[Mapping[Any, Any]]":
    """The parameters in a mapping, a dataclass or argparse's arguments; None for a value."""
    if dataclasses.is_dataclass(value) and not isinstance(value, type):
        return {field.name: getattr(value, field.name) for field in dataclasses.fields(value) if hasattr(value, field.name)}
    return vars(value) if isinstance(value, (argparse.Namespace, types.SimpleNamespace)) else value if isinstance(value, Mapping) else None


def _mapping(params: Any) -> "Mapping[Any, Any]":
    members = params if type(params) is dict else _members(params)
    if members is None:
        raise TypeError(f"params is {params!r:.80}, not a mapping, a dataclass or the arguments of argparse")
    return members


def _flat(params: Any, inside: str = "", above: "tuple[int, ...]" = ()) -> "dict[str, float | str]":
    """Parameters of a configuration as a row holds them: a mapping within becomes ``optimizer.lr``, and all but numbers
    become texts: true, false, none, and a list or another object in its JSON or as str() prints it, as is one that holds itself.
    ``above``: the ids of what is being read."""
    flat: "dict[str, float | str]" = {}
    above = (*above, id(params))
    for key, value in _mapping(params).items():
        name = f"{inside}{key}"
        if type(value) is float or (type(value) is int and -_WIDE < value < _WIDE):  # as nearly all are
            flat[name] = float(value)
            continue
        inner = None if isinstance(value, str) else _members(value)
        if (inner or isinstance(value, Mapping)) and id(value) not in above:
            flat.update(_flat(value, f"{name}.", above))
        else:
            flat[name] = _setting(value)
    return flat


def _is_text(value: str) -> bool:
    """Whether a parameter holds what is spelled so as a text, such as an integer of 2^53 or more."""
    return bool(_lib.lineage_param_is_text(_bytes(value)))


def _code(code: types.CodeType) -> str:
    """What a function does, the same in each process."""
    inner = (_code(one) if isinstance(one, types.CodeType) else sorted(map(repr, one)) if isinstance(one, frozenset) else one for one in code.co_consts)
    return repr((code.co_code, code.co_names, *inner))


def _object(value: Any) -> str:
    """An object as str() prints it. A function has its address there, which is another one in each process: one that can be imported
    has its name alone, and one of a script or a lambda the digest of its code, unless it also depends on variables around it."""
    text = str(value)
    if isinstance(value, types.FunctionType) and value.__closure__ is None:
        digest = ""
        if value.__module__ in ("__main__", "__mp_main__") or "<" in value.__qualname__:
            defaults = [_setting(one) for one in (*(value.__defaults__ or ()), *(value.__kwdefaults__ or {}).items())]
            digest = f" {hashlib.sha256(f'{_code(value.__code__)}{defaults}'.encode()).hexdigest()[:8]}"
        return re.sub(" at 0x[0-9a-f]+", digest, text)
    if isinstance(value, types.BuiltinFunctionType) and isinstance(value.__self__, type):
        return re.sub(" at 0x[0-9a-f]+", "", text)
    return text


def _setting(value: Any) -> "float | str":
    with contextlib.suppress(AttributeError, TypeError, ValueError, RuntimeError):
        value = value.item()  # a scalar of NumPy or PyTorch
    if value is None or isinstance(value, bool):
        return str(value).lower()
    if not isinstance(value, str) and not (isinstance(value, int) and _is_text(f"{value}")):
        with contextlib.suppress(TypeError):
            return _plain("value", value)
        tolist = None if isinstance(value, type) else getattr(value, "tolist", None)
        value = tolist() if tolist else value
    if isinstance(value, (set, frozenset)):
        value = sorted(value, key=str)
    text = json.dumps(value, default=_object, separators=(",", ":")) if isinstance(value, (list, tuple)) else _object(value)
    text = "".join("," if c == ";" else c if c.isprintable() else " " for c in text) or "empty"
    raw = text.encode("utf-8", "replace")
    if len(raw) > _TEXT_MAX:  # the end tells long texts apart that begin alike
        digest = hashlib.sha256(raw).hexdigest()[:8]
        text = f"{raw[: _TEXT_MAX - 12].decode('utf-8', 'ignore')}…{digest}"
    return text


def _choice(value: Any) -> str:
    """A value to choose from, as the command reads it."""
    plain = _setting(value)
    return "'" + plain.replace("'", "''") + "'" if isinstance(plain, str) else repr(plain)


def _params(params: Mapping[str, Param], alive: "list[Any]") -> Any:
    array = (_Param * max(len(params), 1))()
    for slot, (name, value) in zip(array, params.items()):
        key = str(name).encode("utf-8", "surrogateescape")
        alive.append(key)
        slot.name = key
        if isinstance(value, str):
            slot.value, slot.text = math.nan, _bytes(value)
        else:
            slot.value = value
    return array


def _plain(name: str, value: Any) -> "float | str":
    """A number or text of Python from one of Python, NumPy or PyTorch. TypeError for anything else, such as a list or an
    array with several elements."""
    if type(value) is float:
        return value
    if isinstance(value, (str, numbers.Real, decimal.Decimal)):
        return str(value) if isinstance(value, str) else float(value)
    try:
        return _plain(name, value.item())
    except (AttributeError, TypeError, ValueError, RuntimeError):
        raise TypeError(f"{name} is {value!r:.80}, not a number, a text or an array with one of them") from None


def _real(name: str, value: Any) -> float:
    """A score or metric; also of an object that float() alone reads, such as a tensor of TensorFlow."""
    try:
        return float(_plain(name, value))
    except TypeError:
        with contextlib.suppress(TypeError, ValueError, RuntimeError):
            return float(value)
        raise


def _read(value: Any) -> "Optional[float]":
    """The number that the value is, or None."""
    with contextlib.suppress(TypeError, ValueError):
        return None if value is None else _real("score", value)
    return None


_NUMBER_NAMES, _TEXT_NAMES = frozenset((*_NUMBERS, *_SCALES)), frozenset((*_TEXTS, *_LAST_TEXTS))
_COLUMNS = {*_TEXTS, *_NUMBERS, *_LAST_TEXTS, *_SCALES, "status", "params", "metrics", "turns"}


def _columns(arguments: Mapping[str, Any]) -> "dict[str, Any]":
    """The columns among the arguments of a method, under the names of the log."""
    long_names = {"parent": "parent_exp", "score": "core_metric"}
    given = {name: value for name, value in arguments.items() if name in _COLUMNS and value is not None}
    for short, name in long_names.items():
        if arguments.get(short) is not None:
            if name in given:
                raise TypeError(f"{short} and {name} are the same column; give one of them")
            given[name] = arguments[short]
    return given


def _label(name: Any) -> int:
    if name not in LABELS:
        raise ValueError(f"status is {name!r}; labels are {', '.join(LABELS)}, and auto")
    return LABELS.index(name)


def _append_options(auto: bool, sync: bool) -> _AppendOptions:
    options = _AppendOptions()
    _lib.lineage_append_options_init(ctypes.byref(options))
    options.auto_status, options.no_sync = auto, not sync
    return options


def _c_trial(given: Mapping[str, Any], alive: "list[Any]") -> _Trial:
    out = _Trial()
    for name, value in given.items():
        if value is not None and name in _NUMBER_NAMES:
            setattr(out, name, _number(name, value))
        elif value is not None and name in _TEXT_NAMES:
            setattr(out, name, _bytes(value))
    out.status = _label(given.get("status", "baseline"))
    params = _flat(given.get("params") or {})
    out.params, out.n_params = _params(params, alive), len(params)
    if given.get("metrics"):
        metrics = {name: _real(name, value) for name, value in given["metrics"].items()}
        out.metrics, out.n_metrics = _params(metrics, alive), len(metrics)
    if given.get("turns"):
        turns = [_TurnStat(t["turn"], t["mean"], t["std"], t.get("count", 0)) for t in given["turns"]]
        out.turns, out.n_turns = (_TurnStat * len(turns))(*turns), len(turns)
    alive += [out.params, out.metrics, out.turns]
    return out


def _drain(cursor: ctypes.c_void_p) -> "list[dict[str, Any]]":
    """The trials of a cursor, which is then closed."""
    out: "list[dict[str, Any]]" = []
    rows, error = _rows.Rows(), _Error()
    try:
        while True:
            _check(_lib.lineage_cursor_rows(cursor, ctypes.byref(rows), ctypes.byref(error)), error)
            if not rows.n:
                return out
            out += map(_with_cause, _rows.dicts(rows, LABELS))
    finally:
        _lib.lineage_cursor_close(cursor)


def _select(handle: int, query: Optional[_Query] = None) -> "list[dict[str, Any]]":
    """The trials that meet a query, all without one."""
    cursor, error = _handle(), _Error()
    wanted = ctypes.byref(query if query is not None else _Query())
    _check(_lib.lineage_query_open(ctypes.byref(cursor), handle, wanted, ctypes.byref(error)), error)
    return _drain(cursor)


_STYLES = ("native", "fieldkit")


def _rendered(handle: int, options: _RenderOptions) -> str:
    """The block for the next agent."""
    text, length, error = ctypes.c_void_p(), ctypes.c_size_t(), _Error()
    status = _lib.lineage_render(
        ctypes.byref(text), ctypes.byref(length), handle, ctypes.byref(options), ctypes.byref(error)
    )
    _check(status, error)
    out = ctypes.string_at(text.value or 0, length.value).decode("utf-8", "replace")
    _lib.lineage_free(text)
    return out


# ---- handles ----


class _Handle:
    """A handle of the library. It is closed when its thread ends, because the thread's local storage owns it."""

    def __init__(self, path: str, options: Optional[_OpenOptions]) -> None:
        handle, error = _handle(), _Error()
        self.process, self.value = os.getpid(), 0
        _check(_lib.lineage_store_open(ctypes.byref(handle), os.fsencode(path), options, ctypes.byref(error)), error)
        self.value = int(handle.value or 0)

    def close(self) -> None:
        """The child of a fork must neither use nor close its parent's handle."""
        value, self.value = self.value, 0
        if value and self.process == os.getpid():
            _lib.lineage_store_close(value)

    __del__ = close


class _Handles:
    """One handle per thread and process."""

    def __init__(self, path: str, options: Optional[_OpenOptions] = None) -> None:
        self.path, self.options = path, options
        self._forget()

    def _forget(self) -> None:
        self.local = threading.local()
        self.open: "weakref.WeakSet[_Handle]" = weakref.WeakSet()
        self.lock, self.process = threading.Lock(), os.getpid()

    def get(self) -> int:
        if self.process != os.getpid():
            self._forget()  # after a fork no thread of this process holds the old lock
        mine: "Optional[_Handle]" = getattr(self.local, "handle", None)
        if mine is None:
            mine = self.local.handle = _Handle(self.path, self.options)
            with self.lock:
                self.open.add(mine)
        return mine.value

    def directory(self) -> str:
        """The local directory of the store, also of one on a server."""
        return os.fsdecode(_lib.lineage_store_dir(self.get()))

    def close(self) -> None:
        if self.process == os.getpid():
            with self.lock:
                for handle in list(self.open):
                    handle.close()
        self._forget()


def _make_parents(path: str) -> "list[str]":
    """Makes the directories above the path. Returns those that were not there."""
    missing: "list[str]" = []
    parent = os.path.dirname(os.path.abspath(path))
    while not os.path.lexists(parent):
        missing.insert(0, parent)
        parent = os.path.dirname(parent)
    for i, parent in enumerate(missing):
        try:
            os.mkdir(parent)
        except FileExistsError:
            continue  # another process made it
        except OSError as error:
            for made in reversed(missing[:i]):
                with contextlib.suppress(OSError):
                    os.rmdir(made)
            raise StoreError(_Error(-3, error.errno or 0, 0, f"cannot make {parent}: {error.strerror}".encode())) from error
    return missing


def _warned(row: "dict[str, Any]", said: str) -> "dict[str, Any]":
    """Warns, and returns the row. It is in the log also if the warning is raised, so that names it and has it as ``row``."""
    if said:
        warning = UserWarning(f"{row['exp_id']} is in the log; {said}")
        warning.row = row  # type: ignore[attr-defined]
        warnings.warn(warning, stacklevel=4)
    return row


class Store:
    """A store: a directory with results.tsv. With ``create``, the directory and lineage.json are created with these
    settings if they are missing; without it, the settings are read."""

    def __init__(
        self, path: "str | os.PathLike[str]", *, create: bool = False, direction: Optional[str] = None,
        metric: str = "", metric_label: str = "", min_delta: float = 0.0, noise_std: float = 0.0, noise_seeds: int = 0,
        score_name: Optional[str] = None,
    ) -> None:  # fmt: skip
        """``score_name``: what the score is, such as ``val_loss``, as `lineage run -m` says it. The block, tables and the report show
        that name; a store that has another one refuses it. ``metric_label`` is for blackboard files only."""
        self.path = os.fsdecode(path)
        if self.path and "://" not in self.path:  # Hydra and others change the directory in the middle
            through = ".." in self.path.split(os.sep)  # above the target of a link, which abspath would not follow
            if not (through and os.path.isabs(self.path)):
                self.path = os.path.join(os.getcwd(), self.path) if through else os.path.abspath(self.path)
        if create:
            directions = {None: 0, "lower": 1, "higher": 2}
            if direction not in directions:
                raise ValueError(f"direction is {direction!r}, not 'lower' or 'higher'")
            config = _Config(
                directions[direction], metric.encode(), metric_label.encode(), min_delta, noise_std, noise_seeds
            )
            error = _Error()
            made: "list[str]" = [] if "://" in self.path else _make_parents(self.path)  # as `lineage init` does
            status = _lib.lineage_store_create(os.fsencode(self.path), ctypes.byref(config), ctypes.byref(error))
            if status:
                for parent in reversed(made):
                    with contextlib.suppress(OSError):
                        os.rmdir(parent)
            if status != -5 or direction is not None:  # an existing store keeps its settings unless the caller names some
                _check(status, error)
        self._handles = _Handles(self.path)
        self._refs: "Optional[dict[str, str]]" = None
        self._closer = weakref.finalize(self, _Handles.close, self._handles)
        if score_name is not None:
            error = _Error()
            _check(_lib.lineage_store_name_score(self._handles.get(), _bytes(score_name), ctypes.byref(error)), error)
        _record_left_behind(self)

    @property
    def score_name(self) -> Optional[str]:
        """The name of the score, if somebody gave it one."""
        return _text(_lib.lineage_store_score_name(self._handles.get())) or None

    def close(self) -> None:
        """Close the handles. The store may be used again; it then opens new ones."""
        self._handles.close()

    def __enter__(self) -> "Store":
        return self

    def __exit__(self, *_: Any) -> None:
        self.close()

    # ---- append ----

    def append(
        self, *, exp_id: Optional[str] = None, timestamp: Optional[str] = None, specialist: Optional[str] = None,
        parent: Optional[str] = None, parent_exp: Optional[str] = None, baseline_exp: Optional[str] = None,
        domain: Optional[str] = None, hypothesis: Optional[str] = None, expected_delta: Optional[str] = None,
        status: Optional[str] = None, score: Optional[float] = None, core_metric: Optional[float] = None,
        val_bpb: Optional[float] = None, delta_vs_best: Optional[float] = None, train_s: Optional[float] = None,
        total_s: Optional[float] = None, job_name: Optional[str] = None, snapshot_path: Optional[str] = None,
        notes: Optional[str] = None, params: Optional[Params] = None,
        metrics: Optional[Mapping[str, float]] = None, ig_clip_scale_mean: Optional[float] = None,
        ig_clip_scale_std: Optional[float] = None, turns: Optional[Sequence[Mapping[str, Any]]] = None,
        auto: bool = False, sync: bool = True, snapshot: "str | os.PathLike[str] | None" = None,
        telemetry: Optional[Mapping[str, Any]] = None,
    ) -> "dict[str, Any]":  # fmt: skip
        """Append a trial, given by its columns, ``params`` (numbers or texts) and ``metrics`` (what was measured beside
        the score). Numbers may be scalars of NumPy and PyTorch. Returns the row as written.

        ``auto`` or ``status="auto"``: the store decides keep or discard by the score and its noise floor; a row without
        a status is a baseline. ``snapshot``: a directory that is frozen if the trial is kept. ``sync=False``: return before
        the row is on disk. ``parent`` is short for ``parent_exp``, ``score`` for ``core_metric``."""
        given = _columns(locals())
        options = _append_options(auto or given.get("status") == "auto", sync)
        if given.get("status") == "auto":
            del given["status"]
        if snapshot is not None:
            options.snapshot_dir = os.fsencode(snapshot)
        if telemetry is not None:
            text = json.dumps(telemetry, allow_nan=False).encode()
            options.telemetry, options.telemetry_length = text, len(text)
        return self._append(given, options)

    def _pass_ids(self, given: Mapping[str, Any]) -> None:
        """Like the command, give no id again that a ref of git has although its row is gone, as in a clone that fetched the refs.
        The refs are read once per object, by the command `lineage refs`, if there is a repository and the command."""
        if self._refs is None:
            self._refs = _refs_without_rows(self.path)
        handle = self._handles.get()
        for exp_id in self._refs:
            _lib.lineage_store_pass_id(handle, exp_id.encode())
        ref = self._refs.get(str(given.get("exp_id") or ""))
        if ref:
            raise StoreError(_Error(-1, 0, 0, f"the id {given['exp_id']} has the code of another trial, whose row is not in this store: "
                                    f"see `git show {ref}`; take another id, or remove the ref: git update-ref -d {ref}".encode()))  # fmt: skip

    def _append(self, given: Mapping[str, Any], options: _AppendOptions) -> "dict[str, Any]":
        alive: "list[Any]" = []
        row, error = _Trial(), _Error()
        self._pass_ids(given)
        status = _lib.lineage_store_append(
            self._handles.get(), ctypes.byref(_c_trial(given, alive)), ctypes.byref(options), ctypes.byref(row),
            ctypes.byref(error),
        )  # fmt: skip
        _check(status, error)
        out = _dict(row)
        said = self._follow_floor(lambda why: _lib.lineage_noise_after_append(self._handles.get(), ctypes.byref(row), 1, ctypes.byref(why)))
        _lib.lineage_trial_release(ctypes.byref(row))
        return _warned(out, said)

    def check(
        self, *, exp_id: Optional[str] = None, timestamp: Optional[str] = None, specialist: Optional[str] = None,
        parent: Optional[str] = None, parent_exp: Optional[str] = None, baseline_exp: Optional[str] = None,
        domain: Optional[str] = None, hypothesis: Optional[str] = None, expected_delta: Optional[str] = None,
        status: Optional[str] = None, score: Optional[float] = None, core_metric: Optional[float] = None,
        val_bpb: Optional[float] = None, delta_vs_best: Optional[float] = None, train_s: Optional[float] = None,
        total_s: Optional[float] = None, job_name: Optional[str] = None, snapshot_path: Optional[str] = None,
        notes: Optional[str] = None, params: Optional[Params] = None,
        metrics: Optional[Mapping[str, float]] = None, ig_clip_scale_mean: Optional[float] = None,
        ig_clip_scale_std: Optional[float] = None, turns: Optional[Sequence[Mapping[str, Any]]] = None,
    ) -> None:  # fmt: skip
        """Raise what :meth:`append` would raise for this trial now, and append nothing. Call it before work whose
        result must not be lost. A missing score is not an error, because the work brings it."""
        self._check(_columns(locals()))

    def _check(self, given: "dict[str, Any]") -> None:
        if given.get("status") not in (None, "auto"):
            _label(given["status"])
        alive: "list[Any]" = []
        error = _Error()
        self._pass_ids(given)
        trial = _c_trial({**given, "status": "crash"}, alive)  # a label that needs no score
        _check(_lib.lineage_store_append_check(self._handles.get(), ctypes.byref(trial), None, ctypes.byref(error)), error)

    def trial(
        self, *, exp_id: Optional[str] = None, timestamp: Optional[str] = None, specialist: Optional[str] = None,
        parent: Optional[str] = None, parent_exp: Optional[str] = None, baseline_exp: Optional[str] = None,
        domain: Optional[str] = None, hypothesis: Optional[str] = None, expected_delta: Optional[str] = None,
        status: Optional[str] = None, job_name: Optional[str] = None, snapshot_path: Optional[str] = None,
        notes: Optional[str] = None, params: Optional[Params] = None,
        metrics: Optional[Mapping[str, float]] = None,
    ) -> "Trial":  # fmt: skip
        """A trial that appends itself at the end of a ``with`` block; see :class:`Trial`."""
        return Trial(self, _columns(locals()))

    def _append_void(self, function: Any, exp_id: str, reason: str) -> "dict[str, Any]":
        row, error = _Trial(), _Error()
        status = function(self._handles.get(), _bytes(exp_id), _bytes(reason), ctypes.byref(row), ctypes.byref(error))
        _check(status, error)
        out = _dict(row)
        said = self._follow_floor(lambda why: _lib.lineage_noise_after_void(self._handles.get(), row.parent_exp, ctypes.byref(why)), True)
        _lib.lineage_trial_release(ctypes.byref(row))
        return _warned(out, said)

    def _follow_floor(self, measure: "Callable[[_Error], Any]", any_change: bool = False) -> str:
        """What to warn of: that the noise floor moved, or could not be measured anew."""
        from . import _evidence

        return _evidence.follow_floor(self._handles.get(), measure, any_change)

    def void(self, exp_id: str, reason: str) -> "dict[str, Any]":
        """Take a trial out of the count, because it says nothing about its settings; returns the row that voids it. The
        trial then reads as harness_abort without a score, and its ``void`` is its own label. StoreError if it is void already."""
        return self._append_void(_lib.lineage_void_append, exp_id, reason)

    def unvoid(self, exp_id: str, reason: str = "") -> "dict[str, Any]":
        """Take a void back: the trial counts again."""
        return self._append_void(_lib.lineage_void_take_back, exp_id, reason)

    def voids(self) -> "list[dict[str, Any]]":
        """The void trials, with ``by``, ``timestamp`` and ``reason`` of the row that voids each, and ``status`` and
        ``score`` as in the trial's own row."""
        out: "list[dict[str, Any]]" = []

        def visit(_: Any, entry: Any) -> bool:
            one = entry.contents
            out.append({
                "exp_id": _text(one.exp_id), "by": _text(one.by), "timestamp": _text(one.timestamp),
                "reason": _text(one.reason), "status": LABELS[one.label],
                "score": one.score.value if one.score.present else None,
            })  # fmt: skip
            return True

        error = _Error()
        _check(_lib.lineage_voids_read(self._handles.get(), None, _VISIT_VOID(visit), None, ctypes.byref(error)), error)
        return out

    # ---- the rows as a table ----

    def _count(self, names: "Sequence[str]" = ()) -> int:
        """The number of rows that have all these names."""
        n, error = ctypes.c_size_t(), _Error()
        conditions = (_Condition * max(len(names), 1))(*(_Condition(name=name.encode()) for name in names))
        query = _Query(conditions=conditions, n_conditions=len(names))
        _check(_lib.lineage_query_count(ctypes.byref(n), self._handles.get(), ctypes.byref(query), ctypes.byref(error)), error)
        return n.value

    def __len__(self) -> int:
        """The number of rows."""
        return self._count()

    def __bool__(self) -> bool:
        """A store is true, also without rows."""
        return True

    def __iter__(self) -> "Iterator[dict[str, Any]]":
        """The trials in file order. Rows that are appended meanwhile follow."""
        after, page = 0, True
        while page:
            rows = _select(self._handles.get(), _Query(after=after, limit=1000))
            yield from rows
            page = len(rows) == 1000
            after = rows[-1]["seq"] if rows else after

    def __getitem__(self, exp_id: str) -> "dict[str, Any]":
        """The trial with that id, like :meth:`find`; NotFound, a KeyError, if it does not exist."""
        if not isinstance(exp_id, str):
            raise TypeError(f"the id of a trial is a text such as '014', not {exp_id!r:.40}")
        return self.find(exp_id)

    def __contains__(self, exp_id: object) -> bool:
        try:
            return isinstance(exp_id, str) and bool(self.find(exp_id))
        except NotFound:
            return False

    def steps(self, exp_id: str) -> "list[dict[str, Any]]":
        """The steps that a trial logged, each with ``step`` and its metrics by name; an empty list if it logged none."""
        row = self.find(exp_id)
        path, error = ctypes.c_void_p(), _Error()
        place = 1  # LINEAGE_PLACE_TELEMETRY
        _check(_lib.lineage_store_path(ctypes.byref(path), self._handles.get(), place, ctypes.byref(error)), error)
        folder = os.fsdecode(ctypes.string_at(path.value or 0))
        _lib.lineage_free(path)
        steps = _telemetry(folder, row["exp_id"]).get("steps")
        return [step for step in steps if isinstance(step, dict)] if isinstance(steps, list) else []

    def _table(self, rows: "Optional[Sequence[Mapping[str, Any]]]") -> "dict[str, list[Any]]":
        """Columns by name: those of the log, then score, params.NAME, metrics.NAME and the extra columns."""
        rows = list(self) if rows is None else rows
        plain = (*_TEXTS, "status", *_NUMBERS, *_LAST_TEXTS, *_SCALES, "score")
        table: "dict[str, list[Any]]" = {name: [row[name] for row in rows] for name in plain}
        for kind, prefix in (("params", "params."), ("metrics", "metrics."), ("extras", "")):
            for name in sorted({name for row in rows for name in row[kind]}):
                values = [row[kind].get(name) for row in rows]
                if len({isinstance(value, str) for value in values if value is not None}) > 1:
                    values = [value if value is None or isinstance(value, str) else f"{value:.17g}" for value in values]
                table[f"extras.{name}" if prefix + name in table else prefix + name] = values
        return table

    def to_pandas(self, rows: "Optional[Sequence[Mapping[str, Any]]]" = None) -> Any:
        """A pandas DataFrame of all trials, or of the rows of a query, with exp_id as a column. Parameters and metrics are
        columns ``params.NAME`` and ``metrics.NAME``. A parameter that has numbers and texts becomes text. Columns of numbers
        are float64 whatever the rows hold, so that frames of several stores fit together. ImportError without pandas."""
        import pandas

        table = self._table(rows)
        kinds = {name: "float64" if _is_numeric(name, values) else "object" for name, values in table.items()}
        return pandas.DataFrame({name: pandas.Series(values, dtype=kinds[name]) for name, values in table.items()})

    def to_arrow(self, rows: "Optional[Sequence[Mapping[str, Any]]]" = None) -> Any:
        """The same as a pyarrow Table of float64 and string columns; numbers that are missing are null. ImportError without
        pyarrow."""
        import pyarrow

        number, text = pyarrow.float64(), pyarrow.string()
        table = self._table(rows)
        kinds = {name: number if _is_numeric(name, values) else text for name, values in table.items()}
        return pyarrow.table({name: pyarrow.array(values, type=kinds[name]) for name, values in table.items()})

    def __repr__(self) -> str:
        return f"Store({self.path!r})"

    def __reduce__(self) -> Any:
        """A worker of multiprocessing or joblib opens the store itself."""
        return type(self), (self.path,)

    def _repr_html_(self) -> str:
        """For notebooks: the number of trials, the best one, and the history and tree of `lineage report` as pictures, if the
        command `lineage` is on the path."""
        best = self.best_id()
        text = f"{len(self)} trials in <code>{html.escape(self.path)}</code>"
        if best is not None:
            row = self.find(best)
            text += f"; best is <b>{html.escape(best)}</b> with {html.escape(self.score_name or 'score')} {row['score']:g}: {html.escape(row['hypothesis'][:200])}"
        pictures = (_picture(self.path, name) for name in ("history", "tree"))
        return f"<p>{text}</p>" + "".join(pictures)

    # ---- queries ----

    def _one(self, function: Any, *arguments: Any) -> "dict[str, Any]":
        trial, error = _Trial(), _Error()
        _check(function(self._handles.get(), *arguments, ctypes.byref(trial), ctypes.byref(error)), error)
        out = _dict(trial)
        _lib.lineage_trial_release(ctypes.byref(trial))
        return out

    def best(self) -> "dict[str, Any]":
        """The best kept trial. NotFound if no trial is ranked."""
        return self._one(_lib.lineage_best)

    def best_id(self) -> Optional[str]:
        """The id of the best trial, as the parent of the next one; None if there is none."""
        try:
            return str(self.best()["exp_id"])
        except NotFound:
            return None

    def find(self, exp_id: str) -> "dict[str, Any]":
        """The trial with that id; ``exp_014`` and ``014`` name the same trial, and ``best`` the best one unless a trial has that
        name. NotFound if it does not exist."""
        return self._one(_lib.lineage_find_named, _bytes(exp_id), False)

    def claim(self, exp_id: str) -> Optional[str]:
        """What the verdict of a kept trial is worth while the noise is unknown, with the command that finds out; else None."""
        from . import _evidence

        trial, error = _Trial(), _Error()
        _check(_lib.lineage_find(self._handles.get(), _bytes(exp_id), ctypes.byref(trial), ctypes.byref(error)), error)
        out = _evidence.claim(self._handles.get(), trial)
        _lib.lineage_trial_release(ctypes.byref(trial))
        return out

    def chain(self, exp_id: str) -> "list[dict[str, Any]]":
        """The trial and its kept ancestors, root first. ``passed_over`` of each: ancestors left out above it."""
        chain, error = _Chain(), _Error()
        status = _lib.lineage_chain_load(self._handles.get(), _bytes(exp_id), ctypes.byref(chain), ctypes.byref(error))
        _check(status, error)
        out = [{**_dict(chain.trials[i]), "passed_over": chain.passed_over[i]} for i in range(chain.n)]
        _lib.lineage_chain_release(ctypes.byref(chain))
        return out

    def query(
        self, *, status: "str | Sequence[str] | None" = None, specialist: Optional[str] = None,
        since: Optional[str] = None, until: Optional[str] = None, sort: Optional[str] = None, limit: int = 0,
        where: Optional[Mapping[str, Any]] = None, **ranges: Any,
    ) -> "list[dict[str, Any]]":  # fmt: skip
        """Trials that meet all conditions, in file order or sorted by ``sort`` ("-score", "alpha", ...).

        Conditions on a parameter, metric, extra column or score column are keywords: ``alpha="0.1:0.5"``, ``gamma=":1.0"``,
        ``alpha=(0.1, 0.5)``, ``alpha=0.3``, ``optimizer="adam"`` or a list of texts. ``where`` holds the conditions whose
        names are not Python identifiers. since, until: dates (schema/FORMAT.md)."""
        alive: "list[Any]" = []
        conditions = [_condition(name, value, alive) for name, value in {**(where or {}), **ranges}.items()]
        array = (_Condition * max(len(conditions), 1))(*conditions)
        query = _Query(
            _label_set(status), _bytes(specialist), _bytes(since), _bytes(until),
            array, len(conditions), _bytes(sort), 0, limit,
        )  # fmt: skip
        return _select(self._handles.get(), query)

    def search(
        self, words: str, *, limit: int = 20, status: "str | Sequence[str] | None" = None,
        specialist: Optional[str] = None, since: Optional[str] = None, until: Optional[str] = None,
    ) -> "list[dict[str, Any]]":  # fmt: skip
        """Trials whose exp_id, specialist, hypothesis, notes or remarks contain the words, best match first; at most
        ``limit``, or all with 0. All words must occur. ``"grad clip"`` in quotes is a phrase, ``anneal*`` a prefix, and
        AND, OR, NOT, parentheses and ``hypothesis:clip`` work too. StoreError names the position of a mistake."""
        query = _Query(
            _label_set(status), _bytes(specialist), _bytes(since), _bytes(until), None, 0, None, 0, _at_least("limit", limit, 0)
        )
        cursor, error = _handle(), _Error()
        code = _lib.lineage_search(
            ctypes.byref(cursor), self._handles.get(), _words(words), ctypes.byref(query), ctypes.byref(error)
        )
        _check(code, error)
        return _drain(cursor)

    @contextlib.contextmanager
    def _ideas(self, what: Optional[str] = None) -> "Iterator[ctypes.c_void_p]":
        """The trials of the store as a set of ideas, with the trials that are running now: all, or those to compare with
        an idea."""
        ideas, error = _handle(), _Error()
        try:
            _check(_lib.lineage_ideas_new(ctypes.byref(ideas), ctypes.byref(error)), error)
            all_running = list(_running.running_trials(self._handles.directory()))
            if what is None:
                code = _lib.lineage_ideas_add_store(ideas, self._handles.get(), ctypes.byref(error))
            else:
                words = next((one["hypothesis"] for one in all_running if one.get("exp_id") == what), what)
                code = _lib.lineage_search_ideas(ideas, self._handles.get(), _words(words), ctypes.byref(error))
            _check(code, error)
            for running in all_running:
                trial = _c_trial(running, [])
                _check(_lib.lineage_ideas_add(ideas, ctypes.byref(trial), True, ctypes.byref(error)), error)
            _check(_lib.lineage_ideas_settle(ideas, ctypes.byref(error)), error)
            yield ideas
        finally:
            _lib.lineage_ideas_release(ideas)

    def similar(
        self, idea: str, *, limit: int = 10, before: bool = False, strictness: float = 0.4
    ) -> "list[dict[str, Any]]":
        """The trials that resemble an idea in words, or the trial with that id, most similar first. ``same`` is True if
        that trial already made the whole change, and ``why`` is the reason. Trials that run now,
        in Python or by `lineage run` and `night`, are listed with the status "running". ``before``: of a trial's
        neighbours, only those before it in the log. ``strictness``: how probable ``same`` must be, above 0 and below 1.
        NotFound if the text can only be an id and no trial has it."""
        wanted, limit = _words(idea), _at_least("limit", limit, 1)
        found, trial, error = _SimilarList(), ctypes.c_size_t(), _Error()
        with self._ideas(idea) as ideas:
            _check(_lib.lineage_ideas_set_strictness(ideas, strictness, ctypes.byref(error)), error)
            if _lib.lineage_ideas_find(ctypes.byref(trial), ideas, wanted):
                code = _lib.lineage_ideas_similar(
                    ctypes.byref(found), ideas, trial, not before, limit, ctypes.byref(error)
                )
            elif re.fullmatch(r"exp_.*|[0-9]*", idea, re.ASCII):
                raise _not_found(f"no trial {idea}" if idea else "the idea is empty")
            elif before:
                raise ValueError(f"before needs the id of a trial, which {idea!r} is not")
            else:
                code = _lib.lineage_ideas_similar_text(ctypes.byref(found), ideas, wanted, limit, ctypes.byref(error))
            _check(code, error)
            near = [found.items[i] for i in range(found.n)]
            out = [
                {**_outcome(_lib.lineage_ideas_get(ideas, one.trial).contents), "same": one.same, "why": _text(one.why)}
                for one in near
            ]
            _lib.lineage_similar_release(ctypes.byref(found))
            return out

    def knobs(self, name: Optional[str] = None) -> "list[dict[str, Any]]":
        """The settings that trials changed, in parameters, in their program or in words, most tries first. Each has its
        ``name``, the ``value`` in force for the best trial and the trial that set it (``set_by``), ``raised`` and
        ``lowered`` (trials, and how many of them were kept), and ``tries``: every value with its source and outcome.
        With a name, in any spelling of the log, a list of that setting alone; NotFound if no trial changed it."""
        wanted, best, index = None if name is None else _words(name), self.best_id(), ctypes.c_size_t(_NONE)
        with self._ideas() as ideas:
            if best is None or not _lib.lineage_ideas_find(ctypes.byref(index), ideas, _bytes(best)):
                index.value = _NONE
            knobs, error = _Knobs(), _Error()
            _check(_lib.lineage_knobs_find(ctypes.byref(knobs), ideas, index, 0, ctypes.byref(error)), error)
            try:
                if wanted is None:
                    return [_knob(ideas, knobs.items[i]) for i in range(knobs.n)]
                one = _lib.lineage_knobs_named(ctypes.byref(knobs), ideas, wanted)
                if not one:
                    raise _no_knob(ideas, wanted)
                return [_knob(ideas, one.contents)]
            finally:
                _lib.lineage_knobs_release(ctypes.byref(knobs))

    def evidence(self, *, trials: int = 0, runs_max: int = 0) -> "list[dict[str, Any]]":
        """How sure it is that each trial is better than the best one, over all its runs (lineage/evidence.h). For each trial
        with a score, in the order of the log: ``n`` and ``mean`` of its runs, ``fresh_n`` and ``fresh_mean`` of those after
        the first, ``std`` between them, ``margin`` (half of the 95 % interval of the mean), and against the best trial
        ``state`` (open, confirmed, refuted, exhausted), ``gain`` with its standard ``error`` and 95 % interval ``low`` to
        ``high``, ``odds``, ``candidate`` and ``near``; None for what is unknown and for the best trial itself. ``trials``
        and ``runs_max``: of a night, and of one trial; 0 for the defaults."""
        from . import _evidence

        rule = _at_least("trials", trials, 0), _at_least("runs_max", runs_max, 0)
        return _evidence.load(self._handles.get(), *rule)[1]

    def settings(self) -> "list[dict[str, Any]]":
        """What :meth:`evidence` returns, the best setting first: by ``expected``, the ``mean`` of its ``n`` runs drawn to the middle of
        all as far as noise may explain the difference. ``margin`` is half of the 95 % interval of the mean, None while the noise is
        unknown. Settings with only failed runs come last: their ``n`` is 0, their ``mean`` None, ``failed`` counts them, and
        ``last_id`` names the newest. The runs of a setting are rows that run it again, and rows that differ in a seed alone:
        seed, random_seed, or a name of "seeds" in lineage.json."""
        from . import _evidence

        return _evidence.load(self._handles.get(), 0, 0, in_order=True)[1]

    def noise(self) -> "dict[str, Any]":
        """The standard deviation of a score between equal trials: ``std`` with its 95 % interval ``low`` to ``high``, its
        degrees of ``freedom`` (0: nothing is known; infinity: set by the owner), the number of ``runs`` it was computed from,
        whether it is ``estimated`` from replicas, and all that in one line, ``text``."""
        from . import _evidence

        return _evidence.load(self._handles.get(), 0, 0)[0]

    def front(self) -> "list[dict[str, Any]]":
        """The kept trials that no other kept trial beats in both scores, best first score first, each with ``exp_id``,
        ``score`` and ``second`` (lineage/front.h). Empty if lineage.json does not name a second score."""
        from . import _evidence

        return _evidence.front(self._handles.get())

    def tried(self, params: Optional[Params] = None, *, tolerance: float = 1e-9, **named: Param) -> "list[dict[str, Any]]":
        """Trials whose parameters have these values, within ``tolerance``: a share of the value (0.05 means 5 %), or an
        absolute difference if the value is 0. An empty list means that nobody has tried them; a name that no trial has is
        a warning, because it may be misspelt."""
        wanted = _flat({**_mapping(params or {}), **named})
        alive: "list[Any]" = []
        cursor, error = _handle(), _Error()
        status = _lib.lineage_tried(
            ctypes.byref(cursor), self._handles.get(), _params(wanted, alive), len(wanted), tolerance, ctypes.byref(error)
        )
        _check(status, error)
        rows = _drain(cursor)
        try:
            if not rows and len(self):
                self._count(list(wanted))
        except StoreError as unknown:
            warnings.warn(str(unknown), stacklevel=2)
        return rows

    def suggest(self, ranges: Mapping[str, "str | Sequence[Param]"], *, method: str = "auto", seed: int = 0) -> "dict[str, Any]":
        """The setting to try next, learnt from the trials of the store, as `lineage suggest` chooses it: a range is a text such as
        ``"1e-5:1e-2:log"``, or the values to choose from. :meth:`tell` records how it went. NotFound if all settings were tried."""
        # NumPy's numbers become Python's, which json knows.
        ranges = {
            name: given if isinstance(given, str) else list(getattr(given, "tolist", given.__iter__)())
            for name, given in ranges.items()
        }
        call = ["suggest", "--propose", method, "--seed", str(seed)]
        for name, given in ranges.items():
            values = given if isinstance(given, str) else ",".join(map(_choice, given))
            call += ["--range", f"{name}={values}"]
        answer = json.loads(_command(self.path, call))
        if not answer["suggestions"]:
            raise _not_found("every setting of the ranges was tried")
        integers = {name for name, given in ranges.items() if isinstance(given, str) and "integer" in given}
        choices = {
            name: {_setting(one): one for one in given if _flat({name: one}) == {name: _setting(one)}}  # not what is several parameters
            for name, given in ranges.items() if not isinstance(given, str)
        }  # fmt: skip
        return {
            name: int(value) if name in integers else choices.get(name, {}).get(value, value)
            for name, value in answer["suggestions"][0].items()
        }

    def tell(self, params: Params, score: Optional[float], **columns: Any) -> "dict[str, Any]":
        """Append a trial with this setting and score; None or a score that is not finite is a crash."""
        measured = score is not None and math.isfinite(score)
        row: "dict[str, Any]" = {"params": params, "status": "auto" if measured else "crash", **columns}
        return self.append(score=score if measured else None, **row)

    def record(self, function: "Optional[Callable[..., Any]]" = None, /, **plan: Any) -> Any:
        """A decorator: each call of the function is a trial with the arguments of the call, defaults included, as parameters. What
        it returns is the score, or a mapping with ``score`` (or the name of the store's score) and metrics::

            @store.record(hypothesis="a longer warm-up")
            def train(lr=1e-3, layers=4): ...
        """
        if function is None:
            return functools.partial(self.record, **plan)
        run, signature = function, inspect.signature(function)
        if inspect.iscoroutinefunction(run) or inspect.isgeneratorfunction(run) or inspect.isasyncgenfunction(run):
            raise TypeError(f"{getattr(run, '__qualname__', run)} returns before it has run; use `with store.trial(..)` in it instead of @store.record")

        @functools.wraps(run)
        def recorded(*args: Any, **kwargs: Any) -> Any:
            bound = signature.bind(*args, **kwargs)
            bound.apply_defaults()
            begin: "dict[str, Any]" = {**plan, "params": {**bound.arguments, **_mapping(plan.get("params") or {})}}
            with self.trial(**begin) as trial:
                result = run(*args, **kwargs)
                numbers_by_name = dict(result) if isinstance(result, Mapping) else {"score": result}
                score = numbers_by_name.pop("score", None)
                if score is None:
                    score = _read(numbers_by_name.pop(self.score_name or "score", None))
                    numbers_by_name = {name: value for name, value in numbers_by_name.items() if _read(value) is not None}
                if score is not None:
                    trial.score(score, **numbers_by_name)
            return result

        return recorded

    def sweep(self, x: str, y: Optional[str] = None) -> "list[dict[str, Any]]":
        """The values, or pairs of values, of parameters, metrics or extra columns that occurred: one dict per cell, with
        count, labels, best and best_id."""
        sweep, error = _Sweep(), _Error()
        status = _lib.lineage_sweep_load(
            self._handles.get(), _bytes(x), _bytes(y), ctypes.byref(sweep), ctypes.byref(error)
        )
        _check(status, error)
        cells = [_cell(sweep.cells[i], x, y) for i in range(sweep.n_cells)]
        _lib.lineage_sweep_release(ctypes.byref(sweep))
        return cells

    def render(
        self, *, style: str = "native", specialist: str = "", timestamp: str = "", sections: Optional[str] = None,
        max_bytes: Optional[int] = None,
    ) -> str:  # fmt: skip
        """The session-start block that the next agent reads, of 12,000 bytes at most unless max_bytes says otherwise (0: all)."""
        if style not in _STYLES:
            raise ValueError(f"style is {style!r}, not 'native' or 'fieldkit'")
        options = _RenderOptions()
        _lib.lineage_render_options_init(ctypes.byref(options))
        options.style, options.specialist, options.timestamp = _STYLES.index(style), _bytes(specialist), _bytes(timestamp)
        options.sections = _bytes(sections)
        if max_bytes is not None:
            options.max_bytes = max_bytes
        return _rendered(self._handles.get(), options)


def _is_numeric(name: str, values: "Sequence[Any]") -> bool:
    """Whether a column of Store._table has numbers, also if it has no values."""
    return name not in (*_TEXTS, *_LAST_TEXTS, "status") and not any(isinstance(value, str) for value in values)


def _find_command() -> Optional[str]:
    """The command `lineage`: in the package, on PATH, or beside an interpreter whose environment is not activated."""
    own = os.path.join(os.path.dirname(os.path.abspath(__file__)), "_lib")
    return shutil.which("lineage", path=os.pathsep.join([own, os.environ.get("PATH") or os.defpath, sysconfig.get_path("scripts")]))


def _command(store: str, call: "list[str]") -> str:
    """What a command of lineage says about the store; the package has no proposers of its own."""
    command = _find_command()
    if command is None:
        raise FileNotFoundError("the command `lineage` is not installed: `cmake --install` of lineage's tree puts it on PATH")
    done = subprocess.run([command, *call, "-C", store, "--format", "json"], stdin=subprocess.DEVNULL, capture_output=True, text=True)
    if done.returncode not in (0, 1) or not done.stdout:
        raise ValueError(done.stderr.strip() or f"lineage {call[0]} failed")
    return done.stdout


def _refs_without_rows(store: str) -> "dict[str, str]":
    """Ids of trials whose rows are gone, with the refs of git that have their code."""
    places = (os.path.realpath(store), os.getcwd())
    around = {folder for place in places for folder in (place, *map(str, pathlib.PurePath(place).parents))}
    if _find_command() is None or not any(os.path.lexists(os.path.join(folder, ".git")) for folder in around):
        return {}
    try:
        refs = json.loads(_command(store, ["refs", "--without-rows"]))
    except (OSError, ValueError) as error:
        warnings.warn(f"it is not known whether refs of git have ids of trials whose rows are gone: {error}", stacklevel=5)
        return {}
    return {one["exp_id"]: one["ref"] for one in refs}


def _picture(store: str, name: str) -> str:
    """A picture of the report as an <img>, in which scripts do not run and names do not clash with those of other cells; "" if
    there is no command, or it has no such picture of this store."""
    command = _find_command()
    if command is None:
        return ""
    call = [command, "report", "-C", store, "--svg", name]
    try:
        drawn = subprocess.run(call, stdin=subprocess.DEVNULL, capture_output=True, check=True, timeout=60).stdout
    except (OSError, subprocess.SubprocessError):
        return ""
    coded = base64.b64encode(drawn).decode()
    return f'<img alt="{name}" style="max-width: 100%; background: white" src="data:image/svg+xml;base64,{coded}">'


def _label_set(status: "str | Sequence[str] | None") -> int:
    """The labels of a query as bits."""
    labels = [status] if isinstance(status, str) else list(status or [])
    for label in labels:
        if label not in LABELS:
            raise ValueError(f"status is {label!r}; labels are {', '.join(LABELS)}")
    return sum(1 << LABELS.index(label) for label in set(labels))


def _not_found(text: str) -> NotFound:
    return NotFound(_Error(_NOT_FOUND, 0, 0, text.encode("utf-8", "replace")[:511]))


def _no_knob(ideas: ctypes.c_void_p, wanted: bytes) -> StoreError:
    """The error for a setting that no trial changed, with a similar name of the log."""
    settings, error, names = _Settings(), _Error(), (ctypes.c_char_p * 1)(wanted)
    if _lib.lineage_settings_find(ctypes.byref(settings), ideas, names, 1, ctypes.byref(error)):
        return StoreError(error)
    near = _text(settings.names[0].nearest)
    _lib.lineage_settings_release(ctypes.byref(settings))
    said = wanted.decode()[:200]
    return _not_found(f"no trial says that it changed '{said}'" + (f" (the nearest is '{near}')" if near else ""))


def _knob(ideas: ctypes.c_void_p, knob: _Knob) -> "dict[str, Any]":
    def attempt(one: _KnobTry) -> "dict[str, Any]":
        change = one.change.contents
        return {
            **_outcome(_lib.lineage_ideas_get(ideas, one.trial).contents),
            "name": _text(change.name), "from": None if change.old is None else _text(change.old),
            "to": _text(change.new), "to_value": change.new_value.value if change.new_value.present else None,
            "source": SOURCES[change.source], "direction": (None, "down", "up")[one.direction],
        }  # fmt: skip

    set_by = None if knob.set_by == _NONE else _text(_lib.lineage_ideas_get(ideas, knob.set_by).contents.exp_id)
    return {
        "name": _text(knob.name), "value": None if knob.value is None else _text(knob.value), "set_by": set_by,
        "raised": {"trials": knob.up, "kept": knob.up_kept}, "lowered": {"trials": knob.down, "kept": knob.down_kept},
        "tries": [attempt(knob.tries[i]) for i in range(knob.n_tries)],
    }  # fmt: skip


def _spelled(one: Any) -> str:
    return str(one if isinstance(one, (str, numbers.Real)) and not isinstance(one, bool) else _setting(one))


def _condition(name: str, value: Any, alive: "list[Any]") -> _Condition:
    out = _Condition(name=name.encode())
    if not hasattr(value, "__iter__") or isinstance(value, (str, bytes, Mapping)) or not getattr(value, "ndim", 1):
        value = value if isinstance(value, str) else _setting(value)
    elif not isinstance(value, tuple):
        value = list(value)  # also an array or the keys of a dict
    if isinstance(value, float):
        value = (value, value)
    if isinstance(value, tuple) and len(value) == 2 and not any(isinstance(end, str) for end in value):
        out.range = _Range(_number(name, value[0]), _number(name, value[1]))
        return out
    texts = [value] if isinstance(value, str) else [_spelled(one) for one in value]
    if not texts:
        raise ValueError(f"{name}: an empty list names no value")
    one, error = texts[0] if len(texts) == 1 else "", _Error()
    if one and not _is_text(one) and _lib.lineage_range_parse(ctypes.byref(out.range), _bytes(one), ctypes.byref(error)) == 0:
        return out
    array = (ctypes.c_char_p * len(texts))(*(_bytes(text) for text in texts))
    alive.append(array)
    out.texts, out.n_texts = array, len(texts)
    out.range = _Range()
    return out


def _cell(cell: _SweepCell, x: str, y: Optional[str]) -> "dict[str, Any]":
    out: "dict[str, Any]" = {x: _text(cell.x_text) if cell.x_text is not None else _rows.setting(cell.x)}
    if y is not None:
        out[y] = _text(cell.y_text) if cell.y_text is not None else _rows.setting(cell.y)
    out["count"] = cell.count
    out["labels"] = {label: n for label, n in zip(LABELS, cell.labels) if n}
    out["best"] = cell.best.value if cell.best.present else None
    out["best_id"] = _text(cell.best_id) or None
    return out


def _metric_name(name: str) -> str:
    """The name as notes allow it: `eval/top 1` becomes eval_top_1."""
    clean = re.sub(r"[^A-Za-z0-9_.-]", "_", name)
    return (clean if clean[:1].isalpha() else "m_" + clean)[:63]


# ---- running trials ----


_VISIT_ID = ctypes.CFUNCTYPE(None, ctypes.c_void_p, ctypes.c_char_p)


def _append_noted(
    store: Store, place: "_running.Running | _running.Leftover", given: "dict[str, Any]", telemetry: Mapping[str, Any],
    options: _AppendOptions,
) -> "dict[str, Any]":  # fmt: skip
    """Append the row of a trial that has a directory. The id is noted there before the row is written, so that a process
    that finds the directory after a kill knows whether the row exists."""
    note = _VISIT_ID(lambda _, exp_id: place.note_row(exp_id))
    text = json.dumps(telemetry, allow_nan=False).encode() if telemetry else None
    options.beside = ctypes.cast(note, ctypes.c_void_p)
    options.telemetry, options.telemetry_length = text, len(text or b"")
    return store._append({**given, "job_name": place.job_name}, options)


def _last_metrics(steps: "Sequence[Mapping[str, float]]") -> "dict[str, float]":
    """The last value of each metric, under names that notes allow. At most 64."""
    last: "dict[str, float]" = {}
    for entry in steps:
        for name, value in entry.items():
            if name not in ("step", "score") and math.isfinite(value):
                last[_metric_name(name)] = value
    return dict(list(last.items())[-64:])


def _record_left_behind(store: Store) -> None:
    """Write the rows of trials whose process was killed."""
    for trial in _running.left_behind(store._handles.directory()):
        if _has_row(store, trial):
            trial.remove()
            continue
        steps = trial.steps()
        at = f" at step {steps[-1]['step']:g}" if steps else ""
        plan = {("parent_exp" if name == "parent" else name): value for name, value in trial.plan.items()}
        # Anybody may have written the file; text columns become text, and settings that are not a table are left out.
        given = {name: value for name, value in plan.items() if name in _COLUMNS}
        given = {name: value for name, value in given.items() if name not in ("params", "metrics") or isinstance(value, dict)}
        note = f"the process that ran it was killed{at}"
        given.update(status="harness_abort", metrics={**(given.get("metrics") or {}), **_last_metrics(steps)})
        given["notes"] = "; ".join(part for part in (str(given.get("notes") or ""), note) if part)
        try:
            _append_whatever(store, trial, given, {"steps": steps} if steps else {})
        except (StoreError, TypeError, ValueError) as error:
            warnings.warn(f"{trial.path}: the row of a killed trial could not be written: {error}", stacklevel=4)
            continue
        trial.remove()


def _has_row(store: Store, trial: _running.Leftover) -> bool:
    exp_id = trial.row_id()
    try:
        return bool(exp_id) and store.find(exp_id)["job_name"] == trial.job_name
    except StoreError:
        return False


def _append_whatever(
    store: Store, place: "_running.Running | _running.Leftover", given: "dict[str, Any]", telemetry: Mapping[str, Any]
) -> "dict[str, Any]":
    """Append the row as it should be; if that is refused, what can be written of it with the reason. Raises the first error
    if nothing can be written."""
    auto = given.get("status") == "auto"
    wanted = {name: value for name, value in given.items() if not (auto and name == "status")}
    try:
        return _append_noted(store, place, wanted, telemetry, _append_options(auto, True))
    except (StoreError, TypeError, ValueError, OverflowError) as error:
        for attempt in (_without_faults, _without_parent, _bare):
            options = _append_options(auto, True)
            options.allow_missing_parent = True
            try:
                row = attempt(store, wanted, f"the row could not be written as planned: {_said(error)}")
                if "core_metric" not in row:
                    options.auto_status = False
                    row.setdefault("status", "harness_abort")
                return _append_noted(store, place, row, {} if attempt is _bare else telemetry, options)
            except (StoreError, TypeError, ValueError, OverflowError):
                continue
        raise


@functools.lru_cache(maxsize=None)
def _ran() -> str:
    """The piece `ran DIGEST` of this script, by its name and contents; "" where Python runs none, as in a notebook."""
    path = getattr(sys.modules.get("__main__"), "__file__", None)
    try:
        script = pathlib.Path(path).read_bytes() if path else b""
    except OSError:
        script = b""
    name = os.path.basename(path or "").encode(errors="replace")
    return f"ran {hashlib.blake2b(name + bytes(1) + script, digest_size=8).hexdigest()}" if script else ""


def _said(error: BaseException) -> str:
    """The message of an exception as a piece of notes, which are separated by semicolons."""
    return " ".join(str(error).split())[:200].replace(";", ",").encode("utf-8", "replace").decode()


def _cause_of(error: BaseException) -> str:
    """One of CAUSES for an exception that ended a trial."""
    if isinstance(error, MemoryError) or "outofmemory" in type(error).__name__.lower() or "out of memory" in str(error).lower():
        return "memory"
    if isinstance(error, ModuleNotFoundError):
        return "missing module"
    if isinstance(error, OSError) and error.errno in (errno.ENOSPC, errno.EDQUOT, errno.EFBIG):
        return "disk"
    return "code"


def _without_faults(store: Store, given: "dict[str, Any]", reason: str) -> "dict[str, Any]":
    """The row with its texts cut, and without the columns, parameters and metrics that would be refused by themselves."""
    out: "dict[str, Any]" = {}
    for name, value in given.items():
        if name in ("params", "metrics"):
            out[name] = {key: one for key, one in value.items() if _is_accepted(store, {name: {key: one}})}
        elif name == "status" or name == "parent_exp":
            out[name] = value
        else:
            cut = str(value).encode("utf-8", "replace").decode().replace("\0", "")[:4000] if name in (*_TEXTS, *_LAST_TEXTS) else value
            if _is_accepted(store, {name: cut}):
                out[name] = cut
    out["notes"] = "; ".join(part for part in (out.get("notes", ""), reason) if part)
    return out


def _without_parent(store: Store, given: "dict[str, Any]", reason: str) -> "dict[str, Any]":
    """Likewise, as a root: the parent is gone, and this row may even get its id."""
    parent = given.get("parent_exp")
    rest = {name: value for name, value in given.items() if name != "parent_exp"}
    return _without_faults(store, rest, f"{reason}; its parent was {str(parent)[:100]}" if parent else reason)


def _bare(store: Store, given: "dict[str, Any]", reason: str) -> "dict[str, Any]":
    """The row without everything that can be left out."""
    score = given.get("core_metric")
    notes = f"{reason}; its score was {score}" if score is not None else reason
    cut = str(given.get("hypothesis") or "").encode("utf-8", "replace").decode().replace("\0", "")[:4000]
    return {"status": "harness_abort", "hypothesis": cut, "notes": notes}


def _is_accepted(store: Store, columns: "dict[str, Any]") -> bool:
    try:
        store._check(columns)
    except (StoreError, TypeError, ValueError, OverflowError):
        return False
    return True


def _other_rank() -> Optional[str]:
    """`RANK=1` if this process is one of several of one training and not the first; None otherwise."""
    for rank, size in (("RANK", "WORLD_SIZE"), ("SLURM_PROCID", "WORLD_SIZE"), ("OMPI_COMM_WORLD_RANK", "OMPI_COMM_WORLD_SIZE")):
        texts = os.environ.get(rank, ""), os.environ.get(size, "")
        if all(text.isdigit() for text in texts):
            return f"{rank}={texts[0]}" if int(texts[0]) > 0 and int(texts[1]) > 1 else None
    return None


class Trial:
    """A running trial, from :meth:`Store.trial`. The end of the ``with`` block appends its row.

    The label depends on how the block ends. With a score, the store decides keep or discard (a plan with
    ``status="baseline"`` stays a baseline). KeyboardInterrupt and a missing score give harness_abort, because neither says
    anything about the setting. Any other exception, including MemoryError, and a non-finite score give crash; SystemExit
    with 0 does not count as an exception. The exception propagates after the row is written, and the notes name it. The
    last value of each metric that was logged becomes a metric of the row. ``row`` is the row as written.

    The start of the block raises an error if the store would refuse the row (:meth:`Store.check`). What is refused only at
    the end is left out of the row, and its notes name the reason; the exception of the block is never replaced. If the
    process is killed, the next :class:`Store` of this directory, or the next `lineage run`, `night` or `train`, appends
    the row as harness_abort with the parameters and steps so far; until then `lineage verify` reports the trial. In a
    child that was forked within the block, the end of the block does nothing.

    One training has one row: in a process whose environment says that it is another than rank 0 of several (``RANK`` and
    ``WORLD_SIZE`` of torchrun, or those of Slurm and Open MPI), the block runs and records nothing, with a warning that names
    the variable; ``row`` stays None.
    """

    def __init__(self, store: Store, plan: Mapping[str, Any]) -> None:
        self._store, self._plan = store, dict(plan)
        self._steps: "list[dict[str, float]]" = []
        self._lost: "set[str]" = set()
        self._final: "dict[str, Any]" = {}
        self._score: Optional[float] = None
        self._running: Optional[_running.Running] = None
        self.row: "Optional[dict[str, Any]]" = None

    def __repr__(self) -> str:
        state = "not begun" if self._running is None else "running" if self.row is None else f"{self.row['status']} as {self.row['exp_id']}"
        return f"<Trial in {self._store.path!r}: {state}, {len(self._steps)} steps>"

    def __enter__(self) -> "Trial":
        self._plan["params"] = _flat(self._plan.get("params") or {})
        self._plan["metrics"] = {str(name): _real(name, value) for name, value in (self._plan.get("metrics") or {}).items()}
        self._store._check(self._plan)
        rank = _other_rank()
        if rank is not None:
            warnings.warn(f"{rank}: rank 0 records this trial; this process records nothing", stacklevel=2)
            return self
        plan = {("parent" if name == "parent_exp" else name): value for name, value in self._plan.items()}
        self._begun = time.monotonic()
        self._running = _running.Running(self._store._handles.directory(), plan)
        name = self._plan.get("specialist") or self._plan.get("hypothesis") or "trial"
        texts = {key: str(plan[key]) for key in ("hypothesis", "parent", "specialist") if plan.get(key)}
        self._running.say({"name": str(name), "params": self._plan["params"], **texts})
        return self

    def log(self, step: int, /, **metrics: float) -> None:
        """Record metrics of a step by name. `lineage status` shows them at once, and telemetry keeps them. Values that are
        not finite are dropped, because JSON cannot represent them; the row leaves out a metric whose last value was one of them."""
        values = {name: _real(name, value) for name, value in metrics.items()}
        for name, value in values.items():
            (self._lost.discard if math.isfinite(value) else self._lost.add)(_metric_name(name))
        entry = {name: value for name, value in values.items() if math.isfinite(value)}
        self._steps.append({"step": int(step), **entry})
        if self._running is not None:
            self._running.say({"step": int(step), **entry})

    def steps(self) -> "list[dict[str, float]]":
        """The steps that were logged so far, each with ``step`` and its metrics by name."""
        return [dict(entry) for entry in self._steps]

    def param(self, name: str, value: Param) -> None:
        """Set a parameter that was not known at the start. An error if the store would refuse it."""
        plain = _flat({name: value})
        self._store._check({"params": plain})
        self._plan["params"] = {**(self._plan.get("params") or {}), **plain}
        if self._running is not None and self._running.is_mine():
            self._running.write_plan(params=self._plan["params"])

    def score(self, value: float, **final: float) -> None:
        """Set the score of the trial. Further final numbers, by name, become metrics of the row."""
        self._score = _real("score", value)
        numbers_by_name = {name: _real(name, number) for name, number in final.items()}
        self._final = {name: number for name, number in numbers_by_name.items() if math.isfinite(number)}

    def __exit__(self, kind: Any, error: Any, _: Any) -> None:
        place = self._running
        if place is None or not place.is_mine():
            return
        seconds = round(time.monotonic() - self._begun, 3)
        trial: "dict[str, Any]" = {"total_s": seconds, "train_s": seconds, **self._plan}
        reason = self._reason(error)
        noted = [str(trial.get("notes") or "")]
        if not {"seed", "random_seed"}.isdisjoint(self._plan["params"]):  # seeds of two scripts are not of one setting
            noted.append(_ran())
        if reason is None:
            trial["core_metric"] = self._score
            trial.setdefault("status", "auto")
        else:
            trial["status"], cause = reason
            noted.append(cause)
        if len(noted) > 1:
            trial["notes"] = "; ".join(part for part in noted if part)
        lost = self._lost - {_metric_name(name) for name in self._final}
        last = {name: value for name, value in _last_metrics([*self._steps, self._final]).items() if name not in lost}
        trial["metrics"] = {**last, **(trial.get("metrics") or {})}
        telemetry: "dict[str, Any]" = {"steps": self._steps} if self._steps else {}
        if self._final:
            telemetry["final"] = self._final
        try:
            self.row = _append_whatever(self._store, place, trial, telemetry)
        except Exception as refused:
            place.keep()
            if error is None:
                raise
            warnings.warn(f"{place.path}: the row of this trial could not be written: {refused}", stacklevel=2)
            return
        place.remove()

    def _reason(self, error: Optional[BaseException]) -> "Optional[tuple[str, str]]":
        """Label and note of a trial without a valid score; None if it has one."""
        name, kinds = type(error).__name__, {kind.__name__ for kind in type(error).__mro__}
        if isinstance(error, (KeyboardInterrupt, GeneratorExit)) or "CancelledError" in kinds:  # of asyncio
            return "harness_abort", "cause interrupt; interrupted"
        if "TrialPruned" in kinds:  # of Optuna, whose import says the same
            return "discard", f"pruned at step {self._steps[-1]['step']}" if self._steps else "pruned"
        if error is not None and not (isinstance(error, SystemExit) and not error.code):
            said = _said(error)
            return "crash", f"cause {_cause_of(error)}; {name}: {said}" if said else f"cause {_cause_of(error)}; {name}"
        if self._score is None:
            logged = sorted({name for entry in self._steps for name in entry if name != "step"})
            saw = f", saw {', '.join(f'`{name}`' for name in logged[:6])}" if logged else ""
            return "harness_abort", f"the block ended without a score: looked for a call of score(){saw}".replace(";", ",")
        if not math.isfinite(self._score):
            return "crash", f"cause divergence; its score was {self._score}"
        return None
