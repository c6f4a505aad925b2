"""night_bench.py: what the answer of a night is worth, on functions whose true scores are known.

    LINEAGE=build/cli/lineage python3 tests/bench/night_bench.py grid|ranges|grid-diverging|ranges-diverging NOISE NIGHTS [OPTION ..]
    python3 tests/bench/night_bench.py single|halving|mean3|optuna NOISE NIGHTS
    LINEAGE=build/cli/lineage python3 tests/bench/night_bench.py table NIGHTS [OF THE COMMAND [ON RANGES]]

grid: 12 settings with losses from 1 to 1.45; ranges: two ranges, 40 trials, a bowl whose optimum differs each night. The loss has normal
noise, by the seed and the setting; where it says diverging, every tenth run by chance is worse by 8. OPTION is passed to `lineage night`. The regret is the true loss of what `lineage best` names, minus
the least true loss. The peers: one run each; one run each, then the best four once more, then the best two twice more; three runs each;
and best_trial of Optuna's TPESampler after 40 runs. table prints the table of tests/bench/README.md, without Optuna if it is not installed.
"""
import math
import random
import sys

SETTINGS = 12
COMMAND = ("grid", "ranges", "grid-diverging", "ranges-diverging")


def losses(night):
    draw = random.Random("grid %d" % night)
    return [1 + 0.45 * draw.random() for _ in range(SETTINGS)]


def bowl(night, lr, mom):
    draw = random.Random("bowl %d" % night)
    at = draw.uniform(-3, -1), draw.uniform(0.2, 0.8)
    return 1 + 0.25 * (math.log10(lr) - at[0]) ** 2 + 0.8 * (mom - at[1]) ** 2


def noisy(true, noise, *key):
    return true + noise * random.Random(repr(key)).gauss(0, 1)


def score(night, noise, diverging, seed, *values):
    true = losses(night)[int(values[0])] if len(values) == 1 else bowl(night, *map(float, values))
    far = 8 if diverging == "diverging" and random.Random(repr((night, seed, values))).random() < 0.1 else 0
    print("loss:", noisy(true, noise, night, seed, *values) + far)


if sys.argv[1:2] == ["--score"]:  # a run of a night: before the imports, which take longer
    score(int(sys.argv[2]), float(sys.argv[3]), *sys.argv[4:])
    sys.exit()

import json
import os
import platform
import statistics
import subprocess
import tempfile
from multiprocessing.pool import ThreadPool


def peer(rule, night, noise):
    true = losses(night)
    scores = [[] for _ in true]

    def run(settings, times):
        for i in settings:
            scores[i].extend(noisy(true[i], noise, night, i, len(scores[i]) + k) for k in range(times))
        return sorted(settings, key=lambda i: statistics.mean(scores[i]))

    best = run(range(SETTINGS), 3 if rule == "mean3" else 1)
    if rule == "halving":
        best = run(run(best[:4], 1)[:2], 2)
    return true[best[0]] - min(true), sum(map(len, scores))


def night_of(kind, night, noise, options):
    lineage = os.environ.get("LINEAGE", "lineage")
    with tempfile.TemporaryDirectory() as top:
        kind, _, diverging = kind.partition("-")
        words = ["{x}"] if kind == "grid" else ["{lr}", "{mom}"]
        sweep = {"name": kind, "direction": "lower", "metrics": ["loss"],
                 "command": [sys.executable, "-IS", os.path.abspath(__file__), "--score", str(night), str(noise), diverging or "-", "{seed}", *words]}  # fmt: skip
        sweep.update({"grid": {"x": list(range(SETTINGS))}} if kind == "grid" else {"ranges": {"lr": "0.0001:1:log", "mom": "0:0.99"}})
        with open(top + "/sweep.json", "w") as file:
            json.dump(sweep, file)
        env = dict(os.environ, XDG_STATE_HOME=top)
        propose = [] if kind == "grid" else ["--propose", "gp", "--trials", "40", "--seed", str(night)]
        subprocess.run([lineage, "night", "sweep.json", "-C", "s", "-q", *propose, *options], cwd=top, env=env, capture_output=True)
        ask = lambda *what: json.loads(subprocess.run([lineage, *what, "-C", "s", "--format", "json"], cwd=top, env=env,
                                                      capture_output=True, check=True).stdout)  # fmt: skip
        params, rows = ask("best")["params"], len(ask("query", "--limit", "100000"))
    if kind == "grid":
        return losses(night)[int(params["x"])] - min(losses(night)), rows
    return bowl(night, params["lr"], params["mom"]) - 1, rows


def optuna_peer(night, noise, trials=40):
    import optuna

    optuna.logging.set_verbosity(optuna.logging.ERROR)
    study = optuna.create_study(sampler=optuna.samplers.TPESampler(seed=night))

    def score(trial):
        true = bowl(night, trial.suggest_float("lr", 1e-4, 1, log=True), trial.suggest_float("mom", 0, 0.99))
        return noisy(true, noise, "optuna", night, trial.number)

    study.optimize(score, n_trials=trials)
    return bowl(night, study.best_params["lr"], study.best_params["mom"]) - 1, trials


def measure(kind, noise, nights, options=()):
    """The mean regret, its standard error, and the mean number of runs."""
    def ask(k):
        if kind == "optuna":
            return optuna_peer(k, noise)
        return night_of(kind, k, noise, options) if kind in COMMAND else peer(kind, k, noise)

    with ThreadPool(min(2, os.cpu_count() or 1)) as pool:
        found = pool.map(ask, range(nights), chunksize=1)
    regret = [r for r, _ in found]
    return statistics.mean(regret), statistics.pstdev(regret) / nights**0.5, statistics.mean(n for _, n in found)


def processor():
    with open("/proc/cpuinfo") as file:
        names = [line.split(":", 1)[1].strip() for line in file if line.startswith("model name")]
    return "%s, %d processors" % (names[0] if names else platform.machine(), len(names) or os.cpu_count() or 1)


def table(nights, of_command, of_ranges):
    print("`night_bench.py table %d %d %d` (nights of the peers, and of the command on the grid and on the ranges), %s:\n"
          % (nights, of_command, of_ranges, processor()))  # fmt: skip
    print("| rule | runs | noise 0.05 | 0.1 | 0.2 |\n|---|---|---|---|---|")
    cell = lambda found: "%.4f ± %.4f" % found[:2]
    for name, kind, count, options in (
        ("grid: one run each", "single", nights, ()), ("grid: halving by hand", "halving", nights, ()),
        ("grid: three runs each", "mean3", nights, ()), ("grid: `lineage night`", "grid", of_command, ()),
        ("grid: `lineage night --runs 36`", "grid", of_command, ("--runs", "36")),
    ):  # fmt: skip
        found = [measure(kind, noise, count, options) for noise in (0.05, 0.1, 0.2)]
        print("| %s | %.1f | %s |" % (name, statistics.mean(f[2] for f in found), " | ".join(map(cell, found))), flush=True)
    for name, kind, count, options in (
        ("grid: `lineage night`, one run in ten diverging", "grid-diverging", of_command, ()),
        ("ranges: Optuna's TPESampler, best_trial", "optuna", nights, ()),
        ("ranges: `lineage night --runs 40`", "ranges", of_ranges, ("--runs", "40")),
        ("ranges: the same, one run in ten diverging", "ranges-diverging", of_ranges, ("--runs", "40")),
        ("ranges: `lineage night --runs 80`", "ranges", of_ranges, ("--runs", "80")),
    ):  # fmt: skip
        try:
            found = measure(kind, 0.1, count, options)
        except ImportError:
            continue
        print("| %s | %.1f | | %s | |" % (name, found[2], cell(found)), flush=True)


def main():
    if sys.argv[1:2] == ["table"] and len(sys.argv) > 2:
        numbers = [int(n) for n in sys.argv[2:5]]
        return table(numbers[0], numbers[min(1, len(numbers) - 1)], numbers[-1])
    if len(sys.argv) < 4 or sys.argv[1] not in (*COMMAND, "single", "halving", "mean3", "optuna"):
        sys.exit(__doc__)
    kind, noise, nights = sys.argv[1], float(sys.argv[2]), int(sys.argv[3])
    print("%s, noise %g, %d nights: mean regret %.4f (standard error %.4f), %.1f runs a night"
          % (kind, noise, nights, *measure(kind, noise, nights, sys.argv[4:])))  # fmt: skip


main()
