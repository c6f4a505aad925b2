# pages.sh: runs the command blocks of README.md and of the guides. Sourced behind shell.sh.
#
# tests/README.md explains to authors how blocks are marked; in short:
#   ```sh                        runs, in order, all blocks of a page in one shell; a command that fails is a fault
#   ```sh elsewhere: PATH        does not run here (it needs a server, ssh, Slurm, sudo ..); the test PATH runs it or its like
#   ```text                      what the block before it prints on standard output; `...` stands for any text, and on a
#                                line of its own for any lines. Behind a block that runs elsewhere, its lines are in PATH
#   ```text numbers vary         likewise, but any number matches a number, and blanks match blanks
#   ```c|sh|python|json shows: PATH the lines are in PATH, one after another
#   ```json                      is JSON
# shellcheck shell=sh disable=SC2154

# checkout: makes $here, a copy of the source in which the recipes train for a step or two, with the build under test in
# build/cli, and $scratch/tools with a cmake and a ninja that only pretend to build.
checkout()
{
    here=$scratch/lineage
    mkdir "$here" "$scratch/tools" "$scratch/home"
    (cd "$SOURCE" && tar -cf - --exclude='./build*' --exclude=./.git .) | tar -xf - -C "$here"
    mkdir -p "$here/build"
    ln -s "$BUILD/cli" "$here/build/cli"
    for recipe in "$here"/fixtures/recipes/*.json; do
        sed 's/"steps": [0-9]*/"steps": 2/; s/"batch": 128/"batch": 8/; s/"iterations": [0-9]*/"iterations": 1/
            s/"evaluation": {"questions": 512, "seeds": 4}/"evaluation": {"questions": 8, "seeds": 1}/' "$recipe" >small
        cp small "$recipe"
    done
    cat >tools/cmake <<END
#!/bin/sh
case \$1 in
--install) shift 2 && exec "$CMAKE" --install "$BUILD" "\$@" ;;
esac
END
    printf '#!/bin/sh\nexit 0\n' >tools/ninja
    # The examples need NumPy, which Debian's python3 has even if another python3 comes first.
    for python in python3 /usr/bin/python3 none; do
        [ "$python" != none ] || skip "python3-numpy is not installed"
        "$python" -c 'import numpy' 2>/dev/null && break
    done
    # By its absolute path: the wrapper itself is the first python3 of PATH below.
    printf '#!/bin/sh\nexec "%s" "$@"\n' "$(command -v "$python")" >tools/python3
    chmod +x tools/cmake tools/ninja tools/python3
    HOME=$scratch/home PATH=$scratch/tools:$here/build/cli:$PATH OPENBLAS_NUM_THREADS=1 OMP_WAIT_POLICY=passive
    LC_ALL=C.UTF-8 TZ=UTC
    export HOME PATH OPENBLAS_NUM_THREADS OMP_WAIT_POLICY TZ
}

# blocks PAGE: writes $page/N.KIND with the text of each fenced block and $page/list with "N KIND INFO" of each. A block of
# output has the number of the command block before it.
blocks()
{
    awk -v page="$page" '
        /^```/ && !inside {
            inside = 1; match($0, /^```+/); fence = substr($0, 1, RLENGTH); line = substr($0, RLENGTH + 1); kind = line; sub(/ .*/, "", kind); info = line; sub(/^[^ ]* */, "", info)
            if (kind != "text") n++
            print n, kind, info >(page "/list")
            printf "" >(page "/" n "." kind)
            next
        }
        inside && $0 == fence { inside = 0; close(page "/" n "." kind); next }
        inside { print >(page "/" n "." kind) }' "$1"
}

# shown WANTED GOT VARY: prints the first line of WANTED that GOT does not have in its place.
shown()
{
    awk -v vary="$3" '
        function pattern(text) {
            gsub(/[][\\.^$*+?(){}|\/]/, "\\\\&", text)
            gsub(/\\\.\\\.\\\./, ".*", text)
            if (vary) { gsub(/[-+]?[0-9]+(\\\.[0-9]+)?(e[-+]?[0-9]+)?/, "[-+0-9.e]+", text); gsub(/ +/, " +", text); gsub(/--+/, "-+", text) }
            return "^ *" text " *$"
        }
        NR == FNR { wanted[++n] = $0; next }
        { got[++m] = $0 }
        END {
            for (i = 1; i <= n; i++) {
                if (wanted[i] == "...") { skip = 1; continue }
                while (++j <= m && got[j] !~ pattern(wanted[i]))
                    if (!skip) { j = m + 1; break }
                if (j > m) { print "line " i ": " wanted[i]; exit }
                skip = 0
            }
            if (!skip && j < m) print "it ends, and there is more: " got[j + 1]
        }' "$1" "$2"
}

# run_page PAGE: runs the blocks of PAGE, a path below $here, in $here, and compares what they print. The output of block N
# is left in $page/N.out.
run_page()
{
    last=$1
    page=$scratch/blocks/$(basename "$1" .md)
    mkdir -p "$page"
    : >"$page/list"
    blocks "$SOURCE/$1"
    echo 'set -eux' >"$page/script"
    while read -r n kind info; do
        case $kind:$info in
        sh:)
            printf '{\n%s\n} >"%s" 2>"%s" </dev/null\n' "$(cat "$page/$n.sh")" "$page/$n.out" "$page/$n.err" >>"$page/script"
            ;;
        sh:elsewhere:*)
            [ -f "$SOURCE/${info#elsewhere: }" ] || fail "$1: a block is tested by ${info#elsewhere: }, which is not there"
            ;;
        text: | "text:numbers vary") ;;
        c:shows:* | sh:shows:* | python:shows:* | json:shows:*)
            file=$SOURCE/${info#shows: }
            checks=$((checks + 1))
            awk -v n="$(wc -l <"$page/$n.$kind")" 'NR == FNR { wanted[NR] = $0; next }
                { if ($0 == wanted[at + 1]) at++; else at = $0 == wanted[1]; if (at == n) found = 1 }
                END { exit !found }' "$page/$n.$kind" "$file" || fail "$1: the lines shown are not in ${info#shows: }"
            ;;
        json:)
            checks=$((checks + 1))
            python3 -m json.tool "$page/$n.json" >/dev/null || fail "$1: a block is not JSON"
            ;;
        *) fail "$1: a block is marked '$kind $info', which pages.sh does not know" ;;
        esac
    done <"$page/list"
    checks=$((checks + 1))
    (cd "$here" && sh "$page/script") >"$page/trace" 2>&1 || {
        n=$(ls "$page" | sed -n 's/\.err$//p' | sort -n | tail -n 1)
        fail "$1: a command fails: $(grep '^+' "$page/$n.err" | tail -n 1)"
        tail -n 8 "$page/$n.err"
        return
    }
    elsewhere=
    while read -r n kind info; do
        case $kind:$info in
        sh:*) elsewhere=${info#elsewhere:} ;;
        esac
        [ "$kind" = text ] || continue
        checks=$((checks + 1))
        if [ -n "$elsewhere" ]; then
            while read -r line; do
                grep -qF -- "$line" "$SOURCE/${elsewhere# }" || fail "$1: the test${elsewhere} does not compare the line: $line"
            done <"$page/$n.text"
            continue
        fi
        difference=$(shown "$page/$n.text" "$page/$n.out" "$([ "$info" = 'numbers vary' ] && echo 1)")
        [ -z "$difference" ] || {
            fail "$1: what is shown is not what is printed: $difference"
            head -n 40 "$page/$n.out"
        }
    done <"$page/list"
    check_links "$1"
}

# check_links PAGE: the files that PAGE links exist.
check_links()
{
    for link in $(grep -o '](\([^)#: ]*\)[)#]' "$SOURCE/$1" | tr -d '()]#' | sort -u); do
        checks=$((checks + 1))
        [ -e "$SOURCE/$(dirname "$1")/$link" ] || fail "$1 links $link, which is not there"
    done
}
