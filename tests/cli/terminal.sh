#!/bin/sh
# terminal.sh: results on a terminal are fitted, coloured and paged; results in a pipe are not.
#
# The terminal is the pseudo-terminal of `script`.
. "$SOURCE/tests/support/shell.sh"

unset COLUMNS LINES NO_COLOR CLICOLOR CLICOLOR_FORCE LINEAGE_PAGER PAGER LESS
TERM=xterm-256color
export TERM
script -qec true /dev/null >/dev/null 2>&1 </dev/null || skip "no pseudo-terminal here"

# on_terminal COLUMNS LINES ARGUMENT...: like `run`, on a terminal of that size; both streams are in ./out.
on_terminal()
{
    size="stty cols $1 rows $2"
    shift 2
    script -qec "$size; '$LINEAGE' $*" /dev/null >typescript 2>&1 </dev/null
    status=$?
    last="lineage $* (on a terminal, $size)"
    tr -d '\r' <typescript >out
    : >err
}

# must_fit COLUMNS: no line of ./out is wider.
must_fit()
{
    checks=$((checks + 1))
    widest=$(plain <out | wc -L)
    [ "$widest" -le "$1" ] && return
    fail "$last: a line of $widest columns"
    show_output
}

esc=$(printf '\033')

plain()
{
    sed "s/$esc\\[[0-9;]*m//g"
}

must_have_color()
{
    must_have out "${esc}[$1m"
}

must_be_plain()
{
    must_lack out "$esc"
}

long='one two three four five six seven eight nine ten eleven twelve thirteen fourteen fifteen sixteen'
{
    header
    trial 000 '' baseline 33.21 "root $long" 'alpha=0.1; gamma=0.5'
    trial 001 000 keep 34.0 "wide 模型的学习率提高一倍并且延长预热阶段 $long" 'alpha=0.3; gamma=0.5'
    trial 002 001 discard 9.123456789012 "$(printf 'combining e\314\201e\314\201e\314\201') $long" 'alpha=0.3; gamma=1.0'
    trial 003 001 crash '' "evil $(printf '\033]0;title\007\033[31m \302\233 \342\200\256abc') $long" 'alpha=0.1; gamma=0.5'
    trial 004 001 eval_budget_overrun 135.5 "$long" 'alpha=0.9; gamma=0.5'
    trial 005 001 keep 35.5 "last $long" "alpha=0.9; gamma=1.0; optimizer='$(printf 'a\342\200\256b')'"
    trial 006 005 keep 35.25 'after it' 'lr=1e-05'
} >results.tsv
printf '{"direction": "higher"}\n' >lineage.json
"$LINEAGE" verify >/dev/null 2>&1 # builds the mirror now, so that its notices do not appear below

# ---- widths ----
commands='query;tree;chain;best;show 003;sweep alpha;sweep alpha gamma;tried --alpha 0.3'
IFS=';'
for command in $commands; do
    for columns in 20 40 80 200; do
        IFS=' '
        on_terminal $columns 100 "$command"
        must_exit 0
        must_fit $columns
        plain <out >colorless
        on_terminal $columns 100 "$command --color never"
        must_be_plain
        case $command in 'sweep alpha gamma') ;; *) must_match_file out colorless ;; esac
    done
    for width in 'COLUMNS=0' 'COLUMNS=1' 'COLUMNS=10000' 'COLUMNS=99999999999999999999' 'COLUMNS=-5' 'COLUMNS=wide' \
        'COLUMNS=4x' 'COLUMNS= LINES=0' 'LINES=x'; do
        for stty in 0 1; do
            script -qec "stty cols $stty rows $stty; $width '$LINEAGE' $command --no-pager" /dev/null >out 2>&1 </dev/null
            status=$? last="$width $command on $stty columns"
            must_exit 0
        done
    done
    IFS=';'
done
IFS=' '
on_terminal 80 100 query
must_have out '…'
must_have out 'not shown: time, specialist'
must_lack out sixteen
script -qec "stty cols 80 rows 100; COLUMNS=40 '$LINEAGE' query" /dev/null 2>&1 </dev/null | tr -d '\r' >out
last='query with COLUMNS=40'
must_fit 40
on_terminal 80 100 query --wide
must_have out sixteen
must_have out 2026-05-12T20:30:00Z
must_have out 9.123456789012
on_terminal 200 100 query
must_have out 2026-05-12T20:30:00Z

# Numbers are aligned at their decimal points, whatever their size; a letter keeps its accent.
on_terminal 80 100 query --color never
must_equal 1 "$(grep -E '^00[0-26]|^005' out | awk '{ match($0, /[0-9]+\.[0-9]+/); print index(substr($0, RSTART), ".") + RSTART }' |
    sort -u | wc -l)" "columns of the decimal point"
must_have out 9.123457
for columns in 30 31 32 33 34 35 36 37 38 39 40 41 42 43 44; do
    on_terminal $columns 100 chain 002 --color never
    must_fit $columns
    checks=$((checks + 1))
    grep -qE 'e(é|…|$)|comb|hypothesis' out || fail "$last: a letter without its accent"
done

# Parameters that all trials share are printed once.
on_terminal 120 100 query --param alpha=0.3 --color never
must_have out '  gamma=0.5  '
must_have out 'all: alpha=0.3'
must_equal 1 "$(grep -c 'alpha=0.3' out)" "lines with alpha=0.3"
on_terminal 120 100 query --param alpha=0.3 --wide
must_equal 2 "$(grep -c 'alpha=0.3 gamma=' out)" "lines with alpha=0.3 in --wide"

# Columns of the same rank are shown from the left as far as there is room.
must_name() # TITLE...: the head of the table in ./out has each of these columns
{
    for title; do must_equal 1 "$(grep -E '^(setting|id) ' out | grep -cw "$title")" "$last: columns $title"; done
}
on_terminal 100 100 settings --color never
must_name setting exp_id runs mean margin expected
on_terminal 40 100 settings --color never
must_name setting exp_id mean
must_run init noisy --direction higher --noise-std 0.1
cp results.tsv noisy
on_terminal 160 100 query -C noisy --color never
must_name score margin params

# ---- drawings ----
on_terminal 80 100 tree --color never
must_have out '┌ 000'
must_have out '├── 002'
must_have out '├ 005 ★'
must_have out '└ 006'
on_terminal 80 100 best --color never
must_have out 'best so far         ▁'
must_have out '33.21 to 35.5 in 7 trials, 2 improvements'
on_terminal 40 100 show 005 --color never
must_equal "last $long" "$(sed -n '/^hypothesis/,/^status/p' out | sed '1d;$d;s/^  //' | tr '\n' ' ' | sed 's/ $//')" "words of the hypothesis"
on_terminal 80 100 chain --color never
must_have out 'score  ▁▃█  33.21 to 35.5'
must_have out '  1.5  '
on_terminal 80 100 sweep alpha gamma
must_have out 'best_id'
must_have out 'untried (1): alpha=0.1 gamma=1'
on_terminal 80 100 sweep optimizer alpha --direction lower
must_have out 'a⟨U+20'

mkdir failed
{ header && trial 000 '' crash '' none 'alpha=1.0; gamma=2.0' && trial 001 '' keep nan none 'alpha=2.0; gamma=2.0'; } >failed/results.tsv
on_terminal 80 100 best -C failed
must_exit 1

# ---- colour ----
on_terminal 80 100 query
must_have_color 36
must_have_color 31
must_have_color 33
for forbids in NO_COLOR=1 TERM=dumb TERM= CLICOLOR=0 'NO_COLOR=1 CLICOLOR_FORCE=1'; do
    script -qec "stty cols 80 rows 100; $forbids '$LINEAGE' query" /dev/null >out 2>&1 </dev/null
    last="query with $forbids"
    must_be_plain
    must_have out '…'
done
for allows in 'NO_COLOR=' 'CLICOLOR_FORCE=1 TERM=dumb'; do
    script -qec "stty cols 80 rows 100; $allows '$LINEAGE' query" /dev/null >out 2>&1 </dev/null
    last="query with $allows"
    must_have_color 36
done
script -qec "NO_COLOR=1 '$LINEAGE' query --color always" /dev/null >out 2>&1 </dev/null
must_have_color 36
on_terminal 80 100 query --color never
must_be_plain
must_fail 2 "--color 'sometimes': use auto, always or never" query --color sometimes

# ---- a pipe ----
for command in 'query' 'tree' 'chain' 'best' 'show 003' 'sweep alpha gamma' 'sweep alpha' \
    'tried --alpha 0.3' 'tree --format json'; do
    # shellcheck disable=SC2086 # a list of words
    must_run $command
    cp out wanted
    for setting in COLUMNS=40 'LINES=2' PAGER=false LINEAGE_PAGER=false CLICOLOR=1 TERM=dumb; do
        # shellcheck disable=SC2086
        env "$setting" "$LINEAGE" $command >out 2>err
        last="$command with $setting"
        must_match_file wanted out
    done
    # shellcheck disable=SC2086
    run $command --no-pager
    must_match_file wanted out
    # shellcheck disable=SC2086
    run $command --color always
    plain <out >colorless
    must_match_file wanted colorless
    CLICOLOR_FORCE=1
    export CLICOLOR_FORCE
    # shellcheck disable=SC2086
    run $command
    plain <out >colorless
    must_match_file wanted colorless
    unset CLICOLOR_FORCE
done
must_run query --format tsv
cp out wanted
must_run query --format tsv --color always --wide
must_match_file wanted out
must_run query --color always
must_have_color 36
must_run query --wide
must_have out "last $long"

# ---- hostile cells ----
IFS=';'
for command in $commands 'query --wide' 'show 005 --wide' 'sweep optimizer' 'sweep optimizer alpha'; do
    IFS=' '
    on_terminal 80 100 "$command"
    plain <out >colorless
    checks=$((checks + 1))
    ! LC_ALL=C grep -q "$(printf '[\001-\010\013-\037\177]\\|\302[\200-\237]\\|\342\200\256')" colorless ||
        fail "$last: what a cell says acts on the terminal"
    IFS=';'
done
IFS=' '

# ---- pager ----
# paged VARIABLES ARGUMENT...: runs on a terminal of ten lines.
paged()
{
    variables=$1
    shift
    script -qec "stty cols 80 rows 10; $variables '$LINEAGE' $*" /dev/null >typescript 2>&1 </dev/null
    status=$?
    last="$variables lineage $*"
    tr -d '\r' <typescript >out
    : >err
}

{
    cat results.tsv
    awk 'BEGIN { for (i = 7; i < 3000; i++)
        printf "%03d\t2026-05-13T20:30:00Z\topt\t005\t\t\tmany\t\tdiscard\t1.5\t\t\t\t\t\t\t\n", i }'
} >longer.tsv
mv longer.tsv results.tsv
"$LINEAGE" best >/dev/null 2>&1
paged "LINEAGE_PAGER='sed s/^/L:/' PAGER='sed s/^/P:/'" query --color never
must_exit 0
must_have out L:id
must_equal 3002 "$(grep -c ^L: out)" "lines in the pager"
paged "PAGER='sed s/^/P:/'" tree --color never
must_have out 'P:id'
paged "PAGER='sed s/^/P:/'" best --color never
must_have out 'P:exp_id'
paged "PAGER='sed s/^/P:/'" query --limit 3
must_lack out P:
paged "PAGER='sed s/^/P:/'" query --no-pager
must_lack out P:
paged "PAGER='sed s/^/P:/'" query --format tsv
must_lack out P:
paged "PAGER='sed s/^/P:/' TERM=dumb" query
must_lack out P:
paged "LINEAGE_PAGER= PAGER='sed s/^/P:/'" query
must_lack out P:
must_have out 2999
paged "PAGER='sed s/^/P:/' LESS=x; export LESS" query
# A pager that is missing or is left early is not an error; nothing is lost or printed twice.
paged "LINEAGE_PAGER=/nowhere/pager" query
must_exit 0
must_have out 2999
for early in true 'head -n 2' 'exit 5;'; do
    for command in query tree 'show 003' best; do
        paged "LINEAGE_PAGER='$early'" "$command"
        must_exit 0
        must_lack out 'cannot write'
        checks=$((checks + 1))
        [ "$(wc -l <out)" -le 2 ] || fail "$last: more than the pager showed"
    done
done
# A guide is its manual page if `man` finds that, and otherwise its text in the pager.
MANPATH=$scratch/none
export MANPATH
paged "LINEAGE_PAGER='sed s/^/P:/'" 'help rules'
must_exit 0
must_have out 'P:# Stores, labels, rules and promises'
if command -v man >/dev/null && [ -f "$BUILD/cli/man/lineage.7" ]; then
    mkdir -p pages/man7 && cp "$BUILD/cli/man/lineage.7" pages/man7
    MANPATH=$scratch/pages
    # groff 1.23 writes bold and underlined text with escape sequences, which `cat` keeps.
    plain_text() { sed 's/\x1b\[[0-9;]*m//g' out >plain; }
    paged 'MANPAGER=cat' 'help rules'
    must_exit 0
    plain_text
    must_have plain 'LINEAGE(7)'
    must_have plain 'lineage - what a store keeps'
    paged 'MANPAGER=cat' 'help lineage'
    plain_text
    must_have plain 'LINEAGE(7)'
fi
# `less` is the default pager.
if command -v less >/dev/null; then
    printf 'GGq' | timeout 60 script -qec "stty cols 80 rows 10; '$LINEAGE' query --color never" /dev/null >out 2>&1
    status=$? last='query in less'
    must_exit 0
    must_have out 2999
fi
finish
