# An ordinary day with git: a table of situations (place of the store, git command, question). No acknowledged row is lost, no id is
# given twice, and the code of each trial is what ran. Each situation begins with three trials, of which the last two were committed.
. "$SOURCE/tests/support/shell.sh"
GIT_AUTHOR_NAME=a GIT_AUTHOR_EMAIL=a@b GIT_COMMITTER_NAME=a GIT_COMMITTER_EMAIL=a@b
export GIT_AUTHOR_NAME GIT_AUTHOR_EMAIL GIT_COMMITTER_NAME GIT_COMMITTER_EMAIL

# trial STORE [OPTION...]: runs the program of the current directory as a trial.
trial()
{
    at=$1
    shift
    "$LINEAGE" run -C "$at" -q -m loss "$@" -- sh ./t.sh 2>>"$scratch/err"
}

# begin PLACE: the repository w/p with three trials in the store, whose path from the repository is $store.
begin()
{
    case $1 in inside | tracked) store=runs ;; top) store=. ;; *) store=../S ;; esac
    rm -rf w other "$XDG_STATE_HOME"
    if [ -d "made.$1" ]; then
        cp -a "made.$1" w
        cp -a "made.$1.state" "$XDG_STATE_HOME"
        return
    fi
    git init -q w/p
    cd w/p || exit 3
    # shellcheck disable=SC2016
    printf 'LR=0.1\nloss=$(cat v); echo METRIC loss=$loss\n' >t.sh
    echo 3 >v
    git add .
    git commit -qm one
    "$LINEAGE" init "$store" --direction lower $([ "$1" != tracked ] || echo --tracked) 2>>"$scratch/err"
    trial $store
    for v in 2 1; do
        echo $v >v
        git add -A
        git commit -qm "v $v"
        trial $store
    done >/dev/null
    cd ../.. || exit 3
    cp -a w "made.$1"
    cp -a "$XDG_STATE_HOME" "made.$1.state"
}

ids()
{
    sed 1d "$1/results.tsv" | cut -f 1 | sort | tr '\n' ' '
}

# What the situation is asked; in the repository, after its git command.
next() # nobody gets the id of a trial again, and every row is there after a restore
{
    [ -e "$store/results.tsv" ] || "$LINEAGE" restore -C "$store" >/dev/null 2>>"$scratch/err"
    id=$(trial "$store")
    "$LINEAGE" restore -C "$store" >/dev/null 2>>"$scratch/err"
    echo "$id: $(ids "$store")"
}
gone() # best and verify name what is gone, and its id is refused
{
    said=$("$LINEAGE" best -C "$store" 2>&1 >/dev/null | grep -c 'lineage restore')
    found=$("$LINEAGE" verify -C "$store" 2>/dev/null | grep -c '^gone: 2 acknowledged rows')
    "$LINEAGE" append -C "$store" --exp-id 002 --status discard >/dev/null 2>&1
    echo "$said $found $?"
}
taken() # an id that only a ref has is refused, too
{
    "$LINEAGE" append -C "$store" --exp-id 009 --status discard >/dev/null 2>&1
    echo $?
}
code() # the code of the last trial, from its ref and in a diff
{
    "$LINEAGE" diff -C "$store" 000 002 2>/dev/null | grep -c '^[-+][31]$'
    git show refs/lineage/002:v 2>/dev/null
}
refs()
{
    "$LINEAGE" refs -C "$store" 2>/dev/null | grep -c kept
}
again() # the same score from the same code
{
    id=$("$LINEAGE" rerun -q -C "$store" 002 2>/dev/null)
    echo "$? $(git show "refs/lineage/$id:v" 2>/dev/null)$("$LINEAGE" show -C "$store" "$id" --format json | "$JSON_GET" core_metric)"
}
void() # its ref goes here and nowhere else, and only when that is asked for
{
    "$LINEAGE" void -C "$store" 001 --reason test >/dev/null 2>>"$scratch/err"
    "$LINEAGE" refs -C "$store" --remove 001 >/dev/null 2>>"$scratch/err"
    git for-each-ref --format='%(refname:lstrip=2)' refs/lineage | tr '\n' ' '
}
known() # the setting of a discarded trial that no option states
{
    sed -i s/0.1/0.7/ t.sh
    git commit -qam lr && trial "$store" >/dev/null
    "$LINEAGE" tried -C "$store" --param LR=0.7 --format tsv 2>/dev/null | sed 1d | cut -f 1 | tr '\n' ' '
}

stat() # what a trial changed in its code, without the files of a store that git tracks
{
    "$LINEAGE" diff --stat -C "$store" 000 002 2>/dev/null | tail -n 1
    "$LINEAGE" diff -C "$store" 002 2>/dev/null | grep -c '^diff'
}

situations=0
# Fields: place; question; what it answers; the git command, which runs in the repository.
while IFS='|' read -r place question wanted command; do
    [ -n "$place" ] || continue
    situations=$((situations + 1))
    begin "$place"
    here=$(
        cd w/p || exit 3
        eval "$command" >/dev/null 2>>"$scratch/err"
        $question | tr '\n' ' ' | sed 's/ *$//'
    )
    must_equal "$wanted" "$here" "$place: $command: $question"
done <<'END'
inside|next|003: 000 001 002 003|git reset -q --hard HEAD~2
inside|next|003: 000 001 002 003|git clean -fd
inside|next|003: 000 001 002 003|git clean -fdx
inside|next|003: 000 001 002 003|git checkout -q -b old HEAD~1
inside|next|003: 000 001 002 003|echo 9 >v; touch new; git stash -u
inside|next|003: 000 001 002 003|git add -A; git commit -qm all; git reset -q --hard HEAD~3
inside|next|003: 000 001 002 003|git rebase -q --onto HEAD~2 HEAD~1
inside|next|003: 000 001 002 003|rm -rf runs
inside|next|003: 000 001 002 003|cd ..; mv p q; cd q
inside|next|003: 003|rm -rf runs "$XDG_STATE_HOME"; "$LINEAGE" init runs --direction lower
inside|next|003: 003|git clone -q . ../../other; cd ../../other; git fetch -q ../w/p 'refs/lineage/*:refs/lineage/*'; "$LINEAGE" init runs --direction lower
inside|next|010: 000 001 002 010|git update-ref refs/lineage/009 HEAD
outside|next|010: 000 001 002 010|git update-ref refs/lineage/009.2 HEAD
outside|next|000: 000|"$LINEAGE" init ../two --direction lower; rm -rf ../S; store=../two
outside|next|003: 003|rm -rf ../S "$XDG_STATE_HOME"; "$LINEAGE" init ../S --direction lower
outside|next|003: 003|git clone -q . ../../other; cd ../../other; git fetch -q ../w/p 'refs/lineage/*:refs/lineage/*'; store=../two; "$LINEAGE" init ../two --direction lower
inside|next|001: 000 001|"$LINEAGE" init two --direction lower; trial two; store=two
inside|next|001: 000 001|"$LINEAGE" init two --direction lower; trial two; cd ..; mv p q; cd q; store=two
inside|next|003: 000 003|"$LINEAGE" init two --direction lower; trial two; rm -rf runs; store=two
inside|taken|2|git update-ref refs/lineage/009 HEAD
inside|next|003: 000 001 002 003|cd ..; cp -r p ../other; cd ../other
outside|next|003: 000 001 002 003|git reset -q --hard HEAD~2; git clean -qfdx
outside|next|003: 000 001 002 003|git worktree add -q ../wt; cd ../wt
outside|next|003: 000 001 002 003|sed -i '$d' ../S/results.tsv
tracked|next|003: 000 001 002 003|git reset -q --hard HEAD~2
tracked|next|003: 000 001 002 003|git add -A; git commit -qm all; git checkout -q -b old HEAD~1
tracked|next|003: 000 001 002 003|git stash -u
tracked|next|003: 000 001 002 003|git add -A; git commit -qm all; git rm -rqf runs
top|next|003: 000 001 002 003|git add -A; git commit -qm all; git reset -q --hard HEAD~2
tracked|gone|1 1 2|git reset -q --hard HEAD~1
outside|gone|1 1 2|sed -i '3,$d' ../S/results.tsv
inside|gone|1 1 2|rm runs/results.tsv; printf '%s\n' "$(head -n 2 ../../made.inside/p/runs/results.tsv)" >runs/results.tsv
inside|code|2 1|git reset -q --hard HEAD~2; git reflog expire --expire=now --all; git gc -q --prune=now
outside|code|2 1|git checkout -q --orphan empty; git rm -rqf .
outside|code|2 1|git clean -qfdx; git checkout -q HEAD~2
inside|code|2 1|cd ..; mv p q; cd q
outside|code|2 1|cd ..; cp -r ../w ../other; rm -rf p; cd ../other/p
inside|code|2 1|cp -r . ../../other; rm -rf .git; cd ../../other
tracked|code|2 1|git reset -q --hard HEAD~2; "$LINEAGE" restore -C runs
inside|code|2 1|git clean -qfdx; "$LINEAGE" restore -C runs
inside|void|000 001 002|cp -r runs runs2; store=runs2
inside|refs|3|cd ..; mv p q; cd q
inside|refs|3|cd ..; cp -r p ../other; rm -rf p; cd ../other
outside|refs|3|cd ..; mv p q; cd q
outside|refs|4|git worktree add -q ../wt; cd ../wt; trial ../S; cd ../p; git worktree remove --force ../wt
outside|refs|0|mv ../p ../../gone; mkdir ../p
inside|again|0 1.0|git reset -q --hard HEAD~2; echo 8 >v
outside|again|0 1.0|git worktree add -q ../wt; cd ../wt
inside|again|0 1.0|cd ..; mv p q; cd q
inside|again|0 1.0|git clean -qfdx; "$LINEAGE" restore -C runs
inside|next|003: 000 001 002 003|cd ..; mv p q; cd q; "$LINEAGE" best -C runs; git clean -qfdx
tracked|gone|1 1 2|cd ..; mv p q; cd q; "$LINEAGE" best -C runs; git reset -q --hard HEAD~1
outside|next|003: 000 001 002 003|mv ../S ../T; store=../T; "$LINEAGE" best -C ../T; rm ../T/results.tsv
inside|next|003: 000 001 002 003|cp -r . ../../other; git clean -qfdx; (cd ../../other; "$LINEAGE" best -C runs)
outside|again|0 1.0|rm -rf ../S; "$LINEAGE" restore -C ../S
top|again|0 1.0|git reset -q --hard HEAD~2
inside|void|000 002|git reset -q --hard HEAD~2
inside|void|000 002|cp -r . ../../other; cd ../../other
inside|void|000 001 002|cp -r . ../../other; (cd ../../other; "$LINEAGE" void -C runs 002 --reason x; "$LINEAGE" refs -C runs --remove --all); store=/tmp/none
inside|void|000 001 002|cp -r runs ../../other; store=../../other
outside|void|000 002|git worktree add -q ../wt; cd ../wt
outside|refs|3|git init -q ../../other/p; (cd ../../other/p; git commit -q --allow-empty -m o); cp -r ../S ../../other/S; store=../../other/S
outside|refs|3|cd ..; mv p q; git init -q p; cd q
outside|again|0 1.0|cd ..; mv p q; git init -q p; cd q
outside|void|000 002|cd ..; mv p q; git init -q p; cd q
outside|void|000|mv ../S ../S2; (cd ..; "$LINEAGE" void -C S2 002 --reason x; "$LINEAGE" refs -C S2 --remove 002); store=../S2
inside|void|000 001 002|git clone -q . ../../other; cp -r runs ../../other; (cd ../../other; "$LINEAGE" refs -C runs --remove --all); store=/tmp/none
outside|void|000 001 002|git init -q ../../other/p; (cd ../../other/p; git commit -q --allow-empty -m o); cp -r ../S ../../other/S; store=../../other/S
outside|code|2 1|git init -q ../../other/p; (cd ../../other/p; git commit -q --allow-empty -m o); cp -r ../S ../../other/S; store=../../other/S
outside|code|2 1|git clone -q --mirror . ../../other; git -C ../../other fetch -q "$PWD" 'refs/lineage/*:refs/lineage/*'; git clone -q ../../other ../../other/c; cd ../../other/c; git fetch -q .. 'refs/lineage/*:refs/lineage/*'; rm -rf ../../w/p; store=../../w/S
tracked|stat|0 settings and 1 file changed, 1 line added, 1 removed, against 000 1|git add -A; git commit -qm all
tracked|stat|0 settings and 1 file changed, 1 line added, 1 removed, against 000 1|cd ..; mv p q; cd q
outside|again|0 1.0|git init -q ../other; GIT_DIR=$PWD/../other/.git; export GIT_DIR
outside|refs|3|git init -q ../other; GIT_DIR=$PWD/../other/.git GIT_INDEX_FILE=$PWD/../other/.git/index; export GIT_DIR GIT_INDEX_FILE
outside|next|003: 000 001 002 003|mv .git ../dot; GIT_DIR=$PWD/../dot GIT_WORK_TREE=$PWD; export GIT_DIR GIT_WORK_TREE
inside|void|000 002|git bisect start HEAD HEAD~2
outside|again|0 1.0|git rebase -q -i --autosquash HEAD~2; git worktree add -q ../wt; git worktree move ../wt ../wt2; cd ../wt2
outside|refs|4|git clone -q --depth 1 "file://$PWD" ../other && cd ../other; trial ../S
inside|refs|3|mkdir h; printf '#!/bin/sh\nexit 1\n' >h/reference-transaction; chmod +x h/*; git config core.hooksPath "$PWD/h"
inside|next|005: 000 001 002 003 005|git clone -q --mirror . ../r; git clone -q ../r ../c; (cd ../c; git fetch -q origin 'refs/lineage/*:refs/lineage/*'; "$LINEAGE" init runs --direction lower; trial runs; trial runs; git push -q origin 'refs/lineage/*:refs/lineage/*'); trial runs; git fetch -q ../r 'refs/lineage/*:refs/lineage/*'
outside|stat|0 settings and 1 file changed, 1 line added, 1 removed, against 000 1|git config core.autocrlf true; echo '* text=auto eol=crlf' >.gitattributes
inside|again|0 1.0|tar cf ../t.tar .; mkdir ../t; cd ../t; tar xf ../t.tar; ln -s t ../l; cd ../l
inside|known|003|git reset -q --hard HEAD~2
outside|known|003|git checkout -q -b old HEAD~1
END
begin inside
cd w/p || exit 3
rm -rf runs # the mistake is not answered with advice to begin a new store
must_fail 2 'was a store of 3 trials, gone from it now; `lineage restore -C runs` brings them back' run -C runs -q -m loss -- sh ./t.sh
must_run restore -C runs
must_have out 'the commands of 3 trials put back; logs, telemetry and snapshots are not repeated'
# git does not answer, as for the repository of another user in a container: each door says so.
mkdir ../mute && printf '#!/bin/sh\nexit 128\n' >../mute/git && chmod +x ../mute/git
mute="git does not answer for the repository $(pwd -P)"
real=$PATH PATH=$(cd .. && pwd)/mute:$PATH
run run -C runs -q -m loss --hypothesis x -- sh ./t.sh
must_exit 0
must_have err "not kept as a whole; left out: all of it, as $mute"
must_have runs/results.tsv "code not kept: all of it, as $mute"
run refs -C runs
must_exit 1
must_have out unknown
must_have err "the ref of 000 is unknown: $mute"
must_fail 3 "$mute" rerun -q -C runs 001
run diff -C runs 000 001
must_have err "$mute"
PATH=$real
must_equal '000 001 002 003 ' "$(ids runs)" 'no row of a trial whose code could not be had'
git worktree add -q ../wt && cd ../wt || exit 3
must_fail 2 'the one of the main work tree is' run -C runs -q -m loss -- sh ./t.sh
cd ../.. || exit 3
rm -rf gone
must_equal yes "$([ $situations -ge 40 ] && echo yes)" "$situations situations"

# ---- what ran is what is kept ----
git init -q lib && echo 3 >lib/v && git -C lib add . && git -C lib commit -qm lib
git init -q sub && git -C sub -c protocol.file.allow=always submodule --quiet add "$scratch/lib" lib 2>>err
cd sub || exit 3
echo 'echo METRIC loss=$(cat lib/v)' >t.sh
git add . && git commit -qm sub
"$LINEAGE" init ../sub-store --direction lower
trial ../sub-store >/dev/null
echo 2 >lib/v && trial ../sub-store >/dev/null
git -C lib commit -qam better && echo 1 >lib/v && git -C lib commit -qam best && git add lib && trial ../sub-store >/dev/null
must_equal '3 2 1' "$(for i in 000 001 002; do git show "refs/lineage/$i:lib/v"; done | tr '\n' ' ' | sed 's/ $//')" submodules
git reset -q --hard && git -c protocol.file.allow=always submodule --quiet update --force
run rerun -q -C ../sub-store 002
must_exit 0
mkdir nested && git init -q nested && trial ../sub-store --hypothesis x >/dev/null
must_have ../err 'not kept as a whole; left out: 1 untracked file (nested/)'
must_equal 1 "$(tail -n 1 ../sub-store/results.tsv | grep -c 'code not kept: 1 untracked file (nested/)')"
cd ..

# A file with the flag assume-unchanged runs nevertheless, and so does a repository that was added.
cd sub || exit 3
echo 7 >lib/v && git -C lib commit -qam seven && echo one >cfg && git add cfg && git commit -qm cfg
git update-index --assume-unchanged cfg && echo two >cfg
echo in >nested/f && git -C nested add f && git -C nested commit -qm in && git add nested 2>/dev/null && git commit -qm nested
id=$(trial ../sub-store)
must_equal 'two in' "$(git show "refs/lineage/$id:cfg") $(git show "refs/lineage/$id:nested/f")"
cd ..

git init -q unborn
cd unborn || exit 3
echo 'echo METRIC loss=$(cat v)' >t.sh
echo 5 >v5 && ln -s v5 v && git add t.sh
"$LINEAGE" init runs --direction lower
trial runs >/dev/null
must_equal 'v5 5' "$(git show refs/lineage/000:v) $(git show refs/lineage/000:v5)" 'before the first commit, with a link'
rm v v5
run rerun -q -C runs 000
must_exit 0
cd ..

# ---- parameters in force, and HEAD without the parent's code ----
begin outside
cd w/p || exit 3
trial ../S --parent 000 -p LR=0.2 >/dev/null
trial ../S --parent 003 -p MOMENTUM=0.9 --check-tried >/dev/null
run tried -C ../S --param LR=0.2 --param MOMENTUM=0.9 --format tsv
must_equal 004 "$(sed 1d out | cut -f 1)" 'parameters of the chain'
must_run init ../chain --direction lower
for row in 'baseline 3 LR=0.1 --param MOMENTUM=0.5' 'keep 2 LR=0.2 --parent 000' 'keep 1 MOMENTUM=0.9 --parent 001' 'discard 4 LR=0.4 --parent 002'; do
    # shellcheck disable=SC2086
    must_run append -C ../chain --status ${row%% *} --core-metric $(echo "$row" | cut -d ' ' -f 2) --param ${row#* * }
done
run knobs LR -C ../chain --format tsv
must_equal '001 0.1 0.2
003 0.2 0.4' "$(sed 1d out | cut -f 1-3 | tr '\t' ' ')" 'changes against the value in force'
run knobs -C ../chain --format tsv
must_equal 'LR 0.2 MOMENTUM 0.9' "$(sed 1d out | cut -f 1,2 | tr '\t\n' '  ' | sed 's/ $//')"
# compare takes values from the code and from parents, as well as from rows.
must_run append -C ../chain --status discard --core-metric 3 --parent 000 --param seed=1
must_run append -C ../chain --status discard --core-metric 2 --parent 001 --param seed=1
run compare -C ../chain --by LR --format tsv
must_equal 'LR=0.1 1 LR=0.2 1' "$(sed 1d out | cut -f 1,2 | grep ' *[1-9]$' | tr '\t\n' '  ' | sed 's/ $//')" 'inherited values are variants'
git init -q ../lr && (cd ../lr && printf 'LR = 0.1\nprint("METRIC loss", LR)\n' >t.py && git add . && git commit -qm one)
must_run init ../lr-store --direction lower
for lr in 0.1 0.2; do
    sed -i "s/^LR.*/LR = $lr/" ../lr/t.py
    for seed in 1 2; do
        (cd ../lr && "$LINEAGE" run -C ../lr-store -q -m loss -p seed=$seed -- sh -c 'sed -n "s/LR = /METRIC loss=/p" t.py' >/dev/null 2>&1)
    done
done
run compare -C ../lr-store --by LR --format tsv
must_equal 'LR=0.1 2 0.1 LR=0.2 2 0.2' "$(sed 1d out | cut -f 1-3 | tr '\t\n' '  ' | sed 's/ $//')" 'values in the code are variants'
run compare -C ../lr-store LR=0.2 LR=0.1 --format tsv
must_equal 'LR=0.2 LR=0.1' "$(sed 1d out | cut -f 1 | tr '\n' ' ' | sed 's/ $//')"
run query -C ../lr-store -p seed=1:2 -p LR=0.1 --format tsv
must_equal '000 001' "$(sed 1d out | cut -f 1 | sort | tr '\n' ' ' | sed 's/ $//')" 'a declared parameter beside a value in the code'
# An id that telemetry has is not given by hand either.
mkdir -p ../chain/telemetry && echo '{"steps": [{"step": 0}]}' >../chain/telemetry/052.json
must_fail 2 "exp_id '052' is that of a trial without a row" append -C ../chain --exp-id 052 --status discard
git reset -q --hard HEAD~1
trial ../S --parent 002 >/dev/null
must_equal 1 "$(grep -c 'HEAD does not contain the code of 002' "$scratch/err")"
git cherry-pick "$(git rev-parse refs/lineage/002)" >/dev/null 2>&1
trial ../S --parent 002 >/dev/null
must_equal 1 "$(grep -c 'HEAD does not contain the code of 002' "$scratch/err")" 'a picked commit has the code'
git reset -q --hard HEAD~1 && git checkout -q refs/lineage/002 -- . && git commit -qam 'all in one'
trial ../S --parent 002 >/dev/null
must_equal 1 "$(grep -c 'HEAD does not contain the code of 002' "$scratch/err")" 'the same files are its code'
must_run init runs/here
(cd .. && git -C p worktree add -q ../other && cd ../other && must_fail 2 'there is one in .*/p/runs/here' run -- true)
cd ../..
# A file that the parent had and that was never committed is another matter than its commit.
begin outside
cd w/p || exit 3
echo x >untracked
id=$(trial ../S)
rm untracked
echo 7 >v && git commit -qam seven
trial ../S --parent "$id" >/dev/null
# Without a parent, MCP compares a trial with the one that `run` compared it with, as the command does.
must_run diff -C ../S "$id"
printf '%s\n' '{"jsonrpc":"2.0","id":1,"method":"initialize","params":{"protocolVersion":"2025-06-18","capabilities":{},"clientInfo":{"name":"t","version":"1"}}}' \
    '{"jsonrpc":"2.0","id":2,"method":"tools/call","params":{"name":"diff","arguments":{"id":"'"$id"'"}}}' |
    "$LINEAGE" mcp -C ../S >mcp.out 2>/dev/null
must_have mcp.out 'untracked'
must_lack mcp.out '"isError":true'
must_equal 1 "$(grep -c "what $id, the parent of this trial, had not committed is not here" "$scratch/err")"
must_equal 1 "$(grep -c 'HEAD does not contain the code of' "$scratch/err")"
cd ../..

# ---- a history that git filter-repo rewrote: it moves the refs, and lists the old and new ids ----
begin outside
cd w/p || exit 3
mkdir -p .git/filter-repo
echo 'old                                      new' >.git/filter-repo/commit-map
for id in 000 001 002; do
    old=$(git rev-parse refs/lineage/$id)
    new=$(git commit-tree -m rewritten "$old^{tree}")
    echo "$old $new" >>.git/filter-repo/commit-map
    git update-ref refs/lineage/$id "$new"
done
git checkout -q --orphan rewritten && git commit -qm all && git branch -qD master && git reflog expire --expire=now --all && git gc -q --prune=now
must_equal '3|2 1|0 1.0' "$(store=../S && refs)|$(store=../S && code | tr '\n' ' ' | sed 's/ $//')|$(store=../S && again)"
# A trial between two rewritings: the list goes from the first commits to the last ones, and its ref is moved.
id=$(echo 0 >v && trial ../S)
old=$(git rev-parse "refs/lineage/$id")
new=$(git commit-tree -m 'rewritten again' "$old^{tree}")
echo "$(git hash-object v) $new" >>.git/filter-repo/commit-map
git update-ref "refs/lineage/$id" "$new"
must_equal "$id kept 0" "$("$LINEAGE" refs -C ../S --format tsv | grep "^$id" | cut -f 1,4 | tr '\t' ' ') $("$LINEAGE" rerun -q -C ../S "$id" >/dev/null 2>&1; echo $?)"
cd ../..

# git filter-branch keeps the old refs below refs/original, and has no list.
begin outside
cd w/p || exit 3
FILTER_BRANCH_SQUELCH_WARNING=1 git filter-branch -f --msg-filter 'cat; echo rewritten' -- --all >/dev/null 2>&1
must_equal '3|2 1|0 1.0' "$(store=../S && refs)|$(store=../S && code | tr '\n' ' ' | sed 's/ $//')|$(store=../S && again)"
run refs -C ../S
must_exit 0
git for-each-ref --format='delete %(refname)' refs/original | git update-ref --stdin
run refs -C ../S
must_exit 1
must_have err 'only the list of git filter-repo, or refs/original of one git filter-branch'
cd ../..

# ---- a store that is tracked, or begun anew, says so ----
git init -q t && cd t || exit 3
run init runs --direction lower --tracked
must_exit 0
must_have err 'git tracks the rows of this store'
cp ../w/p/t.sh . && echo 1 >v && trial runs >/dev/null
rm -rf runs
must_fail 2 'lineage restore -C runs' init runs --direction lower
must_fail 2 'was a store of 1 trial, gone' best -C runs
must_run init runs --direction lower --anew
must_equal 001 "$(trial runs)" 'refs/lineage/000 has the code of a trial of the earlier store'
must_fail 2 'the id 000 has the code of another trial' append -C runs --status crash --exp-id 000
printf '{"status": "crash", "exp_id": "%s"}\n' a 000 >several.json
must_fail 2 'the id 000 has the code of another trial' append -C runs --json several.json
must_equal 2 "$(wc -l <runs/results.tsv)" 'a header and 001'

# ---- the .gitignore of a user stays, and secrets are left out however many changed ----
cd ..
git init -q many && cd many || exit 3
printf '*.pyc' >.gitignore
cp ../w/p/t.sh . && echo 1 >v
for n in $(seq 32); do echo a >.env.$n; done
git add -Af && git commit -qm one
run init . --direction lower --tracked
run init . --direction lower --tracked
must_exit 0
must_equal '*.pyc lineage.db*' "$(sed -n '1p; /db/p' .gitignore | tr '\n' ' ' | sed 's/ $//')"
for n in $(seq 32); do echo hidden >.env.$n; done
trial . >/dev/null
must_equal '0 0' "$(cat provenance/000/*.* | grep -c hidden) $(git show refs/lineage/000 | grep -c hidden)" 'secrets'

# ---- two branches of a store that git tracks, merged with a conflict ----
cd ..
git init -q merged && cd merged || exit 3
"$LINEAGE" init runs --direction lower --tracked 2>/dev/null
"$LINEAGE" append -C runs --status baseline --core-metric 3 >/dev/null
git add . && git commit -qm base && git checkout -q -b other
"$LINEAGE" append -C runs --status keep --core-metric 2 >/dev/null
git commit -qam other && git checkout -q master
"$LINEAGE" append -C runs --status keep --core-metric 1 >/dev/null 2>&1
git commit -qam mine
git merge -q other >/dev/null 2>&1
for door in best query render rebuild 'append --status crash'; do
    # shellcheck disable=SC2086
    "$LINEAGE" -C runs $door >out 2>err
    must_have err 'results.tsv:3: a conflict of a merge is not resolved'
done
cp -r . ../conflict # where a row is added before the conflict is resolved: git's lines are not rows that restore could put back
(cd ../conflict && "$LINEAGE" append -C runs --status crash >/dev/null 2>&1 && git checkout -q -f other && "$LINEAGE" restore -C runs) >out 2>&1
must_lack out '<<<<<<<'
must_equal '' "$(grep -E '^(<<<<<<<|=======|>>>>>>>)' ../conflict/runs/results.tsv)" 'lines of git'
must_have out '3 rows put back'
sed -i '/^<<<<<<< /d; /^=======$/d; /^>>>>>>> /d' runs/results.tsv
"$LINEAGE" -C runs best >out 2>err
must_lack err conflict

# ---- whatever reads or writes names the rows that are gone, and what only provenance has is nobody's id ----
cd ..
git init -q whole && cd whole || exit 3
cp ../w/p/t.sh . && echo 1 >v && git add . && git commit -qm one
"$LINEAGE" init runs --direction lower
must_equal '' "$(git status --porcelain)" 'a new store is ignored'
for v in 3 2 1; do
    echo $v >v && trial runs >/dev/null
done
sed -i '3,$d' runs/results.tsv
printf '{"name": "g", "direction": "lower", "metrics": ["loss"], "grid": {"x": [5]}, "command": "echo loss: {x}"}\n' >../g.json
for door in best render query verify 'append --status crash' 'run -q -m loss -- sh ./t.sh' "night $PWD/../g.json -q"; do
    # shellcheck disable=SC2086
    run -C runs $door
    must_have err 'acknowledged rows: 001, 002; `lineage restore -C runs` brings them back'
done
run restore -C runs
must_have out '2 rows put back'
must_equal '000 001 002 003 004 005 ' "$(ids runs)"
"$LINEAGE" rebuild -C runs >/dev/null
mkdir runs/provenance/006 runs/provenance/060
must_fail 2 "exp_id '060' is that of a trial without a row" append -C runs --exp-id 060 --status crash
must_equal 007 "$(trial runs)" '006 has provenance without a row'
cd ..

# ---- what programs leave beside their code: a log that grows would make each seed a setting of its own ----
mkdir beside && cd beside || exit 3
git init -q . && printf 'out\nerr\n' >.git/info/exclude && echo 'cat rows.csv >/dev/null; date +%N >>model.pt; echo "$1 $2" >>train.log; echo "loss: $1.0$2"' >t.sh
git add t.sh && git commit -qm one
echo 1,2 >rows.csv
for seed in 1 2 3; do
    "$LINEAGE" run -C runs --direction lower -m loss -p lr=1 -p seed=$seed -- sh t.sh '{lr}' '{seed}'
done >night.log 2>&1
must_equal '1 3' "$("$LINEAGE" settings -C runs --format tsv | awk -F '\t' 'NR > 1 { n++; runs = $3 } END { print n, runs }')" 'one setting of three runs'
must_equal 0 "$(grep -c 'commit [0-9a-f]*,' runs/results.tsv)" 'rows whose code differs by what was left'
must_equal 2 "$(grep -c 'copied 4 untracked files to provenance; 3 that look like output do not count as code: model.pt, night.log, train.log' night.log)" 'said'
must_equal 'rows.csv t.sh' "$(git ls-tree --name-only refs/lineage/002 | tr '\n' ' ' | sed 's/ $//')" 'the code of 002'
echo 3,4 >>rows.csv # data counts
must_run run -C runs -q -m loss -p lr=1 -p seed=4 -- sh t.sh '{lr}' '{seed}'
must_have runs/results.tsv '+1 -0 in rows.csv'
rm rows.csv model.pt
run rerun -C runs 002 # both were kept
must_exit 0
# An earlier version had these files in its commits: they are not missing because this one has not.
code=$(git commit-tree "$(git add -f rows.csv train.log t.sh 2>/dev/null; git add -f train.log; git write-tree)" -p HEAD -m old)
git reset -q
sed -i "s/\"code\": \"[0-9a-f]*\"/\"code\": \"$code\"/" runs/provenance/000/run.json
git update-ref refs/lineage/000 "$code"
echo 1,2 >rows.csv
run run -C runs --parent 000 -m loss -p lr=2 -p seed=1 -- sh t.sh 2 1
must_exit 0
must_lack err 'had not committed'
head -c 5000000 /dev/zero >large.pt
run run -C runs -m loss -p lr=3 -p seed=1 -- sh t.sh 3 1
must_have err 'left out: 1 untracked file (large.pt)'
cd ..

# ---- the night's own file is not the code of its trials, unless their command reads it ----
# An untracked file, or a tracked one that was edited, would be a change of each trial's code, and its texts the values of knobs.
mkdir plan && cd plan || exit 3
git init -q . && printf 'out\nerr\n' >.git/info/exclude && echo 'echo "loss: $1"' >t.sh
cat >sweep.json <<'END'
{"name": "p", "direction": "lower", "score": "loss", "command": "sh t.sh {x} --rate {y} --seed {seed}",
 "grid": {"x": [1, 2], "y": [3]}}
END
git add t.sh && git commit -qm one
must_run run --direction lower -q -m loss -p x=7 -- sh t.sh '{x}'
"$LINEAGE" night sweep.json --no-confirm -q >/dev/null 2>&1
sed -i 's/\[1, 2\]/[1, 2, 4]/' sweep.json
git add sweep.json && git commit -qm two
sed -i 's/\[1, 2, 4\]/[1, 2, 4, 5]/' sweep.json
"$LINEAGE" night sweep.json --no-confirm -q >/dev/null 2>&1
must_equal 5 "$(grep -c 'loss' results.tsv)" 'rows'
must_equal 0 "$(grep -c 'in sweep.json' results.tsv)" 'rows whose code differs by the sweep'
run knobs
must_lack out '{'
run diff 003 000
must_exit 0
must_have out run.json
must_lack out grid
must_have err 'the file of the night, which the trials do not name, differs and is left out'
GIT_LITERAL_PATHSPECS=1 "$LINEAGE" diff 003 000 >literal 2>/dev/null
must_equal "$(cat out)" "$(cat literal)" "a user's pathspecs"
rm literal
must_run run --parent 001 -q -m loss -p x=7 -- sh -c 'cat sweep.json >/dev/null; sh t.sh {x}'
must_equal 1 "$(tail -n 1 results.tsv | grep -c 'in sweep.json')" 'a run that names it'
# A {name} that lineage fills in is left out; other braces are those of a template.
first=$("$LINEAGE" run --parent 001 -q -m loss -p x=7 -- sh t.sh '{x}' --template '{q} A' --rate 0.1 2>/dev/null)
second=$("$LINEAGE" run --parent 001 -q -m loss -p x=7 -- sh t.sh '{x}' --template '{q} B' --rate '{x}' 2>/dev/null)
must_run diff --stat "$first" "$second"
must_have out '{q} A -> {q} B'
must_lack out '{x}'
sed 's/"name": "p"/"name": "r"/; s/"grid"/"eval": "cat sweep.json >\/dev\/null; echo loss: 1", "grid"/' sweep.json >../other && mv ../other sweep.json
"$LINEAGE" night sweep.json --no-confirm -q >/dev/null 2>&1
must_equal 4 "$(grep 'night r' results.tsv | grep -c 'in sweep.json')" 'an evaluation that reads it'
run diff 001 "$(sed -n 's/^\([0-9]*\)\t.*night r.*/\1/p' results.tsv | head -n 1)"
must_exit 0
must_have out grid
must_lack err 'left out'
cd ..

# ---- without a repository, the command of a trial is still repeated, and a secret is taken out of what is repeated ----
mkdir plain && cd plain || exit 3
echo 'echo METRIC loss=1' >t.sh
must_run init runs --direction lower
id=$("$LINEAGE" run -C runs -q -m loss -p key=hunter2hunter2 -- sh ./t.sh 2>/dev/null)
must_equal 1 "$(grep -lr hunter2hunter2 "$XDG_STATE_HOME" | grep -c runs.jsonl)"
printf hunter2hunter2 | "$LINEAGE" scrub -C runs >/dev/null 2>&1
must_equal '' "$(grep -lr hunter2hunter2 "$XDG_STATE_HOME" runs)" 'nowhere'
rm -rf runs
must_run restore -C runs
run rerun -q -C runs "$id"
must_exit 0
cd ..

# ---- what is repeated follows a move, gives no trial the command of another, and keeps no secret under a former path ----
mkdir moves && cd moves || exit 3
XDG_STATE_HOME=$PWD/state
mkdir p
must_run init p/runs --direction lower
must_run run -C p/runs -q -m loss -p x=1 -- sh -c 'echo METRIC loss=1' --token hunter2hunter2
mv p q
must_run best -C q/runs
must_equal '2 0600' "$(find state -name runs.jsonl | wc -l | tr -d ' ') 0$(find state -name runs.jsonl -exec stat -c %a {} + | sort -u)"
printf hunter2hunter2 | "$LINEAGE" scrub -C q/runs >/dev/null 2>&1
must_equal '' "$(grep -lr hunter2hunter2 state q)" 'nowhere, under the former path neither'
mv q p
rm -r p/runs/provenance
must_run restore -C p/runs
must_have out 'the command of 1 trial put back'
must_lack p/runs/provenance/000/run.json hunter2
# Accepting that rows are gone gives up no command.
must_run append -C p/runs --status discard --core-metric 2
must_run rebuild --digests -C p/runs
rm -r p/runs/provenance
must_run restore -C p/runs
must_have out 'the command of 1 trial put back'
must_have out 'no command is repeated of 001'
for store in a b; do
    must_run init $store --direction lower
    must_run run -C $store -q -m loss -p name=$store -- sh -c 'echo METRIC loss=1' $store
done
mv a c && mv b a && rm -r a/provenance
must_run restore -C a
must_equal '' "$(ls a/provenance 2>/dev/null)" 'the place of another store'
must_run append -C a --status discard --core-metric 2
must_run restore -C a
must_equal '' "$(ls a/provenance 2>/dev/null)" 'also once it has rows of both'
runs=$(dirname "$(grep -l '/moves/a$' state/lineage/acknowledged/*/store)")/runs.jsonl
rm "$runs" && mkfifo "$runs"
run restore -C a
must_exit 0
run run -C a -q -m loss -- sh -c 'echo METRIC loss=1'
must_exit 0
rm "$runs"
git init -q . && mkdir .git/here
(cd .git/here && "$LINEAGE" run -C ../../a -q -m loss -- sh -c 'echo METRIC loss=1') >out 2>err
must_have err 'in the files of git itself'
cd ..

# ---- a store of several users: the owner opens provenance/ to the group once ----
mkdir group && cd group || exit 3
git init -q . && echo 'echo METRIC loss=1' >t.sh && git add . && git commit -qm one
must_run init ../group-store --direction lower
trial ../group-store >/dev/null
must_equal '700 600' "$(cd ../group-store/provenance/000 && command stat -c %a . run.json | tr '\n' ' ' | sed 's/ $//')" 'private'
chmod 0 ../group-store/provenance
# Root reads everything unless it gives up the right to.
may_not=
[ "$(id -u)" != 0 ] || may_not='setpriv --bounding-set=-dac_override,-dac_read_search --inh-caps=-dac_override,-dac_read_search'
for door in 'rerun 000' refs 'rescore 000 -m loss' 'diff 000 000'; do
    # shellcheck disable=SC2086
    $may_not "$LINEAGE" -C ../group-store $door >out 2>err
    must_equal 1 "$(($? > 0))" "$door"
    must_have err 'the owner of ../group-store/provenance opens it to the group: chmod -R g+rwX ../group-store/provenance'
done
chmod 700 ../group-store/provenance && chmod -R g+rwX ../group-store/provenance
# Another group than the user's own, if the user has one, gets what each trial leaves; root has all of them.
team=$([ "$(id -u)" != 0 ] && id -G | tr ' ' '\n' | tail -n 1 || echo 4321)
chgrp -R "$team" ../group-store/provenance
echo x >new
id=$(trial ../group-store)
must_equal "770 $team 660 $team 770 $team 660 $team" "$(cd "../group-store/provenance/$id" && command stat -c '%a %g' . run.json untracked untracked/new | tr '\n' ' ' | sed 's/ $//')" 'open to the group'
run refs -C ../group-store --remove 000 "$id"
run refs -C ../group-store --add --all
must_equal "660 $team" "$(command stat -c '%a %g' "../group-store/provenance/$id/run.json")" 'written again'
chmod 0 "../group-store/provenance/$id" # one trial is closed, as one that another user left
for door in "rerun $id" refs "refs $id" "rescore $id -m loss" "diff 000 $id" "diff $id 000"; do
    # shellcheck disable=SC2086
    $may_not "$LINEAGE" -C ../group-store $door >out 2>err
    must_equal 1 "$(($? > 0))" "$door"
    must_have err "the command and commit of $id cannot be read; the owner of ../group-store/provenance/$id opens it to the group: chgrp -R $team"
done
# shellcheck disable=SC2086
$may_not "$LINEAGE" -C ../group-store refs >out 2>err
must_equal 1 "$(grep -c '^000' out)" 'the others are listed'
chmod 770 "../group-store/provenance/$id"
if [ "$(id -u)" = 0 ]; then # a user who is not in that group, and one who is
    for groups in --clear-groups "--groups=$team"; do
        setpriv "$groups" --bounding-set=-chown --inh-caps=-chown "$LINEAGE" run -C ../group-store -q -m loss -- sh ./t.sh >out 2>err.$groups
    done
    must_have err.--clear-groups "Operation not permitted; whoever runs trials there has to be in that group, $team"
    must_equal "660 $team" "$(command stat -c '%a %g' "../group-store/provenance/$(cat out)/run.json")" 'a member'
    must_lack "err.--groups=$team" 'cannot read'
fi
cd ..

# ---- Jujutsu reads .gitignore; Mercurial has no such file, which init reports ----
mkdir -p jj/.jj hg/.hg/x
must_run init jj/runs --direction lower
must_have jj/runs/.gitignore '*'
run init hg/runs/a --direction lower
must_exit 0
must_have err 'add the line `re:^runs/a/` to'
run init 'hg/x.y/z+' --direction lower
must_have err 'add the line `re:^x\.y/z\+/` to'
run init hg --direction lower
must_have err 'add the line `re:^(results\.tsv|\.results\.tsv\.digests|\.trial-|'

# ---- what the state directory repeats goes away as the guide says ----
HOME=$scratch/home
mkdir -p "$HOME/.local/state"
XDG_STATE_HOME=$HOME/.local/state
for name in here gone; do
    must_run init "$HOME/$name" --direction lower
    must_run append -C "$HOME/$name" --status keep --core-metric 1
done
rm -r "$HOME/gone"
eval "$(sed -n 's/^`\(for c in .*done\)`\.$/\1/p' "$SOURCE/cli/man/nights.md")"
must_equal "$(cd "$HOME/here" && pwd -P)" "$(cat "$HOME"/.local/state/lineage/acknowledged/*/store)" 'the copy of the store that is there stays'
finish
