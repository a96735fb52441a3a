#!/usr/bin/env bash
# SPDX-License-Identifier: Apache-2.0
# Time zones and schedules against other implementations: zones against Python's zoneinfo, next
# occurrences against Cronos (from NuGet) on .NET. WAYPOST_TEST_SEED=N picks other random ones.
set -euo pipefail
. tools/common.sh

folder=$PWD/build/schedule
zones=/usr/share/zoneinfo
mkdir -p "$folder"
configure release
out=$(build release waypost zone_spans) || { echo "$out"; exit 1; }

# Files that end where the rule begins, beside the system's, which go on to 2037.
rm -rf "$folder/slim"
PATH=$PATH:/usr/sbin zic -b slim -d "$folder/slim" "$zones/tzdata.zi"
status=0
"$python" tests/schedule/zones.py build/release/tests/zone_spans "$zones" "$folder/slim" || status=1

if ! command -v dotnet >/dev/null; then
    echo "schedule: the .NET SDK 10 is missing: install dotnet-sdk-10.0 (learn.microsoft.com/dotnet/core/install)" >&2
    exit 1
fi
export DOTNET_CLI_TELEMETRY_OPTOUT=1 DOTNET_NOLOGO=1 MSBUILDDISABLENODEREUSE=1
dotnet build tests/schedule/cronos -c Release -v quiet --nologo -o "$folder/cronos"
dotnet "$folder/cronos/schedule_cronos.dll" build/release/libwaypost.so build/release/tests/zone_spans ||
    status=1
exit $status
