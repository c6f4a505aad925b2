"""Noise, evidence and the front of two scores from Python, against formulas."""

import ctypes
import math
import statistics

import pytest

from lineage import Store, _evidence


def test_the_noise_that_the_owner_has_set(tmp_path):
    with Store(tmp_path, create=True, direction="higher", noise_std=0.5, noise_seeds=1) as store:
        assert store.evidence() == [] and store.front() == []
        noise = store.noise()
        assert (noise["std"], noise["low"], noise["high"], noise["runs"]) == (0.5, 0.5, 0.5, 0) and math.isinf(noise["freedom"])
        store.append(hypothesis="start", status="baseline", score=1.0)
        store.append(hypothesis="better", status="discard", score=2.5)
        best, trial = store.evidence()
        assert best["is_best"] and best["state"] is None and best["gain"] is None and best["std"] is None
        error = 0.5 * math.sqrt(2)
        assert trial["gain"] == 1.5 and trial["error"] == pytest.approx(error, rel=1e-12) and trial["candidate"]
        reach = statistics.NormalDist().inv_cdf(0.975) * error
        assert (trial["low"], trial["high"]) == pytest.approx((1.5 - reach, 1.5 + reach), rel=1e-6)
        assert trial["margin"] == pytest.approx(statistics.NormalDist().inv_cdf(0.975) * 0.5, rel=1e-6)
        i, z = 0.5, 1.5 * math.sqrt(0.5) / 0.5
        assert trial["state"] == "open" and trial["odds"] > math.exp(z * math.sqrt(i) - i / 2) / 3 and trial["n"] == 1
        for wrong in ({"trials": -1}, {"runs_max": -1}):
            with pytest.raises(ValueError):
                store.evidence(**wrong)


def test_unknown_noise(tmp_path):
    with Store(tmp_path, create=True, direction="lower") as store:
        store.append(hypothesis="start", status="baseline", score=1.0)
        store.append(hypothesis="other", status="discard", score=2.0)
        assert store.noise()["freedom"] == 0
        trial = store.evidence()[1]
        assert trial["gain"] == -1.0 and trial["error"] is None and trial["low"] is None and trial["margin"] is None


def test_what_is_kept_without_a_noise_floor(tmp_path):
    with Store(tmp_path, create=True, direction="lower") as store:
        store.append(hypothesis="start", status="baseline", score=1.0)
        row = store.append(hypothesis="better", auto=True, score=0.5)
        claim = store.claim(row["exp_id"])
        assert claim is not None and claim.startswith("not known to be better: the noise is unknown; ") and "replicates 001" in claim
        assert store.claim("000") is None


def test_the_front_of_two_scores(tmp_path):
    (tmp_path / "lineage.json").write_text('{"direction": "lower", "second": "bytes", "second_direction": "lower"}')
    with Store(tmp_path) as store:
        for score, size in ((1.0, 9.0), (2.0, 3.0), (3.0, 4.0), (4.0, 1.0)):
            store.append(hypothesis="h", status="keep", score=score, metrics={"bytes": size})
        assert [(one["exp_id"], one["score"], one["second"]) for one in store.front()] == [
            ("000", 1.0, 9.0), ("001", 2.0, 3.0), ("003", 4.0, 1.0),
        ]  # fmt: skip


def test_every_struct_is_compared():
    declared = {s for s in vars(_evidence).values() if isinstance(s, type) and issubclass(s, ctypes.Structure)}
    assert declared == set(_evidence._STRUCTS.values()) and _evidence.STATES == ("open", "confirmed", "refuted", "exhausted")
