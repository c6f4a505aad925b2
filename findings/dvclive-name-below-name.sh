#!/bin/sh
# One would guess: names with a slash only group metrics, so a program can log "loss" and, as many do, its parts "loss/ce" and "loss/kl"; DVCLive
# writes them into loss.tsv and loss/ce.tsv side by side.
# In fact the curves are written, and then the summary cannot hold a number and a group under one name: the call that logs "loss/ce" ends with
# AttributeError: 'float' object has no attribute 'copy' and names no metric. In the other order there is no error: "loss" takes the place
# of the group, and metrics.json, which `dvc metrics` compares, has none of the parts.
# Version: dvclive 3.49.1. Source: dvclive/live.py, log_metric, which puts the number into the summary by the parts of its name.
set -eu
dir=$(mktemp -d)
trap 'rm -rf "$dir"' EXIT
python3 -m venv "$dir/venv"
"$dir/venv/bin/pip" install -q --disable-pip-version-check --no-compile dvclive==3.49.1
cd "$dir"
cat >"$dir/log.py" <<'END'
import json
import pathlib
import sys
from importlib.metadata import version
from dvclive import Live

def log(names, folder):
    with Live(folder, save_dvc_exp=False, dvcyaml=None, report=None) as live:
        for name in names:
            live.log_metric(name, 1.5)
    curves = sorted(str(p.relative_to(folder)) for p in pathlib.Path(folder).rglob("*.tsv"))
    return curves, json.loads(pathlib.Path(folder, "metrics.json").read_text())

print("dvclive", version("dvclive"))
try:
    log(["loss", "loss/ce"], "whole-first")
    error = None
except AttributeError as raised:
    error = str(raised)
print("loss, then loss/ce: AttributeError:", error)
curves, summary = log(["loss/ce", "loss/kl", "loss"], "parts-first")
print("loss/ce, loss/kl, then loss: curves", *curves)
print("metrics.json:", summary)
sys.exit(not (error and len(curves) == 3 and summary.get("loss") == 1.5))
END
"$dir/venv/bin/python" "$dir/log.py"
