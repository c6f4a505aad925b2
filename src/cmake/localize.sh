#!/bin/sh
# localize.sh LD OBJCOPY AR ARCHIVE: makes the library's private functions invisible to a program that links it.
#
# All members become one, in which hidden symbols are local: what C calls extern between the sources of the
# library can then not clash with a name of the program.
set -eu
ld=$1 objcopy=$2 ar=$3 archive=$4

scratch=$(mktemp -d)
trap 'rm -rf "$scratch"' EXIT
"$ld" -r --whole-archive "$archive" -o "$scratch/$(basename "$archive" .a).o"
"$objcopy" --localize-hidden "$scratch"/*.o
rm -f "$archive"
"$ar" rcs "$archive" "$scratch"/*.o
