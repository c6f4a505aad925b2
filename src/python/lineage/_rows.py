"""Trials in the form that liblineage hands over many of them at once (lineage/rows.h), as dicts.

A call of ctypes for each row and field takes longer than everything else. Here each array of a batch becomes a list as a whole,
and zip makes the rows."""

from __future__ import annotations

import array
import ctypes
import itertools
import struct
from typing import Any, Callable, Sequence

__all__ = ["LAST_TEXTS", "NUMBERS", "SCALES", "TEXTS", "RowTexts", "RowValues", "Rows", "dicts", "setting"]

TEXTS = ("exp_id", "timestamp", "specialist", "parent_exp", "baseline_exp", "domain", "hypothesis", "expected_delta")
NUMBERS = ("core_metric", "val_bpb", "delta_vs_best", "train_s", "total_s")
LAST_TEXTS = ("job_name", "snapshot_path", "notes")
SCALES = ("ig_clip_scale_mean", "ig_clip_scale_std")

_TEXT_COLUMNS = len(TEXTS) + len(LAST_TEXTS) + 1  # LINEAGE_ROW_TEXTS
_NUMBER_COLUMNS = len(NUMBERS) + len(SCALES) + 1  # LINEAGE_ROW_NUMBERS; the last one is the score
_NAMES = (*TEXTS, "status", *NUMBERS, *SCALES, "score", *LAST_TEXTS, "void", "params", "metrics", "turns", "extras", "seq", "line")
_TURN = struct.Struct("=I4xddQ")  # struct lineage_turn_stat


class RowTexts(ctypes.Structure):
    _fields_ = [("bytes", ctypes.c_void_p), ("n_bytes", ctypes.c_size_t)]


class RowValues(ctypes.Structure):
    _fields_ = [
        ("ends", ctypes.c_void_p), ("names", RowTexts), ("texts", RowTexts), ("values", ctypes.c_void_p),
        ("is_text", ctypes.c_void_p), ("n", ctypes.c_size_t),
    ]  # fmt: skip


class Rows(ctypes.Structure):
    _fields_ = [
        ("n", ctypes.c_size_t), ("texts", RowTexts), ("numbers", ctypes.c_void_p), ("present", ctypes.c_void_p),
        ("labels", ctypes.c_void_p), ("seqs", ctypes.c_void_p), ("lines", ctypes.c_void_p),
        ("params", RowValues), ("metrics", RowValues), ("extras", RowValues),
        ("turn_ends", ctypes.c_void_p), ("turns", ctypes.c_void_p),
    ]  # fmt: skip


def _doubles(address: "int | None", n: int) -> "list[float]":
    return array.array("d", ctypes.string_at(address or 0, 8 * n)).tolist()


def _counts(address: "int | None", n: int) -> "list[int]":
    return array.array("Q", ctypes.string_at(address or 0, 8 * n)).tolist()


def _flags(address: "int | None", n: int) -> bytes:
    return ctypes.string_at(address or 0, n)


def _texts(texts: RowTexts) -> "list[str]":
    """The texts of an array, and an empty one behind the last NUL."""
    return ctypes.string_at(texts.bytes or 0, texts.n_bytes).decode("utf-8", "replace").split("\0")


def _optional(values: "list[Any]", present: bytes) -> "list[Any]":
    if 0 not in present:
        return values
    return [value if there else None for value, there in zip(values, present)]


def setting(value: float) -> "float | int":
    """A parameter's number: 64 and not 64.0, since a configuration may ask for an integer. All doors print it so."""
    return int(value) if value.is_integer() and abs(value) < 1 << 53 else value


def _named(values: RowValues, n: int, kind: "Callable[[float], float] | None" = None) -> "list[dict[str, Any]]":
    """The values of each row by name."""
    if not values.n:
        return [{} for _ in range(n)]
    numbers, is_text = _doubles(values.values, values.n), _flags(values.is_text, values.n)
    if kind:
        numbers = list(map(kind, numbers))
    given: "Sequence[Any]" = numbers
    if 1 in is_text:
        given = [text if flag else number for flag, text, number in zip(is_text, _texts(values.texts), numbers)]
    pairs, begin = zip(_texts(values.names), given), 0
    out: "list[dict[str, Any]]" = []
    for end in _counts(values.ends, n):
        out.append(dict(itertools.islice(pairs, end - begin)))
        begin = end
    return out


def _turns(rows: Rows) -> "list[list[dict[str, Any]]]":
    ends = _counts(rows.turn_ends, rows.n)
    if not ends or not ends[-1]:
        return [[] for _ in ends]
    stats = _TURN.iter_unpack(ctypes.string_at(rows.turns, ends[-1] * _TURN.size))
    found = [dict(turn=turn, mean=mean, std=std, count=count) for turn, mean, std, count in stats]
    return [found[begin:end] for begin, end in zip([0, *ends], ends)]


def dicts(rows: Rows, labels: Sequence[str]) -> "list[dict[str, Any]]":
    """The rows of a batch. Empty columns are None for numbers and "" for texts."""
    n = rows.n
    cells, numbers = _texts(rows.texts), _doubles(rows.numbers, n * _NUMBER_COLUMNS)
    present = _flags(rows.present, n * _NUMBER_COLUMNS)
    texts = [cells[i : n * _TEXT_COLUMNS : _TEXT_COLUMNS] for i in range(_TEXT_COLUMNS)]
    values = [_optional(numbers[i::_NUMBER_COLUMNS], present[i::_NUMBER_COLUMNS]) for i in range(_NUMBER_COLUMNS)]
    columns = [
        *texts[: len(TEXTS)], [labels[label] for label in _flags(rows.labels, n)], *values, *texts[len(TEXTS) :],
        _named(rows.params, n, setting), _named(rows.metrics, n), _turns(rows), _named(rows.extras, n),
        _counts(rows.seqs, n), _counts(rows.lines, n),
    ]  # fmt: skip
    return [dict(zip(_NAMES, row)) for row in zip(*columns)]
