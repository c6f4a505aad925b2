#!/bin/sh
# One would guess: WebDataset makes a sample of the files of a tar archive that differ only in what follows the last dot, as splitext() and every
# program does it, so gpt-4.0.json and gpt-4.5.json, or lr0.1.txt and lr0.01.txt, are two samples.
# In fact the key of a sample ends at the first dot of the name: both files belong to one sample "gpt-4" with the fields 0.json and 5.json. So a data
# set whose names have a decimal number, a version or a time of 12.30 in them has fewer samples than files, and a decoder or a
# to_tuple("json") finds no field json in them. Names with the same start that are not neighbours in the archive are samples with equal keys.
# Version: webdataset 1.0.2. Source: webdataset/tariterators.py, base_plus_ext and group_by_keys.
set -eu
dir=$(mktemp -d)
trap 'rm -rf "$dir"' EXIT
python3 -m venv "$dir/venv"
"$dir/venv/bin/pip" install -q --disable-pip-version-check --no-compile webdataset==1.0.2 numpy==2.4.6
"$dir/venv/bin/python" -W ignore - "$dir/samples.tar" 2>"$dir/err" <<'END' || { cat "$dir/err"; exit 1; }
import io, sys, tarfile
from importlib.metadata import version
import webdataset
print("webdataset", version("webdataset"))
with tarfile.open(sys.argv[1], "w") as archive:
    for name in ("gpt-4.0.json", "gpt-4.5.json", "lr0.1.txt", "lr0.01.txt", "plain.txt"):
        member = tarfile.TarInfo(name)
        member.size = 2
        archive.addfile(member, io.BytesIO(b"{}"))
samples = []
for sample in webdataset.WebDataset(sys.argv[1], shardshuffle=False):
    samples.append((sample["__key__"], sorted(field for field in sample if not field.startswith("__"))))
    print("sample", *samples[-1])
sys.exit(samples != [("gpt-4", ["0.json", "5.json"]), ("lr0", ["01.txt", "1.txt"]), ("plain", ["txt"])])
END
