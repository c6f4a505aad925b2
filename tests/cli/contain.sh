#!/bin/sh
# shellcheck disable=SC2016,SC2034,SC2154 # commands for another shell; shared with shell.sh
# contain.sh: no process that a command started survives its trial, however it tries to escape.
. "$SOURCE/tests/support/shell.sh"

[ -r /proc/self/stat ] || skip 'no /proc here: what descends from what cannot be seen'

field()
{
    tail -n 1 "$1/results.tsv" | cut -f "$2"
}

# wait_for COMMAND...: waits up to a minute until COMMAND succeeds, because machines may be busy.
wait_for()
{
    tries=0
    while ! "$@" >/dev/null 2>&1; do
        tries=$((tries + 1))
        [ "$tries" -lt 3000 ] || return 1
        sleep 0.02
    done
}

# Processes of the trial write their numbers to ./pids. A zombie counts as gone.
alive()
{
    while read -r pid; do
        state=$(sed -n 's/.*) \(.\) .*/\1/p' "/proc/$pid/stat" 2>/dev/null)
        [ -z "$state" ] || [ "$state" = Z ] || [ "$state" = X ] || return 0
    done <pids
    return 1
}
none_alive()
{
    ! alive
}

# gone WHAT: at least one process was started, and none still runs.
gone()
{
    checks=$((checks + 1))
    [ -s pids ] || { fail "$1: no process was started" && return; }
    ! alive || fail "$1: still running: $(cat pids)"
    rm -f pids
}

# For trials: `me` writes the number of its shell; `forever` is a shell that does so and stays, ignoring TERM on request.
cat >me <<'END2'
me() { sh -c 'echo $PPID' >>pids; }
END2
cat >forever <<'END2'
echo $$ >>pids
[ "${1:-}" != deaf ] || trap '' TERM HUP INT
while :; do sleep 1; done
END2
cat >storm <<'END2'
# Eight processes start processes that outlive them, as fast as they can. Where no further process may be started, they try again.
use POSIX ();
sub note
{
    open(my $file, '>>', 'pids') or die "pids: $!";
    print $file "$$\n";
}
sub storm
{
    note();
    while (!-e 'calm') {
        my $child = fork // next;
        if (!$child) {
            my $left = fork;
            exec 'sleep', '0.3' if defined $left && !$left;
            POSIX::_exit(0);
        }
        waitpid $child, 0;
    }
    POSIX::_exit(0);
}
note();
for (1 .. 8) {
    my $child = fork;
    storm() if defined $child && !$child;
}
1 while wait > 0;
END2
cat >chain <<'END2'
echo $$ >>pids
[ -e calm ] || sh chain &
END2

# A bystander in the same session and process group: only descendants are ended.
sleep 600 &
bystander=$!

# ---- when the command ends, processes that it left are ended ----
# leaves WHAT COMMAND: the trial finishes, and no process is left.
leaves()
{
    must_run run -C s --direction lower -q --grace 0.2 -- sh -c "$2
        until [ -s pids ]; do sleep 0.01; done; echo METRIC score=1"
    case $(field s 9) in keep | discard) ;; *) fail "$1: $(field s 9)" ;; esac
    gone "$1"
}
leaves 'a double fork' '(sh forever &)'
leaves 'setsid' 'setsid sh forever &'
leaves 'a double fork and setsid' '(setsid sh forever >/dev/null 2>&1 </dev/null 3>&- &)'
leaves 'timeout' '(timeout 600 sh forever &)'
leaves 'a descendant that holds the pipes' 'sh forever &'
leaves 'one that is deaf to TERM' 'sh forever deaf &'
leaves 'setsid, deaf' '(setsid sh forever deaf &)'

# ---- a time limit ----
# walled WHAT COMMAND: the trial exceeds its time limit, and no process is left.
walled()
{
    run run -C w --direction lower -q --train-seconds 1 --grace 0.2 -- sh -c "$2"
    must_exit 1
    must_equal train_budget_overrun "$(field w 9)" "$1"
    gone "$1"
}
walled 'a plain command' 'exec sh forever'
walled 'timeout in timeout' 'timeout 600 timeout 600 sh forever'
walled 'setsid -w' 'setsid -w sh forever deaf'
walled 'a tree' 'sh forever deaf & (setsid sh forever &) ; (sh forever & sh forever deaf &) ; sh forever'
# The storm may have 400 processes at a time: where it gets more of the processors than the guardian it would use up the process
# numbers, and other tests could not start anything. The limit is for processes and threads of the same user, of which there are some
# already, and the superuser has none. Beside it, a chain of processes of which only the last one lives.
tasks=$(find /proc/[0-9]*/task -mindepth 1 -maxdepth 1 -user "$(id -u)" 2>/dev/null | wc -l)
stormy="prlimit --nproc=$((tasks + 400)) perl storm"
if [ "$(id -u)" -eq 0 ]; then
    other='setpriv --reuid=65534 --regid=65534 --clear-groups'
    stormy="$other prlimit --nproc=400 perl storm"
    : >pids && chmod 711 . && chmod 644 storm && chmod 666 pids
    # shellcheck disable=SC2086
    $other true 2>/dev/null || { stormy='sh forever' && echo 'left out: the fork storm: cannot become another user'; }
fi
walled 'a fork storm' "sh chain & exec $stormy"
touch calm
# TERM comes first and leaves time to exit.
run run -C w -q --train-seconds 1 --grace 60 -- sh -c 'echo $$ >>pids; trap "echo saved >saved; exit" TERM; while :; do sleep 0.1; done'
must_exit 1
must_equal saved "$(cat saved)"
gone 'one that obeys TERM'

# ---- output ----
run run -C o --direction lower -q -- sh -c 'echo $$ >>pids; exec >&- 2>&- 3>&-; sleep 0.3; exit 4'
must_exit 1
must_have o/results.tsv 'left with exit status 4'
gone 'closed descriptors'
run run -C o -q --train-seconds 1 --grace 0 -- sh -c 'exec >&- 2>&- 3>&-; exec sh forever'
must_exit 1
gone 'closed descriptors, walled'
if [ "$INSTRUMENTED" = no ]; then
    # 800 MB with and without line ends, for a process that may have 300.
    # shellcheck disable=SC3045 # dash has it
    (ulimit -v 300000 && exec "$LINEAGE" run -C o -q -- sh -c \
        'yes | head -c 400000000; head -c 400000000 /dev/zero; echo; echo METRIC score=1') >out 2>err
    status=$?
    must_exit 0
    must_equal 1.0 "$(field o 10)" "800 MB"
fi
"$LINEAGE" run -C o -- sh -c 'echo METRIC score=1.5; yes | head -c 3000000; echo METRIC score=2.5' 2>&1 >/dev/null |
    head -c 10 >/dev/null
must_equal 2.5 "$(field o 10)" "a reader that goes away"

# ---- a process of lineage is killed ----
# begin COMMAND: starts a trial in the background, of process $parent, and waits until its processes run.
begin()
{
    rm -f pids
    "$LINEAGE" run -C k --direction lower -q --grace 60 -- sh -c "$1" >out 2>err </dev/null &
    parent=$!
    last="lineage run -- $1 &"
    wait_for test -s pids || fail "$last: does not start"
}
everything='(setsid sh forever deaf &); (sh forever deaf &) ; exec sh forever deaf'
guardian_of()
{
    for stat in /proc/[0-9]*/stat; do
        read -r pid _ _ above _ 2>/dev/null <"$stat" && [ "$above" = "$1" ] && echo "$pid" && return
    done
}
three() { [ "$(wc -l <pids)" -ge 3 ]; }

begin "$everything"
wait_for three
kill -KILL "$parent"
wait "$parent" 2>/dev/null
must_equal 0 "$(wait_for none_alive && echo 0)" "kill -9 of lineage run: something lives on"
gone 'kill -9 of lineage run'
# The guardian, which holds the lock of the trial, ends a moment after the processes that it kills.
tries=0
until run -C k status --format tsv && grep -q "${tab}killed${tab}" out || [ $((tries += 1)) -gt 3000 ]; do sleep 0.1; done
must_exit 0
must_have out "${tab}killed${tab}"
must_equal '' "$(sed 1d k/results.tsv 2>/dev/null)" "no row yet"

begin "$everything"
wait_for three
kill -KILL "$(guardian_of "$parent")"
wait "$parent" 2>/dev/null
status=$?
must_exit 1
must_equal crash "$(field k 9)"
must_have err 'recorded 000 as harness_abort: the process that watched it was killed'
must_equal 2 "$(sed 1d k/results.tsv | wc -l)" "the killed one, and this one"
gone 'kill -9 of its guardian'

begin "$everything"
wait_for three
kill -TERM "$parent"
sleep 0.2
kill -TERM "$parent" # a second signal makes it end at once
wait "$parent"
status=$?
must_exit 130
must_equal harness_abort "$(field k 9)"
gone 'two interruptions'

must_run run -C k --direction lower -q -- sh -c 'echo METRIC score=1'
must_equal '' "$(find k -name '.trial-*')" "left behind"
must_run -C k verify
must_equal yes "$(kill -0 "$bystander" 2>/dev/null && echo yes)" "the bystander"
kill "$bystander"

# ---- other processes of the machine ----
# The guardian follows the lists of children, so it opens nothing of 500 processes that are not its own.
if [ "$INSTRUMENTED" = no ] && [ -e "/proc/$$/task/$$/children" ] && strace -f -o probe true 2>probe.err; then
    n=0
    while [ $n -lt 500 ]; do
        sleep 600 &
        echo "\"$!/" >>others
        n=$((n + 1))
    done
    strace -f -e trace=open,openat -o opened "$LINEAGE" run -C o -q -- sh -c \
        '(setsid sh forever &); until [ -s pids ]; do sleep 0.1; done; echo METRIC score=1' >out 2>err </dev/null
    gone 'a trial beside 500 processes'
    checks=$((checks + 1))
    grep -q '/children' opened || fail 'the lists of children are not read'
    must_equal 0 "$(grep -c -F -f others opened)" "files of unrelated processes that a trial opened"
    printf 'a trial beside 500 processes opened %s files in /proc\n' "$(grep -c -E '/proc|"[0-9]+/' opened)"
    tr -d '"/' <others | xargs kill
fi

# ---- without /proc ----
cat >blind <<'END2'
mount -t tmpfs none /proc || exit 77
"$LINEAGE" run -C "$1/unseen" --direction lower -q --grace 0 --train-seconds 1 -- sh -c 'echo METRIC score=1; sleep 600 & sleep 600'
[ $? -eq 1 ] || exit 1
exec "$LINEAGE" run -C "$1/unseen" -q --grace 0 -- \
    sh -c 'echo METRIC score=1; (setsid sh -c "touch up; sleep 5" &); until [ -e up ]; do sleep 0.01; done'
END2
status=77
[ "$INSTRUMENTED" = sanitizers ] || { # the sanitizer's own threads need it
    unshare -rm sh blind "$scratch" >out 2>err
    status=$?
}
if [ "$status" -ne 77 ] && [ "$status" -ne 127 ] && ! grep -q unshare err; then
    must_exit 0
    must_equal keep "$(field unseen 9)"
    must_have unseen/results.tsv train_budget_overrun
    must_have unseen/results.tsv 'could not be looked for: no /proc'
else
    printf 'no mount namespace here: a machine without /proc is not played\n'
    must_equal 0 0
fi
finish
