#!/bin/sh
# render_keep.sh: `render --output` never loses text that was written by hand, nor a link, a device or a file mode.
. "$SOURCE/tests/support/shell.sh"

# A store whose cells forge headings, marks and the last line of a rendered file.
mkdir s
forged=$(printf 'x\n## Key Insights\n- FORGED\n<!-- rendered by lineage: 0123456789abcdef; text below is kept -->\nFORGED')
"$LINEAGE" -C s append --create --timestamp T --status baseline --core-metric 2 --hypothesis "$forged" >/dev/null
"$LINEAGE" -C s append --timestamp T --status keep --core-metric 1 --parent 000 --hypothesis 'better' --notes "$forged" >/dev/null

# must_end FILE END: FILE ends with exactly the bytes of END.
must_end()
{
    checks=$((checks + 1))
    tail -c "$(wc -c <"$2")" "$1" | cmp -s - "$2" || fail "$last: $1 does not end with $2"
}

# kept TEXT-FILE [OPTION...]: text below a rendered block is still there after rendering twice more.
kept()
{
    text=$1
    shift
    rm -f K.md* .K.md*
    must_run -C s render -o K.md --timestamp T
    cat "$text" >>K.md
    run -C s render -o K.md --timestamp U "$@"
    must_exit 0
    must_end K.md "$text"
    must_equal 1 "$(grep -ac '^# Session start — U' K.md)" "rendered anew"
    cp K.md once
    run -C s render -o K.md --timestamp U "$@"
    must_match_file once K.md
    must_equal 'K.md ' "$(ls -A | grep 'K\.md' | tr '\n' ' ')" "files beside"
}

printf '## Key Insights\n\n- warm up longer\n- not `this` | that\n' >plain
printf '\n```\nan open fence\n\n## key insights:\n- after it\n' >fence
printf '### My own notes\r\n* lr\r\nno line end' >other
printf '## Key Insights\nbefore\000after the NUL\n\300\200\n' >nul
printf '\n' >blank
printf '<!-- rendered by lineage: 0123456789abcdef; text below is kept -->\n## Key Insights\n' >line
head -c 300000 /dev/urandom >random
{ cat plain; head -c 5000 /dev/zero | tr '\0' x; } >long
for text in plain fence other nul blank line random; do
    kept $text
    kept $text --sections best
    kept $text --sections leaderboard,recent --max-bytes 900
    kept $text --max-bytes 120
done

# A budget applies to the block; text written by hand is not shortened, and the message says so.
kept long --max-bytes 2000
must_have err 'what a person wrote is not cut'
kept plain --max-bytes 2000
[ "$(wc -c <K.md)" -le 2000 ] || fail "$last: $(wc -c <K.md) bytes"
must_equal '' "$(cat err)"

# If the block itself was edited, the text below is kept, and the old file is saved aside once.
kept plain
sed -i 's/^# Session/my own line\n# Session/' K.md
cp K.md was
run -C s render -o K.md --timestamp U
must_exit 0
must_have err 'K.md.before-1'
must_match_file was K.md.before-1
must_end K.md plain
must_lack K.md 'my own line'
run -C s render -o K.md --timestamp U
must_equal '' "$(cat err)"
cp was K.md
must_run -C s render -o K.md --timestamp U
must_equal 'K.md K.md.before-1 ' "$(ls -A | grep 'K\.md' | tr '\n' ' ')" "the same bytes are put aside once"
printf 'other\n' | cat - was >K.md
run -C s render -o K.md --timestamp U
must_have err 'K.md.before-2'
must_end K.md plain

# A file of an older version: insights under any spelling, in or after a fence; the whole file is saved aside.
for heading in '## Key Insights' '### key insights:' '##Key Insights of ours' '# KEY INSIGHTS'; do
    rm -f K.md* .K.md*
    printf '# Session start — T\n\n## Current Best\n\n```\nnot closed\n%s\n\n- mine\n' "$heading" >K.md
    cp K.md was
    printf '%s\n\n- mine\n' "$heading" >mine
    run -C s render -o K.md
    must_exit 0
    must_end K.md mine
    must_match_file was K.md.before-1
done

# A file that was never rendered consists of text written by hand.
rm -f K.md*
{ printf '# My notes\n\n## Key Insights\nall mine\n'; cat random; } >K.md
cp K.md was
must_run -C s render -o K.md
must_end K.md was
must_have K.md '# Session start'
: >empty.md
must_run -C s render -o empty.md
must_run -C s render -o empty.md

# The bytes of fieldkit's style are fixed: a heading that a cell forges there is not an insight, and text after the
# block is kept.
rm -f K.md* .K.md*
must_run -C s render --style fieldkit --timestamp T
cp out given
must_have given '## Key Insights'
must_run -C s render --style fieldkit --timestamp T -o K.md
must_match_file given K.md
must_run -C s render --style fieldkit --timestamp T -o K.md
must_match_file given K.md
cat nul >>K.md
must_run -C s render --style fieldkit --timestamp T -o K.md
cat given nul | cmp -s - K.md || fail "$last: not the block and what a person wrote"
must_run -C s render --timestamp T -o K.md
must_end K.md nul
must_equal 0 "$(grep -ac '^- FORGED' K.md)" "a forged heading became an insight"
must_equal 'K.md ' "$(ls -A | grep 'K\.md' | tr '\n' ' ')" "files beside"
must_run -C s render --timestamp T --style fieldkit -o K.md
cat given nul | cmp -s - K.md || fail "$last: not the block and what a person wrote"

# Files of other tools: nothing in them is taken for an insight, and nothing is lost.
for tool in fieldkit blackboard; do
    rm -f K.md* .K.md*
    if [ $tool = fieldkit ]; then
        cp given K.md
    else
        must_run -C s render --style blackboard --output-dir board
        cp board/KNOWLEDGE.md K.md
    fi
    cp K.md was
    run -C s render -o K.md
    must_have err 'K.md.before-1'
    must_match_file was K.md.before-1
    must_equal 0 "$(grep -c '^- FORGED' K.md)" "$tool: a forged heading became an insight"
    must_run -C s render -o K.md
done

# A link stays and its target is replaced; a file that was never rendered is not overwritten through a link.
rm -rf K.md* .K.md* dir
mkdir dir
ln -s dir/real.md K.md
must_run -C s render -o K.md
[ -L K.md ] && [ -f dir/real.md ] || fail "$last: a dangling link"
cat plain >>dir/real.md
ln -s ../K.md dir/second
must_run -C s render -o dir/second --timestamp T
[ -L K.md ] && [ -L dir/second ] || fail "$last: a link was replaced"
must_end dir/real.md plain
must_have dir/real.md '# Session start — T'
cp random dir/secret
rm K.md
ln -s dir/secret K.md
must_fail 2 'was not rendered' -C s render -o K.md
must_match_file random dir/secret
ln -s loop loop
run -C s render -o loop
must_exit 3
must_have err 'too many links'

# Devices and pipes are written to directly.
must_run -C s render --timestamp T
cp out block
run -C s render --timestamp T -o /dev/null
must_exit 0
[ -c /dev/null ] || fail "/dev/null was replaced"
must_run -C s render --timestamp T -o /dev/stdout
must_match_file block out
printf 'before\n' >appended
"$LINEAGE" -C s render --timestamp T -o /dev/stdout >>appended
printf 'before\n' | cat - block | cmp -s - appended || fail "$last: >> with /dev/stdout"
mkfifo pipe
cat pipe >piped &
must_run -C s render --timestamp T -o pipe
wait
must_match_file block piped
[ -p pipe ] || fail "$last: the pipe was replaced"
run -C s render --timestamp T -o /dev/full
must_exit 3

# File modes are kept.
rm -f K.md*
must_run -C s render -o K.md
for mode in 600 640 664 400; do
    chmod $mode K.md
    must_run -C s render -o K.md
    must_equal "$mode" "$(stat -c %a K.md)" "mode"
done
umask 077
rm -f K.md*
must_run -C s render -o K.md
must_equal 600 "$(stat -c %a K.md)" "mode of a new file"
umask 022
run -C s render -o dir
must_exit 3
must_fail 2 'names no file' -C s render -o dir/
must_equal '' "$(find . -name '*.tmp')" "temporary files left"

# A record is never overwritten: different bytes get a numbered name, the same bytes are one record.
run -C s render --for me --timestamp T --record
must_exit 0
run -C s render --for me --timestamp T --record
must_equal 'T_me.md ' "$(ls s/lineage_snapshots | tr '\n' ' ')"
cp out first
run -C s render --for me --timestamp T --record --sections best
must_exit 0
must_have err 'T_me-2.md'
must_match_file first s/lineage_snapshots/T_me.md
must_match_file out s/lineage_snapshots/T_me-2.md
run -C s render --for me --timestamp T --record -o /dev/null
must_exit 0
must_equal 'T_me-2.md T_me.md ' "$(ls s/lineage_snapshots | tr '\n' ' ')"

# The blackboard's KNOWLEDGE.md has its own rule for text, and is replaced as a whole, through links and with its mode.
rm -rf board
must_run -C s render --style blackboard --output-dir board
sed -i '/^## Key Insights/,$d' board/KNOWLEDGE.md
cp board/KNOWLEDGE.md head
rm -rf board && mkdir board
printf 'a\n' >board/KNOWLEDGE.md
cat nul >>board/KNOWLEDGE.md
mv board/KNOWLEDGE.md dir/linked.md
chmod 600 dir/linked.md
ln -s ../dir/linked.md board/KNOWLEDGE.md
must_run -C s render --style blackboard --output-dir board
[ -L board/KNOWLEDGE.md ] || fail "$last: a link was replaced"
must_end dir/linked.md nul
must_equal 600 "$(stat -c %a dir/linked.md)" "mode"
finish
