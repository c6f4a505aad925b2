#!/bin/sh
# fieldkit_tests.sh: runs fieldkit's own tests of its log with lineage.fieldkit in place of fieldkit.lineage. The tests are in
# fieldkit's source distribution, which tests/run.sh fetches into the build directory. Skipped without it or pytest.
set -eu
python=/usr/bin/python3 # Debian's, even if another python3 is first on the path
skip()
{
    echo "SKIP $1"
    exit 77
}
archive=$(ls "$BUILD"/fieldkit/fieldkit-*.tar.gz 2>/dev/null) || skip "fieldkit's sources were not fetched (sh tests/run.sh)"
$python -c 'import pytest' 2>/dev/null || skip 'pytest is not installed (Debian: python3-pytest)'

scratch=$(mktemp -d)
trap 'rm -rf "$scratch"' EXIT
mkdir "$scratch/fieldkit"
: >"$scratch/fieldkit/__init__.py"
echo 'from lineage.fieldkit import *' >"$scratch/fieldkit/lineage.py"
tar -xOzf "$archive" --wildcards '*/tests/test_lineage.py' >"$scratch/test_lineage.py"
cd "$scratch"
PYTHONDONTWRITEBYTECODE=1 PYTHONPATH=$scratch:$SOURCE/src/python $python -m pytest -q -p no:cacheprovider test_lineage.py
