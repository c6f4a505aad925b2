#!/bin/sh
# One would guess: a rollout that was never scored, because its reward function raised, has no reward: None or NaN, which a mean shows.
# In fact Trace.reward adds up the rewards that are there and leaves None out, so it is 0, as of a wrong answer, and the mean over a batch
# with two right answers and two broken ones is 0.5 and not 1. The trace knows it (ok is False, rewards has None under the name), but a program that
# reads reward alone, as the log line of each rollout does ("reward=0.000"), takes a bug of the scorer for a bad policy.
# Version: verifiers 0.4.0 (PyPI, 2026). Source: verifiers/v1/trace.py, Trace.reward.
set -eu
dir=$(mktemp -d)
trap 'rm -rf "$dir"' EXIT
python3 -m venv "$dir/venv"
"$dir/venv/bin/pip" install -q --disable-pip-version-check --no-compile verifiers==0.4.0
"$dir/venv/bin/python" - <<'END'
import asyncio
import sys
from importlib.metadata import version
import verifiers.v1 as vf
from verifiers.v1.trace import AgentInfo, Trace, TraceTask

class Data(vf.TaskData):
    answer: str

class Sum(vf.Task[Data]):
    @vf.reward
    async def right(self, trace):
        return {"4": 1.0}[self.data.answer]  # another answer is a KeyError

traces = []
for answer in ("4", "4", "four", "four"):
    task = Sum(Data(idx=len(traces), prompt="2+2", answer=answer))
    trace = Trace(task=TraceTask(type="Sum", data=task.data), agent=AgentInfo(config=vf.AgentConfig()))
    try:
        asyncio.run(task.score(trace))
    except vf.TaskError as error:
        print("raised:", error)
    traces.append(trace)
print("verifiers", version("verifiers"))
print("rewards:", [{name: one and one.value for name, one in trace.rewards.items()} for trace in traces])
print("Trace.reward:", [trace.reward for trace in traces], "mean", sum(trace.reward for trace in traces) / 4)
sys.exit(not ([trace.reward for trace in traces] == [1.0, 1.0, 0, 0] and traces[2].rewards == {"right": None}))
END
