#!/bin/sh
# blobs.sh: snapshots and checkpoints are fetched from the machine that has them, and removed when they are not needed.
# shellcheck disable=SC2034,SC2154
. "$SOURCE/tests/support/shell.sh"
. "$SOURCE/tests/support/server.sh"
server_test
. "$SOURCE/tests/support/trainer.sh"
server_start
server_sql postgres 'CREATE DATABASE blobs' >/dev/null
uri=$SERVER/blobs/one
count() # numbers of blobs and pieces on the server
{
    server_sql blobs "SELECT (SELECT count(*) FROM lineage.blob) || ' ' || (SELECT count(*) FROM lineage.chunk)"
}
on() # MACHINE: the commands below run on it
{
    XDG_STATE_HOME=$PWD/$1
    export XDG_STATE_HOME
}
local_dir() # of a machine
{
    echo "$PWD/$1"/lineage/one-*
}

# ---- a snapshot: files of more than one piece, an empty one, modes, directories, links ----

on a
must_run init "$uri" --direction lower
cat >learn.sh <<'END'
cd "$LINEAGE_WORKDIR" || exit 1
mkdir deep
head -c 2500000 /dev/zero | tr '\0' 'x' >deep/large
: >empty
echo 'echo hello' >tool
chmod 750 tool
ln -s deep/large link
echo 'METRIC score=5'
END
must_run run -C "$uri" -q -- sh "$PWD/learn.sh"
must_equal 000 "$(cat out)"
must_equal '1 4' "$(count)" 'one blob; the two whole pieces of the large file are the same' # x, x, rest of x, tool
on b
must_run verify -C "$uri"
cat >child.json <<'END'
{"name": "child", "score": "loss", "parent": "000", "grid": {"x": [1, 2]}, "order": "grid",
 "command": "sh -c 'cd $LINEAGE_PARENT_SNAPSHOT && [ $(wc -c <deep/large) = 2500000 ] && [ $(stat -c %a tool) = 750 ] && [ $(readlink link) = deep/large ] && [ -e empty ] && echo METRIC loss={x}'"}
END
run night child.json -C "$uri" --worker -q
must_exit 0
must_equal '001	keep	1.0|002	discard	2.0|' "$(cut -f 1,2,3 out | tr '\n' '|')" 'the child of a parent of another machine'
cmp -s "$(local_dir a)"/snapshots/000_/deep/large "$(local_dir b)"/snapshots/000_/deep/large || fail 'the same bytes'
must_equal '' "$(find "$(local_dir b)" -name .fetched)"
run diff 001 -C "$uri"
checks=$((checks + 1))
[ "$status" -le 1 ] || fail 'diff of a snapshot'
on c
run diff 001 -C "$uri"
checks=$((checks + 1))
[ "$status" -le 1 ] || fail "diff on a machine that has neither: $(cat err)"

# A piece that is damaged on the server is detected, and nothing of it is kept.
on d
server_sql blobs "CREATE TABLE kept AS SELECT * FROM lineage.chunk; ALTER TABLE lineage.chunk DROP CONSTRAINT chunk_check;
    UPDATE lineage.chunk SET bytes = 'other' WHERE octet_length(bytes) < 100" >/dev/null
run diff 001 -C "$uri"
must_exit 2
must_have err 'is another one'
must_equal '' "$(find "$(local_dir d)" -path '*snapshots/*' -o -name .fetched)"
server_sql blobs "UPDATE lineage.chunk c SET bytes = k.bytes FROM kept k WHERE k.digest = c.digest" >/dev/null
must_run show 001 -C "$uri"

# ---- unused blobs are removed after a day ----

before=$(count)
must_run sync -C "$uri" --clean 0
must_equal "$before" "$(count)" 'nothing is a day old'
server_sql blobs "INSERT INTO lineage.blob VALUES (1, 'snapshots/009_', '[]'), (1, 'checkpoints/a.ckpt', '[]');
    INSERT INTO lineage.chunk VALUES (1, sha256('left'), 'left');
    UPDATE lineage.blob SET made = made - interval '2 days'; UPDATE lineage.chunk SET used = used - interval '2 days'" >/dev/null
must_run sync -C "$uri" --clean 3
must_equal 'removed 1 blobs' "$(tail -n 1 out | cut -d , -f 1)" 'the snapshot of no row'
must_equal 0 "$(server_sql blobs "SELECT count(*) FROM lineage.chunk WHERE digest NOT IN
    (SELECT d FROM lineage.blob, lineage.chunks_of(manifest) d)")" 'pieces of nothing: one of ours, one of a discarded trial'
must_run sync -C "$uri" --clean 1
must_equal 'removed 1 blobs, 0 bytes' "$(tail -n 1 out)" 'a checkpoint that is older'
must_equal "${before% *} $((${before#* } - 1))" "$(count)"
must_fail 2 clean sync -C "$uri" --clean soon

# ---- without the server: the trial is kept, and its snapshot is sent with its row ----

on a
server_down
run run -C "$uri" -q -- sh -c 'echo later >"$LINEAGE_WORKDIR/learned"; echo METRIC score=0.5'
server_up
run -C "$uri" sync
must_exit 0
on e
must_run verify -C "$uri"
sed 's/"child"/"later"/; s/"000"/"best"/; s/"command": .*/"command": "sh -c '"'"'cat $LINEAGE_PARENT_SNAPSHOT\/learned \&\& echo METRIC loss={x}'"'"'"}/' child.json >later.json
run night later.json -C "$uri" --worker -q
must_exit 0
must_equal later "$(head -n 1 "$(ls "$(local_dir e)"/logs/*.log | head -n 1)")"

# ---- checkpoints of a discarded parent, and a shared warm start ----

on a
must_run init "$SERVER/blobs/two" --direction higher
cat >ladder.json <<'END'
{"name": "ladder", "recipe": "tiny.json", "trials": [{"name": "up"}, {"name": "down", "parent": "up"}],
 "grid": {"lr": [0.001, 0.002]}}
END
run night ladder.json -C "$SERVER/blobs/two" -q --hours 0.0001
must_exit 0
"$LINEAGE" night ladder.json -C "$SERVER/blobs/two" --worker -q >a.out 2>a.err &
a=$!
on b
run night ladder.json -C "$SERVER/blobs/two" --worker -q
must_exit 0
wait $a
must_equal 0 $? "the other worker: $(cat a.err)"
must_run export -C "$SERVER/blobs/two"
must_equal 4 "$(sed 1d out | awk -F '\t' '$9 == "keep" || $9 == "discard" || $9 == "baseline"' | wc -l)" 'all were trained'
must_equal 3 "$(server_sql blobs "SELECT count(*) FROM lineage.blob WHERE name LIKE 'checkpoints/%'")" 'two parents, one warm start'
on f
run night ladder.json -C "$SERVER/blobs/two" --worker -q
must_exit 0
finish
