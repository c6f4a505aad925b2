# server.sh: starts a PostgreSQL server for one test, on a socket in a short directory, under a user without other rights
# (initdb refuses root), and removes it afterwards. The first test of a build runs initdb, and the others copy what it made. Skips (77)
# if PostgreSQL is not installed. Sourced.

pg_bin=$(ls -d /usr/lib/postgresql/*/bin 2>/dev/null | sort -V | tail -n 1)
if [ -z "$pg_bin" ] || [ ! -x "$pg_bin/postgres" ]; then
    echo "skipped: no PostgreSQL server (Debian: apt-get install postgresql)" >&2
    exit 77
fi

if "$LINEAGE" -C postgres://127.0.0.1:1/db best 2>&1 | grep -q 'built without'; then
    echo "skipped: this lineage was built without PostgreSQL" >&2
    exit 77
fi

# server_test [COMMAND]: keeps the state of this machine in the scratch directory; at the end of the test runs COMMAND and
# removes the server.
server_test()
{
    trap 'code=$?; '"${1:+$1; }"'server_remove; leave_test $code' EXIT
    XDG_STATE_HOME=$PWD/state
    export XDG_STATE_HOME
}

# Run a command as the user of the server.
as_server()
{
    if [ "$(id -u)" -ne 0 ]; then
        "$@"
    elif getent passwd postgres >/dev/null; then
        (cd / && setpriv --reuid=postgres --regid=postgres --clear-groups env HOME="$server" "$@")
    else
        (cd / && setpriv --reuid=nobody --regid=nogroup --clear-groups env HOME="$server" "$@")
    fi
}

# server_files: fills $server/data. initdb takes almost a second of processor time, so its result is kept as an archive in the build
# directory, one for each version and choice of options; only one test makes it, while the others wait for the lock.
initdb_options='-U lineage -A trust -E UTF8 --no-locale --no-sync'
server_files()
{
    archive=$("$pg_bin/postgres" --version | cut -d ' ' -f 3)-$(echo "$initdb_options" | cksum | cut -d ' ' -f 1)
    archive=$(dirname "$LINEAGE")/../tests/server-$archive.tar
    (
        flock 9
        [ ! -e "$archive" ] || exit 0
        # shellcheck disable=SC2086
        as_server "$pg_bin/initdb" -D "$server/first" $initdb_options >"$server/log" 2>&1 || { cat "$server/log" >&2; exit 1; }
        as_server tar -C "$server/first" -cf - . >"$archive.new" && mv "$archive.new" "$archive" ||
            { rm -f "$archive.new"; echo "cannot make $archive; is the disk full?" >&2; exit 1; }
        rm -rf "$server/first"
    ) 9>"$archive.lock" || exit 1
    as_server tar -C "$server/data" -xf - <"$archive" || { echo "cannot unpack $archive to $server/data" >&2; exit 1; }
    chmod 700 "$server/data"
}

# server_start [SETTING=VALUE...]: makes and starts a server; sets server (its directory), and SERVER as a host in a URI.
server_start()
{
    # In memory where the other small files are and 1 GB is free, because a server has 47 MB and its log; only the path of a socket
    # must be short.
    server=/tmp
    [ "${TMPDIR:-}" != /dev/shm ] || [ "$(df -Pk /dev/shm | awk 'END { print $4 }')" -le 1000000 ] || server=/dev/shm
    server=$(mktemp -d "$server/lpg.XXXXXX")
    chmod 755 "$server"
    mkdir "$server/data" "$server/s"
    [ "$(id -u)" -ne 0 ] || as_server true || { echo "skipped: cannot become another user" >&2; exit 77; }
    if [ "$(id -u)" -eq 0 ]; then
        chown -R "$(as_server id -u):$(as_server id -g)" "$server"
    fi
    server_files
    {
        echo "listen_addresses = '127.0.0.1'"
        echo "unix_socket_directories = '$server/s'"
        echo "max_connections = 80"
        echo "port = ${server_port:=$(held_port)}"
        for setting in "$@"; do echo "$setting"; done
    } >>"$server/data/postgresql.conf"
    as_server "$pg_bin/pg_ctl" -D "$server/data" -l "$server/s/log" -w -t 60 start >/dev/null 2>&1 || { cat "$server/s/log" >&2; exit 1; }
    SERVER="postgres://lineage@$(printf '%s' "$server/s" | sed 's|/|%2F|g'):$server_port"
}

# held_port: prints a port that no other process gets until this test has ended.
held_port() { "${HOLD_PORT:-$(dirname "$LINEAGE")/../tests/hold_port}" $$; }
server_up() { as_server "$pg_bin/pg_ctl" -D "$server/data" -l "$server/s/log" -w -t 60 start >/dev/null || { cat "$server/s/log" >&2; exit 1; }; }
server_down() { as_server "$pg_bin/pg_ctl" -D "$server/data" -m "${1:-immediate}" -w stop >/dev/null 2>&1; }

server_remove()
{
    [ -n "${server:-}" ] || return 0
    server_down immediate || :
    rm -rf "$server"
    server=
}

# server_sql DATABASE STATEMENT: runs the statement and prints its result, unaligned.
server_sql() { "$pg_bin/psql" -h "$server/s" -p "$server_port" -U "${server_user:-lineage}" -X -q -A -t -v ON_ERROR_STOP=1 -d "$1" -c "$2"; }
