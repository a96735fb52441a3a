#!/usr/bin/env bash
# SPDX-License-Identifier: Apache-2.0
# The Python binding: installs, passes its tests, and has the types that it says.
set -euo pipefail
. tools/common.sh

[ -n "${WAYPOST_TEST_POSTGRESQL:-}" ] || exec tools/with_servers.sh "$0" "$@"

tools/venv.sh
tools/documents.sh build/demo # for examples/webhook
# tests wait most of their time, so more of them at once than there are processors
WAYPOST_TEST_REQUIRE=1 timeout 1200 build/venv/bin/python -m pytest -p no:cacheprovider -n $((jobs + 1)) \
    bindings/python/tests
tmp=$(mktemp -d)
(cd "$tmp" && "$OLDPWD/build/venv/bin/python" "$OLDPWD/examples/outbox.py")
rm -rf "$tmp"
build/venv/bin/python -m mypy --strict --cache-dir build/mypy bindings/python/waypost tools examples bench
