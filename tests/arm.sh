#!/bin/sh
# arm.sh [DIRECTORY]: builds for aarch64 with Debian's cross compiler in a Debian root of its own, and runs unit and golden tests
# under qemu. The root and the build are kept in DIRECTORY (build-arm) and used again. It takes root, debootstrap and a mirror of
# Debian; without them it says so and exits with 77. Called by `sh tests/run.sh arm`.
set -eu

# Left out: what starts its own program again, which needs a kernel that runs foreign programs by itself. Of the trainer's tests, the
# others train for many minutes under qemu.
without='cli_.*|trainer_.*'
trainer='trainer_(checkpoint|collect|credit|data|env|evaluate|faults|judging|learner|objective|optimizer|policy|product|recipe|offpolicy)'

here=$(CDPATH='' cd -- "$(dirname -- "$0")/.." && pwd)
place=${1:-$here/build-arm}
root=$place/root
leave() { printf 'arm.sh: skipped: %s\n' "$1" >&2 && exit 77; }
[ "$(id -u)" -eq 0 ] || leave 'it takes root'
. "$here/cli/install-deps.sh"
need_packages debootstrap

# within COMMAND: in the root, with the sources at /src. The mounts belong to this process and end with it.
within()
{
    unshare -m sh -c 'mkdir -p "$1/src" "$1/shared" "$1/build" && mount --bind "$2" "$1/src" && mount -t proc proc "$1/proc" &&
        if [ -d "$2/../shared" ]; then mount --bind "$2/../shared" "$1/shared"; fi &&
        exec chroot "$1" env -i PATH=/usr/sbin:/usr/bin:/sbin:/bin LC_ALL=C.UTF-8 DEBIAN_FRONTEND=noninteractive \
        OMP_WAIT_POLICY=passive OMP_NUM_THREADS=2 sh -c "$3"' sh "$root" "$here" "$1"
}

if [ ! -e "$place/installed" ]; then
    mkdir -p "$place"
    rm -rf "$root"
    # shellcheck disable=SC2016 # apt's variables
    mirror=$(apt-get indextargets --format '$(REPO_URI)' 'Created-By: Packages' 'Codename: bookworm' 'Origin: Debian' 2>/dev/null | head -n 1)
    debootstrap --variant=minbase bookworm "$root" "${mirror:-http://deb.debian.org/debian}" >"$place/log" 2>&1 ||
        leave "debootstrap: $(tail -n 1 "$place/log")"
    cp /etc/resolv.conf "$root/etc/"
    cp /etc/apt/apt.conf.d/* "$root/etc/apt/apt.conf.d/" 2>/dev/null || :
    foreign=
    for package in $build_packages libcmocka-dev zlib1g-dev libgomp1; do
        case $package in
        *-dev) [ "$package" = uthash-dev ] && foreign="$foreign $package" || foreign="$foreign $package:arm64" ;;
        libgomp1) foreign="$foreign $package:arm64" ;;
        esac
    done
    within "dpkg --add-architecture arm64 && apt-get update -q && apt-get install -y -q --no-install-recommends \
        gcc-aarch64-linux-gnu g++-aarch64-linux-gnu binutils cmake ninja-build pkg-config diffutils qemu-user-static $foreign" >>"$place/log" 2>&1 ||
        leave "packages: $(tail -n 1 "$place/log")"
    : >"$place/installed"
fi
within "cmake -S /src -B /build -G Ninja -DCMAKE_TOOLCHAIN_FILE=/src/src/cmake/aarch64.cmake -DLINEAGE_WERROR=ON -DLINEAGE_BUILD_TESTS=ON \
    >/dev/null && ninja -C /build && ctest --test-dir /build --output-on-failure --timeout 600 -j$(nproc) -L '^(unit|golden)\$' -E '^($without)\$' &&
    ctest --test-dir /build --output-on-failure --timeout 600 -j$(nproc) -R '^($trainer)\$'"
