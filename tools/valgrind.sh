#!/usr/bin/env bash
# SPDX-License-Identifier: Apache-2.0
# Run each C example under valgrind: no bad access, no leak. An example runs to its end without
# arguments, in an empty directory.
set -euo pipefail
. tools/common.sh

root=$PWD
count=0
for source in examples/*.c; do
    name=$(basename "$source" .c)
    tmp=$(mktemp -d)
    echo "-- $name"
    (cd "$tmp" && timeout 120 valgrind --quiet --error-exitcode=9 --leak-check=full \
        --errors-for-leak-kinds=definite,indirect,possible \
        "$root/build/release/examples/$name") || { echo "valgrind: $name failed"; exit 1; }
    rm -rf "$tmp"
    count=$((count + 1))
done
echo "valgrind: $count examples are clean"
