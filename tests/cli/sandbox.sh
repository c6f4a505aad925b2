#!/bin/sh
# sandbox.sh: with --sandbox a trial has no network and writes nothing but its own directory, and the row says which layers
# there were. What this kernel lacks is not tried.
# shellcheck disable=SC2016,SC2034,SC2154 # $ is for the commands of trials
. "$SOURCE/tests/support/shell.sh"

layers() # STORE ID: as run.json has them
{
    sed -n 's/.*"sandbox_layers": \[\(.*\)\].*/\1/p' "$1/provenance/$2/run.json" | tr -d '"'
}
label()
{
    tail -n 1 "$1/results.tsv" | cut -f 9
}

must_fail 2 "sandbox: 'always' is neither require nor try" run -C s --direction higher --sandbox always -- true
must_fail 2 '--sandbox-write needs --sandbox' run -C s --direction higher --sandbox-write . -- true
must_fail 2 '--sandbox-read needs --sandbox' run -C s --direction higher --sandbox-read . -- true
must_fail 2 'sandbox_read: nowhere: No such file' run -C s --direction higher --sandbox try --sandbox-read nowhere -- true
must_fail 2 'sandbox_write: nowhere: No such file' run -C s --direction higher --sandbox try --sandbox-write nowhere -- true
[ ! -e s ] || fail 'a refused run made a store'

mkdir project && cd project || exit
echo 1 >evaluate
run run -C ../s --direction higher --sandbox try -m acc -- echo acc 1
must_exit 0
must_have err 'lineage: sandbox: '
all='landlock, mounts, network, seccomp, privileges'
have=$(layers ../s 000)
sed -n 's/^lineage: sandbox: //p' err | grep -qx "$have" || fail "the row says '$have', and standard error does not"
if [ "$have" != "$all" ]; then
    echo "this kernel grants only: $have; the others are not tried"
    must_have err 'warning: the sandbox lacks '
    run run -C ../s -q --sandbox require -m acc -- echo acc 1
    must_exit 3
    must_have err 'nothing was run: the sandbox would lack'
    finish
fi
must_run run -C ../s -q --sandbox require -m acc -- echo acc 2

# ---- files ----

# inside SCRIPT...: runs the script in the sandbox; its output is in `said`.
inside()
{
    run run -C ../s --sandbox require -m acc -- sh -c "$1; echo acc 3" sh
    cp err said
}
inside 'echo 1 >{workdir}/own && echo own; echo 1 >$TMPDIR/own && echo temporary; echo 1 >/dev/null && echo null
    mkdir {workdir}/d && mv {workdir}/own {workdir}/d/ && echo moved; cat evaluate ../s/results.tsv >/dev/null && echo read
    echo "{\"step\": 7}" >"$LINEAGE_EVENTS" && echo event'
for word in own temporary null moved read event; do
    grep -qx "$word" said || fail "the sandbox does not let a trial: $word"
done
must_equal keep "$(label ../s)"
[ -e ../s/snapshots/002_/d/own ] || fail 'the snapshot lacks what the trial wrote'
[ -z "$(find ../s -name tmp)" ] || fail 'the directory for temporary files is left'
cp ../s/results.tsv before
for attack in 'echo x >>../s/results.tsv' 'rm ../s/lineage.json' 'mv ../s ../t' 'echo 2 >evaluate' 'rm evaluate' 'mv evaluate other' \
    'touch new' 'mkdir new' 'ln -s x new' 'mkfifo new' 'chmod 777 evaluate' 'touch -d 2001-01-01 evaluate' 'truncate -s 0 evaluate' \
    'ln evaluate {workdir}/linked && echo 2 >{workdir}/linked' 'ln -s "$PWD/evaluate" {workdir}/to && echo 2 >{workdir}/to' \
    'echo 2 >/proc/$PPID/root$PWD/evaluate' 'echo 2 >/proc/$PPID/cwd/evaluate' 'echo 2 >/proc/self/root$PWD/evaluate' \
    'mount -o remount,rw /' 'umount -l .' 'echo x >/dev/pts/0' 'echo x >"$HOME/.lineage-sandbox-test"' 'echo 9 >/proc/sys/kernel/printk' 'cp evaluate {workdir}/../../evaluate'; do
    inside "if $attack; then echo escaped; fi"
    ! grep -qx escaped said || fail "the sandbox lets a trial: $attack"
    checks=$((checks + 1))
done
must_equal 1 "$(cat evaluate)"
for name in new other linked; do
    [ ! -e $name ] || fail "a trial made $name"
done
must_equal "$(cat before)" "$(head -n "$(wc -l <before)" ../s/results.tsv)"
must_run verify -C ../s
# What is named may be written, a directory or a file.
mkdir cache && echo 0 >counter
run run -C ../s --sandbox require --sandbox-write cache --sandbox-write "$PWD/counter" -m acc -- \
    sh -c 'echo 1 >cache/x && echo 1 >counter && ! touch beside && echo acc 4'
must_exit 0
must_equal '1 1' "$(cat cache/x counter | tr '\n' ' ' | sed 's/ $//')"
rm -r cache counter

# ---- keys of the user ----

# Each place has a word that a trial must not see, by whichever way it goes there.
home="$PWD/../home" && mkdir -p "$home/.ssh" "$home/elsewhere" "$home/.aws" && home=$(cd "$home" && pwd -P)
echo hush-1 >"$home/.ssh/id_ed25519" && echo hush-2 >"$home/.netrc" && echo hush-3 >"$home/elsewhere/token"
echo hush-4 >"$home/.aws/credentials" && echo open-5 >"$home/notes" && ln -s elsewhere "$home/.kube"
look() # OPTION...: what a trial sees with them
{
    HOME=$home PGPASSFILE="$home/pass" run run -C ../s --sandbox require "$@" -m acc -- sh -c 'home=$1
        for root in "" /proc/self/root /proc/$PPID/root /proc/1/root; do
            cat "$root$home/.ssh/id_ed25519" "$root$home/.netrc" "$root$home/elsewhere/token" "$root$home/.aws/credentials" \
                "$root$home/notes" "$root$home/pass"
        done; umount "$home/.ssh" "$home/.netrc"; mv "$home/.ssh" "$home/moved"; cat "$home"/*/id_ed25519
        ls -A "$home/.ssh"; echo acc 6' sh "$home"
    must_exit 0
}
echo hush-6 >"$home/pass"
look
must_have err open-5
must_lack err hush
must_have err "sandbox hides $home/.ssh, $home/.netrc, $home/pass, $home/.aws, $home/elsewhere"
id=$(cat out)
grep -q "\"$home/.aws\"" "../s/provenance/$id/run.json" || fail 'run.json does not say what was hidden'
! grep -rq hush- "../s/logs/$id"* || fail 'the log has a key'
look --sandbox-read "$home/.aws"
must_have err hush-4
for n in 1 2 3 6; do
    must_lack err hush-$n
done
HOME=$home must_fail 3 "$home/.ssh is hidden or shown as a whole" run -C ../s --sandbox require --sandbox-read "$home/.ssh/id_ed25519" -m acc -- true
look --sandbox-read "$home"
for n in 1 2 3 4 6; do
    must_have err hush-$n
done
# A trial that works in such a place sees it.
HOME=$home run run -C "$home/.aws/s" --direction higher --sandbox require -m acc -- sh -c 'cat "$1"; cat "$2"; echo acc 1' sh "$home/.aws/credentials" "$home/.netrc"
must_exit 0
must_have err hush-4
must_lack err hush-2
rm -r "$home"

# ---- network and processes ----

if command -v python3 >/dev/null; then
    cat >net.py <<'END'
import socket, os, signal, multiprocessing, ctypes
def refused(what, call):
    try:
        call()
    except OSError:
        return
    print("escaped", what)
def local():
    s = socket.socket(); s.bind(("127.0.0.1", 0)); s.listen()
    socket.create_connection(s.getsockname())
local()
refused("internet", lambda: socket.create_connection(("192.0.2.1", 53), 2))
refused("machine", lambda: socket.create_connection(("127.0.0.1", int(os.environ["PORT"])), 2))
refused("socket", lambda: socket.socket(socket.AF_UNIX).connect(os.environ["SOCKET"]))
refused("packets", lambda: socket.socket(17, socket.SOCK_RAW))
refused("signal", lambda: os.kill(int(os.environ["WATCHER"]), 0))
libc = ctypes.CDLL(None, use_errno=True)
for call, args in (("unshare", (0x10000000,)), ("ptrace", (16, os.getppid(), 0, 0)), ("mount", (b"x", b"/mnt", b"tmpfs", 0, None))):
    if getattr(libc, call)(*args) == 0:
        print("escaped", call)
if os.getcwd().startswith("/dev/shm"): # which is read-only then
    print("METRIC acc=5")
else:
    with multiprocessing.Pool(2) as pool:
        print("METRIC acc=%d" % sum(pool.map(abs, [-3, -2])))
END
    cat >serve.py <<'END'
import socket, sys
s = socket.socket(); s.bind(("127.0.0.1", 0)); s.listen()
u = socket.socket(socket.AF_UNIX); u.bind(sys.argv[1]); u.listen()
print(s.getsockname()[1], flush=True)
sys.stdin.read()
END
    mkfifo stop
    python3 serve.py "$PWD/../socket" <stop >port &
    exec 4>stop
    until [ -s port ]; do sleep 0.05; done
    PORT=$(cat port) SOCKET="$PWD/../socket" WATCHER=$$ run run -C ../s --sandbox require -m acc -- python3 net.py
    must_exit 0
    must_lack err escaped
    must_equal 5.0 "$(tail -n 1 ../s/results.tsv | cut -f 10)"
    # The same program outside of the sandbox escapes in each way that needs no privileges.
    PORT=$(cat port) SOCKET="$PWD/../socket" WATCHER=$$ run run -C ../s -m acc -- python3 net.py
    for way in machine socket signal; do
        must_have err "escaped $way"
    done
    exec 4>&-
    wait
fi

# ---- a kernel that lacks layers: one sandbox in another may make no namespaces ----

run run -C ../s --sandbox require -m acc -- sh -c 'export HOME={workdir} ASAN_OPTIONS="$ASAN_OPTIONS:detect_leaks=0" # which traces its process
    "$0" run -C {workdir}/inner --direction higher --sandbox require -m acc -- echo acc 1; echo "status $?"
    "$0" run -C {workdir}/inner --direction higher --sandbox try -m acc -- sh -c "echo acc 1; touch \$HOME/beside"
    sed -n "s/.*sandbox_layers/inner layers/p" {workdir}/inner/provenance/000/run.json; rm -r {workdir}/inner; echo acc 1' "$LINEAGE"
must_exit 0
must_have err 'nothing was run: the sandbox would lack mounts (Operation not permitted), network (Operation not permitted)'
must_have err 'status 3'
must_have err 'warning: the sandbox lacks mounts (Operation not permitted), network (Operation not permitted)'
must_have err 'inner layers": ["landlock", "seccomp", "privileges"]'
must_have err "beside': Permission denied"

# ---- sweeps, reruns, and the sealed evaluation ----

cat >sweep.json <<'END'
{"direction": "higher", "score": "acc", "no_refs": true, "protect": ["evaluate"], "sealed_eval": "echo METRIC acc=$(cat evaluate); touch x || true",
 "command": "echo {n}; if touch escaped; then echo METRIC acc=9; fi", "grid": {"n": [1, 2]}, "sandbox": "require"}
END
run night sweep.json -C ../n
must_exit 0
must_equal '1.0 1.0' "$(sed 1d ../n/results.tsv | cut -f 10 | tr '\n' ' ' | sed 's/ $//')"
must_equal "$all" "$(layers ../n 000)"
[ ! -e escaped ] || fail 'a trial of the night wrote into the project'
sed 's/, "sandbox": "require"//' sweep.json >plain.json
run night plain.json -C ../m --sandbox require -j 2
must_exit 0
must_equal "$all" "$(layers ../m 001)"
[ ! -e escaped ] || fail 'a trial of the night wrote into the project'
must_fail 2 "--sandbox: 'yes' is neither" night plain.json -C ../k --sandbox yes
sed 's/"sandbox": "require"/"sandbox": "yes"/' sweep.json >wrong.json
must_fail 2 "sandbox: 'yes' is neither" night wrong.json -C ../k
run rerun -C ../n 000
must_equal "$all" "$(layers ../n 002)"

# ---- without privileges ----

if [ "$(id -u)" = 0 ] && command -v setpriv >/dev/null; then
    cd .. && mkdir open && chmod 777 open . && cd open || exit
    setpriv --reuid 65534 --regid 65534 --clear-groups "$LINEAGE" run -C s --direction higher --sandbox require -m acc -- \
        sh -c 'if touch escaped; then echo escaped; fi; grep CapEff /proc/self/status; echo acc 1' >out 2>err
    last='a run of nobody'
    if grep -q 'nothing was run' err; then
        echo "without privileges: $(cat err)"
    else
        must_equal 000 "$(cat out)"
        must_have err 'CapEff:	0000000000000000'
        [ ! -e escaped ] || fail 'nobody escaped'
    fi
fi
finish
