#!/usr/bin/env bash
# SPDX-License-Identifier: Apache-2.0
# A PostgreSQL server for tests, with pgbouncer in front of it, on loopback and as an unprivileged user:
#   tools/postgresql.sh start DIR   prints `export WAYPOST_TEST_...=URL` lines
#   tools/postgresql.sh stop DIR
#   tools/postgresql.sh restart DIR             as after a crash
#   tools/postgresql.sh restart-pgbouncer DIR   killed
#   tools/postgresql.sh require-tls DIR         from now on, with DIR/server.crt; other.crt is of no server
# Its data is not synced to the disk: tests kill processes, not the machine. WAYPOST_TEST_FSYNC=on syncs it,
# for benchmarks.
set -euo pipefail

here=$(cd "$(dirname "${BASH_SOURCE[0]}")" && pwd)
command=$1
dir=$2
bin=$(ls -d /usr/lib/postgresql/*/bin 2>/dev/null | sort -V | tail -n 1)
[ -n "$bin" ] || { echo "postgresql.sh: install Debian's package postgresql" >&2; exit 1; }

as_user() {
    if [ "$(id -u)" -eq 0 ]; then setpriv --reuid=postgres --regid=postgres --clear-groups "$@"; else "$@"; fi
}

stop() {
    [ ! -f "$dir/pgbouncer.pid" ] || kill "$(cat "$dir/pgbouncer.pid")" 2>/dev/null || true
    [ ! -d "$dir/data" ] || (cd / && as_user "$bin/pg_ctl" -D "$dir/data" -m immediate -s stop) || true
    rm -rf "$dir"
}

restart() {
    cd / && as_user "$bin/pg_ctl" -D "$dir/data" -l "$dir/log" -m immediate -s -w restart
}

certificate() { # NAME: DIR/NAME.crt and .key
    as_user openssl req -x509 -newkey rsa:2048 -nodes -days 2 -subj /CN=localhost \
        -addext subjectAltName=IP:127.0.0.1 -keyout "$dir/$1.key" -out "$dir/$1.crt" 2>/dev/null
    chmod 600 "$dir/$1.key"
    chmod 644 "$dir/$1.crt"
}

require_tls() {
    certificate server
    certificate other
    cat >>"$dir/data/postgresql.conf" <<END
ssl = on
ssl_cert_file = '$dir/server.crt'
ssl_key_file = '$dir/server.key'
END
    echo "hostssl all all 127.0.0.1/32 trust" >"$dir/data/pg_hba.conf"
    restart
}

start_pgbouncer() {
    as_user /usr/sbin/pgbouncer -q -d "$dir/pgbouncer.ini"
}

restart_pgbouncer() {
    local pid
    pid=$(cat "$dir/pgbouncer.pid")
    kill -KILL "$pid"
    while kill -0 "$pid" 2>/dev/null; do sleep 0.01; done
    rm -f "$dir/pgbouncer.pid"
    start_pgbouncer
}

start() {
    local port bouncer_port fsync=${WAYPOST_TEST_FSYNC:-off}
    rm -rf "$dir"
    mkdir -p "$dir"
    chmod 755 "$dir"
    port=$("$here/free_port.py")
    [ "$(id -u)" -ne 0 ] || chown postgres "$dir"
    cd /
    as_user "$bin/initdb" -D "$dir/data" -U waypost -A trust -E UTF8 --locale=C.UTF-8 --no-sync >/dev/null
    cat >>"$dir/data/postgresql.conf" <<END
port = $port
listen_addresses = '127.0.0.1'
unix_socket_directories = ''
max_connections = 300
fsync = $fsync
autovacuum = $fsync
max_wal_size = 4GB
shared_buffers = 256MB
autovacuum_naptime = 5s
log_min_messages = fatal
END
    as_user "$bin/pg_ctl" -D "$dir/data" -l "$dir/log" -s -w start
    bouncer_port=$("$here/free_port.py")
    cat >"$dir/pgbouncer.ini" <<END
[databases]
* = host=127.0.0.1 port=$port
[pgbouncer]
listen_addr = 127.0.0.1
listen_port = $bouncer_port
unix_socket_dir =
auth_type = any
pool_mode = transaction
max_client_conn = 1000
default_pool_size = 20
server_lifetime = 10
pidfile = $dir/pgbouncer.pid
logfile = $dir/pgbouncer.log
END
    sed -i "s/^\* = .*/* = host=127.0.0.1 port=$port user=waypost/" "$dir/pgbouncer.ini"
    start_pgbouncer
    echo "export WAYPOST_TEST_POSTGRESQL=postgresql://waypost@127.0.0.1:$port/postgres"
    echo "export WAYPOST_TEST_PGBOUNCER=postgresql://waypost@127.0.0.1:$bouncer_port/postgres"
    echo "export WAYPOST_TEST_POSTGRESQL_DIR=$dir"
}

case $command in
start) start ;;
stop) stop ;;
restart) restart ;;
restart-pgbouncer) restart_pgbouncer ;;
require-tls) require_tls ;;
*) echo "usage: tools/postgresql.sh start|stop|restart|restart-pgbouncer|require-tls DIR" >&2; exit 2 ;;
esac
