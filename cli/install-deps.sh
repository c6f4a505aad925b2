# Sourced by first-night.sh, packages.sh and tests/run.sh. need_packages installs those of its Debian packages that are missing.

as_root() {
    if [ "$(id -u)" -eq 0 ]; then
        "$@"
    elif command -v sudo >/dev/null 2>&1; then
        sudo "$@"
    else
        echo "This needs root (or sudo) to install: $missing" >&2
        exit 3
    fi
}

# installed PACKAGE...: whether all are; sets missing to those that are not.
installed() {
    missing=
    for package in "$@"; do
        dpkg-query -W -f='${Status}' "$package" 2>/dev/null | grep -q 'ok installed' || missing="$missing $package"
    done
    [ -z "$missing" ]
}

# need_packages PACKAGE...
need_packages() {
    installed "$@" && return 0
    echo "Installing:$missing" >&2
    as_root apt-get update -q >&2
    # Where a file of /etc is there already, dpkg asks, and fails without an answer: the file stays.
    # shellcheck disable=SC2086 # a list of words
    as_root env DEBIAN_FRONTEND=noninteractive apt-get install -y -q --no-install-recommends -o Dpkg::Options::=--force-confdef \
        -o Dpkg::Options::=--force-confold $missing >&2
}

# What the build itself needs. lowdown makes manual pages of the guides; the build works without it, and then has no such pages.
build_packages="gcc libc6-dev cmake ninja-build pkg-config diffutils libsqlite3-dev libcsv-dev libjansson-dev libutf8proc-dev libxxhash-dev libmd-dev libopenblas-pthread-dev libpopt-dev libpcre2-dev libmicrohttpd-dev libcurl4-openssl-dev libpq-dev uthash-dev ca-certificates lowdown"
