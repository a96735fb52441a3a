#!/usr/bin/env bash
# SPDX-License-Identifier: Apache-2.0
# Build with optimisation, the Python binding too, and run the benchmarks: [NAME...] [--full]
# [--rounds N] [--json FILE]. --help lists them.
set -euo pipefail
. tools/common.sh

configure bench -DCMAKE_BUILD_TYPE=Release -DWAYPOST_BUILD_BENCH=ON -DWAYPOST_BUILD_TESTS=OFF \
    -DWAYPOST_BUILD_EXAMPLES=OFF
echo "bench: building"
build bench waypost_bench >/dev/null
tools/venv.sh
exec build/bench/bench/waypost_bench --python build/venv/bin/python "$@"
