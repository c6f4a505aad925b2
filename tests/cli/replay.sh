#!/bin/sh
# replay.sh: what tests/bench/replay_bench answers for a log whose answers are known.
. "$SOURCE/tests/support/shell.sh"
replay=$BUILD/tests/bench/replay_bench
[ -x "$replay" ] || { echo "the benches were not built"; exit 77; }

# Two pairs of replicas whose scores differ by 0.2: noise 0.1414 with two degrees of freedom, so the floor is
# 4.303 * sqrt(2) * 0.1414 = 0.8605. Of the keeps, 5.0 and 4.9 gain less and 3.0 gains more.
must_run init log
add()
{
    status=$1 score=$2 lr=$3
    shift 3
    must_run -C log append --status "$status" --core-metric "$score" --param "lr=$lr" --hypothesis "set lr to $lr" "$@"
}
add baseline 5.2 1
add keep 5.0 2
add discard 5.2 2
add keep 4.9 3
add discard 5.1 3
add keep 3.0 4
must_run -C log append --status size_blocked --param wide=8 --hypothesis 'set wide from 2 to 8'
must_run -C log append --status size_blocked --param wide=16 --hypothesis 'set wide from 2 to 16'
before=$(cksum <log/results.tsv)
"$replay" --json log >out 2>err || fail "replay_bench: exit status $?"
must_equal "" "$(cat err)"
must_equal log "$(json 0.log)"
must_equal 8 "$(json 0.trials)"
must_equal 6 "$(json 0.measured)"
must_equal 4 "$(json 0.replicas)"
must_equal 2 "$(json 0.freedom)"
must_equal 0.1414 "$(json 0.noise | cut -c 1-6)"
must_equal 0.860 "$(json 0.floor | cut -c 1-5)"
must_equal 3 "$(json 0.keeps)"
must_equal 1 "$(json 0.keeps_above_floor)"
must_equal 1 "$(json 0.keeps_judged_again)"
must_equal 0.3 "$(json 0.gain_below_floor | cut -c 1-3)"
must_equal 2 "$(json 0.walls)"
must_equal 1 "$(json 0.walls_foreseen)"
must_equal 0 "$(json 0.measured_called)"
must_equal "$before" "$(cksum <log/results.tsv)" "the log"

"$replay" log/results.tsv >out || fail "replay_bench: exit status $?"
must_have out "| keeps above the noise floor | 1 of 3;"

# Labels: the second of a pair repeats the first.
printf '{"exp_id": "002", "same": ["001"]}\n{"exp_id": "004", "same": ["003"]}\n' >labels
"$replay" --json --labels labels log >out
must_equal 2 "$(json 0.repeats)"

for arguments in '--wrong' '--direction up log' '--labels labels log log'; do
    # shellcheck disable=SC2086
    "$replay" $arguments >out 2>err
    must_equal 2 $? "replay_bench $arguments"
done
"$replay" missing >out 2>err
must_equal 3 $? "a missing log"
must_have err "cannot read missing"
finish
