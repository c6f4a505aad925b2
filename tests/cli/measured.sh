#!/bin/sh
# measured.sh: `show`, `diff --stat`, `knobs` and `sql` print what trials changed in their programs, and what was compared
# once is kept in lineage.db.
. "$SOURCE/tests/support/shell.sh"

mkdir one two three
printf 'class H:\n    lr = float(os.environ.get("LR", 0.02))\n    wd = 0.1\n\ndef step(x):\n    return x\n' >one/train.py
printf 'class H:\n    wd = 0.1\n    lr = float(os.environ.get("LR", 0.03))\n\ndef step(x):\n    y = x\n    return y\n' >two/train.py
printf 'import os\nclass H:\n    wd = 0.3\n    lr = float(os.environ.get("LR", 0.03))\n\ndef step(x):\n    y = x\n    return y\n' >three/train.py
must_run init --direction higher
must_run append --status baseline --core-metric 1 --specialist s --snapshot one
must_run append --status discard --core-metric 1 --specialist s --parent 000 --hypothesis 'Raise lr 0.02 -> 0.05'
must_run append --status keep --core-metric 2 --specialist s --parent 001 --hypothesis 'Raise lr 0.02 -> 0.03' --snapshot two
must_run append --status keep --core-metric 3 --specialist s --parent 002 --hypothesis 'Raise wd 0.1 -> 0.2 here' --snapshot three

# A measured change replaces a stated one with the same value; with another value, both are shown.
must_run show 002 --format json
must_equal 'lr' "$("$JSON_GET" changes.0.name <out)"
must_equal '0.02' "$("$JSON_GET" changes.0.from <out)"
must_equal '0.03' "$("$JSON_GET" changes.0.to <out)"
must_equal 'measured' "$("$JSON_GET" changes.0.source <out)"
must_equal '' "$("$JSON_GET" changes.1 <out 2>/dev/null)"
must_equal '000' "$("$JSON_GET" measured_against <out)"
must_equal 'train.py' "$("$JSON_GET" code_changes.0.file <out)"
must_equal 'step' "$("$JSON_GET" code_changes.0.parts.1.name <out)"
must_run show 003
must_have out 'wd 0.1 → 0.3 (measured)'
must_have out 'wd 0.1 → 0.2 (stated)'
must_have out 'train.py +2 -1'
must_run show 001 --format json
must_equal 'stated' "$("$JSON_GET" changes.0.source <out)"
must_equal '' "$("$JSON_GET" code_changes <out 2>/dev/null)"
must_run knobs wd --format json
must_have out measured

# The block shows how the code of the best trial differs from the first one.
must_run render
must_have out '- code against exp_000: train.py +5 -3 (H +2 -2, step +2 -1, outside of functions +1 -0)'
must_run render
cp out once
rm -f lineage.db*
must_run render
must_match_file once out

must_run diff --stat 002
must_equal 'lr 0.02 -> 0.03  (train.py:3, H)
train.py +3 -2
    H +1 -1
    step +2 -1
1 setting and 1 file changed, 3 lines added, 2 removed, against 000' "$(cat out)"
must_run diff --stat 000 003
must_have out 'wd 0.1 -> 0.3  (train.py:3, H)'
must_have out 'lr 0.02 -> 0.03'
must_have out '2 settings and 1 file changed'
must_fail 2 "trial '000' has no parent" diff --stat 000
must_fail 2 'no code or command' diff --stat 000 001

# Tables: filled by the statement that names them, and kept. Snapshots are compared once.
must_run sql "SELECT exp_id, name, old, new FROM changes WHERE source = 'measured' ORDER BY seq" --format tsv
must_equal "exp_id	name	old	new
002	lr	0.02	0.03
003	wd	0.1	0.3" "$(cat out)"
mv snapshots elsewhere
mkdir snapshots
must_run show 002
must_have out 'lr 0.02 → 0.03 (measured)'
must_run rebuild
must_run show 002
must_have out 'lr 0.02 → 0.03 (stated)'
rmdir snapshots
mv elsewhere snapshots
must_run show 002
must_have out 'lr 0.02 → 0.03 (measured)'

# The command of a trial of `run`, and its environment.
mkdir commands
printf '#!/bin/sh\necho "score: 1"\n' >commands/train
chmod 755 commands/train
must_run init commands/store
run run -C commands/store --specialist s --hypothesis h --env SEED_RATE=1 -- "$scratch/commands/train" --lr 3e-4 --fast
run run -C commands/store --specialist s --hypothesis h --parent 000 --env SEED_RATE=2 -- "$scratch/commands/train" --lr=1e-3 opt.wd=0.1
must_run show 001 -C commands/store
must_have out 'lr 3e-4 → 1e-3 (measured)'
must_have out 'SEED_RATE 1 → 2 (measured)'
must_have out 'opt.wd = 0.1 (measured)'
must_run diff --stat 001 -C commands/store
must_have out 'lr 3e-4 -> 1e-3  (command)'

# An agent commits before each run: the diff between the commits is kept with the trial.
if command -v git >/dev/null; then
    mkdir repo
    cd repo || exit 3
    git init -q . && git config user.email a@b && git config user.name n
    printf 'lr = 0.1\nwd = 1\n\ndef step(x):\n    return x\n' >train.py
    git add . && git commit -qm one
    must_run init ../agent
    run run -C ../agent --hypothesis h -- "$scratch/commands/train"
    printf 'lr = 0.2\nwd = 1\n\ndef step(x):\n    return x + 1\n' >train.py
    git commit -qam two
    run run -C ../agent --hypothesis h --parent 000 -- "$scratch/commands/train"
    printf 'lr = 0.2\nwd = 3\n\ndef step(x):\n    return x + 1\n' >train.py
    run run -C ../agent --hypothesis h --parent 001 -- "$scratch/commands/train" --fast
    cd .. || exit 3
    must_run diff --stat 001 -C agent
    must_equal 'lr 0.1 -> 0.2  (train.py:1)
train.py +2 -2
    (outside of functions) +1 -1
    step +1 -1
1 setting and 1 file changed, 2 lines added, 2 removed, against 000' "$(cat out)"
    must_run show 002 -C agent
    must_have out 'wd 1 → 3 (measured)'
    must_have out 'fast = true (measured)'
    must_lack out 'lr 0.1'
fi

# Names and values of a program are not trusted on a terminal or in JSON.
mkdir evil
printf 'a = "x"\nb = 1\n' >evil/'t
.py'
must_run append --status keep --core-metric 4 --specialist s --parent 003 --snapshot evil
printf 'a = "\033[31m"\nb = 2\n' >evil/'t
.py'
must_run append --status keep --core-metric 5 --specialist s --parent 004 --snapshot evil
must_run diff --stat 005
must_have out 'b 1 -> 2'
must_equal 0 "$(tr -d '\n' <out | tr -cd '\000-\037' | wc -c | tr -d ' ')"
must_run show 005 --format json

# ---- programs of kept trials of two released logs ----

shared=${SHARED_DIR:-$SOURCE/../shared}/ideas
if [ ! -d "$shared/labels" ] || ! command -v python3 >/dev/null; then
    echo 'the programs of released logs or python3 are not there: they are not measured'
    finish
fi
[ "$INSTRUMENTED" = no ] || { echo 'released logs are measured without sanitizers only' && finish; }
for log in pg-ablation-lineage-on pg-variant-single-agent; do
    mkdir "$log"
    cp "$shared/../lineage-cases/run-$log/raw/results.tsv" "$log/results.tsv"
    cp -r "$shared/$log/snapshots" "$log/snapshots"
    chmod -R u+w "$log"
    # Each measured number is on the line that is named.
    python3 - "$LINEAGE" "$log" <<'END' >missed || fail "$log: the measured values could not be checked"
import json, os, re, subprocess, sys
lineage, log = sys.argv[1:]
wrong = rows = 0
for name in sorted(os.listdir(log + "/snapshots")):
    text = subprocess.run([lineage, "diff", "-C", log, "--stat", name.split("_")[0]], capture_output=True, text=True).stdout
    for value, file, line in re.findall(r"(?:->|=) (\S+)  \(([^:]+):(\d+)", text):
        if re.match(r"[-.0-9]", value):
            rows += 1
            wrong += value not in open(f"{log}/snapshots/{name}/{file}", encoding="utf-8").read().split("\n")[int(line) - 1].replace("_", "")
print(wrong, rows >= 5)
END
    must_equal '0 True' "$(cat missed)"
done
must_run show 082 -C pg-ablation-lineage-on
must_have out 'muon_momentum_warmup_fraction 0.45 → 0.33 (measured)' # its text says nothing about it
python3 "$SOURCE/tests/bench/ideas_bench.py" --lineage "$LINEAGE" --json --programs "$shared" "$shared/labels" >figures ||
    fail 'the bench failed'
# at_least FLOOR LOG MEASURE
at_least()
{
    checks=$((checks + 1))
    value=$("$JSON_GET" "$2.$3" <figures) || value=0
    awk "BEGIN { exit !($value >= $1) }" || fail "$2: $3 is $value, below $1"
}
at_least 0.65 pg-ablation-lineage-on measured_precision
at_least 0.70 pg-ablation-lineage-on measured_recall
at_least 0.55 pg-variant-single-agent measured_precision
at_least 0.55 pg-variant-single-agent measured_recall
# ---- the block of runs that declare and say nothing ----
must_run run -q -C quiet -m loss --direction lower -- sh -c 'echo loss: 3' train.sh
must_run run -q -C quiet -m loss --parent 000 -- sh -c 'echo loss: 2' train.sh --lr 0.1
must_run run -q -C quiet -m loss --parent 001 -- sh -c 'echo loss: 1' train.sh --lr 0.2
must_run render -C quiet
must_have out '| 002 | keep | 1 | `lr 0.1 → 0.2` |'
must_have out '| 001 | keep | 2 | `lr = 0.1` |'
must_have out ' └─ exp_002 [keep, loss=1, Δ=-1] `lr 0.1 → 0.2` ← BEST'
must_lack out 'Left out'
must_lack out 'by specialist'

finish
