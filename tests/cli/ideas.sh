#!/bin/sh
# ideas.sh: changes, similar trials and claims of novelty of a log in words; and on labelled logs, where they are there.
# shellcheck disable=SC2034,SC2154 # shared with shell.sh
. "$SOURCE/tests/support/shell.sh"

# ---- another tool's log, where it is ----

{
    printf 'exp_id\tparent_exp\tspecialist\thypothesis\tstatus\taccuracy\tnotes\n'
    printf '000\t\t\tbaseline\tbaseline\t0.90\t\n'
    printf '001\t000\taug\tRaise mixup_alpha from 0.2 to 0.4\tdiscard\t0.89\t\n'
    printf '002\t000\topt\tLower entropy_coef 0.01→0.001 + work_mem 4→64\tcrash\t\tretry of 001, sort of\n'
    printf '003\t002\topt\tRaise mixup alpha 0.2 → 0.4 again\tkeep\t0.91\tmixup_alpha has never been varied\n'
} >results.tsv
before=$(cksum results.tsv)

must_run show 002 --format json
must_equal 'entropy_coef 0.01 0.001 stated work_mem 4 64 stated' \
    "$(for i in 0 1; do for key in name from to source; do json changes.$i.$key; done; done | xargs)"
must_equal '["001"]' "$(json cites | tr -d ' \n')"
must_run show 001
must_have out 'mixup_alpha 0.2 → 0.4 (stated)'
must_have out 'cited_by            002 crash'

must_run similar 003 --before --limit 5 --format json
must_equal '001 true' "$(json 0.exp_id) $(json 0.same)"
must_have out 'same knob mixup_alpha, same value 0.4'
must_run similar 003 --before --strictness 0.9999 --format json
must_equal '001 false' "$(json 0.exp_id) $(json 0.same)" 'nothing is that sure'
must_run similar 'raise mixup_alpha to 0.3' --strictness 0.0001 --format json
must_equal true "$(json 0.same)" 'everything near is the same'
for bad in 0 1 -0.5 nan much; do
    must_fail 2 -- "--strictness" similar 003 --strictness "$bad"
done
must_run similar 'raise mixup_alpha to 0.3' --limit 1
must_have out 'same knob mixup'
must_have out related
must_fail 1 'no trial 077' similar 077
must_fail 2 -- '--before needs the id of a trial' similar 'some idea' --before
run similar 'zzz qqq'
must_exit 1

must_run claims --format json
must_equal '1 003 ["001"]' "$(json '#') $(json 0.exp_id) $(json 0.counter | tr -d ' \n')"
must_run claims
must_have out '001 discard'
must_lack err 'looked up'
run claims --limit 1
must_exit 0
must_have err 'looked up the newest 1; '
must_have err ' older trials are left out; `--limit 0` '
must_equal "$before" "$(cksum results.tsv)" 'the log is not written to'

# A table looks up the newest 1,000 claims; other formats have all.
mkdir many
awk 'BEGIN {
    OFS = "\t"
    print "exp_id", "status", "core_metric", "hypothesis"
    for (i = 0; i < 1001; i++)
        print sprintf("%04d", i), "discard", 1, "Lower knob" i " from 2 to 1, never tried"
}' >many/results.tsv
must_run claims -C many --all --format tsv
must_equal '1002 ' "$(wc -l <out) $(cat err)"
run claims -C many --all
must_exit 0
must_have err 'looked up the newest 1000; 1 older trial is left out; '

# ---- a long log: trials are found by their rarest words ----

mkdir long && must_run init long
must_run append -C long --status baseline --core-metric 1 --hypothesis 'Raise gate_temperature from 1.5 to 2.25'
awk -F "$tab" -v OFS="$tab" 'NR == 1 { for (i = 1; i <= NF; i++) at[$i] = i }
    { print }
    NR == 2 {
        for (n = 2; n <= 1500; n++) {
            $at["exp_id"] = sprintf("%04d", n)
            $at["status"] = "discard"
            $at["hypothesis"] = n == 1400 ? "Set gate_temperature 1.5 → 2.25 again" : "Lower layer_" n % 37 "_rate from 0." n " to 0.1" n
            print
        }
    }' long/results.tsv >rows && cp rows long/results.tsv
must_run similar -C long 1400 --before --limit 2 --format json
must_equal '000 true' "$(json 0.exp_id) $(json 0.same)"
must_have out 'same knob gate_temperature, same value 2.25'
must_run similar -C long 'gate_temperature 1.5 → 2.25' --limit 2 --format json
must_equal '000 1400' "$(for i in 0 1; do json $i.exp_id; done | sort | xargs)"
run similar -C long 'zzz qqq'
must_exit 1
must_fail 1 'no trial 9999' similar -C long 9999
run append -C long --check-tried --status discard --core-metric 1 --hypothesis 'gate_temperature 1.5 → 2.25'
must_exit 1
must_have err 'tried already: 000'

# ---- an empty store ----

mkdir empty && must_run init empty
must_run claims -C empty --format json
must_equal '[]' "$(cat out)"
run similar -C empty 'anything'
must_exit 1

# ---- labelled logs ----

labels=${SHARED_DIR:-$SOURCE/../shared}/ideas/labels
if [ ! -d "$labels" ] || ! command -v python3 >/dev/null; then
    echo 'the labelled logs or python3 are not there: precision and recall are not measured'
    finish
fi
[ "$INSTRUMENTED" = no ] || { echo 'precision and recall are measured without sanitizers only' && finish; }
# Floors lie a margin below what was measured; the aims are higher (tests/bench/ideas_bench.py --help has the measures).
# at_least FLOOR LOG MEASURE
at_least()
{
    checks=$((checks + 1))
    value=$("$JSON_GET" "$2.$3" <measured) || value=0
    awk "BEGIN { exit !($value >= $1) }" || fail "$2: $3 is $value, below $1"
}
at_most()
{
    checks=$((checks + 1))
    value=$("$JSON_GET" "$2.$3" <measured) || value=1
    awk "BEGIN { exit !($value <= $1) }" || fail "$2: $3 is $value, above $1"
}
# ideas_answers asks the library in one call; the bench checks on a sample of trials that the program prints the same.
python3 -B "$SOURCE/tests/bench/ideas_bench.py" --lineage "$LINEAGE" --answers "$BUILD/tests/bench/ideas_answers" --json \
    --claims pg-ablation-lineage-on=43 --claims pg-variant-single-agent=41 "$labels" >measured || fail 'the bench failed'
for log in pg-ablation-lineage-on pg-variant-single-agent; do
    at_least 0.78 "$log" settings_precision
    at_least 0.79 "$log" settings_recall_numbers
    at_least 0.85 "$log" first
    at_least 0.97 "$log" five
    at_least 0.70 "$log" same_precision
    at_least 0.60 "$log" same_recall_of_five
    at_least "$("$JSON_GET" "$log.tfidf_f1" <measured)" "$log" same_f1
    at_least 0.74 "$log" claims_found
    at_most 0.05 "$log" false_alarms
done

# An idea that nothing is like, words that no trial has, and a bundle whose parts were tried one by one.
mkdir parts
{
    header
    trial 000 '' baseline 1 'baseline with the AdamW optimizer and cosine decay'
    trial 001 000 discard 1.1 'raise learning_rate from 0.1 to 0.2'
    trial 002 000 discard 1.2 'lower dropout from 0.3 to 0.1'
    trial 003 000 discard 1.2 'wider hidden layers, and warm-up of the schedule'
} >parts/results.tsv
run -C parts similar 'quantum flux capacitor'
must_exit 1
must_have err 'nothing like this; no trial has the words quantum, flux, capacitor'
run -C parts similar 'use the Adafactor optimizer'
must_have err 'nothing quite like this; no trial has the word Adafactor'
run -C parts similar 'learning_rate 0.1 to 0.2 and dropout 0.3 to 0.1'
must_exit 0
must_have err 'its parts were tried in 00'
must_have err '; never together'
must_run -C parts similar 'raise learning_rate from 0.1 to 0.2'
must_fail 2 'a text that begins with - belongs behind --' -C parts similar '--qk-norm on'
run -C parts similar -- '--dropout 0.3 to 0.1'
must_exit 0
finish
