#!/bin/sh
# rlcore_by_name.sh: every public function of the core can be called by name, or kernels_not_by_name says why it cannot.
#     The headers are compared with the calls in src/rlcase, and the table of kernels with schema/CORE.md.
set -eu
export LC_ALL=C
cd "$(dirname "$0")/../.."
scratch=$(mktemp -d)
trap 'rm -rf "$scratch"' EXIT
status=0

complain()
{
    [ -z "$2" ] || { echo "$1:" $2; status=1; }
}

# A declaration begins with RL_API and may go over several lines; its first word before a parenthesis is the
# function. A policy loss has a type instead of parameters.
cat include/rlcore/*.h | tr '\n' ' ' | sed 's/RL_API/\n&/g' | grep '^RL_API ' |
    sed -n 's/^[^(;]*[ *]\(rl_[a-z0-9_]*\)[(;].*/\1/p' | sort -u >"$scratch/declared"
[ "$(wc -l <"$scratch/declared")" -gt 100 ] || { echo "found too few functions in include/rlcore"; exit 1; }

# A float twin is reached by the adapter of the function without the f.
while read -r name; do
    if grep -qx "${name%f}" "$scratch/declared" && [ "${name%f}" != "$name" ]; then continue; fi
    echo "$name"
done <"$scratch/declared" >"$scratch/functions"

cat src/rlcase/*.c | grep -oE '\brl_[a-z0-9_]+\b' | sort -u >"$scratch/called"
comm -23 "$scratch/functions" "$scratch/called" >"$scratch/uncalled"
grep -v '^#' tests/unit/kernels_not_by_name | cut -d' ' -f1 >"$scratch/listed"
complain "listed twice in kernels_not_by_name" "$(sort "$scratch/listed" | uniq -d)"
complain "without a reason in kernels_not_by_name" "$(grep -v '^#' tests/unit/kernels_not_by_name | awk 'NF < 4 { print $1 }')"
sort -o "$scratch/listed" "$scratch/listed"
complain "no adapter in src/rlcase calls it, and kernels_not_by_name does not list it" \
    "$(comm -23 "$scratch/uncalled" "$scratch/listed")"
complain "listed in kernels_not_by_name, but an adapter calls it or it does not exist" \
    "$(comm -13 "$scratch/uncalled" "$scratch/listed")"

sed -n 's/^CASE_[A-Z]*(\([a-z0-9_]*\),.*/\1/p' src/rlcase/case_kernels.def >"$scratch/families"
[ -s "$scratch/families" ] || { echo "found no kernels in case_kernels.def"; exit 1; }
while read -r family; do
    grep -q "\`$family\`" schema/CORE.md || complain "schema/CORE.md does not name the kernel" "$family"
done <"$scratch/families"
exit $status
