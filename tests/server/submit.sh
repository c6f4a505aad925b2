#!/bin/sh
# submit.sh: the scripts that place workers (examples/night.slurm.sh, a Job of Kubernetes), and Slurm with its daemons on this
# machine, preemption included.
# shellcheck disable=SC2034,SC2154
. "$SOURCE/tests/support/shell.sh"
. "$SOURCE/tests/support/server.sh"
slurm=
slurm_remove()
{
    [ -n "$slurm" ] || return 0
    for name in slurmd ctld munge; do
        [ ! -s "$slurm/$name.pid" ] || kill "$(cat "$slurm/$name.pid")" 2>/dev/null
    done
    sleep 1
    for name in slurmd ctld; do
        [ ! -s "$slurm/$name.pid" ] || kill -9 "$(cat "$slurm/$name.pid")" 2>/dev/null
    done
    rm -rf "$slurm"
    slurm=
}
server_test slurm_remove
server_start
PATH=$(dirname "$LINEAGE"):$pg_bin:$PATH
export PATH
createdb -h 127.0.0.1 -p "$server_port" -U lineage trials
db=postgres://lineage@127.0.0.1:$server_port/trials/atpo
must_run init "$db" --direction lower
cat >train.sh <<'END'
if [ "$1" = 1 ] && mkdir "$SEEN/first" 2>/dev/null; then
    touch "$SEEN/begun"
    exec sleep 300 # a signal ends it, as it would end a program
fi
echo "METRIC loss=$1"
END
SEEN=$PWD
export SEEN
printf '{"name": "my sweep", "direction": "lower", "score": "loss", "grace_seconds": 1, "files": ["train.sh"], "command": ["sh", "{workdir}/train.sh", "{x}"], "grid": {"x": [1, 2, 3, 4, 5, 6]}}\n' >sweep.json

must_fail 2 "this option was removed; start \`lineage night -C $db SWEEP --worker\`" night sweep.json -C "$db" --submit slurm

# The Job of the guide is JSON, and its workers get options that there are.
sed -n '/^{"apiVersion"/,/^END$/p' "$SOURCE/cli/man/machines.md" | sed '$d' >job.json
must_equal '["lineage","night","/sweep/sweep.json","-C","postgres://db/trials/atpo","--worker","--hours","11"]' \
    "$(json spec.template.spec.containers.0.command job.json)" 'the command of the Job'
must_run night --help
must_have out --worker
must_have out --hours
must_equal 'sweep sweep' "$(json spec.template.spec.volumes.0.configMap.name job.json) $(sed -n 's/^kubectl create configmap \([a-z]*\) .*/\1/p' "$SOURCE/cli/man/machines.md")"

touch first # no trial waits
rows() { "$LINEAGE" query -C "$db" --format tsv 2>/dev/null | sed 1d | grep -cv harness_abort; }

# ---- Slurm ----

if ! command -v sbatch >/dev/null || [ ! -x /usr/sbin/slurmctld ] || [ ! -x /usr/sbin/slurmd ] || [ ! -x /usr/sbin/munged ]; then
    echo 'left out: Slurm (Debian: slurmctld slurmd slurm-client munge)'
    finish
    exit
elif [ "$(id -u)" -ne 0 ]; then
    echo 'left out: Slurm, whose daemons run as root here'
    finish
    exit
fi
slurm=$(mktemp -d /tmp/lslurm.XXXXXX)
chmod 755 "$slurm"
mkdir "$slurm/state" "$slurm/spool"
port=$(held_port)
cat >"$slurm/slurm.conf" <<END
ClusterName=suite
SlurmctldHost=$(hostname)(127.0.0.1)
SlurmUser=root
SlurmctldPort=$port
SlurmdPort=$(held_port)
AuthType=auth/munge
AuthInfo=socket=$slurm/munge.sock,cred_expire=5
CredType=cred/munge
StateSaveLocation=$slurm/state
SlurmdSpoolDir=$slurm/spool
SlurmctldPidFile=$slurm/ctld.pid
SlurmdPidFile=$slurm/slurmd.pid
SlurmctldLogFile=$slurm/ctld.log
SlurmdLogFile=$slurm/slurmd.log
ProctrackType=proctrack/linuxproc
TaskPlugin=task/none
SelectType=select/cons_tres
SelectTypeParameters=CR_Core
ReturnToService=2
MpiDefault=none
KillWait=10
SchedulerParameters=sched_interval=1,bf_interval=1
NodeName=$(hostname) NodeAddr=127.0.0.1 CPUs=$(nproc) State=UNKNOWN
PartitionName=suite Nodes=ALL Default=YES MaxTime=INFINITE State=UP
END
SLURM_CONF=$slurm/slurm.conf
export SLURM_CONF
head -c 1024 /dev/urandom >"$slurm/munge.key"
chmod 600 "$slurm/munge.key"
/usr/sbin/munged --force --key-file="$slurm/munge.key" --socket="$slurm/munge.sock" --pid-file="$slurm/munge.pid" \
    --log-file="$slurm/munge.log" --seed-file="$slurm/munge.seed" >/dev/null 2>&1
started=$({ /usr/sbin/slurmctld -f "$SLURM_CONF" && /usr/sbin/slurmd -f "$SLURM_CONF" -N "$(hostname)"; } >"$slurm/start.log" 2>&1; echo $?)
# until_true COMMAND..: a slow machine takes its time.
until_true()
{
    tries=0
    until "$@" >/dev/null 2>&1; do
        tries=$((tries + 1))
        [ $tries -lt 3000 ] || return 1
        sleep 0.1
    done
}
if [ "$started" -ne 0 ] || ! until_true sh -c 'sinfo -h | grep -q idle'; then
    echo "left out: Slurm does not start here: $(tail -n 1 -q "$slurm/start.log" "$slurm/ctld.log" "$slurm/slurmd.log" 2>/dev/null | tr '\n' ' ')"
    finish
    exit
fi

# A trial waits; its job is preempted, gives it back, and runs it again; the other worker runs the rest.
db=postgres://lineage@127.0.0.1:$server_port/trials/slurm
must_run init "$db" --direction lower
rm -rf first
sbatch --array=1-2 --time=01:10:00 "$SOURCE/tests/examples/night.slurm.sh" sweep.json "$db" "$(date -d '1 hour' +@%s)" >out || fail sbatch
must_have out 'Submitted batch job'
job=$(sed 's/.* //' out)
until_true test -e begun || fail "no worker begins: $(squeue; tail -n 3 lineage-*_*.log "$slurm/ctld.log")"
must_equal 65 "$(scontrol show job "${job}_1" | sed -n 's/.*TimeLimit=01:10:00.*/65/p')" 'the time limit'
running=$(squeue -h -t R -o %A | sort | tr '\n' ' ')
for id in $running; do scontrol requeue "$id"; done
until_true sh -c '[ -z "$(squeue -h)" ]' || fail "jobs are left: $(squeue)"
until_true sh -c "[ \"\$(\"$LINEAGE\" query -C '$db' --format tsv 2>/dev/null | sed 1d | grep -cv harness_abort)\" -eq 6 ]" ||
    fail "after preemption: $("$LINEAGE" query -C "$db" --format tsv; squeue; tail -n 5 lineage-*_*.log)"
must_equal 6 "$(rows)" 'each trial has one row that counts'
must_run query -C "$db" --format tsv
grep -q harness_abort out || fail 'the preempted trial has no row'
checks=$((checks + 1))
must_run verify -C "$db"
cat lineage-*_*.log >logs
must_have logs 'all 6 trials have their rows'
finish
