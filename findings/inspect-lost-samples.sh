#!/bin/sh
# One would guess: with fail_on_error=False, the accuracy that Inspect reports counts samples whose solver died as wrong, or the status of the
# log is another one than success.
# In fact such samples are left out of the mean, and the status is success: one of ten samples was answered, rightly, and accuracy is 1.0 with a
# standard error of 0.0. An agent that dies on each hard question beats one that answers them. The log has completed_samples 1 beside
# total_samples 10, and only that tells.
# Version: inspect_ai 0.3.285. Source: inspect_ai/_eval/task/results.py, eval_results, whose scores are those of samples that did not die.
set -eu
dir=$(mktemp -d)
trap 'rm -rf "$dir"' EXIT
python3 -m venv "$dir/venv"
"$dir/venv/bin/pip" install -q --disable-pip-version-check inspect_ai==0.3.285
cd "$dir"
HOME=$dir venv/bin/python -W ignore - 2>/dev/null <<'END'
import sys
import inspect_ai
from inspect_ai.dataset import Sample
from inspect_ai.scorer import match
from inspect_ai.solver import solver


@solver
def easy_ones():
    async def solve(state, generate):
        if state.sample_id != 1:
            raise ValueError("the tool died")
        state.output.completion = "a"
        return state
    return solve


task = inspect_ai.Task(dataset=[Sample(input="q", target="a") for _ in range(10)], solver=easy_ones(), scorer=match())
log = inspect_ai.eval(task, model="mockllm/model", fail_on_error=False, display="none", log_dir="logs")[0]
results = log.results
accuracy = results.scores[0].metrics["accuracy"].value
print("inspect_ai", inspect_ai.__version__, "- status", log.status, "- accuracy", accuracy, "- completed", results.completed_samples, "of",
      results.total_samples)
sys.exit((log.status, accuracy, results.completed_samples, results.total_samples) != ("success", 1.0, 1, 10))
END
