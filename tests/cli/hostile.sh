#!/bin/sh
# hostile.sh: a cell cannot escape from its place, whatever it contains: on a terminal, in Markdown, in TSV and in JSON.
. "$SOURCE/tests/support/shell.sh"

# Control bytes, C1 controls, U+2028 and U+2029, bidirectional and zero-width controls.
unwanted=$(printf '[\001-\010\013-\037\177]|\302[\200-\237]|\342\200[\213\216\217\250-\256]|\342\201[\240\246-\251]|\330\234|\357\273\277')

# must_be_tame: ./out contains none of them, and no line begins with text from a cell.
must_be_tame()
{
    must_equal 0 "$(LC_ALL=C grep -aEc "$unwanted" out)" "$last: lines with control characters"
    must_equal 0 "$(grep -cE '^[ >#-]*FORGED' out)" "$last: lines that a cell began"
    iconv -f UTF-8 -t UTF-8 out >/dev/null 2>err || fail "$last: not UTF-8"
}

# try CELL: the output has the same lines, fences, table rows and headings as with a harmless cell, and contains the
# cell.
try()
{
    cell=$1
    rm -rf plain evil
    mkdir plain evil
    "$LINEAGE" -C plain append --create --timestamp T --specialist s --status keep --core-metric 1 --hypothesis h --notes n \
        --expected-delta 1 --domain d --job-name j >/dev/null
    "$LINEAGE" -C evil append --create --timestamp T --specialist "$cell" --status keep --core-metric 1 --hypothesis "$cell" \
        --notes "$cell" --expected-delta "$cell" --domain "$cell" --job-name "$cell" >/dev/null ||
        fail "cannot append '$cell'"
    for command in query best chain tree 'show 000' 'render --for x' verify; do
        # shellcheck disable=SC2086
        run -C plain $command
        n=$(wc -l <out)
        fences=$(grep -c '^```' out)
        rows=$(grep -c '^|' out)
        heads=$(grep -c '^#' out)
        # shellcheck disable=SC2086
        must_run -C evil $command
        must_be_tame
        must_equal "$n $fences $rows $heads" \
            "$(wc -l <out) $(grep -c '^```' out) $(grep -c '^|' out) $(grep -c '^#' out)" \
            "$last with '$(printf '%s' "$cell" | cat -v | head -n 1)': lines, fences, table rows, headings"
    done
    must_run -C evil query --format json
    must_equal "$cell" "$(json 0.hypothesis)"
    must_equal "$cell" "$(json 0.specialist)"
    must_run -C evil query --format tsv
    mkdir again
    mv out again/results.tsv
    must_run -C again query --metric score --format json
    must_equal "$cell" "$(json 0.hypothesis)"
    rm -rf again
}

try 'plain text'
try "$(printf 'a\n# FORGED\n## FORGED\n```\n| a | b |\n- FORGED\n> FORGED x')"
try "$(printf 'a\r# FORGED\r\n\r\n# FORGED end')"
try "$(printf 'a\tb\tc')"
try "$(printf '\033[31mred\033[0m \033]0;title\007 \010\010 \177 end')"
try "$(printf 'pipes | in || cells |')"
try "$(printf '\140\140\140 fence \140code\140 ~~~ \140')"
try "$(printf 'rtl \342\200\256gnirts\342\200\254 \342\201\246x\342\201\251 \342\200\217y \330\234z')"
try "$(printf 'nel \302\205# FORGED ls \342\200\250# FORGED ps \342\200\251# FORGED c1 \302\233')"
try "$(printf 'zero \342\200\213width\342\201\240joined \357\273\277bom')"
try "$(printf '<!-- hidden --> <script>alert(1)</script> &lt; [link](http://x) ![i](x)')"
try "$(printf '# FORGED heading')"
try "$(printf '"quoted" and "" twice \047single\047 back\\slash \\n')"
try "$(printf 'family \360\237\221\250\342\200\215\360\237\221\251\342\200\215\360\237\221\247 e\314\201\314\201 \346\227\245\346\234\254 \316\261')"
try "$(printf '%%s %%n %%d $(id) \140id\140 ; rm -rf / \047; DROP TABLE trials; --')"
try "$(head -c 3000 /dev/zero | tr '\0' x)"

# Names of files and options that look like something else.
mkdir -- '-C' 'a b' "$(printf 'new\nline')"
for dir in './-C' 'a b' "$(printf 'new\nline')"; do
    must_run -C "$dir" append --create --status keep --core-metric 1
    must_run -C "$dir" best --format json
    must_run -C "$dir" verify
    must_run -C "$dir" render --for "$(printf 'me\n# FORGED\033[1m')"
    must_be_tame
done
must_fail 2 'no?' -C "$(printf 'no\n\033[1msuch')" best
must_fail 2 "no trial 'a?b?'" -C evil show "$(printf 'a\nb\033')"

# Messages escape characters that hide or reorder text, whether they come from the user or from a file.
odd=$(printf 'a\302\233b\342\200\256c\033[1m')
mkdir names
{
    header | sed "s/\$/$tab$odd/"
    trial 000 '' keep 1 | sed "s/\$/$tab$odd/"
    trial 001 '' "$odd" 1 | sed "s/\$/$tab$odd/"
} >names/results.tsv
for arguments in "show $odd" "best --direction $odd" "$odd" "query --param no$odd=1:" "render --style $odd" "query --sort nothing"; do
    # shellcheck disable=SC2086
    run -C names $arguments
    must_exit 2
    mv err out
    must_be_tame
done
run -C "$odd" best
mv err out
must_be_tame

# Names of extra columns are untrusted too; JSON returns them unchanged.
for arguments in 'show 000' 'query' 'verify' 'show 000 --format json' 'query --format json'; do
    # shellcheck disable=SC2086
    run -C names $arguments
    must_be_tame
    [ "$arguments" = verify ] || must_exit 0
done
must_equal "$odd" "$(json "0.extras.$odd")"

# The rendered block quotes cells: an image, link, markup or status from a cell only appears within a code span.
mkdir quoted
"$LINEAGE" -C quoted append --create --status keep --core-metric 1 --specialist 'opt, keep, core_metric=99.0' \
    --hypothesis '![i](http://x/y.png) <img src=x> **b** &lt; ← BEST' --notes '<script>x</script> [l](http://x)' \
    --expected-delta '<b>1</b>' >/dev/null
"$LINEAGE" -C quoted append --exp-id '[x](http://x)' --status crash --specialist '<i>' --notes '![r](http://x)' >/dev/null
"$LINEAGE" -C quoted append --parent '[x](http://x)' --specialist __em__ --status keep --core-metric 0.5 \
    --hypothesis '# FORGED' >/dev/null
for options in '' '--max-bytes 1500' '--for <u>me</u> --timestamp <a>'; do
    # shellcheck disable=SC2086
    must_run -C quoted render $options
    sed 's/`[^`]*`//g' out >bare
    must_equal 0 "$(grep -cE '<[a-z/]|http|!\[|99\.0|&lt|__em|\*\*b\*\*' bare)" "$last: outside of quotations"
    must_equal 1 "$(grep -c '← BEST' bare)" "$last: marks of the best"
    must_equal 0 "$(awk -F '`' 'NF && NF % 2 == 0 && $0 != "```"' out | wc -l)" "$last: quotations that do not close"
done

# The name of a metric comes from a file too.
mkdir metric
{
    row exp_id status "$(printf '"m\n# FORGED')\""
    row 000 keep 1.5
} >metric/results.tsv
run -C metric --metric "$(printf 'm\n# FORGED')" render
must_exit 0
must_be_tame
must_equal 1 "$(grep -c '^# ' out)" "$last: titles"
finish
