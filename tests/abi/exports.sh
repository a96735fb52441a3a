#!/usr/bin/env bash
# SPDX-License-Identifier: Apache-2.0
# The functions in the public headers, the library's exported symbols and exports.txt are the
# same list, and every name in it starts with wp_.
# proves: PKG-001
# usage: exports.sh INCLUDE_DIR CC LIBRARY EXPORTS
set -euo pipefail
export LC_ALL=C
include=$1 cc=$2 library=$3 exports=$4

declared() {
    "$cc" -E -P -DWP_API=@ -I"$include" -x c "$include/waypost/waypost.h" |
        tr '\n;' ' \n' | sed -nE 's/.*@ *([^(]*[ *])?(wp_[a-z0-9_]+) *\(.*/\2/p' | sort
}
exported() { nm -D --defined-only "$library" | awk '{print $3}' | sort; }

status=0
if ! diff -u --label exports.txt --label 'public headers' "$exports" <(declared); then
    status=1
fi
if ! diff -u --label exports.txt --label "$(basename "$library")" "$exports" <(exported); then
    status=1
fi
if grep -nv '^wp_' "$exports"; then
    echo "the names above do not start with wp_"
    status=1
fi
exit $status
