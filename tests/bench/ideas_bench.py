#!/usr/bin/env python3
"""Measures what `lineage` finds in the words of real logs, against labels made by reading them.

usage: ideas_bench.py [--lineage PROGRAM] [--answers PROGRAM] [--logs DIR] [--log NAME]... [--skip NAME=FROM-TO]...
                      [--programs DIR] [--json] [--errors] LABELS

LABELS is a directory with a file NAME.jsonl for each labelled log (changes, same, false_novelty by exp_id); the log
itself is DIR/run-NAME/raw/results.tsv. The program is asked as everybody asks it: `show ID --format json`,
`similar ID --before --limit 5 --format json` and `claims --format json`, on a copy of the log. That takes two calls per
trial. --answers names the program ideas_answers of this directory, which prints the same from the library in one call;
`lineage` is then asked about every 20th trial and about the claims alone, and different answers are an error.

Printed for each log:
  settings  precision and recall of the changes that `show` prints with a label's changes. A change is found if the value
            is equal as a number (else as letters and digits) and the names share half of the words of the shorter one;
            "numbers" is the recall of the labels whose value is a number.
  first     how often the first trial that `similar` prints is a true repeat, among rows that have one; `five`: one of the
            first five is.
  same      precision and recall, over pairs, of the verdict `same` in those five. Recall counts every labelled pair; the
            second figure counts at most five for each row, which is all that five answers can hold. F1 is the harmonic mean
            of both, and that of plain TF-IDF is the largest over all its thresholds, with five answers for each row.
  claims    rows with a false claim of novelty that `claims` names, and false alarms: rows that it names without one, as a
            share of all claims of novelty in the log (--claims NAME=N says how many claims there are, default: one
            in five rows).
  replicas  with --answers: how many pairs of trials the library takes for replicas, and how many of these are labelled as
            one repeating the other.

--programs measures only what `show` finds in the programs DIR/NAME/snapshots, which are laid beside a copy of the log. Printed
for the trials whose program was compared with an ancestor's:
  measured  precision and recall of the measured changes, and of the stated ones in a store without the programs. A label
            says what a text states; a measured change without a label is a change that the text keeps to itself.

--skip prints a log a second time without the rows FROM to TO, such as a loop of resubmissions after crashes.
Exit status 0; 2 for a usage error; 3 if the program cannot be run.
"""
import argparse
import collections
import csv
import json
import math
import os
import re
import shutil
import subprocess
import sys
import tempfile

GREEK = dict(zip("αβγδελστθηρμ", "alpha beta gamma delta eps lambda sigma tau theta eta rho mu".split()))
SUBSCRIPTS = str.maketrans("₀₁₂₃₄₅₆₇₈₉", "0123456789")
NUMBER = re.compile(r"[~+]?(-?[\d,]*\.?\d+(?:e[-+]?\d+)?)\s*([kKMB%×x]?)\s*(?:[a-z]+)?")


def number(text):
    """The value of a number as people write it, or None."""
    text = text.strip().replace("−", "-")
    match = NUMBER.fullmatch(text)
    if match:
        try:
            value = float(match[1].replace(",", ""))
        except ValueError:
            return None
        if match[2] in ("k", "K"):
            return value * (1024 if value in (1, 2, 4, 8, 16, 32, 64, 128, 256, 512) else 1000)
        return value * {"M": 1e6, "B": 1e9, "%": 0.01}.get(match[2], 1)
    match = re.fullmatch(r"(\d+)(\^|\*\*|/)(\d+)", text)
    if match and float(match[3]):
        return float(match[1]) / float(match[3]) if match[2] == "/" else float(match[1]) ** float(match[3])
    match = re.fullmatch(r"sqrt\(([\d.]+)\)|√([\d.]+)", text)
    return math.sqrt(float(match[1] or match[2])) if match else None


def same_value(a, b):
    x, y = number(a), number(b)
    if x is not None and y is not None:
        rounded = a.strip()[-1:] in "kK" or b.strip()[-1:] in "kK"
        return abs(x - y) <= (0.025 if rounded else 1e-6) * max(abs(x), abs(y), 1e-12)
    letters = [re.sub(r"[^a-z0-9.]", "", text.lower()) for text in (a, b)]
    return letters[0] == letters[1]


def words(name):
    name = name.translate(SUBSCRIPTS)
    for letter, spelled in GREEK.items():
        name = name.replace(letter, spelled)
    found = re.findall(r"[a-z0-9]+", re.sub(r"([a-z])([A-Z])", r"\1 \2", name).lower())
    return {w[:-1] if len(w) > 3 and w[-1] == "s" and w[-2] not in "sui" else w for w in found}


def shortens(short, word):
    """Whether short abbreviates word: its beginning, or its consonants in order."""
    rest = iter(word)
    return len(short) >= 2 and (word.startswith(short) or (
        len(short) >= 3 and short[0] == word[0] and not set(short[1:]) & set("aeiou") and all(c in rest for c in short)))


def same_name(a, b):
    first, second = words(a), words(b)
    if not first or not second:
        return False
    hits = sum(any(x == y or shortens(x, y) or shortens(y, x) for y in second) for x in first)
    if hits >= 0.5 * min(len(first), len(second)):
        return True
    initials = ["".join(w[0] for w in re.findall(r"[a-z]+", text.lower())) for text in (a, b)]
    return any(len(x) > 1 and x in initials[1] for x in first) or any(len(x) > 1 and x in initials[0] for x in second)


def read_labels(path):
    with open(path, encoding="utf-8") as file:
        return {label["exp_id"]: label for label in map(json.loads, file)}


class Program:
    def __init__(self, path, directory):
        self.path, self.directory = path, directory

    def ask(self, *arguments):
        command = [self.path, *arguments, "-C", self.directory, "--format", "json"]
        done = subprocess.run(command, capture_output=True, check=False)
        if done.returncode not in (0, 1):
            raise OSError("%s: %s" % (" ".join(command), done.stderr.decode(errors="replace").strip()))
        return json.loads(done.stdout or b"[]")


def measure_programs(program, path, log, snapshots):
    """Measured and stated changes of the trials whose program and an ancestor's are there, against the labels."""
    labels = {}
    with open(path, encoding="utf-8") as file:
        for text in file:
            label = json.loads(text)
            labels[label["exp_id"]] = label
    with tempfile.TemporaryDirectory() as directory:
        shutil.copyfile(log, os.path.join(directory, "results.tsv"))
        asked = Program(program, directory)
        ids = [i for i in sorted(name.split("_")[0] for name in os.listdir(snapshots)) if i in labels]
        stated = {i: asked.ask("show", i)["changes"] for i in ids}
        shutil.copytree(snapshots, os.path.join(directory, "snapshots"), copy_function=shutil.copyfile)
        for root, _, _ in os.walk(directory):
            os.chmod(root, 0o700)
        shown = {i: asked.ask("show", i) for i in ids}
    ids = [i for i in ids if shown[i].get("measured_against")]
    measured = {i: [c for c in shown[i]["changes"] if c["source"] == "measured"] for i in ids}
    m = {"measured_trials": len(ids)}
    m["measured_precision"], m["measured_recall"] = hits_and_misses(ids, labels, measured)
    m["stated_precision"], m["stated_recall"] = hits_and_misses(ids, labels, stated)
    return m


def hits_and_misses(ids, labels, shown):
    found = wrong = wanted = 0
    for i in ids:
        used = set()
        for change in shown[i]:
            hit = [k for k, w in enumerate(labels[i]["changes"]) if k not in used and
                   same_value(change["to"], w["to"]) and same_name(change["name"], w["name"])]
            used.update(hit[:1])
            wrong += not hit
        found += len(used)
        wanted += len(labels[i]["changes"])
    return ratio(found, found + wrong), ratio(found, wanted)


SAMPLE = 20  # with --answers, the program is asked about one in 20 trials


def ask_library(program, directory):
    """What ideas_answers prints: changes and similar trials by id, the claims, and the replicas."""
    done = subprocess.run([program, directory], capture_output=True, check=False)
    if done.returncode:
        raise OSError("%s: %s" % (program, done.stderr.decode(errors="replace").strip()))
    lines = [json.loads(line) for line in done.stdout.splitlines()]
    shown = {line["exp_id"]: line["changes"] for line in lines if "exp_id" in line}
    near = {line["exp_id"]: line["similar"] for line in lines if "exp_id" in line}
    return shown, near, *(next(line[key] for line in lines if key in line) for key in ("claims", "replicas"))


def measure_replicas(groups, labels):
    """The pairs in groups of replicas, and how many of them are labelled as repeats."""
    pairs = [(a, b) for group in groups for k, b in enumerate(group) for a in group[:k] if a in labels and b in labels]
    return {"replica_pairs": len(pairs), "replicas_true": sum(a in labels[b]["same"] or b in labels[a]["same"] for a, b in pairs)}


def must_agree(what, library, program):
    """Checks that the program prints what the library says."""
    keys = ("name", "from", "to", "source", "exp_id", "same", "why", "claim", "counter")
    same = [[{k: item[k] for k in keys if k in item} for item in items] for items in (library, program)]
    if same[0] != same[1]:
        raise ValueError("%s: the program and the library differ: %r, %r" % (what, same[1], same[0]))


def answers(options, path, log):
    """Everything that the program says of a log: changes and similar trials by id, and the claims that it contradicts."""
    with tempfile.TemporaryDirectory() as directory:
        shutil.copyfile(log, os.path.join(directory, "results.tsv"))
        asked = Program(options.lineage, directory)
        csv.field_size_limit(1 << 30)
        with open(log, newline="", encoding="utf-8") as file:
            hypotheses = {row["exp_id"]: row["hypothesis"] for row in csv.DictReader(file, delimiter="\t")}
        labels = read_labels(path)
        ids = [i for i in hypotheses if i in labels]
        sample = ids[::SAMPLE] if options.answers else ids
        shown = {i: asked.ask("show", i)["changes"] for i in sample}
        near = {i: asked.ask("similar", i, "--before", "--limit", "5") for i in sample}
        claims = asked.ask("claims")
        replicas = None
        if options.answers:
            all_shown, all_near, all_claims, replicas = ask_library(options.answers, directory)
            for i in sample:
                must_agree("show " + i, all_shown[i], shown[i])
                must_agree("similar " + i, all_near[i], near[i])
            must_agree("claims", [claim for claim in all_claims if claim["counter"]], claims)
            shown, near = all_shown, all_near
    return ids, labels, shown, near, claims, replicas, hypotheses


def ratio(a, b):
    return a / b if b else 0.0


def f1(precision, recall):
    return ratio(2 * precision * recall, precision + recall)


def tfidf_f1(ids, labels, hypotheses):
    """What plain TF-IDF reaches: the five earlier rows with the largest cosine, at the threshold that suits the labels best."""
    counts = {i: collections.Counter(re.findall(r"\w+", text.lower())) for i, text in hypotheses.items()}
    df = collections.Counter(word for count in counts.values() for word in count)
    vectors, pairs, earlier = {}, [], []
    for i, count in counts.items():
        vector = {word: n * (math.log((1 + len(counts)) / (1 + df[word])) + 1) for word, n in count.items()}
        length = math.sqrt(sum(x * x for x in vector.values())) or 1
        vectors[i] = {word: x / length for word, x in vector.items()}
        near = sorted(((sum(x * vectors[k].get(word, 0) for word, x in vectors[i].items()), k) for k in earlier), reverse=True)
        pairs += [(cosine, k in labels[i]["same"]) for cosine, k in near[:5]] if i in ids else []
        earlier.append(i)
    wanted, right, best = sum(len(labels[i]["same"]) for i in ids), 0, 0.0
    for n, (_, same) in enumerate(sorted(pairs, reverse=True), 1):
        right += same
        best = max(best, f1(right / n, ratio(right, wanted)))
    return best


def measure(ids, labels, shown, near, claims, hypotheses, n_claims, errors):
    m = {"rows": len(ids)}
    found = wrong = wanted = numbers = numbers_found = 0
    for i in ids:
        used = set()
        for change in shown[i]:
            hit = [k for k, w in enumerate(labels[i]["changes"]) if k not in used and
                   same_value(change["to"], w["to"]) and same_name(change["name"], w["name"])]
            if hit:
                used.add(hit[0])
                found += 1
            else:
                wrong += 1
                if errors:
                    print("  %s states no %s %s" % (i, change["name"], change["to"]))
        for k, w in enumerate(labels[i]["changes"]):
            wanted += 1
            if number(w["to"]) is not None:
                numbers += 1
                numbers_found += k in used
            if errors and k not in used:
                print("  %s states %s %s, which was missed" % (i, w["name"], w["to"]))
    m["settings_precision"], m["settings_recall"] = ratio(found, found + wrong), ratio(found, wanted)
    m["settings_recall_numbers"] = ratio(numbers_found, numbers)
    repeats = first = five = right = flagged = pairs = reachable = 0
    for i in ids:
        same = set(labels[i]["same"])
        listed = [other["exp_id"] for other in near[i]]
        if same:
            repeats += 1
            first += bool(listed) and listed[0] in same
            five += bool(same & set(listed))
        said = [other["exp_id"] for other in near[i] if other["same"]]
        right += len(same & set(said))
        flagged += len(said)
        pairs += len(same)
        reachable += min(len(same), 5)
        for other in set(said) - same if errors else ():
            print("  %s is not the same as %s" % (i, other))
    m["repeats"] = repeats
    m["first"], m["five"] = ratio(first, repeats), ratio(five, repeats)
    m["same_precision"], m["same_recall"] = ratio(right, flagged), ratio(right, pairs)
    m["same_recall_of_five"] = ratio(right, reachable)
    m["same_f1"], m["tfidf_f1"] = f1(m["same_precision"], m["same_recall"]), tfidf_f1(ids, labels, hypotheses)
    false = {i for i in ids if labels[i]["false_novelty"]}
    named = {claim["exp_id"] for claim in claims} & set(ids)
    m["false_claims"] = len(false)
    m["claims_found"] = ratio(len(named & false), len(false))
    m["false_alarms"] = ratio(len(named - false), n_claims)
    if errors:
        for i in sorted(false - named):
            print("  %s claims falsely: %s" % (i, labels[i]["false_novelty"][0]["claim"]))
        for i in sorted(named - false):
            print("  %s claims truly, and was named" % i)
    return m


def line(name, m):
    if "measured_trials" in m:
        return "%-38s measured %.2f/%.2f stated %.2f/%.2f of %d" % (
            name, m["measured_precision"], m["measured_recall"], m["stated_precision"], m["stated_recall"], m["measured_trials"])
    return ("%-38s settings %.2f/%.2f (numbers %.2f)  first %.2f five %.2f of %d  same %.2f/%.2f (of five %.2f, "
            "F1 %.2f, of TF-IDF %.2f)  "
            "claims %.2f of %d, alarms %.3f%s" % (
                name, m["settings_precision"], m["settings_recall"], m["settings_recall_numbers"], m["first"], m["five"],
                m["repeats"], m["same_precision"], m["same_recall"], m["same_recall_of_five"], m["same_f1"], m["tfidf_f1"], m["claims_found"],
                m["false_claims"], m["false_alarms"],
                "  replicas %d of %d" % (m["replicas_true"], m["replica_pairs"]) if "replica_pairs" in m else ""))


def main():
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("labels", metavar="LABELS", help="directory with NAME.jsonl for each labelled log")
    parser.add_argument("--lineage", default="lineage", metavar="PROGRAM", help="the program (default: lineage)")
    parser.add_argument("--answers", metavar="PROGRAM", help="the program ideas_answers, which saves most calls")
    parser.add_argument("--logs", metavar="DIR", help="where run-NAME/raw/results.tsv are (default: LABELS/../../lineage-cases)")
    parser.add_argument("--log", action="append", metavar="NAME", help="measure only this log")
    parser.add_argument("--skip", action="append", default=[], metavar="NAME=FROM-TO", help="measure also without these rows")
    parser.add_argument("--claims", action="append", default=[], metavar="NAME=N", help="how many claims of novelty a log makes")
    parser.add_argument("--programs", metavar="DIR", help="measure only the changes of programs, from DIR/NAME/snapshots")
    parser.add_argument("--json", action="store_true", help="print one JSON object")
    parser.add_argument("--errors", action="store_true", help="print each error, too")
    options = parser.parse_args()
    logs = options.logs or os.path.join(options.labels, "..", "..", "lineage-cases")
    skips = dict(text.split("=", 1) for text in options.skip)
    counts = {name: int(n) for name, n in (text.split("=", 1) for text in options.claims)}
    names = sorted(name[:-6] for name in os.listdir(options.labels) if name.endswith(".jsonl"))
    result = {}
    for name in names:
        log = os.path.join(logs, "run-" + name, "raw", "results.tsv")
        if (options.log and name not in options.log) or not os.path.exists(log):
            continue
        if options.programs:
            snapshots = os.path.join(options.programs, name, "snapshots")
            if os.path.isdir(snapshots):
                result[name] = measure_programs(options.lineage, os.path.join(options.labels, name + ".jsonl"), log, snapshots)
            continue
        ids, labels, shown, near, claims, replicas, hypotheses = answers(options, os.path.join(options.labels, name + ".jsonl"), log)
        n_claims = counts.get(name, len(ids) // 5)
        result[name] = measure(ids, labels, shown, near, claims, hypotheses, n_claims, options.errors)
        if replicas is not None:
            result[name].update(measure_replicas(replicas, labels))
        if name in skips:
            low, high = skips[name].split("-")
            rest = [i for i in ids if not int(low) <= int(i) <= int(high)]
            result["%s without %s" % (name, skips[name])] = measure(rest, labels, shown, near, claims, hypotheses, n_claims, False)
    if options.json:
        json.dump(result, sys.stdout, indent=1)
        print()
    else:
        for name, m in result.items():
            print(line(name, m))
    return 0


if __name__ == "__main__":
    try:
        sys.exit(main())
    except (OSError, ValueError) as error:
        print("ideas_bench: %s" % error, file=sys.stderr)
        sys.exit(3)
