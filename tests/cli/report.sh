#!/bin/sh
# report.sh: `lineage report`: every view is there, the file is well-formed and names no address, hostile cells are
# text, and existing files are not lost.
. "$SOURCE/tests/support/shell.sh"

must_check()
{
    checks=$((checks + 1))
    "$HTML_CHECK" "$@" >checked 2>&1 || { fail "html_check $*"; head -n 10 checked; }
}
must_hold()
{
    checks=$((checks + 1))
    grep -q -- "$1" "$2" || fail "$2 lacks $1"
}
must_lack()
{
    checks=$((checks + 1))
    ! grep -qi -- "$1" "$2" || fail "$2 has $1"
}
views='morning history tree coverage parallel knobs calibration failures importance seeds'

# An empty store, then one with every kind of outcome.
mkdir empty
must_run init empty
must_run report -C empty
must_equal empty/report.html "$(cat out)"
must_check empty/report.html
for view in $views; do
    must_run report -C empty --svg "$view"
    cp out "$view.svg"
    must_check "$view.svg"
done

must_run init store --direction higher --noise-std 0.2 --noise-seeds 4
run_row() { must_run append -C store "$@"; }
run_row --specialist grpo --status baseline --core-metric 33.21 --param seed=1 --alpha 0.1 --gamma 0.9 --hypothesis 'plain GRPO'
run_row --specialist grpo --status discard --core-metric 33.0 --param seed=2 --alpha 0.1 --gamma 1.0 --parent 000
run_row --specialist v1d --status auto --core-metric 34.96 --param seed=1 --alpha 0.3 --gamma 1.0 --parent 000 --expected-delta +0.5 \
    --notes 'info_gain turn=0 mean=0.1 std=0.2; info_gain turn=1 mean=-0.05 std=0.1'
run_row --specialist v1d --status auto --core-metric 35.0 --param seed=2 --alpha 0.5 --gamma 0.9 --parent 002 --expected-delta +0.1
run_row --specialist v1d --status crash --alpha 0.9 --gamma 1.0 --parent 002 --notes 'out of memory at step 40; alpha=0.9'
run_row --specialist length --status train_budget_overrun --alpha 0.5 --parent 002
must_run report -C store
must_equal store/report.html "$(cat out)"
must_check store/report.html
for view in $views; do
    must_hold "id=\"s0-$view\"" store/report.html
    [ "$view" = morning ] || must_hold "class=\"pic pic-$view" store/report.html
    must_run report -C store --svg "$view"
    cp out "$view.svg"
    must_check "$view.svg"
    must_hold '<desc' "$view.svg"
    must_hold '<title' "$view.svg"
done
must_hold 'moved the best from 33.21' store/report.html
must_hold 'to <strong>34.96</strong> (+1.75), by <a href="#s0-t2" data-t="2">002</a>' store/report.html
must_hold '1 crash, 1 train budget' store/report.html
must_hold 'not tried' store/report.html
must_hold 'edge chain' store/report.html
must_hold 'out of memory at step 40' failures.svg
must_hold 'Few trials' importance.svg
must_hold 'Information gain by turn' store/report.html
# A card shows first what the trial changed and from where that is known.
must_hold '<th scope="row">alpha</th><td class="n">0.3</td><td class="n">0.5</td><td>declared</td>' store/report.html
must_hold '</h3><table class="changes">' store/report.html
# All trials are of one night, so there is one chart of the scores, and each trial is in one table.
must_lack 'pic-morning' store/report.html
must_equal 1 "$(grep -c '<table class="trials">' store/report.html)"
must_hold '<tr><td><a href="#s0-t2" data-t="2">002</a>' store/report.html
# What is new since a trial or a time, which the reader knows better than the page.
must_run report -C store --since exp_003 -o since.html
must_check since.html
must_hold 'Since you last looked' since.html
must_hold '2 trials ran since exp_003' since.html
must_hold 'pic-morning' since.html
must_run report -C store --since 005 -o since.html
must_check since.html
must_hold 'Nothing is new' since.html
must_run report -C store --since '1 hour ago' -o since.html
must_hold '6 trials ran since 1 hour ago' since.html
must_run report -C store --since tomorrow -o since.html
must_hold 'Nothing is new' since.html
must_fail 2 "neither a trial of store nor a date" report -C store --since nobody
# A long chain of kept trials makes no longer path than the width of the picture can show.
mkdir deep
awk 'NR == FNR { if (FNR == 1) print; next } ' store/results.tsv /dev/null >deep/results.tsv
awk 'BEGIN { for (i = 0; i < 8000; i++) printf "%05d\t\ta\t%s\t\t\t\t\t%s\t%d.5\t\t\t\t\t\t\t\n", i, i ? sprintf("%05d", i - 1) : "", i ? "keep" : "baseline", i }' >>deep/results.tsv
must_run init deep --direction higher --noise-std 1 --noise-seeds 4
must_run report -C deep --svg history
must_check out
for class in best band; do
    checks=$((checks + 1))
    longest=$(grep -o "<path class=\"$class[^>]*>" out | awk '{ if (length > n) n = length } END { print n }')
    [ "$longest" -gt 5000 ] && [ "$longest" -lt 90000 ] || fail "the path of $class in 8,000 kept trials has $longest bytes"
done
# The tree shows the beginning and the end of the chain, and the rest of it as a bar.
must_run report -C deep --svg tree
must_check out
must_hold '>00000</tspan>' out
must_hold '>07999</tspan>' out
must_equal 160 "$(grep -o 'class="id"' out | wc -l)"
must_hold '>7840</text>' out
# Predictions with their verdicts, scores with their margin, numbers that are not finite, and one parameter.
must_hold '1 supported, 0 refuted, 1 inconclusive' store/report.html
must_hold '<span class="verdict v1">supported</span></td><td><a href="#s0-t2" data-t="2">002</a></td><td class="h">' store/report.html
must_hold '34.96 <span class="pm">± 0' store/report.html
mkdir one
head -n 1 store/results.tsv >one/results.tsv
for row in 'baseline 1 0.1 0.5' 'discard nan 0.2 0.6' 'discard inf auto 0.7'; do
    set -- $row
    printf '%s\t\t\t\t\t\t\t\t%s\t%s\t\t\t\t\t\t\trate=%s; alpha=%s\n' "$3" "$1" "$2" "$3" "$4" >>one/results.tsv
done
must_run init one --direction higher
must_run report -C one
must_check one/report.html
must_hold '<td class="n">nan</td>' one/report.html
must_hold '<td class="n">inf</td>' one/report.html
must_hold '"odd":{"1":"nan","2":"inf"}' one/report.html
must_hold '"words":\["auto"\],"odd":{"0":"0.1","1":"0.2"}' one/report.html
must_hold '1 parameter[ ;]' one/report.html
must_lack '1 parameters' one/report.html
must_hold 'pic-knobs' store/report.html
must_lack 'https*:' "$(sed 's,http://www.w3.org/2000/svg,,' store/report.html >addresses; echo addresses)"
# The same store gives the same bytes.
cp store/report.html first.html
must_run report -C store
must_match_file first.html store/report.html

# Settings that trials state in words, citations between rows of the tree and in cards, and hostile texts in both.
must_run init words --direction higher
state() { must_run append -C words "$@"; }
state --status baseline --core-metric 1 --hypothesis 'the program unchanged'
state --status keep --core-metric 2 --parent 000 --hypothesis 'Raise grad_clip_norm 0.3 → 0.5'
state --status keep --core-metric 3 --parent 001 --hypothesis 'Lower warmdown_frac 0.78 → 0.72'
state --status keep --core-metric 4 --parent 002 --hypothesis 'Raise grad_clip_norm 0.5 → 0.8 on top of exp_001, a retry of exp_000'
state --status crash --parent 003 --hypothesis 'Lower grad_clip_norm 0.8 → 0.6'
state --status discard --core-metric 2 --parent 003 --hypothesis 'optimizer=<b>x</b> and optimizer=adamw; grad_clip_norm 0.8 → 0.1'
must_run report -C words
cp words/report.html words.html
must_check words.html
# Two arcs, each in the layouts for a wide and a narrow window.
must_equal 4 "$(grep -c 'class="cite"' words.html)"
must_hold '<title>003 cites 001</title>' words.html
must_hold 'Cites <a href="#s0-t0" data-t="0">000</a>, <a href="#s0-t1" data-t="1">001</a>' words.html
must_hold 'Cited by <a href="#s0-t3" data-t="3">003</a>' words.html
must_hold '<th scope="row">grad_clip_norm</th><td class="n">0.3</td><td class="n">0.5</td><td>stated</td>' words.html
must_hold '<th scope="row">grad_clip_norm</th><td>0.8</td><td><a href="#s0-t3" data-t="3">003</a></td><td class="n">4</td><td class="n">2 of 2</td><td class="n">0 of 1</td>' words.html
must_lack '<b>' words.html
must_run report -C words --svg knobs
must_check out
must_hold 'class="force"' out
must_equal '1 1 2' "$(echo $(grep -c 'm dot discard' out) $(grep -c 'm cross fail' out) $(grep -c 'm dot keep' out))"
must_lack 'log scale' out
state --status discard --core-metric 1 --parent 003 --hypothesis 'Lower grad_clip_norm 0.8 → 0.001'
must_run report -C words --svg knobs
must_check out
must_hold 'lowered: 0 of 2 kept, log scale' out
# At most twelve settings are drawn, and a name or a value may be markup.
set --
for i in 1 2 3 4 5 6 7 8 9 10 11 12 13 14 15; do
    set -- "$@" --param "many$i=0"
done
state --status discard --core-metric 1 --parent 003 "$@"
for i in 1 2 3 4 5 6 7 8 9 10 11 12 13 14 15; do
    state --status discard --core-metric 1 --parent 007 --param "many$i=1"
    state --status discard --core-metric 1 --parent 007 --param "many$i='<i>\"&'"
    state --status discard --core-metric 1 --parent 007 --param "many$i='<i>\"&'"
    state --status discard --core-metric 1 --parent 007 --param "many$i='<i>\"&'"
done
must_run report -C words --svg knobs
must_check out
must_equal 12 "$(grep -o 'class="strong"' out | wc -l)"
must_lack '<i>' out
must_hold '&lt;i&gt;' out
must_run report -C words
must_check words/report.html
must_lack '<i>' words/report.html
rm -f report.html

# Several stores side by side, and standard output.
must_run report store empty -o -
cp out both.html
must_check both.html
must_hold 'pic-stores' both.html
must_hold 'id="s1-history"' both.html
must_run report store empty
must_equal report.html "$(cat out)"
must_check report.html

# Step curves, and the diff of a kept trial's files.
mkdir work
echo 'rate = 1' >work/train.py
must_run init files --direction higher
must_run append -C files --status keep --core-metric 1 --snapshot work
printf 'rate = 2 # <b>&\n' >work/train.py
must_run append -C files --status keep --core-metric 2 --parent 000 --snapshot work
mkdir -p files/telemetry
printf '{"steps": [{"step": 0, "reward": 0.1}, {"step": 1, "reward": 0.4}, {"step": 2, "reward": 0.3}]}' >files/telemetry/001.json
must_run rebuild -C files
run report -C files -o -
must_exit 0
cp out files.html
must_check files.html
must_hold '<ins>+rate = 2 # &lt;b&gt;&amp;</ins>' files.html
must_hold 'class="curve"' files.html
must_run report -C files -o - --no-diffs
must_lack '<ins>' out

# Hostile cells in every column: markup, handlers, entities, quotes, bidirectional controls, line ends.
mkdir hostile
evil="</script><script>alert(1)</script><img src=x onerror=alert(1)>\"' onload=alert(1) x='&#60;&lt;b&gt; \`--> ]]> javascript:alert(1)"
bidi=$(printf '\342\200\256gnp.exe\342\201\246\342\200\250x')
head -n 1 store/results.tsv >hostile/results.tsv
i=0
for status in baseline keep discard crash; do
    printf '%s\t%s\t%s\t%s\t%s\t%s\t%s\t%s\t%s\t%s\t\t%s\t1\t2\t%s\t%s\t%s\n' "$i$evil" "2026-01-0$((i + 1))T$evil" "$evil$bidi" \
        "0$evil" "$evil" "$evil" "$bidi$evil" "+1 $evil" "$status" "$i.5" "1" "$evil" "../$evil" "alpha=0.$i, x-$i=3; seed=$i; $evil $bidi" |
        sed 's/"/""/g; s/\([^\t]*""[^\t]*\)/"\1"/g' >>hostile/results.tsv
    i=$((i + 1))
done
run report -C hostile -o -
must_exit 0
cp out hostile.html
must_check hostile.html
must_hold '&lt;img src=x onerror' hostile.html
must_lack '<img' hostile.html
must_equal 2 "$(grep -c '<script' hostile.html)"
checks=$((checks + 1))
script=$(sed -n '/^<script>/,/<\/script>/p' hostile.html | wc -c)
[ "$script" -gt 5000 ] && [ "$script" -le 40000 ] || fail "the page's script is $script bytes"
for view in $views; do
    run report -C hostile --svg "$view"
    cp out "$view.svg"
    must_check "$view.svg"
done
must_check history.svg

# Also the hostile cases of the format, and the published runs if they are there.
for case in "$SOURCE"/fixtures/cases/fk-* "$SOURCE"/../shared/lineage-cases/run-*; do
    [ -f "$case/input.tsv" ] || continue
    rm -rf case
    mkdir case
    cp "$case/input.tsv" case/results.tsv
    run report -C case -o -
    must_exit 0
    cp out case.html
    must_check case.html
done

# Refused commands.
must_fail 2 "is not a picture; use one of morning, history" report -C store --svg nope
must_fail 2 "not both" report -C store empty
must_fail 2 "shows one store" report store empty --svg history
run report -C nowhere
must_exit 2
echo mine >store/report.html
must_fail 2 "exists and is not a report" report -C store
must_equal mine "$(cat store/report.html)"
must_run report -C store -o store/report.html
must_check store/report.html
must_fail 3 "cannot write" report -C store -o nowhere/report.html
must_equal 0 "$(find . -name 'report.html.*' | wc -l)"

# A path that the user typed keeps its type: a pipe (/dev/null is one to root), a link, a private file.
must_run report -C store -o store/report.html
mkfifo pipe
cat pipe >piped &
must_run report -C store -o pipe
wait $!
must_match_file store/report.html piped
[ -p pipe ] || fail "the pipe was replaced"
: >private
chmod 600 private
ln -s private link
must_run report -C store -o link
must_equal "private 600" "$(readlink link) $(stat -c %a private)"
must_match_file store/report.html private
must_run report -C store --svg history -o picture.svg
must_equal picture.svg "$(cat out)"
run report -C store --svg history
must_match_file out picture.svg

# In a large store, only the changes of the newest 10,000 trials are read.
mkdir large
awk 'BEGIN {
    OFS = "\t"
    print "exp_id", "parent_exp", "specialist", "hypothesis", "status", "core_metric"
    for (i = 0; i < 10400; i++)
        print sprintf("%05d", i), i ? sprintf("%05d", i - 1) : "", "s",
            "Lower " (i < 300 ? "oldknob" : "newknob") " from " i + 1 " to " i, i ? "discard" : "baseline", 1
}' >large/results.tsv
must_run report -C large -o large.html
must_have large.html 'newest 10,000 trials'
must_have large.html '<th scope="row">newknob'
must_equal 0 "$(grep -c '<th scope="row">oldknob' large.html)"

# A parameter explains nothing of many scores that are equal but for one.
mkdir rare
awk 'BEGIN {
    OFS = "\t"
    print "exp_id", "status", "core_metric", "notes"
    for (i = 0; i < 6000; i++)
        print sprintf("%04d", i), "discard", i == 3 ? 9 : 1, "alpha=" (i % 11 < 5)
}' >rare/results.tsv
must_run report -C rare --svg importance
must_have out '3.3e-05 · n = 6000 in 2 classes · chance<'

# One score far from all others takes no colour from them.
mkdir tiles
must_run init tiles --direction lower
i=0
for x in 1 2 3; do
    for y in 1 2 3; do
        i=$((i + 1))
        score=0.9$i
        [ $i -lt 9 ] || score=1.3e21
        must_run -C tiles append --status discard --core-metric $score --param x=$x --param y=$y
    done
done
must_run -C tiles report -o tiles.html
[ "$(grep -o 'class="cell heat[0-9]"' tiles.html | sort -u | wc -l)" -ge 4 ] || fail "an outlier: $(grep -o 'heat[0-9]"' tiles.html | tr '\n' ' ')"
finish
