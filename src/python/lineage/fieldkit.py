"""fieldkit's interface to a log of trials, over this project's library.

    from lineage.fieldkit import FailureLabel, LineageStore, Trial

    store = LineageStore("runs/night", lower_is_better=False)
    store.append(trial)
    print(store.render_prompt("opt").rendered_prompt)

Programs that import ``fieldkit.lineage`` work with this module instead: the classes, their fields and their arguments
have the same names, results.tsv gets the same bytes, and the block has the same bytes. The names and their meaning are
those of fieldkit 0.4.3 to 0.34.1 (the module is the same) by Manav Sehgal (https://github.com/manavsehgal/ai-field-notes), Apache License 2.0.

It differs from fieldkit where fieldkit loses something:

- A row is on disk when ``append`` returns, in one piece. The header is written under the lock, so two processes that
  start together write one header. An unfinished record that a killed writer left is first moved aside.
- A cell with a carriage return is quoted, because fieldkit cannot read it back otherwise.
- In a file whose header has another order, a row follows that order. A file without one of the columns is refused.
- Rows that fieldkit cannot read are left out instead of ending the program; ``lineage verify`` lists them.
- The lists of ``latest`` and ``render_prompt`` cannot have a negative length.

A program that cannot be changed runs with ``python3 -m lineage.fieldkit PROGRAM ARGUMENTS``: its ``from fieldkit.lineage import ..``
gets this module (:func:`replace_fieldkit`).

:class:`lineage.Store` works on the same files and can do more.
"""

from __future__ import annotations

import ctypes
import dataclasses
import difflib
import fcntl
import importlib
import json
import os
import runpy
import sys
import types
from enum import Enum
from pathlib import Path
from typing import Any, Iterator, Mapping, Optional

from . import _rows, store as _store

__all__ = ["FailureLabel", "LineageSnapshot", "LineageStore", "RecipeEdit", "Trial", "replace_fieldkit"]


class FailureLabel(str, Enum):
    """How a trial ended: the column ``status``."""

    KEEP = "keep"
    DISCARD = "discard"
    CRASH = "crash"
    EVAL_BUDGET_OVERRUN = "eval_budget_overrun"
    TRAIN_BUDGET_OVERRUN = "train_budget_overrun"
    SIZE_BLOCKED = "size_blocked"
    PREFLIGHT_CRASH = "preflight_crash"
    HARNESS_ABORT = "harness_abort"
    DISQUALIFIED = "disqualified"
    BASELINE = "baseline"

    @property
    def is_informational(self) -> bool:
        """Whether the trial says anything about its setting: every label but harness_abort."""
        return self is not FailureLabel.HARNESS_ABORT


@dataclasses.dataclass(frozen=True)
class Trial:
    """One row of results.tsv, with the 17 columns in their order. None is an empty cell of a number."""

    exp_id: str
    timestamp: str
    specialist: str
    parent_exp: str
    baseline_exp: str
    domain: str
    hypothesis: str
    expected_delta: str
    status: FailureLabel
    core_metric: Optional[float]
    val_bpb: Optional[float]
    delta_vs_best: Optional[float]
    train_s: Optional[float]
    total_s: Optional[float]
    job_name: str
    snapshot_path: str
    notes: str

    @classmethod
    def header(cls) -> "tuple[str, ...]":
        """The names of the columns."""
        return tuple(field.name for field in dataclasses.fields(cls))

    def to_row(self) -> "list[str]":
        """The cells as text, without quotes."""
        return [_cell(getattr(self, name)) for name in self.header()]

    @classmethod
    def from_row(cls, row: Mapping[str, Optional[str]]) -> "Trial":
        """The trial of a row given by column names, as csv.DictReader yields it. A missing status means discard;
        ValueError if a number or the status cannot be read."""
        cells: "dict[str, Any]" = {name: row.get(name, "") for name in cls.header()}
        cells.update({name: float(cells[name]) if cells[name] else None for name in _rows.NUMBERS})
        cells["status"] = FailureLabel(row.get("status", "discard"))
        return cls(**cells)


def _cell(value: Any) -> str:
    if value is None:
        return ""
    return str(value.value if isinstance(value, FailureLabel) else value)


@dataclasses.dataclass(frozen=True)
class RecipeEdit:
    """The frozen work directory of a kept trial, beside that of its parent (None for a baseline)."""

    trial: Trial
    snapshot_path: Path
    parent_snapshot_path: Optional[Path]

    def diff(self) -> str:
        """The unified diff from the parent's files to the trial's, sorted by path; "" without a parent. A file that is not
        text in either directory gets a line "Binary files .. differ". Files that the trial deleted are not listed, as in
        fieldkit; `lineage diff` lists them."""
        if self.parent_snapshot_path is None:
            return ""
        own, parent = Path(self.snapshot_path), Path(self.parent_snapshot_path)
        paths = sorted(path for path in own.rglob("*") if path.is_file())
        return "".join(_file_diff(path, parent / path.relative_to(own), path.relative_to(own)) for path in paths)


def _file_diff(path: Path, parent: Path, name: Path) -> str:
    try:
        new = path.read_text(encoding="utf-8").splitlines(keepends=True)
        old = parent.read_text(encoding="utf-8").splitlines(keepends=True) if parent.exists() else []
    except (UnicodeDecodeError, OSError):
        return f"Binary files a/{name} and b/{name} differ\n"
    return "".join(difflib.unified_diff(old, new, fromfile=f"a/{name}", tofile=f"b/{name}"))


@dataclasses.dataclass(frozen=True)
class LineageSnapshot:
    """What an agent reads at the start of its session: the rendered block, and the trials that are in it."""

    rendered_prompt: str
    current_best: Trial
    chain_to_best: "tuple[Trial, ...]"
    top_k_leaderboard: "tuple[Trial, ...]"
    recent_n_activity: "tuple[Trial, ...]"
    last_m_with_full_hypothesis: "tuple[Trial, ...]"


_EMPTY = Trial("", "", "", "", "", "", "", "", FailureLabel.BASELINE, None, None, None, None, None, "", "", "")


class LineageStore:
    """The log of a directory: ``results.tsv``, with one row per trial in the order of their ends.

    Several processes may append at the same time. A LineageStore may be used from several threads and after a fork."""

    RESULTS_FILENAME = "results.tsv"

    def __init__(self, root: "str | os.PathLike[str]", *, lower_is_better: bool = True) -> None:
        self.root = Path(root)
        self.lower_is_better = lower_is_better
        self.results_path = self.root / self.RESULTS_FILENAME
        self._opened: "Optional[tuple[bool, _store._Handles]]" = None

    # ---- writing ----

    def append(self, trial: Trial) -> None:
        """Append the row of a trial exactly as given; the directory and the header are written if they are missing. The
        row's id, parent and numbers are not checked (:meth:`lineage.Store.append` checks them). OSError if it cannot be
        written, and then nothing of it is in the file."""
        self.root.mkdir(parents=True, exist_ok=True)
        _refuse_a_server(self.root)
        cells = dict(zip(Trial.header(), trial.to_row()))
        while not _append_record(self.results_path, cells):
            self._move_torn_record_aside()

    def _move_torn_record_aside(self) -> None:
        """The library moves an unfinished last record aside before it checks whether a row would be accepted."""
        with _store.Store(self.root) as opened:
            opened.check(hypothesis="a record is about to be appended")

    # ---- reading ----

    def _handle(self) -> int:
        """The handle of this thread, with the direction of this object, which may be changed at any time."""
        if self._opened is None or self._opened[0] != self.lower_is_better:
            options = _store._OpenOptions(direction=1 if self.lower_is_better else 2)
            self._opened = (self.lower_is_better, _store._Handles(os.fspath(self.root), options))
        return self._opened[1].get()

    def all_trials(self) -> "list[Trial]":
        """All trials in file order."""
        if not self.results_path.exists():
            return []
        return [_trial(row) for row in _store._select(self._handle())]

    def latest(self, n: int = 30) -> "tuple[Trial, ...]":
        """The last n trials, the newest last."""
        _store._at_least("n", n, 0)
        return tuple(self.all_trials()[-n:]) if n else ()

    def best(self) -> Optional[Trial]:
        """The trial with the best core_metric, whatever its label, harness_abort excepted; the first one wins a tie. The
        first trial of the file if none has a core_metric, None if there is no trial."""
        return self._best(self.all_trials())

    def _best(self, trials: "list[Trial]") -> Optional[Trial]:
        sign = 1.0 if self.lower_is_better else -1.0
        scored = [(sign * t.core_metric, t) for t in trials if t.core_metric is not None and t.status.is_informational]
        return min(scored, key=lambda pair: pair[0])[1] if scored else trials[0] if trials else None

    def chain_to(self, exp_id: str) -> "tuple[Trial, ...]":
        """The trial and all its ancestors, kept or not, root first. KeyError if no trial has this id."""
        trials = self.all_trials()
        if all(trial.exp_id != exp_id for trial in trials):
            raise KeyError(f"no trial {exp_id!r} in {self.results_path}")
        return _chain(trials, exp_id)

    def render_prompt(
        self, for_specialist: str, *, top_k: int = 20, recent_n: int = 30, last_m_full: int = 10,
        session_timestamp: str = "",
    ) -> LineageSnapshot:  # fmt: skip
        """The block for the start of a specialist's session, and the trials in it. The same log and arguments give the same
        bytes. With ``recent_n`` or ``last_m_full`` 0 that list has all trials, as in fieldkit; with ``top_k`` 0 the
        leaderboard is empty."""
        for name, value in (("top_k", top_k), ("recent_n", recent_n), ("last_m_full", last_m_full)):
            _store._at_least(name, value, 0)
        if not self.results_path.exists():
            return LineageSnapshot("# Session start — empty lineage\n", _EMPTY, (), (), (), ())
        options = _store._RenderOptions()
        _store._lib.lineage_render_options_init(ctypes.byref(options))
        options.style, options.specialist = _store._STYLES.index("fieldkit"), _store._bytes(for_specialist)
        options.timestamp = _store._bytes(session_timestamp)
        options.top_k, options.recent, options.full = top_k, recent_n, last_m_full
        # The block and the trials must come from one state of the log, which other processes may extend in between.
        while True:
            before = self.results_path.stat().st_size
            block, trials = _store._rendered(self._handle(), options), self.all_trials()
            if before == self.results_path.stat().st_size:
                return self._snapshot(block, trials, top_k, recent_n, last_m_full)

    def _snapshot(self, block: str, trials: "list[Trial]", top_k: int, recent: int, full: int) -> LineageSnapshot:
        best = self._best(trials)
        if best is None:
            return LineageSnapshot(block, _EMPTY, (), (), (), ())

        def by_metric(trial: Trial) -> float:
            return float("inf") if trial.core_metric is None else trial.core_metric

        kept = [trial for trial in trials if trial.status is FailureLabel.KEEP]
        kept.sort(key=by_metric, reverse=not self.lower_is_better)
        return LineageSnapshot(
            block, best, _chain(trials, best.exp_id), tuple(kept[:top_k]), tuple(trials[-recent:]), tuple(trials[-full:])
        )


def _trial(row: Mapping[str, Any]) -> Trial:
    values: "dict[str, Any]" = {name: row[name] for name in Trial.header()}
    values["status"] = FailureLabel(row["status"])
    return Trial(**values)


def _chain(trials: "list[Trial]", exp_id: str) -> "tuple[Trial, ...]":
    """From the root to that trial; of several trials with one id the last counts. Ends at an id that is empty, unknown or
    was visited."""

    def upwards() -> "Iterator[Trial]":
        by_id = {trial.exp_id: trial for trial in trials}
        by_id.pop("", None)
        trial = by_id.pop(exp_id, None)
        while trial is not None:
            yield trial
            trial = by_id.pop(trial.parent_exp, None)

    return tuple(upwards())[::-1]


# ---- the file ----


def _refuse_a_server(root: Path) -> None:
    """A directory whose lineage.json names a server has its log there: a row in results.tsv would be lost."""
    try:
        settings = json.loads((root / "lineage.json").read_text(encoding="utf-8"))
    except (OSError, ValueError):
        return
    if isinstance(settings, dict) and settings.get("log"):
        raise ValueError(f"{root}: the log is on a server; append with lineage.Store")


def _record(cells: "list[str]") -> bytes:
    quoted = ('"' + cell.replace('"', '""') + '"' if any(c in cell for c in '\t\n\r"') else cell for cell in cells)
    return ("\t".join(quoted) + "\n").encode("utf-8")


def _append_record(path: Path, cells: Mapping[str, str]) -> bool:
    """Write a record under the lock that all writers of the log take. False, with nothing written, if the file ends
    within a record."""
    file = os.open(path, os.O_RDWR | os.O_APPEND | os.O_CREAT | os.O_CLOEXEC, 0o666)
    try:
        fcntl.flock(file, fcntl.LOCK_EX)
        size = os.fstat(file).st_size
        if size and os.pread(file, 1, size - 1) not in b"\r\n":
            return False
        record = _record([cells.get(name, "") for name in _columns(path, file, size)])
        if not size:
            record = _record(list(cells)) + record
        try:
            _write_durably(file, record)
        except OSError:
            os.ftruncate(file, size)
            raise
        return True
    finally:
        os.close(file)


def _columns(path: Path, file: int, size: int) -> "list[str]":
    """The columns of the file, in its order."""
    if not size:
        return list(Trial.header())
    first = os.pread(file, 1 << 16, 0).removeprefix(b"\xef\xbb\xbf").splitlines()[0].decode("utf-8", "replace")
    columns = [name[1:-1] if name[:1] == name[-1:] == '"' else name for name in first.split("\t")]
    missing = [name for name in Trial.header() if name not in columns]
    if missing:
        raise ValueError(f"{path}: the header has no column {missing[0]!r}; a row would lose its {missing[0]}")
    return columns


def _write_durably(file: int, record: bytes) -> None:
    written = os.write(file, record)
    if written < len(record):
        raise OSError(28, "the file system is full; nothing was appended")
    os.fdatasync(file)


def replace_fieldkit() -> None:
    """Let ``fieldkit.lineage`` be this module in the running program, whether fieldkit is installed or not. Its other modules stay."""
    module = importlib.import_module("lineage.fieldkit")
    loaded = sys.modules.get("fieldkit.lineage")
    if loaded is not None and loaded is not module:
        raise RuntimeError("fieldkit.lineage has been imported already; call replace_fieldkit() before")
    sys.modules["fieldkit.lineage"] = module  # before the package is imported, which may import its names from there
    try:
        package = importlib.import_module("fieldkit")
    except BaseException as error:
        if not isinstance(error, ModuleNotFoundError) or error.name != "fieldkit":
            if loaded is None:
                del sys.modules["fieldkit.lineage"]
            raise
        package = sys.modules["fieldkit"] = types.ModuleType("fieldkit", "lineage.fieldkit in place of fieldkit, which is not installed.")
        package.__path__ = []
    setattr(package, "lineage", module)


if __name__ == "__main__":
    if len(sys.argv) < 2:
        sys.exit("usage: python3 -m lineage.fieldkit PROGRAM [ARGUMENTS]")
    sys.argv = sys.argv[1:]
    sys.path[0] = os.path.dirname(os.path.abspath(sys.argv[0]))
    replace_fieldkit()
    runpy.run_path(sys.argv[0], run_name="__main__")
