"""The adapters against the sources of the trainers themselves; skipped without them (upstream_sources.py fetches them).

Each project runs in a process of its own, because the stubs replace packages for the whole process."""

import pathlib
import subprocess
import sys

import pytest

sys.path.insert(0, str(pathlib.Path(__file__).parent))

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
    assert done.stdout.strip() == "['ray']"
