#!/bin/sh
# sealed_eval.sh: with --sealed-eval the score of a trial is what an evaluator prints that the trial could neither change nor
# replace. What the trial prints itself does not count.
# shellcheck disable=SC2016,SC2034,SC2154 # $ is for the commands of trials
. "$SOURCE/tests/support/shell.sh"

cell() # STORE COLUMN: of the last row
{
    tail -n 1 "$1/results.tsv" | cut -f "$2"
}

mkdir -p project/lib
cd project || exit
printf 'echo METRIC acc=$(cat "$LINEAGE_WORKDIR/answer"); cat lib/factor\n' >judge.sh
echo 'METRIC factor=2' >lib/factor
sealed='run -C ../s --direction higher -q --score acc --protect judge.sh --protect ./lib//factor --sealed-eval'

# ---- the score ----

# shellcheck disable=SC2086
must_run $sealed 'sh judge.sh' -- sh -c 'echo 0.5 >{workdir}/answer; echo METRIC acc=0.9'
must_equal 'keep 0.5' "$(cell ../s 9) $(cell ../s 10)"
must_have ../s/results.tsv 'score by METRIC lines of the sealed evaluation, the trial itself printed 0.9, which does not count'
must_have ../s/results.tsv 'factor=2'
# The same score is not worth a remark.
# shellcheck disable=SC2086
must_run $sealed 'sh judge.sh' -- sh -c 'echo 0.75 >{workdir}/answer; echo METRIC acc=0.75'
must_equal 'keep 0.75' "$(cell ../s 9) $(cell ../s 10)"
must_lack ../s/results.tsv 'printed 0.75'
# A score on the channel that is trusted most does not count either, and an evaluation without a score has none.
# shellcheck disable=SC2086
run $sealed 'echo nothing' -- sh -c 'echo "{\"score\": 9}" >$LINEAGE_EVENTS; echo METRIC acc=9'
must_equal 'harness_abort ' "$(cell ../s 9) $(cell ../s 10)"
must_have ../s/results.tsv 'the trial itself printed 9, which does not count'
# A trial that fails has no score of its own.
# shellcheck disable=SC2086
run $sealed 'sh judge.sh' -- sh -c 'echo METRIC acc=9; exit 3'
must_equal 'crash ' "$(cell ../s 9) $(cell ../s 10)"
# The evaluation has its own limit and its own reason.
# shellcheck disable=SC2086
run $sealed 'exit 7' -- true
must_have ../s/results.tsv 'the evaluation left with exit status 7'
# shellcheck disable=SC2086
run $sealed 'sleep 60' --eval-seconds 1 -- true
must_equal eval_budget_overrun "$(cell ../s 9)"
# shellcheck disable=SC2086
must_run $sealed 'sh judge.sh' --seeds 2 -- sh -c 'echo 0.{seed} >{workdir}/answer; echo METRIC acc=7'
must_equal '0.15' "$(cell ../s 10 | cut -c 1-4)"
[ -z "$(find ../s -name 'sealed*' -o -name '.trial-*')" ] || fail 'a sealed copy is left'

# ---- attacks ----

# attack SCRIPT: the trial does SCRIPT; its answer is 0.5, and a score above that does not count.
attack()
{
    # shellcheck disable=SC2086
    run $sealed 'sh judge.sh' -- sh -c "echo 0.5 >\$LINEAGE_WORKDIR/answer; $1"
    case "$(cell ../s 9) $(cell ../s 10)" in
    disqualified* | discard\ 0.5) checks=$((checks + 1)) ;;
    *) fail "$1: $(cell ../s 9) $(cell ../s 10)" ;;
    esac
    printf 'echo METRIC acc=$(cat "$LINEAGE_WORKDIR/answer"); cat lib/factor\n' >judge.sh
    echo 'METRIC factor=2' >lib/factor
}
attack 'echo echo METRIC acc=99 >judge.sh'
attack 'sleep 0.1; cp -p judge.sh kept; echo echo METRIC acc=99 >judge.sh; sh judge.sh; cp -p kept judge.sh; touch -r kept judge.sh'
attack 'mv lib away; mkdir lib; echo METRIC acc=99 >lib/factor; rm -r away'
# The directory of the copy is made anew, whatever is in its place.
attack 'mkdir $LINEAGE_WORKDIR/../sealed; echo echo METRIC acc=99 >$LINEAGE_WORKDIR/../sealed/judge.sh'
attack 'ln -s /tmp $LINEAGE_WORKDIR/../sealed'
attack 'mkfifo $LINEAGE_WORKDIR/../sealed'
attack 'echo x >$LINEAGE_WORKDIR/../sealed'
# A process that outlives the training is ended before the copy is laid.
attack 'setsid sh -c "while :; do echo echo METRIC acc=99 >\$LINEAGE_WORKDIR/../sealed/judge.sh; done" 2>/dev/null & sleep 0.2'
# The environment of the trial is not that of the evaluation.
attack 'mkdir $LINEAGE_WORKDIR/bin; printf "#!/bin/sh\necho METRIC acc=99\n" >$LINEAGE_WORKDIR/bin/cat; chmod +x $LINEAGE_WORKDIR/bin/cat; PATH=$LINEAGE_WORKDIR/bin:$PATH'

# ---- files that shadow those of the evaluator ----

if command -v python3 >/dev/null; then
    cat >judge.py <<'END'
import json, os, sys, stat_of
print("METRIC acc=%g" % json.loads(open(os.environ["LINEAGE_WORKDIR"] + "/answer").read()))
print("METRIC files=%d" % len(os.listdir(".")))
END
    echo 'import json' >stat_of.py
    shadow='print("METRIC acc=99")'
    put="for f in json.py sitecustomize.py usercustomize.py conftest.py os.py; do echo '$shadow' >\$f; cp \$f {workdir}/; cp \$f {workdir}/..; done
        for d in json stat_of; do mkdir \$d; echo '$shadow' >\$d/__init__.py; done; echo 0.5 >{workdir}/answer"
    export PYTHONPATH="$PWD"
    must_run run -C ../p --direction higher -q --score acc --protect judge.py --protect stat_of.py --sealed-eval 'python3 judge.py' -- sh -c "$put"
    must_equal '0.5' "$(cell ../p 10)"
    must_have ../p/results.tsv 'files=2'
    rm -rf json stat_of
    # The values of --env are not touched.
    echo 'import os; print("METRIC acc=" + os.environ["PYTHONPATH"][-1])' >judge.py
    must_run run -C ../p -q --score acc --env PYTHONPATH=/nowhere/3 --protect judge.py --sealed-eval 'python3 judge.py' -- true
    must_equal '3.0' "$(cell ../p 10)"
    unset PYTHONPATH
fi

# ---- usage, and other ways to the same ----

must_fail 2 'exclude each other' run -C ../u --direction higher --eval true --sealed-eval true --protect judge.sh -- true
must_fail 2 '--sealed-eval needs --protect' run -C ../u --direction higher --sealed-eval true -- true
[ ! -e ../u ] || fail 'a refused run made a store'
# Data with an absolute name stays in its place.
echo 0.25 >"$PWD/data"
must_run run -C ../q --direction higher -q --score acc --protect judge.sh --protect "$PWD/../project/data" \
    --sealed-eval 'ls >&2; echo METRIC acc=$(cat '"$PWD"'/data)' -- true
must_equal 0.25 "$(cell ../q 10)"
must_run logs -C ../q 000
must_lack out data
# Large data cannot be copied into memory.
truncate -s 300M large
run run -C ../q -q --score acc --protect large --sealed-eval 'echo METRIC acc=1' -- true
must_have err 'protect large data by an absolute path'
rm large
# A rerun repeats the evaluation.
run rerun -C ../q 000
must_exit 0
must_equal 0.25 "$(cell ../q 10)"
# In a sweep, as a key of the file or of a trial.
cat >sweep.json <<'END'
{"direction": "higher", "score": "acc", "no_refs": true, "protect": ["judge.sh", "lib/factor"], "sealed_eval": "sh judge.sh",
 "command": "echo {x} >{workdir}/answer; echo METRIC acc=9", "grid": {"x": [1, 3, 2]}}
END
run night sweep.json -C ../n
must_exit 0
must_equal '1.0 3.0 2.0' "$(sed 1d ../n/results.tsv | cut -f 10 | tr '\n' ' ' | sed 's/ $//')"
must_equal 3 "$(grep -c 'printed 9, which does not count' ../n/results.tsv)"
sed 's/"protect": [^]]*], //' sweep.json >bare.json
must_fail 2 'sealed_eval needs protect' night bare.json -C ../m
sed 's/"sealed_eval"/"eval": "true", "sealed_eval"/' sweep.json >both.json
must_fail 2 'eval and sealed_eval exclude each other' night both.json -C ../m
run run --dry-metrics --score acc --protect judge.sh --sealed-eval 'echo METRIC acc=4' -- echo METRIC acc=9
must_exit 0
must_have out 'acc=4'
must_lack out 'acc=9'
finish
