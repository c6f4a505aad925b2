#!/bin/sh
# One would guess: a run whose process was killed by SIGKILL is not recorded as finished, and what it logged a second before is on the disk.
# In fact, if the killed process is a child of one that has a run (a sweep agent, a launcher that logs itself), both share one service
# process, and when the parent ends, the service writes an exit record with exit code 0 for the child: its log, synced or read, is that
# of a run that finished, and its last value counts. A process that is killed alone leaves no exit record, but after a second its log
# still has only its header of 7 bytes: nothing of the run, not even its name, can be read.
# Version: wandb 0.31.0, offline mode. Source: the records of run-ID.wandb, read with wandb's own protocol buffers.
set -eu
dir=$(mktemp -d)
trap 'rm -rf "$dir"' EXIT
cd "$dir"
python3 -m venv venv
venv/bin/pip install -q --disable-pip-version-check wandb==0.31.0
cat >probe.py <<'END'
import glob, os, signal, subprocess, sys, time
os.environ.update(WANDB_MODE="offline", WANDB_SILENT="true", WANDB_DISABLE_GIT="true", WANDB_CONSOLE="off")
import wandb
from wandb.proto import wandb_internal_pb2

CHILD = """import os, signal, sys, time, wandb
run = wandb.init(project="p", id=sys.argv[1])
run.log({"loss": 0.5})
time.sleep(1)
os.kill(os.getpid(), signal.SIGKILL)"""


def log_of(name):
    with open(glob.glob(f"wandb/offline-run-*/run-{name}.wandb")[0], "rb") as file:
        return file.read()


def exit_codes(data): # a log this small is one block: a header, and records of CRC, length, type and data
    at, codes = 7, []
    while at + 7 <= len(data):
        length = int.from_bytes(data[at + 4:at + 6], "little")
        record = wandb_internal_pb2.Record.FromString(data[at + 7:at + 7 + length])
        at += 7 + length
        if record.HasField("exit"):
            codes.append(record.exit.exit_code)
    return codes


alone = subprocess.run([sys.executable, "-c", CHILD, "alone"], capture_output=True).returncode
run = wandb.init(project="p", id="parent")
child = subprocess.run([sys.executable, "-c", CHILD, "child"], capture_output=True).returncode
run.finish()
wandb.teardown()
time.sleep(5)
print("wandb", wandb.__version__, "- killed by", -alone, "and", -child)
print("alone:", len(log_of("alone")), "bytes; child of a process with a run: exit codes", exit_codes(log_of("child")))
sys.exit((alone, child, len(log_of("alone")), exit_codes(log_of("child"))) != (-signal.SIGKILL, -signal.SIGKILL, 7, [0]))
END
HOME=$dir venv/bin/python probe.py
