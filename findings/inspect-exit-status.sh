#!/bin/sh
# One would guess: `inspect eval` leaves with a status other than 0 if its task died with an exception and no sample was scored, as pytest and
# `lm_eval` do, so that `inspect eval .. && next` and a scheduler notice.
# In fact it prints the traceback and leaves with 0; eval() in Python returns as well, with status "error" and results None. A night of
# evaluations in which each died looks like one in which all went well, until somebody opens the logs. `inspect eval-set` leaves with 1.
# Version: inspect_ai 0.3.285. Source: inspect_ai/_cli/eval.py, eval_command, which does not look at the status of the logs.
set -eu
dir=$(mktemp -d)
trap 'rm -rf "$dir"' EXIT
cd "$dir"
python3 -m venv venv
venv/bin/pip install -q --disable-pip-version-check inspect_ai==0.3.285
cat >dies.py <<'END'
from inspect_ai import Task, task
from inspect_ai.dataset import Sample
from inspect_ai.scorer import match
from inspect_ai.solver import solver

@solver
def broken():
    async def solve(state, generate):
        raise ValueError("no such tool")
    return solve

@task
def dies():
    return Task(dataset=[Sample(input="q", target="a")], solver=broken(), scorer=match())
END
status=0
HOME=$dir venv/bin/inspect eval dies.py --model mockllm/model --display plain --log-format json --log-dir logs >out 2>&1 || status=$?
venv/bin/pip list --disable-pip-version-check 2>/dev/null | grep '^inspect_ai '
grep 'ValueError: no such tool' out | head -n 1
said=$(venv/bin/python -c 'import glob, json; log = json.load(open(glob.glob("logs/*.json")[0])); print(log["status"], log.get("results"))')
echo "exit status $status; the log says: $said"
[ "$status" -eq 0 ] && [ "$said" = 'error None' ]
