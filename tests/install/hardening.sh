#!/bin/sh
# hardening.sh: what is built and installed has the hardening of src/cmake/Flags.cmake: stack protector, checked calls of libc
# (_FORTIFY_SOURCE), relocations that are read-only after the start (full RELRO), a stack that is not executable, programs at a
# random address, and on x86 landing pads for indirect branches.
. "$SOURCE/tests/support/shell.sh"
[ "$INSTRUMENTED" = no ] || skip "sanitizers check calls themselves"

# faults FILE: prints what a linked ELF file lacks.
faults()
{
    readelf -d "$1" >dynamic 2>/dev/null
    readelf -lW "$1" >segments 2>/dev/null
    readelf -hW "$1" | grep -q 'Type: *DYN' || echo "$1: not position independent"
    grep -q 'BIND_NOW\|FLAGS.*NOW' dynamic || echo "$1: lazy binding"
    grep -q GNU_RELRO segments || echo "$1: no RELRO"
    grep -q 'GNU_STACK.* RWE' segments && echo "$1: executable stack"
    nm -D "$1" >names
    grep -q __stack_chk_fail names || echo "$1: no stack protector"
    grep -q '__[a-z]*_chk@' names || echo "$1: no checked calls"
}

# The test relies on this output: a file that is linked without hardening has every fault.
printf '#include <stdio.h>\nint main(int n, char **v) { char b[9]; sprintf(b, "%%s", v[n - 1]); return b[0]; }\n' >probe.c
"$CC" -O2 -no-pie -fno-stack-protector -U_FORTIFY_SOURCE -Wl,-z,norelro,-z,lazy,-z,execstack probe.c -o bare 2>err ||
    fail "cannot link a probe: $(cat err)"
last="a file without hardening"
must_equal 6 "$(faults bare | wc -l)"

last="built files"
for file in "$BUILD"/cli/lineage "$BUILD"/cli/lineage-train "$BUILD"/src/store/liblineage.so "$BUILD"/src/rlcore/librlcore.so \
    "$BUILD"/src/rlcase/librlcase.so "$BUILD"/src/trainer/libtrainer.so; do
    must_equal '' "$(faults "$file")" "$file"
done

last="installed files"
"$CMAKE" --install "$BUILD" --prefix "$scratch/installed" >out 2>err || fail "cmake --install: $(cat err)"
find installed -type f \( -perm -u+x -o -name '*.so*' \) ! -name '*.sh' >files
elf=0
while read -r file; do
    readelf -h "$file" >/dev/null 2>&1 || continue
    elf=$((elf + 1))
    must_equal '' "$(faults "$file")" "$file"
done <files
[ "$elf" -ge 6 ] || fail "$last: only $elf ELF files looked at"

# The linker drops the mark of a whole file if one of the compiler's own start files lacks it, so the objects are looked at.
last="landing pads"
if [ "$(uname -m)" = x86_64 ]; then
    object=$(find "$BUILD/src/store" -name 'store.c.o' | head -n 1)
    readelf -n "$object" >notes 2>/dev/null
    must_have notes 'IBT, SHSTK'
fi
finish
