# shellcheck shell=bash
# SPDX-License-Identifier: Apache-2.0
# Sourced by the scripts of tools/. The working directory is the project's root.
jobs=$(nproc)
python=/usr/bin/python3 # Debian's: its packages are what deps.sh installs

# The core is compiled for several trees, in part with the same options.
if command -v ccache >/dev/null; then
    export CMAKE_C_COMPILER_LAUNCHER=ccache CCACHE_BASEDIR=$PWD CCACHE_NOHASHDIR=1
fi

# configure TREE [OPTION...]: a build tree under build/
configure() {
    local tree=build/$1
    shift
    cmake -S . -B "$tree" -G Ninja -DCMAKE_BUILD_TYPE=RelWithDebInfo -DWAYPOST_WERROR=ON "$@" \
        >/dev/null
}

# build TREE [TARGET...]
build() {
    local tree=build/$1
    shift
    ninja -C "$tree" -j "$jobs" "$@"
}

# The C files of ours: files NAME-PATTERN...
files() {
    local dirs=()
    for dir in core cli tests examples bench; do
        [ -d "$dir" ] && dirs+=("$dir")
    done
    find "${dirs[@]}" -name "$1" | sort
}
