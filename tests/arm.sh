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
. "$here/cli/install-deps.sh"
. "$here/cli/aarch64-root.sh"
# shellcheck disable=SC2154 # aarch64_root sets it
aarch64_root "${1:-$here/build-arm}" || { printf 'arm.sh: skipped: %s\n' "$lacks" >&2 && exit 77; }
in_aarch64_root "cmake -S /src -B /build -G Ninja -DCMAKE_TOOLCHAIN_FILE=/src/src/cmake/aarch64.cmake -DLINEAGE_WERROR=ON -DLINEAGE_BUILD_TESTS=ON \
    >/dev/null && ninja -C /build && ctest --test-dir /build --output-on-failure --timeout 600 -j$(nproc) -L '^(unit|golden)\$' -E '^($without)\$' &&
    ctest --test-dir /build --output-on-failure --timeout 600 -j$(nproc) -R '^($trainer)\$'"
