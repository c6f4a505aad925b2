"""Where the trainers that the adapters are for are found, and stubs of what they import.

    sh tests/python/upstream.sh                          installs the releases and runs all comparisons
    python3 tests/python/upstream_sources.py FOLDER      fetches prime-rl, which has no release, with git into FOLDER/prime-rl

The tests look for an installed package, then in the folder that the environment variable LINEAGE_UPSTREAM names, else in
``~/.cache/lineage/upstream``, and are skipped without it.
"""

import importlib.abc
import importlib.machinery
import importlib.metadata
import importlib.util
import os
import pathlib
import subprocess
import sys
import types

#: Packages whose releases the adapters follow, by the name of a project.
RELEASED = {"verl": "verl", "trl": "trl"}

#: name: (repository, commit). The losses for prime-rl are checked against this one.
SOURCES = {
    "prime-rl": ("https://github.com/PrimeIntellect-ai/prime-rl", "559b44772e471d1538537b8805cc77f3824a5e64"),
}

#: Packages that the sources import and the tested functions do not need. Each is replaced where it is not installed.
STUBBED = (
    "accelerate", "aiohttp", "beartype", "bitsandbytes", "cachetools", "codetiming", "comet_ml", "datasets",
    "flash_attn", "huggingface_hub", "hydra", "jaxtyping", "jinja2", "liger_kernel", "mlflow", "omegaconf", "orjson",
    "pandas", "peft", "prime_rl.configs", "pyarrow", "pydantic", "pydantic_config", "ray", "rich", "tensordict",
    "torch.distributed.fsdp", "trackio", "transfer_queue", "transformers", "verl.utils.tokenizer", "vllm", "wandb",
)  # fmt: skip


def folder(name):
    """The folder to import one project from, None if it is neither installed nor fetched."""
    spec = importlib.util.find_spec(RELEASED[name]) if name in RELEASED else None
    if spec is not None and spec.origin:
        return pathlib.Path(spec.origin).parents[1]
    at = pathlib.Path(os.environ.get("LINEAGE_UPSTREAM") or pathlib.Path.home() / ".cache/lineage/upstream") / name
    return at if at.is_dir() else None


def missing(name):
    """The reason to skip a test without the sources of that name."""
    return f"{name} is not here: sh tests/python/upstream.sh installs the releases and runs the comparisons"


def release(name):
    """The version of an installed project, or the commit of a fetched one."""
    return importlib.metadata.version(RELEASED[name]) if name in RELEASED else SOURCES[name][1][:7]


class _StubType(type):
    """A class that stands for anything: a base class, a decorator, a subscripted type, one side of a union."""

    def __getattr__(cls, name):
        if name.startswith("__"):
            raise AttributeError(name)
        return _stub(name)

    def __getitem__(cls, _):
        return cls

    def __or__(cls, other):
        return cls

    __ror__ = __or__

    def __add__(cls, other):
        return other

    def __call__(cls, *args, **kwargs):
        if cls.__module__ != "stub":  # a class of the sources that derives from a stub
            return super().__call__(*args, **kwargs)
        if len(args) == 1 and not kwargs and callable(args[0]) and not isinstance(args[0], _StubType):
            return args[0]  # a decorator returns what it was given
        return _stub(cls.__name__)


def _stub(name):
    return _StubType(name, (), {"__module__": "stub"})


class _StubModule(types.ModuleType):
    __path__ = []
    __version__ = "999.0"
    __all__: "list[str]" = []

    def __getattr__(self, name):
        if name.startswith("__"):
            raise AttributeError(name)
        made = _stub(name)
        setattr(self, name, made)
        return made


class _Finder(importlib.abc.MetaPathFinder, importlib.abc.Loader):
    def __init__(self, names):
        self.names, self.used = names, set()

    def find_spec(self, name, path=None, target=None):
        if any(name == stub or name.startswith(stub + ".") for stub in self.names):
            self.used.add(name)
            return importlib.machinery.ModuleSpec(name, self, is_package=True)
        return None

    def create_module(self, spec):
        return _StubModule(spec.name)

    def exec_module(self, module):
        pass


def stub_imports():
    """Replace the packages of STUBBED that are not installed, from now on in this process. Returns the finder, whose
    ``used`` lists what was replaced."""

    def installed(name):
        return "." not in name and importlib.util.find_spec(name) is not None

    finder = _Finder([name for name in STUBBED if not installed(name)])
    sys.meta_path.insert(0, finder)
    import torch

    # PyTorch before 2 has no compiler, and that of 2.15 cannot be imported beside the stub of torch.distributed.fsdp
    torch.compile = lambda *args, **_: args[0] if args else lambda function: function
    finder.used.add("torch.compile")
    return finder


def fetch(target):
    """Fetch each project at its commit, one commit deep."""
    for name, (url, commit) in SOURCES.items():
        at = pathlib.Path(target) / name
        at.mkdir(parents=True, exist_ok=True)
        git = ["git", "-C", str(at)]
        if not (at / ".git").exists():
            subprocess.run(git + ["init", "--quiet"], check=True)
        subprocess.run(git + ["fetch", "--quiet", "--depth", "1", url, commit], check=True)
        subprocess.run(git + ["checkout", "--quiet", "--force", commit], check=True)
        print(f"{name}: {commit}")


if __name__ == "__main__":
    if len(sys.argv) != 2:
        sys.exit("usage: upstream_sources.py FOLDER")
    fetch(sys.argv[1])
