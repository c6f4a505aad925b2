#!/bin/sh
# manners.sh: help on every level, exit statuses, standard output and standard error, output that cannot be written.
. "$SOURCE/tests/support/shell.sh"

commands=$(sed -n 's/^CLI_\(TRAIN_\)\{0,1\}COMMAND([a-z]*, \([a-z]*\),.*/\2/p' "$SOURCE/cli/commands/commands.def")
guides=$(sed -n 's/^CLI_GUIDE(\([a-z]*\),.*/\1/p' "$SOURCE/cli/man/guides.def")

must_run --version
must_equal "lineage $VERSION" "$(cat out)"
must_run --help
for word in $commands $guides; do
    must_have out "  $word "
done
must_have out 'Examples:'
must_equal '' "$(awk 'length > 80' out)" "--help: lines above 80 characters"
# Each command is listed once, below the title of its group.
for command in $commands; do
    must_equal 1 "$(sed '/^Guides/,$d' out | grep -c "^  $command  ")" "--help lists $command"
done
for title in 'Record trials:' 'Ask what was tried:' 'Plan and run nights:' 'Tell people and agents:' \
    'Check, repair and move a store:' 'Train with the built-in trainer, in the package lineage-train:' 'Guides, opened by `lineage help GUIDE`:'; do
    must_equal 1 "$(grep -cxF "$title" out)" "--help: '$title'"
done
must_equal 'Ask what was tried:' "$(sed '/^  best /q' out | grep '^[A-Z].*:$' | tail -n 1)" "group of best"
cp out help
must_run help
must_match_file help out

# A guide's name opens its text; a page's name works as well. No guide has the name of a command, which would hide it.
for guide in $guides; do
    file=$(sed -n "s/^CLI_GUIDE($guide, \"[^\"]*\", [0-9], \"\([^\"]*\)\".*/\1/p" "$SOURCE/cli/man/guides.def")
    must_run help "$guide"
    must_match_file "$SOURCE/$file" out
    must_equal '' "$(printf '%s\n' $commands | grep -x "$guide")" "guide $guide: a command has its name"
done
must_run help lineage-tutorial
must_match_file "$SOURCE/cli/man/tutorial.md" out

# Under LC_ALL=C the signs of tables, trees and maps are ASCII, of the same width; files and the texts of trials keep their bytes.
for command in tree chain knobs 'sweep alpha gamma' 'show 003'; do
    # shellcheck disable=SC2086 # a command and its arguments
    LC_ALL=C "$LINEAGE" $command -C "$SOURCE/fixtures/first-day" >plain 2>err || fail "$command under LC_ALL=C"
    must_equal "" "$(LC_ALL=C tr -d ' -~\n' <plain)" "$command under LC_ALL=C: other than ASCII"
    # shellcheck disable=SC2086
    LC_ALL=C.UTF-8 "$LINEAGE" $command -C "$SOURCE/fixtures/first-day" >signs 2>err
    must_equal "$(wc -l <signs)" "$(wc -l <plain)" "$command: lines"
done
must_equal 0 "$(LC_ALL=C "$LINEAGE" tree -C "$SOURCE/fixtures/first-day" | grep -c '└')"
must_equal 1 "$(LC_ALL=C.UTF-8 "$LINEAGE" tree -C "$SOURCE/fixtures/first-day" | grep -q '└' && echo 1)"

for command in $commands; do
    must_run "$command" --help
    must_have out "Usage: lineage $command"
    must_have out 'Examples:'
    must_have out "lineage"
    must_equal "" "$(awk 'length > 80' out)" "$command --help: lines above 80 characters"
    must_equal "" "$(LC_ALL=C tr -d ' -~\n' <out)" "$command --help: other than ASCII"
    cp out help
    must_run help "$command"
    must_match_file help out
    must_fail 2 "--no-such-option" "$command" --no-such-option
done

# The help of append alone explains what can be recorded: labels, keys, and where their schema is.
must_run append --help
cp out help
for word in $(sed -n '/"enum": \["auto"/,/\]/p' "$SOURCE/schema/trial.schema.json" | grep -o '"[a-z_]*"' | tr -d '"' | grep -vx enum) \
    $(sed -n 's/^    "\([a-z_]*\)": .*/\1/p' "$SOURCE/schema/trial.schema.json") \
    schema/trial.schema.json; do
    must_have help "$word"
done

# An invalid width of the terminal changes nothing.
for columns in abc 0 -5 999999999999; do
    COLUMNS=$columns must_run append --help
    must_match_file help out
done

# The scripts print their own help, and refuse unknown arguments before they install or build anything.
for script in cli/first-night.sh tests/run.sh $(cd "$SOURCE" && echo tests/bench/*.sh); do
    last="sh $script --help"
    sh "$SOURCE/$script" --help >out 2>err </dev/null
    status=$?
    must_exit 0
    must_have out "usage: sh $script"
    [ -s err ] && fail "$last: not silent on standard error"
done
last="first-night.sh with an option"
sh "$SOURCE/cli/first-night.sh" --frobnicate >out 2>err </dev/null
status=$?
must_exit 2
last="ladder_plot.sh without arguments"
sh "$SOURCE/tests/bench/ladder_plot.sh" >out 2>err </dev/null
status=$?
must_exit 2
must_have err 'usage: '

run
must_exit 2
must_have err 'Usage: lineage'
must_equal 0 "$(wc -c <out)" "no command: standard output"
must_fail 2 "did you mean 'render'" rendr
must_fail 2 "no command 'frobnicate'" frobnicate
must_fail 2 "did you mean 'void'" delete
must_fail 2 "did you mean 'settings'" leaderboard
must_fail 2 "no command 'frobnicate' and no guide of that name" help frobnicate
must_fail 2 "did you mean 'tutorial'" help tutorail
must_fail 2 "did you mean 'render'" help rendr
must_fail 2 "unknown option '--frobnicate'" --frobnicate best
must_fail 2 "-C wants a value" -C
# What earlier versions had is named with what to do instead, for each row of the table.
rows=0
while IFS='|' read -r command option advice; do
    rows=$((rows + 1))
    # shellcheck disable=SC2086
    must_fail 2 "was removed; $advice" $command ${option:+--$option x}
    [ -n "$option" ] || must_fail 2 "was removed; $advice" help "$command"
done <<END
$(sed -n '/^const char \*cli_instead/,/^}/s/^ *{"\([a-z]*\)", "\([a-z-]*\)", "\(.*\)"},$/\1|\2|\3/p' "$SOURCE/cli/support/options.c")
END
must_equal 14 "$rows" 'rows of the table'
must_fail 2 "show: unexpected argument '001'; run it once for each; see" show 000 001
must_fail 2 "verify: unexpected argument '001'; see" verify 001
must_fail 2 'append --batch: this option was removed' append --batch=dump.json
must_fail 2 "did you mean --format" best --fromat json
must_fail 2 "--format 'xml'" best --format xml
must_fail 2 "--direction 'up'" best --direction up
must_fail 2 "unexpected argument 'x'" best x
# Where a parameter or a command was meant, the message says how to write it.
must_fail 2 'write --param lr=0.1' tried --lr 0.1
must_fail 2 'write --param lr=0.1' query --lr=0.1
must_fail 2 'did you mean --param?' query --prm a=1
must_fail 2 "after \`--\`: lineage run -- echo" run echo hi
must_fail 2 "'lr' is not NAME=LOW:HIGH" suggest --range lr
must_fail 2 "missing argument" show
must_fail 2 "missing argument" sweep
must_fail 2 "missing argument" sql
must_fail 2 "missing argument" import
must_fail 2 "unexpected argument 'c'" sweep a b c
must_fail 2 "cannot open the store nowhere" -C nowhere best
must_fail 2 "cannot open the store nowhere" best --directory=nowhere
touch file
must_fail 2 "cannot open the store file" -C file best

# -C before and after the command, options with one or two words, _ for -.
new_store store
trial 000 '' keep 2.0 first >>store/results.tsv
trial 001 000 keep 1.0 second >>store/results.tsv
for line in "-C store best --format tsv" "best -C store --format=tsv" "--directory=store best --format tsv" \
    "-Cstore best --format tsv" "-C store --direction lower best --format tsv"; do
    # shellcheck disable=SC2086
    must_run $line
    must_equal 001 "$(sed -n 2p out | cut -f1)"
done
must_run -C store best --direction higher --format json
must_equal 000 "$(json exp_id)"
must_run -C store append --status discard --core_metric 3
must_equal 002 "$(cat out)"

# Standard output has only the result: no escape sequences, no notices.
for command in best chain tree query verify render "show 001" "sweep alpha"; do
    # shellcheck disable=SC2086
    run -C store $command
    must_lack out "$(printf '\033')"
done

# Where no store is, a command that fails or only asks leaves no files behind.
mkdir empty
for command in "append --status bogus" "append --core-metric 3" "append --status keep" \
    "append --status keep --core-metric 1 --parent 007" "append --json nowhere" best chain tree query render verify \
    "show 001" "sweep alpha" "tried --alpha 1" "sql SELECT(1)" "train nowhere.json" "night nowhere.json" \
    "init --direction up" "import nowhere"; do
    # shellcheck disable=SC2086
    run -C empty $command
    checks=$((checks + 1))
    [ -z "$(ls -A empty)" ] || fail "$last: left $(ls -A empty)"
done
must_run -C empty append --create --status keep --core-metric 1
must_equal 'results.tsv' "$(ls empty)"

# Output that cannot be written is a failure of the system, in every command.
if [ -c /dev/full ]; then
    for command in --help --version "best --help" "-C store best" "-C store best --format json" "-C store query" \
        "-C store query --format tsv" "-C store render" "-C store tree" "-C store sql SELECT(1)"; do
        last="lineage $command >/dev/full"
        # shellcheck disable=SC2086
        "$LINEAGE" $command >/dev/full 2>err
        status=$?
        must_exit 3
        must_have err "cannot write"
    done
fi
last="lineage query >&-"
"$LINEAGE" -C store query >&- 2>err
status=$?
must_exit 3

# A damaged results.tsv and a damaged lineage.json.
mkdir dir json && mkdir dir/results.tsv
must_fail 3 "dir/results.tsv" -C dir best
for text in '{' '[]' '{"direction": "up"}' '{"dirction": "lower"}' '{"metric": 3}' '{"min_delta": "x"}'; do
    printf '%s\n' "$text" >json/lineage.json
    must_fail 2 "lineage.json" -C json best
done

# A command that a message names finds the store of the command line again; no message is printed by another way.
must_run init 'a b' --direction lower
must_run append -C 'a b' --status baseline --core-metric 1
mkdir elsewhere
for how in "-C 'a b' knobs x" "knobs -C'a b' x" "knobs x --directory='a b'"; do
    eval "run $how"
    must_have err "\`lineage knobs -C 'a b'\` lists the settings that were changed, \`lineage search -C 'a b'\` finds"
done
must_fail 2 '`lineage diff -C '"'"'elsewhere/../a b'"'"' ID ID`' -C 'elsewhere/../a b' diff 000
cd 'a b' || exit 3
run knobs x
must_have err '`lineage knobs` lists the settings that were changed, `lineage search` finds'
run knobs x -C .
must_have err '`lineage knobs -C .` lists'
cd ..
# A kind of trial has no command to type, and a directory with a blank has its quotes once.
must_fail 2 'only trials of lineage run can be repeated' -C 'a b' rerun 000
run run -C 'a b' -q -m foo -- echo nothing
must_have err "\`lineage rescore -C 'a b' $(cat out) -m NAME\` reads the score"
printf '{"name": "n", "direction": "lower", "metrics": ["foo"], "command": "echo {x}", "grid": {"x": [1]}}' >n.json
run night n.json -C 'a b' -q
must_have err "(\`lineage rescore -C 'a b' --night 'n' -m NAME\` reads it"
must_fail 2 'or make one with `lineage init`' -C elsewhere best
rm 'a b/results.tsv'
run -C 'a b' verify
must_have out "'lineage restore -C 'a b'' brings them back"
must_equal '' "$(grep -rnE '(fprintf\(stderr|fputs\().*lineage: .*`lineage' "$SOURCE/cli" --include=*.c)" 'cli_say and cli_tell add the store'
finish
