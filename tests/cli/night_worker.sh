#!/bin/sh
# night_worker.sh: a night shared by workers: which worker runs which trial, takeovers, late workers, and the output of `status`.
# shellcheck disable=SC2034,SC2154
. "$SOURCE/tests/support/shell.sh"
[ -r /proc/self/stat ] || { echo 'no /proc: skipped' && exit 77; }

# The first of a trial that says so waits until it may go on; those behind it do not.
cat >train.sh <<'END'
x=$1
echo "$x" >>"$SEEN"
if [ "$x" = "${WAITS:-}" ] && mkdir first 2>/dev/null; then
    echo "METRIC step=3 loss=0.25"
    touch begun
    until [ -e go ]; do sleep 0.05; done
fi
[ -z "${SLEEP:-}" ] || sleep "$SLEEP"
echo "METRIC loss=$x"
END
SEEN=$PWD/seen
export SEEN
cat >sweep.json <<'END'
{"name": "s", "direction": "lower", "score": "loss", "grace_seconds": 1, "baseline_seeds": 1, "command": "sh train.sh {x}",
 "grid": {"x": [1, 2, 3, 4, 5, 6, 7, 8]}}
END
rows()
{
    sed 1d "$1/results.tsv" 2>/dev/null | wc -l
}
# once STORE N: N trials have a row that counts, and none has two.
once()
{
    sed 1d "$1/results.tsv" | awk -F '\t' '$9 != "harness_abort"' | sed 's/.*, key \([0-9a-f]*\).*/\1/' | sort >had
    must_equal "$2 $2" "$(wc -l <had) $(sort -u had | wc -l)" "$1: rows and trials"
    must_run verify -C "$1"
    must_equal '' "$(find "$1" -name '*.claim*' ! -name .claims)" "$1: claims are left"
}
# until_true COMMAND..: a slow machine takes its time.
until_true()
{
    tries=0
    until "$@" >/dev/null 2>&1; do
        tries=$((tries + 1))
        [ $tries -lt 3000 ] || { fail "waited in vain for: $*" && return; }
        sleep 0.05
    done
}
# worker NAME ARGUMENT..: one in the background; its number is in $pid.
worker()
{
    name=$1
    shift
    "$LINEAGE" night "$@" --worker >"$name.out" 2>"$name.err" </dev/null &
    pid=$!
}
# ended NAME PID: it ended well.
ended()
{
    wait "$2"
    must_equal 0 $? "$1: exit status ($(cat "$1.err"))"
}

# ---- one list, several workers ----

SLEEP=0.1
export SLEEP
worker a sweep.json -C n && a=$pid
worker b sweep.json -C n && b=$pid
worker c sweep.json -C n --jobs 2 && c=$pid
ended a "$a" && ended b "$b" && ended c "$c"
once n 8
must_equal 8 "$(wc -l <seen)" 'nothing runs twice'
must_equal 8 "$(cat a.out b.out c.out | sort -u | wc -l)" 'each says what it ran'
must_equal 1 "$(sed 1d n/results.tsv | cut -f 9 | grep -c baseline)" 'all wait for the first that is measured'
must_have a.err 'all 8 trials have their rows'
run status -C n
must_exit 1
run night sweep.json -C n --worker
must_exit 0
must_equal 8 "$(rows n)"

# Children wait for parents that others run.
sed 's/"grid"/"trials": [{"name": "up"}, {"name": "down", "parent": "up"}], "grid"/; s/, 4, 5, 6, 7, 8//' sweep.json >family.json
worker a family.json -C f && a=$pid
worker b family.json -C f && b=$pid
ended a "$a" && ended b "$b"
once f 6
awk -F '\t' 'NR > 1 { if ($4 != "" && !($4 in seen)) exit 1; seen[$1] = 1 }' f/results.tsv || fail 'a child before its parent'
must_equal 3 "$(sed 1d f/results.tsv | cut -f 4 | grep -c .)"

# ---- what is proposed ----

sed 's/"grid": .*/"ranges": {"x": "1:40:integer"}}/' sweep.json >space.json
: >seen
worker a space.json -C p --propose tpe --trials 9 && a=$pid
worker b space.json -C p --propose tpe --trials 9 && b=$pid
worker c space.json -C p --propose tpe --trials 9 && c=$pid
ended a "$a" && ended b "$b" && ended c "$c"
once p 9
must_equal 9 "$(sort -u seen | wc -l)" 'no two propose the same'

# ---- killed: another takes over at once ----

unset SLEEP
WAITS=1
export WAITS
worker a sweep.json -C k --lease 1000 -q && a=$pid
until_true test -e begun
until_true sh -c '"$LINEAGE" status -C k | grep 0.25'
must_run status -C k --format json
must_equal "$(hostname):$a s 1 0.25 3 running" \
    "$(json 0.worker) $(json 0.night) $(json 0.attempt | cut -d . -f 1) $(json 0.metrics | sed 's/loss //') $(json 0.step) $(json 0.phase)"
must_equal "$("$LINEAGE" night sweep.json -C k --list --format tsv | sed -n 2p | cut -f 5)" "$(json 0.key)"
must_equal yes "$(awk "BEGIN {if ($(json 0.lease) > 900 && $(json 0.lease) <= 1000) print \"yes\"}")" 'what is left of the lease'
run night sweep.json -C k
must_exit 3
must_have err 'another night runs in k'
run night sweep.json -C k --list
must_exit 0
# Another version of the sweep is refused, the same one in another order of its keys is not.
sed 's/, 7, 8\]/, 7, 9]/' sweep.json >edited.json
must_fail 2 "the worker $(hostname):$a runs another version of this sweep" night edited.json -C k --worker
must_equal 0 "$(rows k)" 'a refused worker runs nothing'
python3 -c 'import json; d = json.load(open("sweep.json")); json.dump({k: d[k] for k in sorted(d)}, open("sorted.json", "w"), indent=1)'
worker b sorted.json -C k -q && b=$pid
sleep 0.3
must_equal 0 "$(rows k)" 'others wait for the trial that they are compared with'
kill -9 "$a"
wait "$a" 2>/dev/null
ended b "$b"
once k 8
must_equal 1 "$(sed 1d k/results.tsv | cut -f 9 | grep -c harness_abort)" 'the interrupted trial has its row'
must_equal 8 "$(grep -c 'worker of lineage [0-9.]*, sweep [0-9a-f]\{16\};' k/results.tsv)" 'rows say which version ran them'
must_equal 1 "$(grep -o 'sweep [0-9a-f]\{16\}' k/results.tsv | sort -u | wc -l)" 'all ran one version'
must_run night edited.json -C k --worker -q
must_equal 10 "$(rows k)" 'an edited sweep goes on once the others are done'
must_equal 2 "$(grep -o 'sweep [0-9a-f]\{16\}' k/results.tsv | sort -u | wc -l)" 'and its rows say so'

# ---- suspended for longer than its lease: another worker takes over, and the late one gets a notice ----

rm -rf first begun go
worker a sweep.json -C l --lease 1 && a=$pid
until_true test -e begun
kill -STOP "$a"
worker b sweep.json -C l --lease 1 -q && b=$pid
ended b "$b"
must_equal 8 "$(rows l)"
cp l/results.tsv before
touch go
kill -CONT "$a"
ended a "$a"
must_match_file before l/results.tsv
once l 8
must_have a.err 'was first: its row counts'
must_lack l/results.tsv harness_abort
must_equal '' "$(find l -name '.trial-*')" 'a work directory is left'

# Renewed in time it keeps what it has.
rm -rf first begun go
worker a sweep.json -C r --lease 3 -q && a=$pid # long enough that a busy machine renews it in time
until_true test -e begun
worker b sweep.json -C r --lease 3 -q && b=$pid
sleep 4
must_equal 0 "$(rows r)"
touch go
ended a "$a" && ended b "$b"
once r 8
must_lack r/results.tsv harness_abort

# ---- interrupted: what it had is another's ----

rm -rf first begun go
worker a sweep.json -C i && a=$pid
until_true test -e begun
kill -TERM "$a"
wait "$a"
must_equal 130 $? 'exit status of an interrupted worker'
must_have a.err '--worker'
worker b sweep.json -C i && b=$pid
ended b "$b"
once i 8

# ---- the hours, and what is refused ----

rm -rf first begun go
run night sweep.json -C h --worker --hours 0.0001
must_exit 0
must_have err 'are left. To go on:'
must_equal 0 "$(rows h)"
must_fail 2 'at least 1 second' night sweep.json -C x --worker --lease 0.5
must_fail 2 lease night sweep.json -C x --worker --lease soon

# ---- the script for Slurm (tests/server/submit.sh has it under Slurm) ----

mkdir stubs
printf '#!/bin/sh\necho "$*"\n[ ! -e waits ] || { touch works && exec sleep 300; }\n' >stubs/lineage
printf '#!/bin/sh\necho "$*" >asked\n[ ! -e refuses ]\n' >stubs/scontrol
chmod +x stubs/lineage stubs/scontrol
task() # ARGUMENT..: what the script prints, and its status
{
    PATH=$PWD/stubs:$PATH sh "$SOURCE/tests/examples/night.slurm.sh" "$@" >out 2>err
    status=$?
}
task s.json db
must_equal '0 night s.json -C db --worker' "$status $(cat out)" 'without a time'
task 'my sweep.json' db "$(date -d '1 hour' +@%s)"
must_exit 0
must_equal 'night my sweep.json -C db --worker --hours' "$(sed 's/ [01]\.[0-9]*$//' out)" 'with a time'
for time in '07:00' 11 'tomorow 7' @ @0 @08 @-5 @1e9 '@1 || 2' @999999999999 ''; do
    task s.json db "$time"
    must_equal "2 night.slurm.sh: the time '$time' is not of the form that date -d TEXT +@%s prints" "$status $(cat out err)" "$time"
done
task s.json db @1000000000
must_exit 1
must_have err 'the time @1000000000 ('
must_have err ') has passed, so nothing starts'
for given in '' s.json 's.json db 2026-12-24 07:00'; do
    # shellcheck disable=SC2086
    task $given
    must_equal '2 night.slurm.sh: usage: night.slurm.sh SWEEP STORE [@SECONDS]' "$status $(cat out err)" "$given"
done
touch waits
ended() # WANTED-STATUS JOB NAME=VALUE..: TERM ends the worker and requeues the job
{
    wanted=$1 job=$2 && shift 2
    rm -f works asked
    env -u SLURM_ARRAY_JOB_ID -u SLURM_ARRAY_TASK_ID PATH="$PWD/stubs:$PATH" "$@" sh "$SOURCE/tests/examples/night.slurm.sh" s.json db >out 2>err &
    pid=$!
    until_true test -e works
    kill -TERM "$pid"
    wait "$pid"
    must_equal "$wanted requeue $job" "$? $(cat asked)" "$*"
}
ended 0 7_3 SLURM_JOB_ID=9 SLURM_ARRAY_JOB_ID=7 SLURM_ARRAY_TASK_ID=3
ended 0 9 SLURM_JOB_ID=9
touch refuses
ended 1 9 SLURM_JOB_ID=9
must_have err "scontrol did not put job '9' back into the queue"

# ---- threads of a trial sleep while they wait, where other trials run beside it ----

. "$SOURCE/tests/support/trainer.sh"
echo '{"name": "crowd", "recipe": "tiny.json", "grid": {"lr": [0.001]}}' >crowd.json
sed -i 's/"iterations": 6/"iterations": 1000000/' tiny.json
policy_of() # OPTION...: OMP_WAIT_POLICY of the trial of a night
{
    CROWD=crowd.$$ "$LINEAGE" night crowd.json -C "crowd$#" -q "$@" >/dev/null 2>&1 </dev/null &
    a=$!
    tries=0
    until trial=$(grep -lz '^run-trial$' $(grep -lzx "CROWD=crowd.$$" /proc/[0-9]*/environ 2>/dev/null | sed 's/environ/cmdline/') /dev/null 2>/dev/null) ||
        [ $tries -gt 3000 ]; do
        tries=$((tries + 1))
        sleep 0.02
    done
    if [ -n "$trial" ]; then
        tr '\0' '\n' <"$(echo "$trial" | head -n 1 | sed 's/cmdline/environ/')" | grep -E '^(OMP_WAIT_POLICY|GOMP_SPINCOUNT)='
    else
        echo 'no trial was found'
    fi
    kill -TERM "$a"
    wait "$a"
}
if [ -r /proc/self/environ ]; then
    unset OMP_WAIT_POLICY GOMP_SPINCOUNT
    must_equal GOMP_SPINCOUNT=0 "$(policy_of --worker)" 'a worker'
    must_equal GOMP_SPINCOUNT=1000 "$(policy_of)" 'a night by itself'
    must_equal OMP_WAIT_POLICY=active "$(OMP_WAIT_POLICY=active policy_of --worker --lease 9)" 'what was chosen stays'
fi
finish
