#!/bin/sh
# cases.sh: runs the command on every case folder: best, chain, findings and rendered bytes. The folders are looked up
# at run time: fixtures/cases, and ../shared/lineage-cases if it exists.
. "$SOURCE/tests/support/shell.sh"

cases=${SHARED_DIR:-$SOURCE/../shared}/lineage-cases
[ -d "$cases" ] || printf 'SKIP released runs: there is no %s\n' "$cases"

# Prints a value of a case's file, or `null` if the key is missing.
known()
{
    "$JSON_GET" "$1" <"$2" 2>/dev/null
}

# parameters FILE: prints the options of `render` that params.json describes, one word per line.
parameters()
{
    printf '%s\n' --style fieldkit
    for pair in for_specialist:--for top_k:--top-k recent_n:--recent last_m_full:--full session_timestamp:--timestamp; do
        value=$(known "${pair%%:*}" "$1") && printf '%s\n' "${pair#*:}" "$value"
    done
    case $(known lower_is_better "$1") in
    false) printf '%s\n' --direction higher ;;
    esac
}

run_with_parameters()
{
    set -f
    old=$IFS
    IFS='
'
    # shellcheck disable=SC2046
    set -- $(parameters "$1" | sed 's/^$/@/')
    IFS=$old
    set +f
    n=$#
    while [ "$n" -gt 0 ]; do
        word=$1
        shift
        [ "$word" != @ ] || word=
        set -- "$@" "$word"
        n=$((n - 1))
    done
    run -C store render "$@"
}

# same_bytes CASE SUFFIX: the parameters with that suffix render the expected bytes.
same_bytes()
{
    expected=$1/expected$2.md
    for good in "$1/expected-good-rows$2.md" "$1/expected-good-rows.md"; do
        [ ! -f "$good" ] || expected=$good
    done
    [ -f "$expected" ] || { fail "$1: nothing expected for params$2.json"; return; }
    run_with_parameters "$1/params$2.json"
    must_exit 0
    last="$1, params$2"
    must_match_file "$expected" out
}

# direction CASE: prints the direction that the case's facts assume.
direction()
{
    for file in "$1/import.json" "$1/params.json" "$1/params-defaults.json"; do
        [ -f "$file" ] && [ "$(known lower_is_better "$file")" = false ] && printf higher && return
    done
    printf lower
}

# same_native FILE PREFIX DIRECTION: compares best and chain by the native rule.
same_native()
{
    best=$(known "$2best" "$1") || return
    [ "$best" != null ] || { run -C store --direction "$3" best && must_exit 1; return; }
    must_equal 1 "$(run -C store --direction "$3" best --format json; json exp_id | grep -cxF -- "$best")" "$1: best"
    run -C store --direction "$3" chain --format json
    last="$1: chain"
    must_equal "$(known "$2walk_ended" "$1")" "$(json ended)"
    must_equal "$(known "$2passed_over_before_child" "$1")" "$(json passed_over)"
    i=0
    while id=$(known "$2chain_root_first.$i" "$1"); do
        must_equal "$id" "$(json chain.$i.exp_id)"
        i=$((i + 1))
    done
    must_equal "$i" "$(json chain.#)"
}

# reports FILE: verify reports each line that it must.
reports()
{
    run -C store verify
    i=0
    while line=$(known "report_lines.$i" "$1"); do
        must_have out "results.tsv:$line: "
        i=$((i + 1))
    done
}

try()
{
    rm -rf store && mkdir store
    [ ! -f "$1/input.tsv" ] || cp "$1/input.tsv" store/results.tsv
    for params in "$1"/params*.json; do
        [ ! -f "$params" ] || same_bytes "$1" "$(basename "$params" .json | sed 's/^params//')"
    done
    if [ -f "$1/native.json" ]; then
        same_native "$1/native.json" '' "$(direction "$1")"
        reports "$1/native.json"
    fi
    if [ -f "$1/facts.json" ] && [ -f "$1/input.tsv" ]; then
        same_native "$1/facts.json" native. "$(direction "$1")"
        must_equal "$(known rows "$1/facts.json")" \
            "$(run -C store sql 'SELECT count(*) AS n FROM trials' --format json; json 0.n)" "$1: rows"
    fi
    [ ! -f "$1/input.tsv" ] || must_match_file "$1/input.tsv" store/results.tsv
}

found=0
for case in "$SOURCE"/fixtures/cases/fk-* "$cases"/fk-* "$cases"/run-*; do
    [ -d "$case" ] || continue
    found=$((found + 1))
    try "$case"
done
printf '%d cases\n' "$found"
[ "$found" -ge 30 ] || fail "only $found cases"
finish
