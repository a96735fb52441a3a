#!/usr/bin/env bash
# SPDX-License-Identifier: Apache-2.0
# Build the examples and run each of them, in C and in Python, in an empty directory.
set -euo pipefail
. tools/common.sh

root=$PWD
tmp=$(mktemp -d)
trap 'rm -rf "$tmp"' EXIT

run() { # run NAME COMMAND...
    printf '\n==== %s\n' "$1"
    shift
    mkdir "$tmp/run"
    (cd "$tmp/run" && timeout 120 "$@")
    rm -rf "$tmp/run"
}

configure release
build release >/dev/null
for source in examples/*.c; do
    run "$source" "$root/build/release/examples/$(basename "$source" .c)"
done
tools/venv.sh
for source in examples/*.py; do
    run "$source" "$root/build/venv/bin/python" "$root/$source"
done
printf '\ndemo: every example ran to its end\n'
