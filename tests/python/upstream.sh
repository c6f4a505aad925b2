#!/bin/sh
# upstream.sh: installs the trainers' released packages and compares the adapters with them.
#
#     sh tests/python/upstream.sh [FOLDER]      FOLDER: the virtual environment (default: ~/.cache/lineage/upstream-venv)
#
# VERL, TRL, TRANSFORMERS, TORCH, FIELDKIT and MYPY name other releases. FEW=1 trains with a few settings instead of all of them.
# BUILD names the build directory (default: build-test). Needs 7 GB of disk for PyTorch, and python3 from 3.10 on; no accelerator is used.
# Prints the tables of schema/UPSTREAM.md, and checks the types of the package with those of the releases; exit status 1 if a
# difference is above the limit or a type is wrong.
set -eu
source=$(cd "$(dirname "$0")/../.." && pwd)
build=${BUILD:-$source/build-test}
venv=${1:-$HOME/.cache/lineage/upstream-venv}
[ -e "$build/src/rlcase/librlcase.so" ] || { echo "upstream.sh: no librlcase.so in $build; build first, or set BUILD" >&2; exit 2; }
[ -x "$venv/bin/python" ] || python3 -m venv "$venv"
install="$venv/bin/python -m pip install --quiet --disable-pip-version-check"
$install "torch==${TORCH:-2.15.0}" "transformers==${TRANSFORMERS:-5.24.0}" "trl==${TRL:-1.16.0}" accelerate datasets requests 'numpy<2.5' pytest "mypy==${MYPY:-2.4.1}" lightning
# verl depends on ray and an inference engine, which the comparison does not need
$install --no-deps "verl==${VERL:-0.9.1}" "fieldkit==${FIELDKIT:-0.34.1}"
$install tensordict omegaconf hydra-core codetiming
# prime-rl has no release on the registry; its sources are compared if they were fetched (upstream_sources.py)
export PYTHONDONTWRITEBYTECODE=1 PYTHONPATH="$source/src/python"
export LINEAGE_LIBRARY_PATH="$build/src/rlcase:$build/src/store:$build/src/rlcore"
cd "$source/tests/python"
status=0
"$venv/bin/python" upstream_drift.py --batches "${BATCHES:-100}" || status=1
"$venv/bin/python" upstream_trainer.py ${FEW:+--few} || status=1
"$venv/bin/python" -m pytest -q -p no:cacheprovider test_upstream.py || status=1
"$venv/bin/python" -m mypy --strict --config-file=/dev/null --cache-dir=/dev/null --ignore-missing-imports "$source/src/python/lineage" || status=1
exit $status
