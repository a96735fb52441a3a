#!/usr/bin/env bash
# SPDX-License-Identifier: Apache-2.0
# Fetch real webhook documents, from the npm registry, into FOLDER/node_modules: tools/documents.sh FOLDER
set -euo pipefail
documents=@octokit/webhooks-examples@7.6.1

mkdir -p "$1"
cd "$1"
if grep -qs "\"version\": \"${documents##*@}\"" \
    node_modules/@octokit/webhooks-examples/package.json; then
    exit 0
fi
command -v npm >/dev/null || { echo "npm is missing: install Debian's package npm" >&2; exit 1; }
echo "fetching $documents"
npm install --loglevel=error --no-save --no-package-lock --no-audit --no-fund --ignore-scripts \
    --prefix "$PWD" "$documents" ||
    { echo "npm could not fetch $documents" >&2; exit 1; }
