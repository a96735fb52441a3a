#!/usr/bin/env bash
# SPDX-License-Identifier: Apache-2.0
# The order service: real webhook documents as events, written with business rows, handled by workers
# in Python and C. See examples/demo/.
set -euo pipefail
. tools/common.sh

documents=@octokit/webhooks-examples@7.6.1 # from the npm registry

root=$PWD
folder=$root/build/demo
mkdir -p "$folder"
say() { printf '\n==== %s\n' "$1"; }

say "building"
configure demo -DWAYPOST_BUILD_TESTS=OFF
build demo demo_worker | tail -n 1
tools/venv.sh

say "fetching $documents"
if ! grep -qs "\"version\": \"${documents##*@}\"" \
    "$folder/node_modules/@octokit/webhooks-examples/package.json"; then
    if ! command -v npm >/dev/null; then
        echo "npm is missing: install Debian's package npm" >&2
        exit 1
    fi
    (cd "$folder" && npm install --loglevel=error --no-save --no-package-lock --no-audit --no-fund \
        --ignore-scripts --prefix "$folder" "$documents") ||
        { echo "demo: npm could not fetch $documents; there is no demo without it" >&2; exit 1; }
fi

say "running"
build/venv/bin/python examples/demo/demo.py "$folder" "$root/build/demo/examples/demo_worker"
