#!/bin/sh
# Makes a wheel of the Python package with its libraries inside, so that `pip install lineage-*.whl` needs nothing else. Installs
# what is missing for that.
#
# usage: sh cli/wheel.sh [DIRECTORY]      (default: build-wheel; a build is kept there and goes on)
#
# The libraries of lineage, and those that they need beyond glibc, lie in lineage/_lib and find each other there. The tag names the
# oldest glibc that has every function they call (PEP 600), so the wheel is for systems with that glibc or a newer one. The command
# `lineage` in it is the portable one (`cli/packages.sh --portable`).
set -eu

usage() { sed -n '2,/^set -eu$/{ /^set -eu$/d; s/^# \{0,1\}//; p; }' "$0"; }
case ${1:-} in
-h | --help) usage && exit 0 ;;
-*) printf 'wheel.sh: unknown option %s; see sh %s --help\n' "$1" "$0" >&2 && exit 2 ;;
esac
[ $# -le 1 ] || { printf 'wheel.sh: one DIRECTORY at most; see sh %s --help\n' "$0" >&2 && exit 2; }

here=$(CDPATH='' cd -- "$(dirname -- "$0")/.." && pwd)
. "$here/cli/install-deps.sh"
# shellcheck disable=SC2086 # a list of words
need_packages $build_packages binutils python3-pip python3-setuptools python3-wheel

build=${1:-$here/build-wheel}
mkdir -p "$build"
build=$(CDPATH='' cd -- "$build" && pwd)
# shellcheck disable=SC2016 # the loader's variable
cmake -S "$here" -B "$build" -G Ninja -DCMAKE_BUILD_TYPE=Release -DCMAKE_BUILD_WITH_INSTALL_RPATH=ON '-DCMAKE_INSTALL_RPATH=$ORIGIN' \
    -DLINEAGE_BUILD_CLI=OFF -DLINEAGE_BUILD_TESTS=OFF -DLINEAGE_BUILD_BENCH=OFF >&2
ninja -C "$build" liblineage.so librlcore.so librlcase.so >&2
command=$(sh "$here/cli/packages.sh" --portable "$build/portable")

# ---- the package with its libraries ----
stage=$build/stage
rm -rf "$stage" "$build/wheels"
mkdir -p "$stage" "$build/wheels"
cp -R "$here/src/python/lineage" "$here/src/python/pyproject.toml" "$stage/"
find "$stage" -name __pycache__ -prune -exec rm -r {} +
own=$stage/lineage/_lib
mkdir "$own"
for name in store/liblineage rlcore/librlcore rlcase/librlcase; do cp -L "$build/src/$name.so.0" "$own/"; done
# ldd lists what the libraries need, and what that needs. Of glibc nothing is copied.
for library in "$own"/*.so.*; do LD_LIBRARY_PATH=$own ldd "$library"; done |
    awk '$2 == "=>" && $3 ~ /^\// { print $3 }' | sort -u | grep -vE '/(libc|libm|libmvec|libpthread|libdl|librt|ld-linux[^/]*)\.so' |
    while read -r path; do [ -e "$own/$(basename "$path")" ] || cp -L "$path" "$own/"; done
strip --strip-unneeded "$own"/*
sed -i 's|^lineage = \["py.typed", "\*.pyi"\]|lineage = ["py.typed", "*.pyi", "_lib/*"]|' "$stage/pyproject.toml"
grep -q '_lib/\*' "$stage/pyproject.toml" || { echo 'wheel.sh: pyproject.toml has no list of data to extend' >&2 && exit 1; }

# ---- the wheel ----
glibc=$(for library in "$own"/*; do objdump -T "$library"; done | grep -o 'GLIBC_2\.[0-9]*' | sort -uV | tail -n 1)
tag=py3-none-manylinux_2_${glibc#GLIBC_2.}_$(uname -m)
/usr/bin/python3 -m pip wheel --quiet --no-build-isolation --no-deps --no-index -w "$build/wheels" "$stage" >&2
(
    cd "$build/wheels"
    /usr/bin/python3 -m wheel unpack ./*.whl >&2
    rm ./*.whl
    package=$(basename lineage-*)
    mkdir -p "$package/$package.data/scripts"
    install -m 755 "$command" "$package/$package.data/scripts/lineage"
    sed -i "s/^Root-Is-Purelib:.*/Root-Is-Purelib: false/; s/^Tag:.*/Tag: $tag/" lineage-*/lineage-*.dist-info/WHEEL
    /usr/bin/python3 -m wheel pack lineage-* >&2
    rm -r lineage-*/
)
ls "$build"/wheels/*.whl
