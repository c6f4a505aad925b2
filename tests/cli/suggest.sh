#!/bin/sh
# suggest.sh: what a proposer would try next: ranges, earlier trials, no repeats, running trials, a sweep's own ranges.
# shellcheck disable=SC2034,SC2154
. "$SOURCE/tests/support/shell.sh"

must_run init . --direction lower
ranges='--range lr=1e-5:1e-2:log --range layers=1:4:integer --range optimizer=adam,sgd'

# ---- an empty store, every method ----

for method in auto gp tpe sobol random grid; do
    # shellcheck disable=SC2086 # words of the list
    run suggest $ranges --propose $method -n 5 --seed 3 --format json
    must_exit 0
    must_equal "$method 5 false" "$(json method) $(json 'suggestions.#') $(json exhausted)"
    must_equal 5 "$(for i in 0 1 2 3 4; do json suggestions.$i; done | sort -u | wc -l)" "$method: no repeats"
    cp out first
    # shellcheck disable=SC2086
    run suggest $ranges --propose $method -n 5 --seed 3 --format json
    must_match_file first out
done
must_run suggest --range b=0:1 --range a=x,y --propose grid -n 4 --format json
must_equal '{"a":"x","b":0} {"a":"y","b":0} {"a":"x","b":0.33333}' "$(for i in 0 1 2; do json suggestions.$i; done | tr -d ' \n' | sed 's/}{/} {/g')"
run suggest --range alpha=0:1 --range optimizer=adam --propose grid --format tsv
must_equal "alpha${tab}optimizer|0${tab}adam|" "$(tr '\n' '|' <out)"
must_have err 'after 0 measured and 0 failed'
must_run suggest --range alpha=0.25 --format json
must_equal 0.25 "$(json suggestions.0.alpha)"

# ---- earlier trials ----

must_run append --status baseline --core-metric 1 --param x=1 --param o=adam
must_run append --status discard --core-metric 2 --param x=2 --param o=adam
must_run append --status crash --param x=3 --param o=adam
must_run append --status harness_abort --param x=4 --param o=adam
must_run append --status keep --core-metric 0.5 --param x=9 --param o=adam
must_run append --status keep --core-metric 0.4 --param x=1
must_run append --status discard --param x=4 --param o=adam --notes 'without a score'
run suggest --range x=1:4:integer --range o=adam -n 9 --propose random --format json
must_exit 0
must_equal '1 4 true' "$(json 'suggestions.#') $(json suggestions.0.x) $(json exhausted)"
must_equal '2 1 0 2' "$(json trials.measured) $(json trials.failed) $(json trials.running) $(json trials.elsewhere)"
must_fail 1 'was tried' suggest --range x=1:3:integer --range o=adam --propose tpe
must_run append --status crash --param α=0.5
run suggest --range α=0.5 --format json
must_exit 1

# ---- running trials ----

mkdir .trial-abcdef .trial-ghijkl
printf '{"name": "t", "params": {"x": 4, "o": "adam"}}\n{"step": 1}\n' >.trial-abcdef/events.jsonl
printf '{"name": "left behind", "params": {"x": 5, "o": "adam"}}\n' >.trial-ghijkl/events.jsonl
flock .trial-abcdef sh -c '"$LINEAGE" suggest --range x=1:5:integer --range o=adam -n 9 --propose sobol --format json' >out 2>err
must_equal '1 5 1' "$(json 'suggestions.#') $(json suggestions.0.x) $(json trials.running)"
rm -r .trial-abcdef .trial-ghijkl

# ---- the proposer finds better settings ----

must_run init b --direction higher
i=0
while [ $i -lt 30 ]; do
    run suggest --range x=0:1 -C b --seed 1 --format json
    x=$(json suggestions.0.x)
    run append -C b --status auto --param "x=$x" --core-metric "$(awk "BEGIN { print 1 - ($x - 0.3) ^ 2 }")"
    i=$((i + 1))
done
run best -C b --format json
checks=$((checks + 1))
awk "BEGIN { exit !($(json score) > 0.999) }" || fail "30 trials of auto found $(json score)"
must_run verify -C b

# ---- a sweep's own ranges ----

cat >sweep.json <<'END'
{"ranges": {"y": "1:8:log-integer", "o": ["adam", "sgd", 3]}, "propose": {"method": "grid", "seed": 5}}
END
must_run suggest sweep.json --format json -n 3
must_equal 'grid 5' "$(json method) $(json seed)"
must_equal '{"o":"adam","y":1}{"o":"sgd","y":1}{"o":3,"y":1}' "$(for i in 0 1 2; do json suggestions.$i; done | tr -d ' \n')"
run suggest sweep.json --propose sobol --seed 6 --format json
must_equal 'sobol 6' "$(json method) $(json seed)"

# ---- ranges with conditions ----

cat >tree.json <<'END'
{"ranges": {"nesterov": {"range": [0, 1], "if": "momentum=0.5:0.9"}, "momentum": "0:0.9:linear:2 if optimizer=sgd,'x,y'",
            "optimizer": ["adam", "sgd", "x,y"]}, "propose": {"method": "grid"}}
END
must_run init t --direction lower
must_run suggest tree.json -C t --format json -n 20
must_equal '{"optimizer":"adam"}{"momentum":0,"optimizer":"sgd"}{"momentum":0.9,"nesterov":0,"optimizer":"sgd"}{"momentum":0.9,"nesterov":1,"optimizer":"sgd"}{"momentum":0,"optimizer":"x,y"}{"momentum":0.9,"nesterov":0,"optimizer":"x,y"}{"momentum":0.9,"nesterov":1,"optimizer":"x,y"}' \
    "$(for i in 0 1 2 3 4 5 6; do json suggestions.$i; done | tr -d ' \n')" 'a grid has no value where a condition does not hold'
must_equal '7 true' "$(json 'suggestions.#') $(json exhausted)"
must_run append -C t --status keep --core-metric 1 --param optimizer=adam
must_run append -C t --status discard --core-metric 2 --param optimizer=adam --param momentum=7
must_run append -C t --status discard --core-metric 2 --param optimizer=sgd
run suggest tree.json -C t --format json -n 20
must_equal '6 2 1' "$(json 'suggestions.#') $(json trials.measured) $(json trials.elsewhere)"
run suggest --range 'm=0:1 if o=b' --range o=a,b -C t --format tsv --propose grid
must_equal "m${tab}o|${tab}a|" "$(tr '\n' '|' <out)"
must_fail 2 "names none of the ranges" suggest --range 'm=0:1 if q=b' --range o=a,b
must_fail 2 "must name values of o" suggest --range 'm=0:1 if o=c' --range o=a,b
must_fail 2 "must name values of n" suggest --range 'm=0:1 if n=7:9' --range n=1:5
must_fail 2 "is not NAME=VALUES" suggest --range 'm=0:1 if o' --range o=a,b
must_fail 2 'depends on itself' suggest --range 'm=0:1 if n=1' --range 'n=1:2 if m=1'
must_fail 2 'depends on itself' suggest --range 'm=0:1 if m=1'
printf '{"ranges": {"m": {"if": "o=a"}, "o": ["a"]}}\n' >bad.json
must_fail 2 '"range" is missing' suggest bad.json
printf '{"ranges": {"m": {"range": "0:1", "iff": "o=a"}, "o": ["a"]}}\n' >bad.json
must_fail 2 "unknown key 'iff'" suggest bad.json
printf '{"ranges": {"m": {"range": "0:1 if o=a", "if": "o=a"}, "o": ["a"]}}\n' >bad.json
must_fail 2 'two conditions' suggest bad.json

# ---- failures by cause ----

must_run init f --direction lower
must_run append -C f --status crash --param x=1 --notes 'OSError: [Errno 28] No space left on device'
must_run append -C f --status disqualified --param x=2
must_run append -C f --status harness_abort --param x=3
run suggest --range x=1:3:integer -C f -n 3 --format json
must_equal '3 1 2' "$(json suggestions.0.x) $(json 'suggestions.#') $(json trials.failed)" 'what failed is not repeated, harness_abort is'

# ---- refused input ----

must_fail 2 'give at least one range' suggest
must_fail 2 'a log range begins above 0' suggest --range lr=0:1:log
must_fail 2 'the lower end comes first' suggest --range lr=1:1
must_fail 2 'whole numbers' suggest --range n=1:2.5:integer
must_fail 2 "the scale 'cubic'" suggest --range n=1:2:cubic
must_fail 2 'must be 1 to 1000' suggest --range n=1:2:log:0
must_fail 2 'both ends must be finite' suggest --range n=1:inf
must_fail 2 'two ranges of that name' suggest --range n=1:2 --range n=1:3
must_fail 2 'is there twice' suggest --range o=adam,adam
must_fail 2 'NAME=LOW:HIGH' suggest --range 1:2
must_fail 2 'not a name of a parameter' suggest --range 7=1:2
must_fail 2 'single quotes' suggest --range o=7B
must_fail 2 'use auto, gp, tpe, sobol, random or grid' suggest --range n=1:2 --propose bayes
must_fail 2 '--n must be 1' suggest --range n=1:2 -n 0
echo '{"ranges": {"n": true}}' >bad.json
must_fail 2 'bad.json: n: a range is a text' suggest bad.json
echo '{"ranges": {"n": "1:2"}, "propose": {"methode": "tpe"}}' >bad.json
must_fail 2 "unknown key 'methode'" suggest bad.json
echo '{"trials": [{}]}' >bad.json
must_fail 2 'one at least' suggest bad.json
# ---- a store with more rows than are read ----

# The first rows try x from 1 to 60; the newest 1,500 have x = 1 and 2 only.
must_run init many --direction lower
must_run append -C many --status baseline --core-metric 10 --param x=1
awk -F "$tab" -v OFS="$tab" '
    { print }
    NR == 1 { for (i = 1; i <= NF; i++) at[$i] = i }
    NR == 2 {
        for (n = 2; n <= 1560; n++) {
            $at["exp_id"] = sprintf("%07d", 1000000 + n)
            $at["status"] = n == 30 ? "keep" : "discard"
            $at["core_metric"] = n == 30 ? 1 : 20 + n / 10000
            $at["notes"] = "x=" (n <= 60 ? n : n % 2 + 1) (n > 60 && n <= 1000 ? "; y=" n % 9 : "")
            print
        }
    }' many/results.tsv >rows && cp rows many/results.tsv
must_run query -C many --limit 1
for method in auto gp tpe sobol random grid; do
    run suggest -C many --range x=1:61:integer --propose $method --format json
    must_exit 0
    must_equal "$method 61" "$method $(json suggestions.0.x)" "the only value that was not tried"
    must_fail 1 'was tried' suggest -C many --range x=1:60:integer --propose $method
done
# A range without a tried value near the proposal needs no more than the newest and the best rows.
must_run suggest -C many --range x=0:99 --format json
must_equal '1000 560' "$(json trials.measured) $(json trials.unread)" "x: rows that were read, and that were not"
run suggest -C many --range x=0:99
must_exit 0
must_have err '; 560 more were not read'
must_run suggest -C many --range y=0:8 --format json
must_equal '940 620' "$(json trials.measured) $(json trials.unread)" "y: all rows that declare it"
must_run suggest -C many --range z=0:1 --format json
must_equal '0 1560' "$(json trials.measured) $(json trials.unread)" "z: no row declares it"

# An integer of 2^53 or more is one value to choose, as a row holds it, and no end of a range of integers.
must_run init -C wide
must_run suggest -C wide --range y=9007199254740991,9007199254740992,9007199254740993 --range 'm=0:1:linear:2 if y=9007199254740993' \
    --propose grid -n 9 --format json
for value in 9007199254740991 '"9007199254740992"' '"9007199254740993"'; do
    must_have out "\"y\": $value"
done
must_equal 2 "$(grep -c '"m": [01]' out)" 'only with the wide one'
printf '{"ranges": {"y": [9007199254740993, 9007199254740992, 7], "z": 9007199254740995}}\n' >wide.json
must_run suggest wide.json -C wide --propose grid -n 3 --format json
for value in '"y": "9007199254740993"' '"y": "9007199254740992"' '"y": 7' '"z": "9007199254740995"'; do
    must_have out "$value"
done
must_fail 2 'neither LOW:HIGH nor values' suggest --range y=9007199254740993x
must_fail 2 'neither LOW:HIGH nor values' suggest --range y=a,9007199254740993:5
must_fail 2 'end at 2^53; list wider ones' suggest --range x=1:9007199254740994:integer

finish
