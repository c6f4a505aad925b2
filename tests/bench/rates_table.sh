#!/bin/sh
# rates_table.sh: mean exact match of each learning rate of a tuning sweep, as rows of a Markdown table.
#
# usage: sh tests/bench/rates_table.sh results.tsv [VARIANT...]
set -eu

usage()
{
    cat <<'END'
usage: sh tests/bench/rates_table.sh results.tsv [VARIANT...]

Trials are named VARIANT RATE, the rate or another number that was tuned, and what comes behind it belongs to the
variant (`grpo 0.0024 hard`). Prints one row for each variant, or each that is named, and one column for each rate:
mean exact match over seeds; the best of several rates is bold.
END
}

case ${1:-} in
-h | --help) usage && exit 0 ;;
esac
if [ $# -lt 1 ]; then
    usage >&2
    exit 2
fi
rows=$1
shift
only=$(printf '%s\n' "$@")
export only
LC_ALL=C awk -F '\t' '
    BEGIN { n = split(ENVIRON["only"], names, "\n"); for (i = 1; i <= n; i++) is_named[names[i]] = 1 }
    FNR == 1 || !match($3, / [0-9.]+/) || $10 == "" { next }
    {
        rate = substr($3, RSTART + 1, RLENGTH - 1)
        variant = substr($3, 1, RSTART - 1) substr($3, RSTART + RLENGTH)
        if (names[1] != "" && !(variant in is_named)) next
        if (!(rate in is_rate)) { is_rate[rate] = 1; rates[++n_rates] = rate }
        if (!(variant in is_variant)) { is_variant[variant] = 1; variants[++n_variants] = variant }
        sum[variant, rate] += $10
        seeds[variant, rate]++
    }
    END {
        for (i = 2; i <= n_rates; i++)
            for (j = i; j > 1 && rates[j - 1] + 0 > rates[j] + 0; j--) { r = rates[j]; rates[j] = rates[j - 1]; rates[j - 1] = r }
        head = "| rate |"; rule = "|---|"
        for (j = 1; j <= n_rates; j++) { head = head " " rates[j] " |"; rule = rule "---|" }
        print head; print rule
        for (i = 1; i <= n_variants; i++) {
            v = variants[i]; best = -1; tried = 0; line = "| " v " |"
            for (j = 1; j <= n_rates; j++) {
                tried += seeds[v, rates[j]] > 0
                if (seeds[v, rates[j]] && sum[v, rates[j]] / seeds[v, rates[j]] > best)
                    best = sum[v, rates[j]] / seeds[v, rates[j]]
            }
            for (j = 1; j <= n_rates; j++) {
                k = seeds[v, rates[j]]
                cell = k ? sprintf("%.3f", sum[v, rates[j]] / k) : ""
                line = line (k && tried > 1 && sum[v, rates[j]] / k == best ? " **" cell "** |" : " " cell " |")
            }
            print line
        }
    }' "$rows"
