#!/bin/sh
# require.sh: a trial that does not meet a requirement is disqualified and never kept; the row names the requirement and
# the value.
. "$SOURCE/tests/support/shell.sh"

must_run init
must_run append --status auto --core-metric 5 --measured vram=40 --require 'vram<=48'
must_run append --status auto --core-metric 1 --measured vram=50 --notes 'wider' --require 'vram<=48' --format json
must_equal disqualified "$(json status)"
must_equal null "$(json core_metric)"
must_equal "wider; requires vram<=48, but it was 50; its score 1.0 does not count" "$(json notes | sed 's/^metrics [^;]*; //')"
must_run append --status auto --core-metric 1 --require 'vram<=48' --format json
must_equal disqualified "$(json status)"
must_have out "requires vram<=48, but it was never reported"
must_run append --status baseline --core-metric 1 --require 'core_metric>2' --format json
must_equal disqualified "$(json status)"
must_run append --status discard --core-metric 7 --require 'vram<=48' --format json
must_equal discard "$(json status)"
must_run best
must_have out 000

# Each row of several is judged for itself.
printf '{"status": "auto", "core_metric": 2, "metrics": {"vram": 60}}\n{"status": "auto", "core_metric": 4, "metrics": {"vram": 6}}\n' >two.json
must_run append --json two.json --require 'vram<=48' --require 'core_metric<9' --format tsv
must_have out "requires vram<=48, but it was 60"
must_run best
must_have out 006

before=$(cksum <results.tsv)
must_fail 2 "--require: 'vram=48' is not NAME<=NUMBER" append --status auto --core-metric 1 --require 'vram=48'
must_fail 2 "'vram<=x': 'x' is not a finite number" append --status auto --core-metric 1 --require 'vram<=x'
must_equal "$before" "$(cksum <results.tsv)" "results.tsv"
must_run verify

# A command: the metric is read from its output; the peak of memory is measured.
run run -C ran --direction lower -q -m loss -m vram --require 'vram<=48' -- echo 'loss=3 vram=40'
must_exit 0
run run -C ran -q -m loss -m vram --require 'vram<=48' --baseline -- echo 'loss=1 vram=50'
must_exit 1
must_have err "disqualified: requires vram<=48, but it was 50"
must_run show -C ran 001 --format json
must_equal disqualified "$(json status)"
must_equal null "$(json core_metric)"
must_have out "loss 1.0000 at step 0"
checks=$((checks + 1))
[ ! -e ran/snapshots/001_* ] || fail "a disqualified trial has a snapshot"
run run -C ran -q -m loss --require 'peak_memory_mb<=0.001' -- sh -c 'sleep 1.3; echo loss=1'
must_have err "disqualified: requires peak_memory_mb<=0.001, but it was"
must_fail 2 "require: 'vram' is not NAME<=NUMBER" run -C ran -m loss --require vram -- true

# A night: the sweep and the option add up.
cat >sweep.json <<'END'
{"name": "s", "direction": "lower", "command": ["echo", "loss={x}", "vram={x}"], "metrics": ["loss", "vram"],
 "require": ["vram<=8"], "grid": {"x": [7, 9, 2, 5]}}
END
must_run night sweep.json -C night -q --require 'vram>=3'
must_have out "000	baseline	7.0"
must_have out "001	disqualified	-"
must_have out "002	disqualified	-"
must_have out "003	keep	5.0"
sed 's/"vram<=8"/"vram"/' sweep.json >wrong.json
must_fail 2 "wrong.json: require: 'vram' is not NAME<=NUMBER" night wrong.json -C third
must_fail 2 "require: 'vram' is not NAME<=NUMBER" night sweep.json -C night --require vram
finish
