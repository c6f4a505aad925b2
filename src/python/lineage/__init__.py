"""lineage: stores of trials, and the kernels of the training core, from Python.

``lineage.Store``  appends, queries and renders trials; a trial can record itself
``lineage.core``   every kernel, on NumPy arrays and PyTorch tensors
``lineage.torch``  the losses as autograd functions and modules

Modules are loaded on first use: a store needs neither NumPy nor PyTorch.
"""

from pathlib import Path
from typing import TYPE_CHECKING, Any

from ._library import LibraryError

if Path(__file__).with_name("individual.py").exists():
    raise ImportError(
        "PyPI's package `lineage` (genetics) is installed into the same folder, and its files are mixed with these: "
        "`pip uninstall -y lineage`, then install lineage-trials again, or give each an environment of its own"
    )

if TYPE_CHECKING:
    from .store import NotFound, Store, StoreError, Trial

__version__ = "0.2.0"
__all__ = ["LibraryError", "NotFound", "Store", "StoreError", "Trial", "__version__"]


def __getattr__(name: str) -> Any:
    if name in ("NotFound", "Store", "StoreError", "Trial"):
        from . import store

        return getattr(store, name)
    raise AttributeError(f"module {__name__!r} has no attribute {name!r}")


def __dir__() -> "list[str]":
    """Also the names that are loaded on first use, for completion in notebooks."""
    return sorted({*globals(), *__all__})
