# Sourced by packages.sh and tests/arm.sh: a Debian root with a cross compiler for aarch64 and libraries of that architecture. It
# takes root, debootstrap and a mirror of Debian. Set `here` to the top of the sources and source install-deps.sh before.

# aarch64_root PLACE: makes PLACE/root, or uses it again. Returns 1 with the reason in `lacks`.
aarch64_root()
{
    place=$1 root=$1/root
    lacks='it takes root'
    [ "$(id -u)" -eq 0 ] || return 1
    need_packages debootstrap
    [ ! -e "$place/installed" ] || return 0
    mkdir -p "$place"
    rm -rf "$root"
    # shellcheck disable=SC2016 # apt's variables
    mirror=$(apt-get indextargets --format '$(REPO_URI)' 'Created-By: Packages' 'Codename: bookworm' 'Origin: Debian' 2>/dev/null | head -n 1)
    if ! debootstrap --variant=minbase bookworm "$root" "${mirror:-http://deb.debian.org/debian}" >"$place/log" 2>&1; then
        lacks="debootstrap: $(tail -n 1 "$place/log")"
        return 1
    fi
    cp /etc/resolv.conf "$root/etc/"
    cp /etc/apt/apt.conf.d/* "$root/etc/apt/apt.conf.d/" 2>/dev/null || :
    foreign=
    # shellcheck disable=SC2154 # install-deps.sh
    for package in $build_packages libcmocka-dev zlib1g-dev libgomp1; do
        case $package in
        *-dev) [ "$package" = uthash-dev ] && foreign="$foreign $package" || foreign="$foreign $package:arm64" ;;
        libgomp1) foreign="$foreign $package:arm64" ;;
        esac
    done
    if ! in_aarch64_root "dpkg --add-architecture arm64 && apt-get update -q && apt-get install -y -q --no-install-recommends \
        gcc-aarch64-linux-gnu g++-aarch64-linux-gnu binutils cmake ninja-build pkg-config diffutils qemu-user-static $foreign" >>"$place/log" 2>&1; then
        lacks="packages: $(tail -n 1 "$place/log")"
        return 1
    fi
    : >"$place/installed"
}

# in_aarch64_root COMMAND: runs it there, with the sources at /src. The mounts belong to this process and end with it.
in_aarch64_root()
{
    unshare -m sh -c 'mkdir -p "$1/src" "$1/shared" "$1/build" && mount --bind "$2" "$1/src" && mount -t proc proc "$1/proc" &&
        if [ -d "$2/../shared" ]; then mount --bind "$2/../shared" "$1/shared"; fi &&
        exec chroot "$1" env -i PATH=/usr/sbin:/usr/bin:/sbin:/bin LC_ALL=C.UTF-8 DEBIAN_FRONTEND=noninteractive \
        OMP_WAIT_POLICY=passive OMP_NUM_THREADS=2 sh -c "$3"' sh "$root" "$here" "$1"
}
