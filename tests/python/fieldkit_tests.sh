#!/bin/sh
# fieldkit_tests.sh: runs fieldkit's own tests of its log with lineage.fieldkit in place of fieldkit.lineage. The tests are
# taken from a clone of https://github.com/manavsehgal/ai-field-notes, at the commit below; FIELDKIT_CLONE names it.
# Skipped without the clone, the commit or pytest.
set -eu
commit=f68990d499b3c811f42a34c677d4e2e8b835cdf9
skip()
{
    echo "SKIP: $1"
    exit 77
}
clone=${FIELDKIT_CLONE:-}
python=/usr/bin/python3 # Debian's, even if another python3 is first on the path
[ -n "$clone" ] || skip 'FIELDKIT_CLONE does not name a clone of manavsehgal/ai-field-notes'
git -C "$clone" cat-file -e "$commit^{commit}" 2>/dev/null || skip "$clone does not have the commit $commit"
$python -c 'import pytest' 2>/dev/null || skip 'there is no pytest'

scratch=$(mktemp -d)
trap 'rm -rf "$scratch"' EXIT
mkdir "$scratch/fieldkit"
: >"$scratch/fieldkit/__init__.py"
echo 'from lineage.fieldkit import *' >"$scratch/fieldkit/lineage.py"
git -C "$clone" show "$commit:fieldkit/tests/test_lineage.py" >"$scratch/test_lineage.py"
cd "$scratch"
PYTHONDONTWRITEBYTECODE=1 PYTHONPATH=$scratch:$SOURCE/src/python $python -m pytest -q -p no:cacheprovider test_lineage.py
