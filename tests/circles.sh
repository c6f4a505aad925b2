#!/bin/sh
# circles.sh: no circle among the rooms of store and cli, nor among the files of a room, by the symbols of their objects. An
# include says what a file may use, the symbols what it does use, through headers of include/lineage, too.
#
# usage: sh tests/circles.sh OBJECT...      (exit status 0 if there is none, else a line for each)
[ $# -gt 0 ] || { echo "usage: circles.sh OBJECT..." >&2; exit 2; }
nm -A -P "$@" | awk '
function file_of(path)
{
    sub(/:$/, "", path)
    sub(/\.c\.o$/, "", path)
    sub(/CMakeFiles\/[^\/]*\.dir\//, "", path)
    gsub(/\/\.\//, "/", path)
    sub(/^.*src\/store\//, "store/", path)
    sub(/^.*cli\//, "cli/", path)
    return path
}
function room_of(file)
{
    return file ~ /\/.*\// ? substr(file, 1, match(file, /\/[^\/]*$/) - 1) : file
}
{
    file = file_of($1)
    if ($3 == "U")
        uses[++n_uses] = file SUBSEP $2
    else if ($3 ~ /^[A-Z]$/)
        home[$2] = file
}
function edge(kind, a, b)
{
    if (a == b || ((kind, a, b) in seen))
        return
    seen[kind, a, b] = 1
    next_of[kind, a, ++degree[kind, a]] = b
    if (!((kind, a) in node)) { node[kind, a] = 1; nodes[kind, ++n_nodes[kind]] = a }
}
# Everything that can be reached from a node.
function reach(kind, from,    stack, top, at, i, to)
{
    stack[top = 1] = from
    while (top) {
        at = stack[top--]
        for (i = 1; i <= degree[kind, at]; i++) {
            to = next_of[kind, at, i]
            if (!((kind, from, to) in reached)) { reached[kind, from, to] = 1; stack[++top] = to }
        }
    }
}
function circles(kind, least,    i, j, a, b, n, text)
{
    for (i = 1; i <= n_nodes[kind]; i++)
        reach(kind, nodes[kind, i])
    for (i = 1; i <= n_nodes[kind]; i++) {
        a = nodes[kind, i]
        if (done[kind, a] || !((kind, a, a) in reached))
            continue
        n = 0
        text = ""
        for (j = i; j <= n_nodes[kind]; j++) {
            b = nodes[kind, j]
            if (((kind, a, b) in reached) && ((kind, b, a) in reached)) {
                done[kind, b] = 1
                n++
                text = text " " b
            }
        }
        if (n >= least) { print "a circle of " kind ":" text; bad = 1 }
    }
}
END {
    for (i = 1; i <= n_uses; i++) {
        split(uses[i], part, SUBSEP)
        if (part[2] in home) {
            edge("files", part[1], home[part[2]])
            edge("rooms", room_of(part[1]), room_of(home[part[2]]))
        }
    }
    circles("rooms", 2)
    circles("files", 3) # a pair of files may know each other
    if (!n_uses) { print "no symbol was read"; bad = 1 }
    exit bad
}'
