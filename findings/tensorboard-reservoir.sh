#!/bin/sh
# One would guess: EventAccumulator of TensorBoard, the usual way to read event files in a script, returns every value that was logged, or the
# latest ones, or each second one.
# In fact it keeps at most 10,000 values of a scalar, drawn at random among all steps, and always the last one. Of 20,000 losses half are gone,
# among them the smallest, 0.125 at step 12345, so min() over the result is 1.0002. The draw has a fixed seed, so reading again does not help, and
# neighbours of a missing step are there, so no gap shows in a plot. No message. A size_guidance of {"scalars": 0} keeps all.
# Version: tensorboard 2.21.0, tensorboardX 2.6.5. Source: tensorboard/backend/event_processing/event_accumulator.py, DEFAULT_SIZE_GUIDANCE, and
# reservoir.py, _ReservoirBucket.AddItem.
set -eu
dir=$(mktemp -d)
trap 'rm -rf "$dir"' EXIT
python3 -m venv "$dir/venv"
"$dir/venv/bin/pip" install -q --disable-pip-version-check --no-compile tensorboard==2.21.0 tensorboardX==2.6.5 numpy==2.4.6
"$dir/venv/bin/python" -W ignore - "$dir/events" 2>"$dir/err" <<'END' || { cat "$dir/err"; exit 1; }
import sys
from importlib.metadata import version
from tensorboard.backend.event_processing.event_accumulator import EventAccumulator
from tensorboardX import SummaryWriter
print("tensorboard", version("tensorboard"), "tensorboardX", version("tensorboardX"))
with SummaryWriter(sys.argv[1]) as writer:
    for step in range(20000):
        writer.add_scalar("loss", 0.125 if step == 12345 else 1.0 + step * 1e-4, step)
read = {}
for name, option in (("default", {}), ("scalars: 0", {"size_guidance": {"scalars": 0}})):
    events = EventAccumulator(sys.argv[1], **option)
    events.Reload()
    losses = events.Scalars("loss")
    read[name] = (len(losses), min(event.value for event in losses), losses[-1].step)
    print(f"size_guidance {name}: {read[name][0]} values, smallest {read[name][1]:.4f}, last step {read[name][2]}")
sys.exit(read["default"][0] != 10000 or not read["default"][1] > 1.0 or read["default"][2] != 19999 or read["scalars: 0"][:2] != (20000, 0.125))
END
