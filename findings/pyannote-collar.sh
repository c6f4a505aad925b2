#!/bin/sh
# One would guess: DiarizationErrorRate(collar=0.25) of pyannote.metrics forgives errors up to 0.25 seconds on each side of a
# boundary; 0.25 is the collar that papers name.
# In fact collar is the whole width, half of it on each side: a change of speaker that is recognised 0.2 seconds late is still an error with 0.25, and
# forgiven with 0.5. An error rate with "a collar of 0.25 s" from this package is stricter than one of the same words from a scorer that takes it
# for each side, and models that were measured with both cannot be ranked.
# Version: pyannote.metrics 4.2.0. Source: pyannote/metrics/utils.py, UEMSupportMixin.extrude, Segment(t - 0.5 * collar, t + 0.5 * collar).
set -eu
dir=$(mktemp -d)
trap 'rm -rf "$dir"' EXIT
python3 -m venv "$dir/venv"
"$dir/venv/bin/pip" install -q --disable-pip-version-check --no-compile pyannote.metrics==4.2.0 numpy==2.4.6
OPENBLAS_NUM_THREADS=1 "$dir/venv/bin/python" -W ignore - 2>"$dir/err" <<'END' || { cat "$dir/err"; exit 1; }
import sys
from importlib.metadata import version
from pyannote.core import Annotation, Segment
from pyannote.metrics.diarization import DiarizationErrorRate
print("pyannote.metrics", version("pyannote.metrics"))

def two_speakers(change):
    spoken = Annotation()
    spoken[Segment(0, change)] = "A"
    spoken[Segment(change, 20)] = "B"
    return spoken

rates = []
for collar in (0.0, 0.25, 0.5):
    rates.append(round(float(DiarizationErrorRate(collar=collar)(two_speakers(10), two_speakers(10.2))), 4))
    print("change of speaker 0.2 s late, collar", collar, "error rate", rates[-1])
sys.exit(rates[0] != 0.01 or not rates[1] > 0 or rates[2] != 0.0)
END
