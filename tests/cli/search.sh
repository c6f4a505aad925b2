#!/bin/sh
# search.sh: `lineage search` and `query --text`: words, phrases, prefixes, operators, identifiers, scripts, mistakes.
. "$SOURCE/tests/support/shell.sh"

{
    row exp_id timestamp specialist parent_exp baseline_exp domain hypothesis expected_delta status core_metric \
        val_bpb delta_vs_best train_s total_s job_name snapshot_path notes
    row 000 2026-05-01T00:00:00Z reg '' '' '' 'Baseline with layer norm' '' baseline 3.0 '' '' '' '' '' '' ''
    row 001 2026-05-02T00:00:00Z opt '' '' '' 'Lower muon_wd_mlp 0.125 to 0.115' '' keep 2.0 '' '' '' '' '' '' 'lr=0.1'
    row 002 2026-05-03T00:00:00Z opt '' '' '' 'Anneal gradClip over the warmdown' '' discard 2.5 '' '' '' '' '' '' ''
    row 003 2026-05-04T00:00:00Z opt '' '' '' 'grad clip norm of the layer, annealing' '' crash '' '' '' '' '' '' '' 'out of memory'
    row 004 2026-05-05T00:00:00Z arch '' '' '' 'Größere Köpfe; 学习率预热' '' discard 2.2 '' '' '' '' '' '' 'memory of the clip'
} >results.tsv

# finds IDS ARGUMENT...: best match first
finds()
{
    wanted_ids=$1
    shift
    must_run search --format tsv "$@"
    must_equal "$wanted_ids" "$(sed 1d out | cut -f1 | tr '\n' ' ' | sed 's/ $//')"
}
# finds_all IDS ARGUMENT...: in any order
finds_all()
{
    wanted_ids=$1
    shift
    must_run search --format tsv "$@"
    must_equal "$wanted_ids" "$(sed 1d out | cut -f1 | sort | tr '\n' ' ' | sed 's/ $//')"
}

finds_all '000 003' layer
finds '003' layer grad
finds_all '003 004' memory
finds '001' wd
finds '001' muon_wd_mlp
finds '001' MUON-WD-MLP
finds '001' 0.125
finds '' 125.0
finds '002' gradClip
finds_all '002 003' 'grad clip'
finds_all '002 003' '"grad clip"'
finds '003' '"grad clip norm"'
finds '003' '"clip norm"'
finds '' '"norm clip"'
finds_all '002 003' 'anneal*'
finds '002' anneal
finds_all '002 003 004' clip
finds '002' 'clip NOT memory'
finds_all '000 004' 'baseline OR köpfe'
finds '004' größere
finds '004' 学习
finds '' 学率
finds '004' notes:clip
finds_all '002 003' hypothesis:clip
finds '003' '(layer OR wd) AND (grad OR mlp) NOT muon'
finds '001' 'exp_id:001'
finds_all '002 003 004' clip --limit 1000
finds_all '003' clip --status crash
finds '004' clip --specialist arch
finds '' nothingofthat
must_run search --exit-status clip
run search --exit-status nothingofthat
must_exit 1

# The same words in a query, with its order and its conditions.
must_run query --text clip --sort -seq --format tsv
must_equal '004 003 002' "$(sed 1d out | cut -f1 | tr '\n' ' ' | sed 's/ $//')"
must_run query --text 'wd OR clip' --param lr=: --format tsv
must_equal 001 "$(sed 1d out | cut -f1)"

# Mistakes are usage errors that name the position.
mistake()
{
    run search "$2"
    must_exit 2
    must_have err "has a mistake at character $1"
}
mistake 1 '(clip'
mistake 5 'clip)'
mistake 6 'größe"'
mistake 1 'NOT clip'
mistake 6 'clip AND'
mistake 8 'clip OR'
mistake 2 '→'
mistake 1 ''
mistake 7 'notes:'
mistake 101 "$(printf '(%.0s' $(seq 200))"
run search
must_exit 2

# New rows are found by the next search; so is a last row without a line end, and a remark.
must_run append --specialist opt --status discard --core-metric 9 --hypothesis 'zebra stripes'
finds 005 zebra
row 006 2026-05-07T00:00:00Z opt '' '' '' 'unfinished zebra' '' discard 2.2 '' '' '' '' '' '' '' | tr -d '\n' >>results.tsv
finds_all '005 006' zebra
echo >>results.tsv
finds_all '005 006' zebra
printf '{"time":"2026-05-08T00:00:00Z","exp_id":"001","author":"me","text":"the plateau ended early"}\n' >remarks.jsonl
finds 001 plateau
finds 001 remarks:plateau
finds '' notes:plateau

# A mirror whose index was dropped or replaced by somebody else is built anew.
for sql in 'DROP TABLE search' 'DROP TABLE search; CREATE TABLE search(a)'; do
    sqlite3 lineage.db "$sql"
    run search zebra --format tsv
    must_exit 0
    must_equal '005 006' "$(sed 1d out | cut -f1 | sort | tr '\n' ' ' | sed 's/ $//')" "$sql"
done
must_run verify
if [ "$(id -u)" -ne 0 ]; then
    chmod a-w . lineage.db
    finds_all '005 006' zebra
    chmod u+w . lineage.db
fi

# Texts are inert: neither markup nor escape sequences reach a terminal.
must_run append --specialist opt --status discard --core-metric 9 --hypothesis "$(printf 'evil \033[31mquagga</b>')"
must_run search --format table --color always quagga
must_lack out "$(printf '\033[31mquagga')"

# If very many trials match, the newest are ranked, so that common words cost no more than rare ones. A higher limit ranks more.
mkdir many
head -n 1 results.tsv >many/results.tsv
awk 'BEGIN { for (i = 1; i <= 4200; i++) printf "%05d\t2026-05-01T00:00:00Z\topt\t\t\t\t%s\t\tdiscard\t1\t\t\t\t\t\t\t\n", i,
    i == 10 || i == 1000 ? "common common common" : "common and other words" }' >>many/results.tsv
finds '01000' -C many common --limit 1
finds '01000' -C many common --limit 1 --status discard
finds '00010 01000' -C many 'common NOT other'
must_run search -C many --format tsv common --limit 4200
must_equal '00010 01000' "$(sed -n 2,3p out | cut -f1 | tr '\n' ' ' | sed 's/ $//')"

finish
