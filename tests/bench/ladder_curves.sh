#!/bin/sh
# ladder_curves.sh: learning curves of the variants of a store, as rows or as one SVG on stdout.
#
# usage: sh tests/bench/ladder_curves.sh rows LINEAGE STORE
#        sh tests/bench/ladder_curves.sh means FILE
#        sh tests/bench/ladder_curves.sh reach FILE BASELINE VARIANT
#        sh tests/bench/ladder_curves.sh plot TITLE FILE VARIANT,VARIANT.. [TITLE FILE VARIANTS]...
set -eu

usage()
{
    cat <<'END'
usage: sh tests/bench/ladder_curves.sh rows LINEAGE STORE
       sh tests/bench/ladder_curves.sh means FILE
       sh tests/bench/ladder_curves.sh reach FILE BASELINE VARIANT
       sh tests/bench/ladder_curves.sh plot TITLE FILE VARIANT,VARIANT.. [TITLE FILE VARIANTS]...

rows: variant, seed, step and exact match of every evaluation in the telemetry of STORE, as TSV; the curves.tsv of a
shipped experiment. means: the mean over seeds at each step, one line a variant. reach: how many iterations VARIANT
took to where BASELINE ended, seed by seed and between evaluations along a line, as a share of BASELINE's, with its
95 % interval (seeds that never came there count as 1). plot: means as SVG, one panel for each FILE, with a
standard error of the mean to both sides.
END
}

rows()
{
    printf 'variant\tseed\tstep\tem\n'
    "$1" sql -C "$2" --format tsv "
        SELECT t.specialist, CAST(p.value AS INTEGER), s.step, s.value
        FROM step_metrics s JOIN trials t ON t.seq = s.seq JOIN params p ON p.seq = s.seq AND p.key = 'seed'
        WHERE s.key = 'em' AND t.status IN ('keep', 'discard', 'baseline')
        ORDER BY t.specialist, 2, s.step" | tail -n +2
}

means()
{
    awk -F '\t' '
        NR > 1 { if (!($1 in n)) { order[++variants] = $1; n[$1] = 1 }
                 if (!($3 in seen)) { seen[$3] = 1; step[++steps] = $3 }
                 sum[$1, $3] += $4; count[$1, $3]++ }
        END { printf "variant"
              for (s = 1; s <= steps; s++) printf "\t%d", step[s]
              print ""
              for (v = 1; v <= variants; v++) {
                  printf "%s", order[v]
                  for (s = 1; s <= steps; s++) {
                      at = order[v] SUBSEP step[s]
                      printf "\t%s", count[at] ? sprintf("%.3f", sum[at] / count[at]) : ""
                  }
                  print ""
              } }' "$1"
}

# The quantile of Student's t for a 95 % interval, by Cornish and Fisher's expansion around the normal quantile.
reach()
{
    awk -F '\t' -v base="$2" -v variant="$3" '
        $1 == base { goal[$2] = $4; length_of[$2] = $3 }
        $1 == variant { n[$2]++; step[$2, n[$2]] = $3; em[$2, n[$2]] = $4 }
        function arrives(seed,    i, share) {
            if (em[seed, 1] >= goal[seed]) return step[seed, 1]
            for (i = 2; i <= n[seed]; i++)
                if (em[seed, i] >= goal[seed]) {
                    share = (goal[seed] - em[seed, i - 1]) / (em[seed, i] - em[seed, i - 1])
                    return step[seed, i - 1] + share * (step[seed, i] - step[seed, i - 1])
                }
            never++
            return length_of[seed]
        }
        END { for (seed in goal) if (n[seed]) {
                  x = arrives(seed) / length_of[seed]; sum += x; squares += x * x; seeds++
              }
              if (seeds < 2) { print "too few common seeds"; exit 1 }
              mean = sum / seeds; df = seeds - 1; z = 1.959964
              t = z + (z ^ 3 + z) / (4 * df) + (5 * z ^ 5 + 16 * z ^ 3 + 3 * z) / (96 * df ^ 2)
              half = t * sqrt((squares - seeds * mean * mean) / df / seeds)
              printf "%s: %.2f [%.2f, %.2f] of the iterations of %s, %d seeds, %d never there\n", variant, mean,
                  mean - half, mean + half, base, seeds, never }' "$1"
}

# Columns: TITLE, variant, step, mean, standard error.
summary()
{
    while [ $# -gt 0 ]; do
        awk -F '\t' -v title="$1" -v wanted="$3" '
            BEGIN { names = split(wanted, name, ",") }
            NR > 1 { sum[$1, $3] += $4; squares[$1, $3] += $4 * $4; count[$1, $3]++
                     if (!($3 in seen)) { seen[$3] = 1; step[++steps] = $3 } }
            END { for (v = 1; v <= names; v++)
                      for (s = 1; s <= steps; s++) {
                          n = count[name[v], step[s]]
                          if (!n) continue
                          mean = sum[name[v], step[s]] / n
                          spread = n > 1 ? (squares[name[v], step[s]] - n * mean * mean) / (n - 1) / n : 0
                          print title "\t" name[v] "\t" step[s] "\t" mean "\t" (spread > 0 ? sqrt(spread) : 0)
                      } }' "$2"
        shift 3
    done
}

plot()
{
    summary "$@" | LC_ALL=C awk -F '\t' '
        BEGIN { split("#555555 #2a6fbb #d1495b #2e933c #b8860b #7d4ba0 #17a2b8 #8d5524", colour, " ") }
        { if (!($1 in first)) { title[++panels] = $1; first[$1] = 1 }
          if (!(($1, $2) in number)) { number[$1, $2] = ++n[$1]; name[$1, n[$1]] = $2 }
          v = number[$1, $2]; p = ++points[$1, v]
          at[$1, v, p] = $3; mean[$1, v, p] = $4; error[$1, v, p] = $5
          if ($3 > last) last = $3
          if ($4 + $5 > top) top = $4 + $5 }
        function x(step) { return 40 + step / last * 250 }
        function y(em) { return 230 - em / top * 200 }
        END {
            columns = panels < 2 ? panels : 2; lines = int((panels + columns - 1) / columns)
            top = int(top * 10 + 1) / 10
            printf "<svg xmlns=\"http://www.w3.org/2000/svg\" viewBox=\"0 0 %d %d\" font-family=\"sans-serif\" font-size=\"11\">\n", columns * 420, lines * 270
            print "<rect width=\"100%\" height=\"100%\" fill=\"white\"/>"
            for (p = 1; p <= panels; p++) {
                t = title[p]
                printf "<g transform=\"translate(%d %d)\">\n", (p - 1) % columns * 420, int((p - 1) / columns) * 270
                printf "<text x=\"40\" y=\"18\" font-weight=\"bold\">%s</text>\n", t
                for (em = 0; em <= top + 0.001; em += 0.1)
                    printf "<line x1=\"40\" x2=\"290\" y1=\"%.1f\" y2=\"%.1f\" stroke=\"#ddd\"/><text x=\"34\" y=\"%.1f\" text-anchor=\"end\" fill=\"#555\">%.1f</text>\n", y(em), y(em), y(em) + 4, em
                for (i = 1; i <= points[t, 1]; i++)
                    printf "<text x=\"%.1f\" y=\"246\" text-anchor=\"middle\" fill=\"#555\">%d</text>\n", x(at[t, 1, i]), at[t, 1, i]
                print "<text x=\"165\" y=\"262\" text-anchor=\"middle\" fill=\"#555\">iterations; up: exact match</text>"
                for (v = 1; v <= n[t]; v++) {
                    line = ""
                    for (i = 1; i <= points[t, v]; i++) {
                        line = line sprintf(" %.1f,%.1f", x(at[t, v, i]), y(mean[t, v, i]))
                        printf "<line x1=\"%.1f\" x2=\"%.1f\" y1=\"%.1f\" y2=\"%.1f\" stroke=\"%s\"/>", x(at[t, v, i]), x(at[t, v, i]), y(mean[t, v, i] - error[t, v, i]), y(mean[t, v, i] + error[t, v, i]), colour[v]
                    }
                    printf "<polyline points=\"%s\" fill=\"none\" stroke=\"%s\" stroke-width=\"2\"/>", substr(line, 2), colour[v]
                    printf "<text x=\"300\" y=\"%d\" fill=\"%s\">%s</text>\n", 22 + 16 * v, colour[v], name[t, v]
                }
                print "</g>"
            }
            print "</svg>"
        }'
}

case ${1:-} in
-h | --help) usage ;;
rows) [ $# -eq 3 ] && rows "$2" "$3" ;;
means) [ $# -eq 2 ] && means "$2" ;;
reach) [ $# -eq 4 ] && reach "$2" "$3" "$4" ;;
plot)
    shift
    [ $# -ge 3 ] && [ $(($# % 3)) -eq 0 ] && plot "$@"
    ;;
*)
    usage >&2
    exit 2
    ;;
esac
