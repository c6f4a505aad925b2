#!/bin/sh
# One would guess: save(step, ..) of Orbax's CheckpointManager writes a checkpoint, or raises if the directory has a
# later one.
# In fact a step that is not above the last one in the directory is passed over: save() returns False, no exception, no message. A second training
# in the directory of a first one that reached step 5 saves nothing before step 6, one that was rolled back to step 2 after a divergence loses what
# it does until then, and restore() afterwards has the weights of the first run.
# Version: orbax-checkpoint 0.12.8. Source: orbax/checkpoint/checkpoint_manager.py, CheckpointManager.should_save.
set -eu
dir=$(mktemp -d)
trap 'rm -rf "$dir"' EXIT
python3 -m venv "$dir/venv"
"$dir/venv/bin/pip" install -q --disable-pip-version-check --no-compile orbax-checkpoint==0.12.8 numpy==2.4.6
JAX_PLATFORMS=cpu "$dir/venv/bin/python" -W ignore - "$dir/checkpoints" 2>"$dir/err" <<'END' || { cat "$dir/err"; exit 1; }
import sys
from importlib.metadata import version
import numpy as np
import orbax.checkpoint as ocp
print("orbax-checkpoint", version("orbax-checkpoint"))
saved = []
for run, steps in ((1.0, (4, 5)), (2.0, (3, 4, 5))):
    with ocp.CheckpointManager(sys.argv[1]) as manager:
        for step in steps:
            saved.append(manager.save(step, args=ocp.args.StandardSave({"w": np.full(2, run)})))
            print(f"run {run:.0f}, step {step}: save() returns", saved[-1])
with ocp.CheckpointManager(sys.argv[1]) as manager:
    weights = float(manager.restore(manager.latest_step(), args=ocp.args.StandardRestore({"w": np.zeros(2)}))["w"][0])
    print("steps in the directory", manager.all_steps(), "restored weights are those of run", int(weights))
sys.exit(saved != [True, True, False, False, False] or weights != 1.0)
END
