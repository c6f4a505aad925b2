#!/bin/sh
# Makes Debian packages of the tree: lineage (the command), lineage-train (trainer and kernels behind it),
# liblineage0, librlcore0, librlcase0, libtrainer0, liblineage-dev and python3-lineage. Installs what is missing for that.
#
# usage: sh cli/packages.sh [DIRECTORY]      (default: build-packages; a build is kept there and goes on)
#        sh cli/packages.sh --portable [x86_64|aarch64] [DIRECTORY]
#
# Then, as root: apt-get install ./build-packages/lineage_*.deb ./build-packages/lineage-train_*.deb
#
# --portable makes one file instead, lineage-VERSION-ARCHITECTURE: the command with all it needs, libc included, for any Linux
# with a kernel from 3.2 on. It has no `serve`, no language models, no logs on servers and no trainer, and says so. For aarch64
# it is made with a cross compiler in a Debian root, which takes root, debootstrap and a mirror (default directory: build-arm).
set -eu

usage() { sed -n '2,/^set -eu$/{ /^set -eu$/d; s/^# \{0,1\}//; p; }' "$0"; }
portable=
case ${1:-} in
-h | --help) usage && exit 0 ;;
--portable)
    shift
    portable=$(uname -m)
    case ${1:-} in x86_64 | aarch64) portable=$1 && shift ;; esac
    ;;
-*) printf 'packages.sh: unknown option %s; see sh %s --help\n' "$1" "$0" >&2 && exit 2 ;;
esac
[ $# -le 1 ] || { printf 'packages.sh: one DIRECTORY at most; see sh %s --help\n' "$0" >&2 && exit 2; }

here=$(CDPATH='' cd -- "$(dirname -- "$0")/.." && pwd)
. "$here/cli/install-deps.sh"
version=$(sed -n 's/^project(lineage VERSION \([0-9.]*\).*/\1/p' "$here/CMakeLists.txt")
as_portable='-G Ninja -DCMAKE_BUILD_TYPE=Release -DLINEAGE_PORTABLE=ON -DLINEAGE_BUILD_TESTS=OFF -DLINEAGE_BUILD_BENCH=OFF'
if [ "$portable" = aarch64 ] && [ "$(uname -m)" != aarch64 ]; then
    . "$here/cli/debian-root.sh"
    # shellcheck disable=SC2154 # aarch64_root sets it
    aarch64_root "${1:-$here/build-arm}" || { printf 'packages.sh: %s\n' "$lacks" >&2 && exit 3; }
    in_aarch64_root "cmake -S /src -B /portable -DCMAKE_TOOLCHAIN_FILE=/src/src/cmake/aarch64.cmake $as_portable && ninja -C /portable lineage" >&2
    cp "$place/root/portable/cli/lineage" "$place/lineage-$version-aarch64"
    echo "$place/lineage-$version-aarch64" && exit 0
fi
if [ "$portable" ]; then
    # shellcheck disable=SC2086 # lists of words
    need_packages $build_packages zlib1g-dev
    build=${1:-$here/build-portable}
    # shellcheck disable=SC2086
    cmake -S "$here" -B "$build" $as_portable >&2
    ninja -C "$build" lineage >&2
    cp "$build/cli/lineage" "$build/lineage-$version-$portable"
    echo "$build/lineage-$version-$portable" && exit 0
fi
# shellcheck disable=SC2086
need_packages $build_packages dpkg-dev file

# The flags that Debian builds its own packages with. Without -g: a static library would keep it.
DEB_BUILD_MAINT_OPTIONS=hardening=+all
DEB_CFLAGS_MAINT_STRIP=-g
export DEB_BUILD_MAINT_OPTIONS DEB_CFLAGS_MAINT_STRIP
cd "$here" # the flags name it
eval "$(dpkg-buildflags --export=sh)"
CFLAGS="$CFLAGS $CPPFLAGS" # CMake asks for no CPPFLAGS
export CFLAGS

# LINEAGE_STATIC_COMMAND=OFF: the command loads the SQLite that the system keeps up to date. It then takes a
# millisecond or two longer to start than one that is built to be fast.
build=${1:-$here/build-packages}
cmake -S "$here" -B "$build" -G Ninja -DCMAKE_BUILD_TYPE=Release -DCMAKE_INSTALL_PREFIX=/usr -DLINEAGE_PACKAGES=ON \
    -DLINEAGE_STATIC_COMMAND=OFF -DLINEAGE_ZSH_DIR=share/zsh/vendor-completions \
    -DLINEAGE_BUILD_TESTS=OFF -DLINEAGE_BUILD_BENCH=OFF >&2
ninja -C "$build" >&2
rm -f "$build"/*.deb
umask 022
(cd "$build" && cpack -G DEB) >&2
ls "$build"/*.deb
