#!/bin/sh
# example.sh: the C program shown in schema/CORE.md, the C++ and the ctypes program, and `lineage core`
# on the same numbers.
. "$SOURCE/tests/support/shell.sh"

examples=$SOURCE/tests/examples

last="schema/CORE.md"
sed -n '/^    #include <rlcore\/a2tgpo.h>/,/^    }/s/^ \{0,4\}//p' "$SOURCE/schema/CORE.md" >shown
must_match_file "$examples/a2tgpo.c" shown

# Every name in its tables exists.
for name in $(grep -o '`rl_[a-z0-9_]*`' "$SOURCE/schema/CORE.md" | tr -d '`' | sort -u); do
    checks=$((checks + 1))
    [ "$name" = rl_x ] || [ "$name" = rl_xf ] || grep -qrw "$name" "$SOURCE/include/rlcore" ||
        fail "schema/CORE.md names $name, which no header declares"
done
for header in $(grep -o 'include/[a-z]*/[a-z0-9_]*\.h' "$SOURCE/schema/CORE.md" | sort -u); do
    checks=$((checks + 1))
    [ -f "$SOURCE/$header" ] || fail "schema/CORE.md links $header, which is not there"
done
for header in "$SOURCE"/include/rlcore/*.h; do
    checks=$((checks + 1))
    case ${header##*/} in status.h | batch.h) continue ;; esac
    must_have "$SOURCE/schema/CORE.md" "include/rlcore/${header##*/}"
done

last="example"
"$EXAMPLE" >program || fail "the example fails"
sed -n '1s/.*loss \([^,]*\), clipped \(.*\)/\1 \2/p' program >loss
tail -n +2 program >tokens
must_equal 12 "$(wc -l <tokens)" "tokens of the example"

# column FILE KEY: prints the numbers of an output, one per line.
column()
{
    "$JSON_GET" "$2" <"$1" | tr -d '[]' | tr ',' '\n'
}
# must_agree WANTED GOT [SQUARE]: two columns of numbers agree within rounding, and at least one number is not 0.
must_agree()
{
    checks=$((checks + 1))
    paste -d ' ' "$1" "$2" | awk -v square="${3:-1e-24}" '{ for (i = 1; 2 * i <= NF; i++) {
            d = $i - $(i + NF / 2); seen += $i != 0
            if (NF % 2 || $i "" == "" || d * d > square) bad = 1 } }
        END { exit bad || !seen }' || fail "$last: '$(cat "$2")' is not '$(cat "$1")'"
}

must_run core a2tgpo_advantage "$examples/a2tgpo_advantage.json"
column out advantages >advantages
column out ig_clip_scale | paste -d ' ' advantages - >credit
cut -d ' ' -f 1-2 tokens >wanted
must_agree wanted credit
column "$examples/a2tgpo_turn_loss.json" inputs.advantages >given
must_agree advantages given

must_run core a2tgpo_turn_loss "$examples/a2tgpo_turn_loss.json"
printf '%s %s\n' "$(json loss)" "$(json pg_clipfrac)" >core
must_agree loss core
column out d_log_prob >gradient
cut -d ' ' -f 3 tokens >wanted
must_agree wanted gradient

# The same batch, padded, in double precision.
cat >padded.json <<'END'
{"loss": "vanilla", "loss_agg_mode": "token-mean",
 "response_mask": [[1, 1, 0, 1], [1, 1, 0, 0], [1, 1, 0, 0]],
 "log_prob": [[-0.5, -1.25, 0, -0.375], [-2, -0.125, 0, 0], [-1, -0.75, 0, 0]],
 "old_log_prob": [[-0.75, -1, 0, -0.375], [-1.5, -0.25, 0, 0], [-1.625, -0.75, 0, 0]],
 "advantages": [[1, 1, 0, 1], [-0.5, -0.5, 0, 0], [0.25, 0.25, 0, 0]]}
END
must_run core policy_loss padded.json
printf '%s %s\n' "$(json loss)" "$(json pg_clipfrac)" >core
column out d_log_prob | sed '7,8d;12d' >gradient
# as_padded PROGRAM...: prints the loss and the nine gradients of the packed batch.
as_padded()
{
    last=$*
    "$@" >program || fail "$last fails"
    sed -n 1p program >loss
    tail -n +2 program >tokens
    must_agree core loss 1e-14
    must_agree gradient tokens 1e-14
}
if [ -n "${EXAMPLE_LAYOUTS:-}" ]; then
    as_padded "$EXAMPLE_LAYOUTS"
else
    echo 'SKIP the C++ example: there is no C++ compiler'
fi
# An interpreter cannot open a library that needs its sanitizer to be loaded first.
if [ "$INSTRUMENTED" != sanitizers ] && command -v python3 >/dev/null; then
    as_padded python3 "$examples/ragged_bf16.py" "$BUILD/src/rlcore/librlcore.so"
else
    echo 'SKIP the ctypes example: python3 is missing, or the library is instrumented'
fi
finish
