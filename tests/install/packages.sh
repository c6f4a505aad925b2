#!/bin/sh
# packages.sh: cli/packages.sh makes Debian packages that lintian accepts; they are installed and removed
# in an empty tree, and in a bare Debian where one can be made (as root, with debootstrap and a mirror).
. "$SOURCE/tests/support/shell.sh"

[ "$INSTRUMENTED" = no ] || skip "packages are not made of instrumented programs"
for tool in dpkg-deb dpkg-buildflags dpkg-shlibdeps file; do
    command -v "$tool" >/dev/null || skip "packages need $tool"
done

names="liblineage-dev liblineage0 librlcase0 librlcore0 libtrainer0 lineage-train lineage python3-lineage"
built=$BUILD/packages
sh "$SOURCE/cli/packages.sh" "$built" >made 2>err || { fail "cli/packages.sh: $(tail -n 20 err)"; finish; }
last="cli/packages.sh"
mkdir debs
while read -r deb; do cp "$deb" debs/; done <made
# shellcheck disable=SC2086
must_equal "$(printf "%s_${VERSION}_$(dpkg --print-architecture).deb\n" $names | sed '/^python3/s/_[^_]*\.deb/_all.deb/')" "$(ls debs)"

# depends PACKAGE FIELD: the value of a field of its control file.
value() { dpkg-deb --field debs/"$1"_*.deb "$2" | tr '\n' ' '; }

last="dependencies"
value lineage Depends >lineage
value lineage-train Depends >train
value liblineage0 Depends >store
for heavy in openblas gomp gfortran lineage-train; do
    must_lack lineage "$heavy"
    must_lack store "$heavy"
done
must_have lineage libsqlite3-0
must_have train libopenblas0
must_have train "lineage (= $VERSION)"
must_equal 'libmicrohttpd12 ' "$(value lineage Recommends)"
must_equal 'libcurl4, ca-certificates ' "$(value lineage-train Recommends)"

if command -v lintian >/dev/null; then
    last="lintian"
    lintian --tag-display-limit 0 debs/*.deb >out 2>err
    must_equal '' "$(grep -v '^[NIX]:' out)"
    must_equal '' "$(find debs -name '*.deb' -exec dpkg-deb -c {} \; | grep lintian)" "overrides without a reason here"
else
    printf 'SKIP lintian: it is not installed\n'
fi

# ---- an empty tree with dpkg alone ----
# dpkg requires programs in sbin, which is not on the PATH of an ordinary user.
into_tree() { PATH=$PATH:/usr/sbin:/sbin dpkg --root="$scratch/tree" --force-not-root --force-depends --force-script-chrootless --log=/dev/null "$@" >out 2>err; }
last="dpkg in an empty tree"
mkdir -p tree/var/lib/dpkg/info tree/var/lib/dpkg/updates tree/var/lib/dpkg/triggers
: >tree/var/lib/dpkg/status
into_tree --install debs/*.deb || fail "$last: $(cat err)"
must_equal "lineage $VERSION" "$(tree/usr/bin/lineage --version)"
for file in usr/libexec/lineage/lineage-train usr/include/lineage/store.h usr/share/man/man1/lineage.1.gz \
    usr/share/man/man5/results.tsv.5.gz usr/share/man/man1/lineage-train.1.gz usr/share/zsh/vendor-completions/_lineage; do
    checks=$((checks + 1))
    [ -f "tree/$file" ] || fail "$last: no $file"
done
# shellcheck disable=SC2086
into_tree --purge $names || fail "$last, --purge: $(cat err)"
must_equal '' "$(find tree ! -type d ! -path 'tree/var/lib/dpkg/*')" "left behind"

# ---- a bare Debian ----
# bare_root: a bare Debian in ./root, from a copy in the build directory or made now; on failure $why has the reason.
bare_root()
{
    kept=$BUILD/bare-root.tar
    [ "$(id -u)" -eq 0 ] || { why="it takes root" && return 1; }
    if [ ! -f "$kept" ]; then
        command -v debootstrap >/dev/null || { why="debootstrap is not installed" && return 1; }
        # shellcheck disable=SC2016 # apt's variables
        mirror=$(apt-get indextargets --format '$(REPO_URI)' 'Created-By: Packages' 'Codename: bookworm' 'Origin: Debian' 2>/dev/null | head -n 1)
        timeout 900 debootstrap --variant=minbase bookworm fresh "${mirror:-http://deb.debian.org/debian}" >out 2>&1 ||
            { why="debootstrap: $(tail -n 1 out)" && return 1; }
        tar -C fresh -cf "$kept.new" . && mv "$kept.new" "$kept" && rm -rf fresh
    fi
    mkdir root && tar -C root -xf "$kept" || { why="cannot unpack $kept" && return 1; }
    cp /etc/resolv.conf root/etc/ 2>/dev/null
    chroot root true 2>err || { why="chroot: $(cat err)" && return 1; }
    chroot root apt-get update -q >out 2>&1 || { why="apt-get update: $(tail -n 1 out)" && return 1; }
}

# inside COMMAND...: in the bare root.
inside()
{
    last="bare root: $*"
    chroot root env -i PATH=/usr/sbin:/usr/bin:/sbin:/bin DEBIAN_FRONTEND=noninteractive LC_ALL=C.UTF-8 "$@" >out 2>err </dev/null
    status=$?
}
within() { inside "$@" && must_exit 0 || { fail "$last: exit status $status"; show_output; }; }
installed() { chroot root dpkg-query -W -f '${Package} ${db:Status-Abbrev}\n' | awk '$2 == "ii" { print $1 }'; }
ours() { find root -xdev \( -name '*lineage*' -o -name '*rlcore*' -o -name '*rlcase*' -o -name 'libtrainer*' \) ! -path 'root/debs/*' ! -path 'root/var/cache/*'; }

if bare_root; then
    mkdir -p root/debs && cp debs/*.deb root/debs/
    case=$SOURCE/tests/examples/a2tgpo_advantage.json
    cp "$case" root/debs/case.json
    installed >before
    within sh -c 'apt-get install -y -q --no-install-recommends /debs/lineage_*.deb'
    installed >out
    for heavy in libopenblas0 libopenblas0-pthread libgomp1 libgfortran5 libmicrohttpd12; do
        must_equal '' "$(grep -x "$heavy" out)" "installed with lineage alone"
    done
    within lineage init /store --direction higher
    within lineage append -C /store --status keep --core-metric 1.5 --hypothesis first
    within lineage best -C /store --format tsv
    must_have out first
    within lineage complete -C /store show ''
    must_have out 000
    inside lineage core --list
    must_equal 3 "$status"
    must_have err 'lineage-train, which is not installed'
    within sh -c 'apt-get install -y -q --no-install-recommends /debs/lineage-train_*.deb'
    within lineage core a2tgpo_advantage /debs/case.json
    "$LINEAGE" core a2tgpo_advantage "$case" >wanted
    must_match_file wanted out
    within sh -c 'apt-get install -y -q --no-install-recommends /debs/lib*0_*.deb'
    within ldconfig -p
    for library in lineage rlcore rlcase trainer; do must_have out "lib$library.so.0 "; done
    within sh -c 'apt-get install -s --no-install-recommends /debs/liblineage-dev_*.deb'
    within dpkg-query -W zlib1g-dev libgfortran-12-dev # which pkg-config --static names
    within sh -c 'apt-get install -y -q --no-install-recommends /debs/python3-lineage_*.deb'
    within python3 -c 'import lineage, lineage.core; print(lineage.Store("/store").best()["hypothesis"])'
    must_have out first
    # shellcheck disable=SC2086
    within apt-get purge -y -q python3-lineage lineage lineage-train liblineage0 librlcore0 librlcase0 libtrainer0
    within apt-get autoremove -y -q --purge
    rm -rf root/store
    installed >after
    last="bare root, after purge"
    must_match_file before after
    must_equal '' "$(ours)" "$last"
    chroot root ldconfig -p >out
    must_lack out liblineage
else
    printf 'SKIP a bare Debian: %s\n' "$why"
fi
finish
