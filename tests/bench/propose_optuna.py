#!/usr/bin/python3
"""Compares the proposers with the samplers of Optuna, on the same problems and with the same noise.

    tests/bench/propose_optuna.py [BENCH] [--sets first,table] [--seeds 20] [--trials 100] [--cache FILE] [--jobs 1]

BENCH is the program propose_bench (default: build-test/tests/bench/propose_bench). Needs python3-optuna (and
python3-cmaes); without it prints a message and exits with 77. Nights of Optuna take minutes, so --cache keeps them in a
file; nights of the proposers always run anew. README.md in this folder defines what the tables show.

With --check LINEAGE, the path of the command, it only runs a night of 30 trials of each problem that has no condition by
`lineage suggest` and `lineage append`, and compares its regrets with those of propose_bench.
"""
import argparse
import json
import math
import multiprocessing
import os
import statistics
import subprocess
import sys
import tempfile
import time
import warnings

MARKS = (10, 30, 60, 100)
OURS = ("auto", "tpe", "random")


class Evaluator:
    """The functions run in propose_bench, which answers line by line."""

    def __init__(self, bench):
        self.process = subprocess.Popen([bench, "--evaluate"], stdin=subprocess.PIPE, stdout=subprocess.PIPE, text=True)

    def __call__(self, problem, seed, trial, x):
        values = " ".join(repr(float(value)) for value in x)
        self.process.stdin.write(f"{problem['index']} {seed} {trial} {values}\n")
        self.process.stdin.flush()
        observed, regret, failed = self.process.stdout.readline().split()
        return float(observed), float(regret), failed == "1"

    def close(self):
        self.process.stdin.close()
        self.process.wait()


def distribution(optuna, scale, low, high):
    if scale == "choice":
        return optuna.distributions.CategoricalDistribution([int(i) for i in range(int(high) + 1)])
    if scale in ("integer", "log-integer"):
        return optuna.distributions.IntDistribution(int(low), int(high), log=scale == "log-integer")
    return optuna.distributions.FloatDistribution(low, high, log=scale == "log")


def samplers(optuna, seed):
    return {
        "TPE": lambda: optuna.samplers.TPESampler(seed=seed),
        "multivariate TPE": lambda: optuna.samplers.TPESampler(seed=seed, multivariate=True, group=True),
        "CMA-ES": lambda: optuna.samplers.CmaEsSampler(seed=seed),
        "QMC": lambda: optuna.samplers.QMCSampler(seed=seed),
    }


def suggest(optuna, trial, problem):
    """A range with a condition is asked for only where it is active, as Optuna's users do."""
    x = {}
    for range_ in problem["ranges"]:
        condition = range_.get("if")
        if condition and x.get(condition["name"]) not in condition["values"]:
            continue
        kind = distribution(optuna, range_["scale"], range_["low"], range_["high"])
        x[range_["name"]] = trial._suggest(range_["name"], kind)
    return x


def optuna_night(job):
    bench, problem, name, seed, trials = job
    warnings.simplefilter("ignore")
    import optuna
    optuna.logging.set_verbosity(optuna.logging.ERROR)
    study = optuna.create_study(sampler=samplers(optuna, seed)[name]())
    evaluate = Evaluator(bench)
    best, regret, failures, seconds, regrets = math.inf, math.inf, 0, 0.0, {}
    for i in range(trials):
        begin = time.process_time()
        trial = study.ask()
        x = suggest(optuna, trial, problem)
        seconds += time.process_time() - begin
        row = [x.get(range_["name"], range_["low"]) for range_ in problem["ranges"]]
        observed, true_regret, failed = evaluate(problem, seed, i, row)
        failures += failed
        if failed:
            study.tell(trial, state=optuna.trial.TrialState.FAIL)
        else:
            study.tell(trial, observed)
            if observed < best:
                best, regret = observed, true_regret
        if i + 1 in MARKS:
            regrets[str(i + 1)] = regret
    evaluate.close()
    return {"problem": problem["name"], "method": name, "seed": seed, "failed": failures, "seconds": seconds, "regret": regrets}


def read_cache(path):
    if not path or not os.path.exists(path):
        return {}
    with open(path) as lines:
        nights = [json.loads(line) for line in lines]
    return {(night["problem"], night["method"], night["seed"]): night for night in nights}


def optuna_nights(bench, problems, options):
    import optuna
    cache = read_cache(options.cache)
    names = list(samplers(optuna, 0))
    jobs = [(bench, problem, name, seed, options.trials) for problem in problems for name in names
            for seed in range(options.seeds)]
    missing = [job for job in jobs if (job[1]["name"], job[2], job[3]) not in cache]
    with multiprocessing.Pool(options.jobs) as pool:
        for night in pool.imap(optuna_night, missing):
            cache[(night["problem"], night["method"], night["seed"])] = night
            if options.cache:
                with open(options.cache, "a") as out:
                    out.write(json.dumps(night) + "\n")
    return [cache[(job[1]["name"], job[2], job[3])] for job in jobs], names


def our_nights(bench, sets, options):
    nights = []
    for name in sets:
        command = [bench, "--json", "--set", name, "--seeds", str(options.seeds), "--trials", str(options.trials)]
        for method in OURS:
            command += ["--method", method]
        output = subprocess.run(command, check=True, stdout=subprocess.PIPE, text=True).stdout
        nights += [json.loads(line) for line in output.splitlines()]
    return nights


def medians(nights, mark):
    groups = {}
    for night in nights:
        groups.setdefault((night["problem"], night["method"]), []).append(night["regret"][str(mark)])
    return {key: statistics.median(values) for key, values in groups.items()}


def geometric(values):
    return math.exp(statistics.fmean(math.log(value) for value in values))


def print_medians(problems, methods, table, mark):
    print(f"\nmedian regret after {mark} trials\n")
    print(f"{'problem':<26}" + "".join(f"{method:>18}" for method in methods))
    for problem in problems:
        print(f"{problem['name']:<26}" + "".join(f"{table[(problem['name'], method)]:>18.4g}" for method in methods))


def print_ratios(problems, names, tables, marks, title):
    """A ratio of 0.9 means: nine tenths of that sampler's regret. `best` is the best sampler of each problem."""
    print(f"\n{title}: geometric mean of (median regret + floor) / (that of the sampler + floor)\n")
    print(f"{'method':<10}{'trials':>7}" + "".join(f"{name:>18}" for name in names) + f"{'best of each':>18}")
    for method in OURS:
        for mark in marks:
            table = tables[mark]
            cells = []
            for other in names + ["best"]:
                ratios = []
                for problem in problems:
                    floor = problem["floor"]
                    theirs = table[(problem["name"], other)] if other != "best" else min(
                        table[(problem["name"], name)] for name in names)
                    ratios.append((table[(problem["name"], method)] + floor) / (theirs + floor))
                cells.append(geometric(ratios))
            print(f"{method:<10}{mark:>7}" + "".join(f"{cell:>18.3f}" for cell in cells))


def print_costs(problems, methods, nights, trials):
    print("\nprocessor milliseconds of one proposal (mean), and failed trials where some fail (median)\n")
    failing = {problem["name"] for problem in problems if problem["set"] == "failing"}
    for method in methods:
        own = [night for night in nights if night["method"] == method]
        failed = [night["failed"] for night in own if night["problem"] in failing]
        milliseconds = 1e3 * statistics.fmean(night["seconds"] / trials for night in own)
        print(f"{method:<18}{milliseconds:>10.2f}" + (f"{statistics.median(failed):>8.0f}" if failed else ""))


def range_text(range_):
    if range_["scale"] == "choice":
        return ",".join(str(i) for i in range(int(range_["high"]) + 1))
    return f"{range_['low']!r}:{range_['high']!r}:{range_['scale']}"


def command_night(lineage, evaluate, problem, trials):
    """A night by the command, with one process for each suggestion and each row."""
    best, regret, regrets = math.inf, math.inf, {}
    with tempfile.TemporaryDirectory() as store:
        subprocess.run([lineage, "init", store, "--direction", "lower"], check=True, stdout=subprocess.DEVNULL)
        ranges = [word for range_ in problem["ranges"] for word in ("--range", f"{range_['name']}={range_text(range_)}")]
        for i in range(trials):
            output = subprocess.run([lineage, "suggest", "-C", store, "--format", "json", *ranges], check=True,
                                    stdout=subprocess.PIPE, text=True).stdout
            x = json.loads(output)["suggestions"][0]
            observed, true_regret, failed = evaluate(problem, 0, i, [x[range_["name"]] for range_ in problem["ranges"]])
            row = [word for name, value in x.items() for word in ("--param", f"{name}={value!r}")]
            row += ["--status", "crash"] if failed else ["--status", "discard", "--core-metric", repr(observed)]
            subprocess.run([lineage, "append", "-C", store, *row], check=True, stdout=subprocess.DEVNULL)
            if not failed and observed < best:
                best, regret = observed, true_regret
            if i + 1 in MARKS:
                regrets[str(i + 1)] = regret
    return regrets


def check(lineage, bench, problems):
    different = 0
    output = subprocess.run([bench, "--json", "--seeds", "1", "--trials", "30", "--method", "auto"], check=True,
                            stdout=subprocess.PIPE, text=True).stdout
    wanted = {night["problem"]: night["regret"] for night in map(json.loads, output.splitlines())}
    evaluate = Evaluator(bench)
    for problem in problems:
        if any("if" in range_ for range_ in problem["ranges"]):
            continue
        regrets, own = command_night(lineage, evaluate, problem, 30), wanted[problem["name"]]
        same = all(math.isclose(regrets[mark], own[mark], rel_tol=1e-6, abs_tol=1e-12) for mark in regrets)
        print(f"{problem['name']:<26}{'the same' if same else f'differs: {regrets}, in one process {own}'}")
        different += not same
    evaluate.close()
    return 1 if different else 0


def main():
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("bench", nargs="?", default="build-test/tests/bench/propose_bench")
    parser.add_argument("--sets", default="first,second,table,failing")
    parser.add_argument("--seeds", type=int, default=20)
    parser.add_argument("--trials", type=int, default=100)
    parser.add_argument("--jobs", type=int, default=1)
    parser.add_argument("--cache")
    parser.add_argument("--check", metavar="LINEAGE")
    options = parser.parse_args()
    sets = options.sets.split(",")
    listed = subprocess.run([options.bench, "--list"], check=True, stdout=subprocess.PIPE, text=True).stdout
    problems = [problem for problem in map(json.loads, listed.splitlines()) if problem["set"] in sets]
    if options.check:
        return check(options.check, options.bench, problems)
    try:
        import optuna
    except ImportError:
        print("propose_optuna.py: install python3-optuna and python3-cmaes; nothing was compared", file=sys.stderr)
        return 77
    theirs, names = optuna_nights(options.bench, problems, options)
    nights = our_nights(options.bench, sets, options) + theirs
    marks = [mark for mark in MARKS if mark <= options.trials]
    tables = {mark: medians(nights, mark) for mark in marks}
    print(f"Optuna {optuna.__version__}, {options.seeds} seeds")
    for mark in marks:
        print_medians(problems, list(OURS) + names, tables[mark], mark)
    for title, members in (("the first eight and two tables", ("first", "table")), ("the second eight", ("second",)),
                           ("the failing one", ("failing",))):
        chosen = [problem for problem in problems if problem["set"] in members]
        if chosen:
            print_ratios(chosen, names, tables, marks, title)
    print_costs(problems, list(OURS) + names, nights, options.trials)
    return 0


if __name__ == "__main__":
    sys.exit(main())
