# shellcheck shell=bash
# SPDX-License-Identifier: Apache-2.0
# Sourced after common.sh: Go of Debian's backports, and the core installed where cgo finds it.
go_bin=$(ls -d /usr/lib/go-1.*/bin 2>/dev/null | sort -V | tail -n 1)
if [ -z "$go_bin" ]; then
    echo "go: Go is missing: ./dev deps installs it from Debian's backports" >&2
    exit 1
fi
export PATH=$go_bin:$PATH
prefix=$PWD/build/go-prefix
export GOTOOLCHAIN=local GOPROXY=off GOFLAGS=-tags=libsqlite3 GOCACHE=$PWD/build/gocache
export PKG_CONFIG_PATH=$prefix/lib/pkgconfig CGO_LDFLAGS="-Wl,-rpath,$prefix/lib"

configure go -DWAYPOST_BUILD_TESTS=OFF -DWAYPOST_BUILD_EXAMPLES=OFF -DWAYPOST_BUILD_CLI=OFF -DCMAKE_INSTALL_LIBDIR=lib
build go | tail -n 1
cmake --install build/go --prefix "$prefix" >/dev/null
