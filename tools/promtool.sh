#!/usr/bin/env bash
# SPDX-License-Identifier: Apache-2.0
# Run a command with PROMTOOL, the program that checks metrics. Where it is not installed it is taken
# out of Debian's package of Prometheus, which as a whole would start a server.
set -euo pipefail
if ! command -v promtool >/dev/null; then
    here=$(cd "$(dirname "$0")/.." && pwd)/build/promtool
    export PROMTOOL=$here/usr/bin/promtool
    if [ ! -x "$PROMTOOL" ]; then
        mkdir -p "$here"
        (cd "$here" && apt-get download -qq prometheus && dpkg-deb -x prometheus_*.deb . && rm prometheus_*.deb \
            usr/bin/prometheus)
    fi
fi
exec "$@"
