#!/bin/sh
# wheel.sh: the wheel (`cli/wheel.sh`) runs the example of the guide without any library of lineage on the machine, and uses the
# libraries that it brings.
. "$SOURCE/tests/support/shell.sh"
[ "$INSTRUMENTED" = no ] || skip 'the wheel is not instrumented'
python=/usr/bin/python3
last=wheel.sh
$python -c 'import setuptools, wheel, pip' 2>/dev/null || skip 'a wheel needs pip, setuptools and wheel'

file=$(sh "$SOURCE/cli/wheel.sh" "$BUILD/wheel" 2>log) || fail "wheel.sh: $(tail -n 3 log)"
case $file in
*/lineage_trials-*-py3-none-manylinux_2_[0-9]*_"$(uname -m)".whl) ;;
*) fail "its name: $file" ;;
esac
must_equal 1 "$(ls "$BUILD/wheel/wheels" | wc -l)" 'one wheel'
$python -m pip install --quiet --no-index --no-deps --target site "$file" 2>log || fail "pip: $(cat log)"

# Every library finds the others beside itself, and none calls a function of a newer glibc than the tag says.
newest=$(basename "$file" | sed 's/.*manylinux_2_\([0-9]*\)_.*/\1/')
for library in site/lineage/_lib/*; do
    ldd "$library" | grep 'not found' >missing && fail "$library: $(cat missing)"
    needed=$(objdump -T "$library" | grep -o 'GLIBC_2\.[0-9]*' | sed 's/.*\.//' | sort -n | tail -n 1)
    [ "${needed:-0}" -le "$newest" ] || fail "$library needs glibc 2.$needed, but the tag says 2.$newest"
done

sed -n '/^python3 - <<.END.$/,/^END$/p' "$SOURCE/cli/man/python.md" | sed '/^END$/q' | sed '1d;$d' >example.py
grep -q 'store.best_id' example.py || fail 'no example in the guide'
cat >>example.py <<'END'
import lineage.core
print(lineage.core.passk_beta(alpha=1.0, beta=1.0, k=[1])["passk"][0])
names = {line.split("/")[-1].strip() for line in open("/proc/self/maps") if "/site/lineage/_lib/" in line}
outside = {line.split()[-1] for line in open("/proc/self/maps") if "liblineage" in line or "librl" in line or "jansson" in line}
print(*sorted(names & {"liblineage.so.0", "librlcore.so.0", "librlcase.so.0", "libjansson.so.4"}))
print(*[path for path in outside if "/site/lineage/_lib/" not in path])
END
mkdir runs
env -i PATH=/usr/bin:/bin PYTHONPATH="$(pwd)/site" HOME="$(pwd)" $python example.py >out 2>err || fail "the example: $(cat err)"
must_equal 000 "$(sed -n 1p out)"
must_equal 0.5 "$(sed -n 2p out)" 'a kernel of the core'
must_equal 'libjansson.so.4 liblineage.so.0 librlcase.so.0 librlcore.so.0' "$(sed -n 3p out)"
must_equal '' "$(sed -n 4p out)" 'libraries of the machine'
must_equal "$("$LINEAGE" --version)" "$(env -i site/bin/lineage --version)" 'the command in the wheel'
must_equal 000 "$(env -i site/bin/lineage -C runs/from-python best --format tsv | awk 'NR == 2 { print $1 }')" 'it reads what Python wrote'
finish
