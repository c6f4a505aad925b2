"""The PyTorch example learns, records itself, and computes what `lineage core` computes."""

import json
import os
import subprocess
import sys
from pathlib import Path

import pytest

torch = pytest.importorskip("torch")

from lineage import Store, core  # noqa: E402

SOURCE = Path(os.environ.get("SOURCE", Path(__file__).resolve().parents[2]))


def test_the_example_learns_and_records(tmp_path):
    script = SOURCE / "tests/examples/a2tgpo_torch.py"
    run = subprocess.run([sys.executable, script, tmp_path / "s", "0.3"], capture_output=True, text=True, check=False)
    assert run.returncode == 0, run.stderr
    (row,) = Store(tmp_path / "s").query()
    assert row["status"] == "keep" and row["params"] == {"alpha": 0.3} and row["score"] > 0.5
    steps = json.loads((tmp_path / "s/telemetry" / f"{row['exp_id']}.json").read_text())["steps"]
    assert len(steps) == 30 and steps[-1]["reward"] > steps[0]["reward"]


@pytest.mark.parametrize("name", ["a2tgpo_advantage", "a2tgpo_turn_loss"])
def test_numbers_equal_those_of_the_command(name):
    command = os.environ.get("LINEAGE")
    if not command:
        pytest.skip("LINEAGE names no command")
    path = SOURCE / f"tests/examples/{name}.json"
    out = subprocess.run([command, "core", name, path], capture_output=True, text=True, check=True).stdout
    wanted = json.loads(out)
    case = json.loads(path.read_text())
    inputs = case.get("inputs", case)
    spec = {item["name"] for kernel in core.kernels() if kernel["family"] == name for item in kernel["inputs"]}
    got = core.run_kernel(name, **{key: value for key, value in inputs.items() if key in spec})
    assert set(got) == set(wanted)
    for key, value in wanted.items():
        mine = got[key].tolist() if hasattr(got[key], "tolist") else got[key]
        assert mine == value, key
