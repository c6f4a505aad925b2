# standby.sh: a standby of the server of server.sh, in the same directory, with a socket of its own until it takes over the
# server's. Sourced after server.sh; the server needs `wal_level = replica`, and standby_allow once after its start.

standby_allow()
{
    echo 'local replication all trust' >>"$server/data/pg_hba.conf"
    server_sql postgres 'SELECT pg_reload_conf()' >/dev/null
}

standby_down() { [ ! -d "$server/standby" ] || as_server "$pg_bin/pg_ctl" -D "$server/standby" -m immediate -w stop >/dev/null 2>&1; }

# Copies the server. Until standby_up the copy gets nothing new.
standby_make()
{
    rm -rf "$server/standby" && as_server mkdir -p "$server/t"
    as_server "$pg_bin/pg_basebackup" -h "$server/s" -p "$server_port" -U lineage -D "$server/standby" -R -X stream -c fast >/dev/null ||
        fail 'no standby'
    printf "unix_socket_directories = '%s'\nlisten_addresses = ''\n" "$server/t" >>"$server/standby/postgresql.conf"
}

# Makes it the synchronous one, whether it is up or not.
standby_synchronous()
{
    echo "primary_conninfo = 'host=$server/s port=$server_port user=lineage application_name=twin'" >>"$server/standby/postgresql.auto.conf"
    server_sql postgres "ALTER SYSTEM SET synchronous_standby_names = 'twin'" >/dev/null
    server_sql postgres 'SELECT pg_reload_conf()' >/dev/null
}

standby_up() { as_server "$pg_bin/pg_ctl" -D "$server/standby" -l "$server/t/log" -w -t 60 start >/dev/null || { cat "$server/t/log"; exit 1; }; }

# fail_over NAME: the standby becomes the server that clients connect to; what the old one had is in $server/oldNAME.
fail_over()
{
    server_down immediate
    standby_up
    as_server "$pg_bin/pg_ctl" -D "$server/standby" -w promote >/dev/null
    as_server "$pg_bin/pg_ctl" -D "$server/standby" -m fast -w stop >/dev/null
    mv "$server/data" "$server/old$1" && mv "$server/standby" "$server/data"
    printf "unix_socket_directories = '%s'\nlisten_addresses = '127.0.0.1'\n" "$server/s" >>"$server/data/postgresql.conf"
    server_up
}
