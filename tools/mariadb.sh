#!/usr/bin/env bash
# SPDX-License-Identifier: Apache-2.0
# A MariaDB server for tests, on loopback and as an unprivileged user:
#   tools/mariadb.sh start DIR   prints `export WAYPOST_TEST_MARIADB=odbc:...` lines
#   tools/mariadb.sh stop DIR
#   tools/mariadb.sh restart DIR as after a crash
# Its data is not synced to the disk: tests kill processes, not the machine. WAYPOST_TEST_FSYNC=on syncs it,
# for benchmarks.
set -euo pipefail

command=$1
dir=$2
daemon=$(command -v mariadbd || ls /usr/sbin/mariadbd /usr/libexec/mariadbd 2>/dev/null | head -n 1)
[ -n "$daemon" ] || { echo "mariadb.sh: install Debian's package mariadb-server" >&2; exit 1; }

as_user() {
    if [ "$(id -u)" -eq 0 ]; then setpriv --reuid=mysql --regid=mysql --clear-groups "$@"; else "$@"; fi
}

free_port() {
    /usr/bin/python3 -c 'import socket
s = socket.socket(); s.bind(("127.0.0.1", 0)); print(s.getsockname()[1])'
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
    as_user "$daemon" --defaults-file="$dir/my.cnf" >"$dir/log" 2>&1 &
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
    port=$(free_port)
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
performance-schema = off
[client]
socket = $dir/socket
END
    [ "$(id -u)" -ne 0 ] || chown -R mysql "$dir"
    as_user mariadb-install-db --defaults-file="$dir/my.cnf" --auth-root-authentication-method=normal \
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
