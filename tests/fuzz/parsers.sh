#!/bin/sh
# Compares the table of parsers with the sources and with the fuzz targets:
# - every source that calls a parser or reads a file has a line, so that a new parser without a target fails here;
# - every line names a source that exists, and a target that is built and has a corpus;
# - every target is in the table.
set -eu
here=${SOURCE:-$(CDPATH='' cd -- "$(dirname -- "$0")/../.." && pwd)}
cd "$here"
table=tests/fuzz/parsers
failures=0
fail()
{
    echo "FAIL $*" >&2
    failures=$((failures + 1))
}

# The calls by which this project reads bytes, and the files whose names say that they parse.
calls='json_load[sbf]?\(|json_load_file\(|json_text_parse\(|tsv_scanner_init\(|fs_read_file\(|fs_read_stream\(|fs_read_at\('
calls="$calls|[^a-z_]fread\\(|[^a-z_]fgets\\(|[^a-z_]getline\\(|getdelim\\(|sscanf\\(|json_lines_read\\(|recipe_object_parse\\(|recipe_file_read\\("
listed=$(sed -n 's/^\([a-z][^ ]*\) .*/\1/p' "$table" | sort)
[ "$(printf '%s\n' "$listed" | uniq -d)" = '' ] || fail "listed twice: $(printf '%s\n' "$listed" | uniq -d | tr '\n' ' ')"
for source in $(grep -rlE "$calls" src cli --include='*.c' | grep -v '^src/python/' | sort); do
    printf '%s\n' "$listed" | grep -qx "$source" ||
        fail "$source reads bytes and is not in $table: give it a fuzz target, or say there why it needs none"
done
for source in $listed; do
    [ -f "$source" ] || fail "$table names $source, which does not exist"
done

targets=$(sed -n 's/^ *fuzz_target(\([a-z]*\) .*/\1/p' tests/CMakeLists.txt | sort)
used=$(awk '/^[a-z]/ && $2 != "-" { print $2 }' "$table" | sort -u)
for target in $used; do
    printf '%s\n' "$targets" | grep -qx "$target" || fail "$table names fuzz_$target, which tests/CMakeLists.txt does not build"
    [ -f "tests/fuzz/fuzz_$target.c" ] || fail "tests/fuzz/fuzz_$target.c does not exist"
    [ -n "$(ls "tests/fuzz/corpus/$target" 2>/dev/null)" ] || fail "tests/fuzz/corpus/$target has no file"
done
for target in $targets; do
    printf '%s\n' "$used" | grep -qx "$target" || fail "fuzz_$target is not in $table"
done
awk '/^[a-z]/ && NF < 3 { print "FAIL " $1 ": the line has no reason or bytes"; bad = 1 } END { exit bad }' "$table" ||
    failures=$((failures + 1))

# A breach is seen: a source that reads JSON and is not listed.
[ -z "${PARSERS_SELF_TEST:-}" ] || exit "$((failures > 0))"
scratch=$(mktemp -d)
trap 'rm -rf "$scratch"' EXIT
mkdir -p "$scratch/src" "$scratch/cli" "$scratch/tests/fuzz"
cp -r tests/fuzz/parsers tests/fuzz/parsers.sh "$scratch/tests/fuzz/"
cp tests/CMakeLists.txt "$scratch/tests/"
echo 'json_t *root = json_loads(text, 0, NULL);' >"$scratch/src/new_parser.c"
if SOURCE=$scratch PARSERS_SELF_TEST=1 sh tests/fuzz/parsers.sh 2>&1 | grep -q 'src/new_parser.c reads bytes'; then
    :
else
    fail 'a new parser without a line in the table is not found'
fi
echo "$(printf '%s\n' "$listed" | wc -l) sources, $(printf '%s\n' "$used" | wc -l) targets, $failures failures"
exit "$((failures > 0))"
