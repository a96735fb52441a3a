#!/usr/bin/env bash
# SPDX-License-Identifier: Apache-2.0
# The order service: real webhook documents as events, written with business rows, handled by workers
# in several languages. On a SQLite file, or with --postgresql on a server that it starts. See examples/demo/.
set -euo pipefail
. tools/common.sh

case ${1:-} in
'') engine=sqlite ;;
--postgresql)
    engine=postgresql
    [ -n "${WAYPOST_TEST_POSTGRESQL:-}" ] || exec tools/with_servers.sh "$0" "$@"
    ;;
*)
    echo "usage: ./dev demo [--postgresql]" >&2
    exit 2
    ;;
esac

root=$PWD
folder=$root/build/demo
say() { printf '\n==== %s\n' "$1"; }

say "building"
configure demo -DWAYPOST_BUILD_TESTS=OFF
build demo demo_worker | tail -n 1
tools/venv.sh
workers=("c=$folder/examples/demo_worker")
if command -v dotnet >/dev/null; then
    export DOTNET_CLI_TELEMETRY_OPTOUT=1 DOTNET_NOLOGO=1 MSBUILDDISABLENODEREUSE=1
    tools/dotnet.sh --build | tail -n 1
    dotnet build examples/dotnet/DemoWorker -c Release -v quiet --nologo -o "$folder/dotnet" | tail -n 1
    workers+=("dotnet=dotnet $folder/dotnet/demo_worker.dll")
else
    echo "no worker in .NET: there is no .NET SDK on this machine"
fi
. tools/go_env.sh
(cd examples/go && go build -o "$folder/demoworker" ./demoworker)
workers+=("go=$folder/demoworker")

say "documents"
tools/documents.sh "$folder"

say "running on $engine"
if [ $engine = sqlite ]; then
    rm -f "$folder"/shop.db*
    url=sqlite:$folder/shop.db
else
    psql -q "$WAYPOST_TEST_POSTGRESQL" -c "CREATE DATABASE shop TEMPLATE template0"
    url=${WAYPOST_TEST_POSTGRESQL%/*}/shop
fi
build/venv/bin/python examples/demo/demo.py "$folder" "$url" "${workers[@]}"
