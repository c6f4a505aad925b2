#!/bin/sh
# shellcheck disable=SC2016 # commands for another shell
# program.sh: `lineage program` prints instructions for agents. Their commands are taken out of the text and run as an agent
# would: ten ideas with commits and resets, a crash and its repair, a repetition that is refused, an insight.
. "$SOURCE/tests/support/shell.sh"
command -v git >git.path || { printf 'no git here: the instructions are not run\n'; exit 0; }
HOME=$scratch GIT_CONFIG_NOSYSTEM=1
export HOME GIT_CONFIG_NOSYSTEM
mkdir bin && ln -s "$LINEAGE" bin/lineage && PATH=$scratch/bin:$PATH

# train.py prints what karpathy/autoresearch prints; its score depends on the lr that is written in it.
mkdir repo && cd repo || exit 3
git init -q . && git config user.email a@b && git config user.name a
cat >train.py <<'END'
lr = 0.02
END
cat >train.sh <<'END'
lr=$(sed -n 's/^lr = //p' train.py)
grep -q '^warmpu' train.py && { printf 'Traceback (most recent call last):\nNameError: warmpu\n' >&2; exit 1; }
printf 'step 00953 (99.9%%) | loss: 2.997900 | lrm: 0.00 | dt: 312ms\r' >&2
printf -- '---\nval_bpb:          %s\ntraining_seconds: 300.1\ntotal_seconds:    325.9\npeak_vram_mb:     45060.2\nnum_steps:        953\ndepth:            8\n' \
    "$(awk -v lr="$lr" 'BEGIN { d = log(lr / 0.08); printf "%.6f", 0.98 + d * d / 100 }')"
END
git add . && git commit -q -m start

run program -C runs -m val_bpb -m peak_vram_mb --direction lower -- sh train.sh
must_exit 0
must_lack out '{'
must_lack out METRIC
must_lack out COMMAND
cp out ../program.md
run program -C runs -m val_bpb -m peak_vram_mb --direction lower --skill -- sh train.sh
must_exit 0
must_equal '---' "$(head -n 1 out)"
must_equal 'name: lineage-experiments' "$(sed -n 2p out)"
must_have out 'description: '
must_equal 1 "$(sed 1d out | grep -c '^---$')" "end of the front matter"
sed '1,/^$/d' out >body
must_match_file ../program.md body

# block TEXT: the lines of the sh block under the heading that begins with TEXT.
block()
{
    awk -v head="$1" '/^## / { on = index($0, head) == 4 } on && /^```sh$/ { code = 1; next } /^```$/ { code = 0 } on && code' ../program.md
}
for head in 'Once: set up' '1. Read' '2. Choose' '3. Edit' '4. Keep or reset' '5. Record'; do
    block "$head" >"../block" && [ -s ../block ] || fail "no commands under '$head'"
    sh -n ../block || fail "commands under '$head' are not valid"
done
rm -f out err body

# ---- once ----
block 'Once: set up' >../once.sh
sh -eu ../once.sh >../out 2>../err || fail "set up: $(cat ../err)"
must_equal '000 baseline' "$(sed 1d runs/results.tsv | cut -f 1,9 | tr '\t' ' ')"
must_equal '' "$(git status --porcelain)" "the store stays out of commits"
must_have runs/.gitignore '*'
sh -eu ../once.sh >../out 2>../err || fail "set up again: $(cat ../err)"
must_equal 1 "$(sed 1d runs/results.tsv | wc -l | tr -d ' ')" "set up again runs nothing"
must_equal 0 "$(grep -c /runs/ .git/info/exclude)" "the store ignores itself"

# ---- the loop ----
block '1. Read' >../read.sh
sh -eu ../read.sh >../out 2>../err || fail "read: $(cat ../err)"
must_have ../out 'the code before any change'
must_have ../out 'start'
block '3. Edit' >../edit.sh
block '4. Keep or reset' >../reset.sh

# idea OLD NEW [OPTION]: the commands of steps 2 and 3 with other numbers; then what step 4 says.
idea()
{
    block '2. Choose' | sed "s/0\.02 -> 0\.04/$1 -> $2/g; s/lr=0\.04/lr=$2/" >../choose.sh
    while read -r line; do
        sh -u -c "$line" >../out 2>../err
        [ $? -le 1 ] || fail "$line: $(cat ../err)"
    done <../choose.sh
    sed -i "s/^lr = .*/lr = $2/" train.py
    sed "s/0\.02 -> 0\.04/$1 -> $2/g; s/lr=0\.04/lr=$2/; s/--check-tried/--check-tried ${3-}/" ../edit.sh >../edit2.sh
    printf '\nprintf "%%s" "$id" >../id\n' >>../edit2.sh
    sh -u ../edit2.sh >../shown 2>../err
    id=$(cat ../id)
    label=$(awk -F '\t' -v id="$id" '$1 == id { print $9 }' runs/results.tsv)
    tried="$tried$2:$label "
    case $label in keep) return ;; esac
    { printf 'id=%s\n' "$id" && if [ -n "$id" ]; then cat ../reset.sh; else sed '/logs/d' ../reset.sh; fi; } >../reset2.sh
    sh -eu ../reset2.sh >../out 2>../err || fail "reset after $id: $(cat ../err)"
}
tried=
idea 0.02 0.04
must_have ../shown keep
must_have ../shown 'lr 0.02 -> 0.04'
idea 0.04 0.08
idea 0.08 0.16
idea 0.08 0.04
must_equal '' "$id" "a repetition is not run"
idea 0.08 0.06
sed -i '1i warmpu()' train.py
idea 0.08 0.1
must_have ../out warmpu
sed -i '/warmpu/d' train.py
idea 0.08 0.1 "--again 'repaired: a name was misspelt'"
# A day with git between trials: what is ignored stays, and what `clean -x` takes comes back with its ids.
echo note >note && git stash -q -u && git checkout -q -b side && git checkout -q - && git stash pop -q && rm note
git worktree add -q ../wt && (cd ../wt && "$LINEAGE" best -C "$OLDPWD/runs" >../out) && git worktree remove --force ../wt
git clean -qfdx
sh -eu ../once.sh >../out 2>../err && fail 'a lost store was made again'
must_have ../err 'lineage restore -C runs'
"$LINEAGE" restore -C runs >../out 2>../err || fail "restore: $(cat ../err)"
must_have ../out '7 rows put back'
must_have ../out 'the commands of 7 trials put back'
idea 0.08 0.09
idea 0.08 0.07
idea 0.08 0.075
must_equal '0.04:keep 0.08:keep 0.16:discard 0.04: 0.06:discard 0.1:crash 0.1:discard 0.09:discard 0.07:discard 0.075:discard ' "$tried"
must_equal '0.08' "$(sed -n 's/^lr = //p' train.py)" "the branch has the best code"
must_equal 3 "$(git log --oneline | wc -l | tr -d ' ')" "only kept commits stay"
must_equal '' "$(git status --porcelain)"

# ---- what it leaves: parents, refs, diffs, an insight ----
must_equal '000: 001:000 002:001 003:002 004:002 005:002 006:002 007:002 008:002 009:002 ' "$(sed 1d runs/results.tsv | cut -f 1,4 | tr '\t\n' ': ')"
git reflog expire --expire=now --all && git gc -q --prune=now
run refs -C runs --format tsv
must_exit 0
must_equal 10 "$(sed 1d out | grep -c 'kept$')"
must_equal 'lr = 0.16' "$(git show refs/lineage/003:train.py)"
run diff 003 -C runs
must_exit 0
must_have out '+lr = 0.16'
run rerun 007 -C runs -q
must_exit 0
rm -f out err
{ printf 'id=004\n' && block '5. Record'; } >../record.sh
sh -eu ../record.sh >../out 2>../err || fail "insight: $(cat ../err)"
(cd .. && run render -C repo/runs && must_exit 0 && must_have out 'needs warmup') || exit 3
run verify -C runs
must_exit 1
must_equal 3 "$(grep -vc '^checked' out)" 'only the snapshots of kept trials are gone'

# ---- what is not given comes from the store, or is marked ----
run program -C runs
must_exit 0
must_have out '-m val_bpb -m peak_vram_mb'
must_have out '-- sh train.sh)'
must_have out '`val_bpb` (lower is better)'
must_lack out Replace
cd runs && run program && must_exit 0 && must_have out 'lineage render -C . ' && rm -f out err && cd .. || exit 3
run program -C new
must_exit 0
must_have out '> METRIC: '
must_have out '> COMMAND: '
must_have out '> lower: '
run program -C "a b'c" -m 'odd name' --direction higher -- python 'train it.py' '$HOME'
must_exit 0
must_have out "lineage init 'a b'\\''c' --direction higher"
must_have out "-- python 'train it.py' '\$HOME')"
must_have out '--expected-delta +0.005'
must_lack out 'info/exclude'
must_fail 2 'direction' program --direction up
must_fail 2 'program' program extra
# A shell takes a name between braces literally, and several words between them apart.
must_run program -C runs -m loss --direction lower -- sh t.sh 'lr={lr}' 'd{1,2}' 'n{1..2}'
must_have out "sh t.sh lr={lr} 'd{1,2}' 'n{1..2}'"
[ ! -e new ] || fail "program made a store"
cd ..
finish
