"""A program that uses the public interface as its users do. run.sh checks it with mypy and pyright, both strict; test_types.py
runs the calls that must fail.

A line with `type: ignore` is a mistake that a type checker must report: both report an ignored line that is correct."""

# pyright: strict, reportUnnecessaryTypeIgnoreComment=true

from dataclasses import dataclass
from typing import Any, Callable, Optional

from lineage import NotFound, Store, StoreError, Trial


@dataclass
class Config:
    layers: int = 4


def correct(store: Store) -> "list[str]":
    trial: Trial = store.trial(hypothesis="wider clip", params={"alpha": 0.3, "optimizer": "adam"}, parent=store.best_id())
    with trial as t:
        t.log(1, loss=0.5)
        t.score(2.0, em_std=0.1)
    row: "Optional[dict[str, Any]]" = trial.row
    store.check(params=Config())
    try:
        store.append(status="baseline", score=1.0, metrics={"loss": 0.5}, notes="n", sync=False)
    except StoreError as error:
        print(error.kind.upper(), error.line + 1)
    found = [str(one["exp_id"]) for one in store.query(status="keep", sort="-score", limit=3, alpha="0.1:0.5")]
    try:
        store.find("777")
    except NotFound:
        pass
    near = store.similar("a wider clip", limit=1)
    return [*found, *(str(one["exp_id"]) for one in [*near, *store]), str(len(store)), str(row)]


#: Each call is a TypeError at run time and an error for type checkers.
MISSPELT: "list[Callable[[Store], Any]]" = [
    lambda store: store.append(hypothsis="x"),  # type: ignore[call-arg]
    lambda store: store.append(scores=1.0),  # type: ignore[call-arg]
    lambda store: store.check(hypothsis="x"),  # type: ignore[call-arg]
    lambda store: store.trial(parms={}),  # type: ignore[call-arg]
    lambda store: store.search("x", limits=1),  # type: ignore[call-arg]
    lambda store: store.similar("x", befor=True),  # type: ignore[call-arg]
    lambda store: store.evidence(trial=1),  # type: ignore[call-arg]
    lambda store: store.sweep("alpha", z="beta"),  # type: ignore[call-arg]
    lambda store: store.render(styles="native"),  # type: ignore[call-arg]
    lambda store: store.void("000"),  # type: ignore[call-arg]
    lambda store: Store(store.path, creat=True),  # type: ignore[call-arg]
]
