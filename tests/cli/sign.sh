#!/bin/sh
# sign.sh: signed heads. A change of an old row is found without a digest that somebody remembered, also by a stranger who makes
# the digests anew, signs with another key, or puts older signatures back.
. "$SOURCE/tests/support/shell.sh"
command -v ssh-keygen >/dev/null || skip "ssh-keygen is not installed"
HOME=$scratch/home XDG_CONFIG_HOME=$scratch/home/config XDG_STATE_HOME=$scratch/home/state
export HOME XDG_CONFIG_HOME XDG_STATE_HOME
unset SSH_AUTH_SOCK SSH_ASKPASS DISPLAY
mkdir home keys
for name in mine other; do ssh-keygen -q -t ed25519 -N '' -C "$name" -f keys/$name; done
ssh-keygen -q -t ed25519 -N secret -f keys/locked

must_run init s --direction higher
for score in 1 2 3 4; do must_run append -C s --status auto --core-metric $score --hypothesis "try $score"; done

# ---- without a key ----
must_fail 2 'no key to sign with is configured' sign -C s
must_run verify -C s
must_have out 'not known: whether rows were changed together with their digests (lineage sign, or verify --head)'
must_equal 1 "$(wc -l <out)" "lines of a sound store"
must_fail 2 'No such file' sign -C s --key keys/missing
cp keys/mine keys/alone
must_fail 2 'cannot read a public key from' sign -C s --key keys/alone

# ---- signing ----
must_run sign -C s --key keys/mine
must_have out '5 records, signed'
must_run sign -C s
must_equal 1 "$(wc -l <s/.results.tsv.signed)" "an equal head is signed once"
must_equal "$scratch/keys/mine" "$(cat home/config/lineage/signing_key)"
must_equal '600 600 600' "$(stat -c %a home/config/lineage/signing_key home/config/lineage/allowed_signers home/state/lineage/signed_heads | xargs)"
must_run verify -C s
must_have out 'the head of record 5 signed 20'
must_have out 'not known: whether what trials reported is true'
must_run append -C s --status auto --core-metric 5 --hypothesis more
must_run verify -C s
must_have out 'not known: whether records behind 5 were changed together with their digests (lineage sign)'
# Anybody can check the signature without lineage.
"$JSON_GET" signature <s/.results.tsv.signed >signature
{ printf 'lineage signed head 1\nrecords 5\nhead %s\nredactions 0 -\ntime %s\n' "$("$JSON_GET" head <s/.results.tsv.signed)" "$("$JSON_GET" time <s/.results.tsv.signed)"; } >statement
ssh-keygen -Y verify -f home/config/lineage/allowed_signers -I lineage -n lineage-head -s signature <statement >out 2>&1
must_have out 'Good "lineage-head" signature for lineage'

# ---- a stranger edits the store ----
# verify finds nothing; it may report that the mirror of a store that was moved here is not used.
sound() { run verify -C s && must_exit 0; }
# forged NAME: a copy of the store whose row 2 was changed, with digests made anew by the stranger's own lineage.
forged()
{
    rm -rf "$1" && cp -a s "$1"
    sed -i '3s/try 2/lie 2/' "$1/results.tsv"
    HOME=$scratch/stranger XDG_CONFIG_HOME=$scratch/stranger XDG_STATE_HOME=$scratch/stranger "$LINEAGE" rebuild --digests -C "$1" >/dev/null
}
forged f
run verify -C f
must_exit 1
must_have out 'no record ends in the head that was signed ('
must_have out 'record 5): rows up to there were changed or removed'
# .. signs with a key of their own
forged g
(HOME=$scratch/stranger XDG_CONFIG_HOME=$scratch/stranger XDG_STATE_HOME=$scratch/stranger "$LINEAGE" sign -C g --key keys/other >/dev/null)
run verify -C g
must_exit 1
must_have out 'is not signed by a key that you trust'
# .. or damages or removes the signatures, in the place of the store
mv s kept
for way in remove own garbage link empty; do
    forged_from=kept
    rm -rf s && cp -a kept s
    sed -i '3s/try 2/lie 2/' s/results.tsv
    XDG_CONFIG_HOME=$scratch/stranger XDG_STATE_HOME=$scratch/stranger "$LINEAGE" rebuild --digests -C s >/dev/null
    case $way in
    remove) rm s/.results.tsv.signed ;;
    own) rm s/.results.tsv.signed && XDG_CONFIG_HOME=$scratch/stranger XDG_STATE_HOME=$scratch/stranger "$LINEAGE" sign -C s --key keys/other >/dev/null ;;
    garbage) echo '{"records": 1}' >>s/.results.tsv.signed ;;
    link) rm s/.results.tsv.signed && ln -s /etc/hostname s/.results.tsv.signed ;;
    empty) : >s/.results.tsv.signed ;;
    esac
    run verify -C s
    must_exit 1
    must_have out signature
    must_have out 'rows up to there were changed or removed'
done
rm -rf s && mv kept s
sound
# .. puts an older state of the whole store back
cp -a s older
run sign -C s
must_exit 0
rm -rf newer && mv s newer && cp -a older s
run verify -C s
must_exit 1
must_have out 'the signature of record 6 from'
rm -rf s && mv newer s
sound
rm -f s/lineage.db*

# ---- another machine: no memory, and a key that is trusted or not ----
XDG_CONFIG_HOME=$scratch/second XDG_STATE_HOME=$scratch/second
sound
must_have out 'a signature by a key that is not trusted here (lineage sign --trust)'
must_run sign -C s --trust keys/mine.pub
sound
must_have out 'the head of record 6 signed 20'
forged h
run verify -C h
must_exit 1
must_fail 2 'is not a public key of ssh' sign -C s --trust statement
XDG_CONFIG_HOME=$scratch/home/config XDG_STATE_HOME=$scratch/home/state

# ---- faults ----
# A line that a kill cut off is not read, and the next signature is on a line of its own.
printf '{"records": 9, "he' >>s/.results.tsv.signed
sound
must_run append -C s --status auto --core-metric 6 --hypothesis last
must_run sign -C s
sound
must_have out 'the head of record 7 signed'
# Changed rows are not signed.
rm -rf f && cp -a s f
sed -i '3s/try 2/lie 2/' f/results.tsv
run sign -C f
must_exit 1
must_have err 'nothing is signed, because rows do not match their digests'
# A key with a passphrase that no agent has: no question on a terminal that is not there, and a night goes on.
run sign -C s --key keys/locked
must_run append -C s --status auto --core-metric 7 --hypothesis last
run sign -C s
must_exit 3
must_have err 'cannot sign with'
must_run sign -C s --key keys/mine

# ---- a night signs at its end ----
printf '{"name": "n", "direction": "higher", "command": ["echo", "METRIC score={x}"], "grid": {"x": [8, 9]}}\n' >night.json
run night night.json -C s
must_exit 0
sound
must_have out "the head of record $(($(wc -l <s/results.tsv))) signed"
finish
