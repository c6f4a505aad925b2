"""Puts the libraries of a built tree into the package, so that an installed one finds them without LINEAGE_LIBRARY_PATH.

The tree is that of LINEAGE_BUILD, or the last one that was built under the source. Without one the package is pure Python and
uses the libraries of the machine; `cli/wheel.sh` makes a wheel for other machines.
"""

import os
import shutil
from pathlib import Path

from setuptools import Distribution, setup
from setuptools.command.build_py import build_py

LIBRARIES = ("src/store/liblineage.so.0", "src/rlcore/librlcore.so.0", "src/rlcase/librlcase.so.0")
COMMAND = "cli/lineage"  # Store.suggest and pictures in notebooks ask it


def built_libraries() -> "list[Path]":
    named = os.environ.get("LINEAGE_BUILD")
    trees = [Path(named)] if named else list(Path(__file__).resolve().parents[2].glob("build*"))
    built = [[tree / name for name in LIBRARIES] for tree in trees]
    whole = [paths for paths in built if all(path.is_file() for path in paths)]
    if named and not whole:
        raise SystemExit(f"LINEAGE_BUILD={named}: no {LIBRARIES[0]} there")
    return max(whole, key=lambda paths: paths[0].stat().st_mtime, default=[])


class WithLibraries(build_py):
    def run(self) -> None:
        super().run()
        own = Path(self.build_lib, "lineage", "_lib")
        for path in built_libraries():
            own.mkdir(parents=True, exist_ok=True)
            shutil.copyfile(path, own / path.name)
            command = path.parents[2] / COMMAND
            if command.is_file():
                shutil.copy(command, own / command.name)


class ForThisMachine(Distribution):
    """A wheel with libraries is not for every machine."""

    def has_ext_modules(self) -> bool:
        return bool(built_libraries())


setup(cmdclass={"build_py": WithLibraries}, distclass=ForThisMachine)
