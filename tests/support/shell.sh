# shell.sh: functions of the shell tests. Sourced: `. "$SOURCE/tests/support/shell.sh"`.
#
# From the build: LINEAGE (the command), JSON_GET, SOURCE, BUILD, VERSION, CC, CMAKE, INSTRUMENTED. The test runs in a
# scratch directory that is removed at the end, and ends with `finish`. A failed check is printed and
# counted; the test goes on. `run` leaves standard output in ./out, standard error in ./err, and the exit
# status in $status.
# shellcheck shell=sh disable=SC2034,SC2154
set -u
LC_ALL=C.UTF-8
export LC_ALL
scratch=$(mktemp -d "${TMPDIR:-/tmp}/lineage-test.XXXXXX") || exit 3
# The state directory is beside the scratch directory, which may be a store itself.
XDG_STATE_HOME=$scratch.state
export XDG_STATE_HOME
# leave_test STATUS: removes the scratch directory, or keeps it for whoever looks into a failure (tests/run.sh prints where).
leave_test()
{
    chmod -R u+w "$scratch"
    case $1 in
    0 | 77) rm -rf "$scratch" ;;
    *)
        kept=$BUILD/failed/$(basename "$(dirname "$0")")_$(basename "$0" .sh)
        rm -rf "$kept" && mkdir -p "$BUILD/failed" && mv "$scratch" "$kept" && [ ! -d "$scratch.state" ] || mv "$scratch.state" "$kept.state"
        ;;
    esac
    rm -rf "$scratch.state" "$scratch.failed"
}
trap 'leave_test $?' EXIT
trap 'exit 3' HUP INT TERM
cd "$scratch" || exit 3
checks=0
tab=$(printf '\t')

# Counts in a file, because the end of a pipe and a group in parentheses are processes of their own.
fail()
{
    echo >>"$scratch.failed"
    printf 'FAIL %s\n' "$*"
}

# run ARGUMENT...: the command, on the store in the current directory unless -C says otherwise.
run()
{
    "$LINEAGE" "$@" >out 2>err </dev/null
    status=$?
    last="lineage $*"
}

# new_score STORE: the next run may have a score of another name, as if the owner had taken the name out of lineage.json.
new_score()
{
    tr '\n' ' ' <"$1/lineage.json" | sed 's/, *"score": "[^"]*"//' >"$1/settings.new" && mv "$1/settings.new" "$1/lineage.json"
}

show_output()
{
    sed 's/^/    out: /' out | head -n 20
    sed 's/^/    err: /' err | head -n 20
}

must_exit()
{
    checks=$((checks + 1))
    [ "$status" -eq "$1" ] && return
    fail "$last: exit status $status, not $1"
    show_output
}

# must_run ARGUMENT...: exit status 0 and nothing on standard error but what a slow machine may add, how far a long command is.
must_run()
{
    run "$@"
    must_exit 0
    checks=$((checks + 1))
    grep -qvE '^lineage: ([0-9]+ of [0-9]+ MB are sent|[0-9]+ rows are read, [0-9]+ % of the file|waiting for the (lock|claim) of .*)$' \
        err || return 0
    fail "$last: not silent on standard error"
    show_output
}

# must_fail STATUS TEXT ARGUMENT...: exit status STATUS, TEXT in the one line on standard error, no output.
must_fail()
{
    wanted=$1 text=$2
    shift 2
    run "$@"
    must_exit "$wanted"
    must_have err "$text"
    checks=$((checks + 1))
    [ -s out ] || [ "$(wc -l <err)" -gt 1 ] || return
    fail "$last: wants one line on standard error and nothing on standard output"
    show_output
}

# must_equal WANTED GOT [WHAT]
must_equal()
{
    checks=$((checks + 1))
    [ "$1" = "$2" ] && return
    fail "${3:-$last}: wanted '$1', got '$2'"
}

# must_have FILE TEXT, must_lack FILE TEXT: a fixed string.
must_have()
{
    checks=$((checks + 1))
    grep -qF -- "$2" "$1" && return
    fail "$last: no '$2' in $1"
    show_output
}

must_lack()
{
    checks=$((checks + 1))
    grep -qF -- "$2" "$1" || return
    fail "$last: '$2' in $1"
    show_output
}

must_match_file()
{
    checks=$((checks + 1))
    cmp -s "$1" "$2" && return
    fail "$last: $1 and $2 differ"
    diff "$1" "$2" | head -n 20
}

# json PATH [FILE]: a member of the JSON in ./out (see json_get.c).
json()
{
    "$JSON_GET" "$1" <"${2:-out}"
}

# row CELL...: cells joined by tabs, as one line; for the other columns of a trial see `header`.
row()
{
    printf '%s' "$1"
    shift
    for cell in "$@"; do
        printf '\t%s' "$cell"
    done
    printf '\n'
}

header()
{
    row exp_id timestamp specialist parent_exp baseline_exp domain hypothesis expected_delta status core_metric \
        val_bpb delta_vs_best train_s total_s job_name snapshot_path notes
}

# trial ID PARENT STATUS SCORE [HYPOTHESIS [NOTES]]: one row of results.tsv.
trial()
{
    row "$1" 2026-05-12T20:30:00Z opt "$2" '' '' "${5:-}" '' "$3" "$4" '' '' '' '' '' '' "${6:-}"
}

new_store()
{
    mkdir "$1" && header >"$1/results.tsv"
}

skip()
{
    printf 'SKIP %s\n' "$*"
    exit 77
}

finish()
{
    failures=$(cat "$scratch.failed" 2>/dev/null | wc -l)
    printf '%d checks, %d failed\n' "$checks" "$failures"
    [ "$failures" -eq 0 ] && [ "$checks" -gt 0 ]
    exit
}
