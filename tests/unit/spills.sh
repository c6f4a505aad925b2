#!/bin/sh
# spills.sh OBJECT...: the innermost loops of the functions that exist once per vector level (src/hot, attention_level.h) keep their
# vectors in registers. A vector that is written to the stack there costs several times the arithmetic. Loops that call a function
# are left out, because a call preserves no vector register.
set -eu
export LC_ALL=C
command -v objdump >/dev/null || { echo 'left out: objdump (Debian: binutils)'; exit 77; }
[ "$(uname -m)" = x86_64 ] || { echo 'left out: this looks at code of x86-64'; exit 77; }
objdump -d --no-show-raw-insn "$@" | awk '
function judge(    i, j, b, inner, stores, calls)
{
    if (name !~ /_(avx512|avx2|sse2)$/)
        return
    functions++
    for (b = 1; b <= backs; b++) {
        inner = 1
        for (j = 1; j <= backs; j++)
            inner = inner && (j == b || from[j] < from[b] || to[j] > to[b] || (from[j] == from[b] && to[j] == to[b]))
        stores = calls = 0
        for (i = from[b]; i <= to[b]; i++) {
            calls += text[i] ~ /^call/
            stores += text[i] ~ /^v?mov[a-z0-9]* +%[xyz]mm[0-9]+,-?(0x[0-9a-f]+)?\(%r[sb]p\)/ && text[i] !~ /^v?movs[sd] /
        }
        loops += inner
        if (inner && !calls && stores) {
            printf "%s: a loop at %s writes %d vectors to the stack\n", name, address[from[b]], stores
            bad++
        }
    }
}
/^[0-9a-f]+ <.*>:$/ { judge(); name = substr($2, 2, length($2) - 3); n = backs = 0; delete place; next }
/^ +[0-9a-f]+:\t/ {
    split($0, part, "\t")
    n++
    address[n] = substr(part[1], 1, length(part[1]) - 1)
    gsub(/ /, "", address[n])
    text[n] = part[2]
    place[address[n]] = n
    if (part[2] ~ /^j/) {
        split(part[2], word, " +")
        if (word[2] in place) { backs++; from[backs] = place[word[2]]; to[backs] = n }
    }
}
END {
    judge()
    printf "%d functions, %d innermost loops, %d of them spill\n", functions, loops, bad
    exit bad > 0 || functions == 0
}'
