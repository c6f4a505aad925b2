#!/bin/sh
# text_params.sh: parameters that are text, from append to every question about them.
. "$SOURCE/tests/support/shell.sh"

# finds IDS ARGUMENT...: the query finds exactly these trials.
finds()
{
    wanted_ids=$1
    shift
    must_run query --format tsv "$@"
    must_equal "$wanted_ids" "$(sed 1d out | cut -f1 | tr '\n' ' ' | sed 's/ $//')"
}

must_run append --create --status baseline --core-metric 30 --alpha 0.1 --param optimizer=adam --param "size='7B'" --hypothesis base
must_run append --status keep --core-metric 31 --parent 000 --alpha 0.3 --param optimizer=sgd \
    --param "schedule='cosine, warm-up 10'" --notes "it's x='y"
cat >input.json <<'JSON'
{"status": "discard", "core_metric": 29, "parent_exp": "001", "notes": "optimizer=adam diverged late",
 "params": {"alpha": 0.3, "optimizer": "adam", "model": "Qwen/Qwen3-8B", "who": "it's me"}}
JSON
must_run append --json input.json
must_run append --status harness_abort --alpha 0.1 --param optimizer=lion
must_equal "alpha=0.1; optimizer=adam; size='7B'" "$(sed -n 2p results.tsv | cut -f17)"
must_equal "alpha=0.3; optimizer=sgd; schedule='cosine, warm-up 10'; it's x='y" "$(sed -n 3p results.tsv | cut -f17)"
must_equal "alpha=0.3; optimizer=adam; model=Qwen/Qwen3-8B; who='it''s me'; optimizer=adam diverged late" \
    "$(sed -n 4p results.tsv | cut -f17)"

finds '000 002' --param optimizer=adam
finds '000 001 002' --param optimizer=adam,sgd
finds '001 000 002' --param optimizer=adam,sgd --sort -optimizer
finds '000 002 003 001' --param optimizer=: --sort optimizer
finds '002' --param optimizer=adam --alpha 0.3
finds '000' --param "size='7B'"
finds '001' --param "schedule='cosine, warm-up 10'"
finds '002' --param "who='it''s me'"
finds '' --param optimizer=Adam
finds '' --param optimizer=muon
must_run query --param optimizer=sgd --format json
must_equal sgd "$(json 0.params.optimizer)"
must_have out '"schedule": "cosine, warm-up 10"'
must_run query --param optimizer=sgd
must_have out "optimizer=sgd schedule='cosine, warm-up 10'"
must_fail 2 "text in single quotes" query --param size=7B
must_fail 2 "not a range" query --param alpha=0.1:x
must_fail 2 "holds numbers" query --param alpha=high
must_fail 2 "holds text" query --param optimizer=0.3
must_fail 2 "known are" query --param optimiser=adam
must_fail 2 "not a range" query --alpha high

must_run show 001
must_have out "schedule            cosine, warm-up 10"
must_run tried --param optimizer=adam --alpha 0.3
must_have out 002
run tried --param optimizer=sgd --alpha 0.1
must_exit 1
must_fail 1 'harness_abort' tried --param optimizer=lion --alpha 0.1
must_fail 2 "is not a parameter's text" tried --param optimizer=adam,sgd

must_run sweep optimizer --format tsv
must_equal "adam 2 29.0 002,sgd 1 31.0 001" "$(sed 1d out | cut -f1-4 | tr '\t' ' ' | paste -sd,)"
must_run sweep optimizer alpha
must_have out "untried (1): optimizer=sgd alpha=0.1"
must_run sweep alpha optimizer --format json
must_equal 'sgd' "$(json untried.0.optimizer)"
must_equal '0.1' "$(json untried.0.alpha)"
must_equal 'adam' "$(json cells.0.optimizer)"

must_run compare optimizer=adam optimizer=sgd --over alpha
must_have out "optimizer=sgd       1    31"
must_have out "size: 7B in 1 of 2"
must_run compare --by optimizer --over alpha --baseline sgd --json
must_equal 'optimizer=sgd' "$(json baseline)"
must_equal 'sgd' "$(json variants.0.settings.optimizer.text)"
must_run compare "alpha=0.3,schedule='cosine, warm-up 10'" "alpha=0.3,optimizer=adam" --over alpha

must_run render
must_have out "optimizer sgd → adam"
must_have out "untried alpha × optimizer (1 of 4): 0.1×sgd"
must_have out "adam (1 discard, 1 baseline; best 29)"

must_run report -o report.html
must_equal 0 "$(grep -c '=nan' report.html)" "no text is shown as nan"
must_have report.html '>adam</td><td class="n">sgd</td>'

must_run verify
must_run sql "SELECT group_concat(exp_id || value, ' ') FROM text_params WHERE key = 'optimizer'"
must_have out "000adam 002adam 003lion 001sgd"
must_run rebuild
finds '000 002' --param optimizer=adam
must_run verify


# Import keeps them. Rows of other tools whose prose is full of key=value keep only their numbers.
{
    header
    row 000 2026-05-01T00:00:00Z a '' '' '' '' '' baseline 3.0 '' '' '' '' '' '' \
        'alpha=0.3 fixed; optimizer=adam; uses lr=low where x=y; beta2=0.9→0.95; mode=fast run; d={a=b}'
    row 001 2026-05-02T00:00:00Z a 000 '' '' '' '' keep 2.0 '' '' '' '' '' '' 'alpha=0.5; alpha=high; kl=off (see 000)'
} >theirs.tsv
must_run init other
must_run import -C other theirs.tsv
must_run query -C other --format json
must_equal 'adam' "$(json 0.params.optimizer)"
must_equal '{"alpha": 0.3, "optimizer": "adam"}' "$(sed -n 2p out | sed 's/.*"params": \({[^}]*}\).*/\1/')"
must_equal '{"alpha": 0.5}' "$(sed -n 3p out | sed 's/.*"params": \({[^}]*}\).*/\1/')"

# Texts that cannot be written or contradict the notes are refused, and nothing is written.
cp results.tsv before
must_fail 2 "a text that begins like a number" append --status keep --core-metric 1 --param lr=1e-4x
must_fail 2 "is not a parameter's text" append --status keep --core-metric 1 --param 'optimizer=a;b'
must_fail 2 "optimizer is set to another value" append --status keep --core-metric 1 --param optimizer=adam --notes optimizer=sgd
must_fail 2 "optimizer is set to another value" append --status keep --core-metric 1 --param optimizer=1 --notes optimizer=sgd
must_fail 2 "parameter lr: '-x' is not a number" append --status keep --core-metric 1 --param lr=-x
must_fail 2 "put a text with commas or quotes into single quotes" append --status keep --core-metric 1 --param 'layers=a,b'
must_run init lists
must_run append -C lists --status keep --core-metric 1 --param 'layers=[1, 2]'
must_run tried -C lists 'layers=[1, 2]'
must_run query -C lists 'layers=[3],[1, 2]' --exit-status
# A row and a program get each blank that was typed.
run run -C lists -m core --param 'x={"a": 1}' -- sh -c 'echo "got $1"; echo core: 2' sh '{x}'
must_have err 'got {"a": 1}'
must_run tried -C lists 'x={"a": 1}'
run run -C lists -m core --param 'x=[64, 32]' -- sh -c 'echo "got $1"; echo core: 2' sh '{x}'
must_have err 'got [64, 32]'
must_match_file before results.tsv

# A path or a bracket needs no quotes, and a question may spell it as the trial did.
must_run init paths
must_run append -C paths --status keep --core-metric 1 --param data=/data/train.bin --param start=./run_3 --param mask='[a]'
must_have paths/results.tsv "data='/data/train.bin'; start='./run_3'; mask='[a]'"
must_run tried -C paths --param data=/data/train.bin --param start=./run_3
must_fail 1 '' tried -C paths --param data=/data/other.bin
must_run query -C paths --param 'data=~/x,/data/train.bin'
must_have out 000
must_fail 2 "'.5x' is not a number" append -C paths --status keep --core-metric 1 --param data=.5x

# A value is found, and not recorded twice, by what was shown of it: bars and backquotes have signs in their place.
mkdir shown
must_run -C shown append --create --status baseline --core-metric 30 --param 'target=q|v' --param 'mark=a`x' --specialist 'a|b'
must_run -C shown render
shown=$(sed -n 's/.*target=`\([^`]*\)`.*/\1/p' out | head -n 1)
must_equal 'q∣v' "$shown"
must_run -C shown tried --param "target=$shown" --param 'mark=aˋx'
finds 000 -C shown --param "target=other,$shown" --specialist 'a∣b'
must_run -C shown append --status keep --core-metric 31 --param "target=$shown" --param 'mark=aˋx' --param lr=1
must_equal "target='q|v'; mark='a\`x'; lr=1" "$(sed -n 3p shown/results.tsv | cut -f17)"
must_run -C shown append --status keep --core-metric 31 --param 'target=k∣v' # nothing else is shown so
finds 002 -C shown --param 'target=k∣v'
must_run -C shown append --status keep --core-metric 31 --param 'target=k|v'
finds 003 -C shown --param 'target=k|v'
finds 002 -C shown --param 'target=k∣v'
# So it is if the parameter has a column's name, and if trials inherit.
must_run -C shown append --status keep --core-metric 31 --parent 000 --param 'domain=c|d' --param lr=2
finds 004 -C shown --param 'domain=c∣d'
finds 004 -C shown --param 'target=q∣v' --param lr=2

# An integer that a number does not hold is a text, so that the seed that ran is the one that is recorded.
mkdir wide
wide=9007199254740993
must_run -C wide init --direction lower
run -C wide run -q -m loss -p seed=$wide -p low=-9223372036854775808 -p time=1234567890123456 -- sh -c 'echo {seed} {low} {time}; echo METRIC loss=1'
must_exit 0
must_have wide/logs/000.log "$wide -9223372036854775808 1234567890123456"
must_have wide/results.tsv "seed='$wide'; low='-9223372036854775808'; time=1234567890123456;"
printf '{"status": "discard", "core_metric": 2, "params": {"seed": %s}}\n' $wide >one.json
must_run -C wide append --json one.json
must_equal "seed='$wide'" "$(tail -n 1 wide/results.tsv | cut -f 17)"
finds '000 001' -C wide --param seed=$wide
must_fail 1 '' tried -C wide --param seed=9007199254740992
printf '{"command": ["true"], "metrics": ["loss"], "trials": [{"params": {"x": %s}}]}\n' $wide >wide.json
must_fail 2 'an object of numbers below 2^53 and texts' night wide.json -C wide

# One integer has one text at every door, however it is spelled and however long it is.
seed128=302934307671667531413257853548643485645
must_run init --direction lower -C same
for lr in 0.1 0.2; do
    for seed in +9007199254740993 ' 09007199254740995' -9007199254740997 $seed128; do
        must_run -C same append --status discard --core-metric 1 --param lr=$lr --param "seed=$seed"
    done
done
must_equal "$seed128" "$(tail -n 1 same/results.tsv | sed "s/.*seed='\([0-9]*\)'.*/\1/")"
finds '000 004' -C same --param seed=9007199254740993
finds '001 005' -C same --param seed=+9007199254740995
finds '000 003 004 007' -C same --param "seed=$seed128,9007199254740993"
must_run -C same compare lr=0.1 lr=0.2 --format json
must_equal 4 "$(json variants.1.pairs)"
must_run -C same compare seed=9007199254740993 seed=$seed128 --over lr --format json
must_equal 2 "$(json variants.1.pairs)"
must_fail 2 'not a number' append -C same --status discard --core-metric 1 --param seed=9007199254740993x
must_fail 2 'neither a range nor texts' query -C same --param seed=9007199254740993,5

# Rows of other tools hold the rounded number, and so do columns. They are found as before, beside texts, too.
must_run init --direction lower -C numbers
must_run -C numbers append --status discard --core-metric 1 --param seed=42
run tried -C numbers --param seed=9007199254740993
must_exit 1
finds '' -C numbers --param seed=9007199254740993
must_run -C numbers append --status discard --core-metric 1e18 --notes "flops=1000000000000000000; seed=9007199254740993"
finds 001 -C numbers --param flops=1000000000000000000
finds 001 -C numbers --param core_metric=1000000000000000000
finds 001 -C numbers --param seed=9007199254740993
must_run -C numbers append --status discard --core-metric 1 --param seed=9007199254740993
finds '001 002' -C numbers --param seed=9007199254740993
finds 001 -C numbers --param seed=9007199254740992
finds '001 002' -C numbers --param seed=9007199254740993 --sort seed
must_run tried -C numbers --param seed=9007199254740993 --format tsv
must_equal '001 002' "$(sed 1d out | cut -f1 | paste -sd' ')"
must_run tried -C numbers --param flops=1000000000000000000

# What the store writes is taken as JSON again: the text, an integer of any length, and a number that was given with a point.
must_run show 002 -C numbers --format json
must_have out '"seed": "9007199254740993"'
printf '{"status": "discard", "core_metric": 1, "params": {"x": "9007199254740993", "y": 18446744073709551615, "z": 1e16, "n": 3}}\n' >one.json
must_run append -C numbers --json one.json
must_equal "n=3; x='9007199254740993'; y='18446744073709551615'; z=1e+16" "$(tail -n 1 numbers/results.tsv | cut -f 17 | tr ';' '\n' | sed 's/^ //' | LC_ALL=C sort | paste -sd';' | sed 's/;/; /g')"
printf '{"status": "discard", "core_metric": 1, "params": {"x": "+9007199254740993"}}\n' >one.json
must_fail 2 'a text that spells one' append -C numbers --json one.json
must_run -C numbers append --status discard --core-metric 1 --param x=9007199254740992.0
must_run show 004 -C numbers --format json
must_have out '"x": 9007199254740992.0'
finish
