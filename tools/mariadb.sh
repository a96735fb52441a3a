#!/usr/bin/env bash
# SPDX-License-Identifier: Apache-2.0
# A MariaDB server for tests, on loopback and as an unprivileged user:
#   tools/mariadb.sh start DIR   prints `export WAYPOST_TEST_MARIADB=odbc:...` lines
#   tools/mariadb.sh stop DIR
#   tools/mariadb.sh restart DIR as after a crash
# Its data is not synced to the disk: tests kill processes, not the machine. WAYPOST_TEST_FSYNC=on syncs it,
# for benchmarks.
set -euo pipefail

here=$(cd "$(dirname "${BASH_SOURCE[0]}")" && pwd)
command=$1
dir=$2
daemon=$(command -v mariadbd || ls /usr/sbin/mariadbd /usr/libexec/mariadbd 2>/dev/null | head -n 1)
[ -n "$daemon" ] || { echo "mariadb.sh: install Debian's package mariadb-server" >&2; exit 1; }

as_user() {
    if [ "$(id -u)" -eq 0 ]; then setpriv --reuid=mysql --regid=mysql --clear-groups "$@"; else "$@"; fi
}

# The server syncs what it makes tables with, whatever its settings: a schema took 8 s with that, and takes 0.5 s without.
unsynced() {
    if [ "${WAYPOST_TEST_FSYNC:-off}" = off ]; then as_user eatmydata "$@"; else as_user "$@"; fi
}

kill_server() {
    local pid
    [ -s "$dir/pid" ] || return 0
    pid=$(cat "$dir/pid")
    kill -KILL "$pid" 2>/dev/null || true
    while kill -0 "$pid" 2>/dev/null; do sleep 0.01; done
    rm -f "$dir/pid"
}

stop() {
    kill_server
    rm -rf "$dir"
}

serve() {
    cd /
    unsynced "$daemon" --defaults-file="$dir/my.cnf" >"$dir/log" 2>&1 &
    for _ in $(seq 6000); do
        if mariadb-admin --defaults-file="$dir/my.cnf" -u waypost ping >/dev/null 2>&1; then return 0; fi
        kill -0 $! 2>/dev/null || break
        sleep 0.05
    done
    tail "$dir/log" >&2
    return 1
}

start() {
    local port durable=0
    [ "${WAYPOST_TEST_FSYNC:-off}" = off ] || durable=1
    rm -rf "$dir"
    mkdir -p "$dir"
    chmod 755 "$dir"
    port=$("$here/free_port.py")
    cat >"$dir/my.cnf" <<END
[mariadbd]
datadir = $dir/data
socket = $dir/socket
pid-file = $dir/pid
port = $port
bind-address = 127.0.0.1
tmpdir = $dir
skip-name-resolve
skip-log-bin
max-connections = 300
max-allowed-packet = 64M
innodb-buffer-pool-size = 128M
innodb-log-file-size = 256M
innodb-flush-log-at-trx-commit = $durable
innodb-doublewrite = $durable
table-definition-cache = 8000
table-open-cache = 8000
performance-schema = off
log-warnings = 4
[client]
socket = $dir/socket
END
    [ "$(id -u)" -ne 0 ] || chown -R mysql "$dir"
    unsynced mariadb-install-db --defaults-file="$dir/my.cnf" --auth-root-authentication-method=normal \
        --skip-test-db >"$dir/install.log" 2>&1 || { cat "$dir/install.log" >&2; return 1; }
    cat >"$dir/init.sql" <<END
CREATE USER IF NOT EXISTS waypost@'%';
GRANT ALL ON *.* TO waypost@'%' WITH GRANT OPTION;
CREATE USER IF NOT EXISTS waypost@localhost;
GRANT ALL ON *.* TO waypost@localhost WITH GRANT OPTION;
END
    sed -i "/^pid-file/a init-file = $dir/init.sql" "$dir/my.cnf"
    serve
    echo "export WAYPOST_TEST_MARIADB='odbc:Driver=MariaDB Unicode;Server=127.0.0.1;Port=$port;Uid=waypost'"
    echo "export WAYPOST_TEST_MARIADB_DIR=$dir"
}

case $command in
start) start ;;
stop) stop ;;
restart) kill_server; serve ;;
*) echo "usage: tools/mariadb.sh start|stop|restart DIR" >&2; exit 2 ;;
esac
