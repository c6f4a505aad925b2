"""Replays the decisions of an agent that planned a night of 26 trials with edits of train.py: planner.py STORE.

`lineage night` gives it the request on standard input (schema/planner.schema.json). It looks up which decisions have a row,
and proposes the next one: parameters, and a diff against the files of the parent. A decision that the agent based on
something in the block is only made if the block says so.
"""
import difflib
import json
import os
import sys

LOW, WIDE = {"lr": 0.3, "hidden": 8, "seed": 1}, {"lr": 1, "hidden": 8, "seed": 1}

DECAY = ("linear decay", [("train.py", "    rate = lr\n", "    rate = lr * (1 - step / STEPS)\n")])
RELU = ("relu", [("train.py", "math.tanh(u[0] * x + u[1] * y + u[2])", "max(0.0, u[0] * x + u[1] * y + u[2])"),
                 ("train.py", "(1 - a * a)", "(a > 0)")])
MOMENTUM = ("momentum 0.9", [
    ("train.py", "bias = 0.0\n\n", "bias = 0.0\nspeed = [[0.0] * 4 for _ in range(hidden)]\n\n"),
    ("train.py", "    for u, g in zip(w, grads):\n", "    for u, g, v in zip(w, grads, speed):\n"),
    ("train.py", "            u[i] -= rate * g[i]\n", "            v[i] = 0.9 * v[i] - rate * g[i]\n            u[i] += v[i]\n")])
SLOWER = ("momentum 0.5", [("train.py", "0.9 * v[i]", "0.5 * v[i]")])
SMALL = ("small output weights", [("train.py", "0.0, rng.gauss(0, 1)]", "0.0, rng.gauss(0, 1) / math.sqrt(hidden)]")])
WARM = ("warm-up", [("train.py", "    rate = lr * (1 - step / STEPS)\n", "    rate = lr * warm(step)\n")])
WARM_FIXED = ("warm-up as a function", [
    ("train.py", "for step in range(STEPS):\n", "def warm(step):\n    return min(1, step / 20) * (1 - step / STEPS)\n\n\nfor step in range(STEPS):\n")])
SEARCH = ("line search", [("train.py", "    rate = lr * (1 - step / STEPS)\n", "    rate = lr\n    while loss(train) > 0:\n        rate *= 0.999\n")])
BATCH = ("larger batches", [("train.py", "STEPS, BATCH = 120, 8", "STEPS, BATCH = 120, 24")])
COSINE = ("cosine schedule in a file", [
    ("train.py", "import sys\n", "import sys\n\nfrom schedule import cosine\n"),
    ("train.py", "    rate = lr * (1 - step / STEPS)\n", "    rate = lr * cosine(step / STEPS)\n"),
    ("schedule.py", "", "import math\n\n\ndef cosine(share):\n    return 0.5 + 0.5 * math.cos(math.pi * share)\n")])
CLIP = ("clip gradients", [("train.py", "            u[i] -= rate * g[i]\n", "            u[i] -= rate * max(-0.1, min(0.1, g[i]))\n")])

# name: parent, parameters, edit, hypothesis, expected change, and what the block must say. "best" is the best trial then.
DECISIONS = [
    ("lr1", "base", WIDE, None, "lr 0.3 is too small for 120 steps", "-0.05", "val_loss"),
    ("lr5", "base", {**WIDE, "lr": 5}, None, "an even larger lr", "-0.05", "lr 0.3 → 1"),
    ("decay", "lr1", WIDE, DECAY, "decay ends the noise of the last steps", "-0.02", ""),
    ("relu", "decay", WIDE, RELU, "relu trains faster than tanh", "-0.03", "code: `+1 -1 in train.py: linear decay`"),
    ("relu-lr", "relu", {**WIDE, "lr": 0.5}, None, "relu needs a smaller lr", "-0.02", "code: `+2 -2 in train.py: relu`"),
    ("warm", "decay", WIDE, WARM, "a warm-up protects the first steps", "-0.01", ""),
    ("warm-fixed", "warm", WIDE, WARM_FIXED, "the warm-up, with the function that was missing", "-0.01", "NameError"),
    ("momentum", "decay", WIDE, MOMENTUM, "momentum averages small batches", "-0.05", "linear decay"),
    ("momentum-lr", "momentum", {**WIDE, "lr": 0.3}, None, "momentum needs a smaller lr", "-0.02", "momentum 0.9"),
    ("search", "decay", WIDE, SEARCH, "search for the rate in each step", "-0.05", ""),
    ("wide", "best", {**WIDE, "hidden": 16}, None, "more units", "-0.02", "budget_overrun"),
    ("plain-2", "lr1", {**WIDE, "seed": 2}, None, "is the decay luck? without it, seed 2", "", ""),
    ("decay-2", "decay", {**WIDE, "seed": 2}, None, "is the decay luck? with it, seed 2", "", ""),
    ("plain-3", "lr1", {**WIDE, "seed": 3}, None, "is the decay luck? without it, seed 3", "", ""),
    ("decay-3", "decay", {**WIDE, "seed": 3}, None, "is the decay luck? with it, seed 3", "", ""),
    ("plain-4", "lr1", {**WIDE, "seed": 4}, None, "is the decay luck? without it, seed 4", "", ""),
    ("decay-4", "decay", {**WIDE, "seed": 4}, None, "is the decay luck? with it, seed 4", "", ""),
    ("batch", "momentum", WIDE, BATCH, "batches of 24 with momentum", "-0.02", ""),
    ("slower", "batch", WIDE, SLOWER, "less momentum with larger batches", "-0.01", "larger batches"),
    ("small", "slower", WIDE, SMALL, "outputs begin near 0", "-0.01", "momentum 0.5"),
    ("cosine", "decay", WIDE, COSINE, "a cosine instead of a line", "-0.01", ""),
    ("cosine-lr", "cosine", {**WIDE, "lr": 2}, None, "the cosine allows a larger lr", "-0.02", "cosine schedule in a file"),
    ("clip", "cosine", {**WIDE, "lr": 2}, CLIP, "clip what the larger lr makes jump", "-0.02", ""),
    ("clip-wide", "clip", {**WIDE, "lr": 2, "hidden": 16}, None, "more units with clipping", "-0.02", "clip gradients"),
    ("last", "best", {**WIDE, "lr": 2, "hidden": 24}, None, "the best code with 24 units", "-0.02", ""),
]
BY_NAME = {decision[0]: decision for decision in DECISIONS}


def rows(store):
    """exp_id, parent and label of each decision's trial, and the id of the best trial's decision."""
    found = {}
    with open(os.path.join(store, "results.tsv"), encoding="utf-8") as log:
        header = log.readline().rstrip("\n").split("\t")
        for line in log:
            row = dict(zip(header, line.rstrip("\n").split("\t")))
            if row["status"] != "harness_abort":
                found[row["hypothesis"]] = row
    return found


def files_of(name, base, done):
    """The files of a decision's trial: those of its parent, edited."""
    if name == "base":
        return dict(base)
    _, parent, _, edit, hypothesis, _, _ = BY_NAME[name]
    if parent == "best":  # the row says which trial that was
        parent = next((d[0] for d in DECISIONS if d[4] in done and done[d[4]]["exp_id"] == done[hypothesis]["parent_exp"]), "base")
    files = files_of(parent, base, done)
    for file, old, new in edit[1] if edit else []:
        text = files.get(file, "")
        assert text.count(old) == 1 or not text, (name, file, old)
        files[file] = text.replace(old, new) if old else new
    return files


def diff_of(before, after, heading):
    text = []
    for file in sorted(after):
        lines = difflib.unified_diff(before.get(file, "").splitlines(True), after[file].splitlines(True),
                                     f"a/{file}" if file in before else "/dev/null", f"b/{file}")
        text += [f"{line.rstrip()} {heading}\n" if line.startswith("@@") else line for line in lines]
    return "".join(text)


def main():
    request = json.load(sys.stdin)
    done = rows(sys.argv[1])
    here = os.path.dirname(os.path.abspath(__file__))
    with open(os.path.join(here, "train.py"), encoding="utf-8") as text:
        base = {"train.py": text.read()}
    for name, parent, params, edit, hypothesis, expected, because in DECISIONS:
        if hypothesis in done:
            continue
        if because and not because in request["knowledge"]:
            sys.exit(f"the block does not say '{because}', which {name} is based on")
        start = parent if parent in ("base", "best") else done[BY_NAME[parent][4]]["exp_id"]
        proposal = {"params": params, "parent": start, "hypothesis": hypothesis, "proposer": "agent",
                    "again": "a decision of the agent"}
        if expected:
            proposal["expected_delta"] = expected
        if edit:
            before = files_of(parent, base, done)
            proposal["diff"] = diff_of(before, files_of(name, base, done), edit[0])
        print(json.dumps(proposal))
        return


main()
