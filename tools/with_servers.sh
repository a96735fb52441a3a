#!/usr/bin/env bash
# SPDX-License-Identifier: Apache-2.0
# Run a command with the servers that tests need; they are stopped when it ends.
set -euo pipefail
here=$(cd "$(dirname "${BASH_SOURCE[0]}")" && pwd)
servers=$(mktemp -d "${TMPDIR:-/tmp}/waypost-servers.XXXXXX")
trap '"$here/postgresql.sh" stop "$servers/postgresql"; "$here/mariadb.sh" stop "$servers/mariadb"; rm -rf "$servers"' EXIT
trap 'exit 130' INT
trap 'exit 143' TERM
chmod 755 "$servers"
settings=$("$here/postgresql.sh" start "$servers/postgresql")
eval "$settings"
settings=$("$here/mariadb.sh" start "$servers/mariadb")
eval "$settings"
"$@"
