#!/bin/sh
# One would guess: csvkit reads "0,91" of a table that a spreadsheet wrote with decimal commas as text, refuses it, or warns, as it does for
# "0.91x".
# In fact a comma is taken out wherever it is, so "0,91" is the number 91 and "0,905" is 905: csvsort puts the run with 0,905 before the one
# with 0,91, csvstat says a mean of 361, and a rewritten table holds the wrong numbers. 0,001 and 0,01 as learning rates are both 1.
# No message, exit status 0. "5%" beside "0.5" becomes 5 in the same way: signs of per cent and of money are cut off, too.
# Version: csvkit 2.2.0, agate 1.14.2. Source: agate/data_types/number.py, Number.cast.
set -eu
dir=$(mktemp -d)
trap 'rm -rf "$dir"' EXIT
cd "$dir"
python3 -m venv venv
venv/bin/pip install -q --disable-pip-version-check csvkit==2.2.0 agate==1.14.2
cat >runs.csv <<'END'
run,lr,share,score
a,"0,3",0.5,"0,91"
b,"0,001",5%,"0,905"
c,"0,01",$5,"0,88"
END
venv/bin/csvsort --version
echo "csvsort -r -c score:"
venv/bin/csvsort -r -c score runs.csv | tee sorted.csv
echo "csvstat --mean -c score: $(venv/bin/csvstat --mean -c score runs.csv | tee mean)"
printf 'run,lr,share,score\nb,1,5,905\na,3,0.5,91\nc,1,5,88\n' | cmp - sorted.csv
grep -q '^361\.333' mean
