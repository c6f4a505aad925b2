"""Runs prime-rl's own loss tests on the CPU with our loss in place of prime-rl's.

    LINEAGE_UPSTREAM=FOLDER python3 tests/python/upstream_prime.py [--theirs] [pytest's options]

prime-rl runs these tests on a GPU only. Here they are a copy without ``.cuda()``. ``compute_loss`` with the default loss
becomes :class:`lineage.torch.StreamLoss`; the configuration classes, which need pydantic, become plain ones with the
same defaults. A custom loss stays prime-rl's, since that is how ours is called. One test gives a part of eight
members the scale 4. Ours refuses a part that sums more than the whole batch, which prime-rl's trainer never passes, so the
copy has 16.
"""

import dataclasses
import sys
import tempfile
import types

import pytest
import torch
import upstream_sources


@dataclasses.dataclass
class DefaultLossConfig:
    dppo_mask_low: float = 0.2
    dppo_mask_high: float = 0.2
    adv_tau: float = 1.0
    kl_tau: float = 1e-3


@dataclasses.dataclass
class CustomLossConfig:
    import_path: str
    kwargs: dict = dataclasses.field(default_factory=dict)


class IPOLossConfig:
    """Only named by prime-rl's module."""


#: How often our loss was called.
CALLS = []


def load():
    """prime_rl.trainer.rl.loss from the sources."""
    upstream_sources.stub_imports()
    root = upstream_sources.folder("prime-rl")
    sys.path[:0] = [str(root / "src"), str(root)]
    configs = types.ModuleType("prime_rl.configs.trainer")
    configs.DefaultLossConfig, configs.CustomLossConfig, configs.IPOLossConfig = DefaultLossConfig, CustomLossConfig, IPOLossConfig
    configs.LossConfig = DefaultLossConfig | CustomLossConfig | IPOLossConfig
    sys.modules[configs.__name__] = configs
    import prime_rl.trainer.rl.loss as loss

    return loss


def substitute(loss):
    """prime-rl's compute_loss by ours where its rl loss is the default one."""
    from lineage.torch import StreamLoss

    setup = loss.setup_rl_loss_fn

    def setup_rl_loss_fn(config):
        function = setup(config)
        function.config = config
        return function

    def compute_loss(*, rl_loss_fn, rl_scale, ce_scale, ref_kl_scale, **lists):
        lengths = [len(part) for part in lists["trainer_logprobs"]]
        flat = {name: torch.cat(parts) for name, parts in lists.items() if parts is not None}
        start = torch.tensor([0, *lengths]).cumsum(0)
        settings = dataclasses.asdict(rl_loss_fn.config)
        module = StreamLoss("default", **settings, rl_scale=float(rl_scale), ce_scale=float(ce_scale), ref_kl_scale=float(ref_kl_scale))
        value = module(**flat, cu_seqlens=start)
        CALLS.append(1)
        return value, {**module.metrics}

    def by_position(*lists, **given):
        names = ("trainer_logprobs", "inference_logprobs", "ref_logprobs", "advantages")
        return compute_loss(**dict(zip(names, lists)), **given)

    loss.setup_rl_loss_fn, loss.compute_loss = setup_rl_loss_fn, by_position


def main(options):
    if upstream_sources.folder("prime-rl") is None:
        sys.exit(upstream_sources.missing("prime-rl"))
    loss = load()
    if "--theirs" in options:
        options.remove("--theirs")
    else:
        substitute(loss)
    source = (upstream_sources.folder("prime-rl") / "tests/unit/train/rl/test_loss.py").read_text()
    assert "rl_scale=4," in source
    source = source.replace("rl_scale=4,", "rl_scale=16,")
    source = source.replace(".cuda()", "").replace('device="cuda"', 'device="cpu"').replace("pytestmark", "_mark")
    with tempfile.TemporaryDirectory() as folder:
        path = f"{folder}/test_loss.py"
        with open(path, "w") as file:
            file.write(source)
        status = pytest.main(["-q", "-p", "no:cacheprovider", "--rootdir", folder, *options, path])
    print("our loss was called", len(CALLS), "times")
    return status


if __name__ == "__main__":
    sys.exit(main(sys.argv[1:]))
