"""The adapters against the trainers themselves; skipped without them (sh tests/python/upstream.sh installs the releases).

Each project runs in a process of its own, because the stubs replace packages for the whole process."""

import json
import pathlib
import subprocess
import sys

import pytest

sys.path.insert(0, str(pathlib.Path(__file__).parent))

import upstream_drift  # noqa: E402
import upstream_sources  # noqa: E402


def run(name, script, *options):
    if upstream_sources.folder(name) is None:
        pytest.skip(upstream_sources.missing(name))
    path = pathlib.Path(__file__).with_name(script)
    done = subprocess.run([sys.executable, str(path), *options], capture_output=True, text=True, check=False)
    assert done.returncode == 0, done.stdout + done.stderr
    return done.stdout


def test_verl_own_tests_pass_with_our_functions():
    said = run("verl", "upstream_verl.py")
    assert "agg_loss" in said.split("called:")[1] and " passed" in said


def test_verl_own_trainer_calls_our_functions():
    """verl's compute_advantage with the estimators that take the place of verl's, and its real class of settings. The function is
    taken out of its file, which imports a whole trainer."""
    if upstream_sources.folder("verl") is None:
        pytest.skip(upstream_sources.missing("verl"))
    code = """
import ast, os, types, typing
os.environ["LINEAGE_VERL_REPLACE"] = "gae,gdpo,optimal_token_baseline,tir_optimal_token_baseline"
import numpy as np, torch, upstream_sources, upstream_verl
core_algos, _ = upstream_verl.load()
from lineage import verl
path = upstream_sources.folder("verl") / "verl/trainer/ppo/ray_trainer.py"
node = next(one for one in ast.parse(path.read_text()).body if getattr(one, "name", "") == "compute_advantage")
names = dict(core_algos=core_algos, AdvantageEstimator=core_algos.AdvantageEstimator, DataProto=object, AlgoConfig=object)
exec(compile(ast.Module([node], []), str(path), "exec"), names := {**names, "Optional": typing.Optional})
compute_advantage = names["compute_advantage"]
from verl.workers.config.actor import ActorConfig
ones = torch.ones((4, 3))
batch = dict(token_level_rewards=torch.arange(12.0).reshape(4, 3), response_mask=ones, values=ones, old_log_probs=-ones,
             sum_pi_squared=0.1 * ones, prompts=ones.long(), attention_mask=torch.ones((4, 6)).long())
config = types.SimpleNamespace(gdpo_reward_keys=["f"])
config.get = lambda name, default=None: getattr(config, name, default)
for name in verl.REPLACEABLE:
    data = types.SimpleNamespace(batch=dict(batch), non_tensor_batch=dict(uid=np.array(list("aabb")), f=np.array([0.0, 1, 0, 1])))
    with_ours = verl.ESTIMATORS["lineage_" + name]
    assert core_algos.ADV_ESTIMATOR_REGISTRY[name] is with_ours
    found = compute_advantage(data, core_algos.AdvantageEstimator(name), config=config)
    assert found.batch["advantages"].shape == (4, 3) and bool(torch.isfinite(found.batch["advantages"]).all())
given = dict(strategy="fsdp", rollout_n=1, ppo_micro_batch_size_per_gpu=1)
loss = verl.PolicyLossConfig(loss_mode="lineage_sapo", lineage={"tau_pos": 2.0, "loss_agg_mode": verl.BEFORE_5417})
actor = ActorConfig(policy_loss=loss, loss_agg_mode="seq-mean-token-sum-norm", **given)
assert verl.definitions(actor) == {"loss_mode": "lineage_sapo", "loss_agg_mode": "seq-mean-token-sum-norm@before-5417"}
assert core_algos.get_policy_loss_fn("lineage_sapo") is verl.LOSSES["lineage_sapo"]
print("ok")
"""
    folder = pathlib.Path(__file__).parent
    done = subprocess.run([sys.executable, "-c", code], cwd=folder, capture_output=True, text=True, check=False)
    assert done.returncode == 0 and done.stdout.endswith("ok\n"), done.stdout + done.stderr


def test_prime_rl_own_loss_tests_pass_with_our_loss():
    said = run("prime-rl", "upstream_prime.py")
    assert " passed" in said and int(said.split("our loss was called")[1].split()[0]) > 5


def test_training_with_our_loss_leads_where_trl_s_own_leads():
    """TRL's own GRPOTrainer with a tiny model; see upstream_trainer.py."""
    pytest.importorskip("datasets", reason=upstream_sources.missing("trl"))
    assert "trainings of five steps" in run("trl", "upstream_trainer.py", "--few")


@pytest.mark.parametrize("project", ["verl", "trl", "prime-rl"])
def test_values_and_gradients_are_those_of_the_trainers(project):
    """On 40 random batches; schema/UPSTREAM.md has the table of 500."""
    said = run(project, "upstream_drift.py", "--project", project, "--batches", "40")
    for name, row in json.loads(said.splitlines()[-1]).items():
        assert not upstream_drift.far(name, row), name


def test_stubs_name_what_they_replace():
    """In a process of its own: an unknown package is stubbed if it is listed, and only then."""
    code = (
        "import sys, upstream_sources as u; f = u.stub_imports()\n"
        "import ray; assert ray.remote(len) is len\n"
        "try: import no_such_package\n"
        "except ImportError: print(sorted(f.used))\n"
    )
    done = subprocess.run(
        [sys.executable, "-c", code], cwd=pathlib.Path(__file__).parent, capture_output=True, text=True, check=True
    )
    assert "'ray'" in done.stdout and "no_such" not in done.stdout
