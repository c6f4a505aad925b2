#!/bin/sh
# ends_table.sh: prints pass rates and lengths of easy and hard questions as rows of a Markdown table.
set -eu

usage()
{
    cat <<'END'
usage: sh tests/bench/ends_table.sh RESULTS.tsv VARIANT...

Prints for each VARIANT of a sweep with row.ends: exact match, mean and standard deviation over seeds; then, for the easy and for
the hard questions, the mean pass rate and the policy's tokens, with the standard deviation of the tokens.
END
}

case ${1:-} in
-h | --help) usage && exit 0 ;;
esac
if [ $# -lt 2 ]; then
    usage >&2
    exit 2
fi
results=$1
shift
for variant in "$@"; do
    LC_ALL=C awk -F '\t' -v variant="$variant" '
        function value(name) {
            return match("; " $17, "; " name "=[-0-9.e]+") ? substr("; " $17, RSTART + length(name) + 3, RLENGTH - length(name) - 3) : 0
        }
        function add(k, x) { sum[k] += x; squares[k] += x * x }
        function mean(k) { return sum[k] / n }
        function std(k) { return n > 1 ? sqrt((squares[k] - n * mean(k) ^ 2) / (n - 1)) : 0 }
        NR == 1 || $3 != variant { next }
        {
            n++
            add("em", $10)
            add("er", value("pass_rate_easy")); add("et", value("response_tokens_easy"))
            add("hr", value("pass_rate_hard")); add("ht", value("response_tokens_hard"))
        }
        END {
            if (!n) exit 1
            printf "| %s | %d | %.3f ± %.3f | %.3f; %.1f ± %.1f | %.3f; %.1f ± %.1f |\n", variant, n, mean("em"), std("em"),
                mean("er"), mean("et"), std("et"), mean("hr"), mean("ht"), std("ht")
        }' "$results"
done
