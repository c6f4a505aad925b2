#!/usr/bin/env python3
"""sweeps_table.py: which shipped sweep ran which setting of a recipe, as rows of a Markdown table.

usage: python3 tests/bench/sweeps_table.py

A setting is a line of schema/recipe.schema.json that says how a policy is trained; a sweep is a file of fixtures/recipes
with rows in fixtures/experiments, or a recipe by itself that has them. A sweep ran a value where its recipe, its base, one
of its trials or its grid says so. Defaults are not counted, but algorithms and losses are listed one by one. What no sweep
ran is the last line.
"""
import json
import pathlib
import sys
import textwrap

TOP = pathlib.Path(__file__).resolve().parents[2]
RECIPES, ROWS = TOP / "fixtures/recipes", TOP / "fixtures/experiments"
# Settings that every trial has, whatever its algorithm: what it starts from, on which policy and questions, how long it
# runs, how it is scored, how much goes through the network at a time; and how a judge or a teacher is reached.
LEFT_OUT = {"": {"name", "domain", "hypothesis", "expected_delta", "seed", "threads", "world", "model", "start", "training",
                 "micro_batch", "evaluation", "cost", "budget"},
            "environments": {"questions", "k_min", "k_max", "max_turns", "facts", "p_fail"},
            "environments.algorithm.endpoint": {"base_url", "name", "key_env", "concurrency", "deadline", "backoff"},
            "judge": {"endpoint", "model", "key_env", "prompt", "cache", "concurrency", "max_tokens", "deadline", "timeout",
                      "backoff", "max_failed_share"}}
BY_VALUE = {"environments.name", "environments.algorithm.name", "loss.name"}


def settings(schema):
    """Path of every setting to its schema, in the schema's order; the short names, which sweeps' grids use, to paths."""
    defs, paths, short = schema["$defs"], {}, {}

    def walk(name, path):
        for key, member in defs[name]["properties"].items():
            at = f"{path}.{key}" if path else key
            if key in LEFT_OUT.get(path, ()):
                continue
            target = member.get("$ref") or member.get("items", {}).get("$ref", "")
            words = target.split("/")
            if "properties" in words:
                short[key] = target
            elif target:
                walk(words[-1], at)
            else:
                paths[at] = member
                short.setdefault(f"#/$defs/{name}/properties/{key}", at)

    walk("recipe", "")
    return paths, {key: short.get(target) for key, target in short.items() if not key.startswith("#")}


def said(value, path, out, short):
    """Every setting that a part of a sweep names, with its value."""
    for key, member in value.items():
        name = key.replace("[0]", "")
        at = f"{path}.{name}" if path else short.get(name) or name
        for part in member if isinstance(member, list) else [member]:
            if isinstance(part, dict):
                said(part, at, out, short)
            else:
                out.setdefault(at, set()).add(part)


def of_sweep(path, short, paths):
    sweep, out = json.loads(path.read_text()), {}
    is_recipe = not {"base", "trials", "grid"} & sweep.keys()
    shared = [sweep if is_recipe else sweep.get("base", {})]
    if "recipe" in sweep:
        shared.append(json.loads((path.parent / sweep["recipe"]).read_text()))
    trials = sweep.get("trials", [{}])
    for part in shared + [sweep.get("grid", {})] + trials:
        said(part, "", out, short)
    if not any("loss" in part for part in shared) and any("loss" not in trial for trial in trials):
        out.setdefault("loss.name", set()).add(paths["loss.name"]["default"])
    return out


def text(value):
    return json.dumps(value) if isinstance(value, (bool, float, int)) else str(value)


def main():
    if sys.argv[1:] in (["-h"], ["--help"]):
        print(__doc__.strip())
        return 0
    if sys.argv[1:]:
        print(__doc__.strip(), file=sys.stderr)
        return 2
    paths, short = settings(json.loads((TOP / "schema/recipe.schema.json").read_text()))
    sweeps = {p.stem: of_sweep(p, short, paths) for p in sorted(RECIPES.glob("*.json")) if (ROWS / p.stem).is_dir()}
    untried = []
    for path, schema in paths.items():
        shown = path.replace("environments.", "", path != "environments.name")
        ran = {}
        for sweep, says in sweeps.items():
            for value in says.get(path, ()):
                ran.setdefault(text(value), []).append(sweep)
        if path in BY_VALUE:
            for value in schema["enum"]:
                print(f"| `{shown}` | {value} | {', '.join(sorted(ran.get(value, ['none'])))} |")
            continue
        ran.pop(text(schema.get("default", "")), None)
        if ran:
            print(f"| `{shown}` | {', '.join(sorted(ran))} | {', '.join(sorted(set(sum(ran.values(), []))))} |")
        untried += [f"`{shown}` {v}" for v in schema.get("enum", ()) if v != schema["default"] and v not in ran]
        if not ran and "enum" not in schema:
            untried.append(f"`{shown}`")
    last = f"No sweep ran: {', '.join(untried)}." if untried else "Each of these settings was run by a sweep."
    print("\n" + textwrap.fill(last, 118, break_on_hyphens=False))
    return 0


if __name__ == "__main__":
    sys.exit(main())
