#!/bin/sh
# guides.sh: the commands of every guide (cli/man/guides.def) and of schema/CORE.md, in order, in a copy of the source, with the output shown.
. "$SOURCE/tests/support/shell.sh"
. "$SOURCE/tests/support/pages.sh"

[ "$INSTRUMENTED" = no ] || skip "an instrumented build takes minutes for a night"

# The comparison sees a difference, and accepts what the marks allow.
# compares WANTED GOT VARY DIFFERENCE
compares()
{
    printf '%b' "$1" >wanted
    printf '%b' "$2" >got
    must_equal "$4" "$(shown wanted got "$3")" "comparison of '$1' with '$2'"
}
compares 'a 1\n' 'a 1\n' '' ''
compares 'a 1\n' 'a 2\n' '' 'line 1: a 1'
compares 'a 1\n' 'a  22.5\n' 1 ''
compares 'a 1\n' 'b 1\n' 1 'line 1: a 1'
compares 'a\n' 'a\nb\n' '' 'it ends, and there is more: b'
compares 'a\nb\n' 'a\n' '' 'line 2: b'
compares 'a\n...\nd\n' 'a\nb\nc\nd\n' '' ''
compares 'a ... (c)\n' 'a b (c)\n' '' ''
compares 'a [b]\n' 'a b\n' '' 'line 1: a [b]'

checkout
for guide in $(sed -n 's/^CLI_GUIDE(.*, [0-9], "\([^"]*\)".*/\1/p' "$SOURCE/cli/man/guides.def"); do
    run_page "$guide"
done
run_page schema/CORE.md
for guide in "$SOURCE"/cli/man/*.md; do
    must_have "$SOURCE/cli/man/guides.def" "\"cli/man/$(basename "$guide")\""
    must_have "$SOURCE/README.md" "cli/man/$(basename "$guide")"
done
finish
