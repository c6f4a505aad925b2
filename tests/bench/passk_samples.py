#!/usr/bin/env python3
"""passk_samples.py: how many samples of each question pass@k needs, to report it and to choose a checkpoint by it.

usage: python3 tests/bench/passk_samples.py LINEAGE [--pairs N] [--questions N] [--seed N]

Draws pairs of policies whose pass rates are known: the logit of a question's rate is normal (mean -0.3, deviation 2), and the other policy's
differs by a shift of its own (deviation 0.3) and by question (deviation 0.7). Asks `lineage passk --select --counts` which of the two is
better at k with N samples of each question. Prints for each N and k how often it names the better one on the questions asked ("asked") and
on all questions of this kind ("all", the mean over 20000 others), and the root mean square error of the estimate on the questions asked.
"""
import argparse
import csv
import json
import math
import os
import random
import subprocess
import sys
import tempfile

SAMPLES, KS, OTHERS = (4, 8, 16, 32, 64, 128), (1, 8, 64, 256), 20000


def rates(rng, shift, n):
    logits = [rng.gauss(-0.3, 2) for _ in range(n)]
    return [[1 / (1 + math.exp(-x)) for x in logits],
            [1 / (1 + math.exp(-x - shift - rng.gauss(0, 0.7))) for x in logits]]


def passk(of, k):
    return sum(1 - (1 - p) ** k for p in of) / len(of)


def ask(lineage, counts):
    with tempfile.TemporaryDirectory() as folder:
        path = os.path.join(folder, "counts.csv")
        with open(path, "w", newline="") as out:
            writer = csv.writer(out)
            writer.writerow(["policy", "question", "samples", "correct"])
            writer.writerows(counts)
        text = subprocess.run([lineage, "passk", "--select", "--counts", path, "--k", ",".join(map(str, KS)), "--format", "json"],
                              check=True, capture_output=True, text=True).stdout
    return {(row["k"], row["policy"]): row["passk"] for row in json.loads(text)}


def main():
    parser = argparse.ArgumentParser()
    parser.add_argument("lineage")
    parser.add_argument("--pairs", type=int, default=200)
    parser.add_argument("--questions", type=int, default=128)
    parser.add_argument("--seed", type=int, default=1)
    args = parser.parse_args()
    rng = random.Random(args.seed)
    right = {(n, k, who): 0 for n in SAMPLES for k in KS for who in ("asked", "all")}
    error = {(n, k): 0.0 for n in SAMPLES for k in KS}
    for _ in range(args.pairs):
        shift = rng.gauss(0, 0.3)
        asked, others = rates(rng, shift, args.questions), rates(rng, shift, OTHERS)
        truth = {k: [passk(of, k) for of in asked + others] for k in KS}
        for n in SAMPLES:
            counts = [(name, q, n, sum(rng.random() < p for _ in range(n))) for name, of in zip("ab", asked) for q, p in enumerate(of)]
            told = ask(args.lineage, counts)
            for k in KS:
                better = told[k, "b"] > told[k, "a"]
                right[n, k, "asked"] += better == (truth[k][1] > truth[k][0])
                right[n, k, "all"] += better == (truth[k][3] > truth[k][2])
                error[n, k] += sum((told[k, name] - t) ** 2 for name, t in zip("ab", truth[k])) / 2
    print("| samples | " + " | ".join(f"k = {k}: asked, all, error" for k in KS) + " |")
    print("|---" * (1 + len(KS)) + "|")
    for n in SAMPLES:
        print(f"| {n} | " + " | ".join(f"{right[n, k, 'asked'] / args.pairs:.2f}, {right[n, k, 'all'] / args.pairs:.2f}, "
                                       f"{math.sqrt(error[n, k] / args.pairs):.3f}" for k in KS) + " |")


if __name__ == "__main__":
    sys.exit(main())
