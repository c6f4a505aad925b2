#!/bin/sh
# runpath.sh: nothing that is built or installed loads libraries from the current directory, or from any directory
# that its reader did not choose: no run path has an entry that is empty or relative, and none is installed.
. "$SOURCE/tests/support/shell.sh"

# run_paths DIRECTORY: "FILE PATH" of every ELF file with a run path; relocatable objects have none.
run_paths()
{
    find "$1" \( -path "$1/failed" -o -path "$1/clang-format" \) -prune -o -type f \( -perm -u+x -o -name '*.so*' \) ! -name '*.sh' -print >files
    while read -r file; do
        path=$(readelf -d "$file" 2>/dev/null | sed -n 's/.*R\(UN\)\{0,1\}PATH.*\[\(.*\)\]$/\2/p')
        [ -z "$path" ] || printf '%s %s\n' "$file" "$path"
    done <files
    elf=$(while read -r file; do readelf -h "$file" >/dev/null 2>&1 && echo "$file"; done <files | wc -l)
    [ "$elf" -ge 2 ] || fail "$1: only $elf ELF files looked at"
}

# The test relies on readelf showing an empty entry of a run path.
printf 'int main(void) { return 0; }\n' >probe.c
mkdir probe
"$CC" probe.c -o probe/a -Wl,-rpath,/usr/lib/somewhere: && cp probe/a probe/b || fail "cannot link a probe"
run_paths probe >found
last="a path with an empty entry"
must_have found 'probe/a /usr/lib/somewhere:'

last="build tree"
run_paths "$BUILD" >found
checks=$((checks + 1))
! grep -E ' (:|.*::|.*:$)|[ :][^/:$]' found || fail "$last: a run path with an empty or a relative entry"

last="installed tree"
"$CMAKE" --install "$BUILD" --prefix "$scratch/installed" >out 2>err || fail "cmake --install: $(cat err)"
run_paths installed >found
must_equal '' "$(cat found)" "run paths of what is installed"
finish
