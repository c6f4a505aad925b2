# server_absent.sh: a store on a server, as far as it can be tested without one: refused names, a server that does not
# answer, a build without PostgreSQL. Tests that need a server are in tests/server.
. "$SOURCE/tests/support/shell.sh"
XDG_STATE_HOME=$PWD/state
export XDG_STATE_HOME
nobody=postgres://nobody@127.0.0.1:1

if "$LINEAGE" -C "$nobody/db" best 2>&1 | grep -q 'built without'; then
    must_fail 2 'built without PostgreSQL' -C "$nobody/db" best
    must_fail 2 'built without PostgreSQL' init "$nobody/db"
    finish
fi

# A password would be visible in the list of processes, in lineage.json and in messages, so it is refused.
for name in postgres://a:secret@h/db 'postgres://h/db?password=secret' 'postgres://h/db/s?x=1&sslpassword=secret'; do
    must_fail 2 'a password does not belong' -C "$name" best
    must_equal '' "$(grep -r secret err state 2>/dev/null)" "the password of $name"
done
must_fail 2 'is not the name of a store' -C postgres://h/db/a/b best
must_fail 2 'is not the name of a store' -C 'postgres://h/db?store=..' best
must_fail 2 'is not the name of a store' -C postgres://h/db/.hidden best
must_fail 2 'blanks and control characters' -C 'postgres://h/d b' best

# If the server does not answer, reading commands say so and leave a directory that knows the server's address.
must_fail 3 'is away: ' -C "$nobody/db/s" best
must_fail 3 'is away: ' init "$nobody/db/s"
must_equal "{
  \"log\": \"$nobody/db/s\"
}" "$(cat state/lineage/s-*/lineage.json)"

# The same store opened through a directory; its lineage.json may set only the log.
mkdir d
echo "{\"log\": \"$nobody/db/s\"}" >d/lineage.json
must_fail 2 'lineage trust d' -C d best
must_run trust d
must_fail 3 'is away: ' -C d best
echo "{\"log\": \"$nobody/db/s\", \"direction\": \"higher\"}" >d/lineage.json
must_fail 2 'nothing else' -C d best
echo '{"log": 3}' >d/lineage.json
must_fail 2 'must be a string' -C d best

# ---- in a job of a scheduler, a worker names a launcher that does not pass TERM on (the table in cli/man/nights.md) ----
printf 'echo METRIC loss=1\n' >leaves.sh
printf 'cd /\n  exec echo METRIC loss=1\n' >execs.sh
warns() # WHAT COMMAND-AS-JSON: standard error names WHAT, or nothing if that is ''
{
    printf '{"name": "s", "direction": "lower", "files": ["leaves.sh", "execs.sh"], "command": %s, "grid": {"x": [1]}}\n' "$2" >submit.json
    SLURM_JOB_ID=1 "$LINEAGE" night submit.json -C jobs --worker --list >out 2>err || fail "$2"
    must_equal "$1" "$(sed -n 's/.*`\(.*\)` starts the training and does not pass TERM on.*/\1/p' err)" "$2"
    [ -n "$1" ] || must_equal '' "$(cat err)" "$2"
}
warns 'sh -c' '"python3 {workdir}/train.py {x}"'
warns '' '"cd {workdir} && exec python3 train.py {x}"'
warns npm '"cd {workdir} && exec npm run train -- {x}"'
warns 'sh -c' '["bash", "-lc", "python3 {workdir}/train.py {x} | tee log"]'
warns sh '["env", "A=1", "sh", "{workdir}/leaves.sh", "{x}"]'
warns '' '["sh", "{workdir}/execs.sh", "{x}"]'
warns npm '["npm", "run", "train", "--", "{workdir}", "{x}"]'
warns just '["timeout", "60", "just", "train", "{workdir}", "{x}"]'
warns xargs '["xargs", "-a", "{workdir}/list", "python3", "train.py", "{x}"]'
warns unbuffer '["stdbuf", "-oL", "unbuffer", "python3", "{workdir}/train.py", "{x}"]'
warns setsid '["setsid", "-w", "python3", "{workdir}/train.py", "{x}"]'
warns 'accelerate launch' '["uv", "run", "accelerate", "launch", "{workdir}/train.py", "{x}"]'
warns '' '["torchrun", "--nproc-per-node", "2", "{workdir}/train.py", "{x}"]'
warns '' '["python3", "{workdir}/train.py", "{x}"]'
# So does run in a job of a scheduler; elsewhere it ends itself what a launcher leaves.
run run -C plain --direction lower -q -- sh -c 'echo METRIC loss=1'
must_equal '' "$(cat err)"
export SLURM_JOB_ID=1
run run -C plain -q -- sh -c 'echo METRIC loss=1'
must_exit 0
must_have err '`sh -c` starts the training and does not pass TERM on'
run run -C plain -q -- echo METRIC loss=1
must_equal '' "$(cat err)"
finish
