#!/bin/sh
# One would guess: the JSON of sacreBLEU, its default output, has all digits of the score; only texts are rounded.
# In fact the score in the JSON is rounded to -w digits, which is 1, so that systems which differ by less than 0.1 are equal in a
# search that reads it. The digits are lost in the number itself: "score": 87.1.
# Version: sacrebleu 2.6.0. Source: sacrebleu/metrics/base.py, Score.format, and sacrebleu.py.
set -eu
dir=$(mktemp -d)
trap 'rm -rf "$dir"' EXIT
cd "$dir"
python3 -m venv venv
venv/bin/pip install -q --disable-pip-version-check sacrebleu==2.6.0
for i in $(seq 400); do echo "the cat number $i sat on the mat near the door today"; done >ref
sed '1,200s/near/by/' ref >a
sed '1,201s/near/by/' ref >b
for system in a b; do
    venv/bin/sacrebleu ref -i $system >$system.json
    venv/bin/python -c "import sacrebleu, sys; print(sacrebleu.corpus_bleu(open('$system').read().splitlines(), [open('ref').read().splitlines()]).score)" >$system.exact
    echo "system $system: JSON $(sed -n 's/.*"score": //p' $system.json) exact $(cat $system.exact)"
done
[ "$(sed -n 's/.*"score": //p' a.json)" = "$(sed -n 's/.*"score": //p' b.json)" ] && ! cmp -s a.exact b.exact
