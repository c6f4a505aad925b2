#!/usr/bin/env python3
"""Fits the weights by which `lineage` decides what a text changes and which trials repeat another, from labelled logs.

usage: ideas_fit.py --answers PROGRAM [--logs DIR] [--light NAME=FROM-TO]... [--threshold X] [--write SOURCE]
                    settings|same LABELS

LABELS and DIR are as in ideas_bench.py. PROGRAM is ideas_answers of this directory. With --features it prints the
features of every decision in the order of the enums stated_feature (src/store/ideas/stated.h) and similar_feature
(ideas_internal.h). The weights are a logistic regression with a penalty on their squares; --light counts the rows FROM
to TO of a log less, because they say nearly the same, such as a loop of resubmissions after crashes. The constant is
moved to where precision and recall balance best (largest F1) on rows that were left out of the fit, or by --threshold: a proposal that is called a repeat in error costs
more than one that is not, so `same` uses 0.3.

Printed for each log are precision and recall of the decisions:
  in sample   fitted on all logs, counted on the same rows
  by log      fitted on the other logs: what to expect on a log by other writers
  by rows     fitted without the 20 rows around each row: what to expect on new rows of a known log
  reach       the share of labels that are among the decisions at all: the largest possible recall
--write replaces the table in SOURCE, between the lines "fitted by ideas_fit.py" and "end of the table". The same labels
give the same table. Fit the settings first and build again, because `same` rests on them:

  ideas_fit.py --answers build/tests/bench/ideas_answers --light pg-variant-single-agent=086-145 \\
      --write src/store/ideas/stated_features.c settings ../shared/ideas/labels
  ideas_fit.py --answers build/tests/bench/ideas_answers --light pg-variant-single-agent=086-145 --threshold 0.3 \\
      --write src/store/ideas/similar.c same ../shared/ideas/labels
"""
import argparse
import json
import math
import os
import re
import shutil
import subprocess
import sys
import tempfile

import ideas_bench

BLOCK = 20          # consecutive rows that are left out together, because neighbours often say the same
FOLDS = 8
LIGHT = 0.2         # weight of the rows that --light names
PENALTY = {"settings": 1.0, "same": 2.0}
PER_FORM_PENALTY = 3.0  # times the penalty, for features that exist once per form
# Features per form whose weight is 0: on rows and on logs that were left out of the fit, the others do better without
# them, since they repeat what the form or the place alone says.
REFERENCE = {"STATED_FORM + FORM_" + form for form in ("EQUALS", "COUNT", "FROM_TO", "CALL")} | {
    "STATED_FORM_HEADLINE + FORM_" + form for form in ("ARROW", "NEXT_TO", "CALL", "PREPOSITION", "TIMES", "COUNT")} | {
    "STATED_FORM_BRACKETS + FORM_" + form for form in ("EQUALS", "ARROW", "COUNT", "CALL", "FROM_TO", "NEXT_TO", "ARROW_TEXT")}
SOURCE_DIR = os.path.join(os.path.dirname(os.path.abspath(__file__)), "..", "..", "src", "store", "ideas")


def enum_items(header, enum):
    with open(os.path.join(SOURCE_DIR, header), encoding="utf-8") as file:
        body = re.search(r"enum %s \{(.*?)\};" % enum, file.read(), re.S)[1]
    items = re.sub(r"/\*.*?\*/", "", body, flags=re.S).split(",")
    return [item.split("=")[0].strip() for item in items if item.strip()][:-1]


def feature_names(part):
    """The features in the order of their enum; those that exist once per form are named as the C source names them."""
    if part == "same":
        return enum_items("ideas_internal.h", "similar_feature")
    forms, names = enum_items("stated.h", "stated_form"), []
    for name in enum_items("stated.h", "stated_feature"):
        per_form = name in ("STATED_FORM", "STATED_FORM_HEADLINE", "STATED_FORM_BRACKETS")
        names += ["%s + %s" % (name, form) for form in forms] if per_form else [name]
    return names


class Sample:
    """One decision: its features, and whether the labels have it. `repeat`: a second candidate for one label, which the
    program drops as a repeated change, so it counts neither way."""

    def __init__(self, log, row, features, right, repeat=False):
        self.log, self.row, self.right, self.repeat = log, row, right, repeat
        self.features = [(i, x) for i, x in enumerate(features) if x]
        self.weight = LIGHT if log.is_light(row) else 1.0
        self.block = (log.name, log.ids.index(row) // BLOCK % FOLDS)


class Log:
    def __init__(self, name, ids, labels, answers, light):
        self.name, self.ids, self.labels, self.answers, self.light = name, ids, labels, answers, light
        self.samples, self.wanted = [], {}

    def is_light(self, row):
        return self.light is not None and self.light[0] <= int(row) <= self.light[1]


def name_of(candidate):
    return ((candidate["prefix"] or "") + " " + candidate["name"]).strip()


def take_settings(log):
    for row in log.ids:
        used, wanted = set(), log.labels[row]["changes"]
        log.wanted[row] = len(wanted)
        for candidate in log.answers[row]["candidates"]:
            hits = [k for k, w in enumerate(wanted) if ideas_bench.same_value(candidate["to"], w["to"]) and
                    ideas_bench.same_name(name_of(candidate), w["name"])]
            new = [k for k in hits if k not in used][:1]
            log.samples.append(Sample(log, row, candidate["features"], bool(new), bool(hits) and not new))
            used.update(new)


def take_pairs(log):
    for row in log.ids:
        same = set(log.labels[row]["same"])
        log.wanted[row] = len(same)
        for pair in log.answers[row]["pairs"]:
            log.samples.append(Sample(log, row, pair["features"], pair["exp_id"] in same))


def load(program, path, labels_path, light):
    with tempfile.TemporaryDirectory() as directory:
        shutil.copyfile(path, os.path.join(directory, "results.tsv"))
        done = subprocess.run([program, "--features", directory], capture_output=True, check=True)
    answers = [json.loads(line) for line in done.stdout.splitlines()]
    answers = {answer["exp_id"]: answer for answer in answers if "exp_id" in answer}
    labels = ideas_bench.read_labels(labels_path)
    name = os.path.basename(labels_path)[:-6]
    return Log(name, [i for i in answers if i in labels], labels, answers, light)


def solve(matrix, vector):
    """Solves a symmetric positive definite system by Cholesky decomposition."""
    n = len(vector)
    lower = [[0.0] * n for _ in range(n)]
    for i in range(n):
        for k in range(i + 1):
            total = matrix[i][k] - sum(a * b for a, b in zip(lower[i][:k], lower[k][:k]))
            lower[i][k] = math.sqrt(max(total, 1e-12)) if i == k else total / lower[k][k]
    y, x = [0.0] * n, [0.0] * n
    for i in range(n):
        y[i] = (vector[i] - sum(lower[i][k] * y[k] for k in range(i))) / lower[i][i]
    for i in reversed(range(n)):
        x[i] = (y[i] - sum(lower[k][i] * x[k] for k in range(i + 1, n))) / lower[i][i]
    return x


def score(weights, sample):
    return weights[-1] + sum(weights[i] * x for i, x in sample.features)


def fit(samples, penalties, steps=10):
    """Logistic regression by Newton's method; the last weight is the constant, which is not penalised."""
    n = len(penalties)
    weights = [0.0] * (n + 1)
    for _ in range(steps):
        gradient = [p * w for p, w in zip(penalties, weights)] + [0.0]
        hessian = [[0.0] * (n + 1) for _ in range(n + 1)]
        for i in range(n):
            hessian[i][i] = penalties[i]
        for sample in samples:
            p = 1 / (1 + math.exp(-max(-30, min(30, score(weights, sample)))))
            features = sample.features + [(n, 1.0)]
            error, curve = sample.weight * (p - sample.right), sample.weight * max(p * (1 - p), 1e-6)
            for i, x in features:
                gradient[i] += error * x
                line, curved = hessian[i], curve * x
                for k, y in features:
                    if k <= i:
                        line[k] += curved * y
        for i in range(n + 1):
            for k in range(i):
                hessian[k][i] = hessian[i][k]
        change = solve(hessian, gradient)
        weights = [w - c for w, c in zip(weights, change)]
        if max(abs(c) for c in change) < 1e-4:
            break
    return weights


def left_out(samples, penalties, key):
    """The score of each sample by weights that were fitted without the samples of its key."""
    models = {k: fit([s for s in samples if key(s) != k and not s.repeat], penalties) for k in {key(s) for s in samples}}
    return [score(models[key(s)], s) for s in samples]


def figures(samples, scores, wanted, threshold):
    """Precision and recall of the samples above the threshold."""
    said = [s for s, x in zip(samples, scores) if x > threshold and not s.repeat]
    right = sum(s.right for s in said)
    return right / max(1, len(said)), right / max(1, wanted)


def balance(samples, scores, wanted):
    """The threshold with the largest F1, rows of --light weighing less."""
    def f1(threshold):
        said = [s for s, x in zip(samples, scores) if x > threshold and not s.repeat]
        right = sum(s.weight for s in said if s.right)
        return 2 * right / max(1e-9, sum(s.weight for s in said) + wanted)
    return max((t / 20 for t in range(-40, 41)), key=lambda t: (f1(t), t))


def table(names, weights):
    lines = ["        [%s] = %.2ff," % (name, w) for name, w in zip(names, weights) if abs(w) >= 0.005]
    return "\n".join(lines) + "\n    };\n    double sum = %.2f;\n" % weights[-1]


def write_table(path, names, weights):
    with open(path, encoding="utf-8") as file:
        text = file.read()
    begin = text.index("\n", text.index("fitted by ideas_fit.py")) + 1
    end = text.rindex("\n", 0, text.index("end of the table")) + 1
    with open(path, "w", encoding="utf-8") as file:
        file.write(text[:begin] + table(names, weights) + text[end:])


def main():
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("part", choices=("settings", "same"))
    parser.add_argument("labels", metavar="LABELS", help="directory with NAME.jsonl for each labelled log")
    parser.add_argument("--answers", required=True, metavar="PROGRAM", help="the program ideas_answers")
    parser.add_argument("--logs", metavar="DIR", help="where run-NAME/raw/results.tsv are (default: LABELS/../../lineage-cases)")
    parser.add_argument("--light", action="append", default=[], metavar="NAME=FROM-TO", help="rows that count less")
    parser.add_argument("--threshold", type=float, help="move the constant to here instead of balancing")
    parser.add_argument("--write", metavar="SOURCE", help="replace the table in this C source")
    options = parser.parse_args()
    logs_dir = options.logs or os.path.join(options.labels, "..", "..", "lineage-cases")
    lights = {name: tuple(int(row) for row in rows.split("-")) for name, rows in (t.split("=") for t in options.light)}
    logs = []
    for file in sorted(os.listdir(options.labels)):
        path = os.path.join(logs_dir, "run-" + file[:-6], "raw", "results.tsv")
        if file.endswith(".jsonl") and os.path.exists(path):
            logs.append(load(options.answers, path, os.path.join(options.labels, file), lights.get(file[:-6])))
            (take_settings if options.part == "settings" else take_pairs)(logs[-1])
    names = feature_names(options.part)
    penalties = [1e6 if name in REFERENCE else PENALTY[options.part] * (PER_FORM_PENALTY if "FORM_" in name.split("+")[0] else 1)
                 for name in names]
    samples = [sample for log in logs for sample in log.samples]
    wanted = sum(n * (LIGHT if log.is_light(row) else 1) for log in logs for row, n in log.wanted.items())
    weights = fit([s for s in samples if not s.repeat], penalties)
    in_sample = [score(weights, s) for s in samples]
    by_log = left_out(samples, penalties, lambda s: s.log.name)
    by_rows = left_out(samples, penalties, lambda s: s.block)
    threshold = balance(samples, by_rows, wanted) if options.threshold is None else options.threshold
    print("threshold %.2f" % threshold)
    for log in logs:
        for light in (False, True) if log.light else (False,):
            rows = [i for i in log.ids if not (light and log.is_light(i))]
            pick = [k for k, s in enumerate(samples) if s.log is log and not (light and log.is_light(s.row))]
            some, n = [samples[k] for k in pick], sum(log.wanted[i] for i in rows)
            print("%-40s" % (log.name + (" without %03d-%03d" % log.light if light else "")), end="")
            for label, scores in (("in sample", in_sample), ("by log", by_log), ("by rows", by_rows)):
                print("  %s %.2f/%.2f" % ((label,) + figures(some, [scores[k] for k in pick], n, threshold)), end="")
            print("  reach %.2f" % (sum(s.right for s in some) / n))
    weights[-1] -= threshold
    if options.write:
        write_table(options.write, names, weights)
    return 0


if __name__ == "__main__":
    try:
        sys.exit(main())
    except (OSError, ValueError, subprocess.CalledProcessError) as error:
        print("ideas_fit: %s" % error, file=sys.stderr)
        sys.exit(3)
