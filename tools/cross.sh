#!/usr/bin/env bash
# SPDX-License-Identifier: Apache-2.0
# Enqueue in one language, handle in another: every pair, on every engine. See tests/cross/run.py.
set -euo pipefail
. tools/common.sh

[ -n "${WAYPOST_TEST_POSTGRESQL:-}" ] || exec tools/with_servers.sh "$0" "$@"
folder=$PWD/build/cross
tools/documents.sh "$folder"
configure release
out=$(build release cross_c) || { echo "$out"; exit 1; }
[ -x build/venv/bin/python ] || tools/venv.sh
server=${WAYPOST_TEST_POSTGRESQL%/*}
database=cross_$$
psql -q "$WAYPOST_TEST_POSTGRESQL" -c "CREATE DATABASE $database TEMPLATE template0"
commands=("c=$PWD/build/release/tests/cross_c"
    "python=$PWD/build/venv/bin/python $PWD/tests/cross/cross.py")
build/venv/bin/python tests/cross/run.py "$folder" "${commands[@]}" --postgresql "$server/$database"
