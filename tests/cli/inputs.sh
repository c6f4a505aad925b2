#!/bin/sh
# inputs.sh: input must be a regular file of a sensible size. A pipe, a device or a gigabyte of zeros under a file's
# name neither hangs the program nor fills the memory.
. "$SOURCE/tests/support/shell.sh"

# soon COMMAND...: like run, but a command that hangs is ended and counts as failed.
soon()
{
    timeout 20 "$LINEAGE" "$@" >out 2>err </dev/null
    status=$?
    last="lineage $*"
    [ "$status" -ne 124 ] || fail "$last: hangs"
}

must_run append --create --status keep --core-metric 1
mkfifo pipe
for path in pipe /dev/zero; do
    for command in 'append --json' 'append --status keep --core-metric 1 --telemetry' 'core a2tgpo_advantage' \
        train 'night'; do
        # shellcheck disable=SC2086
        soon $command $path
        must_exit 2
        must_have err 'regular file'
    done
done

# A sparse file of 400 MB.
truncate -s 400M sparse
for command in 'append --json' 'append --status keep --core-metric 1 --telemetry' 'core a2tgpo_advantage'; do
    # shellcheck disable=SC2086
    soon $command sparse
    must_exit 2
    must_have err '--max-input'
done
printf '{"status": "keep", "core_metric": 0.5%2000000s}' '' >large.json
must_run append --json large.json
must_fail 2 'larger than 1 MiB' append --json large.json --max-input 1
must_equal 'larger' "$("$LINEAGE" append --json - --max-input 1 <large.json 2>&1 | grep -o larger)" "standard input"

# The same in the store itself: rows are still read, and verify reports what is wrong.
mkdir -p telemetry
for path in fifo zero sparse; do
    rm -rf telemetry/000.json lineage.db*
    case $path in
    fifo) mkfifo telemetry/000.json ;;
    zero) ln -s /dev/zero telemetry/000.json ;;
    sparse) truncate -s 400M telemetry/000.json ;;
    esac
    soon best --format json
    must_exit 0
    must_equal 0.5 "$(json score)"
    soon append --status discard --core-metric 3
    must_exit 0
    soon verify
    must_exit 1
    must_have out 'telemetry: 000'
done
rm -f telemetry/000.json
for path in pipe /dev/zero; do
    rm -f lineage.db* results.tsv.bak
    cp results.tsv kept
    rm results.tsv
    if [ $path = pipe ]; then mkfifo results.tsv; else ln -s $path results.tsv; fi
    soon best
    must_exit 3
    soon append --status keep --core-metric 1
    must_exit 3
    must_have err 'regular file'
    rm results.tsv
    mv kept results.tsv
done

# Snapshots: holes stay holes, the store's own files are not copied, incomplete copies are removed.
rm pipe sparse large.json
mkdir work
truncate -s 300M work/holes
printf 'end' >>work/holes
must_run append --status keep --core-metric 0.25 --specialist s --snapshot work
must_equal "$(stat -c %s work/holes)" "$(stat -c %s snapshots/*_s/holes)"
[ "$(stat -c %b snapshots/*_s/holes)" -lt 1000 ] || fail "a sparse file was filled"
printf 'x = 1\n' >train.py
must_run append --status keep --core-metric 0.125 --specialist here --snapshot . --format json
here=$(json snapshot_path)
[ -f "$here/train.py" ] || fail "what is not the store's is in the snapshot"
for name in results.tsv lineage.db snapshots telemetry; do
    [ ! -e "$here/$name" ] || fail "$name is in the snapshot of the store's directory"
done
mkdir -p snapshots/.copy-1-2-0/deep
printf x >snapshots/.copy-1-2-0/deep/file
run verify
must_exit 1
must_have out 'snapshots/.copy-1-2-0'
must_run append --status discard --core-metric 3
[ ! -e snapshots/.copy-1-2-0 ] || fail "a copy that was cut off is still there"

# Two rows that want the same snapshot name both get one; what a killed process left under the name is replaced.
mkdir -p snapshots/a_b_c && printf old >snapshots/a_b_c/old
must_run append --status keep --core-metric 0.1 --exp-id a --specialist b_c --snapshot work --format json
must_equal snapshots/a_b_c "$(json snapshot_path)"
[ ! -e snapshots/a_b_c/old ] || fail "the snapshot of nobody is still there"
must_run append --status keep --core-metric 0.05 --exp-id a_b --specialist c --snapshot work --format json
must_equal snapshots/a_b_c-2 "$(json snapshot_path)"
must_run verify
finish
