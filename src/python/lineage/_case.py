"""Runs a kernel of librlcase on Python's arrays, without a copy where the types allow it."""

from __future__ import annotations

import ctypes
import json
import math
import os
import re
import warnings
import weakref
from typing import TYPE_CHECKING, Any, Mapping, NamedTuple, Optional, Sequence

import numpy as np
import numpy.typing as npt

from . import _library

Array = npt.NDArray[Any]

FLOAT64, FLOAT32, INT64, INT32, UINT8, BFLOAT16 = range(6)
_DTYPES = [np.dtype(np.float64), np.dtype(np.float32), np.dtype(np.int64), np.dtype(np.int32), np.dtype(np.uint8)]
_CTYPES = [ctypes.c_double, ctypes.c_float, ctypes.c_int64, ctypes.c_int32, ctypes.c_uint8]
_DIMS_MAX = 4


class CoreError(ValueError):
    """The core refused its input. ``argument`` and ``index`` name the place if the message does, else None and ()."""

    def __init__(self, family: str, text: str) -> None:
        super().__init__(f"{family}: {text}")
        place = re.search(r"(?:inputs\.)?([A-Za-z_]\w*)((?:\[\d+\])+)|inputs\.(\w+)", text)
        self.argument: Optional[str] = (place.group(1) or place.group(3)) if place else None
        self.index = tuple(map(int, re.findall(r"\d+", place.group(2)))) if place and place.group(2) else ()


if TYPE_CHECKING:
    _Base = np.ndarray[Any, Any]
else:
    _Base = np.ndarray  # an old NumPy's takes no parameters


class BFloat16(_Base):
    """bfloat16 numbers as uint16, the upper halves of float32: NumPy does not have the type."""


def widened(array: "Array") -> "Array":
    """bfloat16 numbers as float32; any other array unchanged."""
    if not isinstance(array, BFloat16):
        return array
    return (array.view(np.ndarray).astype(np.uint32) << 16).view(np.float32)


class _Error(ctypes.Structure):
    _fields_ = [("status", ctypes.c_int), ("text", ctypes.c_char * 192)]


class _Array(ctypes.Structure):
    _fields_ = [
        ("name", ctypes.c_char_p),
        ("type", ctypes.c_int),
        ("n_dims", ctypes.c_size_t),
        ("shape", ctypes.c_size_t * _DIMS_MAX),
        ("data", ctypes.c_void_p),
        ("start", ctypes.POINTER(ctypes.c_size_t)),
        ("n_rows", ctypes.c_size_t),
        ("stride", ctypes.c_size_t),
    ]


class _Fork:
    """The threads of GNU's OpenMP do not survive a fork, and a kernel that waits for them would never return. In a forked
    child, kernels therefore run in one thread, with the same results."""

    def __init__(self, core: ctypes.CDLL) -> None:
        self.in_child = False
        self._limit: Any = getattr(core, "omp_set_num_threads", None)  # of the OpenMP that the core is linked with
        os.register_at_fork(after_in_child=self._note)

    def _note(self) -> None:
        self.in_child = True

    def before_kernel(self) -> None:
        """Sets the limit before each kernel, because another library may have raised it in between."""
        if self.in_child and self._limit is not None:
            self._limit(1)


def _open() -> ctypes.CDLL:
    sizes = _library.abi_sizes(_core, "rl")
    _library.check_sizes(sizes, {"rl_error": _Error, "rl_abi_size": _library.AbiSize}, "librlcore")
    lib = _library.load("rlcase")
    lib.rl_case_array_size.restype = ctypes.c_size_t
    _library.check_sizes({"rl_case_array": lib.rl_case_array_size()}, {"rl_case_array": _Array}, "librlcase")
    pointer = ctypes.c_void_p
    lib.rl_case_run.restype = ctypes.c_int
    lib.rl_case_run.argtypes = [
        ctypes.POINTER(pointer), ctypes.c_char_p, ctypes.c_bool, ctypes.c_char_p,
        ctypes.POINTER(_Array), ctypes.c_size_t, ctypes.POINTER(_Error),
    ]  # fmt: skip
    lib.rl_case_describe.restype = ctypes.c_int
    lib.rl_case_describe.argtypes = [ctypes.POINTER(pointer), ctypes.POINTER(_Error)]
    lib.rl_case_values.restype = ctypes.c_char_p
    lib.rl_case_values.argtypes = [pointer]
    lib.rl_case_arrays.restype = ctypes.POINTER(_Array)
    lib.rl_case_arrays.argtypes = [pointer, ctypes.POINTER(ctypes.c_size_t)]
    lib.rl_case_release.restype = None
    lib.rl_case_release.argtypes = [pointer]
    return lib


_core = _library.load("rlcore")
_fork = _Fork(_core)
_lib = _open()


class _Done:
    """A finished case. Arrays in its memory keep it alive."""

    def __init__(self, pointer: int) -> None:
        self.pointer = pointer
        self._finalizer = weakref.finalize(self, _lib.rl_case_release, pointer)

    def values(self) -> Any:
        return json.loads(_lib.rl_case_values(self.pointer))

    def arrays(self) -> "dict[str, Array | Ragged]":
        n = ctypes.c_size_t()
        table = _lib.rl_case_arrays(self.pointer, ctypes.byref(n))
        return {table[i].name.decode(): self._view(table[i]) for i in range(n.value)}

    def _view(self, array: _Array) -> "Array | Ragged":
        shape = tuple(array.shape[: array.n_dims])
        if array.stride:  # the results have the stride of the inputs
            wide = (shape[0], array.stride)
            return self._memory(array.data, _CTYPES[array.type], math.prod(wide)).reshape(wide)[:, : shape[1]]
        data = self._memory(array.data, _CTYPES[array.type], math.prod(shape)).reshape(shape)
        if not array.start:
            return data
        return Ragged(data, np.array(array.start[: array.n_rows + 1], dtype=np.int64))

    def _memory(self, address: Optional[int], ctype: Any, n: int) -> "Array":
        if not n or not address:
            return np.empty(0, dtype=ctype)
        block = (ctype * n).from_address(address)
        block.done = self  # numpy keeps the block alive, and the block keeps the case alive
        return np.frombuffer(block, dtype=ctype)


class Ragged(NamedTuple):
    """Rows of unequal lengths: row i is ``values[start[i]:start[i + 1]]``."""

    values: Array
    start: Array

    def rows(self) -> "list[Array]":
        return [self.values[a:b] for a, b in zip(self.start[:-1], self.start[1:])]


def _type_of(array: "Array") -> int:
    if array.dtype == np.bool_:
        return UINT8
    return _DTYPES.index(array.dtype)


def _stride_of(array: "Array") -> int:
    """Elements from one row to the next of a slice like x[:, 3:40]; 0 for any other layout."""
    if array.ndim != 2 or not array.size or array.flags.c_contiguous or array.strides[1] != array.itemsize:
        return 0
    stride, rest = divmod(array.strides[0], array.itemsize)
    return stride if not rest and stride >= array.shape[1] else 0


def _struct(name: str, value: "Array | Ragged", alive: "list[Any]") -> _Array:
    out = _Array(name=name.encode())
    data = value.values if isinstance(value, Ragged) else value
    if data.ndim > _DIMS_MAX:
        raise CoreError(name, f"inputs.{name} has {data.ndim} dimensions")
    out.type = BFLOAT16 if isinstance(data, BFloat16) else UINT8
    if out.type != BFLOAT16:
        if data.dtype != np.bool_ and data.dtype not in _DTYPES:
            data = data.astype(np.float64 if data.dtype.kind == "f" else np.int64)
        out.type = _type_of(data)
    out.stride = _stride_of(data)
    if not out.stride:
        data = np.ascontiguousarray(data)
    alive.append(data)
    out.n_dims = data.ndim
    out.shape[: data.ndim] = data.shape
    out.data = data.ctypes.data
    if isinstance(value, Ragged):
        start = np.ascontiguousarray(value.start, dtype=np.uintp)
        alive.append(start)
        out.start = start.ctypes.data_as(ctypes.POINTER(ctypes.c_size_t))
        out.n_rows = len(start) - 1
    return out


def _json_value(family: str, name: str, value: Any) -> Any:
    """A value for JSON: numpy's scalars and arrays become Python's. NaN and infinity raise CoreError with the name."""
    if isinstance(value, np.generic):
        value = value.item()
    if isinstance(value, np.ndarray):
        value = value.tolist()
    if isinstance(value, float) and not math.isfinite(value):
        raise CoreError(family, f"inputs.{name} is {value}")
    if isinstance(value, Mapping):
        return {str(key): _json_value(family, f"{name}.{key}", item) for key, item in value.items()}
    if isinstance(value, Sequence) and not isinstance(value, (str, bytes)):
        return [_json_value(family, f"{name}[{i}]", item) for i, item in enumerate(value)]
    return value


def run(
    family: str, single: bool, values: "Mapping[str, Any]", arrays: "Mapping[str, Array | Ragged]"
) -> "tuple[dict[str, Any], dict[str, Array | Ragged]]":
    """Run a kernel. Returns the results that are not arrays, and the arrays."""
    alive: "list[Any]" = []
    table = (_Array * max(len(arrays), 1))(*(_struct(name, value, alive) for name, value in arrays.items()))
    text = json.dumps({name: _json_value(family, name, value) for name, value in values.items()})
    done, error = ctypes.c_void_p(), _Error()
    _fork.before_kernel()
    status = _lib.rl_case_run(
        ctypes.byref(done), family.encode(), single, text.encode(), table, len(arrays), ctypes.byref(error)
    )
    if status != 0:
        raise CoreError(family, error.text.decode(errors="replace"))
    case = _Done(done.value or 0)
    results = case.values()
    for text in results.pop("warnings", ()):
        warnings.warn(f"{family}: {text}", RuntimeWarning, stacklevel=3)
    return results, case.arrays()


def describe() -> "list[dict[str, Any]]":
    """The description of all kernels, as ``lineage core --list --json`` prints it."""
    done, error = ctypes.c_void_p(), _Error()
    if _lib.rl_case_describe(ctypes.byref(done), ctypes.byref(error)) != 0:
        raise MemoryError(error.text.decode(errors="replace"))
    described: "list[dict[str, Any]]" = _Done(done.value or 0).values()
    return described
