#!/bin/sh
# links.sh: links in a store are not followed out of it, a pipe in the place of an output file is not waited for for ever, and
# no message has a word of a file behind a link.
. "$SOURCE/tests/support/shell.sh"
must_run init s --direction lower
must_run append -C s --status keep --core-metric 1 --hypothesis first
run run -q -C s -m loss -- sh -c 'echo "loss 0.5"'
must_exit 0

# ---- folders and files that are links ----
mkdir outside
printf '{"steps": [{"step": 1, "loss": 7.125}]}\n' >outside/000.json
echo 'private log' >outside/001.log
mkdir outside/001 && printf '{"command": ["private-command"], "directory": "/"}\n' >outside/001/run.json
for what in telemetry logs provenance; do
    rm -rf f && cp -a s f && rm -rf "f/$what" && ln -s ../outside "f/$what"
    run show 000 -C f
    must_lack out 7.125
    run show 001 -C f
    must_lack out private-command
    run logs 001 -C f
    must_lack out 'private log'
    run sql -C f 'SELECT * FROM step_metrics'
    must_lack out 7.125
    "$LINEAGE" run -q -C f -m loss -- echo loss 3 >id 2>err
    must_equal '000.json 001 001.log' "$(cd outside && echo *)" "files behind a link of $what"
    must_equal 1 "$(find outside/001 -type f | wc -l)"
done
rm -rf f && cp -a s f && rm f/provenance/001/run.json && ln -s ../../../outside/001/run.json f/provenance/001/run.json
run show 001 -C f
must_lack out private-command
rm -rf f && cp -a s f && rm f/logs/001.log && ln -s ../../outside/001.log f/logs/001.log
run logs 001 -C f
must_lack out 'private log'
rm -rf f && cp -a s f && mkdir -p f/telemetry && rm -f f/telemetry/000.json && ln -s ../../outside/000.json f/telemetry/000.json
run verify -C f
must_exit 1
must_have out 'telemetry cannot be read'

# ---- lineage.json ----
for text in 'secretword' '{"secretword": 1}' '{"direction": "secretword"}' 'root:secretword:1'; do
    echo "$text" >target
    rm -rf f && cp -a s f && ln -sf ../target f/lineage.json
    must_fail 2 'lineage.json is a link to a file that does not have the settings of a store' best -C f
    must_lack err secretword
done
echo '{"direction": "lower"}' >target
must_run best -C f

# ---- a pipe as output ----
mkfifo pipe
timeout 30 "$LINEAGE" render -C s --output pipe >out 2>err
status=$? last="render into a pipe that nobody reads"
must_exit 3
must_have err 'no process reads this pipe'
cat pipe >got &
reader=$!
timeout 30 "$LINEAGE" render -C s --output pipe >out 2>err
status=$? last="render into a pipe that is read"
must_exit 0
wait $reader
must_have got '# Session start'
finish
