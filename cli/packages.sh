#!/bin/sh
# Makes Debian packages of the tree: lineage (the command), lineage-train (trainer and kernels behind it),
# lineage-mpi (one trial by several processes), liblineage0, librlcore0, librlcase0, libtrainer0, liblineage-dev and python3-lineage. Installs what is missing for that.
#
# usage: sh cli/packages.sh [DIRECTORY]      (default: build-packages; a build is kept there and goes on)
#
# Then, as root: apt-get install ./build-packages/lineage_*.deb ./build-packages/lineage-train_*.deb
set -eu

usage() { sed -n '2,/^set -eu$/{ /^set -eu$/d; s/^# \{0,1\}//; p; }' "$0"; }
case ${1:-} in
-h | --help) usage && exit 0 ;;
-*) printf 'packages.sh: unknown option %s; see sh %s --help\n' "$1" "$0" >&2 && exit 2 ;;
esac
[ $# -le 1 ] || { printf 'packages.sh: one DIRECTORY at most; see sh %s --help\n' "$0" >&2 && exit 2; }

here=$(CDPATH='' cd -- "$(dirname -- "$0")/.." && pwd)
. "$here/cli/install-deps.sh"
# shellcheck disable=SC2086
need_packages $build_packages libopenmpi-dev dpkg-dev file

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
    -DLINEAGE_STATIC_COMMAND=OFF -DLINEAGE_MPI=ON -DLINEAGE_ZSH_DIR=share/zsh/vendor-completions \
    -DLINEAGE_BUILD_TESTS=OFF -DLINEAGE_BUILD_BENCH=OFF >&2
ninja -C "$build" >&2
rm -f "$build"/*.deb
umask 022
(cd "$build" && cpack -G DEB) >&2
ls "$build"/*.deb
