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

chmod 755 store
chmod 000 store/results.tsv
run -C store best
must_exit 3
must_have err results.tsv
finish
