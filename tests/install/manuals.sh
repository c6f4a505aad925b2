#!/bin/sh
# manuals.sh: each command has a page with all of its options and the text of --help; each guide has a page
# with every word of its source; the pages are sound troff.
. "$SOURCE/tests/support/shell.sh"

pages=$BUILD/cli/man
[ -f "$pages/lineage.1" ] || skip "no manual pages in $BUILD (they are made where the programs can run)"

# The visible text of a page, with one blank between words and without bold type.
plain()
{
    sed 's/\\f[BIRP]//g; s/\\f([A-Z][A-Z]//g; s/\\f\[[A-Z]*\]//g; s/\\-/-/g; s/\\(aq/'"'"'/g; s/\\(ga/`/g; s/\\(dq/"/g; s/\\(ha/^/g; s/\\(ti/~/g; s/\\e/\\/g; s/\\&//g' "$1" | squeezed
}

squeezed() { tr -s ' \n' '  '; }

# says TEXT WHAT: the page in ./page contains TEXT.
says()
{
    checks=$((checks + 1))
    grep -qF -- "$1" page || fail "$2: no '$1'"
}

run --help
sed -n '/^Guides/q; s/^  \([a-z]*\)  *\(.*\)/\1|\2/p' out >commands
sed -n '/^Guides/,/^$/{ s/^  \([a-z]*\)  *\(.*\)/\1|\2/p; }' out >guides
[ "$(wc -l <commands)" -ge 26 ] || fail "commands of --help: $(cat commands)"
plain "$pages/lineage.1" >main
while IFS='|' read -r command summary; do
    page=$pages/lineage-$command.1
    [ -f "$page" ] || { fail "no page of $command"; continue; }
    plain "$page" >page
    says "lineage-$command - $summary" "name of $command"
    cp main page
    says "$command $summary" "lineage(1)"
    says "lineage-$command(1)" "lineage(1)"
    plain "$pages/lineage-$command.1" >page
    run "$command" --help
    sed -n '/^$/q; s/^  \(-[a-zA-Z], \|    \)\(--[a-z-]*\).*/\2/p' out >options
    must_equal '' "$(awk 'NR == FNR { page = page $0 " "; next } !index(page, " " $0)' page options)" "lineage-$command(1) lacks options"
    # The text after the options: description and examples.
    sed '1,/^$/d; /^Examples:$/d; s/^ *//' out | tr -s ' ' |
        awk 'NR == FNR { page = page $0 " "; next } !index(page, $0)' page - >lost
    must_equal '' "$(cat lost)" "lineage-$command(1) lacks lines of --help"
done <commands
must_equal "$(wc -l <commands)" "$(find "$pages" -name 'lineage-*.1' | wc -l)" "pages of commands"

# Every word of each guide, except Markdown's markup and the header rows of tables.
words() { tr -c 'A-Za-z0-9_.' '\n' | tr 'A-Z' 'a-z' | sed 's/\.*$//' | grep . | sort -u; }
while IFS='|' read -r guide summary; do
    entry=$(grep "^CLI_GUIDE($guide," "$SOURCE/cli/man/guides.def")
    page=$(printf '%s\n' "$entry" | sed 's/[^"]*"\([^"]*\)", \([0-9]\).*/\1.\2/')
    source=$SOURCE/$(printf '%s\n' "$entry" | cut -d '"' -f 4)
    cp main page
    says "$guide $summary (${page%.*}(${page##*.}))" "lineage(1)"
    [ -f "$pages/lineage.7" ] || continue # made only where lowdown is
    plain "$pages/$page" >page
    says "${page%.*} - $summary" "name of $guide"
    sed '/^# /d; /^<!--.*-->$/d; s/^```.*//; /^|/{ N; /\n|[-|]*$/d; }; s/](\([^)]*\))/ /g' "$source" | words >wanted
    words <page >got
    must_equal '' "$(comm -23 wanted got | tr '\n' ' ')" "$page lacks words of $source"
done <guides
[ -f "$pages/lineage.7" ] || printf 'SKIP pages of guides: lowdown is not installed\n'

man=no
command -v man >/dev/null && man --warnings -l "$pages/lineage.1" >out 2>/dev/null && [ -s out ] && man=yes
for page in "$pages"/*.[1-9]; do
    name=$(basename "$page")
    must_equal '' "$(grep -n '@[A-Z][A-Z]*@' "$page")" "$name: places left to be filled"
    must_equal 1 "$(grep -c '^\.TH .* "lineage '"$VERSION"'" ' "$page")" "$name: title line"
    if command -v mandoc >/dev/null; then
        # lowdown 2.0 begins each paragraph with .PP, also behind a title, which changes nothing.
        must_equal '' "$(mandoc -T lint -W warning "$page" 2>&1 | grep -v 'skipping paragraph macro: PP after SH')" "mandoc: $name"
    fi
    if [ "$man" = yes ]; then
        must_equal '' "$(MANWIDTH=80 man --warnings -l "$page" 2>&1 >/dev/null)" "man: $name"
    fi
done
command -v mandoc >/dev/null || printf 'SKIP mandoc: it is not installed\n'
[ "$man" = yes ] || printf 'SKIP man: it is not installed, or has no formatter\n'
finish
