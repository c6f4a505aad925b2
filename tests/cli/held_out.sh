#!/bin/sh
# held_out.sh: a held-out score is recorded, and its digits are in no output of a command, no answer to an agent and no file but its own.
# shellcheck disable=SC2016,SC2034,SC2154 # shared with shell.sh; $ is for the program
. "$SOURCE/tests/support/shell.sh"
umask 022

# The held-out score is 7319.46 + lr, printed in every form that a program may use, also in two pieces and without a line end. No time and
# no digest in a row can look like it: it is more than the seconds of the test, and its digits count only where a number begins.
cat >train.sh <<'END'
held=$(awk "BEGIN { print 7319.46 + $1 / 100 }")
echo "test_acc was 7319.41 in an earlier sentence"
echo "step 1 val_loss 0.5 test_acc: $held"
echo "METRIC val_loss=0.4$1 test_acc=$held"
printf 'test_acc: 7319.44\b\b\b\b\b\b\b%s\n' "$held"
echo "test_acc of a model that is not the best one: 7319.42"
printf '\033[32mtest_acc: %s\033[0m (best %s)\n' "$held" "$held"
echo "{\"val_loss\": 0.4, \"Test Acc\": $held}"
echo "summary $held 7319$(echo "$held" | cut -c6-)% 7.32e3"
printf 'epoch | val_loss | test_acc\n1 | 0.4%s | %s\n' "$1" "$held"
echo "{\"step\": 3, \"val_loss\": 0.4, \"test_acc\": $held, \"text\": \"at $held\", \"param\": {\"test_acc\": $held}}" >"$LINEAGE_EVENTS"
echo "METRIC val_loss=0.4$1"
printf 'test_acc=%s' "$(echo "$held" | cut -c1-5)"
sleep 0.05
echo "$held" | cut -c6-
printf 'val_loss: 0.4%s, test_acc=%s' "$1" "$held"
exit "${2:-0}"
END
grep -v LINEAGE_EVENTS train.sh >quiet.sh
cat >sweep.json <<'END'
{"name": "held", "direction": "lower", "command": ["sh", "train.sh", "{lr}"], "score": "val_loss", "held_out": "test_acc",
 "ranges": {"lr": ["1", "2", "3", "4"]}, "trials": [{"params": {"lr": "1"}}]}
END
digits='(^|[^0-9.])(7319\.[45]|73194[0-9]([^0-9]|$)|7\.32e)'
must_hide() # WHAT FILE..
{
    what=$1
    shift
    found=$(grep -aEl "$digits" "$@" 2>/dev/null)
    must_equal '' "$found" "the held-out digits in $what"
}

# ---- run: the row has the score; the value is in a file of its own, which only its owner may read ----
run run -C s --direction lower --score val_loss --held-out test_acc -p lr=1 -- sh quiet.sh 1
must_exit 0
must_hide "run" out err
must_have err 'test_acc=xxxx.xx'
must_equal '{"exp_id":"000","name":"test_acc","value":7319.47,"runs":1}' "$(cat s/held-out.jsonl)"
must_equal 600 "$(stat -c %a s/held-out.jsonl)"
must_run show 000 -C s --format json
must_equal 0.41 "$(json core_metric)"
run run -C s --score val_loss --held-out test_acc -p lr=2 -- sh quiet.sh 2 1
must_hide "a failed run" out err
must_equal 1 "$(wc -l <s/held-out.jsonl | tr -d ' ')" "a failed trial has no held-out score"
run run -C s --score val_loss --held-out test_acc --seeds 2 -p lr=3 -- sh quiet.sh 3
must_have s/held-out.jsonl '"runs":2'

# ---- the same number under another name, in events and lines, also negative; the score stays, also if it is equal ----
cat >copies.sh <<'END'
echo "METRIC val_loss=$2 copy=$1 test_acc=$1"
echo "METRIC val_loss=$2 again=$1"
printf '{"test_acc": %s, "val_loss": %s, "eval/test_acc": %s, "test_acc_copy": %s, "in": {"percent": 731946, "near": 7.32e3}}\n' "$1" "$2" "$1" "$1" >"$LINEAGE_EVENTS"
echo "other $1"
END
for value in 7319.46 -7319.46; do
    run run -C copies --direction lower --score val_loss --held-out test_acc -- sh copies.sh $value 0.4
    sed -i '/"command"/d' copies/provenance/*/run.json # it names the value, as does what repeats it outside of the store
    sed -i '/copies\.sh/d' "$scratch.state"/lineage/acknowledged/*/runs.jsonl
    must_hide "copies" out err $(find copies -type f ! -name held-out.jsonl)
done
run run -C copies --score val_loss --held-out test_acc -- sh copies.sh 0.875 0.875
must_equal 0.875 "$(tail -n 1 copies/results.tsv | cut -f 10)"

# ---- a night with a planner that keeps its requests; the planner proposes nothing, so the proposer does ----
run night sweep.json -C s --planner 'cat >>../told.json; echo "{\"proposals\": []}"' --trials 2
must_exit 0
cat told.json ../told.json 2>/dev/null >told || :
rm -f ../told.json
must_hide "the night and its planner" out err told
must_hide "the store" $(find s s/.[!.]* "$scratch.state" -type f ! -name held-out.jsonl)
[ "$(wc -l <s/held-out.jsonl)" -ge 4 ] || fail "the night recorded no held-out scores"

# ---- every command that reads, in every format ----
while read -r line; do
    for format in table json tsv; do
        case $line in
        *'!'*) command=${line%!} ;;
        *) command="$line --format $format" ;;
        esac
        # shellcheck disable=SC2086 # words
        run $command
        must_hide "$command" out err
    done
done <<'END'
best -C s
settings -C s
show 000 -C s
chain best -C s
tree -C s
query -C s
query -C s --param test_acc=0:
search test_acc -C s
knobs -C s
sweep lr -C s
similar 000 -C s
claims -C s
compare -C s --runs
diff 003 -C s!
sql SELECT+1 -C s
status -C s
logs 000 -C s!
logs 001 -C s!
render -C s!
report -C s -o -!
export -C s!
verify -C s!
suggest -C s --range lr=1:4
refs -C s!
insight -C s
void -C s
rerun 000 -C s!
rescore 000 -C s -m val_loss!
agent --print-prompt!
program -C s!
END
for table in trials params metrics notes; do
    run sql "SELECT * FROM $table" -C s
    must_hide "sql: $table" out err
done
run query -C s --sort test_acc
must_exit 2

# ---- MCP: every tool and resource ----
{
    meta='"_meta":{"io.modelcontextprotocol/protocolVersion":"2026-07-28","io.modelcontextprotocol/clientInfo":{"name":"x","version":"1"},"io.modelcontextprotocol/clientCapabilities":{}}'
    printf '{"jsonrpc":"2.0","id":1,"method":"tools/list","params":{%s}}\n' "$meta"
    for tool in knowledge best query trial chain tree search similar tried knobs compare sweep running telemetry sql diff suggest novelty; do
        printf '{"jsonrpc":"2.0","id":2,"method":"tools/call","params":{"name":"%s","arguments":{},%s}}\n' "$tool" "$meta"
        printf '{"jsonrpc":"2.0","id":2,"method":"tools/call","params":{"name":"%s","arguments":{"id":"000"},%s}}\n' "$tool" "$meta"
        printf '{"jsonrpc":"2.0","id":2,"method":"tools/call","params":{"name":"%s","arguments":{"query":"test_acc"},%s}}\n' "$tool" "$meta"
    done
    for uri in knowledge trial/000 trial/003 best settings held-out held-out.jsonl trial/../held-out.jsonl; do
        printf '{"jsonrpc":"2.0","id":3,"method":"resources/read","params":{"uri":"lineage://%s",%s}}\n' "$uri" "$meta"
    done
} >in
"$LINEAGE" mcp -C s --allow-write <in >out 2>err
must_have out 0.41
must_hide MCP out err

# ---- Python, if it is there: everything that a store answers ----
if [ -n "${LINEAGE_LIBRARY_PATH-}" ] || ls "$BUILD"/src/store/liblineage.so* >/dev/null 2>&1; then
    LINEAGE_LIBRARY_PATH=${LINEAGE_LIBRARY_PATH-$BUILD/src/store} PYTHONPATH=$SOURCE/src/python PYTHONDONTWRITEBYTECODE=1 \
        python3 -c 'import lineage
store = lineage.Store("s")
ids = [r["exp_id"] for r in store.query()]
print([store.query(), store.best(), store.render(), store.evidence(), store.settings(), store.knobs(), store.noise(), store.front(),
       store.search("test_acc"), store.sweep("lr"), store.voids(), [[store.find(i), store.steps(i), store.chain(i), store.claim(i)] for i in ids]])' >out 2>err ||
        printf 'SKIP Python: %s\n' "$(tail -n 1 err)"
    must_hide Python out err
fi

# ---- the person: only with an output file, for its owner alone; the usual page has nothing ----
must_fail 2 'needs --output FILE' report -C s --held-out
must_fail 2 'exclude each other' report -C s --held-out --svg history
must_run report -C s
must_hide "the usual page" s/report.html
: >page.html
must_run report -C s --held-out -o page.html
must_equal 600 "$(stat -c %a page.html)"
must_have page.html 7319.47
must_have page.html 'Gap between the score and the held-out score'
must_have page.html '<td class="n">−7.32e+03</td>'
printf 'no JSON\n' >>s/held-out.jsonl
must_run report -C s --held-out -o page.html
must_have page.html '1 lines of held-out.jsonl cannot be read'
"$LINEAGE" init none --direction lower >/dev/null
must_run report -C none --held-out -o page.html
must_have page.html 'No trial has a held-out score'

# ---- refused before anything runs: a name that something else would show ----
for asked in '--score test_acc' '-m test_acc' '-m Test-Acc' '--require test_acc<=1' '--metric-regex test_acc=(.*)' '--metric-file test_acc=a.json' \
    '--examples preds.jsonl#Test-Acc'; do
    # shellcheck disable=SC2086 # words
    must_fail 2 'which would show it' run -C t --direction lower --held-out test_acc $asked -- sh quiet.sh 1
done
must_fail 2 'which is not the score' run -C t --direction lower --held-out score -- sh quiet.sh 1
run run -C t --direction lower --held-out test_acc --dry-metrics -- sh quiet.sh 1
must_hide "a dry run" out err
must_fail 2 'no trial has a metric of this name' night sweep.json -C s --until 'test_acc>=0.9' --trials 2 --propose grid
[ ! -s t/results.tsv ] || fail "a refused run ran"

# ---- a link in the place of the file is not followed ----
rm s/held-out.jsonl
ln -s ../elsewhere s/held-out.jsonl
run run -C s --score val_loss --held-out test_acc -p lr=9 -- sh quiet.sh 9
must_have err 'is not kept in'
[ ! -e elsewhere ] || fail "a link was followed"
finish
