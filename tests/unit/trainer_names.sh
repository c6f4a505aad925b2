#!/bin/sh
# trainer_names.sh NAMES_H HEADERS FLOAT_OBJECTS DOUBLE_OBJECTS (lists with semicolons): the table of names against the objects.
# Whatever the double compilation defines for others is the right column of a row; the float compilation of the same
# sources defines exactly the left one; and no row is left of a function that is gone.
set -eu
names=$1
headers=$2
shift
dir=$(mktemp -d)
trap 'rm -rf "$dir"' EXIT

# defined OBJECTS: global names of functions and data, without those that compilers make (name.resolver).
defined()
{
    # shellcheck disable=SC2046 # one word per object
    nm -g --defined-only $(echo "$1" | tr ';' ' ') | awk 'NF == 3 && $3 ~ /^(net|pass|trainer)_[a-z_]*$/ {print $3}' | sort -u
}

awk '$1 == "#define" && NF == 3 {print $2, $3}' "$names" | sort >"$dir/table"
[ -s "$dir/table" ] || { echo "$names: no rows"; exit 1; }
awk '$1 != $2 "f" {print "row of another form: " $0; bad = 1} END {exit bad}' "$dir/table"
# Names of types leave no symbol.
awk -v types="$(grep -hoE '^struct [a-z_]+f \{' "$headers"/*.h | cut -d' ' -f2 | tr '\n' ' ')" \
    'BEGIN {n = split(types, t, " "); for (i = 1; i <= n; i++) type[t[i]] = 1} !($1 in type)' "$dir/table" >"$dir/functions"
cut -d' ' -f2 "$dir/functions" | sort >"$dir/wanted"
defined "$3" >"$dir/double"
diff -u "$dir/wanted" "$dir/double" || { echo "$names and the double objects differ (- table, + objects)"; exit 1; }
cut -d' ' -f1 "$dir/functions" | sort >"$dir/wanted"
defined "$2" >"$dir/float"
diff -u "$dir/wanted" "$dir/float" || { echo "$names and the float objects differ (- table, + objects)"; exit 1; }
# A struct that only one compilation renames would be two types of one name.
for type in $(grep -hoE '^struct [a-z_]+f \{' "$headers"/*.h | cut -d' ' -f2); do
    grep -q "^$type " "$dir/table" || { echo "struct $type is not in the table"; exit 1; }
done
