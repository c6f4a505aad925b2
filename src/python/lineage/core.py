"""Every kernel of the training core, on NumPy arrays and PyTorch tensors.

There is one function for each family of ``lineage core --list``, with the same name::

    from lineage import core
    out = core.policy_loss(loss="vanilla", loss_agg_mode="token-mean", response_mask=mask,
                           log_prob=log_prob, old_log_prob=old, advantages=adv)
    out.loss, out.d_log_prob

Signatures and docstrings are made from the library's description of its kernels, so a kernel of a newer
library is available without a new package. All arguments are keywords.

**Arrays** are NumPy arrays, PyTorch tensors or nested lists. An array is read in place if it is C-contiguous
and has the kernel's type: float64 or float32, uint8 or bool masks, int32 turn and step ids, int64 groups and
counts. Kernels whose description has ``layouts`` also read these in place: response masks and turn ids of int64
(PyTorch's default), bfloat16, and slices like ``x[:, 3:40]`` that all have the same stride, which the results
then have too. If strides differ, the most frequent one is read in place. Other types and layouts are converted.

**Precision.** A kernel runs in single precision if it has that form and all reals are float32, float16 or
bfloat16; with any float64 among them it runs in double. Tensors on a GPU are copied through pinned memory, and
results are returned on that device. Inputs are never modified.

**Ragged batches.** For shape [B][T], rows may be lists of different lengths, or flat arrays with ``cu_seqlens``
([B + 1], where each row begins), which kernels with ``layouts`` read in place. Results have the same form. Every
token counts if there is no ``response_mask``.

**Results** are a :class:`Result`, a dict whose entries are also attributes. If any array was a tensor, the
arrays of the result are tensors.

Errors are :class:`CoreError` (a ValueError) with ``argument`` and ``index``. The GIL is released while a kernel
runs, and calls from several threads are safe. OMP_NUM_THREADS sets the number of threads of a kernel; in a forked
child it is one, because OpenMP's threads do not survive a fork.
"""

from __future__ import annotations

import inspect
import sys
from typing import Any, Callable, Iterable, Mapping

import numpy as np

from ._case import BFloat16, CoreError, Ragged, describe, run, widened

__all__ = ["CoreError", "Ragged", "Result", "group_numbers", "kernels", "run_kernel", "turns_from_mask"]

_ARRAYS = {"reals", "numbers", "integers", "mask", "ids", "ragged", "routes"}
_BATCH = "[B][T]"
_PADDING = {"mask": 0, "ids": -1}


class Result(dict):
    """Results by name, as entries and as attributes."""

    def __getattr__(self, name: str) -> Any:
        try:
            return self[name]
        except KeyError:
            raise AttributeError(f"no result {name}; the results are {', '.join(self)}") from None

    def __dir__(self) -> "list[str]":
        return [*super().__dir__(), *self]


# ---- tensors ----


def _is_tensor(value: Any) -> bool:
    torch = sys.modules.get("torch")
    return torch is not None and isinstance(value, torch.Tensor)


def _to_numpy(tensor: Any) -> np.ndarray:
    """A tensor as an array: without a copy on the CPU, through pinned memory from another device."""
    torch = sys.modules["torch"]
    tensor = tensor.detach()
    if tensor.dtype == torch.float16:
        tensor = tensor.float()
    half = tensor.dtype == torch.bfloat16
    if half:
        tensor = tensor.view(torch.int16)
    if tensor.device.type != "cpu":
        pinned = torch.empty(tensor.shape, dtype=tensor.dtype, pin_memory=tensor.device.type == "cuda")
        pinned.copy_(tensor, non_blocking=True)
        if tensor.device.type == "cuda":
            torch.cuda.current_stream(tensor.device).synchronize()
        tensor = pinned
    return tensor.numpy().view(np.uint16).view(BFloat16) if half else tensor.numpy()


def _to_tensor(array: np.ndarray, device: Any) -> Any:
    torch = sys.modules["torch"]
    tensor = torch.from_numpy(array)
    if device.type == "cuda":
        return tensor.pin_memory().to(device, non_blocking=True)
    return tensor.to(device)


# ---- inputs ----


def _is_list(value: Any) -> bool:
    return isinstance(value, (list, tuple))


def _has_truth(value: Any) -> bool:
    if _is_list(value):
        return any(map(_has_truth, value))
    return isinstance(value, (bool, np.bool_)) or (hasattr(value, "dtype") and str(value.dtype) in ("bool", "torch.bool"))


def _refuse_truth(name: str, kind: str, value: Any) -> None:
    """Only masks, flags and weights (often masks) take True and False, which NumPy reads as numbers, and JSON cases refuse."""
    flags = name in ("loss_mask", "step_flags", "rl_weights", "ce_weights", "ref_kl_weights")
    if kind in ("reals", "numbers", "integers", "ids", "routes", "ragged") and not flags and _has_truth(value):
        raise CoreError(name, f"inputs.{name} has True or False among its numbers")


#: Up to which power of 2 a small float holds every whole number.
_EXACT = {"float32": 24, "float16": 11, "bfloat16": 8}


def _refuse_merged(name: str, value: Any, place: str = "") -> None:
    """Labels of a small float, of which two may have become one. Element by element, since a list is read in a wider type."""
    if _is_list(value):
        for i, item in enumerate(value):
            if type(item) is not int:  # most labels are, and routes have millions
                _refuse_merged(name, item, f"{place}[{i}]")
        return
    dtype = str(getattr(value, "dtype", "")).replace("torch.", "")
    if dtype in _EXACT:
        beyond = abs(value) >= 2.0 ** _EXACT[dtype]
        for at in np.argwhere(beyond.cpu().numpy() if _is_tensor(beyond) else beyond)[:1]:
            index = place + "".join(f"[{i}]" for i in at)
            raise CoreError(
                name, f"inputs.{name}{index} is at or beyond 2^{_EXACT[dtype]}, where {dtype} no longer holds every whole number"
            )


def _as_array(name: str, value: Any) -> np.ndarray:
    if _is_tensor(value):
        value = _to_numpy(value)
    if _is_list(value) and any(_is_tensor(item) for item in value):
        value = [widened(_to_numpy(item)) if _is_tensor(item) else item for item in value]
    if isinstance(value, BFloat16):
        return value
    try:
        array = np.asarray(value)
    except ValueError as error:
        raise CoreError(name, f"inputs.{name} is not a rectangular array: {error}") from None
    if array.dtype == object or array.dtype.kind not in "fiub":
        raise CoreError(name, f"inputs.{name} is not an array of numbers")
    if array.dtype == np.float16:
        return array.astype(np.float32)
    if array.dtype == np.uint64 and array.size and int(array.max()) >= 2**63:  # would become negative
        raise CoreError(name, f"inputs.{name} has the number {int(array.max())}, above 2^63 - 1")
    return array


def _is_ragged(value: Any) -> bool:
    """Returns True for a list of rows of different lengths."""
    if not _is_list(value) or not value or not all(hasattr(row, "__len__") for row in value):
        return False
    return len({len(row) for row in value}) > 1


def _flatten(name: str, rows: Any) -> Ragged:
    if not hasattr(rows, "__len__"):
        raise CoreError(name, f"inputs.{name} is not a list of rows")
    arrays = [widened(_as_array(name, row)) for row in rows]
    if any(array.ndim != 1 for array in arrays):
        raise CoreError(name, f"inputs.{name}[{[array.ndim != 1 for array in arrays].index(True)}] is not a list")
    start = np.zeros(len(arrays) + 1, dtype=np.int64)
    np.cumsum([len(row) for row in arrays], out=start[1:])
    return Ragged(np.concatenate(arrays) if arrays else np.empty(0), start)


def _ragged(name: str, value: Any, start: "np.ndarray | None") -> Ragged:
    if isinstance(value, Ragged):
        return value
    if start is not None:
        return Ragged(_as_array(name, value), start)
    return _flatten(name, value)


class _Form:
    """The form of the batch: padded, lists of rows, or packed with cu_seqlens."""

    def __init__(self, family: str, spec: Mapping[str, Any], given: Mapping[str, Any], cu_seqlens: Any) -> None:
        names = [name for name, item in spec.items() if item["shape"] == _BATCH and given.get(name) is not None]
        self.start: "np.ndarray | None" = None
        self.lists = False
        if cu_seqlens is not None and not any(item["shape"] == _BATCH or item["kind"] == "ragged" for item in spec.values()):
            raise CoreError(family, "inputs.cu_seqlens: no input of this kernel is a batch of tokens")
        if cu_seqlens is not None:
            self.start = np.ascontiguousarray(_as_array("cu_seqlens", cu_seqlens), dtype=np.int64)
            if self.start.ndim != 1 or not len(self.start) or self.start[0] != 0 or (np.diff(self.start) < 0).any():
                raise CoreError(family, "inputs.cu_seqlens must begin at 0 and ascend")
        elif any(_is_ragged(given[name]) for name in names):
            self.lists = True
            first = next(name for name in names if _is_ragged(given[name]))
            self.start = _flatten(first, given[first]).start
        if self.start is not None:
            lengths = np.diff(self.start)
            self.valid = np.arange(lengths.max(initial=0)) < lengths[:, None]

    def rows(self, name: str, value: Any) -> Ragged:
        """The rows of one input. Their lengths must agree with those of the other inputs."""
        assert self.start is not None
        flat = _flatten(name, value) if self.lists else Ragged(_as_array(name, value), self.start)
        if len(flat.start) != len(self.start) or (flat.start != self.start).any() or len(flat.values) != self.start[-1]:
            raise CoreError(name, f"inputs.{name} has rows of other lengths")
        return flat

    def pad(self, name: str, kind: str, value: Any) -> np.ndarray:
        """The rows padded to [B][T] with neutral values."""
        assert self.start is not None
        flat = self.rows(name, value)
        flat = Ragged(widened(flat.values), flat.start)
        padded = np.full(self.valid.shape, _PADDING.get(kind, 0), dtype=flat.values.dtype)
        padded[self.valid] = flat.values
        return padded

    def unpad(self, array: "np.ndarray | Ragged") -> Any:
        if isinstance(array, Ragged):
            return array.rows() if self.lists else array.values
        if self.start is None or array.shape != self.valid.shape:
            return array
        flat = array[self.valid]
        return Ragged(flat, self.start).rows() if self.lists else flat


def _gather(
    family: str, spec: Mapping[str, Any], given: Mapping[str, Any], form: _Form, in_place: bool
) -> "tuple[dict[str, Any], dict[str, Any]]":
    values: "dict[str, Any]" = {}
    arrays: "dict[str, Any]" = {}
    for name, value in given.items():
        item = spec[name]
        if value is None:
            if item["kind"] not in _ARRAYS:  # switched off by name, which the warnings of inputs that nothing reads take into account
                values[name] = None
            continue
        _refuse_truth(name, item["kind"], value)
        if item["kind"] in ("integers", "ids", "routes"):
            _refuse_merged(name, value)
        if item["kind"] not in _ARRAYS or (name == "anchor" and _is_list(value)):
            values[name] = _to_numpy(value).tolist() if _is_tensor(value) else value
        elif item["kind"] == "ragged":
            arrays[name] = _ragged(name, value, form.start if form.start is not None and not form.lists else None)
        elif in_place and item["shape"] == _BATCH:
            arrays[name] = form.rows(name, value)
        elif form.start is not None and item["shape"] == _BATCH:
            arrays[name] = form.pad(name, item["kind"], value)
        else:
            arrays[name] = _as_array(name, value)
    if form.start is not None and "response_mask" in spec and "response_mask" not in arrays:
        everything = np.ones(form.start[-1], dtype=np.uint8)
        arrays["response_mask"] = Ragged(everything, form.start) if in_place else form.valid
    return values, arrays


def _dtype(array: np.ndarray) -> Any:
    return np.dtype(np.float32) if isinstance(array, BFloat16) else array.dtype


def _is_single(spec: Mapping[str, Any], arrays: Mapping[str, Any]) -> bool:
    reals = [
        _dtype(value.values if isinstance(value, Ragged) else value)
        for name, value in arrays.items()
        if spec[name]["kind"] == "reals" or (spec[name]["kind"] == "ragged" and name not in ("step_flags", "loss_mask"))
    ]
    floats = [dtype for dtype in reals if dtype.kind == "f"]
    return bool(floats) and all(dtype == np.float32 for dtype in floats)


def _device(given: Mapping[str, Any]) -> Any:
    for value in given.values():
        for item in value if _is_list(value) else (value,):
            if _is_tensor(item):
                return item.device
    return None


def _deliver(value: Any, form: _Form, device: Any) -> Any:
    if isinstance(value, Ragged):
        if device is None:
            return value
        return Ragged(_to_tensor(value.values, device), value.start)
    if not _is_list(value):
        value = form.unpad(value)
    if device is None:
        return value
    return [_to_tensor(row, device) for row in value] if _is_list(value) else _to_tensor(value, device)


# ---- functions ----


def _load() -> "dict[str, dict[str, Any]]":
    return {kernel["family"]: kernel for kernel in describe()}


_KERNELS = _load()


def kernels() -> "list[dict[str, Any]]":
    """All kernels: family, summary, inputs with kind, shape, choices, meaning, ``only``, and outputs. ``only`` lists the values of
    the kernel's first input with which the input has an effect; empty: all."""
    return list(_KERNELS.values())


def run_kernel(family: str, /, *, cu_seqlens: Any = None, **given: Any) -> Result:
    """Run a kernel by the name of its family. The other functions of this module call this one."""
    kernel = _KERNELS.get(family)
    if kernel is None:
        raise CoreError(family, "unknown kernel; lineage.core.kernels() lists them")
    spec = {item["name"]: item for item in kernel["inputs"]}
    for name in given:
        if name not in spec:
            raise TypeError(f"{family}() takes no argument {name!r}; it takes {', '.join(spec)}")
    form = _Form(family, spec, given, cu_seqlens)
    # Routes exist for padded batches only.
    routes = any(spec[name]["kind"] == "routes" and value is not None for name, value in given.items())
    in_place = form.start is not None and kernel["layouts"] and not routes
    values, arrays = _gather(family, spec, given, form, in_place)
    single = kernel["single"] and _is_single(spec, arrays)
    numbers, results = run(family, single, values, arrays)
    device = _device(given)
    out = Result(numbers)
    for name, value in results.items():
        out[name] = _deliver(form.unpad(value) if in_place else value, form, device)
    return out


def _doc(kernel: Mapping[str, Any]) -> str:
    lines = [kernel["summary"][0].upper() + kernel["summary"][1:] + ".", ""]
    for item in kernel["inputs"]:
        shape = f" {item['shape']}" if item["shape"] else ""
        choices = f" ({'|'.join(item['choices'])})" if item["choices"] else ""
        optional = ", optional" if item["optional"] else ""
        optional += f", only with {'|'.join(item['only'])}" if item.get("only") else ""  # an older library does not say
        lines.append(f"{item['name']}: {item['kind']}{shape}{choices}{optional}. {item['text']}.")
    returned = [out["name"] + (f" {out['shape']}" if out["shape"] else "") for out in kernel["outputs"]]
    precision = "double or single precision" if kernel["single"] else "double precision only"
    return "\n".join([*lines, "", f"Returns {', '.join(returned)}; {precision}."])


def _make(kernel: Mapping[str, Any]) -> "Callable[..., Result]":
    family = kernel["family"]

    def function(*, cu_seqlens: Any = None, **given: Any) -> Result:
        return run_kernel(family, cu_seqlens=cu_seqlens, **given)

    only = inspect.Parameter.KEYWORD_ONLY
    ordered = sorted(kernel["inputs"], key=lambda item: bool(item["optional"]))
    parameters = [
        inspect.Parameter(item["name"], only, default=None if item["optional"] else inspect.Parameter.empty)
        for item in ordered
    ]
    if any(item["shape"] == _BATCH or item["kind"] == "ragged" for item in kernel["inputs"]):
        parameters.append(inspect.Parameter("cu_seqlens", only, default=None))
    function.__name__ = function.__qualname__ = family
    function.__doc__ = _doc(kernel)
    function.__signature__ = inspect.Signature(parameters, return_annotation=Result)  # type: ignore[attr-defined]
    return function


globals().update({family: _make(kernel) for family, kernel in _KERNELS.items()})
__all__.extend(_KERNELS)  # pyright: ignore[reportUnsupportedDunderAll]


def group_numbers(labels: Iterable[Any]) -> "list[int]":
    """Numbers for group_index from group labels of any kind (verl's uid is text), in order of first appearance. Numbers of a
    float that no longer holds every whole number are refused."""
    seen: "dict[Any, int]" = {}
    labels = list(labels)
    _refuse_merged("labels", labels)
    keys = [label.item() if _is_tensor(label) else label for label in labels]  # a tensor is equal to itself alone
    return [seen.setdefault(key, len(seen)) for key in keys]


def turns_from_mask(response_mask: Any) -> Any:
    """Turn ids [B][T] int32 from a mask: each stretch of 1 is a turn; -1 where the mask is 0.

    For trainers that do not store turn ids. Two turns without a tool's token between them become one."""
    mask = _as_array("response_mask", response_mask) != 0
    if mask.ndim != 2:
        raise CoreError("turns_from_mask", f"inputs.response_mask has {mask.ndim} dimensions where 2 are expected")
    begins = mask & ~np.pad(mask, ((0, 0), (1, 0)))[:, :-1]
    turns = np.where(mask, np.cumsum(begins, axis=1) - 1, -1).astype(np.int32)
    return _to_tensor(turns, response_mask.device) if _is_tensor(response_mask) else turns
