#!/bin/sh
# ladder_plot.sh: the paired differences of several stores as one SVG on stdout.
#
# usage: sh tests/bench/ladder_plot.sh LINEAGE TITLE STORE [TITLE STORE]...
#        sh tests/bench/ladder_plot.sh --variants LINEAGE TITLE STORE BASELINE,VARIANT.. [TITLE STORE VARIANTS]...
set -eu

usage()
{
    cat <<'END'
usage: sh tests/bench/ladder_plot.sh LINEAGE TITLE STORE [TITLE STORE]...
       sh tests/bench/ladder_plot.sh --variants LINEAGE TITLE STORE BASELINE,VARIANT.. [TITLE STORE VARIANTS]...

Draws what `lineage compare` says of each store, differences to grpo (with --variants: to the first of each list) seed by
seed, as one SVG on standard output.
LINEAGE is the command (build/cli/lineage), a STORE is a directory with trials of several specialists and seeds.
END
}

case ${1:-} in
-h | --help) usage && exit 0 ;;
esac
each=2
if [ "${1:-}" = --variants ]; then
    each=3
    shift
fi
if [ $# -le $each ] || [ $((($# - 1) % each)) -ne 0 ]; then
    usage >&2
    exit 2
fi
lineage=$1
shift

# STORE and the words of the command, separated by commas, because names of variants may have blanks.
compare()
(
    store=$1
    IFS=,
    # shellcheck disable=SC2086 # split at the commas
    set -- $2
    "$lineage" compare -C "$store" --format tsv "$@"
)

# Columns: TITLE, variant, difference, low, high (the 95 % interval of each comparison).
rows()
{
    while [ $# -gt 0 ]; do
        variants='--baseline,grpo'
        [ $each -eq 2 ] || variants=$3
        compared=$(compare "$2" "$variants") || exit
        printf '%s\n' "$compared" |
            awk -F '\t' -v title="$1" 'NR > 2 && $7 != "" { print title "\t" $1 "\t" $6 "\t" $7 "\t" $8 }'
        shift $each
    done
}

# One panel for each title, one line for each variant: the mean difference to GRPO and its 95 % interval.
lines=$(rows "$@")
printf '%s\n' "$lines" | LC_ALL=C awk -F '\t' '
    { if (!($1 in first)) { title[++panels] = $1; first[$1] = 1 }
      n[$1]++; name[$1, n[$1]] = $2; mean[$1, n[$1]] = $3; low[$1, n[$1]] = $4; high[$1, n[$1]] = $5
      if (n[$1] > most) most = n[$1]
      if ($4 < least) least = $4
      if ($5 > largest) largest = $5 }
    function x(value) { return 60 + (value - least) / (largest - least) * 240 }
    END {
        least -= 0.01; largest += 0.01
        columns = panels < 2 ? panels : 2; lines = int((panels + columns - 1) / columns)
        height = 46 + 20 * most + 26
        printf "<svg xmlns=\"http://www.w3.org/2000/svg\" viewBox=\"0 0 %d %d\" font-family=\"sans-serif\" font-size=\"11\">\n", columns * 420, lines * height
        print "<rect width=\"100%\" height=\"100%\" fill=\"white\"/>"
        for (p = 1; p <= panels; p++) {
            t = title[p]
            printf "<g transform=\"translate(%d %d)\">\n", (p - 1) % columns * 420 + 90, int((p - 1) / columns) * height
            printf "<text x=\"60\" y=\"18\" font-weight=\"bold\">%s</text>\n", t
            for (tick = -30; tick <= 30; tick++) {
                v = tick * 0.05
                if (v < least || v > largest) continue
                printf "<line x1=\"%.1f\" x2=\"%.1f\" y1=\"28\" y2=\"%d\" stroke=\"%s\"/>", x(v), x(v), 36 + 20 * most, tick == 0 ? "#555" : "#ddd"
                printf "<text x=\"%.1f\" y=\"%d\" text-anchor=\"middle\" fill=\"#555\">%+.2f</text>\n", x(v), 50 + 20 * most, v
            }
            for (i = 1; i <= n[t]; i++) {
                y = 24 + 20 * i
                printf "<text x=\"50\" y=\"%d\" text-anchor=\"end\">%s</text>", y + 4, name[t, i]
                printf "<line x1=\"%.1f\" x2=\"%.1f\" y1=\"%d\" y2=\"%d\" stroke=\"#2a6fbb\" stroke-width=\"2\"/>", x(low[t, i]), x(high[t, i]), y, y
                printf "<circle cx=\"%.1f\" cy=\"%d\" r=\"4\" fill=\"#2a6fbb\"/>\n", x(mean[t, i]), y
            }
            print "</g>"
        }
        print "</svg>"
    }'
