#!/usr/bin/env bash
# SPDX-License-Identifier: Apache-2.0
# Run a command that drives a browser. The browser is Debian's; what drives it is from the npm registry, in build/browser.
set -euo pipefail
here=$(cd "$(dirname "$0")/.." && pwd)/build/browser
version=1.56.1
if [ ! -e "$here/node_modules/playwright-core/package.json" ]; then
    command -v npm >/dev/null || { echo "npm is missing: install Debian's package npm" >&2; exit 1; }
    mkdir -p "$here"
    npm install --prefix "$here" --loglevel=error --no-save --no-package-lock --no-audit --no-fund \
        --ignore-scripts "playwright-core@$version" >/dev/null
fi
exec "$@"
