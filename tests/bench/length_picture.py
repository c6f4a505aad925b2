#!/usr/bin/env python3
"""length_picture.py: how reward depends on length, for questions that are easy and hard at the start, early and late in a trial.

usage: python3 tests/bench/length_picture.py lengths SEED VARIANT ROLLOUTS        (rows of a TSV)
       python3 tests/bench/length_picture.py draw LENGTHS.tsv VARIANT.. >FILE.svg

ROLLOUTS is what `lineage train --rollouts` wrote for a trial with a pool of questions. A question is easy if more than 90 % of its
rollouts in the first two iterations that asked it were rewarded, and hard if fewer than 10 % were. `lengths` counts rollouts and rewards
by the number of tokens that the policy wrote, early (these two iterations) and late (the last four). `draw` makes a panel for each variant
and kind of question: the share of rewarded rollouts by length, in bins of four tokens with at least 16 rollouts of all seeds, and the
mean length as a line across. Bars show where the rollouts are.
"""
import collections
import csv
import json
import sys

EARLY, LATE, HARD, EASY, BIN, LEAST = 2, 4, 0.10, 0.90, 4, 16
COLUMNS = ["seed", "variant", "question", "time", "tokens", "rollouts", "rewarded"]
TIMES = {"early": "#b0551d", "late": "#1d5fb0"}


def print_lengths(seed, variant, path):
    visits = collections.defaultdict(lambda: collections.defaultdict(list))
    with open(path) as lines:
        for line in lines:
            r = json.loads(line)
            visits[r["question"]][r["iteration"]].append((sum(r["mask"]), r["reward"] > 0))
    counts = collections.Counter()
    for of in visits.values():
        asked = [of[i] for i in sorted(of)]
        early, late = sum(asked[:EARLY], []), sum(asked[-LATE:], [])
        rate = sum(rewarded for _, rewarded in early) / len(early)
        kind = "easy" if rate > EASY else "hard" if rate < HARD else None
        for time, rollouts in (("early", early), ("late", late)):
            for tokens, rewarded in rollouts if kind else ():
                counts[kind, time, tokens, "rollouts"] += 1
                counts[kind, time, tokens, "rewarded"] += rewarded
    for kind, time, tokens in sorted({key[:3] for key in counts}):
        print(seed, variant, kind, time, tokens, counts[kind, time, tokens, "rollouts"], counts[kind, time, tokens, "rewarded"], sep="\t")


def bins(rows):
    """{bin: [rollouts, rewarded]} and the mean length."""
    found, tokens = collections.defaultdict(lambda: [0, 0]), 0
    for r in rows:
        at = found[int(r["tokens"]) // BIN]
        at[0] += int(r["rollouts"])
        at[1] += int(r["rewarded"])
        tokens += int(r["tokens"]) * int(r["rollouts"])
    n = sum(at[0] for at in found.values())
    return found, n, tokens / n if n else 0


def panel(rows, title, most):
    width, height = 420, 130
    def x(tokens): return tokens / most * width
    out = [f'<text y="-8" font-weight="bold">{title}</text>']
    for tick in (0, 0.25, 0.5, 0.75, 1):
        y = height * (1 - tick)
        out.append(f'<line x2="{width}" y1="{y:.1f}" y2="{y:.1f}" stroke="#ddd"/><text x="-6" y="{y + 4:.1f}" text-anchor="end">{tick:g}</text>')
    for tokens in range(0, most + 1, 8):
        out.append(f'<text x="{x(tokens):.1f}" y="{height + 14}" text-anchor="middle">{tokens}</text>')
    for side, (time, colour) in enumerate(TIMES.items()):
        found, n, mean = bins([r for r in rows if r["time"] == time])
        points = []
        for at in sorted(found):
            share, middle = found[at][0] / n, x((at + 0.5) * BIN)
            out.append(f'<rect x="{middle - 7 + 7 * side:.1f}" y="{height * (1 - share):.1f}" width="7" height="{height * share:.1f}" '
                       f'fill="{colour}" opacity="0.25"/>')
            if found[at][0] >= LEAST:
                points.append(f"{middle:.1f},{height * (1 - found[at][1] / found[at][0]):.1f}")
        if n:
            out.append(f'<line x1="{x(mean):.1f}" x2="{x(mean):.1f}" y2="{height}" stroke="{colour}" stroke-dasharray="3 3"/>')
            out.append(f'<polyline points="{" ".join(points)}" fill="none" stroke="{colour}" stroke-width="2"/>')
            out += [f'<circle cx="{point.split(",")[0]}" cy="{point.split(",")[1]}" r="3" fill="{colour}"/>' for point in points]
            rewarded = sum(at[1] for at in found.values()) / n
            out.append(f'<text x="{width}" y="-8" text-anchor="end" fill="{colour}" dx="{140 * side - 140}">'
                       f'{time} {rewarded:.2f}, {mean:.1f} tokens</text>')
    return "\n".join(out)


def draw(path, variants):
    with open(path) as lines:
        rows = list(csv.DictReader(lines, delimiter="\t"))
    rows = [r for r in rows if r["variant"] in variants]
    most = (max(int(r["tokens"]) for r in rows) // 8 + 1) * 8
    high, wide = 195, 480
    print(f'<svg xmlns="http://www.w3.org/2000/svg" viewBox="0 0 {2 * wide} {len(variants) * high + 20}" font-family="sans-serif" font-size="10">')
    print('<rect width="100%" height="100%" fill="white"/>')
    for line, variant in enumerate(variants):
        for column, kind in enumerate(("easy", "hard")):
            print(f'<g transform="translate({40 + column * wide} {30 + line * high})">')
            print(panel([r for r in rows if r["variant"] == variant and r["question"] == kind], f"{variant}, {kind}", most))
            print("</g>")
    print(f'<text x="40" y="{len(variants) * high + 12}">across: tokens of the policy; up: share of rewarded rollouts (lines), share of '
          'rollouts (bars); dashed: mean length</text>')
    print("</svg>")


if len(sys.argv) == 5 and sys.argv[1] == "lengths":
    print_lengths(*sys.argv[2:])
elif len(sys.argv) > 3 and sys.argv[1] == "draw":
    draw(sys.argv[2], sys.argv[3:])
else:
    print(__doc__, file=sys.stderr)
    sys.exit(2)
