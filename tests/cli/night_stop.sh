#!/bin/sh
# night_stop.sh: a night ends at a target or a plateau, says why, and what another hour would bring.
# shellcheck disable=SC2034,SC2154 # shared with shell.sh
. "$SOURCE/tests/support/shell.sh"

# The loss has noise of about 0.05, which depends on the seed and the setting only.
cat >noisy.sh <<'END'
awk -v x="$1" -v s="$2" 'BEGIN { n = (s * 7 + x * 31 + s * s * 3) % 17; print "METRIC loss=" 1 + x / 10 + (n - 8) / 100; print "METRIC acc=" x / 10 }'
END
cat >grid.json <<'END'
{"name": "g", "direction": "lower", "command": ["sh", "noisy.sh", "{x}", "{seed}"], "metrics": ["loss", "acc"],
 "grid": {"x": [5, 4, 3, 2, 1, 0]}}
END
rows()
{
    sed 1d "$1/results.tsv" | wc -l | tr -d ' '
}
night()
{
    run night "$@"
    must_exit 0
}

# ---- a target: by the score's name, by score, by another metric; one run is enough only if nothing runs again ----
night grid.json -C single --no-confirm --until 'loss<=1.2'
must_have err 'the target loss<=1.2 is reached: 003 has 1.16'
must_have err 'of 1 run;'

must_have err '2 of 6 trials are left'
must_lack err "--until"
must_equal 4 "$(rows single)"
must_run search reached -C single
must_have out 003
must_run render -C single
must_have out 'After 003, night g stopped: the target loss<=1.2'
must_run report -C single -o page.html
must_have page.html 'night g stopped: the target loss&lt;=1.2'
night grid.json -C single --no-confirm --until 'loss<=1.2'
must_equal 4 "$(rows single)" "a target that is reached runs nothing"
must_equal 1 "$(wc -l <single/remarks.jsonl | tr -d ' ')" "nor is it said again"
night grid.json -C single -q --no-confirm
must_equal 6 "$(rows single)" "without the option the night goes on"
night grid.json -C metric --no-confirm --until 'acc < 0.35'
must_have err 'the target acc<0.35 is reached: 002 has 0.3'
night grid.json -C twice --until 'score<=1.25'
must_have err ', the mean of 2 runs'
must_equal 4 "$(rows twice)" "the trial at the target runs a second time at once"
night grid.json -C jobs --no-confirm --until 'score<=1.25' --jobs 2
[ "$(rows jobs)" -le 6 ] && must_have err 'the target score<=1.25 is reached'
night grid.json -C hours --until 'score<=0' --hours 9
must_lack err 'the target'

# ---- refused: the wrong direction, a name that nobody knows, no requirement, before anything runs ----
must_fail 2 "a lower value is better in this store; use 'loss<=1.2'" night grid.json -C wrong --until 'loss>=1.2'
must_fail 2 'no trial has a metric of this name' night grid.json -C wrong --until 'val_lozz<=1.2'
must_fail 2 "'loss'" night grid.json -C wrong --until loss
must_fail 2 "'loss<=nan'" night grid.json -C wrong --until 'loss<=nan'
must_fail 2 'a gain of the score above 0' night grid.json -C wrong --plateau=-1
must_fail 2 'a gain of the score above 0' night grid.json -C wrong --plateau 0
[ ! -s wrong/results.tsv ] || fail "a refused night ran trials"

# ---- a plateau of a list: by a price, by the noise, never without either ----
"$LINEAGE" init quiet --direction lower --noise-std 0.5 >/dev/null
night grid.json -C quiet --plateau --no-confirm
must_have err 'less than a quarter of the noise, 0.125'
must_equal 5 "$(rows quiet)" "five trials are looked at first"
night grid.json --plateau -C unknown --no-confirm --hours 0.001
must_have err '--plateau noise'
night grid.json --plateau noise -C unknown --no-confirm
must_equal 6 "$(rows unknown)" "nothing is known about the noise"
night grid.json -C price --runs 14 --plateau 0.3
must_have err 'less than the price 0.3'
[ "$(rows price)" -lt 14 ] || fail "the price saved no run"
night grid.json -C dear --runs 14 --plateau 0.0000001
[ "$(rows dear)" -ge "$(rows price)" ] || fail "a lower price stops earlier"

# ---- of proposals: the gain falls as the process learns; workers decide the same from the same rows ----
echo 'awk -v x="$1" "BEGIN { print \"METRIC loss=\" (x - 0.3) * (x - 0.3) }"' >bowl.sh
cat >ranges.json <<'END'
{"name": "r", "direction": "lower", "command": ["sh", "bowl.sh", "{x}"], "metrics": ["loss"], "ranges": {"x": "0:1"}}
END
night ranges.json -C bowl --propose gp --trials 40 --plateau 0.001
must_have err 'plateau: the next 5 runs likely bring'
must_have err 'trials are left'
[ "$(rows bowl)" -lt 30 ] || fail "no plateau in $(rows bowl) runs"
must_run best -C bowl --format json
must_equal 1 "$(awk "BEGIN { print ($(json core_metric) < 0.002) }")" "the answer"
n=$(rows bowl)
night ranges.json -C bowl --propose gp --trials 40 --plateau 0.001 --worker
must_equal "$n" "$(rows bowl)" "a worker on the plateau"
finish
