#!/usr/bin/env bash
# SPDX-License-Identifier: Apache-2.0
# Everything that the library sends to SQL Server, read by Microsoft's own parser; needs no server.
set -euo pipefail
. tools/common.sh

if ! command -v dotnet >/dev/null; then
    echo "sqlserver: the .NET SDK 10 is missing: install dotnet-sdk-10.0 (learn.microsoft.com/dotnet/core/install)" >&2
    exit 1
fi
export DOTNET_CLI_TELEMETRY_OPTOUT=1 DOTNET_NOLOGO=1 MSBUILDDISABLENODEREUSE=1
configure release -DWAYPOST_BUILD_BENCH=ON
build release render_sqlserver | tail -n 1
mkdir -p build/sqlserver
build/release/tests/render_sqlserver >build/sqlserver/sent.json
log=build/sqlserver/tests.log
status=0
WAYPOST_SENT=$PWD/build/sqlserver/sent.json timeout 600 \
    dotnet test tests/sqlserver/parser -c Release --nologo 2>&1 | tee "$log" || status=$?
# the runner's closing line, in the plain form too
sed -nE 's/^(Passed|Failed)! +- Failed: +([0-9]+), Passed: +([0-9]+), Skipped: +([0-9]+).*/sqlserver: \3 passed, \2 failed, \4 skipped/p' "$log"
exit $status
