#!/usr/bin/env python3
"""early_split.py: what became of questions that were easy or hard early in a trial.

usage: python3 tests/bench/early_split.py questions SEED VARIANT ROLLOUTS   (rows of a TSV)
       python3 tests/bench/early_split.py table QUESTIONS.tsv VARIANT..     (rows of a Markdown table)

ROLLOUTS is what `lineage train --rollouts` wrote for a trial with a pool of questions. `questions` prints for each question its pass
rate and the policy's tokens per rollout, in the first two and in the last four iterations that asked it. `table` splits the
questions by that early pass rate, below 0.25 and from 0.75 on, and prints means over seeds with their standard deviation.
"""
import csv
import json
import statistics
import sys

EARLY, LATE, HARD, EASY = 2, 4, 0.25, 0.75
COLUMNS = ["seed", "variant", "question", "early_rate", "early_tokens", "late_rate", "late_tokens"]


def print_questions(seed, variant, path):
    visits = {}
    with open(path) as lines:
        for line in lines:
            r = json.loads(line)
            visits.setdefault(r["question"], {}).setdefault(r["iteration"], []).append((r["reward"] > 0, sum(r["mask"])))
    for number, question in enumerate(sorted(visits)):
        of = [visits[question][i] for i in sorted(visits[question])]
        row = [seed, variant, str(number)]
        for part in (of[:EARLY], of[-LATE:]):
            rollouts = [rollout for visit in part for rollout in visit]
            row += [f"{statistics.fmean(r[i] for r in rollouts):.4g}" for i in (0, 1)]
        print("\t".join(row))


def cell(values, digits):
    if not values:
        return "none"
    spread = f" ± {statistics.stdev(values):.{digits}f}" if len(values) > 1 else ""
    return f"{statistics.fmean(values):.{digits}f}{spread}"


def print_table(path, variants):
    with open(path) as lines:
        rows = list(csv.DictReader(lines, delimiter="\t"))
    for variant in variants:
        cells = []
        for inside in (lambda rate: rate >= EASY, lambda rate: rate < HARD):
            chosen = [r for r in rows if r["variant"] == variant and inside(float(r["early_rate"]))]
            by_seed = {}
            for r in chosen:
                by_seed.setdefault(r["seed"], []).append(r)
            for column, digits in (("late_rate", 2), ("late_tokens", 1)):
                cells.append(cell([statistics.fmean(float(r[column]) for r in of) for of in by_seed.values()], digits))
            cells.append(str(len(chosen)))
        print(f"| {variant} | {cells[0]}; {cells[1]} | {cells[3]}; {cells[4]} | {cells[2]}, {cells[5]} |")


if len(sys.argv) == 5 and sys.argv[1] == "questions":
    print_questions(*sys.argv[2:])
elif len(sys.argv) > 3 and sys.argv[1] == "table":
    print_table(sys.argv[2], sys.argv[3:])
else:
    print(__doc__, file=sys.stderr)
    sys.exit(2)
