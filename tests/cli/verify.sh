#!/bin/sh
# verify.sh: every fault is found with its line; the mirror follows other writers, and may be lost or damaged.
. "$SOURCE/tests/support/shell.sh"
# Rows are taken away here on purpose, without the copy of them in the state directory (git_day.sh has it).
mkdir -p "$XDG_STATE_HOME/lineage" && : >"$XDG_STATE_HOME/lineage/acknowledged"

# finds N TEXT: `verify` has N findings, and one of them is TEXT.
finds()
{
    run verify
    must_exit 1
    must_equal "$1" "$(grep -vc '^checked: \|note: ' out)" "findings"
    must_equal checked "$(tail -n 1 out | cut -d: -f1)" "the last line"
    must_have out "$2"
}

sound()
{
    rm -f results.tsv
    {
        header
        trial 000 '' baseline 2.0 root
        trial 001 000 keep 1.5
        trial 002 001 crash ''
    } >results.tsv
    rm -f lineage.db* .results.tsv.digests
}

sound
must_run verify
must_equal "checked: 3 rows, the mirror, digests up to record 0 of 4, 0 snapshots, 0 telemetry files, 0 trials in the outbox, \
0 claims in the queue; not known: whether records 1 to 4, which have no digest yet, were changed; whether rows were changed \
together with their digests (verify --head)" "$(cat out)"
# A claim is a file that a process locks. Anything else in its place was not put there by a worker.
mkdir -p checkpoints && : >checkpoints/0123456789abcdef.claim
must_run verify
must_have out '1 claim in the queue'
ln -s /etc/passwd checkpoints/1123456789abcdef.claim
finds 1 'queue: checkpoints/1123456789abcdef.claim: a claim is a regular file, and this is not one'
rm -r checkpoints
must_run verify --format json
must_equal '[]' "$(cat out)"

# One fault at a time is reported with its line.
sound && row 003 short >>results.tsv
finds 1 'results.tsv:5: short: 003: 2 cells, header has 17'
sound && trial 003 002 keep 1.0 h "n${tab}surplus" >>results.tsv
finds 1 'results.tsv:5: long: 003: 18 cells'
sound && trial 003 002 kept 1.0 >>results.tsv
finds 1 'results.tsv:5: status: 003'
sound && trial 003 002 keep fast >>results.tsv
finds 1 'results.tsv:5: number: 003'
sound && trial 001 000 keep 1.0 >>results.tsv
finds 1 'results.tsv:5: id: 001'
sound && trial '' 000 keep 1.0 >>results.tsv
finds 1 'results.tsv:5: id'
sound && trial 003 gone keep 1.0 >>results.tsv
finds 1 'results.tsv:5: parent: 003'
sound && trial 003 004 keep 1.0 >>results.tsv && trial 004 003 keep 1.0 >>results.tsv
run verify
must_exit 1
must_have out 'cycle'
sound && printf 'caf\351\n' | sed "s/^/003${tab}/" >>results.tsv
run verify
must_exit 1
must_have out 'results.tsv:5:'
sound && header >>results.tsv
run verify
must_exit 1
must_have out 'results.tsv:5: header'
sound && trial 003 002 keep 1.0 >last && printf '%s' "$(cut -c1-40 last)" >>results.tsv
run verify
must_exit 1
must_have out 'torn'
sound && trial 003 002 keep 1.0 >>results.tsv && sed -i '5s/opt/gone/;5s/\t\t$/\tsnapshots\/gone\t/' results.tsv
finds 1 'results.tsv:5: snapshot: 003'
must_run query --format tsv
must_equal '000 001 002 003 ' "$(sed 1d out | cut -f1 | tr '\n' ' ')"

# Several faults hide neither each other nor the valid rows.
sound && row 003 short >>results.tsv && trial 004 002 keep 1.0 >>results.tsv && trial 005 gone kept 1.0 >>results.tsv
run verify --format json
must_exit 1
must_equal 2 "$(json '#')"
must_equal '{"exp_id":"003","kind":"short","line":5,"text":"2 cells, header has 17"}' "$(json 0)"
must_run best --format json
must_equal 004 "$(json exp_id)"

# The next writer moves a torn record aside and ends a valid last row that lacks its line end.
sound && printf '003\tx' >>results.tsv
run append --status keep --core-metric 1
must_exit 0
must_have err 'results.tsv.torn-1'
must_equal "003${tab}x" "$(cat results.tsv.torn-1)"
must_run verify

# A last row without a line end is moved aside even if it looks valid, because half a sentence looks no different.
# `restore` puts it back.
sound && trial 003 002 keep 1.0 >last && printf '%s' "$(cat last)" >>results.tsv
rm -f results.tsv.torn-*
must_run best --format json
must_equal 003 "$(json exp_id)"
run append --status keep --core-metric 0.5
must_equal 003 "$(cat out)"
must_have err "lineage restore results.tsv.torn-1"
must_fail 2 "already in" restore results.tsv.torn-1
sed -i 's/^003/007/' results.tsv.torn-1 last
must_run restore results.tsv.torn-1
must_equal '1 row put back' "$(cat out)"
sed -n 6p results.tsv >got
must_match_file last got
[ ! -e results.tsv.torn-1 ] || fail "the file is still there"
must_run verify
for name in results.tsv ../x results.tsv.torn- results.tsv.torn-1x; do
    must_fail 2 'not the name' restore "$name"
done
must_fail 2 'torn-1' restore results.tsv.torn-1
printf 'half\ta row' >results.tsv.torn-1
must_fail 2 'not a sound row' restore results.tsv.torn-1
[ -e results.tsv.torn-1 ] || fail "a file that cannot be put back is gone"
rm results.tsv.torn-1

# Rows after a quote that another tool never closed are all kept; only the one record is moved aside.
sound
must_run best
{
    printf '003\tT\tx\t\t\t\t"never closed\t\tkeep\t0.1\t\t\t\t\t\t\t\n'
    i=100
    while [ $i -lt 1100 ]; do
        trial $i 002 discard 3.0
        i=$((i + 1))
    done
} >>results.tsv
run append --status keep --core-metric 0.5
must_exit 0
must_equal 1100 "$(cat out)"
must_have err 'results.tsv:5: record with a quote that is never closed'
must_have err 'results.tsv.torn-1'
must_equal 1004 "$("$LINEAGE" query --format tsv | sed 1d | wc -l)" "rows"
must_equal 1 "$(wc -l <results.tsv.torn-1)" "records moved aside"
printf '004\tT\tx\t\t\t\t"nor this\nmore of it\n' >>results.tsv
trial 1101 002 discard 3.0 >>results.tsv
run append --status keep --core-metric 0.5
must_exit 0
must_equal 1102 "$(cat out)"
must_equal 2 "$(wc -l <results.tsv.torn-2)" "lines moved aside"
must_equal 1006 "$("$LINEAGE" query --format tsv | sed 1d | wc -l)" "rows"
must_run verify
rm -f results.tsv.torn-*

# Rows that somebody pasted into a cell are not rows, wherever the cell was cut.
sound
printf '003\tT\tx\t\t\t\t"as we saw:\n%s\n and so' "$(trial 001 000 keep 1.5)" >>results.tsv
run append --status keep --core-metric 0.5
must_exit 0
must_equal 4 "$("$LINEAGE" query --format tsv | sed 1d | wc -l)" "rows"
must_have results.tsv.torn-1 'and so'
must_run verify
rm -f results.tsv.torn-*

# The mirror follows rows that another program appends.
sound
must_run query --format tsv
trial 003 002 keep 1.0 >>results.tsv
must_run best --format json
must_equal 003 "$(json exp_id)"

# Losing the mirror loses no data. A change of bytes that were already mirrored is noticed and reported with its line.
rm -f lineage.db*
must_run best --format json
must_equal 003 "$(json exp_id)"
sed -i '3s/1\.5/0.5/' results.tsv
run verify
must_exit 1
must_have out "results.tsv:3: mirror"
must_have out "lineage rebuild"
run best --format json
must_exit 0
must_equal 001 "$(json exp_id)"
must_run rebuild
must_run verify
must_run best --format json
must_equal 001 "$(json exp_id)"
head -n 3 results.tsv >cut && cp cut results.tsv
run verify
must_exit 1
must_have out mirror
must_run rebuild
must_run verify

# A mirror that is not a database, is a directory, or is locked by another process.
printf 'garbage' >lineage.db
run best --format json
must_exit 0
must_equal 001 "$(json exp_id)"
must_have err 'lineage.db'
run append --status keep --core-metric 0.25
must_exit 0
must_run rebuild
must_run best --format json
must_equal 0.25 "$(json score)"
rm -f lineage.db* && mkdir lineage.db
run best --format json
must_exit 0
must_equal 0.25 "$(json score)"
run append --status crash
must_exit 0
rmdir lineage.db

# A change of the score column or direction needs no rebuild.
must_run best --direction higher --format json
must_equal 000 "$(json exp_id)"
must_fail 1 "finite val_bpb" best --metric val_bpb

# A changed row is found by its digest, whatever is done to the mirror, until `rebuild --digests` accepts it.
sound
must_run append --status keep --core-metric 1.2
must_run append --status keep --core-metric 1.1
must_run verify --digest
noted=$(cut -d' ' -f1 out)
must_equal 64 "$(printf '%s' "$noted" | wc -c)" "digits of a digest"
must_have out '6 records, 6 of them compared'
must_run append --status keep --core-metric 1.0
must_run verify --head "$noted"
must_equal 1 "$(wc -l <out)"
must_have out 'not known: whether records behind 6 were changed together'
sed -i '6s/1\.1/0.1/' results.tsv
must_run rebuild
finds 1 'results.tsv:6: digest: record 6 '
must_run append --status keep --core-metric 0.9
finds 1 'results.tsv:6: digest: record 6 '
must_run rebuild --digests
must_have out 'results.tsv:6: digest: record 6 '
must_have out '8 records, 8 of them compared'
must_run verify
run verify --head "$noted"
must_exit 1
must_have out "no record ends in the digest $noted"
sed -i 7d results.tsv
must_run rebuild
finds 1 'its end was cut off'
must_run rebuild --digests
cp results.tsv copy && mv copy results.tsv
rm .results.tsv.digests
must_run verify
must_fail 2 'is not a digest' verify --head 12
must_fail 2 'digest' verify --digest --format json

# A kill between telemetry and row leaves telemetry, which verify notes without calling it a fault.
mkdir killed && must_run -C killed append --create --status baseline --core-metric 1
mkdir -p killed/telemetry && echo '{}' >killed/telemetry/001.json
must_run -C killed verify
must_have out 'note: 001: telemetry without a row'
must_equal 002 "$("$LINEAGE" -C killed append --status keep --core-metric 0.5)" 'the next id'

# Rows that are cut off together with their digests are found by the attribute of the log.
mkdir attribute && must_run -C attribute append --create --status baseline --core-metric 1
must_run -C attribute append --status keep --core-metric 0.5
if getfattr -n user.lineage.digests attribute/results.tsv >/dev/null 2>&1 ||
    python3 -c 'import os; os.getxattr("attribute/results.tsv", "user.lineage.digests")' 2>/dev/null; then
    truncate -s 50 attribute/.results.tsv.digests
    run -C attribute verify
    must_exit 1
    must_have out 'digest: .results.tsv.digests: the digests of records 1 to 3 are missing'
    truncate -s "$(head -n 2 attribute/results.tsv | wc -c)" attribute/results.tsv
    run -C attribute verify
    must_exit 1
    must_have out 'its attribute user.lineage.digests speaks of 3 in'
    run -C attribute rebuild
    run -C attribute rebuild --digests
    must_run -C attribute verify
fi

# An editor takes the last line end away. The row stays, keeps its id and gets its line end back, also in a copy that no receipt knows;
# rows of one call have one digest; a row that lost more than that is moved aside.
mkdir edited && must_run -C edited append --create --status baseline --core-metric 1
must_run -C edited append --status keep --core-metric 0.5
printf '%s\n' '{"status": "discard", "core_metric": 0.7}' '{"status": "discard", "core_metric": 0.8}' >two.jsonl
must_run -C edited append --json two.jsonl
cp edited/results.tsv whole
cp -r edited copied
cp -r edited shorter
for store in edited copied; do
    truncate -s -1 $store/results.tsv
    run -C $store verify
    must_exit 1
    must_have out 'the last record has no line end'
    must_equal 004 "$("$LINEAGE" -C $store append --status discard --core-metric 0.6 2>err)" "the next id in $store"
    must_have err 'results.tsv:5: the last record had lost its line end; by its digest it is whole'
    head -n 5 $store/results.tsv >first
    cmp -s whole first || fail "the rows of $store differ"
    must_run -C $store verify
done
truncate -s -2 shorter/results.tsv
run -C shorter append --status discard --core-metric 0.6
must_exit 0
must_have err 'moved to '

# A merge of two branches may leave two rows with one id: each command says so, and after its remedy none does.
mkdir merged && must_run -C merged append --create --status baseline --core-metric 1
must_run -C merged append --status keep --core-metric 0.5
sed -n '$s/0\.5/0.4/p' merged/results.tsv >>merged/results.tsv
for command in best 'query --limit 1' render 'append --status discard --core-metric 0.9'; do
    # shellcheck disable=SC2086
    run -C merged $command
    must_exit 0
    must_have err 'results.tsv:4: its exp_id is also that of line 3'
done
must_have err '(002 is free)'
sed -i '4s/^001/004/' merged/results.tsv
run -C merged rebuild
run -C merged rebuild --digests
must_run -C merged verify
must_run -C merged best
must_equal 005 "$("$LINEAGE" -C merged append --status discard --core-metric 0.9)" 'the next id after the remedy'

# An editor or a spreadsheet saves the whole file anew: verify says what was done to all lines, and what takes it back. The rows are read.
must_run -C sheet append --create --direction lower --status baseline --core-metric 1 --hypothesis 'say "x"' -p lr=0.1
must_run -C sheet append --status keep --core-metric 0.5 -p lr=0.2
for how in 's/$/\r/' 's/$/  /' '1s/^/\xef\xbb\xbf/' 's/"//g; s/\t/"\t"/g; s/^\|$/"/g'; do
    rm -rf saved && cp -R sheet saved
    sed -i "$how" saved/results.tsv
    run -C saved verify
    must_exit 1
    must_have out "accept it: 'lineage rebuild -C saved --digests'"
    what=$(sed -n 's/^results.tsv:1: note: //p' out)
    must_equal 1 "$(echo "$what" | grep -c 'end in CR LF\|end in blanks\|byte order mark\|cells are in quotes')" "$how"
    back=$(echo "$what" | sed -n "s/.*sed -i '\(.*\)' results.tsv takes that back.*/\1/p")
    run -C saved append --status discard --core-metric 0.75 -p lr=0.3
    must_equal 0 "$status" "$how"
    must_have err 'digests stays unchanged: the rows are not those that it speaks of'
    must_equal "0.1 0.2 0.3" "$("$LINEAGE" -C saved sweep lr --format tsv | sed 1d | cut -f 1 | sort | tr "\n" " " | sed "s/ $//")" "$how"
    [ -n "$back" ] || continue
    rm -rf saved && cp -R sheet saved
    sed -i "$how" saved/results.tsv
    LC_ALL=C.UTF-8 sed -i "$back" saved/results.tsv
    must_run -C saved verify
done
# No command is printed that would damage a row: some lines ended so before, or only the rows do, which takes back alike.
for how in 's/$/\r/' 's/$/  /' '1s/$/  /' '1!s/$/\r/'; do
    for before in "" "$(printf '\r')" ' '; do
        rm -rf saved && mkdir saved && sed "\$s/\$/$before/" sheet/results.tsv >saved/results.tsv && cp sheet/lineage.json saved
        must_run -C saved rebuild --digests
        cp saved/results.tsv was
        sed -i "$how" saved/results.tsv
        run -C saved verify
        back=$(sed -n "s/.*sed -i '\(.*\)' results.tsv takes that back.*/\1/p" out)
        case "$how/$before" in
        1*/* | */) [ -n "$back" ] || fail "nothing takes $how back" ;;
        esac
        [ -z "$back" ] || sed -i "$back" saved/results.tsv
        [ -z "$back" ] || cmp was saved/results.tsv || fail "$back damages a row after $how"
    done
done

# A copied store gets an older results.tsv: nobody gets the id of a row that its digests know.
cp -R sheet older && sed -i '$d' older/results.tsv
run -C older append --status discard --core-metric 2
must_equal '0 002' "$status $(cat out)"
must_have err 'results.tsv has lost rows at its end: .results.tsv.digests knows 2; new trials get other ids'
must_equal 003 "$("$LINEAGE" -C older append --status discard --core-metric 2 2>err)"
# The rows count and not their bytes, and each lost row has had an id behind the last one.
must_run -C far append --create --exp-id 500 --direction lower --status baseline --core-metric 1
for score in 2 3; do must_run -C far append --status discard --core-metric $score; done
cp -R far older500 && sed -i '$d' older500/results.tsv
must_equal 503 "$("$LINEAGE" -C older500 append --status discard --core-metric 2 2>err)"
for score in 4 5 6 7; do must_run -C far append --status discard --core-metric $score; done
cp -R far older7 && sed -i '4,$d' older7/results.tsv
sed -i "3s/\$/ $(printf %600s | tr ' ' x)/" older7/results.tsv
given=
for score in 8 9 10; do
    run -C older7 append --status discard --core-metric $score
    given="$given$(cat out) "
    must_have err 'has lost rows at its end'
done
must_equal '507 508 509 ' "$given"
for score in 11 12 13; do run -C older7 append --status discard --core-metric $score; done
must_equal 512 "$(cat out)"

# Two machines wrote, and the program that synchronises the folder kept both files.
cp sheet/results.tsv 'sheet/results (conflicted copy).tsv'
printf 'exp_id\tscore\n100\t1\n' >sheet/results_of_exam.tsv
mkdir sheet/results_folder.tsv && mkfifo sheet/results_pipe.tsv
must_run -C sheet verify
must_lack out 'a second log'
sed '$s/^001\t[^\t]*/001\t2026-01-01T00:00:00Z/; $p; $s/^001/002/' sheet/results.tsv >'sheet/results (conflicted copy).tsv'
must_run -C sheet verify
must_equal 1 "$(grep -c 'a second log' out)"
must_have out 'note: results (conflicted copy).tsv: a second log, as a program that synchronises folders leaves it; 2 of its rows are not'

# A signature by an earlier version is not checked any more, and verify says so until its file is gone.
echo '{"records": 4, "head": "00", "time": "t", "signature": "s"}' >merged/.results.tsv.signed
run -C merged verify
must_exit 1
must_have out "signature: .results.tsv.signed: this version checks no signature of rows; give the 'head' of its last line to \
'lineage verify -C merged --head', and remove the file"
rm merged/.results.tsv.signed
must_run -C merged verify

# The recipe as the guide has it: sign, check, sign again, and refuse changed rows, another head and a store with faults.
if command -v ssh-keygen >/dev/null; then
    guide() { sed -n '/^## Sign/,/^## Remove/p' "$SOURCE/cli/man/operations.md" | awk -v n="$1" '/^```/ { k++; next } k == 2 * n - 1'; }
    guide 1 >sign && guide 2 >check
    must_equal 3 "$(wc -l <sign)" 'lines of the recipe'
    by_guide() { (PATH="$(dirname "$LINEAGE"):$PATH" HOME="$scratch/signer" && export PATH HOME && cd signed && sh "../$1") >out 2>err; status=$?; }
    mkdir -p signer/.ssh signed/runs && mv merged signed/runs/atpo
    ssh-keygen -q -t ed25519 -N '' -f signer/.ssh/id_ed25519
    by_guide sign
    must_exit 0
    by_guide check
    must_exit 0
    must_have out 'Good "lineage" signature for me'
    must_run -C signed/runs/atpo append --status discard --core-metric 0.9
    by_guide check
    must_exit 0
    cp signed/head.sig old.sig
    by_guide sign
    must_exit 0
    cmp -s old.sig signed/head.sig && fail 'the second signature is that of the first head'
    sed -i '3s/keep/discard/' signed/runs/atpo/results.tsv
    run -C signed/runs/atpo rebuild --digests
    by_guide check
    must_exit 1
    must_have out 'no record ends in the digest'
    "$LINEAGE" -C signed/runs/atpo verify --digest >signed/head
    by_guide check
    [ "$status" -ne 0 ] || fail 'the signature of another head is accepted'
    sed -i '3s/discard/keep/' signed/runs/atpo/results.tsv
    by_guide sign
    must_exit 1
fi
finish
