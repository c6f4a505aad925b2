#!/bin/sh
# shellcheck disable=SC2154 # shared with shell.sh and trainer.sh
# levels.sh: LINEAGE_VECTOR_LEVEL lowers the vector level of a trial; its row and its checkpoint say so; --resume and rerun
# compute at the same level; what cannot be used here is an error.
. "$SOURCE/tests/support/shell.sh"
. "$SOURCE/tests/support/trainer.sh"
unset LINEAGE_VECTOR_LEVEL OPENBLAS_CORETYPE GLIBC_TUNABLES
case $(uname -m) in
x86_64) ;;
*) echo 'skipped: no vector levels on this processor' && exit 77 ;;
esac

# at LEVEL ARGUMENT...: the command at that level.
at()
{
    level=$1
    shift
    LINEAGE_VECTOR_LEVEL=$level run "$@"
    unset LINEAGE_VECTOR_LEVEL
}
kernels()
{
    sed -n 's/.*"kernels": "\([^"]*\)".*/\1/p' "$1/telemetry/$2.json"
}

at SSE2 train tiny.json -C none
must_exit 2
must_have err "LINEAGE_VECTOR_LEVEL is 'SSE2'; use sse2, avx2 or avx512"
[ ! -e none ] || fail 'a store of a refused level'

# The same level gives the same bits, and is named by the row's telemetry and in the checkpoint.
at sse2 train tiny.json -C low -q
must_exit 0
case $(kernels low 000) in *' Prescott, SSE2') ;; *) fail "kernels: $(kernels low 000)" ;; esac
must_have low/snapshots/000_tiny/policy.ckpt "$(kernels low 000)"
at sse2 train tiny.json -C again -q
must_match_file low/snapshots/000_tiny/policy.ckpt again/snapshots/000_tiny/policy.ckpt
for level in avx2 avx512; do
    at $level train tiny.json -C $level -q
    if [ "$status" -eq 2 ]; then
        must_have err "LINEAGE_VECTOR_LEVEL is $level, but the highest level of this processor and this build is "
        missing=$level
    else
        must_exit 0
        case $(kernels $level 000) in *", $(echo $level | sed 's/avx512/AVX-512/; s/avx2/AVX2/')") ;; *) fail "kernels: $(kernels $level 000)" ;; esac
    fi
done

# A trial that is cut off at a level goes on at it.
long='--set training.iterations=1000 --set evaluation.every=0'
# shellcheck disable=SC2086
at sse2 train tiny.json -C whole -q $long
must_exit 0
# shellcheck disable=SC2086
LINEAGE_VECTOR_LEVEL=sse2 "$LINEAGE" train tiny.json -C cut -q $long --resume run.state --save-every 5 >out 2>err </dev/null &
trial=$!
wait_for test -s run.state || fail 'no state'
kill -KILL "$(child_of "$trial")"
wait "$trial"
cp run.state kept
# shellcheck disable=SC2086
run train tiny.json -C cut -q $long --resume run.state
must_exit 0
if [ "$INSTRUMENTED" = no ]; then
    must_have err "goes on with the kernels of the state: $(kernels whole 000)"
fi
must_match_file whole/snapshots/000_tiny/policy.ckpt cut/snapshots/001_tiny/policy.ckpt
if [ -d avx2 ] && [ "$INSTRUMENTED" = no ]; then # another level, because the user says so
    # shellcheck disable=SC2086
    at avx2 train tiny.json -C other -q $long --resume kept
    must_exit 0
    must_have err "bits may differ: the state was computed with $(kernels whole 000), and this goes on with "
fi

# A command's trial: rerun hands the level on.
cat >program.sh <<'END2'
echo "METRIC loss=$(echo "${LINEAGE_VECTOR_LEVEL:-none}" | wc -c)"
END2
at sse2 run -C program --score loss --direction lower -q -- sh program.sh
must_exit 0
run rerun 000 -C program -q
must_exit 0
if [ -d avx2 ]; then
    must_have err 'computes at the vector level of 000: sse2'
fi
if [ -n "${missing:-}" ] && [ "$INSTRUMENTED" = no ]; then
    sed "s/\"vector_level\": \"sse2\"/\"vector_level\": \"$missing\"/" program/provenance/000/run.json >run.json
    chmod u+w program/provenance/000/run.json 2>/dev/null
    cp run.json program/provenance/000/run.json
    run rerun 000 -C program -q
    must_have err "bits may differ: 000 was computed at vector level $missing, which this processor lacks"
fi
finish
