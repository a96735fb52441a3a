#!/usr/bin/env bash
# SPDX-License-Identifier: Apache-2.0
# The .NET binding: builds its native part and itself, and passes its tests. With --build only
# builds. NuGet packages come by the ordinary restore.
set -euo pipefail
. tools/common.sh

if ! command -v dotnet >/dev/null; then
    echo "dotnet: the .NET SDK 10 is missing: install dotnet-sdk-10.0 (learn.microsoft.com/dotnet/core/install)" >&2
    exit 1
fi
[ "${1:-}" = --build ] || [ -n "${WAYPOST_TEST_POSTGRESQL:-}" ] ||
    exec tools/with_servers.sh "$0" "$@"
export DOTNET_CLI_TELEMETRY_OPTOUT=1 DOTNET_NOLOGO=1 MSBUILDDISABLENODEREUSE=1

configure dotnet -DCMAKE_BUILD_TYPE=Release -DWAYPOST_BUILD_DOTNET=ON -DWAYPOST_BUILD_TESTS=OFF \
    -DWAYPOST_BUILD_EXAMPLES=OFF -DWAYPOST_BUILD_CLI=OFF
build dotnet waypost_net | tail -n 1
dotnet build bindings/dotnet/Waypost.sln -c Release -v quiet --nologo
[ "${1:-}" = --build ] && exit 0

tools/documents.sh build/demo # for examples/dotnet/Webhook
log=build/dotnet/tests.log
status=0
timeout 1200 dotnet test bindings/dotnet/tests/Waypost.Tests -c Release --no-build --nologo 2>&1 |
    tee "$log" || status=$?
# the runner's closing line, in the plain form too
sed -nE 's/^(Passed|Failed)! +- Failed: +([0-9]+), Passed: +([0-9]+), Skipped: +([0-9]+).*/dotnet: \3 passed, \2 failed, \4 skipped/p' "$log"
exit $status
