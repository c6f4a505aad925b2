#!/bin/sh
# ladder_table.sh: prints `lineage compare` of the variants of a store as rows of a Markdown table.
#
# usage: sh tests/bench/ladder_table.sh LINEAGE STORE BASELINE VARIANT...
set -eu

usage()
{
    cat <<'END'
usage: sh tests/bench/ladder_table.sh LINEAGE STORE BASELINE VARIANT...

Prints for BASELINE and each VARIANT: exact match, mean and standard deviation over seeds; the mean difference to
BASELINE, seed by seed, with the interval that holds for all of the comparisons together (Bonferroni, 95 %); p by
Holm; and the smallest difference that this number of seeds would have shown with a probability of 80 % at that level.
LINEAGE is the command (build/cli/lineage).
END
}

case ${1:-} in
-h | --help) usage && exit 0 ;;
esac
if [ $# -lt 4 ]; then
    usage >&2
    exit 2
fi
lineage=$1 store=$2
shift 2
compared=$("$lineage" compare "$@" -C "$store" --format tsv)

# The half interval is t(0.975) standard errors. Quantiles of Student's t come from Cornish and Fisher's expansion around
# the normal quantiles, which is right to three digits from 6 degrees of freedom on.
printf '%s\n' "$compared" | LC_ALL=C awk -F '\t' '
    function quantile(z, df,    t) {
        t = z + (z ^ 3 + z) / (4 * df)
        t += (5 * z ^ 5 + 16 * z ^ 3 + 3 * z) / (96 * df ^ 2)
        t += (3 * z ^ 7 + 19 * z ^ 5 + 17 * z ^ 3 - 15 * z) / (384 * df ^ 3)
        return t
    }
    NR == 1 { print "| variant | seeds | exact match | difference, all held together | Holm p | seen with 80 % power |"
              print "|---|---|---|---|---|---|" }
    NR == 2 { printf "| %s | %d | %.3f ± %.3f | | | |\n", $1, $2, $3, $4 }
    NR > 2 && $5 > 1 && $12 == "" { # all differences are equal, so they have no spread
        printf "| %s | %d | %.3f ± %.3f | %+.3f | n/a | n/a |\n", $1, $5, $3, $4, $6
    }
    NR > 2 && $5 > 1 && $12 != "" {
        error = ($8 - $7) / 2 / quantile(1.959964, $5 - 1)
        printf "| %s | %d | %.3f ± %.3f | %+.3f [%+.3f, %+.3f] | %s | %.3f |\n", $1, $5, $3, $4, $6, $10, $11,
            $12 < 0.0001 ? "< 0.0001" : sprintf("%.4f", $12), ($11 - $10) / 2 + quantile(0.841621, $5 - 1) * error
    }'
