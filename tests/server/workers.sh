#!/bin/sh
# workers.sh: tests/fault/workers.sh over a server that is stopped and started.
# usage: sh workers.sh [WORKERS] [TRIALS] [SEED]
ON_SERVER=yes
export ON_SERVER
exec sh "$SOURCE/tests/fault/workers.sh" "$@"
