#!/usr/bin/env bash
# SPDX-License-Identifier: Apache-2.0
# Install into an empty prefix, then build and run a program against it, found by pkg-config and
# found by find_package().
# proves: PKG-001
# usage: run.sh BUILD_DIR CC VERSION
set -euo pipefail
build=$1 cc=$2 version=$3
here=$(cd "$(dirname "${BASH_SOURCE[0]}")" && pwd)
tmp=$(mktemp -d)
trap 'rm -rf "$tmp"' EXIT

expect() { # expect WHAT PROGRAM
    local got
    got=$("$2")
    if [ "$got" != "$version" ]; then
        echo "$1: got '$got', expected '$version'"
        exit 1
    fi
    echo "$1: $got"
}

cmake --install "$build" --prefix "$tmp/first" >/dev/null
mv "$tmp/first" "$tmp/prefix" # the installed tree may be moved
if [ -e "$build/cli/waypost" ]; then "$tmp/prefix/bin/waypost" --version; fi

export PKG_CONFIG_PATH
PKG_CONFIG_PATH=$(dirname "$(find "$tmp/prefix" -name waypost.pc)")
libdir=$(pkg-config --variable=libdir waypost)
# Flags are words.
# shellcheck disable=SC2046
"$cc" "$here/version.c" -o "$tmp/version" $(pkg-config --cflags --libs waypost) -Wl,-rpath,"$libdir"
expect pkg-config "$tmp/version"
[ "$(pkg-config --modversion waypost)" = "$version" ]
# Programs ask for the ABI's version, major.minor before 1.0.
readelf -d "$tmp/version" | grep -qF "[libwaypost.so.${version%.*}]"

cmake -S "$here/cmake" -B "$tmp/build" -DCMAKE_C_COMPILER="$cc" \
    -DCMAKE_PREFIX_PATH="$tmp/prefix" >/dev/null
cmake --build "$tmp/build" >/dev/null
expect find_package "$tmp/build/version"
