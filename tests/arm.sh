#!/bin/sh
# arm.sh [DIRECTORY]: builds for aarch64 with Debian's cross compiler in a Debian root of its own, runs unit and golden tests under
# qemu, and then makes the wheel and runs the guide's example with it. The root and the build are kept in DIRECTORY (build-arm) and
# used again. It takes root, debootstrap and a mirror of Debian; without them it says so and exits with 77. Called by
# `sh tests/run.sh arm`.
set -eu

# Left out: what starts its own program again, which needs a kernel that runs foreign programs by itself. Of the trainer's tests, the
# others train for many minutes under qemu.
without='cli_.*|trainer_.*'
trainer='trainer_(attention|checkpoint|collect|credit|data|env|evaluate|faults|judging|learner|objective|optimizer|policy|product|recipe|offpolicy|spills)'

here=$(CDPATH='' cd -- "$(dirname -- "$0")/.." && pwd)
. "$here/cli/install-deps.sh"
. "$here/cli/debian-root.sh"
# shellcheck disable=SC2154 # aarch64_root sets it
aarch64_root "${1:-$here/build-arm}" || { printf 'arm.sh: skipped: %s\n' "$lacks" >&2 && exit 77; }
in_aarch64_root "cmake -S /src -B /build -G Ninja -DCMAKE_TOOLCHAIN_FILE=/src/src/cmake/aarch64.cmake -DLINEAGE_WERROR=ON -DLINEAGE_BUILD_TESTS=ON \
    >/dev/null && ninja -C /build && ctest --test-dir /build --output-on-failure --timeout 600 -j$(nproc) -L '^(unit|golden)\$' -E '^($without)\$' &&
    ctest --test-dir /build --output-on-failure --timeout 600 -j$(nproc) -R '^($trainer)\$'"

# The wheel: the example of the guide, and the command, with Debian's Python of that architecture. It is unpacked only, because
# installing it would run foreign programs.
wheel=$(sh "$here/cli/wheel.sh" aarch64 "$place" 2>"$place/log") || { tail -n 5 "$place/log" >&2 && exit 1; }
in_aarch64_root "mkdir -p /python/packages && cd /python/packages && apt-get download -q python3.11-minimal:arm64 \
    libpython3.11-minimal:arm64 libpython3.11-stdlib:arm64 libexpat1:arm64 libffi8:arm64 zlib1g:arm64 >/dev/null &&
    for package in *.deb; do dpkg-deb -x \$package /python; done"
rm -rf "${root:?}/site" "${root:?}/guide"
mkdir -p "$root/guide/runs"
/usr/bin/python3 -m zipfile -e "$wheel" "$root/site"
chmod +x "$root"/site/lineage-*.data/scripts/lineage # zipfile leaves out the modes, which an installer sets
sed -n '/^python3 - <<.END.$/,/^END$/p' "$here/cli/man/python.md" | sed '/^END$/q' | sed '1d;$d' >"$root/guide/example.py"
printed=$(in_aarch64_root "cd /guide && export PYTHONPATH=/site PYTHONHOME=/python/usr HOME=/guide &&
    export LD_LIBRARY_PATH=/python/usr/lib/aarch64-linux-gnu:/python/lib/aarch64-linux-gnu &&
    qemu-aarch64-static /python/usr/bin/python3.11 example.py && unset LD_LIBRARY_PATH &&
    qemu-aarch64-static /site/lineage-*.data/scripts/lineage best -C runs/from-python --format tsv | awk 'NR == 2 { print \$1 }'")
[ "$printed" = "$(printf '000\n000')" ] || { printf 'arm.sh: the wheel printed: %s\n' "$printed" >&2 && exit 1; }
