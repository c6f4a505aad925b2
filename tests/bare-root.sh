#!/bin/sh
# bare-root.sh: makes a bare Debian and runs the two commands of the README in it, as root and as a user with sudo, with Debian's own
# python3. For hand and release: it takes root, debootstrap, a mirror of Debian and the better part of an hour.
#
# usage: sh tests/bare-root.sh 12|13 [root|user] [TEST-ARGUMENT...]      e.g. sh tests/bare-root.sh 13 root core
#
# The root is in build-root-12 or build-root-13 and is used again, with what was installed there; remove it for a new one. The sources
# are those of this checkout that git tracks, with changes. CI is passed on.
set -eu

case ${1:-} in
12) suite=bookworm ;;
13) suite=trixie ;;
*) sed -n '2,/^set -eu$/{ /^set -eu$/d; s/^# \{0,1\}//; p; }' "$0" && exit 2 ;;
esac
here=$(CDPATH='' cd -- "$(dirname -- "$0")/.." && pwd)
root=$here/build-root-$1
shift
user=root
case ${1:-} in
root | user) user=$1 && shift ;;
esac
[ "$(id -u)" -eq 0 ] || { echo 'bare-root.sh: it takes root' >&2 && exit 2; }
. "$here/cli/install-deps.sh"
. "$here/cli/debian-root.sh"
debian_root "$root" "$suite" || { echo "bare-root.sh: $lacks" >&2 && exit 2; }

# Clients of registries are set up as on this machine.
for file in /etc/pip.conf /root/.npmrc /usr/local/share/ca-certificates/*.crt; do
    [ ! -e "$file" ] || install -D -m 644 "$file" "$root$file"
done
src=$root/srv/lineage
rm -rf "$src" && mkdir -p "$src"
(cd "$here" && git ls-files -z | tar -cf - --null --ignore-failed-read -T -) | tar -xf - -C "$src"
[ ! -d "$here/../shared" ] || { rm -rf "$root/srv/shared" && cp -r "$here/../shared" "$root/srv/shared"; }
as=
if [ "$user" = user ]; then
    in_debian_root "$root" 'apt-get update -q >/dev/null && apt-get install -y -q --no-install-recommends sudo >/dev/null
        id tester 2>/dev/null || useradd -m tester; echo "tester ALL=(ALL) NOPASSWD: ALL" >/etc/sudoers.d/tester
        cp /root/.npmrc ~tester/ 2>/dev/null; chown -R tester /srv'
    as='setpriv --reuid=tester --regid=tester --init-groups env HOME=/home/tester USER=tester'
fi
arguments= # quoted for the shell in the root: a pattern has brackets and bars
for argument; do arguments="$arguments '$argument'"; done
in_debian_root "$root" "cd /srv/lineage && export ${CI:+CI=$CI }LC_ALL=C.UTF-8 && $as sh cli/first-night.sh && $as sh tests/run.sh$arguments"
