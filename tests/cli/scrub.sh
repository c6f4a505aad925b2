#!/bin/sh
# scrub.sh: `lineage scrub` takes a secret out of every file of a store, in each spelling; verify accepts exactly these rows, also
# with noted digests, and nothing that anybody else changes.
. "$SOURCE/tests/support/shell.sh"
HOME=$scratch/home XDG_CONFIG_HOME=$scratch/home/config XDG_STATE_HOME=$scratch/home/state
export HOME XDG_CONFIG_HOME XDG_STATE_HOME
mkdir home
secret="hunter'2\"/é&x"

# make DIR: a store with the secret in many places.
make()
{
    rm -rf "$1" work
    mkdir work && printf 'key = %s\n' "$secret" >work/config.txt
    must_run init "$1" --direction higher
    must_run append -C "$1" --status auto --core-metric 1 --hypothesis first --param lr=0.1
    must_run append -C "$1" --status auto --core-metric 2 --hypothesis "with $secret and $secret" \
        --param "note=$secret" --param batch=9 --snapshot work
    must_run append -C "$1" --status auto --core-metric 3 --hypothesis 'last one' --param lr=0.3
    mkdir -p "$1/provenance/001/untracked" "$1/provenance/.files" "$1/logs"
    printf 'said %s\n' "$secret" >"$1/logs/001.log"
    printf 'a %s' "$secret" >"$1/provenance/.files/x" && ln "$1/provenance/.files/x" "$1/provenance/001/untracked/x"
    chmod 400 "$1/provenance/.files/x"
    printf '{"command": ["hunter%s2\\"/\\u00e9&x", "http://h/?q=hunter%%272%%22%%2F%%C3%%A9%%26x"]}\n' "'" >"$1/provenance/001/run.json"
    printf 'html hunter&#39;2&quot;/é&amp;x\n' >"$1/KNOWLEDGE.md"
    { head -c 1048570 /dev/zero | tr '\0' .; printf '%s\n' "$secret"; head -c 3000000 /dev/zero | tr '\0' .; printf '%s' "$secret"; } >"$1/logs/000.log"
    ln -s /etc/passwd "$1/logs/link"
    "$LINEAGE" best -C "$1" >/dev/null
}
spelled() { grep -rlaF -e hunter -e 'XXXXX hunter' "$1" | sort; }

make s
must_run verify -C s --digest
noted=$(cut -d' ' -f1 out)
cp -a s before
printf '%s\n' "$secret" >secret
"$LINEAGE" scrub -C s <secret >out 2>err
status=$?
must_exit 0
must_have out 'logs/000.log: 2'
must_have out 'snapshots/001_'
must_have out '1 row and '
must_have err 'copies elsewhere are not changed'
must_equal '' "$(spelled s)" "files with a rest"
must_equal "$(wc -c <before/results.tsv) $(wc -c <before/logs/000.log)" "$(wc -c <s/results.tsv) $(wc -c <s/logs/000.log)" "sizes"
must_equal '400 2' "$(stat -c '%a %h' s/provenance/001/untracked/x)" "rights and links"
must_run verify -C s
must_have out '1 redacted row'
must_have out 'whether redacted rows had the same cells apart from the secret'
must_run verify -C s --head "$noted"
must_have out '1 redacted row'
must_run show 001 -C s
must_have out XXXXXXXX
must_run query -C s --param batch=9 --format tsv
must_have out '001'
must_equal 3 "$("$LINEAGE" query -C s --format tsv | sed 1d | wc -l)" "rows"
# Twice is once, and another secret in the same row is possible.
"$LINEAGE" scrub -C s <secret >out 2>err
must_have out '0 rows and 0 files redacted'
echo 'with X' >second
"$LINEAGE" scrub --file second -C s >out 2>err </dev/null
must_have out '1 row and 0 files'
must_run verify -C s --head "$noted"
must_run append -C s --status auto --core-metric 4 --hypothesis more
must_run verify -C s --head "$noted"
must_run rebuild --digests -C s
must_run verify -C s --head "$noted"
rm s/.results.tsv.digests && python3 -c 'import os,sys; os.removexattr("s/results.tsv", "user.lineage.digests")' 2>/dev/null
must_run append -C s --status auto --core-metric 4 --hypothesis evenmore
must_run verify -C s --head "$noted"
# A store that moves has the redacted bytes; it needs no record of redactions.
"$LINEAGE" export -C s >moved.tsv && must_run init moved --direction higher
must_run import --exact moved.tsv -C moved
cp -a s/snapshots moved/
must_run verify -C moved

# ---- nothing else is accepted ----
for change in '3s/XXXX/XXXY/' '3s/batch=9/batch=8/' '2s/first/fjrst/' '4s/last/lost/'; do
    rm -rf f && cp -a s f
    sed -i "$change" f/results.tsv
    run verify -C f
    must_exit 1
    must_have out 'digest: record'
done
rm -rf f && cp -a s f && rm f/.results.tsv.redacted
run verify -C f
must_exit 1
for line in 'row 3 1 2' 'garbage' 'row 3 0 10 x y 1:2'; do
    rm -rf f && cp -a s f && echo "$line" >>f/.results.tsv.redacted
    run verify -C f
    must_exit 1
    must_have out '.results.tsv.redacted:'
done
rm -rf f && cp -a s f && rm f/.results.tsv.redacted && ln -s /etc/passwd f/.results.tsv.redacted
run verify -C f
must_exit 1

# ---- interrupted at each step ----
rm -rf home/config home/state
make w
cp -a w whole
"$LINEAGE" scrub -C whole <secret >out 2>err
# .. after the record, before any byte
rm -rf k && cp -a w k && cp whole/.results.tsv.redacted k/
must_run verify -C k
"$LINEAGE" scrub -C k <secret >out 2>err
cmp -s k/results.tsv whole/results.tsv || fail "an interrupted redaction is completed"
must_run verify -C k
# .. in the middle of a row
rm -rf k && cp -a w k && cp whole/.results.tsv.redacted k/
from=$(cut -d' ' -f3 k/.results.tsv.redacted) range=$(cut -d' ' -f7 k/.results.tsv.redacted)
at=$((from + ${range%%:*}))
printf XXXX | dd of=k/results.tsv bs=1 seek=$at conv=notrunc 2>/dev/null
run verify -C k
must_exit 1
echo 'not in the store' >other
"$LINEAGE" scrub -C k <other >out 2>err
must_have out '1 row and 0 files'
cmp -s k/results.tsv whole/results.tsv || fail "a row is completed without its secret"
must_run verify -C k
# .. in the middle of its own record
rm -rf k && cp -a w k && head -c 60 whole/.results.tsv.redacted >k/.results.tsv.redacted
must_run verify -C k
"$LINEAGE" scrub -C k <secret >out 2>err
cmp -s k/results.tsv whole/results.tsv || fail "a record that was cut off is replaced"
must_run verify -C k

# ---- what is refused ----
bad() { wanted=$1; shift; "$LINEAGE" scrub -C w <in >out 2>err; status=$?; last="scrub: $*"; must_exit "$wanted"; must_have err "$1"; }
cp -a w kept
echo abc >in && bad 2 'a secret has 6 to 4096 bytes'
printf 'two lines\nand more\n' >in && bad 2 'several lines'
printf 'with\tblank' >in && bad 2 'control character'
printf 'hypothesis' >in && bad 2 'in the header'
printf '\377\376abcdefg' >in && bad 2 'UTF-8'
: >in && bad 2 'a secret has'
echo snapshots/001 >in && bad 2 'results.tsv:3: the secret is in the column snapshot_path'
cmp -s kept/results.tsv w/results.tsv && [ ! -e w/.results.tsv.redacted ] || fail "a refused redaction changed the store"
must_fail 2 'No such file' scrub --file nothing -C w
sed -i '4s/last/lost/' w/results.tsv
cp secret in && bad 2 'do not match their digests'
# A secret in the name of a file is reported.
make n
mkdir n/provenance/hunter-name && echo x >n/provenance/hunter-name/x
echo hunter-name >in
"$LINEAGE" scrub -C n <in >out 2>err
status=$? last="scrub of a name"
must_exit 1
must_have err 'provenance/hunter-name: the secret may be left: it is in the name of the file'
must_equal root "$(grep -c root /etc/passwd >/dev/null && echo root)" "files behind links"
finish
