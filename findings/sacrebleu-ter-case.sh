#!/bin/sh
# One would guess: the three metrics that one call of sacreBLEU computes (-m bleu chrf ter) agree on whether "CAT" is a wrong answer for "cat".
# In fact TER makes both texts lower case unless --ter-case-sensitive is given, and BLEU and chrF do not: an output in capitals has a TER of 0.0, the
# best there is, beside a BLEU and a chrF of 0.0, the worst. A system that loses the case, as one for speech does, wins or loses by which of
# the columns a table is sorted by. The signature tells, case:lc.
# Version: sacrebleu 2.6.0. Source: sacrebleu/metrics/ter.py, case_sensitive=False.
set -eu
dir=$(mktemp -d)
trap 'rm -rf "$dir"' EXIT
cd "$dir"
python3 -m venv venv
venv/bin/pip install -q --disable-pip-version-check --no-compile sacrebleu==2.6.0 numpy==2.4.6
echo "the cat sat on the mat today" >reference
echo "THE CAT SAT ON THE MAT TODAY" >output
venv/bin/sacrebleu reference -i output -m bleu chrf ter --short 2>err >out || { cat err; exit 1; }
venv/bin/sacrebleu --version
cat out
for metric in BLEU chrF2 TER; do
    grep -A1 "\"name\": \"$metric\"" out | grep -q '"score": 0.0,'
done
venv/bin/sacrebleu reference -i output -m ter --ter-case-sensitive -b | tee sensitive
grep -qx 100.0 sensitive
