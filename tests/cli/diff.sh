#!/bin/sh
# diff.sh: the output of `lineage diff` depends only on the bytes of the two snapshots. A store from somebody else may
# contain git's configuration and attributes.
. "$SOURCE/tests/support/shell.sh"

mkdir one two
printf 'a\nb\nc\n' >one/text
printf 'a\nB\nc\n' >two/text
printf 'same\n' >one/same
cp one/same two/same
printf 'x\000y' >one/data.bin
printf 'x\000z' >two/data.bin
ln -s here one/link
ln -s there two/link
printf 'gone\n' >one/gone
printf 'no line end' >two/fresh
printf '#!/bin/sh\n' | tee one/run >two/run
chmod 755 two/run
printf 'file\n' >one/kind
mkdir two/kind
printf 'in a directory\n' >two/kind/in
must_run append --create --status keep --core-metric 2 --specialist s --snapshot one
must_run append --status keep --core-metric 1 --specialist s --parent 000 --snapshot two
must_run diff 001
cp out plain
cat >wanted <<'END'
diff --git a/data.bin b/data.bin
Binary files a/data.bin and b/data.bin differ
diff --git a/fresh b/fresh
new file mode 100644
--- /dev/null
+++ b/fresh
@@ -0,0 +1 @@
+no line end
\ No newline at end of file
diff --git a/gone b/gone
deleted file mode 100644
--- a/gone
+++ /dev/null
@@ -1 +0,0 @@
-gone
diff --git a/kind/in b/kind/in
new file mode 100644
--- /dev/null
+++ b/kind/in
@@ -0,0 +1 @@
+in a directory
diff --git a/kind b/kind
deleted file mode 100644
--- a/kind
+++ /dev/null
@@ -1 +0,0 @@
-file
diff --git a/link b/link
--- a/link
+++ b/link
@@ -1 +1 @@
-here
\ No newline at end of file
+there
\ No newline at end of file
diff --git a/run b/run
old mode 100644
new mode 100755
diff --git a/text b/text
--- a/text
+++ b/text
@@ -1,3 +1,3 @@
 a
-b
+B
 c
END
must_match_file wanted out

# Commands planted in the store, in the snapshots and in the user's configuration are not run and change nothing.
plant()
{
    printf '[core]\n\tattributesFile = %s/attributes\n\tpager = touch %s/ran\n[diff "evil"]\n\ttextconv = touch %s/ran; cat\n\tcommand = touch %s/ran\n[filter "evil"]\n\tclean = touch %s/ran; cat\n[diff]\n\texternal = touch %s/ran; false\n\tnoprefix = true\n' \
        "$scratch" "$scratch" "$scratch" "$scratch" "$scratch" "$scratch" >"$1"
}
printf '* diff=evil filter=evil -text\n*.txt -diff\ntext -diff\n' >attributes
mkdir -p .git/info .git/objects .git/refs home/.config/git
echo 'ref: refs/heads/main' >.git/HEAD
plant .git/config
plant home/.gitconfig
plant home/.config/git/config
cp attributes .git/info/attributes
cp attributes home/.config/git/attributes
for at in . snapshots; do
    cp attributes "$at/.gitattributes"
done
HOME=$scratch/home GIT_EXTERNAL_DIFF="touch $scratch/ran" GIT_DIFF_OPTS=-u0 GIT_PAGER="touch $scratch/ran" \
    XDG_CONFIG_HOME=$scratch/home/.config must_run diff 001
must_match_file plain out
[ ! -e ran ] || fail "diff ran a command that it found"
cp attributes snapshots/000_s/.gitattributes
cp attributes snapshots/001_s/.gitattributes
must_run diff 001
must_match_file plain out
[ ! -e ran ] || fail "diff ran a command that it found"

# Only files in the store are read: no absolute path, no `..`, no link.
mkdir outside
printf 'secret\n' >outside/secret
ln -s "$scratch/outside" snapshots/link
mkdir -p inner
for path in "$scratch/outside" ../outside snapshots/../../outside snapshots/link snapshots/link/. ..; do
    rm -rf inner/results.tsv inner/lineage.db*
    mkdir -p inner/snapshots/ok
    [ -e inner/snapshots/link ] || ln -s "$scratch/outside" inner/snapshots/link
    {
        header
        row 000 T s '' '' '' h '' keep 2 '' '' '' '' '' snapshots/ok ''
        row 001 T s 000 '' '' h '' keep 1 '' '' '' '' '' "$path" ''
    } >inner/results.tsv
    run -C inner diff 001
    must_exit 2
    must_lack out secret
    run -C inner verify
    must_exit 1
    must_have out 'snapshot: 001'
done

# A file that became a link out of the store is shown as a link, not as the link's target.
rm snapshots/001_s/text
ln -s "$scratch/outside/secret" snapshots/001_s/text
must_run diff 001
must_lack out '+secret'
must_have out "+$scratch/outside/secret"
rm snapshots/001_s/text
mkfifo snapshots/001_s/text # nor does one that cannot be read to its end
must_run diff 001
must_have out '-b'
rm snapshots/001_s/text
cp two/text snapshots/001_s/text

# Large files are named, together with the option that shows them.
run diff 001 --max-bytes 5
must_exit 0
must_have out 'Large files a/text and b/text differ'
must_have err '--max-bytes'
run diff 001 --max-bytes 6
must_exit 0
must_have out '+B'

# If diff cannot run, that is reported with the exit status of a failure.
mkdir bin
printf '#!/bin/sh\nexit 2\n' >bin/diff
chmod 755 bin/diff
run_path=$PATH
PATH=$scratch/bin:$PATH run diff 001
must_exit 3
must_have err 'diff failed'
PATH=$run_path
rm bin/diff
PATH=$scratch/bin run diff 001
PATH=$run_path
must_exit 3
must_have err 'cannot run diff'

# On a terminal, control characters of a snapshot have no effect.
printf 'a\n\033]0;title\007\302\233x\n' >snapshots/001_s/text
if command -v script >/dev/null; then
    script -qec "'$LINEAGE' diff 001" /dev/null >out 2>err
    must_equal 0 "$(tr -d '\r' <out | LC_ALL=C grep -c "$(printf '\033')")" "escapes on a terminal"
fi
must_run diff 001
must_equal 1 "$(LC_ALL=C grep -c "$(printf '\033')" out)" "escapes in a pipe"
# Parameters differ, too, in trials without any code, kept or not; a child has what its parents declared.
must_run init params --direction lower
must_run append -C params --status baseline --core-metric 3 --param lr=1e-4 --param HIDDEN=32 --param opt=sgd
must_run append -C params --status discard --core-metric 4 --parent 000 --param HIDDEN=64
must_run append -C params --status keep --core-metric 2 --parent 000 --param lr=1e-3 --param dropout=0.1
must_run diff -C params --stat 001
must_equal 'HIDDEN 32 -> 64  (parameter)|1 setting and 0 files changed, 0 lines added, 0 removed' "$(tr '\n' '|' <out | sed 's/|$//')"
must_run diff -C params --stat 001 002
must_equal 'HIDDEN 64 -> 32|dropout (new) -> 0.1|lr 0.0001 -> 0.001' "$(grep parameter out | sed 's/  (parameter)//' | sort | tr '\n' '|' | sed 's/|$//')"
finish
