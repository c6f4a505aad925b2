#!/bin/sh
# ideas_cache.sh: answers about ideas are the same whether lineage.db has the readings of the texts, some of them, or none.
. "$SOURCE/tests/support/shell.sh"

# A log of 120 trials: knobs under several names, abbreviations, citations, retries, parameters.
awk 'BEGIN {
    OFS = "\t"
    print "exp_id", "timestamp", "specialist", "parent_exp", "baseline_exp", "domain", "hypothesis", "expected_delta", "status",
        "core_metric", "val_bpb", "delta_vs_best", "train_s", "total_s", "job_name", "snapshot_path", "notes", "artifact_bytes"
    split("muon_wd embed_wd warmdown_frac ema_decay grad_clip_norm block_size", knob, " ")
    split("muon weight decay|embedding weight decay|warmdown fraction|EMA decay|gradient clip norm|GPTQ block_size", long, "|")
    for (i = 0; i < 120; i++) {
        k = i % 6 + 1
        a = (i * 7 % 10 + 1) / 100
        b = (i * 3 % 10 + 1) / 100
        if (i % 5 == 0) text = "Lower " knob[k] " " a " → " b " on top of exp_" sprintf("%03d", int(i / 2))
        else if (i % 5 == 1) text = "Raise " long[k] " from " a " to " b ", which was never tried"
        else if (i % 5 == 2) text = "Set " knob[k] "=" b " (was " a "); weight_decay stays, wd is small"
        else if (i % 5 == 3) text = "Retry of " sprintf("%03d", i - 3) ": " long[k] " " a "->" b " within the eval budget"
        else text = "Replace the loop by a scan, as in #" i - 2
        print sprintf("%03d", i), "2026-05-01T00:00:00Z", k % 2 ? "opt" : "arch", i ? sprintf("%03d", int(i / 2)) : "", "", "", text, "",
            i % 4 ? "discard" : i ? "keep" : "baseline", 3 - i % 7 / 10, "", i ? i % 3 - 1 : "", "", "", "", "",
            "lr=" b " | weight decay and warmdown of exp_" sprintf("%03d", int(i / 3)), 1000 + i
    }
}' >log
ids='000 003 017 058 090 119'

# answers DIRECTORY FILE: everything that is found in the texts of the store
answers()
{
    for id in $ids; do
        "$LINEAGE" -C "$1" show "$id" --format json
        "$LINEAGE" -C "$1" similar "$id" --format json
        "$LINEAGE" -C "$1" similar "$id" --before --limit 3
    done >"$2" 2>"$2.err" || fail "$1: $(cat "$2.err")"
    for command in 'knobs --format json' 'claims --format json' 'similar muon_wd --format json' 'render'; do
        # shellcheck disable=SC2086
        "$LINEAGE" -C "$1" $command >>"$2" 2>>"$2.err"
    done
}
# new_copy DIRECTORY [ROWS]: a store with the first rows of the log
new_copy()
{
    mkdir "$1"
    head -n "$((${2:-120} + 1))" log >"$1/results.tsv"
    printf '{"direction": "lower"}\n' >"$1/lineage.json"
}
saved()
{
    sqlite3 -readonly "$1/lineage.db" 'SELECT count(*) FROM readings'
}
command -v sqlite3 >/dev/null || skip "no sqlite3"

# A directory in the place of lineage.db is left alone, and nothing can be saved.
new_copy never
mkdir never/lineage.db
answers never wanted
must_have wanted '"source": "stated"'
must_have wanted muon_wd
must_have wanted 'same value'

new_copy once
must_run -C once best
must_equal 0 "$(saved once)" "an ordinary question reads no texts"
answers once out1
must_equal 120 "$(saved once)"
must_match_file wanted out1
answers once out2
must_match_file wanted out2

# Rows that come later are read by the next question; a record without a line end may change.
new_copy pieces 40
must_run -C pieces knobs
must_equal 40 "$(saved pieces)"
sed -n 42,80p log >>pieces/results.tsv
must_run -C pieces similar 060
must_equal 79 "$(saved pieces)"
sed -n 81p log | cut -c1-160 | tr -d '\n' >>pieces/results.tsv
must_run -C pieces knobs
sed -n 81p log | cut -c161- >>pieces/results.tsv
sed -n '82,$p' log >>pieces/results.tsv
answers pieces out1
must_match_file wanted out1

# The newest rows alone are read by a block of a large store, here by a question with a set that begins later.
must_run -C pieces rebuild
must_equal 0 "$(saved pieces)" "rebuilding leaves the texts to the next question"
answers pieces out1
must_match_file wanted out1

# A page of the tables is damaged, or a table has other contents.
cp -r once damaged
page=$(sqlite3 -readonly once/lineage.db "PRAGMA page_size")
root=$(sqlite3 -readonly once/lineage.db "SELECT rootpage FROM sqlite_schema WHERE name = 'readings'")
rm -f damaged/lineage.db-wal damaged/lineage.db-shm
sqlite3 once/lineage.db 'PRAGMA wal_checkpoint(TRUNCATE)' >/dev/null
cp once/lineage.db damaged/lineage.db
printf 'damage damage damage' | dd of=damaged/lineage.db bs=1 seek=$(((root - 1) * page + 40)) conv=notrunc 2>/dev/null
answers damaged out1
must_match_file wanted out1
for sql in 'DELETE FROM readings WHERE seq % 3 = 0' 'UPDATE readings SET digest = digest + 1' 'DELETE FROM citation_rows'; do
    new_copy hostile
    must_run -C hostile knobs
    sqlite3 hostile/lineage.db "$sql" || fail "$sql"
    answers hostile out1
    must_match_file wanted out1
    rm -r hostile
done

# Several processes begin at once, while rows are added.
new_copy many 60
for i in 1 2 3 4; do
    "$LINEAGE" -C many knobs >/dev/null 2>&1 &
done
tail -n +62 log | while IFS= read -r line; do
    printf '%s\n' "$line" >>many/results.tsv
done
for i in 1 2 3 4; do
    "$LINEAGE" -C many similar 010 >/dev/null 2>&1 &
done
wait
answers many out1
must_match_file wanted out1

# Text that was changed afterwards is not answered from an old reading.
cp -r once edited
sed 's/^000\(.*\)Lower muon_wd 0.01/000\1Lower muon_wd 0.07/' log >edited/results.tsv
run -C edited show 000 --format json
must_exit 0
must_equal 0.07 "$(json changes.0.from)"

# lineage sql sees the tables up to date.
new_copy sql
must_run -C sql sql 'SELECT count(*) AS n FROM trials' --format json
must_equal 0 "$(saved sql)"
must_run -C sql sql "SELECT name, old, new, old_value, source FROM changes WHERE exp_id = '005'" --format json
must_equal 'block_size 0.06 0.06 0.06 stated' "$(json 0.name) $(json 0.old) $(json 0.new) $(json 0.old_value) $(json 0.source)"
must_run -C sql sql "SELECT cited FROM citations WHERE exp_id = '010' ORDER BY cited" --format json
must_equal '003 005' "$(json 0.cited) $(json 1.cited)"
tail -n 1 log | sed 's/^119/120/; s/Replace the loop by a scan/Set page_cost=7/' >>sql/results.tsv
must_run -C sql sql "SELECT new FROM Changes WHERE exp_id = '120'" --format json
must_equal 7 "$(json 0.new)"
must_run -C sql sql "SELECT cited FROM citations WHERE exp_id = '120' AND cited = '117'" --format json
must_equal 117 "$(json 0.cited)" "#117 is a trial"

# A store that may not be written stays unchanged.
if [ "$(id -u)" -ne 0 ]; then
    new_copy closed
    chmod a-w closed
    answers closed out1
    must_match_file wanted out1
    must_equal 'lineage.json results.tsv' "$(ls closed | tr '\n' ' ' | sed 's/ $//')"
    chmod u+w closed
fi
finish
