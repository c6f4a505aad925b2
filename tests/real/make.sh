#!/bin/sh
# make.sh NAME..: runs a real program in its pinned version and keeps what it leaves in fixtures/real/NAME: output.txt (both
# streams), the files that it writes, and right.tsv, the values that the program itself computed. By hand, with a network:
# packages come from PyPI into ${REAL_VENV:-build-real/NAME}. Without NAME: lists the programs.
#
# A script is tests/real/run_NAME.py. Its comments say what to install (# pip:), how it is run if not by python3 (# run:), and which files
# are kept (# keep:, patterns). It works in an empty directory and writes right.tsv: NAME, FILE (- is the output), VALUE.
set -eu
here=$(cd "$(dirname "$0")" && pwd)
top=$(dirname "$(dirname "$here")")

says() # says WHAT FILE: the text behind `# WHAT:`
{
    sed -n "s/^# $1: //p" "$2"
}

if [ $# -eq 0 ]; then
    for script in "$here"/run_*.py; do
        name=$(basename "$script" .py)
        printf '%s\t%s\n' "${name#run_}" "$(says pip "$script")"
    done
    exit 0
fi
for name; do
    script=$here/run_$name.py venv=${REAL_VENV:-$top/build-real/$name} kept=$top/fixtures/real/$name
    [ -f "$script" ] || { echo "make.sh: there is no $script; without a name it lists them" >&2; exit 2; }
    [ -x "$venv/bin/python3" ] || python3 -m venv "$venv"
    # shellcheck disable=SC2046 # a list of packages
    [ -n "${REAL_VENV:-}" ] || "$venv/bin/python3" -m pip install -q $(says pip "$script")
    work=$(mktemp -d)
    trap 'rm -rf "$work"' EXIT
    command=$(says run "$script")
    (
        cd "$work"
        PATH=$venv/bin:$PATH HF_HUB_OFFLINE=1 CUDA_VISIBLE_DEVICES='' COLUMNS=400 HOME=$work SCRIPT=$script PYTHONPATH=$here \
            sh -c "${command:-python3 -u \"\$SCRIPT\"}" >output.txt 2>&1
    ) || { tail -n 30 "$work/output.txt"; echo "make.sh: $name failed" >&2; exit 1; }
    rm -rf "$kept"
    mkdir -p "$kept"
    for pattern in output.txt right.tsv $(says keep "$script"); do
        (cd "$work" && find . -type f -path "./$pattern" | head -n 3 | tar cf - -T - | tar xf - -C "$kept")
    done
    # Paths and the name of the machine are not a part of the example.
    machine=$(hostname)
    find "$kept" -type f -name "*$machine*" | while read -r file; do mv "$file" "$(echo "$file" | sed "s,$machine,host,g")"; done
    find "$kept" -type f -exec grep -qI . {} \; \
        -exec sed -i "s,$work,/home/user,g; s,https://pypi.org/,https://example.org/,g; s,$venv,/venv,g; s,$here,/real,g; s,\b$machine\b,host,g; s,\b$(hostname -i | cut -d ' ' -f 1)\b,127.0.0.1,g" {} +
    rm -rf "$work"
    du -sh "$kept"
done
