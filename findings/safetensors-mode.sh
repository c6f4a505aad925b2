#!/bin/sh
# One would guess: save_file of safetensors opens the file that is named, as torch.save and numpy.save do and as it did before 0.8: its mode
# follows the umask, and a symbolic link such as best.safetensors is written through.
# In fact it writes a temporary file and renames it: the file has mode 0600 whatever the umask is, and a link becomes a plain file, so that
# the checkpoint to which it pointed keeps the old weights. save_pretrained of transformers passes that on: beside a config.json of mode 0644,
# model.safetensors can be read by its owner only, and an evaluation by another user or service fails, or scores the old weights by the link.
# Version: safetensors 0.8.0. Source: bindings/python/src/lib.rs and safetensors/src/tensor.rs, serialize_to_file.
set -eu
dir=$(mktemp -d)
trap 'rm -rf "$dir"' EXIT
python3 -m venv "$dir/venv"
"$dir/venv/bin/pip" install -q --disable-pip-version-check safetensors==0.8.0 numpy==2.4.6
cd "$dir"
venv/bin/python - <<'END'
import os, sys
import numpy as np
import safetensors
from safetensors.numpy import load_file, save_file
print("safetensors", safetensors.__version__)
os.umask(0o022)
np.save("array.npy", np.zeros(2))
save_file({"w": np.zeros(2)}, "step1.safetensors")
os.symlink("step1.safetensors", "best.safetensors")
save_file({"w": np.ones(2)}, "best.safetensors")
modes = [oct(os.stat(name).st_mode & 0o777) for name in ("array.npy", "step1.safetensors")]
link, old = os.path.islink("best.safetensors"), load_file("step1.safetensors")["w"].tolist()
print(f"modes: numpy {modes[0]}, safetensors {modes[1]}; still a link: {link}; what it pointed to holds {old}")
sys.exit(modes != ["0o644", "0o600"] or link or old != [0.0, 0.0])
END
