#!/bin/sh
# shellcheck disable=SC2016 # commands for another shell
# autoresearch_loop.sh: program.md of karpathy/autoresearch, step by step, in a repository whose train.py prints that project's
# output: a branch, a log with only its header, ten experiments with commits and resets, a crash, and kills of `lineage run`.
# The only difference is the command: `lineage run .. -- uv run train.py` instead of `uv run train.py`.
. "$SOURCE/tests/support/shell.sh"
command -v git >git.path || { printf 'no git here: the loop is not run\n'; exit 0; }
HOME=$scratch GIT_CONFIG_NOSYSTEM=1
export HOME GIT_CONFIG_NOSYSTEM
mkdir bin && printf '#!/bin/sh\nshift\nexec sh "$@"\n' >bin/uv && chmod +x bin/uv && PATH=$scratch/bin:$PATH

# ---- the repository: train.py is edited, prepare.py is not, results.tsv is ignored ----
mkdir repo && cd repo || exit 3
git init -q -b master . && git config user.email a@b && git config user.name a
printf '# the fixed evaluation\n' >prepare.py
printf '__pycache__/\n*.py[oc]\n.venv\nresults.tsv\n' >.gitignore
cat >train.py <<'END'
# idea: baseline
val_bpb=0.997900
main()
{
    printf 'Vocab size: 8,192\nTime budget: 300s\n'
    printf 'step 00952 (99.8%%) | loss: 3.001200 | lrm: 0.01 | dt: 314ms | tok/sec: 1,667,000 | mfu: 39.8%% | epoch: 1 | remaining: 0s    '
    printf '\rstep 00953 (100.0%%) | loss: 2.998100 | lrm: 0.00 | dt: 314ms | tok/sec: 1,667,000 | mfu: 39.8%% | epoch: 1 | remaining: 0s    \n'
    sleep 0.05
    printf -- '---\nval_bpb:          %s\ntraining_seconds: 300.1\ntotal_seconds:    325.9\npeak_vram_mb:     45060.2\n' "$val_bpb"
    printf 'mfu_percent:      39.80\ntotal_tokens_M:   499.6\nnum_steps:        953\nnum_params_M:     50.3\ndepth:            8\n'
}
main
END
git add . && git commit -q -m 'first commit'

# ---- Setup ----
git checkout -q -b autoresearch/mar5
printf 'commit\tval_bpb\tmemory_gb\tstatus\tdescription\n' >results.tsv
# The log of the loop cannot take a trial, which is reported before anything is trained.
run run -m val_bpb -- uv run train.py
must_exit 2
must_have err 'lineage init --from'
must_equal 1 "$(wc -l <results.tsv | tr -d ' ')"
rm -f out err
"$LINEAGE" init ../runs --direction lower || fail init

# experiment DESCRIPTION SCORE|crash: steps 2 to 9 of the loop.
best=
experiment()
{
    sed -i "s/^# idea: .*/# idea: $1/; s/^val_bpb=.*/val_bpb=$2/; s/^val_bpb=crash$/exit 1/" train.py
    git commit -q --allow-empty -am "$1"
    [ "${3-}" != killed ] || kill_some "$1"
    "$LINEAGE" run -C ../runs -m val_bpb -m peak_vram_mb --hypothesis "$1" -- uv run train.py >run.log 2>&1
    grep '^val_bpb:\|^peak_vram_mb:' run.log >grep.out
    commit=$(git rev-parse --short=7 HEAD)
    if [ ! -s grep.out ]; then
        tail -n 50 run.log >tail.out
        printf '%s\t0.000000\t0.0\tcrash\t%s\n' "$commit" "$1" >>results.tsv
        git reset -q --hard HEAD~1
        return
    fi
    checks=$((checks + 1))
    score=$(sed -n 's/^val_bpb: *//p' grep.out)
    [ "$(wc -l <grep.out | tr -d ' ')" = 2 ] || fail "$1: run.log has $(cat grep.out)"
    if [ -z "$best" ] || [ "$(printf '%s\n%s\n' "$score" "$best" | sort -n | head -n 1)$best" = "$score$best" ] && [ "$score" != "$best" ]; then
        printf '%s\t%s\t44.0\tkeep\t%s\n' "$commit" "$score" "$1" >>results.tsv
        best=$score
    else
        printf '%s\t%s\t44.0\tdiscard\t%s\n' "$commit" "$score" "$1" >>results.tsv
        git reset -q --hard HEAD~1
    fi
}
# The loop is killed at some moment of a run and starts again, with a garbage collection in between.
kill_some()
{
    for ms in 5 25 45 65 85 105 125 145 165 185; do
        "$LINEAGE" run -C ../runs -m val_bpb -m peak_vram_mb --hypothesis "$1" -- uv run train.py >run.log 2>&1 &
        pid=$!
        sleep "$(printf '0.%03d' "$ms")"
        kill -9 $pid 2>/dev/null
        wait $pid 2>/dev/null
        git gc -q --prune=now
    done
}
experiment baseline 0.997900
experiment 'increase LR to 0.04' 0.993200
experiment 'switch to GeLU activation' 1.005000
experiment 'double model width (OOM)' crash
experiment 'warmdown 0.5' 0.991000 killed
experiment 'deeper' 0.992000
experiment 'smaller batch' 0.990100
experiment 'no weight decay' 0.995000 killed
experiment 'rope base 200000' 0.990100
experiment 'window pattern SSSL' 0.989000

# ---- the two logs agree ----
rm -f out err
must_run verify -C ../runs
finished()
{
    sed 1d ../runs/results.tsv | awk -F '\t' '$9 != "harness_abort"'
}
wanted=$(sed 1d results.tsv | cut -f 4,5)
# A trial that was killed after its row was written is twice in the store, because the loop never read the row.
must_equal "$wanted" "$(finished | cut -f 7,9 | awk -F '\t' '{ print $2 "\t" $1 }' | awk '!seen[substr($0, index($0, "\t"))]++')"
must_equal '0.989 window pattern SSSL' "$("$LINEAGE" best -C ../runs --format json >out && json score) $(json hypothesis)"
must_equal 6 "$(git log --oneline | wc -l | tr -d ' ')" "the branch has the kept commits"
must_equal '' "$(git status --porcelain --untracked-files=no)"
rm -f run.log grep.out tail.out

# ---- nothing is lost: after resets, kills and a collection, each trial has its code, its ref and its diff ----
git reflog expire --expire=now --all && git gc -q --prune=now
run refs -C ../runs --format tsv
must_exit 0
must_equal "$(sed 1d ../runs/results.tsv | wc -l | tr -d ' ')" "$(sed 1d out | grep -c 'kept$')" "refs"
must_equal '' "$(git for-each-ref refs/lineage-running)" "refs of trials that ran"
sed 1d ../runs/results.tsv | cut -f 1,7 | while IFS="$tab" read -r id idea; do
    [ -n "$idea" ] || continue
    git show "$(json git.ref "../runs/provenance/$id/run.json"):train.py" | grep -qxF "# idea: $idea" || printf '%s\n' "$id" >>lost
done
[ ! -e lost ] || fail "the code is lost of $(cat lost)"
id()
{
    finished | awk -F '\t' -v idea="$1" '$7 == idea { print $1; exit }'
}
run diff "$(id baseline)" "$(id 'increase LR to 0.04')" -C ../runs
must_exit 0
must_have out '-val_bpb=0.997900'
must_have out '+val_bpb=0.993200'
run rerun "$(id 'switch to GeLU activation')" -q -C ../runs
must_exit 0
must_have err 'came out the same: 1.005'
run logs "$(id 'switch to GeLU activation')" -C ../runs
must_have out 'num_params_M:     50.3'

# ---- the loop's own log becomes a store: the same labels, with parents that follow the keeps ----
cp results.tsv five
run init --from results.tsv
must_exit 0
must_have out '10 rows converted, 0 left out'
must_have out '10 of them name a commit of the repository'
# Its commits are kept too, by refs of their own, and can be compared.
run refs -C ../runs --remove --all
must_exit 0
git gc -q --prune=now
run refs --format tsv
must_exit 0
must_equal 10 "$(sed 1d out | grep -c 'kept$')" "refs of converted rows"
must_run diff "$(sed -n 2p results.tsv | cut -f 1)" "$(sed -n 4p results.tsv | cut -f 1)"
must_have out '+# idea: switch to GeLU activation'
must_fail 2 'no command' rerun "$(sed -n 4p results.tsv | cut -f 1)"
must_match_file five results.tsv.original
must_equal "$(sed 1d five | cut -f 4)" "$(sed 1d results.tsv | cut -f 9)"
must_run chain "$(sed 1d results.tsv | tail -n 1 | cut -f 1)"
must_equal 'baseline increase warmdown smaller window' "$(grep -o 'baseline\|increase\|warmdown\|smaller\|window' out | awk '!seen[$0]++' | tr '\n' ' ' | sed 's/ $//')"
must_run verify
must_run run -q -m val_bpb -- uv run train.py
cd ..
finish
