#!/bin/sh
# shellcheck disable=SC2016,SC2154 # commands for another shell; shared with shell.sh
# night_causes.sh: nights blame failures on their cause: a module, the command, a file, a typo, a planner without proposals.
. "$SOURCE/tests/support/shell.sh"

rows() { tail -n +2 "$1/results.tsv" | wc -l | tr -d ' '; }
labels() { tail -n +2 "$1/results.tsv" | cut -f 9 | tr '\n' ' '; }

# ---- a missing module: two trials, then the night stops; nothing counts against a setting ----
cat >module.json <<'END'
{"name": "module", "direction": "higher", "command": ["python3", "{workdir}/train.py", "{lr}"], "files": ["train.py"], "grid": {"lr": [1, 2, 3, 4]}}
END
printf 'import no_such_module\n' >train.py
sed 's/"train.py", "{lr}"/"{workdir}\/train.py", "{lr}"/' module.json >m.json
run night m.json -C m -q
must_exit 3
must_have err "the night stops: 2 trials in a row ended as harness_abort with the same evidence: ModuleNotFoundError: No module named 'no_such_module' (train.py:1)"
must_lack err 'the night is done'
must_equal 'harness_abort harness_abort ' "$(labels m)"
must_equal '' "$("$LINEAGE" void -C m --format tsv | tail -n +2)"
printf 'import sys\nprint("METRIC score=" + sys.argv[1])\n' >train.py
run night m.json -C m -q
must_exit 0
must_equal 6 "$(rows m)" 'all four ran'

# ---- a warning that the program survived blames no machine: the failures count, as those of the settings ----
cat >warned.json <<'END'
{"name": "warned", "direction": "lower", "command": ["sh", "-c", "echo 'Warning: no GPUs found, running on CPU'; for i in 1 2 3; do echo step $i loss: 0.$i; done; exit 1", "x", "{lr}"], "grid": {"lr": [1, 2, 3, 4]}}
END
run night warned.json -C warned -q
must_equal 'crash crash crash crash ' "$(labels warned)"
sed 's/exit 1/echo filled 3 missing values; kill -15 $$/; s/"warned"/"ended"/' warned.json >ended.json
run night ended.json -C ended -q --trials 1
must_have ended/results.tsv 'cause interrupt; killed by signal 15'

# ---- failures that share a setting which others lack do not end the night ----
cat >heads.json <<'END'
{"name": "heads", "direction": "lower", "command": ["sh", "-c", "[ $1 = 8 ] || [ -e broken ] || { echo 'model.py:3: error: heads'; exit 1; } >&2; [ ! -e broken ] || { echo 'model.py:3: error: heads'; exit 1; } >&2; echo METRIC score=$2", "x", "{heads}", "{lr}"],
 "grid": {"heads": [6, 8], "lr": [1, 2, 3, 4, 5, 6]}}
END
run night heads.json -C h -q
must_exit 0
must_equal 12 "$(rows h)" 'each trial ran once'
must_equal 6 "$(labels h | tr ' ' '\n' | grep -c crash)"
must_equal baseline "$(tail -n +2 h/results.tsv | cut -f 9 | sed -n 6p)" 'after five failures the other value is tried'
must_equal '' "$("$LINEAGE" void -C h --format tsv | tail -n +2)"
run night heads.json -C h -q
must_equal 12 "$(rows h)"
run night heads.json -C h2 -q --jobs 2
must_exit 0
must_equal 12 "$(rows h2)"
# Where the other value fails alike, the machine is to blame. The next night begins with what is untried.
: >broken
run night heads.json -C h3 -q
must_exit 3
must_have err 'the night stops: 6 trials in a row'
must_have err '6 trials are left; the next night begins with those; --stop-after 0 runs all of them'
rm broken
run night heads.json -C h3 --trials 1 -q
must_have out 'heads=6'
must_equal 'heads=6 lr=6' "$(sed -n 's/.*\(heads=[0-9]* lr=[0-9]*\).*/\1/p' out | head -1)"

# ---- running out of memory ends no night: a smaller batch may fit ----
cat >batch.json <<'END'
{"name": "batch", "direction": "lower", "command": ["sh", "-c", "[ $1 -le 64 ] || { printf '[rank1]: Traceback (most recent call last):\n[rank1]:   File \"r.py\", line 4, in <module>\n[rank1]: torch.OutOfMemoryError: CUDA out of memory.\n'; exit 1; } >&2; echo METRIC score=$1", "x", "{batch}"],
 "grid": {"batch": [4096, 2048, 1024, 512, 256, 128, 64]}}
END
run night batch.json -C mem -q
must_exit 0
must_equal 'crash crash crash crash crash crash baseline ' "$(labels mem)"
must_equal '' "$("$LINEAGE" void -C mem --format tsv | tail -n +2)"
must_run render -C mem
must_have out '5 more (memory)'

# ---- the same error five times before anything was reported: the rows are void ----
cat >same.json <<'END'
{"name": "same", "direction": "higher", "command": ["sh", "-c", "[ -e ok ] || { echo 'data.py:3: error: no data' >&2; exit 1; }; echo METRIC score={lr}"], "grid": {"lr": [1, 2, 3, 4, 5, 6]}}
END
run night same.json -C s -q
must_exit 3
must_have err 'with the same evidence: error: no data (data.py:3) (--stop-after)'
must_have err 'their rows are void'
must_equal 10 "$(rows s)" 'five trials and five voids'
must_run void -C s --format json
must_equal 'crash 5 trials in a row failed alike: error: no data (data.py:3)' "$(json 0.status) $(json 0.reason)"
must_lack s/KNOWLEDGE.md 'Failure Classes'
: >ok
run night same.json -C s -q
must_exit 0
must_equal 16 "$(rows s)"
must_run verify -C s
# Other errors in turn, or an error after the first step: these may be the settings' fault.
sed 's/no data/no data {lr}/; s/"same"/"differ"/; s/-e ok/-e never/' same.json >differ.json
run night differ.json -C d -q
must_exit 3
must_equal 5 "$(rows d)"
sed 's/"same"/"begun"/; s/\[ -e ok \]/echo METRIC score=1; [ -e never ]/' same.json >begun.json
run night begun.json -C b -q
must_exit 3
must_equal 5 "$(rows b)"
must_equal 'crash crash crash crash crash ' "$(labels b)"

# ---- --retry ----
must_fail 2 "'soon' is not a label of a failure" night begun.json -C b --retry soon
must_fail 2 "'keep' is not a label of a failure" night begun.json -C b --retry keep
must_fail 2 '--retry needs labels' night begun.json -C b --retry ,
run night begun.json -C b -q --retry overrun --stop-after 0
must_exit 0
must_equal 6 "$(rows b)" 'only the sixth trial ran'
: >never
run night begun.json -C b -q --retry crash,overrun
must_exit 0
must_have err '6 failed trials are run again'
must_equal 18 "$(rows b)" 'six voids and six trials'
must_run best -C b --format json
must_equal 6.0 "$(json score)"
run night begun.json -C b -q --retry crash
must_exit 0
must_equal 18 "$(rows b)" 'nothing has failed'
must_run verify -C b

# ---- after the command is fixed, the same setting runs again; a measured one does not ----
cat >flag.json <<'END'
{"name": "flag", "direction": "higher", "command": ["sh", "{workdir}/train.sh", "{x}"], "files": ["train.sh"], "ranges": {"x": "0:2:integer"}}
END
printf 'echo METRIC score=$1; [ $1 != 1 ] || exit 3\n' >train.sh
# A command that runs the file beside the sweep would run none of the diffs that change the copy.
sed 's,{workdir}/,,' flag.json >beside.json
must_fail 2 'write {workdir}/train.sh' night beside.json -C f -q --propose grid --trials 1
sed 's,"sh"\, "{workdir}/train.sh","true",' flag.json >blind.json
must_fail 2 'no diff of them would run' night blind.json -C f -q --propose grid --trials 1
run night flag.json -C f -q --propose grid --trials 3
must_exit 0
must_equal 'baseline crash keep ' "$(labels f)"
run night flag.json -C f -q --propose grid --trials 9
must_exit 0
must_have err 'every setting in the ranges was tried'
must_equal 3 "$(rows f)"
printf 'echo METRIC score=$1\n' >train.sh
run night flag.json -C f -q --propose grid --trials 9
must_exit 0
must_equal 6 "$(rows f)" 'other code: every setting is new'
must_equal 3 "$(tail -n 3 f/results.tsv | cut -f 17 | grep -c "$(tail -n 1 f/results.tsv | sed 's/.*\(program [0-9a-f]*\).*/\1/')")"
must_lack f/KNOWLEDGE.md 'program '
# A listed trial whose file was fixed runs again, without an option.
cat >listed.json <<'END'
{"name": "listed", "direction": "higher", "command": ["sh", "{workdir}/one.sh", "{x}"], "files": ["one.sh"], "grid": {"x": [1, 2]}}
END
printf 'echo METRIC score=$1; [ $1 != 2 ] || exit 3\n' >one.sh
run night listed.json -C l -q
must_exit 0
must_equal 'baseline crash ' "$(labels l)"
run night listed.json -C l -q
must_equal 2 "$(rows l)"
printf 'echo METRIC score=$1\n' >one.sh
run night listed.json -C l -q
must_exit 0
must_have err '1 failed trial is run again'
must_equal 'baseline crash harness_abort keep ' "$(labels l)"

# ---- a full disk is the machine's fault, in the words of each program; /dev/full is always full ----
full() # REASON COMMAND...: the row is a harness_abort for the disk
{
    reason=$1
    shift
    command -v "$1" >probe 2>&1 || { echo "left out: $1"; return; }
    rm -rf full
    run run -C full --direction lower -m loss --no-refs -q -- "$@"
    must_equal 'harness_abort disk' "$("$LINEAGE" sql -C full "SELECT status || ' ' || coalesce(cause(notes), '') FROM trials" --format tsv | tail -n 1)" "$*"
    must_have full/results.tsv "$reason"
}
full 'No space left on device' python3 -c 'open("/dev/full", "w").write("x" * 99999)'
full 'database or disk is full' python3 -c 'import sqlite3
d = sqlite3.connect(":memory:")
d.execute("PRAGMA max_page_count = 2")
d.execute("CREATE TABLE t (a)")
for i in range(99): d.execute("INSERT INTO t VALUES (zeroblob(9000))")'
full 'No space left on device' python3 -c 'import logging, sys
logging.basicConfig(filename="/dev/full")
logging.error("x")
sys.exit(1)'
full 'I/O error' dash -c 'echo x >/dev/full'
full 'No space left on device' bash -c 'echo x >/dev/full'
full 'No space left on device' dd if=/dev/zero of=/dev/full count=1
full 'No space left on device' tar cf /dev/full results.tsv -C / etc/passwd
full 'curl: (23)' curl -sS "file://$SOURCE/README.md" -o /dev/full # curl 8.14 says nothing of a few bytes
full 'no space left on device' node -e 'require("fs").writeFileSync("/dev/full", "x")'
full 'No space left on device' perl -e 'open F, ">/dev/full"; print F "x"; close F or die "close: $!"'
full 'No space left on device' awk 'BEGIN { print "x" >"/dev/full" }'
for python in python3 /usr/bin/python3; do # the first one may lack them
    ! "$python" -c 'import numpy' 2>probe || full '99999 requested and ' "$python" -c 'import numpy
numpy.zeros(99999).tofile("/dev/full")'
    ! "$python" -c 'import torch' 2>probe || full 'unexpected pos' "$python" -c 'import torch
torch.save(torch.zeros(99999), "/dev/full")'
done
# Other numbers of that form do not report a write.
run run -C full --direction lower -m loss --no-refs -q -- sh -c 'echo "RuntimeError: 4 GPUs requested and 2 available" >&2; exit 1'
must_equal crash "$("$LINEAGE" sql -C full 'SELECT status FROM trials' --format tsv | tail -n 1)"

# ---- typos, before anything runs ----
cat >typo.json <<'END'
{"name": "typo", "direction": "higher", "command": "echo METRIC score={lrr}", "grid": {"lr": [1, 2]}}
END
must_fail 2 'the command has {lrr}, which is not a parameter, and nothing uses {lr}; is it a typo?' night typo.json -C t
must_equal no "$([ -e t ] && echo yes || echo no)" 'a store was left behind'
# Braces of a shell and of a program are left alone, and so is a name that is near a parameter which is used.
sed 's/score={lrr}/score={lr}; : ${lrr} {lrs} {print}; a={lr2}/' typo.json >braces.json
run night braces.json -C t2 -q
must_exit 0
must_equal 2 "$(rows t2)"
cat >unused.json <<'END'
{"name": "unused", "direction": "higher", "command": "echo METRIC score={lr}", "ranges": {"lr": "0:1", "wd": "0:1"}}
END
run night unused.json -C t3 -q --propose sobol --trials 1
must_exit 0
must_have err 'no word of the command uses {wd}, so the range of wd changes nothing'
must_lack err 'range of lr'
sed 's/score={lr}/score={lr} $LINEAGE_PARAM_WD/' unused.json >variable.json
run night variable.json -C t3 -q --propose sobol --trials 2
must_exit 0
must_lack err 'changes nothing'
printf 'import os\nopen(os.environ["LINEAGE_PARAMS"])\nprint("METRIC score=1")\n' >reads.py
sed 's/echo METRIC score={lr}/python3 reads.py/' unused.json >reads.json
run night reads.json -C t3 -q --propose sobol --trials 3
must_lack err 'changes nothing'

# ---- planners ----
cat >plan.json <<'END'
{"name": "plan", "direction": "higher", "command": "sh {workdir}/one.sh {x}", "params": {"x": 0}, "files": ["one.sh"]}
END
run night plan.json -C p -q --planner 'echo "[]"' --trials 5
must_exit 0
must_have err 'the planner has no further proposals; 5 of 6 trials are left'
must_lack err 'the hours are used up'
must_lack err 'no line that is a JSON object'
cat >twice.json <<'END'
{"name": "twice", "direction": "higher", "command": "echo METRIC score={alpha}", "ranges": {"alpha": "0:1"}}
END
run night twice.json -C p2 -q --planner "echo '{\"params\": {\"alpha\": 0.1, \"alpha\": 0.2}}'" --trials 1
must_exit 0
must_have err "line 1: duplicate object key"
must_have p2/telemetry/proposals.jsonl 'duplicate object key'
run night twice.json -C p3 -q --planner "echo '{\"params\": {\"alpha\": 0.1, \"α\": 0.2}}'" --trials 1
must_exit 0
must_have err 'params: alpha is given twice'

# ---- the first trial leaves no slot idle, unless another depends on its row ----
cat >slots.json <<'END'
{"name": "slots", "direction": "higher", "command": ["sh", "-c", ": >began.{x}; i=0; until [ -e began.1 ] && [ -e began.2 ] && [ -e began.3 ]; do i=$((i + 1)); [ $i -lt 600 ] || exit 9; sleep 0.1; done; echo METRIC score={x}"], "grid": {"x": [1, 2, 3]}}
END
run night slots.json -C j -q --jobs 3
must_exit 0
must_equal 3 "$(rows j)"
must_equal baseline "$(sed -n 2p j/results.tsv | cut -f 9)" 'the first row is the baseline'
must_equal 1 "$(cut -f 9 j/results.tsv | grep -c baseline)"
rm -f began.*
sed 's/"slots", /"alone", "baseline_seeds": 1, /; s/until .*; do i/while [ -e busy ]; do i/; s/: >began.{x};/[ ! -e busy ] || exit 8; : >busy;/; s/; echo METRIC/; rm busy; echo METRIC/; s/while \[ -e busy \]; do i=.*; sleep 0.1; done;/sleep 0.3;/' slots.json >alone.json
run night alone.json -C ja -q --jobs 1
must_exit 0
must_equal 3 "$(rows ja)"

# ---- the nearest evidence of what was not tried ----
must_run init n --direction higher
must_run append -C n --status keep --core-metric 1 --alpha 0.3 --gamma 1.0
must_run append -C n --status crash --alpha 0.9 --notes 'failed after step 2 of 9: ValueError: loss is nan (train.py:7), left with exit status 1; peak memory 3 MB'
must_run append -C n --status discard --core-metric 0.5 --alpha 0.9 --gamma 0.5 --param opt=adam
run tried -C n --alpha 0.9 --gamma 1.0
must_exit 1
must_have err 'nearest: 001 has alpha=0.9, not gamma=1; crash: failed after step 2 of 9: ValueError: loss is nan (train.py:7)'
must_equal 3 "$(grep -c nearest err)"
run tried -C n --alpha 0.9 --param opt=adam --gamma 0.7
must_exit 1
must_equal 'lineage: nearest: 002 has alpha=0.9, opt=adam, not gamma=0.7; discard, 0.5' "$(grep nearest err | head -n 1)"
run tried -C n --alpha 7
must_exit 1
must_equal 'lineage: tried: alpha 0.9' "$(cat err)"

printf '%s\n' '{"jsonrpc":"2.0","id":1,"method":"initialize","params":{"protocolVersion":"2025-06-18","capabilities":{},"clientInfo":{"name":"t","version":"1"}}}' \
    '{"jsonrpc":"2.0","id":2,"method":"tools/call","params":{"name":"tried","arguments":{"params":{"alpha":0.9,"gamma":1}}}}' >in
"$LINEAGE" mcp -C n <in 2>/dev/null | sed -n 2p >out
must_have out '"evidence":[{"exp_id":"001","has":["alpha"],"lacks":["gamma"],"outcome":"crash: failed after step 2 of 9: ValueError: loss is nan (train.py:7)'

# ---- failure classes show the evidence, once for trials that failed alike ----
must_run append -C n --status crash --alpha 0.8 --notes 'failed after step 3 of 9: ValueError: loss is nan (train.py:7), left with exit status 1; peak memory 4 MB'
must_run append -C n --status eval_budget_overrun --notes 'again: to be sure; the final evaluation took more than 60 s (61.5) after step 9 of 9; peak memory 4 MB'
must_run render -C n
must_have out '003 and 1 more: `failed: ValueError: loss is nan (train.py:7), left with exit status 1`'
must_have out '004: `the final evaluation took more than 60 s (61.5)`'
header | sed 's/\tnotes/\teval_s\tnotes/' >w.tsv
mkdir w
{
    cat w.tsv
    printf '001\t2026-01-01T00:00:00Z\tx\t\t\t\ta\t\tkeep\t1\t\t\t\t\t\t\t590\tplan\n'
    printf '002\t2026-01-01T00:00:00Z\tx\t\t\t\tb\t\teval_budget_overrun\t\t\t\t\t\t\t\t603.4\t%s\n' "$(printf 'first words of a long plan %.0s' 1 2 3 4 5 6 7 8)"
    printf '003\t2026-01-01T00:00:00Z\tx\t\t\t\tb\t\teval_budget_overrun\t\t\t\t\t\t\t\t601\tplan\n'
    printf '004\t2026-01-01T00:00:00Z\tx\t\t\t\tb\t\tcrash\t\t\t\t\t\t\t\t\t%s | RuntimeError: no\n' "$(printf 'first words of a long plan %.0s' 1 2 3 4 5 6 7 8)"
} >w/results.tsv
must_run render -C w --direction higher
must_have out '003 and 1 more: `eval_s 601 to 603.4; kept trials have at most 590`'
must_have out 'RuntimeError: no'
sed -n '/Failure Classes/,/^## [A-EG-Z]/p' out >classes
must_lack classes 'first words'
finish
