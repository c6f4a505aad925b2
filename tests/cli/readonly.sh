#!/bin/sh
# readonly.sh: a store that cannot be written can still be read, and a refused write leaves nothing behind.
. "$SOURCE/tests/support/shell.sh"

must_run -C "$scratch" init store
must_run -C store append --status keep --core-metric 1
must_run -C store append --status keep --core-metric 0.5 --parent 000
mkdir -p work no-mirror && printf 'x\n' >work/file
cp store/results.tsv no-mirror
cp store/results.tsv before
find store no-mirror -type f -exec chmod 444 '{}' ';'
chmod 555 store no-mirror
chmod 755 .

# The superuser may write anywhere, so become another user.
if [ "$(id -u)" -eq 0 ]; then
    plain="setpriv --reuid=65534 --regid=65534 --clear-groups"
    $plain "$LINEAGE" --version >/dev/null 2>&1 || skip "cannot run the command as another user"
    printf '#!/bin/sh\nexec %s "%s" "$@"\n' "$plain" "$LINEAGE" >plain.sh
    chmod 755 plain.sh
    LINEAGE=$scratch/plain.sh
fi

for dir in store no-mirror; do
    run -C $dir best --format json
    must_exit 0
    must_equal 001 "$(json exp_id)"
    run -C $dir query --metric :0.7 --format json
    must_exit 0
    must_equal 1 "$(json '#')"
    run -C $dir chain --format json
    must_equal 2 "$(json chain.#)"
    run -C $dir render --for x
    must_exit 0
    must_have out '← BEST'
    for command in 'append --status keep --core-metric 2' "append --status keep --snapshot $scratch/work" \
        "append --status keep --core-metric 1 --telemetry $scratch/steps.json" "render --output $dir/KNOWLEDGE.md" rebuild; do
        printf '{"steps": []}' >steps.json
        chmod 644 steps.json
        # shellcheck disable=SC2086
        run -C $dir $command
        must_exit 3
        must_have err "lineage: "
    done
    run -C $dir render --record
    must_exit 3
    must_match_file before $dir/results.tsv
done
must_equal results.tsv "$(ls -A no-mirror)" "nothing left behind"

# A store of this user, in a directory that is read-only now: the mirror is read, and nothing appears beside it.
mkdir own own-state && chmod 777 own own-state
XDG_STATE_HOME=$scratch/own-state
must_run init own --direction lower
for score in 3 1 2; do
    must_run append -C own --status keep --core-metric $score --param alpha=0.$score --param seed=$score
done
must_run best -C own
sleep 2.2
before=$(ls -A own)
chmod 555 own
for command in best query 'query --sort score --limit 2' render tree 'sweep alpha' 'suggest --range alpha=0:1' \
    'show 001' export 'search keep' verify; do
    # shellcheck disable=SC2086
    run $command -C own
    [ "$command" = 'search keep' ] || must_exit 0
    checks=$((checks + 1))
    ! grep -q 'lineage.db' err || fail "lineage $command: $(cat err)"
    must_equal "$before" "$(ls -A own)" "files after $command"
done
run best -C own --format json
must_equal 001 "$(json exp_id)"
chmod 755 own

chmod 755 store
chmod 000 store/results.tsv
run -C store best
must_exit 3
must_have err results.tsv
finish
