#!/bin/sh
# append.sh: `lineage append` with options: what it fills in, how rows are written, what it refuses.
. "$SOURCE/tests/support/shell.sh"

# must_refuse TEXT ARGUMENT...: append fails with exit status 2 and TEXT, and results.tsv does not change by a byte.
must_refuse()
{
    wanted_text=$1
    shift
    cp results.tsv before
    must_fail 2 "$wanted_text" append "$@"
    must_match_file before results.tsv
}

# ---- a store is made on purpose ----
must_fail 2 'no store in . ' append --status baseline --core-metric 33.21
must_have err 'or make one with `lineage init` or --create'
must_fail 2 'cannot open the store there' append -C there --status keep --core-metric 1
must_equal '' "$(ls | grep -v -e out -e err)" "nothing is written"
must_run append -C there/new --create --direction higher --status auto --core-metric 1
# Rows are kept by the store's direction, so another one is refused; a lost lineage.json is put back.
for command in 'append --status auto --core-metric 0.5' 'run -q -m acc -- echo acc=0.5'; do
    must_fail 2 'direction lower: in there/new a higher score is better (lineage.json)' "${command%% *}" -C there/new --direction lower ${command#* }
done
must_equal 2 "$(wc -l <there/new/results.tsv)" 'a refused direction adds no row'
cp there/new/lineage.json settings && rm there/new/lineage.json
run append -C there/new --status auto --core-metric 1.5
must_exit 0
must_have err 'lineage.json was gone from there/new; it is back as'
must_match_file settings there/new/lineage.json
must_equal keep "$(tail -n 1 there/new/results.tsv | cut -f 9)"
must_have there/new/lineage.json '"higher"'
must_run append -C there/new --create --status auto --core-metric 2 --format json
must_equal keep "$(json status)" "higher is better, and --create changes nothing where there is a store"
must_run append --create --status baseline --core-metric 33.21 --specialist opt --hypothesis first --timestamp 2026-05-12T20:30:00Z
must_equal 000 "$(cat out)"
header >wanted
row 000 2026-05-12T20:30:00Z opt '' 000 '' first '' baseline 33.21 '' '' '' '' '' '' '' >>wanted
sed -n 2p results.tsv | cut -f1-4,6- >got
sed -n 2p wanted | cut -f1-4,6- >want
must_match_file want got
must_equal "$(head -n 1 wanted)" "$(head -n 1 results.tsv)" "header"

# Filled in: the next id, the UTC time, the best trial so far, the difference to it.
must_run append --status keep --core-metric 34.5 --parent 000
must_equal 001 "$(cat out)"
line=$(tail -n 1 results.tsv)
must_equal 000 "$(printf '%s' "$line" | cut -f5)" baseline_exp
must_equal "$(printf '%s' "$line" | cut -f2 | grep -cE '^20[0-9]{2}-[0-9]{2}-[0-9]{2}T[0-9]{2}:[0-9]{2}:[0-9]{2}Z$')" 1 timestamp
must_equal 1.29 "$(printf '%s' "$line" | cut -f12)" delta_vs_best
must_run append --status keep --core-metric 1 --exp-id 0999
must_run append --status keep --core-metric 1
must_equal 1000 "$(cat out)" "the next id"
must_run append --status keep --core-metric 1 --parent exp_001
must_equal 001 "$(tail -n 1 results.tsv | cut -f4)" "the parent by its own id"

# Cells are quoted only if they contain TAB, LF, CR or a quote.
must_run append --status crash --hypothesis "a${tab}b" --notes 'say "hi"' --domain "  blanks, 'and' # \\n  "
must_equal "  blanks, 'and' # \\n  $tab\"a${tab}b\"" "$(tail -n 1 results.tsv | cut -f6-8)"
must_equal '"say ""hi"""' "$(tail -n 1 results.tsv | awk -F '\t' '{ print $NF }')"
must_run append --status crash --hypothesis "$(printf 'a\nb\rc')"
must_run query --status crash --format json
must_equal "$(printf 'a\nb\rc')" "$(json 1.hypothesis)"
must_equal "a${tab}b" "$(json 0.hypothesis)"

# Numbers are written as the shortest text that reads back exactly.
for pair in 0.1=0.1 1e-5=1e-05 1e16=1e+16 12480=12480.0 .5=0.5 -0.0=-0.0 1.0000000000000002=1.0000000000000002 \
    123456789012345680=1.2345678901234568e+17 0.00010=0.0001 9007199254740993=9007199254740992.0; do
    must_run append --status crash --train-s "${pair%=*}"
    must_equal "${pair#*=}" "$(tail -n 1 results.tsv | cut -f13)" "${pair%=*}"
done

# Parameters and statistics are written into notes and read back from there.
must_run append --status keep --core-metric 1 --alpha 0.3 --gamma 1 --param lr=1e-4 --param α=0.4 --ig-clip-scale-mean 1.014 \
    --ig-clip-scale-std 0.087 --notes 'as planned'
id=$(cat out)
must_equal 1 "$(tail -n 1 results.tsv | grep -c 'ig_clip_scale mean=1.014 std=0.087')"
rm -f lineage.db*
must_run show "$id" --format json
must_equal '{"alpha":0.4,"gamma":1,"lr":0.0001}' "$(json params)"
must_equal 1.014 "$(json ig_clip_scale_mean)"
must_equal 0.087 "$(json ig_clip_scale_std)"
must_equal 1 "$(json notes | grep -c 'as planned')"
must_run append --status keep --core-metric 1 --notes 'alpha=0.5' --alpha 0.5
must_equal alpha=0.5 "$(tail -n 1 results.tsv | cut -f17)" "a setting that notes has already"

# --format prints the whole row.
must_run append --status keep --core-metric 7 --format json
must_equal 7.0 "$(json core_metric)"
must_equal keep "$(json status)"
must_run append --status keep --core-metric 1 --format tsv
must_equal 2 "$(wc -l <out)"

must_refuse "give --status" --core-metric 1
must_refuse "is not a label" --status kept
must_refuse "is not a label" --status Keep
must_refuse "is not a label" --status ' keep'
must_refuse "already in" --status keep --core-metric 1 --exp-id 001
must_refuse "'4711' is not in" --status keep --core-metric 1 --parent 4711
must_refuse "itself" --status keep --core-metric 1 --exp-id new --parent new
must_refuse "itself" --status keep --core-metric 1 --exp-id new --parent exp_new --allow-missing-parent
must_refuse "itself" --status keep --core-metric 1 --exp-id 999 --parent 999
must_refuse "core_metric is nan" --status keep --core-metric nan
must_refuse "core_metric is inf" --status keep --core-metric inf
must_refuse "core_metric is -inf" --status keep --core-metric -1e999
must_refuse "train_s is nan" --status crash --train-s NaN
must_refuse "delta_vs_best" --status keep --core-metric 1 --delta-vs-best inf
must_refuse "alpha" --status keep --core-metric 1 --alpha nan
must_refuse "ig_clip_scale_std" --status keep --core-metric 1 --ig-clip-scale-mean 1 --ig-clip-scale-std inf
must_refuse "--core-metric '1,5' is not a number; use a point" --status keep --core-metric 1,5
must_refuse "not a number" --status keep --core-metric 0x10
must_refuse "not a number" --status keep --core-metric '1 2'
must_refuse "another value" --status keep --core-metric 1 --notes 'alpha=0.5' --alpha 0.6
must_refuse "not NAME=VALUE" --status keep --core-metric 1 --param lr
must_refuse "not NAME=VALUE" --status keep --core-metric 1 --param =3
must_refuse "parameter name" --status keep --core-metric 1 --param 'a b=3'
must_refuse "parameter name" --status keep --core-metric 1 --param '1a=3'
must_refuse "hypothesis is not valid UTF-8" --status keep --core-metric 1 --hypothesis "$(printf 'caf\351')"
must_refuse "notes is not valid UTF-8" --status keep --core-metric 1 --notes "$(printf '\355\240\200')"
must_refuse "specialist is not valid UTF-8" --status keep --core-metric 1 --specialist "$(printf '\300\200')"
head -c 131073 /dev/zero | tr '\0' x >long
printf '{"status": "keep", "core_metric": 1, "notes": "%s"}' "$(cat long)" >long.json
must_refuse "notes" --json long.json
head -c 131072 /dev/zero | tr '\0' x >long
printf '{"status": "keep", "core_metric": 1, "notes": "%s"}' "$(cat long)" >long.json
must_run append --json long.json

# --allow-missing-parent accepts a missing parent, for imports; a cycle is always refused.
must_run append --status keep --core-metric 1 --parent nowhere --exp-id orphan --allow-missing-parent
must_refuse "cycle" --status keep --core-metric 1 --exp-id nowhere --parent orphan
must_refuse "cycle" --status keep --core-metric 1 --exp-id nowhere --parent exp_orphan --allow-missing-parent

run verify
must_exit 1
must_equal 1 "$(grep -vc "^checked: " out)" "findings"
must_have out "parent: orphan"
finish
