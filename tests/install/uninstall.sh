#!/bin/sh
# uninstall.sh: `cmake --install` installs programs, pages and completions where systems search for them; the target
# `uninstall` removes all of them and no other file.
. "$SOURCE/tests/support/shell.sh"

prefix=$scratch/prefix
"$CMAKE" --install "$BUILD" --prefix "$prefix" >out 2>err || fail "cmake --install: $(cat err)"
last="installed tree"
for file in bin/lineage libexec/lineage/lineage-train share/man/man1/lineage.1 share/man/man1/lineage-train.1 \
    share/man/man5/results.tsv.5 share/man/man7/lineage.7 share/bash-completion/completions/lineage \
    share/zsh/site-functions/_lineage share/fish/vendor_completions.d/lineage.fish share/lineage/schema/FORMAT.md; do
    checks=$((checks + 1))
    [ -f "$prefix/$file" ] || fail "$last: no $file"
done
must_equal "lineage $VERSION" "$(PATH=$prefix/bin:$PATH && lineage --version)"
if command -v man >/dev/null; then
    must_equal "$prefix/share/man/man1/lineage-query.1" "$(PATH=$prefix/bin:$PATH && unset MANPATH && man -w lineage-query)"
fi
# Every installed path contains a name of the project.
find "$prefix" -type f ! -path '*lineage*' ! -path '*rlcore*' ! -path '*trainer*' ! -name results.tsv.5 >others
must_equal '' "$(cat others)"

: >"$prefix/include/lineage/of-others.h"
mkdir -p "$prefix/share/lineage/mine"
"$CMAKE" --build "$BUILD" --target uninstall >out 2>err || fail "uninstall: $(cat err)"
last="after uninstall"
must_equal "$prefix/include/lineage/of-others.h" "$(find "$prefix" ! -type d)"
[ -d "$prefix/share/lineage/mine" ] || fail "$last: an empty directory of others is gone"
[ -d "$prefix/bin" ] || fail "$last: bin is gone"
must_equal '' "$(find "$prefix" -type d \( -name rlcore -o -name trainer -o -name schema \))"

# A second uninstall has nothing to remove and succeeds.
"$CMAKE" --build "$BUILD" --target uninstall >out 2>err || fail "uninstall again: $(cat err)"
must_have out 'Not there: '
finish
