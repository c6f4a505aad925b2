"""The directories of running trials (cli/support/running_files.h): those of this package, which are written here, and those
of other commands, which are read.

A trial's directory in the store is ``.trial-`` and eight characters. The process that runs the trial holds its lock, which
the kernel releases when the process dies. ``trial.json`` is what the trial's row would contain, as for trials of commands
(cli/run/abandoned_trial.c), so that either this package or the next ``lineage run`` can write the row of a trial that was
killed. ``events.jsonl`` has its steps so far, and ``row`` the id that its row is about to get.
"""

from __future__ import annotations

import contextlib
import fcntl
import json
import os
import shutil
import tempfile
import time
from typing import Any, Iterator, Mapping, Optional

__all__ = ["Leftover", "Running", "left_behind", "running_trials"]

_PREFIX, _PLAN, _EVENTS, _ROW = ".trial-", "trial.json", "events.jsonl", "row"
_PLAN_MAX, _EVENTS_MAX = 16 << 20, 256 << 20
_SHOWN = 64


# ---- reading ----


def _beginning(folder: int, name: str, most: int) -> bytes:
    """At most that many bytes of a file. The directory belongs to the trial, so the file may be anything: O_NONBLOCK,
    because opening a pipe would wait for its writer."""
    file = os.open(name, os.O_RDONLY | os.O_NOFOLLOW | os.O_NONBLOCK | os.O_CLOEXEC, dir_fd=folder)
    try:
        parts, left = [], most
        while left > 0 and (part := os.read(file, min(left, 1 << 20))):
            parts.append(part)
            left -= len(part)
        return b"".join(parts)
    finally:
        os.close(file)


def _open_folder(store: str, name: str) -> int:
    """O_NOFOLLOW, because a link with such a name leads out of the store."""
    return os.open(os.path.join(store, name), os.O_RDONLY | os.O_DIRECTORY | os.O_NOFOLLOW | os.O_CLOEXEC)


def _names(store: str) -> "list[str]":
    try:
        return [name for name in os.listdir(store) if name.startswith(_PREFIX)]
    except OSError:
        return []


def _is_locked(folder: int) -> bool:
    try:
        fcntl.flock(folder, fcntl.LOCK_SH | fcntl.LOCK_NB)
    except OSError:
        return True
    return False


def _plan_of(folder: int) -> Any:
    """The plan of a trial; older versions of this package wrote it as the first line of the events, without a name."""
    try:
        return json.loads(_beginning(folder, _PLAN, 1 << 20))
    except FileNotFoundError:
        plan = json.loads(_beginning(folder, _EVENTS, 1 << 16).partition(b"\n")[0])
    return {**plan, "name": ""} if isinstance(plan, dict) else None


def running_trials(store: str) -> "Iterator[dict[str, str]]":
    """The trials that run now, with a hypothesis, as columns of a trial."""
    for name in _names(store)[:_SHOWN]:
        try:
            with contextlib.ExitStack() as opened:
                folder = _open_folder(store, name)
                opened.callback(os.close, folder)
                if not _is_locked(folder):
                    continue
                plan = _plan_of(folder)
        except (OSError, ValueError, RecursionError):
            continue
        items = plan.items() if isinstance(plan, dict) else ()
        texts = {key: value.encode("utf-8", "replace").decode() for key, value in items if isinstance(value, str)}
        if texts.get("hypothesis"):
            unnamed = "" if plan.get("recorder") == "python" else name
            yield {
                "exp_id": texts.get("name") or unnamed or name, "specialist": texts.get("specialist", ""),
                "parent_exp": texts.get("parent", ""), "hypothesis": texts["hypothesis"],
            }  # fmt: skip


class Leftover:
    """A trial of this package whose process was killed, with its lock held by this process."""

    def __init__(self, path: str, folder: int, plan: "dict[str, Any]") -> None:
        self.path, self.folder, self.plan = path, folder, plan
        self.job_name = str(plan.get("job_name") or os.path.basename(path)[1:])

    def row_id(self) -> str:
        """The id that its row got or was about to get; "" if none was chosen."""
        try:
            return _beginning(self.folder, _ROW, 256).decode("utf-8", "replace")
        except OSError:
            return ""

    def note_row(self, exp_id: bytes) -> None:
        _write_beside(self.folder, _ROW, exp_id)

    def steps(self) -> "list[dict[str, float]]":
        """The steps that it logged; an unfinished last line is left out."""
        try:
            lines = _beginning(self.folder, _EVENTS, _EVENTS_MAX).split(b"\n")[:-1]
        except OSError:
            return []
        return [step for step in map(_step, lines) if step]

    def remove(self) -> None:
        _remove(self.path, self.folder)


def _step(line: bytes) -> "dict[str, float]":
    try:
        event = json.loads(line)
    except (ValueError, RecursionError):
        return {}
    if not isinstance(event, dict) or not isinstance(event.get("step"), int):
        return {}
    return {str(name): value for name, value in event.items() if isinstance(value, (int, float)) and not isinstance(value, bool)}


def left_behind(store: str) -> "Iterator[Leftover]":
    """The trials of this package whose process is gone; each is locked during its turn. Those of commands are left to the
    commands, which also keep their output and their code."""
    for name in _names(store):
        try:
            folder = _open_folder(store, name)
        except OSError:
            continue
        try:
            fcntl.flock(folder, fcntl.LOCK_EX | fcntl.LOCK_NB)
            if _PLAN not in os.listdir(folder):  # killed before the beginning or after the row, as in cli/trial/workdir.c
                _remove(os.path.join(store, name), folder)
                continue
            plan = json.loads(_beginning(folder, _PLAN, _PLAN_MAX))
            if isinstance(plan, dict) and plan.get("recorder") == "python":
                yield Leftover(os.path.join(store, name), folder, plan)
        except (OSError, ValueError, RecursionError):
            continue
        finally:
            os.close(folder)


# ---- writing ----


def _write_beside(folder: int, name: str, text: bytes) -> None:
    """Replaces a file of the directory at once, so that no kill leaves half of it."""
    file = os.open(name + ".new", os.O_WRONLY | os.O_CREAT | os.O_TRUNC | os.O_NOFOLLOW | os.O_CLOEXEC, 0o666, dir_fd=folder)
    try:
        view = memoryview(text)
        while view:
            view = view[os.write(file, view) :]
    finally:
        os.close(file)
    os.rename(name + ".new", name, src_dir_fd=folder, dst_dir_fd=folder)


def _remove(path: str, folder: int) -> None:
    """The plan goes first: without it, nobody writes a row of this trial, even if the rest is not removed."""
    with contextlib.suppress(OSError):
        os.unlink(_PLAN, dir_fd=folder)
    shutil.rmtree(path, ignore_errors=True)


class Running:
    """The directory of a trial that this process runs. OSError if it cannot be made."""

    def __init__(self, store: str, plan: Mapping[str, Any]) -> None:
        self.process = os.getpid()
        self.path, self.folder = _make_locked(store)
        self.job_name = str(plan.get("job_name") or os.path.basename(self.path)[1:])
        self._plan: "dict[str, Any]" = {"recorder": "python", "started": int(time.time()), "train_seconds": 0, **plan}
        try:
            self.write_plan()
            self._events = open(os.path.join(self.path, _EVENTS), "w", encoding="utf-8", buffering=1)
        except OSError:
            self.remove()
            raise

    def is_mine(self) -> bool:
        """Whether this process began the trial; a forked child must leave it alone."""
        return os.getpid() == self.process

    def write_plan(self, **changes: Any) -> None:
        """Replace parts of the plan, from which the row is written if this process is killed."""
        self._plan.update(changes)
        _write_beside(self.folder, _PLAN, json.dumps(self._plan).encode())

    def say(self, event: Mapping[str, Any]) -> None:
        """Add an event. The row does not need it, so write errors are ignored."""
        if self.is_mine():
            with contextlib.suppress(OSError, ValueError):
                self._events.write(json.dumps(event, allow_nan=False) + "\n")

    def note_row(self, exp_id: bytes) -> None:
        with contextlib.suppress(OSError):
            _write_beside(self.folder, _ROW, exp_id)

    def keep(self) -> None:
        """Release the lock and leave the directory, from which a row is written when the store is opened again."""
        self._events.close()
        os.close(self.folder)

    def remove(self) -> None:
        """The row is written, or the trial did not begin."""
        if hasattr(self, "_events"):
            self._events.close()
        _remove(self.path, self.folder)
        os.close(self.folder)


def _make_locked(store: str) -> "tuple[str, int]":
    """A new locked directory. Before it was locked, another process may have taken it for an abandoned one and removed
    it; then the next one is made."""
    while True:
        path = tempfile.mkdtemp(prefix=_PREFIX, dir=store)
        folder = -1
        try:
            folder = os.open(path, os.O_RDONLY | os.O_DIRECTORY | os.O_NOFOLLOW | os.O_CLOEXEC)
            fcntl.flock(folder, fcntl.LOCK_EX)
            if os.path.samestat(os.fstat(folder), os.lstat(path)):
                os.chmod(path, 0o755)
                return path, folder
        except FileNotFoundError:
            pass
        except BaseException:
            if folder >= 0:
                os.close(folder)
            shutil.rmtree(path, ignore_errors=True)
            raise
        if folder >= 0:
            os.close(folder)
