#!/bin/sh
# layout.sh: the layout in schema/ARCHITECTURE.md is that of the table in tests/layering.sh and of the folders; every path and
# function that the page names exists, and every option and package of the build is listed. No test of the command has lines behind its
# end.
#
# usage: sh tests/layout.sh [ROOT]      (default: this checkout; exit status 0 if all agrees, else one line per difference)
set -u
root=${1:-$(CDPATH='' cd -- "$(dirname -- "$0")/.." && pwd)}
cd "$root" || exit 2
LC_ALL=C
export LC_ALL
page=schema/ARCHITECTURE.md
listed=$(sed -n '/^## Layout/,/^## /{ s/^| `\([^`]*\)` |.*/\1/p; }' "$page" | sort)
# Rooms that are single files are described with their folder.
rooms=$(sed -n "/^# room  /,/^END/{ /^#/d; /^END/d; /^\$/d; s/ .*//; /\\.h\$/d; p; }" tests/layering.sh | sort)
# Folders with C sources, whether the table has them or not.
folders=$(git ls-files src cli include 2>/dev/null | sed -n 's|/[^/]*\.[ch]$||p' | sort -u)
differences=0
# missing WHAT WANTED GOT: lines of WANTED that GOT does not have
missing()
{
    for path in $2; do
        printf '%s\n' "$3" | grep -qxF -- "$path" && continue
        differences=$((differences + 1))
        printf '%s: %s\n' "$path" "$1"
    done
}
missing "a room of tests/layering.sh that $page does not list" "$rooms" "$listed"
missing "listed in $page, and not a room of tests/layering.sh" "$listed" "$rooms"
missing "a folder with sources that $page does not list" "$folders" "$listed"
for path in $(git ls-files 2>/dev/null | sed 's|/.*||' | sort -u); do
    case $path in
    CMakeLists.txt | LICENSE | README.md | .* | src | include | cli | schema | tests | fixtures | findings) continue ;;
    esac
    differences=$((differences + 1))
    printf '%s: the top level is fixed\n' "$path"
done
for path in $(grep -o '`\(src\|cli\|include\|tests\|schema\|fixtures\)/[^` *:]*`' "$page" | tr -d '`' | sort -u); do
    [ -e "$path" ] && continue
    differences=$((differences + 1))
    printf '%s: named in %s, and not there\n' "$path" "$page"
done
# `FILE:FUNCTION`: the file defines it.
for name in $(grep -o '`[a-z0-9_/]*[.]c:[A-Za-z0-9_]*`' "$page" | tr -d '`' | sort -u); do
    file=${name%%:*}
    [ -f "$file" ] && grep -qE "^[a-z].*[ *]${name#*:}[(]" "$file" && continue
    differences=$((differences + 1))
    printf '%s: named in %s, and not there\n' "$name" "$page"
done
# `finish` ends a test of the command: what is behind it would never run.
for path in $(git ls-files 'tests/cli/*.sh' 2>/dev/null); do
    behind=$(sed -n '/^finish$/,$p' "$path" | sed 1d | grep -c .)
    [ "$behind" -eq 0 ] && continue
    differences=$((differences + 1))
    printf '%s: %d lines behind `finish`, which never run\n' "$path" "$behind"
done
options=$(sed -n 's/^option(\(LINEAGE_[A-Z_]*\).*/\1/p; s/^set(\(LINEAGE_[A-Z_]*\) "".*/\1/p' CMakeLists.txt | sort)
missing "an option of the build that $page does not list" "$options" "$(sed -n 's/^| `\(LINEAGE_[A-Z_]*\)` |.*/\1/p' "$page")"
packages=$(sed -n 's/^build_packages="\(.*\)"/\1/p' cli/install-deps.sh | tr ' ' '\n')
missing "a package of cli/install-deps.sh that $page does not list" "$packages" \
    "$(sed -n '/^## Dependencies/,$s/^| \([^|]*\) |.*/\1/p' "$page" | tr -s ', ' '\n')"
echo "$(printf '%s\n' "$listed" | wc -l) rooms, $differences differences"
[ "$differences" -eq 0 ] && [ -n "$listed" ] && [ -n "$rooms" ]
