"""What is loaded, what is refused at load, and the stubs."""

import ctypes
import os
import subprocess
import sys
from pathlib import Path

import pytest

import lineage
from lineage import _case, _library, _rows, _stubs, store


def python(code, **environment):
    return subprocess.run(
        [sys.executable, "-c", code], capture_output=True, text=True, env={**os.environ, **environment}, check=False
    )


def test_stubs_match_the_library():
    assert Path(lineage.__file__).with_name("core.pyi").read_text() == _stubs.text()


def test_a_store_needs_neither_numpy_nor_torch():
    run = python("import sys, lineage; lineage.Store; assert not {'numpy', 'torch'} & set(sys.modules)")
    assert run.returncode == 0, run.stderr
    run = python("import sys, lineage.core; assert 'torch' not in sys.modules")
    assert run.returncode == 0, run.stderr


def test_a_missing_library_lists_the_places_tried(tmp_path):
    run = python("from lineage import _library; _library.load('nothing')", LINEAGE_LIBRARY_PATH=str(tmp_path))
    assert run.returncode != 0 and "LINEAGE_LIBRARY_PATH" in run.stderr and "libnothing.so.0" in run.stderr


@pytest.mark.parametrize("name, prefix", [("rlcore", "rl"), ("lineage", "lineage")])
def test_another_version_is_refused(monkeypatch, name, prefix):
    monkeypatch.setitem(_library.ABI_VERSIONS, prefix, 99)
    with pytest.raises(lineage.LibraryError, match="needs 99"):
        _library.abi_sizes(_library.load(name), prefix)


class Longer(ctypes.Structure):
    _fields_ = [*store._Trial._fields_, ("more", ctypes.c_int)]


def test_another_layout_is_refused():
    sizes = _library.abi_sizes(_library.load("lineage"), "lineage")
    assert set(store._STRUCTS) <= set(sizes), "a struct that the library does not list is never compared"
    with pytest.raises(lineage.LibraryError, match="struct lineage_trial has"):
        _library.check_sizes(sizes, {"lineage_trial": Longer}, "liblineage")


def test_an_older_library_is_refused(monkeypatch):
    monkeypatch.setitem(store._PROTOTYPES, "lineage_not_yet", (None, []))
    with pytest.raises(lineage.LibraryError, match="lacks lineage_not_yet"):
        store._check_library()


@pytest.mark.parametrize("path", ["", None])
def test_the_command_is_not_taken_from_the_working_directory(tmp_path, monkeypatch, path):
    """An empty entry of PATH means the working directory."""
    (tmp_path / "lineage").write_text("#!/bin/sh\n")
    (tmp_path / "lineage").chmod(0o755)
    monkeypatch.chdir(tmp_path)
    monkeypatch.setenv("PATH", path) if path is not None else monkeypatch.delenv("PATH")
    found = store._find_command()
    assert found is None or os.path.dirname(found) not in ("", str(tmp_path)), found


def test_every_declared_struct_is_compared():
    declared = {s for s in vars(store).values() if isinstance(s, type) and issubclass(s, ctypes.Structure)}
    declared |= {_rows.RowTexts, _rows.RowValues, _rows.Rows}
    assert declared == set(store._STRUCTS.values())
    assert ctypes.sizeof(_case._Array) == _case._lib.rl_case_array_size()
