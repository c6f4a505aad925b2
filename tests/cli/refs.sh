#!/bin/sh
# shellcheck disable=SC2016 # commands for another shell
# refs.sh: the code of each trial is kept by a ref of the user's repository, whatever the user commits and resets; and
# provenance keeps untracked files once.
. "$SOURCE/tests/support/shell.sh"
command -v git >git.path || { printf 'no git here: refs are not checked\n'; exit 0; }
HOME=$scratch
export HOME
GIT_CONFIG_NOSYSTEM=1
export GIT_CONFIG_NOSYSTEM
top=$scratch/repo

commit()
{
    git -C "$top" -c core.hooksPath=/dev/null commit -q "$@"
}
ref()
{
    git -C "$top" rev-parse --verify --quiet "refs/lineage/$1"
}
refs()
{
    git -C "$top" for-each-ref --format='%(refname)' refs/lineage refs/lineage-running | tr '\n' ' '
}
# trial STORE SCORE [OPTION...]: a trial that is run in the repository.
trial()
{
    trial_store=$1 trial_score=$2
    shift 2
    (cd "$top" && exec "$LINEAGE" run -C "$trial_store" --direction lower -q -m loss "$@" -- sh -c "cat *.py >/dev/null; echo loss: $trial_score") \
        >out 2>err </dev/null
    status=$?
    last="run in $trial_store"
    must_exit 0
}

mkdir repo && git -C repo init -q && git -C repo config user.email a@b && git -C repo config user.name a
printf 'lr = 1\n' >repo/train.py
printf '*.log\n' >repo/.gitignore
git -C repo add . && commit -m one
one=$(git -C repo rev-parse HEAD)

# ---- a clean tree: the commit itself; a dirty one: a commit with everything in it ----
trial runs/a 3
must_equal "$one" "$(ref 000)" "a clean tree"
printf 'lr = 2\n' >repo/train.py && printf 'staged\n' >repo/more.py && git -C repo add more.py
mkdir repo/tools && printf '#!/bin/sh\n' >repo/tools/prepare && chmod 755 repo/tools/prepare && printf 'x\n' >'repo/tools/[a] *.txt'
cp repo/.git/index index.before
git -C repo symbolic-ref HEAD >head.before
trial runs/a 2
must_match_file index.before repo/.git/index
must_equal "$(cat head.before) $one" "$(git -C repo symbolic-ref HEAD) $(git -C repo rev-parse HEAD)"
must_equal "$one" "$(git -C repo rev-parse refs/lineage/001^)"
must_equal '.gitignore more.py tools/[a] *.txt tools/prepare train.py ' "$(git -C repo ls-tree -r --name-only refs/lineage/001 | tr '\n' ' ')"
must_equal 'lr = 2' "$(git -C repo show refs/lineage/001:train.py)"
must_equal 100755 "$(git -C repo ls-tree refs/lineage/001 tools/prepare | cut -d ' ' -f 1)"
must_equal refs/lineage/001 "$(json git.ref repo/runs/a/provenance/001/run.json)"
# The commit has deletions, renames and links. If a file became a directory, there is no commit, but the diff is recorded.
cp -r repo other
rm other/train.py && ln -s more.py other/link && git -C other mv more.py renamed.py
(cd other && "$LINEAGE" run -C ../o --direction lower -q -m loss -- echo loss: 1) >out 2>err
must_equal '.gitignore link renamed.py tools/[a] *.txt tools/prepare ' "$(git -C other ls-tree -r --name-only "$(json git.ref o/provenance/000/run.json)" | tr '\n' ' ')"
rm other/renamed.py && mkdir other/renamed.py && printf 'x\n' >other/renamed.py/x.log
(cd other && "$LINEAGE" run -C ../o -q -m loss -- echo loss: 1) >out 2>err
must_equal '001 ' "$(cat out) $(json git.code o/provenance/001/run.json 2>/dev/null)"
# An index in two files, sparse files, a shallow clone and a partial one. The change has the size of the original and comes in
# the same second as the index.
cp -r repo split && git -C split update-index --split-index && printf 'lr = 3\n' >split/train.py && git -C split add train.py
printf 'lr = 4\n' >split/train.py
(cd split && "$LINEAGE" run -C ../o -q -m loss -- echo loss: 1) >out 2>err
must_equal 'lr = 4' "$(git -C split show "$(json git.ref "o/provenance/$(cat out)/run.json"):train.py")" "a split index"
git -C repo commit-tree -p "$one" -m two "$one^{tree}" >two && git -C repo update-ref refs/heads/two "$(cat two)"
git clone -q --depth 1 -b two "file://$top" shallow
git -C repo config uploadpack.allowFilter true
git clone -q --filter=blob:none --no-checkout -b two "file://$top" partial && git -C partial sparse-checkout set --no-cone train.py 2>/dev/null
git -C partial checkout -q two
for clone in shallow partial; do
    printf 'lr = 5\n' >$clone/train.py
    (cd $clone && "$LINEAGE" run -C ../o -q -m loss -- echo loss: 1) >out 2>err
    must_equal 'lr = 5' "$(git -C $clone show "$(json git.ref "o/provenance/$(cat out)/run.json"):train.py")" "a $clone clone"
    must_equal "$(git -C $clone ls-tree -r --name-only HEAD | tr '\n' ' ')" \
        "$(git -C $clone ls-tree -r --name-only "$(json git.ref "o/provenance/$(cat out)/run.json")" | tr '\n' ' ')" "a $clone clone"
done
git -C repo update-ref -d refs/heads/two
# Equal code gives the equal commit.
trial runs/a 2
must_equal "$(ref 001)" "$(ref 002)"

# ---- provenance: other stores and ignored files are skipped, equal files are one file, modes stay ----
printf 'ignored\n' >repo/x.log
printf 'secret.txt\n' >>repo/.git/info/exclude && printf 's\n' >repo/secret.txt
printf 'mine.txt\n' >ignore && git -C repo config core.excludesFile "$scratch/ignore" && printf 'm\n' >repo/mine.txt
mkdir -p repo/old/deep/snapshots && printf '{}' >repo/old/deep/lineage.json && printf 'big\n' >repo/old/deep/snapshots/big
trial runs/b 1
p=repo/runs/b/provenance/000
must_equal 'tools/[a] *.txt tools/prepare ' "$(cd $p/untracked && find . -type f | sed 's/^..//' | LC_ALL=C sort | tr '\n' ' ')"
must_equal 700 "$(stat -c %a $p/untracked/tools/prepare)" "the rights of the owner"
trial runs/b 1
must_equal "$(stat -c %i $p/untracked/tools/prepare)" "$(stat -c %i repo/runs/b/provenance/001/untracked/tools/prepare)" "equal files are one"
chmod 644 repo/tools/prepare
trial runs/b 1
must_equal "600 700" "$(stat -c %a repo/runs/b/provenance/002/untracked/tools/prepare) $(stat -c %a $p/untracked/tools/prepare)" "other permissions make another file"
chmod 755 repo/tools/prepare
# A damaged or missing pool costs bytes, not a file.
for entry in repo/runs/b/provenance/.files/*; do
    rm -f "$entry" && printf 'damaged\n' >"$entry"
done
trial runs/b 1
must_match_file repo/tools/prepare repo/runs/b/provenance/003/untracked/tools/prepare
rm -rf repo/runs/b/provenance/.files
trial runs/b 1
must_match_file repo/tools/prepare repo/runs/b/provenance/004/untracked/tools/prepare
must_run verify -C repo/runs/b
cp -r repo/runs/b copied && must_run verify -C copied
must_match_file repo/tools/prepare copied/provenance/000/untracked/tools/prepare

# ---- ids that repeat: two stores of one repository ----
must_equal 'refs/lineage/000.2' "$(json git.ref $p/run.json)"
must_equal "$one" "$(ref 000)" "the ref of the other store"

# ---- a reset and a garbage collection lose nothing ----
printf 'def get_lr(step):\n    a = 1\n    b = 2\n    c = 3\n    return 1\n' >repo/train.py
git -C repo add train.py && commit -m 'lr by step'
trial runs/a 1.5
sed -i 's/return 1/return 0.5/' repo/train.py
git -C repo add train.py && commit -m 'half the lr'
trial runs/a 1.7 --parent 003
must_equal refs/lineage/004.2 "$(json git.ref repo/runs/a/provenance/004/run.json)"
trial runs/a 1.9 --no-refs
git -C repo -c core.hooksPath=/dev/null reset -q --hard HEAD~2
git -C repo reflog expire --expire=now --all && git -C repo gc -q --prune=now
run rerun 004 -q -C repo/runs/a
must_exit 0
must_have err 'the score of 004 came out the same'
run rerun 001 -q -C repo/runs/a
must_exit 0
must_equal '' "$(json git.ref repo/runs/a/provenance/005/run.json 2>/dev/null)"

# ---- diff compares the commits, by the parent and by two ids ----
must_run diff 004 -C repo/runs/a
must_have out '@@ -2,4 +2,4 @@ def get_lr(step):'
must_have out '-    return 1'
must_have out '+    return 0.5'
must_have out 'echo loss: 1.7"'
must_lack out '"commit"'
must_run diff 001 002 -C repo/runs/a
[ ! -s out ] || fail "equal code and command: $(cat out)"
must_run diff 000 001 -C repo/runs/a
must_have out '+lr = 2'
must_have out 'tools/prepare'

# ---- the row says which commit it is and what changed against the parent or the best trial; the same code says nothing ----
notes()
{
    awk -F '\t' -v id="$1" '$1 == id { print $17 }' repo/runs/a/results.tsv
}
piece()
{
    notes "$1" | tr ';' '\n' | sed -n 's/^ *\(commit [0-9a-f]*\)/\1/p'
}
must_equal "commit $(printf '%.12s' "$one")" "$(piece 000)"
must_equal "commit $(git -C repo rev-parse refs/lineage/001 | cut -c 1-12), +4 -1 in more.py and 3 more files: staged" "$(piece 001)"
must_equal '' "$(piece 002)"
must_equal "commit $(git -C repo rev-parse refs/lineage/004.2 | cut -c 1-12), +1 -1 in train.py: def get_lr(step):" "$(piece 004)"
must_equal '003 +1 -1 in train.py: def get_lr(step):' "$(json git.against repo/runs/a/provenance/004/run.json) $(json git.change repo/runs/a/provenance/004/run.json)"
must_run render -C repo/runs/a
must_have out 'against exp_003: code: `+1 -1 in train.py: def get_lr(step):`'
must_lack out 'commit '
must_run show 004 -C repo/runs/a --format json
must_equal '' "$(json params.step 2>/dev/null)" "a heading sets no parameter"

# ---- the list; removing and adding ----
run refs -C repo/runs/a
must_exit 0
must_have out "$one  kept"
must_run refs -C repo/runs/a 004 --format tsv
must_equal "004 refs/lineage/004.2 kept" "$(sed 1d out | cut -f 1,2,4 | tr '\t' ' ')"
must_fail 2 'name the trials' refs -C repo/runs/a --remove
must_fail 2 'exclude each other' refs -C repo/runs/a --remove --add 001
must_fail 2 "no trial 'zzz'" refs -C repo/runs/a zzz
half=$(ref 004.2)
must_run refs -C repo/runs/a --remove 004
must_have out '1 refs removed'
must_equal '' "$(ref 004.2)"
must_run refs -C repo/runs/a --remove 004
must_have out '0 refs removed'
must_run refs -C repo/runs/a --add 004
must_equal "$half" "$(ref 004.2)"
# void keeps the ref, so that its undo never finds the code gone.
run void 004 --reason 'a slip' -C repo/runs/a
must_exit 0
must_equal "$half" "$(ref 004.2)"
run void 004 --undo --reason 'no slip' -C repo/runs/a
must_exit 0
must_equal "$half" "$(ref 004.2)"
run void 005 --reason 'without a ref' -C repo/runs/a
must_exit 0
run void 005 --undo --reason 'without a ref' -C repo/runs/a
must_exit 0
must_equal '' "$(json git.ref repo/runs/a/provenance/005/run.json 2>/dev/null)"
# A ref that names another commit by now is not removed.
git -C repo update-ref refs/lineage/004.2 "$one"
must_run refs -C repo/runs/a --remove 004
must_have out '0 refs removed'
must_equal "$one" "$(ref 004.2)"
git -C repo for-each-ref --format='delete %(refname)' refs/lineage | git -C repo update-ref --stdin
run refs -C repo/runs/a
must_exit 1
must_have out missing
git -C repo gc -q --prune=now
run diff 000 001 -C repo/runs/a
must_exit 0
must_have err 'cannot be compared'
must_have out '+lr = 2'
run rerun 001 -q -C repo/runs/a
must_exit 0
# run.json may say anything: only refs under refs/lineage are touched.
main=$(git -C repo symbolic-ref HEAD)
cp repo/runs/a/provenance/003/run.json run.json
for text in --stdin -d HEAD "$main" '' 0123; do
    sed "s,\"code\": \"[^\"]*\",\"code\": \"$text\"," run.json >repo/runs/a/provenance/003/run.json
    run refs -C repo/runs/a --remove 003
    run refs -C repo/runs/a --add 003
    must_equal '' "$(json git.ref repo/runs/a/provenance/003/run.json 2>/dev/null)" "$text"
done
cp run.json repo/runs/a/provenance/003/run.json
sed -i "s,refs/lineage/003,$main," repo/runs/a/provenance/003/run.json
run refs -C repo/runs/a --remove 003
must_exit 0
must_equal "$one" "$(git -C repo rev-parse HEAD)"

# ---- ids with characters that refs forbid ----
for id in 'a b~c^d:e?*[' '..' 'x.lock' 'end.' '-dash' "$(printf '%0300d' 7)" '@{1}' 'schön'; do
    case $id in .* | *000*) ;; *) run append -C repo/runs/a --exp-id "$id" --status discard --core-metric 9
        must_exit 0
        cp -r repo/runs/a/provenance/000 "repo/runs/a/provenance/$id"
        sed -i '/"ref"/d; s/\("tree": "[^"]*"\),/\1/' "repo/runs/a/provenance/$id/run.json"
        must_run refs -C repo/runs/a --add -- "$id"
        must_equal "$one" "$(git -C repo rev-parse "$(json git.ref "repo/runs/a/provenance/$id/run.json")")" "$id" ;;
    esac
done

# ---- worktrees share the refs; a bare repository has no work tree, so nothing is recorded ----
git -C repo worktree add -q ../linked -b linked
(cd linked && printf 'lr = 7\n' >train.py && "$LINEAGE" run -C ../w --direction lower -q -m loss -- echo loss: 1) >out 2>err
must_equal 'lr = 7' "$(git -C repo show "$(json git.ref w/provenance/000/run.json):train.py")" "a linked worktree"
git clone -q --bare repo bare.git
(cd bare.git && "$LINEAGE" run -C ../x --direction lower -q -m loss -- echo loss: 1) >out 2>err
must_equal "000" "$(cat out)"
must_equal '' "$(json git.top x/provenance/000/run.json 2>/dev/null)"
mkdir empty && git -C empty init -q
(cd empty && "$LINEAGE" run -C ../y --direction lower -q -m loss -- echo loss: 1) >out 2>err
must_equal "000 $PWD/empty" "$(cat out err) $(json git.top y/provenance/000/run.json 2>/dev/null)" "a repository without a commit"

# ---- a repository that cannot be written, or that belongs to another user ----
if [ "$(id -u)" -eq 0 ]; then
    cp -r repo theirs && chown -R 65534:65534 theirs
    (cd theirs && "$LINEAGE" run -C ../z --direction lower -q -m loss -- echo loss: 1) >out 2>err
    must_equal 000 "$(cat out)"
    must_equal '' "$(json git.top z/provenance/000/run.json 2>/dev/null)" "another user's repository is not read"
else
    chmod -R a-w repo/.git
    trial ../ro 1
    must_have err 'has no ref in'
    must_equal "$(git -C repo rev-parse HEAD)" "$(json git.commit ro/provenance/000/run.json)"
    chmod -R u+w repo/.git
fi
git -C repo config lineage.refs false
before=$(refs)
trial runs/a 9
must_equal "$before" "$(refs)" "git config lineage.refs false"
git -C repo config lineage.refs maybe
trial runs/a 9
must_have err 'lineage.refs'
must_equal "$before" "$(refs)" "git config lineage.refs maybe"
git -C repo config --unset lineage.refs

# ---- hooks and hostile configuration: no program that the repository names is run ----
mkdir -p repo/hooks && for hook in reference-transaction post-index-change pre-commit post-commit post-checkout update; do
    printf '#!/bin/sh\ntouch %s/ran\n' "$scratch" >repo/hooks/$hook && chmod +x repo/hooks/$hook
    cp repo/hooks/$hook repo/.git/hooks/
done
for key in filter.evil.clean filter.evil.smudge filter.evil.process diff.evil.textconv diff.evil.command diff.external \
    diff.python.textconv diff.python.command core.fsmonitor core.pager core.sshCommand core.editor core.alternateRefsCommand \
    gpg.program; do
    git -C repo config "$key" "touch $scratch/ran; cat"
done
git -C repo config commit.gpgSign true && git -C repo config core.hooksPath "$top/hooks" && git -C repo config core.logAllRefUpdates always
printf '*.py filter=evil diff=evil\n' >repo/.gitattributes
printf 'lr = 11\n' >repo/train.py
rm -f ran
trial runs/h 1
printf 'lr = 12\n' >repo/train.py
trial runs/h 0.9 --parent 000
must_run diff 001 -C repo/runs/h
must_have out '+lr = 12'
run rerun 001 -q -C repo/runs/h
must_exit 0
must_run refs -C repo/runs/h --remove --all
[ ! -e ran ] || fail "a program ran that the repository's configuration names"
git -C repo update-ref refs/trap "$one"
[ -e ran ] || fail "the trap is none: git alone does not run it"
# A submodule has a configuration of its own, which may name programs, too.
git init -q sub && git -C sub config user.email a@b && git -C sub config user.name a && printf 's\n' >sub/s && git -C sub add s && git -C sub commit -q -m s
git -C repo -c core.hooksPath=/dev/null -c core.fsmonitor=false -c protocol.file.allow=always submodule --quiet add "$scratch/sub" sub 2>/dev/null
commit --no-gpg-sign -m 'a submodule'
git -C repo/sub config core.fsmonitor "touch $scratch/ran; false" && git -C repo/sub config core.hooksPath "$top/hooks"
printf 'changed\n' >repo/sub/s && printf 'lr = 13\n' >repo/train.py && rm repo/more.py 2>/dev/null
rm -f ran
trial runs/h 0.8 --parent 000
must_equal 'lr = 13' "$(git -C repo show "$(json git.ref "repo/runs/h/provenance/$(cat out)/run.json"):train.py")"
must_run diff 000 "$(cat out)" -C repo/runs/h
[ ! -e ran ] || fail "a program ran that a submodule's configuration names"
git -C repo/sub status >/dev/null 2>&1
[ -e ran ] || fail "the trap in the submodule is none"
git -C repo/sub config --unset core.fsmonitor && git -C repo/sub config --unset core.hooksPath && git -C repo/sub checkout -q -- s
rm -rf repo/hooks repo/.gitattributes && rm -f repo/.git/hooks/* && for key in core.hooksPath core.fsmonitor commit.gpgSign; do
    git -C repo config --unset $key
done

# ---- kills at any moment: each row has its ref, and no ref of a running trial is left behind ----
must_run init repo/runs/k --direction lower
for ms in 0 3 6 10 15 20 30 40 50 60 70 80 90 110 130; do
    printf 'lr = 20 + %d\n' "$ms" >repo/train.py
    (cd "$top" && exec "$LINEAGE" run -C runs/k -q -m loss -- sh -c 'sleep 0.02; echo loss: 1') >/dev/null 2>&1 </dev/null &
    pid=$!
    sleep "$(printf '0.%03d' "$ms")"
    kill -9 $pid 2>/dev/null
    wait $pid 2>/dev/null
    git -C repo -c core.hooksPath=/dev/null checkout -q -- train.py
    git -C repo gc -q --prune=now
done
trial runs/k 1
must_lack err 'no ref'
for again in 1 2 3 4 5; do # the process that guards a killed command may end a moment later
    [ -z "$(git -C repo for-each-ref refs/lineage-running)" ] || trial runs/k 1 --hypothesis "again $again"
done
must_equal '' "$(git -C repo for-each-ref refs/lineage-running)" "refs of running trials"
run refs -C repo/runs/k --format tsv
must_exit 0
must_equal '' "$(sed 1d out | cut -f 4 | grep -v kept)" "each trial has its ref"
for id in $(sed 1d repo/runs/k/results.tsv | cut -f 1); do
    [ -d "repo/runs/k/provenance/$id" ] || continue
    name=$(json git.ref "repo/runs/k/provenance/$id/run.json")
    git -C repo cat-file -e "$name:train.py" || fail "the code of $id is lost"
done
must_run verify -C repo/runs/k
finish
