#!/bin/sh
# One would guess: CheckpointManagerOptions(max_to_keep=1, best_fn=lambda metrics: metrics["loss"]) keeps the checkpoint with the smallest loss. The
# callbacks of Keras look at the metric, those of Lightning and PyTorch's examples take the smallest by default.
# In fact best_mode is "max" by default whatever best_fn returns: of three steps with the losses 3, 2 and 1 the first is kept, the two better ones
# are deleted as soon as they are written, best_step() names the worst, and no message says so. best_mode="min" has to be given.
# Version: orbax-checkpoint 0.12.8, jax 0.10.2. Source: orbax/checkpoint/checkpoint_manager.py, CheckpointManagerOptions.best_mode.
set -eu
dir=$(mktemp -d)
trap 'rm -rf "$dir"' EXIT
python3 -m venv "$dir/venv"
"$dir/venv/bin/pip" install -q --disable-pip-version-check --no-compile orbax-checkpoint==0.12.8 jax==0.10.2 numpy==2.4.6
"$dir/venv/bin/python" - "$dir" <<'END'
import logging
import sys
import numpy
import orbax.checkpoint as ocp

logging.disable(logging.WARNING)
kept = {}
for name, given in {"default": {}, "min": {"best_mode": "min"}}.items():
    options = ocp.CheckpointManagerOptions(max_to_keep=1, best_fn=lambda metrics: metrics["loss"], **given)
    with ocp.CheckpointManager(f"{sys.argv[1]}/{name}", options=options) as manager:
        for step, loss in enumerate([3.0, 2.0, 1.0]):
            manager.save(step, args=ocp.args.StandardSave({"w": numpy.full(2, loss)}), metrics={"loss": loss})
            manager.wait_until_finished()
        kept[name] = list(manager.all_steps()), manager.best_step()
print("orbax-checkpoint", ocp.__version__)
for name, (steps, best) in kept.items():
    print("losses 3, 2, 1, best_mode %s: kept steps %s, best_step %d" % (name, steps, best))
sys.exit(kept != {"default": ([0], 0), "min": ([2], 2)})
END
