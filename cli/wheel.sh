#!/bin/sh
# Makes a wheel of the Python package with its libraries inside, so that `pip install lineage_trials-*.whl` needs nothing else. Installs
# what is missing for that.
#
# usage: sh cli/wheel.sh [x86_64|aarch64] [DIRECTORY]      (default: build-wheel; a build is kept there and goes on)
#
# The libraries of lineage, and those that they need beyond glibc, lie in lineage/_lib and find each other there. The tag names the
# oldest glibc that has every function they call (PEP 600), so the wheel is for systems with that glibc or a newer one. The command
# `lineage` in it is the portable one (`cli/packages.sh --portable`). For aarch64 both are made with a cross compiler in a Debian
# root, which takes root, debootstrap and a mirror (default directory: build-arm).
set -eu

usage() { sed -n '2,/^set -eu$/{ /^set -eu$/d; s/^# \{0,1\}//; p; }' "$0"; }
machine=$(uname -m)
case ${1:-} in
x86_64 | aarch64) machine=$1 && shift ;;
-h | --help) usage && exit 0 ;;
-*) printf 'wheel.sh: unknown option %s; see sh %s --help\n' "$1" "$0" >&2 && exit 2 ;;
esac
[ $# -le 1 ] || { printf 'wheel.sh: one DIRECTORY at most; see sh %s --help\n' "$0" >&2 && exit 2; }

here=$(CDPATH='' cd -- "$(dirname -- "$0")/.." && pwd)
. "$here/cli/install-deps.sh"
# shellcheck disable=SC2086 # a list of words
need_packages $build_packages binutils python3-pip python3-setuptools python3-wheel

# shellcheck disable=SC2016 # the loader's variable
as_libraries='-G Ninja -DCMAKE_BUILD_TYPE=Release -DCMAKE_BUILD_WITH_INSTALL_RPATH=ON -DCMAKE_INSTALL_RPATH=$ORIGIN -DLINEAGE_BUILD_CLI=OFF
    -DLINEAGE_BUILD_TESTS=OFF -DLINEAGE_BUILD_BENCH=OFF'

# What is run where the libraries were built: `collect BUILD OWN LIST STRIP` copies them to OWN with what they need. LIST prints what
# a library needs, and what that needs, like ldd. Of glibc nothing is copied.
# shellcheck disable=SC2016 # for another shell
collect='set -eu
    rm -rf "$2" && mkdir "$2"
    for name in store/liblineage rlcore/librlcore rlcase/librlcase; do cp -L "$1/src/$name.so.0" "$2/"; done
    for library in "$2"/*.so.*; do LD_LIBRARY_PATH=$2 $3 "$library"; done |
        awk "\$2 == \"=>\" && \$3 ~ /^\\// { print \$3 }" | sort -u | grep -vE "/(libc|libm|libmvec|libpthread|libdl|librt|ld-linux[^/]*)\.so" |
        while read -r path; do [ -e "$2/$(basename "$path")" ] || cp -L "$path" "$2/"; done
    $4 --strip-unneeded "$2"/*'

# ---- build: $build, $libraries and $command ----
if [ "$machine" = aarch64 ] && [ "$(uname -m)" != aarch64 ]; then
    . "$here/cli/debian-root.sh"
    build=${1:-$here/build-arm}
    # shellcheck disable=SC2154 # aarch64_root sets it
    aarch64_root "$build" || { printf 'wheel.sh: %s\n' "$lacks" >&2 && exit 3; }
    build=$(CDPATH='' cd -- "$build" && pwd)
    printf '%s\n' "$collect" >"$root/collect.sh"
    in_aarch64_root "cmake -S /src -B /wheel -DCMAKE_TOOLCHAIN_FILE=/src/src/cmake/aarch64.cmake $(printf '%s' "$as_libraries" | sed 's/\$/\\$/' | tr '\n' ' ') &&
        ninja -C /wheel liblineage.so librlcore.so librlcase.so &&
        sh /collect.sh /wheel /libraries 'qemu-aarch64-static /lib/ld-linux-aarch64.so.1 --list' aarch64-linux-gnu-strip" >&2
    libraries=$root/libraries
    command=$(sh "$here/cli/packages.sh" --portable aarch64 "$build")
elif [ "$machine" != "$(uname -m)" ]; then
    printf 'wheel.sh: a wheel for %s is made on such a machine only\n' "$machine" >&2 && exit 2
else
    build=${1:-$here/build-wheel}
    mkdir -p "$build"
    build=$(CDPATH='' cd -- "$build" && pwd)
    libraries=$build/libraries
    # shellcheck disable=SC2086 # a list of words
    cmake -S "$here" -B "$build" $as_libraries >&2
    ninja -C "$build" liblineage.so librlcore.so librlcase.so >&2
    sh -c "$collect" sh "$build" "$libraries" ldd strip
    command=$(sh "$here/cli/packages.sh" --portable "$build/portable")
fi

# ---- the package with its libraries ----
stage=$build/stage
rm -rf "$stage" "$build/wheels"
mkdir -p "$stage" "$build/wheels"
cp -R "$here/src/python/lineage" "$here/src/python/pyproject.toml" "$stage/"
find "$stage" -name __pycache__ -prune -exec rm -r {} +
cp -R "$libraries" "$stage/lineage/_lib"
sed -i 's|^lineage = \["py.typed", "\*.pyi"\]|lineage = ["py.typed", "*.pyi", "_lib/*"]|' "$stage/pyproject.toml"
grep -q '_lib/\*' "$stage/pyproject.toml" || { echo 'wheel.sh: pyproject.toml has no list of data to extend' >&2 && exit 1; }

# ---- the wheel ----
glibc=$(for library in "$libraries"/*; do readelf --wide --dyn-syms "$library"; done | grep -o 'GLIBC_2\.[0-9]*' | sort -uV | tail -n 1)
tag=py3-none-manylinux_2_${glibc#GLIBC_2.}_$machine
/usr/bin/python3 -m pip wheel --quiet --no-build-isolation --no-deps --no-index -w "$build/wheels" "$stage" >&2
(
    cd "$build/wheels"
    /usr/bin/python3 -m wheel unpack ./*.whl >&2
    rm ./*.whl
    package=$(basename lineage_trials-*)
    mkdir -p "$package/$package.data/scripts"
    install -m 755 "$command" "$package/$package.data/scripts/lineage"
    sed -i "s/^Root-Is-Purelib:.*/Root-Is-Purelib: false/; s/^Tag:.*/Tag: $tag/" lineage_trials-*/lineage_trials-*.dist-info/WHEEL
    /usr/bin/python3 -m wheel pack lineage_trials-* >&2
    rm -r lineage_trials-*/
)
ls "$build"/wheels/*.whl
