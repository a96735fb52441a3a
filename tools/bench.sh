#!/usr/bin/env bash
# SPDX-License-Identifier: Apache-2.0
# Build with optimisation, the bindings too, and run the benchmarks: [NAME...] [--full]
# [--peers] [--rounds N] [--json FILE]. --help lists them.
set -euo pipefail
. tools/common.sh

case " $* " in
*" --help "* | *" -h "*)
    cat <<'END'
./dev bench [NAME...] [--full] [--peers] [--rounds N] [--json FILE]

  --full      1,000,000 finished messages, more samples of latency, half a minute idle,
              an old snapshot on PostgreSQL for 10 minutes
  --peers     measure graphile-worker and pg-boss (from npm) beside Waypost on PostgreSQL
  --rounds N  take N samples of each figure (1 to 50), 5 by default
  --json FILE write the figures to a file too

END
    sed -nE 's/^    \{"([a-z-]+)", bench_[a-z_]+, "(.*)"\},$/  \1: \2/p' bench/main.c
    exit
    ;;
esac

# A server that syncs to the disk, as one of an app does.
[ -n "${WAYPOST_TEST_POSTGRESQL:-}" ] || WAYPOST_TEST_FSYNC=on exec tools/with_servers.sh "$0" "$@"

arguments=()
peers=false
for argument; do
    if [ "$argument" = --peers ]; then peers=true; else arguments+=("$argument"); fi
done

configure bench -DCMAKE_BUILD_TYPE=Release -DWAYPOST_BUILD_BENCH=ON -DWAYPOST_BUILD_TESTS=OFF \
    -DWAYPOST_BUILD_EXAMPLES=OFF -DWAYPOST_BUILD_CLI=OFF
echo "bench: building"
build bench waypost_bench >/dev/null
tools/venv.sh
others=()
if command -v dotnet >/dev/null; then
    tools/dotnet.sh --build >/dev/null
    dotnet build bench/dotnet -c Release -v quiet --nologo >/dev/null
    others=(--dotnet build/dotnet/artifacts/bin/Handlers/release/Handlers.dll)
    dotnet build bench/cronos -c Release -v quiet --nologo >/dev/null
    others+=(--cronos build/dotnet/artifacts/bin/CronosNext/release/CronosNext.dll)
fi
(. tools/go_env.sh && cd bench/go && go build -o ../../build/bench/handlers .)
others+=(--go build/bench/handlers)
if $peers; then
    mkdir -p build/peers
    cp bench/peers/package.json bench/peers/peers.js build/peers/
    # It runs on the Node.js among the packages; the one that installs them may be older.
    npm install --prefix build/peers --no-audit --no-fund --loglevel error >/dev/null
    others+=(--peers build/peers)
fi
exec build/bench/bench/waypost_bench --python build/venv/bin/python "${others[@]}" "${arguments[@]}"
