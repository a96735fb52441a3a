#!/usr/bin/env bash
# SPDX-License-Identifier: Apache-2.0
# Run a command with PROMTOOL, the program that checks metrics. Where it is not installed it is taken
# out of Debian's package of Prometheus, which as a whole would start a server.
set -euo pipefail
if ! command -v promtool >/dev/null; then
    here=$(cd "$(dirname "$0")/.." && pwd)/build/promtool
    export PROMTOOL=$here/usr/bin/promtool
    mkdir -p "$here"
    # several tests come here at once
    exec 9>"$here/lock"
    flock 9
    if [ ! -x "$PROMTOOL" ]; then
        fetched=$(mktemp -d)
        (cd "$fetched" && apt-get download -qq -o APT::Sandbox::User="$(id -un)" prometheus &&
            dpkg-deb -x prometheus_*.deb .)
        mkdir -p "$here/usr/bin"
        mv "$fetched/usr/bin/promtool" "$PROMTOOL"
        rm -rf "$fetched"
    fi
    exec 9>&-
fi
exec "$@"
