"""Finds and loads the shared libraries, and checks that they fit this package."""

from __future__ import annotations

import ctypes
import os
import sys
from pathlib import Path

#: ABI version that this package needs, by the prefix of the library's functions (rlcore/abi.h, lineage/abi.h).
ABI_VERSIONS = {"rl": 3, "lineage": 6}


class LibraryError(ImportError):
    """A shared library of lineage is missing or has another version than this package."""


def _folders() -> list[Path]:
    """Folders to search first: those of LINEAGE_LIBRARY_PATH, and those around an installed package."""
    named = os.environ.get("LINEAGE_LIBRARY_PATH", "")
    folders = [Path(part) for part in named.split(os.pathsep) if part]
    here = Path(__file__).resolve().parent
    # CMake installs the package under PREFIX/lib/python3/dist-packages, or beside the libraries.
    folders += [here / "_lib", *(here.parents[n] for n in range(min(4, len(here.parents))))]
    return folders


def _candidates(name: str) -> list[str]:
    file = f"lib{name}.dylib" if sys.platform == "darwin" else f"lib{name}.so.0"
    # The loader searches for the plain name. ctypes.util.find_library would start ldconfig and a compiler.
    return [*(str(folder / file) for folder in _folders() if (folder / file).is_file()), file]


def load(name: str) -> ctypes.CDLL:
    """Load the library of that name. LibraryError lists all places that were tried."""
    tried = []
    for path in _candidates(name):
        try:
            return ctypes.CDLL(path, mode=ctypes.RTLD_LOCAL)
        except OSError as error:
            tried.append(f"{path}: {error}")
    raise LibraryError(
        f"lib{name}.so.0 cannot be loaded; install lineage's libraries or set LINEAGE_LIBRARY_PATH to "
        f"their folder. Tried: " + "; ".join(tried)
    )


class AbiSize(ctypes.Structure):
    """struct rl_abi_size and struct lineage_abi_size."""

    _fields_ = [("name", ctypes.c_char_p), ("size", ctypes.c_size_t)]


def check_sizes(sizes: "dict[str, int]", own: "dict[str, type[ctypes.Structure]]", library: str) -> None:
    """Raise LibraryError if a struct declared here has another size than in the library."""
    for name, struct in own.items():
        theirs = sizes.get(name)
        if theirs is not None and theirs != ctypes.sizeof(struct):
            raise LibraryError(
                f"{library}: struct {name} has {theirs} bytes, {ctypes.sizeof(struct)} in this package; "
                "the library has another version, install both from one tree"
            )


def abi_sizes(lib: ctypes.CDLL, prefix: str) -> "dict[str, int]":
    """Names and sizes of a library's structs (PREFIX_abi_sizes). LibraryError if it has another version."""
    get_version = getattr(lib, f"{prefix}_abi_version")
    get_version.restype = ctypes.c_int
    version = get_version()
    if version != ABI_VERSIONS[prefix]:
        raise LibraryError(
            f"the library of {prefix}_ functions has interface version {version}, this package needs "
            f"{ABI_VERSIONS[prefix]}; install both from one tree"
        )
    n = ctypes.c_size_t()
    get_sizes = getattr(lib, f"{prefix}_abi_sizes")
    get_sizes.restype = ctypes.POINTER(AbiSize)
    get_sizes.argtypes = [ctypes.POINTER(ctypes.c_size_t)]
    table = get_sizes(ctypes.byref(n))
    return {table[i].name.decode(): table[i].size for i in range(n.value)}
