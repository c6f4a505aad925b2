#!/bin/sh
# examples.sh: trials are compared by the scores of their examples, and one run each decides what the spread between seeds hides.
# shellcheck disable=SC2016,SC2034,SC2154 # shared with shell.sh; $ is for the program
. "$SOURCE/tests/support/shell.sh"

# 200 examples that differ far more among each other than two trials do on each of them: the gain is 0.05 and the noise of the score 0.5.
cat >train.sh <<'END2'
awk -v gain="$1" -v from="${2:-0}" -v n="${3:-200}" 'BEGIN {
    for (i = from; i < from + n; i++) {
        v = (i * 7919 % 200) / 50 + gain * (1 + (i * 31 % 11 - 5) / 10)
        sum += v
        printf "{\"id\": \"q%d\", \"score\": %.6f}\n", i, v
    }
    printf "METRIC acc=%.8f\n", sum / n >"/dev/stderr"
}' >preds.jsonl
END2
trial() # ARG..: a run with these arguments of the script, which must end well
{
    run run -C s --direction higher -q --score acc --examples preds.jsonl ${decide:+--decide-by examples} -p gain="$1" -- sh train.sh "$@"
    must_exit 0
}
last() # status, or notes; the row is in out
{
    tail -n 1 s/results.tsv >out
    cut -f "$([ "$1" = status ] && echo 9 || echo 17)" out
}

# ---- the values and their digest are kept; the notes have the verdict, its interval and both sources of noise ----
decide=
must_run init -C s --direction higher --noise-std 0.5
trial 0
must_equal 200 "$(wc -l <s/examples/000.jsonl | tr -d ' ')"
must_have s/examples/000.jsonl '{"id":"q0","value":'
last notes | grep -q 'examples kept: digest [0-9a-f]\{16\}"*$' || fail "no digest: $(last notes)"
trial 0.05
must_equal discard "$(last status)" "the bar between seeds counts without --decide-by"
case $(last notes) in
*"better on 200 examples that 000 had: +0.04998, 95 % interval +0.047"*" to +0.05"*"bootstrap of 2000"*"flips of signs"*"between examples "*"between seeds 0.707 (bar "*) ;;
*) fail "the notes: $(last notes)" ;;
esac

# ---- with --decide-by examples, the paired bar keeps it; no difference, and one that is too small, are discards ----
decide=1
trial 0.05
must_equal keep "$(last status)" "the bar of the examples"
must_have out 'decided by examples'
trial 0.05
must_equal discard "$(last status)" "an equal trial"
trial 0.02
must_equal discard "$(last status)" "a worse trial"
must_have out 'worse on 200 examples that 002'
must_run compare --examples 000 001 002 -C s --format tsv
must_equal "002 000 200 better" "$(tail -1 out | awk -F'\t' '{ print $1, $2, $3, $12 }')"
cp out first
must_run compare --examples 000 001 002 -C s --format tsv
cmp out first || fail "the same comparison has other numbers"

# ---- other examples are refused by name, and the bar of the store counts ----
trial 0.1 100
must_have err 'not compared: they have other examples: 200 and 200, of which 100 are common'
must_equal discard "$(last status)"
must_have out 'decided by the bar of the store'
trial 0.1 1000
must_have err 'no example in common, evaluate both on the same examples'
trial 0.1 0 150
must_have err 'other examples: 150 and 200, of which 150 are common'
run compare --examples 000 005 -C s
must_exit 2
must_have err '000 and 005 are not comparable: they have other examples'

# ---- files that are refused; the trial keeps its row and has no examples ----
refuses() # WHAT TEXT NAME
{
    printf '%b' "$2" >"given$3"
    run run -C s -q --score acc --examples "preds$3" -- sh -c 'cp "$1" "preds$2"; echo METRIC acc=1' sh "$PWD/given$3" "$3"
    must_have err "not kept: $1"
    [ ! -e "s/examples/$(cat out).jsonl" ] || fail "a refused file is kept"
}
refuses "example 'b' is there twice" '{"id": "b", "score": 1}\n{"id": "a", "score": 1}\n{"id": "b", "score": 1}\n' .jsonl
refuses 'line 2: its value is not finite' '{"id": 1, "score": 1}\n{"id": 2, "score": NaN}\n' .jsonl
refuses 'line 1 has no id' '{"score": 1}\n' .jsonl
refuses 'line 1 has no number called score, value, correct or acc, name it: FILE#NAME' '{"id": 1, "f1": 1}\n' .jsonl
refuses 'line 1 is not a JSON object' 'ratio\n' .jsonl
refuses 'it has 1 example' '{"id": 1, "score": 1}\n' .jsonl
refuses 'it is not a complete file of NumPy' 'no\n' .npy
run run -C s -q --score acc --examples none.jsonl -- echo METRIC acc=1
must_have err 'the trial left no file none.jsonl'
run run -C s -q --score acc --examples preds.jsonl -- echo METRIC acc=1
touch -d '1 hour ago' preds.jsonl
run run -C s -q --score acc --examples preds.jsonl -- echo METRIC acc=1
must_have err 'was written before the trial began'

# ---- a name of the values, booleans, and a file in the work directory; one whose mean differs from the score does not decide ----
for gain in 0 1; do
    run run -C t --direction higher -q --score f1 --examples '{workdir}/p.jsonl#right' --decide-by examples -- sh -c '
        for i in 1 2 3 4 5 6 7 8 9; do echo "{\"index\": $i, \"right\": $1}"; done >"$LINEAGE_WORKDIR/p.jsonl"; echo METRIC f1=0.3$2' \
        sh "$([ $gain = 1 ] && echo true || echo false)" $gain
    must_exit 0
done
must_have t/examples/001.jsonl '{"id":"1","value":1.0}'
must_have err 'higher on 9 examples that 000 had: +1, '
must_have err 'write the values so that their mean is the score, 0.31, and not 1, decided by the bar of the store'

# ---- arrays without ids: of one length only, and not in another order ----
python3 - <<'END2'
import struct
for name, values in {"a": [0.25, 0.5, 0.125, 0.75, 0.875, 0.0625], "b": [0.5, 0.25, 0.125, 0.75, 0.875, 0.0625], "c": [0.25, 0.5, 0.125, 0.75]}.items():
    head = "{'descr': '<f4', 'fortran_order': False, 'shape': (%d,), }" % len(values)
    head += " " * (63 - (10 + len(head)) % 64) + "\n"
    open(name + ".npy", "wb").write(b"\x93NUMPY\x01\x00" + struct.pack("<H", len(head)) + head.encode() + struct.pack("<%df" % len(values), *values))
END2
for name in a b c; do
    run run -C u --direction higher -q --score acc --examples v.npy -- sh -c "cp $PWD/$name.npy v.npy; echo METRIC acc=0.4"
    must_exit 0
    cp err "$name.err"
done
must_have u/examples/000.jsonl '{"position":2,"value":0.125}'
must_have b.err 'the same values in another order, give ids'
must_have c.err 'they have 4 and 6 values without ids'

# ---- damaged kept values, and options that exclude each other ----
sed 's/0.125/0.126/' u/examples/000.jsonl >changed && cp changed u/examples/000.jsonl
run compare --examples 000 002 -C u
must_exit 2
must_have err '000.jsonl is not the file whose digest is in the notes'
run compare --examples 007 002 -C u
must_exit 2
must_have err "no trial '007'"
run run -C u --decide-by examples -- true
must_exit 2
must_have err '--decide-by needs --examples'
run run -C u --examples v.npy --decide-by luck -- true
must_exit 2
run run -C u --examples v.npy --seeds 2 -- true
must_exit 2
must_have err 'run each seed as a trial'

# ---- a night by examples runs nothing again, and excludes what would ----
cat >sweep.json <<'END2'
{"name": "paired", "direction": "higher", "command": ["sh", "train.sh", "{gain}"], "score": "acc", "examples": "preds.jsonl",
 "decide_by": "examples", "seed": 1, "grid": {"gain": ["0", "0.05"]}}
END2
must_run night sweep.json -C n -q
must_equal 'baseline keep' "$(sed 1d n/results.tsv | cut -f 9 | xargs)"
run night sweep.json -C n -q --confirm
must_exit 2
must_have err 'decide_by keeps trials by one run each'

finish
