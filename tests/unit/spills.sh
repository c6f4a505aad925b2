#!/bin/sh
# spills.sh OBJDUMP OBJECT...: the innermost loops of the functions that exist once per vector level (src/hot, attention_level.h), and on
# aarch64 of all functions, keep their vectors in registers. A vector that is written to the stack there costs several times the
# arithmetic. Loops that call a function are left out, because a call preserves no whole vector register. An array on the stack does not
# count: a loop reaches it by an index.
set -eu
export LC_ALL=C
objdump=$1
shift
command -v "$objdump" >/dev/null || { echo 'left out: objdump (Debian: binutils)'; exit 77; }
# text[1..n] is a function, an instruction each. Its blocks are numbered: an instruction that is jumped to begins one, and a jump ends one.
# from[k] is what jumps to block k, and falls[k] tells that block k + 1 follows it. A jump backwards closes a loop only if its target is
# on every path to it: gcc puts rare code at the end of a function, from where it jumps back.
"$objdump" -d --no-show-raw-insn "$@" | awk '
# Fills body with the blocks that reach source without passing head. Returns 0 if that includes the entry of the function.
function flood(source, head,    top, k, j, m)
{
    delete body
    body[head] = body[source] = 1
    top = 0
    if (source != head)
        todo[++top] = source
    while (top) {
        k = todo[top--]
        if (k == 1)
            return 0
        if (falls[k - 1] && !((k - 1) in body)) { body[k - 1] = 1; todo[++top] = k - 1 }
        m = split(from[k], into, " ")
        for (j = 1; j <= m; j++)
            if (!(into[j] in body)) { body[into[j]] = 1; todo[++top] = into[j] }
    }
    return 1
}
function judge(    i, k, b, h, inner, stores, calls, backs, blocks)
{
    if (!arm && name !~ /_(avx512|avx2|sse2)$/)
        return
    functions++
    delete from
    delete heads
    delete begins
    delete falls
    delete stores_of
    delete calls_of
    for (i = 1; i <= n; i++)
        if (goal[i] in place)
            begins[place[goal[i]]] = 1
    for (i = 1; i <= n; i++) {
        if (i == 1 || i in begins || goal[i - 1] in place || ends[i - 1]) {
            first[++blocks] = i
            falls[blocks - 1] = !ends[i - 1]
        }
        block[i] = blocks
        calls_of[blocks] += text[i] ~ /^(call|blr? )/
        stores_of[blocks] += text[i] ~ /^st(r|p|ur) q[0-9]+,.*\[(sp|x29)(, #-?[0-9]+)?\]/
        stores_of[blocks] += text[i] ~ /^v?mov[a-z0-9]* +%[xyz]mm[0-9]+,-?(0x[0-9a-f]+)?\(%r[sb]p\)/ && text[i] !~ /^v?mov(s[sd]|[dq]) /
    }
    for (i = 1; i <= n; i++)
        if (goal[i] in place)
            from[block[place[goal[i]]]] = from[block[place[goal[i]]]] " " block[i]
    for (i = 1; i <= n; i++)
        if (goal[i] in place && place[goal[i]] <= i && flood(block[i], block[place[goal[i]]])) {
            source[++backs] = block[i]
            head_of[backs] = block[place[goal[i]]]
            heads[head_of[backs]] = 1
        }
    for (b = 1; b <= backs; b++) {
        flood(source[b], head_of[b])
        inner = 1
        for (h in heads)
            inner = inner && (h == head_of[b] || !(h in body))
        if (!inner)
            continue
        loops++
        stores = calls = 0
        for (k in body) {
            calls += calls_of[k]
            stores += stores_of[k]
        }
        if (!calls && stores) {
            printf "%s: the loop at %s writes %d vectors to the stack\n", name, address[first[head_of[b]]], stores
            bad++
        }
    }
}
/file format/ { judge(); n = 0; arm = /aarch64/ }
/^[0-9a-f]+ <.*>:$/ { judge(); name = substr($2, 2, length($2) - 3); n = 0; delete place; delete goal; delete ends; next }
/^ +[0-9a-f]+:\t/ {
    split($0, part, "\t")
    n++
    address[n] = substr(part[1], 1, length(part[1]) - 1)
    gsub(/ /, "", address[n])
    text[n] = arm ? part[2] " " part[3] : part[2]
    place[address[n]] = n
    if (!arm && part[2] ~ /^j/) { split(part[2], word, " +"); goal[n] = word[2] }
    if (arm && part[2] ~ /^(b|b\.[a-z]+|cbn?z|tbn?z)$/) { split(part[3], word, " <"); sub(/.*[, ]/, "", word[1]); goal[n] = word[1] }
    if (part[2] ~ /^(jmp|ret|ud2|b$|br$)/) ends[n] = 1
}
END {
    judge()
    printf "%d functions, %d innermost loops, %d of them spill\n", functions, loops, bad
    exit bad > 0 || functions == 0
}'
