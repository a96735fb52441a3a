#!/usr/bin/env bash
# SPDX-License-Identifier: Apache-2.0
# Build with optimisation and run the benchmarks: [NAME] [--json FILE].
set -euo pipefail
. tools/common.sh

configure bench -DCMAKE_BUILD_TYPE=Release -DWAYPOST_BUILD_BENCH=ON -DWAYPOST_BUILD_TESTS=OFF
build bench >/dev/null
exec build/bench/bench/waypost_bench "$@"
