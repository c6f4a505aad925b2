#!/bin/sh
# launchers.sh: how the README sets up a server for several people and starts workers on many machines: createdb, init and
# GRANT; ssh; GNU parallel. Programs that are not installed are reported and skipped. (Slurm is run by hand: its daemons want a machine.)
# shellcheck disable=SC2034,SC2154
. "$SOURCE/tests/support/shell.sh"
. "$SOURCE/tests/support/server.sh"
sshd_at=
server_test '[ ! -s sshd.pid ] || kill "$(cat sshd.pid)"'
. "$SOURCE/tests/support/trainer.sh"
server_start
PATH=$(dirname "$LINEAGE"):$pg_bin:$PATH PGHOST=127.0.0.1 PGPORT=$server_port
export PATH PGHOST PGPORT
at() { echo "postgres://$1@127.0.0.1:$server_port/$2/atpo"; }

# ---- several people ----

server_sql postgres 'CREATE ROLE owner LOGIN CREATEDB CREATEROLE; CREATE ROLE plain LOGIN CREATEDB; CREATE ROLE alice LOGIN; CREATE ROLE bob LOGIN' >/dev/null
createdb -U plain early
must_run init "$(at plain early)" --direction higher
must_equal 0 "$(server_sql postgres "SELECT count(*) FROM pg_roles WHERE rolname LIKE 'lineage\\_%'")" 'who may not make roles makes none'
createdb -U owner trials
must_run init "$(at owner trials)" --direction higher
psql -U owner -q -c 'GRANT lineage_writer TO alice' -c 'GRANT lineage_reader TO bob' trials
must_equal 0 $? 'granted by who made them'
must_run append -C "$(at alice trials)" --status auto --core-metric 34.51 --hypothesis 'wider clip'
must_run best -C "$(at bob trials)"
must_have out 'wider clip'
run append -C "$(at bob trials)" --status auto --core-metric 35 --hypothesis more
must_exit 2
must_have err 'permission denied'
server_user=alice
server_sql trials "UPDATE lineage.record SET bytes = ''" >out 2>err && fail 'a writer changed a row'
must_have err 'permission denied'
server_user=
must_run init "$(at plain early)" --direction higher # the roles are there by now
psql -U owner -q -c 'GRANT lineage_writer TO alice' early 2>/dev/null
must_run append -C "$(at alice early)" --status auto --core-metric 1 --hypothesis first

# ---- workers ----

db=$(at alice trials)
printf '{"name": "s", "score": "loss", "command": "sh -c \\"sleep 0.3; echo $CUDA_VISIBLE_DEVICES >>%s/slots; echo METRIC loss={x}\\"", "grid": {"x": [%s]}}\n' \
    "$PWD" "$(seq -s , 1 9)" >sweep.json

# -n keeps ssh from reading the rest of the script.
if [ -x /usr/sbin/sshd ] && command -v ssh-keygen >/dev/null; then
    [ "$(id -u)" -ne 0 ] || mkdir -p /run/sshd
    ssh-keygen -q -t ed25519 -N '' -f hostkey
    ssh-keygen -q -t ed25519 -N '' -f key
    port=$(held_port)
    cat >sshd_config <<END
Port $port
ListenAddress 127.0.0.1
HostKey $PWD/hostkey
PidFile $PWD/sshd.pid
AuthorizedKeysFile $PWD/key.pub
StrictModes no
UsePAM no
PasswordAuthentication no
PermitRootLogin prohibit-password
SetEnv PATH=$PATH XDG_STATE_HOME=$XDG_STATE_HOME HOME=$PWD
END
    cat >ssh_config <<END
Host a b c
  HostName 127.0.0.1
  Port $port
  IdentityFile $PWD/key
  StrictHostKeyChecking no
  UserKnownHostsFile /dev/null
  LogLevel ERROR
  BatchMode yes
END
    ssh() { command ssh -F ssh_config "$@"; }
    /usr/sbin/sshd -f sshd_config -E sshd.log
    if wait_for ssh -n a true; then
        sshd_at=$port
    else
        echo "left out: ssh to this machine does not work: $(tail -n 2 sshd.log)"
    fi
else
    echo 'left out: ssh (Debian: openssh-server)'
fi
if [ -n "$sshd_at" ]; then
    sweep=$PWD/sweep.json
    for host in a b c; do ssh -n $host lineage night "$sweep" -C "$db" --worker >>ssh.out 2>>ssh.err & done; wait
    must_equal 9 "$(grep -c '	s x=' ssh.out)" "workers by ssh: $(grep -v "^  lineage render\|the night is done" ssh.err; cat ssh.out)"
    must_equal 3 "$(grep -o 'all 9 trials have their rows' ssh.err | wc -l)" 'all workers end well' # two may share a line
    # The loop of the guide that leaves the workers alone, with the files and the store of this test: nothing is left to run.
    sed -n '/^for host in a b c; do$/,/^done$/p' "$SOURCE/cli/man/machines.md" |
        sed "s#sweep.json#$sweep#; s#postgres://[^ ]*#$db#; s#night-#$PWD/night-#" >loop
    must_equal 3 "$(wc -l <loop)" 'lines of the loop'
    . ./loop
    ended() { [ "$(grep -l 'all 9 trials have their rows' night-a.log night-b.log night-c.log 2>/dev/null | wc -l)" -eq 3 ]; }
    wait_for ended || fail "not all workers end well: $(cat night-?.log)"
fi

if command -v parallel >/dev/null && parallel --version 2>/dev/null | grep -q GNU; then
    parallel --lb -j 4 'CUDA_VISIBLE_DEVICES={} lineage night sweep.json -C runs/mine --direction lower --worker' ::: 0 1 2 3 >parallel.out 2>parallel.err </dev/null
    must_equal 0 $? "parallel: $(tail -n 3 parallel.err)"
    must_equal 9 "$(grep -c '	s x=' parallel.out)" 'rows by GNU parallel'
    checks=$((checks + 1))
    [ "$(grep . slots | sort -u | wc -l)" -gt 1 ] || fail "each worker has its device: $(cat slots)"
else
    echo 'left out: GNU parallel (Debian: parallel)'
fi
finish
