#!/bin/sh
# readme.sh: the commands of README.md as a new user pastes them, in order, in a copy of the source; and those that the
# first of them says to go on with.
#
# They are the README's own lines. What they work on is made small: the copy's recipes train for a step or two, the
# build is the one under test (`cmake` and `ninja` only say so), and `sh tests/run.sh`, which runs this, is left out.
. "$SOURCE/tests/support/shell.sh"

[ "$INSTRUMENTED" = no ] || skip "an instrumented build takes minutes for a night"

last=README.md
here=$scratch/lineage
mkdir "$here" tools home
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
cat >tools/ninja <<'END'
#!/bin/sh
exit 0
END
# The example's training program wants NumPy: Debian's python3 has it where another one comes first.
for python in python3 /usr/bin/python3 none; do
    [ "$python" != none ] || break
    "$python" -c 'import numpy' 2>/dev/null && break
done
printf '#!/bin/sh\nexec %s "$@"\n' "$python" >tools/python3
chmod +x tools/cmake tools/ninja tools/python3

# commands FILE: what stands in its ```sh fences.
commands()
{
    awk '/^```sh$/ { inside = 1; next } /^```$/ { inside = 0 } inside' "$1"
}

commands "$here/README.md" | grep -vx 'sh tests/run.sh' >pasted
if [ "$python" = none ]; then
    echo 'python3-numpy is not there: without the section on your own training'
    sed '/^lineage run -C runs\/mine/,/^    python3/d; /runs\/mine/d' pasted >without && mv without pasted
fi
checks=$((checks + 1))
[ "$(wc -l <pasted)" -gt 20 ] || fail "hardly a command in README.md"
checks=$((checks + 1))
commands "$here/README.md" | grep -qx 'sh tests/run.sh' || fail "the exception is not in README.md any more"

# One shell, as a person has it; the first line that fails is the last of its trace.
HOME=$scratch/home PATH=$scratch/tools:$PATH OPENBLAS_NUM_THREADS=1 OMP_WAIT_POLICY=passive
export HOME PATH OPENBLAS_NUM_THREADS OMP_WAIT_POLICY
(cd "$here" && sh -eux "$scratch/pasted") >out 2>err </dev/null ||
    fail "a command of README.md fails: $(grep '^+' err | tail -n 1)
$(tail -n 5 err)"

# What the text around them says comes out of them.
must_have out "discarded: +0.14, needs more than 0.283"
must_have out 'nobody tried this'
must_have out '"exp_id": "002"'
must_have out "difference: variant minus grpo"
must_equal 5 "$(sed 1d "$here/runs/atpo/results.tsv" | wc -l)" "rows of runs/atpo"
must_equal 6 "$(sed 1d "$here/build/first-night/results.tsv" | wc -l)" "rows of the first night"
must_equal 8 "$(sed 1d "$here/runs/hop/results.tsv" | wc -l)" "rows of runs/hop"
if [ "$python" != none ]; then
    must_equal 21 "$(sed 1d "$here/runs/mine/results.tsv" | wc -l)" "rows of runs/mine"
    must_equal 16 "$(grep -c "proposer=" "$here/runs/mine/results.tsv")" "trials that were proposed"
    must_equal 1 "$(grep -c 'mean of 3 seeds' "$here/runs/mine/results.tsv")" "rows of several seeds"
    checks=$((checks + 1))
    grep -q 'proposer=planner' "$here/runs/mine/results.tsv" || fail "the planner planned nothing"
fi
must_have "$here/runs/atpo/KNOWLEDGE.md" "turn-group normalisation"

# The program is the one that the page shows.
sed -n '/^    #include <lineage\/store.h>/,/^    }/s/^ \{0,4\}//p' "$SOURCE/README.md" >shown
must_match_file "$SOURCE/tests/examples/append.c" shown

# The first command says where things are, and how to go on: those lines paste, too.
last="sh cli/first-night.sh"
sed -n '/^To go on:/,/^[^ T]/p' out | sed -n 's/^    //p' >next
checks=$((checks + 1))
[ "$(wc -l <next)" -ge 5 ] || fail "hardly a line to go on with"
for place in build/cli/lineage build/first-night build/first-night/KNOWLEDGE.md; do
    must_have out "$here/$place"
    [ -e "$here/$place" ] || fail "there is no $place"
done
sh -eux next >more 2>err </dev/null || fail "what it says to go on with fails: $(tail -n 3 err)"
must_equal 7 "$(sed 1d "$here/build/first-night/results.tsv" | wc -l)" "rows after going on"

# What the pages link is there.
for page in README.md schema/CORE.md fixtures/experiments/README.md; do
    for link in $(grep -o '](\([^)#:]*\))' "$SOURCE/$page" | tr -d '()]' | sort -u); do
        checks=$((checks + 1))
        [ -e "$SOURCE/$(dirname "$page")/$link" ] || fail "$page links $link, which is not there"
    done
done
finish
