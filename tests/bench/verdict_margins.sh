#!/bin/sh
# verdict_margins.sh: a small run of verdict_bench: the rules of the store keep hardly anything falsely, the race finds most effects,
# and the old rules do neither. The seed is fixed, so that the result depends on the code alone. The share that is found is 1 to 2.5
# standard errors of 24 nights from its margin: a change of the draws may cross it.
#
# usage: sh tests/bench/verdict_margins.sh VERDICT_BENCH
set -eu

usage() { sed -n '2,/^set -eu$/{ /^set -eu$/d; s/^# \{0,1\}//; p; }' "$0"; }
case ${1:-} in
-h | --help) usage && exit 0 ;;
-* | '') printf 'verdict_margins.sh: it needs the path of verdict_bench; see sh %s --help\n' "$0" >&2 && exit 2 ;;
esac
"$1" --json --nights 24 --effects 1 --seed 7 | python3 -c '
import json, sys
rules = {(r["rule"], r["seeds"]): r for r in json.load(sys.stdin)}
wrong = []
def check(good, what):
    if not good:
        wrong.append(what)
for name in ("one score", "confirm", "race"):
    for effects in ("effects_0", "effects_1"):
        check(rules[name, 1][effects]["false_nights"] <= 0.2, "%s: too many false keeps with %s" % (name, effects))
check(rules["better", 1]["effects_0"]["false_nights"] >= 0.9, "better than the best: too few false keeps")
check(rules["two errors", 1]["effects_0"]["false_nights"] >= 0.2, "two errors: too few false keeps")
check(rules["race", 1]["effects_1"]["found"] >= 0.35, "race: too few effects are found")
check(rules["race", 1]["effects_1"]["found"] > rules["confirm", 1]["effects_1"]["found"], "race finds no more than confirm")
check(abs(rules["race", 1]["effects_0"]["luck"]) <= 0.4, "race: the best score is too lucky")
check(rules["race", 1]["effects_0"]["runs"] <= 700, "race: more runs than it may use")
print("\n".join(wrong) or "the rules are within their margins")
sys.exit(1 if wrong else 0)'
