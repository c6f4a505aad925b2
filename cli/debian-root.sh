# Sourced by packages.sh, wheel.sh and tests: Debian roots. Making one takes root, debootstrap and a mirror of Debian. Set `here` to
# the top of the sources and source install-deps.sh before.

# debian_root ROOT SUITE: makes a bare Debian, or uses it again. Returns 1 with the reason in `lacks`.
debian_root()
{
    lacks='it takes root'
    [ "$(id -u)" -eq 0 ] || return 1
    need_packages debootstrap
    [ ! -e "$1/usr/bin/apt-get" ] || return 0
    mkdir -p "$1"
    # shellcheck disable=SC2016 # apt's variables
    mirror=$(apt-get indextargets --format '$(REPO_URI)' 'Created-By: Packages' 'Origin: Debian' 2>/dev/null | grep -v security | head -n 1)
    if ! debootstrap --variant=minbase "$2" "$1" "${mirror:-http://deb.debian.org/debian}" >"$1.log" 2>&1; then
        lacks="debootstrap: $(tail -n 1 "$1.log")"
        rm -rf "$1"
        return 1
    fi
    cp /etc/resolv.conf "$1/etc/"
    for file in /etc/apt/apt.conf.d/*; do # but nothing that keeps manual pages or indices out of a container
        case $file in *docker*) ;; *) cp "$file" "$1/etc/apt/apt.conf.d/" ;; esac
    done
}

# in_debian_root ROOT COMMAND: runs COMMAND there as root, with the sources at /src and a build at /build. The mounts belong to this
# process and end with it.
in_debian_root()
{
    unshare -m sh -c 'mkdir -p "$1/src" "$1/shared" "$1/build" && mount --bind "$2" "$1/src" && mount -t proc proc "$1/proc" &&
        mount --rbind /dev "$1/dev" && mount --rbind /sys "$1/sys" && if [ -d "$2/../shared" ]; then mount --bind "$2/../shared" "$1/shared"; fi &&
        exec chroot "$1" env -i PATH=/usr/local/sbin:/usr/local/bin:/usr/sbin:/usr/bin:/sbin:/bin HOME=/root LC_ALL=C.UTF-8 \
        DEBIAN_FRONTEND=noninteractive sh -c "$3"' sh "$1" "$here" "$2"
}

# aarch64_root PLACE: makes PLACE/root with a cross compiler for aarch64 and libraries of that architecture, or uses it again.
aarch64_root()
{
    place=$1 root=$1/root
    [ ! -e "$place/installed" ] || return 0
    mkdir -p "$place"
    debian_root "$root" bookworm || return 1
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

in_aarch64_root() { in_debian_root "$root" "export OMP_WAIT_POLICY=passive OMP_NUM_THREADS=2; $1"; }
