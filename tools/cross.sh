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
export DOTNET_CLI_TELEMETRY_OPTOUT=1 DOTNET_NOLOGO=1 MSBUILDDISABLENODEREUSE=1
tools/dotnet.sh --build
dotnet build tests/cross/dotnet -c Release -v quiet --nologo -o build/cross/dotnet
. tools/go_env.sh
(cd tests/cross/go && go build -o "$folder/cross_go" .)
commands=("c=$PWD/build/release/tests/cross_c"
    "python=$PWD/build/venv/bin/python $PWD/tests/cross/cross.py"
    "dotnet=dotnet $folder/dotnet/cross_dotnet.dll"
    "go=$folder/cross_go")
build/venv/bin/python tests/cross/run.py "$folder" "${commands[@]}" --postgresql "$server/$database"
