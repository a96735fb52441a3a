#!/usr/bin/env bash
# SPDX-License-Identifier: Apache-2.0
# Install the packages that are missing, on Debian 12 or what is close to it.
set -euo pipefail

packages=(
    build-essential cmake ninja-build ccache pkg-config
    libsqlite3-dev libpq-dev unixodbc-dev libjansson-dev libssl-dev libmicrohttpd-dev libcmocka-dev
    postgresql pgbouncer openssl tzdata
    clang clang-tidy clang-format cppcheck valgrind
    man-db groff-base bash
    python3 python3-dev python3-venv python3-pip python3-setuptools python3-wheel
    python3-cffi python3-pytest python3-pytest-xdist python3-sqlalchemy python3-aiosqlite python3-prometheus-client mypy
    python3-psycopg python3-psycopg2 python3-asyncpg python3-pyodbc python3-django
    swig unixodbc odbc-postgresql odbc-mariadb mariadb-server mariadb-client eatmydata
    python3-pymysql python3-mysqldb python3-aiomysql golang-github-go-sql-driver-mysql-dev
    tdsodbc python3-pymssql
    golang-1.23-go golang-1.23-src golang-github-mattn-go-sqlite3-dev golang-github-lib-pq-dev
    golang-github-jackc-pgx-v4-dev golang-github-denisenkom-go-mssqldb-dev
    chromium fonts-dejavu-core
)

command -v npm >/dev/null || packages+=(nodejs npm) # the demo's documents and what drives a browser come from npm

if ! command -v dpkg-query >/dev/null || ! command -v apt-get >/dev/null; then
    echo "deps: not a Debian system; you need the equivalents of: ${packages[*]}" >&2
    exit 0
fi
missing=()
for package in "${packages[@]}"; do
    state=$(dpkg-query -W -f='${db:Status-Status}' "$package" 2>/dev/null || true)
    [ "$state" = installed ] || missing+=("$package")
done
[ ${#missing[@]} -gt 0 ] || exit 0

as_root=()
if [ "$(id -u)" -ne 0 ]; then
    if ! command -v sudo >/dev/null; then
        echo "deps: as root, install: ${missing[*]}" >&2
        exit 1
    fi
    as_root=(sudo)
fi
echo "deps: installing ${missing[*]}"
export DEBIAN_FRONTEND=noninteractive
# No server of the system's: tests start their own.
if [[ " ${missing[*]} " == *" postgresql "* ]] && [ ! -e /etc/postgresql-common/createcluster.conf ]; then
    "${as_root[@]}" mkdir -p /etc/postgresql-common
    echo "create_main_cluster = false" |
        "${as_root[@]}" tee /etc/postgresql-common/createcluster.conf >/dev/null
fi
# Before the question below: until the lists are here apt knows no site of a suite.
"${as_root[@]}" apt-get update -qq
# Debian 12's Go is too old: a newer one is in its backports.
if [[ " ${missing[*]} " == *" golang-1.23-"* ]] &&
    ! grep -rqs bookworm-backports /etc/apt/sources.list /etc/apt/sources.list.d; then
    uri=$(apt-get indextargets --format '$(SITE)' 'Codename: bookworm' 'Component: main' | head -n 1)
    if [ -z "$uri" ]; then
        echo "deps: apt has no source of bookworm, whose backports have the Go that is needed" >&2
        exit 1
    fi
    echo "deb $uri bookworm-backports main" |
        "${as_root[@]}" tee /etc/apt/sources.list.d/waypost-backports.list >/dev/null
    "${as_root[@]}" apt-get update -qq
fi
"${as_root[@]}" apt-get install -y -qq --no-install-recommends "${missing[@]}"
