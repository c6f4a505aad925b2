"""The adapters against the sources of the trainers themselves; skipped without them (upstream_sources.py fetches them).

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


def test_prime_rl_own_loss_tests_pass_with_our_loss():
    said = run("prime-rl", "upstream_prime.py")
    assert " passed" in said and int(said.split("our loss was called")[1].split()[0]) > 5


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
