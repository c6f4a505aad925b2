#!/bin/sh
# table.sh: one table of processor time beside other tools, each installed by version from the Python package index.
#
# usage: sh tests/bench/table.sh [ROWS]      (default: 10000)
#
# Two works: appending rows with one open handle, and the ten best of ROWS rows (100 or more) that meet two conditions, asked again and
# again in one process; duckdb, polars and fieldkit read the file for each question, optuna its study. How often each tool does a work is
# in the table, and ROWS does not change how often it appends. Each tool does each work in a process of its own, which counts its user
# and system time with all its threads, without imports; the core process of wandb is not counted. The table is Markdown; a ratio is that
# of this run. BUILD in the environment is the build directory (default: build-test); PEERS a virtual environment to use or to make
# (default: BUILD/peers). A tool that cannot be installed or fails has a line that says so.
set -eu

usage() { sed -n '2,/^set -eu$/{ /^set -eu$/d; s/^# \{0,1\}//; p; }' "$0"; }
case ${1:-} in
-h | --help) usage && exit 0 ;;
-*) printf 'table.sh: unknown option %s; see sh %s --help\n' "$1" "$0" >&2 && exit 2 ;;
esac
rows=${1:-10000}
case $rows in
*[!0-9]* | ? | ??) printf 'table.sh: ROWS is a whole number of at least 100, not %s\n' "$rows" >&2 && exit 2 ;;
esac
source=$(cd "$(dirname "$0")/../.." && pwd)
BUILD=$(cd "${BUILD:-$source/build-test}" && pwd)
PEERS=${PEERS:-$BUILD/peers}
case $PEERS in /*) ;; *) PEERS=$PWD/$PEERS ;; esac
scratch=$(mktemp -d "${TMPDIR:-/tmp}/table.XXXXXX")
trap 'rm -rf "$scratch"' EXIT

[ -x "$PEERS/bin/python" ] || python3 -m venv "$PEERS"
for peer in mlflow==3.17.2 optuna==5.0.0 duckdb==2.0.1 polars==2.1.0 fieldkit==0.34.1 sacred==0.8.7 wandb==0.31.0 trackio==0.43.0; do
    "$PEERS/bin/python" -m pip install --quiet --disable-pip-version-check "$peer" >"$scratch/pip" 2>&1 ||
        printf 'table.sh: %s is not installed: %s\n' "$peer" "$(tail -n 1 "$scratch/pip")" >&2
done
cd "$scratch" # and a home there, because some tools write into it
HOME=$scratch/home XDG_CACHE_HOME=$scratch/home/cache XDG_CONFIG_HOME=$scratch/home/config HF_HOME=$scratch/home/hf
export HOME XDG_CACHE_HOME XDG_CONFIG_HOME HF_HOME
mkdir "$HOME"
LINEAGE_LIBRARY_PATH=$BUILD/src/store:$BUILD/src/rlcore PYTHONPATH=$source/src/python XDG_STATE_HOME=$scratch/state WANDB_MODE=offline WANDB_SILENT=true \
    MLFLOW_DISABLE_TELEMETRY=true "$PEERS/bin/python" "$source/tests/bench/table.py" "$rows"
