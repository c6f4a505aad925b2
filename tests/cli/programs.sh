#!/bin/sh
# shellcheck disable=SC2154 # shared with shell.sh and trainer.sh
# programs.sh: the two programs: what each loads, how `lineage` finds `lineage-train`, what it reports if that is
# missing, and what happens with a limited address space.
. "$SOURCE/tests/support/shell.sh"
. "$SOURCE/tests/support/trainer.sh"

train=$(dirname "$LINEAGE")/lineage-train

last="ldd lineage"
if ldd "$LINEAGE" >out 2>err; then
    must_lack out openblas
    must_lack out gfortran
    must_lack out gomp
    must_lack out curl
    must_have out libc.so
    ldd "$train" >out 2>err
    must_lack out curl # loaded by what asks a judge
else
    printf 'no ldd here: what lineage loads is not checked\n'
fi

new_store store
trial 000 '' keep 2.0 first >>store/results.tsv
trial 001 000 keep 1.0 second >>store/results.tsv
golden=$SOURCE/fixtures/golden/a2tgpo_advantage/clip-beta-0.5-v1d.json
must_run core a2tgpo_advantage "$golden"
cp out wanted

# ---- places of lineage-train ----
# finds COMMAND...: the command finds lineage-train and runs the kernel.
finds()
{
    last="$*"
    "$@" core a2tgpo_advantage "$golden" >out 2>err
    status=$?
    must_exit 0
    must_match_file wanted out
}

mkdir -p beside tree/bin tree/libexec/lineage alone links
ln "$LINEAGE" beside/lineage 2>/dev/null || cp "$LINEAGE" beside/lineage
cp "$LINEAGE" tree/bin/lineage
cp "$LINEAGE" alone/lineage
ln -s "$train" beside/lineage-train
ln -s "$train" tree/libexec/lineage/lineage-train
ln -s ../tree/bin/lineage links/lineage
ln -s lineage links/l
finds beside/lineage
finds tree/bin/lineage
finds links/lineage
finds "$scratch/links/l"
finds sh -c 'cd tree/bin && exec ./lineage "$@"' sh
PATH="$scratch/links:$PATH" finds lineage
finds env -i beside/lineage

# ---- lineage-train is missing ----
run=$LINEAGE
LINEAGE=$scratch/alone/lineage
for command in train rollout eval passk judge core "-C store train" "help train" "train --help"; do
    # shellcheck disable=SC2086
    must_fail 3 'lineage-train, which is not installed' $command
done
must_have err "$scratch/alone"
must_have err "libexec/lineage"
must_run --help
must_have out '  train '
must_have out 'in the package lineage-train:'
printf '{bad' >bad.json
# A night of commands needs no trainer; a night of recipes says which package it needs, and leaves nothing behind.
printf '{"name": "x", "command": ["sh", "-c", "echo score: 2."], "score": "score", "direction": "lower", "grid": {"x": [1, 2]}}' >x.json
must_run night x.json -C commands -q
must_equal 2 "$(wc -l <out)"
must_run -C commands best --format tsv
must_equal 000 "$(sed -n 2p out | cut -f 1)"
must_run night x.json -C workers -q --worker --jobs 2
must_equal 3 "$(wc -l <workers/results.tsv)"
printf '{"recipe": "tiny.json", "trials": [{"name": "a"}]}' >recipes.json
must_fail 3 'lineage night with a sweep of recipes needs the program lineage-train, which is not installed' night recipes.json -C none
must_fail 3 'apt-get install lineage-train' night recipes.json -C none
[ ! -e none ] || fail 'the refused night left a store'
must_fail 2 'bad.json:1:' night bad.json -C none
must_fail 2 'No such file' night missing.json -C none
must_run -C store best --format tsv
must_equal 001 "$(sed -n 2p out | cut -f 1)"
cp store/results.tsv before
must_match_file before store/results.tsv
printf 'no program' >alone/lineage-train
must_fail 3 'cannot run lineage-train' core --list
LINEAGE=$run

# lineage-train never hands a command over to `lineage`.
LINEAGE=$train
must_fail 2 'lineage-train only trains' best
LINEAGE=$run

# ---- without /proc ----
if [ "$INSTRUMENTED" = no ] && unshare -rm sh -c 'mount -t tmpfs none /proc' 2>/dev/null; then
    bare="unshare -rm sh -c 'mount -t tmpfs none /proc && exec \"\$0\" \"\$@\"'"
    # shellcheck disable=SC2086
    eval "finds $bare '$LINEAGE'"
    eval "finds $bare links/lineage"
    eval "PATH=\"$scratch/links:$PATH\" finds $bare lineage"
    # A child process is found and started again, and works without what it cannot read there.
    last="lineage train without /proc"
    eval "$bare '$LINEAGE' train tiny.json -C noproc -q --set budget.memory_bytes=2e9 >out 2>err </dev/null"
    status=$?
    must_exit 0
    must_equal 000 "$(cat out)"
    must_run train tiny.json -C proc -q --set budget.memory_bytes=2e9
    must_equal "$(field proc 10)" "$(field noproc 10)" "EM without /proc"
else
    printf 'nothing was tried without /proc: sanitizers read it, and it takes namespaces\n'
fi

# ---- a limit on address space ----
# within KIB COMMAND...: the command exits by itself, in time, with an answer or with a message.
within()
{
    limit=$1
    shift
    last="ulimit -v $limit; lineage $*"
    checks=$((checks + 1))
    # shellcheck disable=SC3045 # dash has it
    (ulimit -v "$limit" && exec timeout -s KILL 60 "$LINEAGE" "$@") >out 2>err </dev/null
    status=$?
    case $status in
    0) return ;;
    3) [ "$(grep -c '^lineage: ' err)" -eq 1 ] && return ;;
    esac
    fail "$last: exit status $status"
    show_output
}

if [ "$INSTRUMENTED" = no ]; then
    for kib in 20000 60000 90000 120000 150000; do
        for command in best query render verify "append --status discard --core-metric 3"; do
            # shellcheck disable=SC2086
            within "$kib" -C store $command
        done
        within "$kib" core --list
    done
    # Training exits too, wherever the address space runs out. Waiting workers sleep; otherwise a busy machine would
    # take minutes.
    OMP_WAIT_POLICY=passive
    export OMP_WAIT_POLICY
    for kib in 70000 100000 140000 200000 300000; do
        within "$kib" eval tiny.json --set threads=4
    done
    within 140000 eval tiny.json --set threads=4
    must_have err 'out of memory'
    # shellcheck disable=SC3045 # dash has it
    (ulimit -v 250000 && exec timeout -s KILL 60 "$LINEAGE" train tiny.json -C tight -q --set threads=4) >out 2>err </dev/null
    must_equal crash "$(field tight 9)"
    must_have tight/results.tsv 'out of memory: the limit on address space'
    within 60000 -C store best
    must_have out 001
    within 40000 core --list
    must_have err 'address space'
fi
finish
