#!/bin/sh
# run.sh: the tests of the Python package: pytest, mypy, pyright from npm, and pip's installation of it. Skipped without
# Debian's python3-numpy, python3-torch and python3-pytest.
set -eu
scratch=$(mktemp -d)
trap 'rm -rf "$scratch"' EXIT
. "$SOURCE/tests/support/npm.sh"
python=/usr/bin/python3 # Debian's, even if another python3 is first on the path
PYTHONPATH=$SOURCE/src/python
PYTHONDONTWRITEBYTECODE=1
XDG_STATE_HOME=$scratch/state # a store of an earlier run may have stood at the same path, and its rows would be missed
export PYTHONPATH PYTHONDONTWRITEBYTECODE SOURCE XDG_STATE_HOME
if ! $python -c 'import numpy, torch, pytest' 2>"$scratch/why"; then
    echo "SKIP: $(tail -n 1 "$scratch/why")"
    exit 77
fi
# Not in the sources: a trial records the code of the repository in which it runs, and left refs/lineage in that of whoever ran the tests.
mkdir "$scratch/elsewhere" && cd "$scratch/elsewhere"
$python -m pytest -q -p no:cacheprovider "$SOURCE/tests/python"
cd "$SOURCE/tests/python"

if $python -m mypy --version >/dev/null 2>&1; then
    MYPYPATH=$PYTHONPATH $python -m mypy --cache-dir "$scratch/mypy" --config-file "$SOURCE/src/python/pyproject.toml" \
        "$SOURCE/src/python/lineage" use_of_types.py
else
    echo 'SKIP mypy: it is not installed'
fi

# pyright is in the build directory. It reads everything near its configuration, so it gets a copy.
pyright()
{
    where=$BUILD/npm-pyright
    if ! npm_has npm-pyright "$npm_pyright"; then
        echo 'SKIP pyright: its npm package was not fetched (sh tests/run.sh)'
        return
    fi
    mkdir "$scratch/pyright"
    cp -R "$SOURCE/src/python/." use_of_types.py "$scratch/pyright"
    "$where/node_modules/.bin/pyright" --project "$scratch/pyright" --pythonpath $python --warnings
}
pyright

# Install from the tree with pip, without a compiler and a network; then import it from there.
if $python -m pip --version >/dev/null 2>&1 && $python -c 'import setuptools' 2>/dev/null; then
    cp -R "$SOURCE/src/python" "$scratch/source"
    $python -m pip install --quiet --no-build-isolation --no-deps --no-index --target "$scratch/installed" "$scratch/source"
    cd "$scratch"
    PYTHONPATH=$scratch/installed $python -c '
import lineage, lineage.core, pathlib
assert "installed" in lineage.__file__, lineage.__file__
assert pathlib.Path(lineage.__file__).with_name("core.pyi").is_file()
assert len(lineage.core.kernels()) > 30'
    # Beside the genetics package of the same name; and with the libraries of the build, which then need no variable.
    touch "$scratch/installed/lineage/individual.py"
    PYTHONPATH=$scratch/installed $python -c 'import lineage' 2>"$scratch/clash" && exit 1
    grep -q 'pip uninstall -y lineage' "$scratch/clash"
    if [ "${INSTRUMENTED:-no}" = no ]; then
        LINEAGE_BUILD=$BUILD $python -m pip install --quiet --no-build-isolation --no-deps --no-index --target "$scratch/whole" "$scratch/source"
        env -u LINEAGE_LIBRARY_PATH -u LD_LIBRARY_PATH PATH=/usr/bin:/bin PYTHONPATH="$scratch/whole" $python -c '
import lineage, sys
sys.modules["numpy"] = None # a store needs no NumPy
store = lineage.Store("whole-store", create=True)
assert set(store.suggest({"x": "1:2"})) == {"x"} # by the command of the build, which is not on PATH
assert "_lib/liblineage.so.0" in open("/proc/self/maps").read()'
        env -u LINEAGE_LIBRARY_PATH -u LD_LIBRARY_PATH PYTHONPATH="$scratch/whole" $python -c '
import lineage.core
assert len(lineage.core.kernels()) > 30 and "_lib/librlcase.so.0" in open("/proc/self/maps").read()'
    fi
else
    echo 'SKIP pip: pip or setuptools is not installed'
fi
