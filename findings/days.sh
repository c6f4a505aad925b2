#!/bin/sh
# numpy.ndarray.tofile on a full disk.
# One would guess: like open().write() and numpy.save(), it raises OSError with errno 28 (ENOSPC, "No space left on device"),
# so that a harness that looks at errno or at these words knows that the disk was full.
# So it is: OSError with errno None and the text "N requested and M written". numpy.save() of the same array to the same file
# has errno 28. A checkpoint that is written by tofile() fails as if the program had a fault.
# Version: NumPy 2.3.5. Source: array_tofile_binary in numpy/_core/src/multiarray/convert.c, which counts items and drops errno.
set -eu
dir=$(mktemp -d)
trap 'rm -rf "$dir"' EXIT
python3 -m venv "$dir/venv"
"$dir/venv/bin/pip" install -q numpy==2.3.5
"$dir/venv/bin/python" - <<'PY'
import errno
import numpy

def full(write):
    try:
        write()
    except OSError as error:
        return error
    raise SystemExit("no error on a full device")

array = numpy.zeros(99999)
by_save = full(lambda: numpy.save(open("/dev/full", "wb"), array))
by_tofile = full(lambda: array.tofile("/dev/full"))
print("numpy", numpy.__version__)
print("save:  ", repr(by_save), "errno", by_save.errno)
print("tofile:", repr(by_tofile), "errno", by_tofile.errno)
assert by_save.errno == errno.ENOSPC
assert by_tofile.errno is None and "requested and" in str(by_tofile)
PY
