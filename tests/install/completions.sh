#!/bin/sh
# shellcheck disable=SC2016 # what other shells are to expand
# completions.sh: `lineage complete` offers the right words, and bash, zsh and fish complete them when they are typed.
. "$SOURCE/tests/support/shell.sh"

new_store store
trial 000 '' keep 2.0 'wide clip' 'alpha=0.3,lr=0.1; optimizer=adam' >>store/results.tsv
trial 001 000 discard 2.5 'narrow clip' 'alpha=0.9' >>store/results.tsv
trial 'a b' 000 crash '' 'no word of a shell' >>store/results.tsv
trial '$(touch hacked)' 000 crash '' 'nor is this' >>store/results.tsv

# ---- the words ----
# offers WORDS WANTED: the output has one line per word of WANTED; descriptions are ignored.
offers()
{
    eval "run complete $1"
    must_exit 0
    must_equal "$2" "$(cut -f 1 out | tr '\n' ' ')"
    must_equal "" "$(cat err)" "$last: standard error"
}

run --help
sed -n '/^Guides/q; s/^  \([a-z]*\) .*/\1/p' out >commands
sed -n '/^Guides/,/^$/{ s/^  \([a-z]*\) .*/\1/p; }' out >guides
[ "$(wc -l <commands)" -ge 26 ] || fail "commands of --help: $(cat commands)"
offers "''" "$(tr '\n' ' ' <commands)help "
offers 'qu' 'query '
offers 'help qu' 'query '
offers 'help ""' "$(cat commands guides | tr '\n' ' ')"
offers 'help tut' 'tutorial '
offers '-' '-C --help --version '
offers '-C ""' ':directory '

# Every option of every --help is offered, and nothing else.
while read -r command; do
    run "$command" --help
    sed -n '/^$/q; s/^  \(-[a-zA-Z], \|    \)\(--[a-z-]*\).*/\2/p' out | sort >wanted
    run complete "$command" --
    must_exit 0
    cut -f 1 out | sort >got
    last="options of $command"
    must_match_file wanted got
done <commands

offers '-C store show ""' '001 000 '
offers 'show -C store 00' '001 000 '
offers 'show --directory=store 000' '000 '
HOME=$scratch
export HOME
offers 'show -C "~/store" 000' '000 '
offers 'diff -C store 000 ""' '001 000 '
offers 'append -C store --parent ""' '001 000 '
offers 'train -C store --parent b' 'best '
offers 'show --format ta' 'table '
offers 'show --format=' '--format=table --format=tsv --format=csv --format=json '
offers 'query -C store --status keep,d' 'keep,discard keep,disqualified '
offers 'query -C store --sort -l' '-lr '
offers 'query -C store --param ""' 'alpha= lr= optimizer= '
offers 'query -C store --param optimizer=' 'optimizer=adam '
offers 'query -C store --param=lr=' '--param=lr=0.1 '
offers 'query -C store --specialist ""' 'opt '
offers 'sweep -C store alpha o' 'optimizer '
offers 'append --status a' 'auto '
offers 'report --svg h' 'history '
offers 'render --sections best,le' 'best,leaderboard '
offers 'core a2tgpo_t' 'a2tgpo_turn_loss '
offers 'train ""' ':file '
offers 'init ""' ':directory '
offers 'show -C nowhere ""' ''
offers 'show -C store -- 00' '001 000 '
offers 'run -C store -- ""' ':file '
offers 'run -C store --parent ""' '001 000 best '
offers 'run --score ""' ''
offers 'run --env ""' ''
run complete run ''
must_have out "--$tab"
run complete nonsense ''
must_equal '' "$(cat out err)"
run complete
must_exit 0

printf 'no store' >store/lineage.db
run complete -C store show ''
must_equal '' "$(cat err)"
[ ! -e hacked ] || fail "a cell was run"
rm store/lineage.db
rm -rf none && mkdir none && run complete -C none show ''
must_equal '' "$(ls -A none)" "completion outside a store leaves a file"

# ---- shells ----
mkdir bin
ln -s "$LINEAGE" bin/lineage
PATH=$scratch/bin:$PATH
export PATH
unset HISTFILE
scripts=$SOURCE/cli/completions
# The completed line is printed and not executed.
cat >printer <<'END'
lineage() { case $1 in complete) command lineage "$@" ;; *) printf '<%s>' "$@"; echo ;; esac; }
END

# types SHELL-COMMAND INPUT: types INPUT into a shell on a new terminal; the output is in ./out.
types()
{
    printf '%b' "$2\nexit\n" >typed
    timeout 60 script -qec "$1" /dev/null <typed 2>err | tr -d '\r' >out
}

terminal=no # script makes a terminal for the test if the machine allows it
command -v script >/dev/null && script -qec true /dev/null </dev/null >out 2>&1 && terminal=yes
if command -v bash >/dev/null && [ "$terminal" = yes ]; then
    cat printer "$scripts/lineage.bash" >rc.bash
    # completes TYPED WANTED
    completes()
    {
        last="bash: $1"
        types "bash --noprofile --rcfile rc.bash -i" "$1"
        must_have out "$2"
    }
    mkdir -p 'directory' && : >filename.json
    completes 'lineage que\t --form\tts\t' '<query><--format><tsv>'
    completes 'lineage que\t --format=ts\t' '<query><--format=tsv>'
    completes 'lineage -C store show 001\t' '<-C><store><show><001>'
    completes 'lineage query -C store --gamma :1.0 --param opt\tad\t' '<query><-C><store><--gamma><:1.0><--param><optimizer=adam>'
    completes 'lineage query -C "store" --param opt\t' '<--param><optimizer=>'
    completes 'lineage query -C store --status keep,dis\tc\t' '<--status><keep,discard>'
    completes 'COMP_WORDBREAKS=${COMP_WORDBREAKS//=/}\nlineage que\t --format=ts\t' '<query><--format=tsv>'
    completes 'lineage train filen\t' '<train><filename.json>'
    completes 'lineage train --checkpoint=filen\t' '<train><--checkpoint=filename.json>'
    completes 'lineage init direc\t' '<init><directory/>'
    completes 'lineage core a2tgpo_tu\t' '<core><a2tgpo_turn_loss>'
else
    printf 'SKIP bash: not installed, or without a terminal\n'
fi

if command -v zsh >/dev/null && [ "$terminal" = yes ]; then
    mkdir -p zsh
    {
        cat printer
        printf 'fpath=(%s $fpath)\nautoload -U compinit\ncompinit -u -D\nsetopt no_beep\nPS1="$ "\n' "$scripts"
    } >zsh/.zshrc
    completes()
    {
        last="zsh: $1"
        ZDOTDIR=$scratch/zsh types "zsh -i" "$1"
        must_have out "$2"
    }
    completes 'lineage que\t --form\tts\t' '<query><--format><tsv>'
    completes 'lineage que\t --format=ts\t' '<query><--format=tsv>'
    completes 'lineage -C store show 001\t' '<-C><store><show><001>'
    completes 'lineage query -C store --param opt\tad\t' '<--param><optimizer=adam>'
    completes 'lineage train filen\t' '<train><filename.json>'
else
    printf 'SKIP zsh: not installed, or without a terminal\n'
fi

if command -v fish >/dev/null; then
    completes()
    {
        last="fish: $1"
        fish --no-config -c "source $scripts/lineage.fish; complete -C '$1'" >out 2>err
        must_have out "$2"
    }
    completes 'lineage que' "query${tab}list trials"
    completes 'lineage query --form' "--format${tab}how to print"
    completes 'lineage -C store show 00' "001${tab}discard narrow clip"
    completes 'lineage query -C store --param opt' optimizer=
    completes 'lineage query -C store --param optimizer=' optimizer=adam
    completes 'lineage train filen' filename.json
    completes 'lineage init direc' directory/
else
    printf 'SKIP fish: it is not installed\n'
fi
[ ! -e hacked ] || fail "a cell was run by a shell"
finish
