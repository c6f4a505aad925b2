#!/bin/sh
# One would guess: an experiment of `dvc exp run` that failed is listed by `dvc exp show`, with its settings, so that it is not tried again.
# In fact no ref of it is made, and exp show lists only experiments that ended well. Its settings stay in the work tree: the next
# `dvc exp run` without -S trains with them.
# Version: dvc 3.67.1. Source: dvc/repo/experiments/executor/base.py, BaseExecutor.reproduce.
set -eu
dir=$(mktemp -d)
trap 'rm -rf "$dir"' EXIT
cd "$dir"
python3 -m venv venv
venv/bin/pip install -q --disable-pip-version-check dvc==3.67.1
mkdir repository
cd repository
export HOME="$dir" PATH="$dir/venv/bin:$PATH" DVC_NO_ANALYTICS=1
git init -q .
git config user.email a@example.org
git config user.name a
dvc init -q
cat >train.py <<'END'
import json, yaml
lr = yaml.safe_load(open("params.yaml"))["lr"]
assert lr < 2, "diverged"
json.dump({"loss": (lr - 0.3) ** 2}, open("metrics.json", "w"))
END
echo 'lr: 0.1' >params.yaml
echo 'stages: {train: {cmd: python train.py, deps: [train.py], params: [lr], metrics: [metrics.json: {cache: false}]}}' >dvc.yaml
git add -A
git commit -qm a
dvc exp run -q -S lr=0.2 -n good 2>/dev/null
dvc exp run -q -S lr=3 -n bad 2>/dev/null || echo "the experiment bad left with exit status $?"
dvc exp show --csv | tee table
echo "lr in the work tree: $(cat params.yaml); refs: $(git for-each-ref --format='%(refname:lstrip=4)' refs/exps | tr '\n' ' ')"
grep -q '^good,' table && ! grep -q '^bad,' table && grep -q 'lr: 3' params.yaml && ! git for-each-ref refs/exps | grep bad
