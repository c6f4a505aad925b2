"""Misspelt keywords are errors at run time; run.sh checks the same program with mypy and pyright."""

import pytest
import use_of_types
from lineage import Store


@pytest.fixture
def store(tmp_path):
    with Store(tmp_path / "s", create=True, direction="higher") as opened:
        yield opened


def test_the_correct_calls_run(store):
    assert use_of_types.correct(store)[0] == "000" and len(store) == 2


@pytest.mark.parametrize("call", use_of_types.MISSPELT)
def test_misspelt_keywords_are_refused(store, call):
    with pytest.raises(TypeError):
        call(store)
    assert len(store) == 0


def test_a_misspelt_condition_is_refused(store):
    """Conditions of a query are names of parameters, which no type checker knows."""
    store.append(status="baseline", score=1.0, params={"alpha": 1.0})
    with pytest.raises(OSError, match="alpha"):
        store.query(alhpa=1.0)
