"""Every golden vector through the Python functions; forms of batches; what is refused, and how."""

import ctypes
import inspect
import json
import os
import threading
import warnings
from pathlib import Path

import numpy as np
import pytest

from lineage import _case, core

SOURCE = Path(os.environ.get("SOURCE", Path(__file__).resolve().parents[2]))
FOLDERS = [SOURCE / "fixtures/golden", SOURCE / "fixtures/edge", SOURCE.parent / "shared/golden"]
FAMILIES = {kernel["family"]: kernel for kernel in core.kernels()}
CASES = [
    path
    for folder in FOLDERS
    for path in sorted(folder.glob("*/*.json"))
    if path.parent.name in FAMILIES
]
# Comments for the reader in the inputs of some vectors; kernels ignore them.
NOTES = {"comment", "note", "description"}


def close(got, want, absolute, largest):
    return abs(got - want) <= absolute + 1e-9 * abs(want) or abs(got - want) <= 1e-9 * largest


def largest_in(value):
    if isinstance(value, bool) or value is None or isinstance(value, str):
        return 0.0
    if isinstance(value, (int, float)):
        return abs(value)
    items = value.values() if isinstance(value, dict) else value
    return max((largest_in(item) for item in items), default=0.0)


def plain(value):
    if isinstance(value, core.Ragged):
        return [row.tolist() for row in value.rows()]
    return value.tolist() if isinstance(value, (np.ndarray, np.generic)) else value


def compare(path, got, want, absolute, largest):
    if isinstance(want, dict):
        for key, item in want.items():
            compare(f"{path}.{key}", got[key], item, absolute, largest_in(item))
    elif isinstance(want, list):
        assert len(got) == len(want), path
        for i, item in enumerate(want):
            compare(f"{path}[{i}]", got[i], item, absolute, largest)
    elif isinstance(want, float):
        assert close(got, want, absolute, largest), f"{path}: {got} is not {want}"
    elif want is not None or got is not None:
        assert got == want, f"{path}: {got} is not {want}"


@pytest.mark.parametrize("path", CASES, ids=lambda path: f"{path.parent.name}/{path.stem}")
def test_golden(path):
    case = json.loads(path.read_text())
    family = path.parent.name
    spec = {item["name"] for item in FAMILIES[family]["inputs"]}
    given = {name: value for name, value in case["inputs"].items() if name in spec}
    assert not set(case["inputs"]) - spec - NOTES or case["expected"].get("error"), "an input that the list lacks"
    function = getattr(core, family)
    if "error" in case["expected"]:
        with pytest.raises((core.CoreError, TypeError)):
            function(**given)
        return
    result = function(**given)
    absolute = case.get("abs_tol", 1e-10)
    for name, want in case["expected"].items():
        if want is None:
            assert result.get(name) is None
            continue
        compare(name, plain(result[name]), want, absolute, largest_in(want))


def by_json(family, inputs):
    """The results of rl_case_run_json, the door of `lineage core`."""
    done, error = ctypes.c_void_p(), _case._Error()
    run = _case._lib.rl_case_run_json
    run.argtypes = [ctypes.POINTER(ctypes.c_void_p), ctypes.c_char_p, ctypes.c_bool, ctypes.c_char_p, ctypes.POINTER(_case._Error)]
    assert run(ctypes.byref(done), family.encode(), False, json.dumps(inputs).encode(), ctypes.byref(error)) == 0, error.text
    return _case._Done(done.value).values()


@pytest.mark.filterwarnings("ignore::RuntimeWarning")
@pytest.mark.parametrize("family", sorted({path.parent.name for path in CASES}))
def test_all_doors_give_the_same_bits(family):
    """JSON, arrays, and JSON in a thread, whose stack holds other bytes: what is not initialised differs. Each named output is there."""
    named, seen = {output["name"] for output in FAMILIES[family]["outputs"]}, set()
    for path in (path for path in CASES if path.parent.name == family):
        case, found = json.loads(path.read_text()), {}
        if "error" in case["expected"]:
            continue
        inputs = {name: value for name, value in case["inputs"].items() if value is not None}
        first = by_json(family, inputs)
        thread = threading.Thread(target=lambda: found.update(by_json(family, inputs)))
        thread.start()
        thread.join()
        assert found == first, path
        first.pop("warnings", None)
        arrays = {name: plain(value) for name, value in core.run_kernel(family, **inputs).items()}
        assert arrays == first, path
        seen |= set(first)
    assert seen == named


def test_there_are_vectors():
    assert len({path.parent.name for path in CASES}) >= 27


# ---- forms ----


def batch(dtype=np.float64, rows=3, tokens=5):
    rng = np.random.default_rng(7)
    lengths = np.array([5, 2, 4][:rows])
    mask = (np.arange(tokens) < lengths[:, None]).astype(np.uint8)
    log_prob = (-rng.random((rows, tokens))).astype(dtype)
    return dict(
        loss="vanilla", loss_agg_mode="seq-mean-token-mean", response_mask=mask, log_prob=log_prob,
        old_log_prob=(log_prob + rng.normal(0, 0.3, log_prob.shape)).astype(dtype),
        advantages=rng.normal(size=log_prob.shape).astype(dtype),
    )  # fmt: skip


def rows_of(given, name):
    return [row[: n] for row, n in zip(given[name], given["response_mask"].sum(axis=1))]


BATCHED = ("log_prob", "old_log_prob", "advantages")


def test_ragged_forms_equal_the_padded_one():
    given = batch()
    padded = core.policy_loss(**given)
    lists = {name: rows_of(given, name) if name in BATCHED else value for name, value in given.items()}
    del lists["response_mask"]
    by_lists = core.policy_loss(**lists)
    packed = {name: np.concatenate(value) if name in BATCHED else value for name, value in lists.items()}
    by_packing = core.policy_loss(**packed, cu_seqlens=[0, 5, 7, 11])
    assert by_lists.loss == by_packing.loss == padded.loss
    flat = padded.d_log_prob[given["response_mask"] != 0]
    assert (np.concatenate(by_lists.d_log_prob) == flat).all() and (by_packing.d_log_prob == flat).all()


def test_types_and_layouts():
    given = batch()
    want = core.policy_loss(**given)
    for mask in (bool, np.int64, np.float32):
        assert core.policy_loss(**{**given, "response_mask": given["response_mask"].astype(mask)}).loss == want.loss
    strided = {name: np.asfortranarray(value) if name in BATCHED else value for name, value in given.items()}
    assert core.policy_loss(**strided).loss == want.loss
    single = core.policy_loss(**batch(np.float32))
    assert single.d_log_prob.dtype == np.float32 and single.loss == pytest.approx(want.loss, rel=1e-5)
    mixed = {**batch(np.float32), "advantages": given["advantages"]}
    assert core.policy_loss(**mixed).d_log_prob.dtype == np.float64


def test_pytorch_types_are_read_in_place():
    torch = pytest.importorskip("torch")
    given = {
        name: torch.from_numpy(np.array(value)).to(torch.bfloat16) if name in BATCHED else value
        for name, value in batch(np.float32).items()
    }
    given["response_mask"] = torch.from_numpy(batch()["response_mask"].astype(np.int64))
    wide = {name: value.float() if name in BATCHED else value for name, value in given.items()}
    half, single = core.policy_loss(**given), core.policy_loss(**wide)
    assert half.d_log_prob.dtype == torch.float32 and half.loss == single.loss
    assert (half.d_log_prob == single.d_log_prob).all()
    lengths = given["response_mask"].sum(dim=1)
    packed = {
        name: torch.cat([row[:n] for row, n in zip(value, lengths)]) if name in BATCHED else value
        for name, value in given.items()
    }
    del packed["response_mask"]
    ragged = core.policy_loss(**packed, cu_seqlens=[0, *lengths.cumsum(0).tolist()])
    assert ragged.loss == single.loss
    assert (ragged.d_log_prob == half.d_log_prob[given["response_mask"] != 0]).all()


def cut(value, gap, poison):
    """The same numbers as columns of something wider."""
    wide = np.full((len(value), gap + value.shape[1] + 1), poison, dtype=value.dtype)
    wide[:, gap:-1] = value
    return wide[:, gap:-1]


@pytest.mark.parametrize("dtype", [np.float64, np.float32])
def test_slices_are_read_in_place(dtype):
    given = batch(dtype)
    want = core.policy_loss(**given)
    slices = {name: cut(given[name], 3, np.nan) for name in BATCHED}
    mask = cut(given["response_mask"].astype(np.int64), 3, 77)
    got = core.policy_loss(**{**given, **slices, "response_mask": mask})
    assert got.loss == want.loss and (got.d_log_prob == want.d_log_prob).all()
    assert got.d_log_prob.strides == slices["log_prob"].strides, "no copy was made: the result lies as the inputs do"
    # The most frequent stride is kept; arrays of other strides, and kernels without layouts, get copies.
    mixed = {**given, "log_prob": slices["log_prob"], "advantages": cut(given["advantages"], 1, np.nan)}
    assert core.policy_loss(**mixed).loss == want.loss
    kl, wanted = (
        core.kl_penalty(kl_penalty="k3", log_prob=x["log_prob"], ref_log_prob=x["old_log_prob"]).kl for x in (slices, given)
    )
    assert (kl == wanted).all()
    hole = cut(given["log_prob"], 3, np.nan)
    hole[1, 1] = np.inf
    error = refused(**{**given, **slices, "log_prob": hole, "response_mask": mask})
    assert (error.argument, error.index) == ("log_prob", (1, 1))
    error = refused(**{**given, **slices, "response_mask": cut(np.array([[1] * 5, [1] * 5, [1, 1, 2, 1, 1]]), 3, 77)})
    assert (error.argument, error.index) == ("response_mask", (2, 2))
    turns = cut(np.where(given["response_mask"], 0, -1), 3, 77)
    turns[1, 1] = 2
    with pytest.raises(core.CoreError) as info:
        core.turn_statistics(response_mask=mask, turn_id=turns, token_level_rewards=slices["advantages"])
    assert (info.value.argument, info.value.index) == ("turn_id", (1, 1))


def test_slices_of_tensors():
    torch = pytest.importorskip("torch")
    given = batch(np.float32)
    for kind in (torch.float32, torch.bfloat16):
        whole = {name: torch.from_numpy(given[name]).to(kind) for name in BATCHED}
        slices = {name: torch.nn.functional.pad(value, (3, 2), value=torch.nan)[:, 3:8] for name, value in whole.items()}
        rest = {name: value for name, value in given.items() if name not in BATCHED}
        rest["response_mask"] = torch.nn.functional.pad(torch.from_numpy(given["response_mask"]).long(), (3, 2))[:, 3:8]
        want, got = core.policy_loss(**rest, **whole), core.policy_loss(**rest, **slices)
        assert got.loss == want.loss and torch.equal(got.d_log_prob, want.d_log_prob)
        assert got.d_log_prob.stride() == (10, 1)


def test_inputs_are_not_modified():
    given = batch()
    before = {name: np.copy(value) for name, value in given.items()}
    core.policy_loss(**given)
    assert all((before[name] == given[name]).all() for name in BATCHED)


def test_results_outlive_their_call():
    arrays = [core.policy_loss(**batch()).d_log_prob for _ in range(50)]
    assert all((array == arrays[0]).all() for array in arrays)


def test_threads():
    given, losses = batch(), []
    threads = [threading.Thread(target=lambda: losses.append(core.policy_loss(**given).loss)) for _ in range(8)]
    for thread in threads:
        thread.start()
    for thread in threads:
        thread.join()
    assert len(losses) == 8 and len(set(losses)) == 1


# ---- refusals ----


def refused(**changes):
    with pytest.raises(core.CoreError) as info:
        core.policy_loss(**{**batch(), **changes})
    return info.value


def test_errors_name_argument_and_index():
    hole = batch()["log_prob"]
    hole[1, 1] = np.nan
    error = refused(log_prob=hole)
    assert (error.argument, error.index) == ("log_prob", (1, 1))
    assert refused(log_prob=np.zeros((3, 4))).argument == "log_prob"
    assert refused(log_prob=np.zeros(15)).argument == "log_prob"
    assert refused(loss="vanila").argument == "loss"
    assert refused(clip_ratio_low=float("nan")).argument == "clip_ratio_low"
    assert refused(response_mask=np.full((3, 5), 0.5)).argument == "response_mask"
    assert refused(log_prob=[["a"] * 5] * 3).argument == "log_prob"
    with pytest.raises(TypeError, match="no argument 'log_probs'"):
        core.policy_loss(**batch(), log_probs=1)
    with pytest.raises(core.CoreError, match="unknown kernel"):
        core.run_kernel("policy_los")
    with pytest.raises(core.CoreError, match="cu_seqlens"):
        core.policy_loss(loss="vanilla", loss_agg_mode="token-mean", log_prob=[0.0], cu_seqlens=[0, 2, 1])


def test_signatures_match_the_descriptions():
    for kernel in core.kernels():
        function = getattr(core, kernel["family"])
        names = set(inspect.signature(function).parameters) - {"cu_seqlens"}
        assert names == {item["name"] for item in kernel["inputs"]}
        assert all(item["text"] in function.__doc__ for item in kernel["inputs"])


def test_turns_from_mask():
    turns = core.turns_from_mask(np.array([[0, 1, 1, 0, 1], [1, 0, 0, 1, 0]]))
    assert turns.tolist() == [[-1, 0, 0, -1, 1], [0, -1, -1, 1, -1]]


def test_truth_values_are_only_masks():
    """NumPy would read True among numbers as 1, which a JSON case refuses."""
    good = dict(kl_penalty="k1", ref_log_prob=[[-1.0, -1.0]])
    for wrong in ([[True, -1.0]], [[True, True]], np.ones((1, 2), dtype=bool), [np.ones(2, dtype=bool)]):
        with pytest.raises(core.CoreError, match="log_prob has True or False among its numbers"):
            core.kl_penalty(log_prob=wrong, **good)
    mean = core.agg_loss(loss_agg_mode="token-mean", loss_mat=[[1.0, 2.0]], loss_mask=[[True, 0]])
    assert mean.loss == 1
    stream = dict(rl_loss="ipo", inference_logprobs=[[-1.0, -1.0]], trainer_logprobs=[[-1.0, -1.0]], loss_mask=[[True, True]])
    assert core.prime_loss(advantages=[[1.0, 1.0]], **stream).loss == -2
    with pytest.raises(core.CoreError, match="advantages has True or False among its numbers"):
        core.prime_loss(advantages=[[True, 1.0]], **stream)
    weighed = core.prime_loss(advantages=[[1.0, 1.0]], ce_weights=[[1.0, 0.0]], **stream)
    for mask in ([[True, False]], np.array([[True, False]]), [np.array([True, False])]):
        assert core.prime_loss(advantages=[[1.0, 1.0]], ce_weights=mask, **stream).loss == weighed.loss


def test_values_that_are_not_numbers_decide_nothing():
    """A row with an unknown outcome was judged, and its rates were those of a failure."""
    for wrong in (float("nan"), float("inf")):
        with pytest.raises(core.CoreError, match=r"outcomes\[0\] is .*, not a finite number"):
            core.adca_skip_rows(skip_type="skip_all_neg", outcomes=[wrong, 1.0])
        with pytest.raises(core.CoreError, match=r"overall_advantages\[1\] is .*, not a finite number"):
            core.adca_skip_rows(skip_type="skip_small_adv", outcomes=[0.0, 1.0], overall_advantages=[0.0, wrong])
        with pytest.raises(core.CoreError, match=r"token_level_rewards\[0\]\[1\] is (nan|inf), not a finite number"):
            core.prm_schedule(
                enable=True, global_step=0, prm_steps=1, alpha=0.1, token_level_rewards=[[0, wrong, -wrong]], step_flags=[[True]]
            )  # fmt: skip
        for loss in ("dppo_tv", "dppo_kl"):  # outside the bounds, where nothing is learnt
            with pytest.raises(core.CoreError, match=r"advantages\[0\]\[0\] is (-?nan|-inf), not a finite number"):
                core.policy_loss(
                    loss=loss, loss_agg_mode="token-mean", response_mask=[[1]], log_prob=[[-3.0]], old_log_prob=[[-0.1]], advantages=[[-wrong]]
                )  # fmt: skip


def test_numbers_that_would_become_others():
    row = dict(estimator="grpo", response_mask=[[1]] * 2, token_level_rewards=[[1.0], [0.0]])
    with pytest.raises(core.CoreError, match="above 2.63 - 1"):
        core.advantage(group_index=np.array([0, 2**64 - 1], dtype=np.uint64), **row)
    with pytest.raises(core.CoreError, match=r"group_index\[1\] is at or above 2\^53, where floats no longer hold"):
        core.advantage(group_index=[0, 2.0**53], **row)
    with pytest.raises(core.CoreError, match=r"group_index\[1\] is at or below -2\^53"):
        core.advantage(group_index=[0, -(2.0**53)], **row)
    with pytest.raises(core.CoreError, match=r"group_index\[1\] is not a whole number"):
        core.advantage(group_index=[0, 0.5], **row)
    for dtype, bits in ((np.float32, 24), (np.float16, 11)):
        assert core.advantage(group_index=np.array([0, 2**bits - 1], dtype=dtype), **row).advantages[0][0] != 0
        for label in (2**bits, -(2**bits)):
            for labels in (np.array([0, label], dtype=dtype), [0.0, dtype(label)], [dtype(0), dtype(label)]):
                with pytest.raises(core.CoreError, match=rf"group_index\[1\] is at or beyond 2\^{bits}, where") as error:
                    core.advantage(group_index=labels, **row)
                assert error.value.index == (1,)
                with pytest.raises(core.CoreError, match=rf"labels\[1\] is at or beyond 2\^{bits}"):
                    core.group_numbers(labels)
    with pytest.raises(core.CoreError, match=r"turn_id\[0\]\[1\] is at or beyond 2\^11"):
        core.turn_statistics(response_mask=[[1, 1], [1]], turn_id=[np.array([0, 2048], dtype=np.float16), [0]])
    with pytest.warns(RuntimeWarning, match="inputs.gamma has no effect"):
        core.advantage(group_index=[0, 0], gamma=0.9, **row)


def test_small_floats_that_are_no_labels_are_taken():
    half = dict(response_mask=np.ones((2, 1), np.float16), token_level_rewards=np.array([[3000.0], [0.0]], np.float16))
    assert core.advantage(estimator="grpo", group_index=[0, 0], **half).advantages[0][0] > 0
    assert core.group_numbers(np.array([7, 2047, 7], np.float16)) == [0, 1, 0]


def test_labels_of_tensors():
    torch = pytest.importorskip("torch")
    row = dict(
        estimator="grpo",
        response_mask=torch.ones((2, 1), dtype=torch.bfloat16),
        token_level_rewards=torch.tensor([[300.0], [0.0]], dtype=torch.bfloat16),
    )
    for dtype, bits in ((torch.bfloat16, 8), (torch.float16, 11), (torch.float32, 24)):
        assert core.advantage(group_index=torch.tensor([1, 1], dtype=dtype), **row).advantages[0, 0] > 0
        labels = torch.tensor([0, 2**bits], dtype=dtype)
        for given in (labels, list(labels)):
            with pytest.raises(core.CoreError, match=rf"group_index\[1\] is at or beyond 2\^{bits}, where"):
                core.advantage(group_index=given, **row)
            with pytest.raises(core.CoreError, match=rf"labels\[1\] is at or beyond 2\^{bits}"):
                core.group_numbers(given)
    assert core.group_numbers(torch.tensor([7, 9, 7])) == [0, 1, 0]


def test_a_threshold_of_weights_that_are_off_gives_no_warning():
    batch = dict(response_mask=[[1]], train_log_prob=[[-1.0]], rollout_log_prob=[[-1.0]], rollout_is_threshold=2.0)
    with warnings.catch_warnings():
        warnings.simplefilter("error")
        core.rollout_correction(rollout_is=None, **batch)
    with pytest.warns(RuntimeWarning, match="rollout_is_threshold has no effect"):
        core.rollout_correction(**batch)


def test_ragged_inputs_that_are_no_lists_of_rows():
    given = dict(rl_loss="ipo", inference_logprobs=[[-1.0]], advantages=[[1.0]], loss_mask=[[1]])
    for wrong in ([-1.0], [[[-1.0]]]):
        with pytest.raises(core.CoreError, match="is not a list"):
            core.prime_loss(trainer_logprobs=wrong, **given)


def test_the_unbiased_kl_is_k3_times_the_ratio():
    result = core.kl_penalty(kl_penalty="k3", log_prob=[[-1.0]], ref_log_prob=[[-1.5]], old_log_prob=[[-1.25]])
    assert result.d_log_prob[0][0] == pytest.approx(np.exp(0.25) * 0.5, rel=1e-12)
    assert result.kl[0][0] == pytest.approx(np.exp(0.25) * (np.exp(-0.5) - 0.5), rel=1e-12)


def test_cu_seqlens_need_a_batch():
    with pytest.raises(core.CoreError, match="no input of this kernel is a batch of tokens"):
        core.passk(estimator="unbiased", n=[4], c=[1], k=[1], cu_seqlens=[0, 1])
