"""``python3 -m lineage._stubs`` prints core.pyi: the functions of lineage.core for type checkers, which cannot see
what is made on import. A test holds the file in the package to it."""

from __future__ import annotations

from typing import Any, Mapping

from . import core

_HEAD = '''"""Made by `python3 -m lineage._stubs`, as core.py makes its functions from the library's description."""

from typing import Any, Iterable, Literal, Mapping, NamedTuple, Optional, Sequence, Union

import numpy as np
import numpy.typing as npt

# A NumPy array, a PyTorch tensor, or nested lists of numbers (of tensors where rows differ in length).
Array = Union[npt.NDArray[Any], Sequence[Any], Any]

class CoreError(ValueError):
    argument: Optional[str]
    index: tuple[int, ...]
    def __init__(self, family: str, text: str) -> None: ...

class Ragged(NamedTuple):
    values: Any
    start: npt.NDArray[np.int64]
    def rows(self) -> list[Any]: ...

class Result(dict[str, Any]):
    def __getattr__(self, name: str) -> Any: ...

def group_numbers(labels: Iterable[Any]) -> list[int]: ...
def kernels() -> list[dict[str, Any]]: ...
def run_kernel(family: str, /, *, cu_seqlens: Optional[Array] = None, **given: Any) -> Result: ...
def turns_from_mask(response_mask: Array) -> Any: ...
'''

_TYPES = {
    "number": "float", "integer": "int", "bool": "bool", "text": "str", "structured": "Union[Sequence[Any], Mapping[str, Any], float]",
}  # fmt: skip


def _type(item: Mapping[str, Any]) -> str:
    if item["kind"] == "choice":
        return f"Literal[{', '.join(repr(choice) for choice in item['choices'])}]"
    if item["name"] == "rollout_rs_threshold":
        return "Union[str, float]"
    return _TYPES.get(item["kind"], "Array")


def _function(kernel: Mapping[str, Any]) -> str:
    ordered = sorted(kernel["inputs"], key=lambda item: bool(item["optional"]))
    lines = [
        f"    {item['name']}: Optional[{_type(item)}] = None," if item["optional"] else f"    {item['name']}: {_type(item)},"
        for item in ordered
    ]
    if "cu_seqlens" in core.__dict__[kernel["family"]].__signature__.parameters:
        lines.append("    cu_seqlens: Optional[Array] = None,")
    return "\n".join([f"def {kernel['family']}(", "    *,", *lines, ") -> Result: ..."])


def text() -> str:
    return _HEAD + "\n".join(_function(kernel) for kernel in core.kernels()) + "\n"


if __name__ == "__main__":
    print(text(), end="")
