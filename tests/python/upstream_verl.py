"""Runs verl's own CPU tests of core algorithms with our functions in place of verl's.

    LINEAGE_UPSTREAM=FOLDER python3 tests/python/upstream_verl.py [pytest's options]
    python3 tests/python/upstream_verl.py --theirs           verl's own functions, to see which tests the stubs break

FOLDER as upstream_sources.py fetched it. Prints the packages that were stubbed and what was substituted.
"""

import functools
import os
import sys

import pytest
import torch
import upstream_sources

#: verl's test files of core algorithms that need no device.
FILES = ("core_algos", "loss_aggregation", "dynamic_policy_losses", "reinforce_pp_multiturn", "value_loss_normalization")

#: verl's function of each advantage estimator and policy loss: core_algos.compute_ + this name.
ESTIMATORS = {
    "grpo": "grpo_outcome_advantage", "grpo_vectorized": "grpo_vectorized_outcome_advantage",
    "grpo_passk": "grpo_passk_outcome_advantage", "rloo": "rloo_outcome_advantage",
    "rloo_vectorized": "rloo_vectorized_outcome_advantage", "opo": "opo_outcome_advantage", "gpg": "gpg_outcome_advantage",
    "reinforce_plus_plus_baseline": "reinforce_plus_plus_baseline_outcome_advantage",
    "reinforce_plus_plus": "reinforce_plus_plus_outcome_advantage", "remax": "remax_outcome_advantage",
}  # fmt: skip
LOSSES = {
    "ppo": "policy_loss_vanilla", "gspo": "policy_loss_gspo", "cispo": "policy_loss_cispo", "sapo": "policy_loss_sapo",
    "gpg": "policy_loss_gpg", "geo_mean": "policy_loss_geo_mean",
    "dppo_tv": "policy_loss_dppo_tv", "dppo_kl": "policy_loss_dppo_kl", "dro": "policy_loss_dro",
}  # fmt: skip

#: verl's names of our functions that a test called.
CALLED = set()


def load():
    """Import verl from the sources with stubs for heavy packages. Returns (core_algos, names of the stubs)."""
    finder = upstream_sources.stub_imports()
    sys.path.insert(0, str(upstream_sources.folder("verl")))
    os.environ["VERL_USE_EXTERNAL_PLUGINS"] = "none"
    import verl.trainer.ppo.core_algos as core_algos

    return core_algos, sorted(finder.used)


def ours(core_algos):
    """Our functions by the names of verl's."""
    from lineage import torch as ltorch
    from lineage import verl

    def kl(logprob, ref_logprob, kl_penalty):
        return ltorch.KLPenalty(kl_penalty)(logprob, ref_logprob)

    found = {f"compute_{theirs}": verl.ESTIMATORS[f"lineage_{name}"] for name, theirs in ESTIMATORS.items()}
    found |= {f"compute_{theirs}": verl.LOSSES[f"lineage_{name}"] for name, theirs in LOSSES.items() if hasattr(core_algos, f"compute_{theirs}")}
    found |= {theirs: verl.ESTIMATORS[f"lineage_{name}"] for name, theirs in verl.REPLACEABLE.items()}
    return {**found, "agg_loss": verl.aggregate, "kl_penalty": kl}


def arguments(theirs, function):
    """Our function with the argument order of verl's, so that calls by position work."""
    code = theirs.__code__
    names = code.co_varnames[: code.co_argcount]

    @functools.wraps(theirs)
    def call(*args, **given):
        CALLED.add(theirs.__name__)
        given.update(zip(names, args))
        if "norm_adv_by_std_in_grpo" in given:
            given["config"] = {"norm_adv_by_std_in_grpo": given.pop("norm_adv_by_std_in_grpo")}
        if "epsilon" in given:
            given["config"] = {**(given.get("config") or {}), "lineage": {"epsilon": given.pop("epsilon")}}
        return function(**given)

    return call


def substitute(core_algos):
    """Put our functions in place of verl's, also in its registries. Returns their names."""
    for name, function in ours(core_algos).items():
        theirs = getattr(core_algos, name)
        own = arguments(theirs, function)
        setattr(core_algos, name, own)
        for registry in (core_algos.ADV_ESTIMATOR_REGISTRY, core_algos.POLICY_LOSS_REGISTRY):
            for key in [key for key, value in registry.items() if value is theirs]:
                registry[key] = own
    return sorted(ours(core_algos))


def main(options):
    if upstream_sources.folder("verl") is None:
        sys.exit(upstream_sources.missing("verl"))
    torch.manual_seed(0)
    core_algos, stubs = load()
    print("stubbed:", ", ".join(stubs))
    if "--theirs" in options:
        options.remove("--theirs")
    else:
        print("substituted:", ", ".join(substitute(core_algos)))
    folder = upstream_sources.folder("verl") / "tests/trainer/ppo"
    files = [str(folder / f"test_{name}_on_cpu.py") for name in FILES]
    status = pytest.main(["-q", "-p", "no:cacheprovider", "--rootdir", str(folder), *options, *files])
    print("called:", ", ".join(sorted(CALLED)))
    return status


if __name__ == "__main__":
    sys.exit(main(sys.argv[1:]))
