#!/bin/sh
# single_names.sh TABLE DOUBLE-OBJECTS... -- SINGLE-OBJECTS...
# single_names.sh: files *_real.c are compiled for double and for float, and TABLE renames the definitions of the second
# compilation. Every name that the double objects define must have a float twin, no name may be defined by both, and TABLE
# must contain every pair and no other name.
set -eu
export LC_ALL=C
table=$1
shift
scratch=$(mktemp -d)
trap 'rm -rf "$scratch"' EXIT

# Names that begin with an underscore belong to the compiler.
defined()
{
    nm --defined-only "$@" | awk 'NF == 3 && $2 ~ /[A-Z]/ && $3 ~ /^[a-z]/ { print $3 }' | sort -u
}

kind=double
for object; do
    case $object in
    --) kind=single ;;
    *_real.c.o*) printf '%s\n' "$object" >>"$scratch/$kind.objects" ;;
    esac
done
for kind in double single; do
    # shellcheck disable=SC2046 # paths of the build hold no blanks
    defined $(cat "$scratch/$kind.objects") >"$scratch/$kind"
    [ -s "$scratch/$kind" ] || { echo "no names in the $kind objects"; exit 1; }
done

status=0
complain()
{
    [ -z "$2" ] || { echo "$1:" $2; status=1; }
}

sed -n 's/^#define \([a-z0-9_]*\) \([a-z0-9_]*\)$/\1 \2/p' "$table" >"$scratch/table"
cut -d' ' -f1 "$scratch/table" | sort >"$scratch/names"
complain "named twice" "$(uniq -d "$scratch/names")"
complain "not the name with an f" "$(awk '$2 != $1 "f"' "$scratch/table")"
complain "defined by both objects" "$(comm -12 "$scratch/double" "$scratch/single")"
sed 's/$/f/' "$scratch/double" | sort >"$scratch/twins"
complain "without a float twin" "$(comm -23 "$scratch/twins" "$scratch/single")"
complain "in float only" "$(comm -13 "$scratch/twins" "$scratch/single")"
complain "missing from the table" "$(comm -23 "$scratch/double" "$scratch/names")"
# The other names are structs or functions of another library: a public header must declare both names.
for name in $(comm -13 "$scratch/double" "$scratch/names"); do
    for one in "$name" "${name}f"; do
        grep -qE "(struct $one \{|(^|[ *])$one[(;])" "$(dirname "$0")"/../../include/rlcore/*.h ||
            complain "in the table, but nowhere declared" "$one"
    done
done
exit $status
