#!/usr/bin/env bash
# SPDX-License-Identifier: Apache-2.0
# Each public header compiles alone, without a warning, as C11 and as C++11.
# proves: PKG-001
# usage: headers.sh INCLUDE_DIR CC CXX
set -euo pipefail
include=$1 cc=$2 cxx=$3
warn=(-Wall -Wextra -Wpedantic -Wconversion -Wshadow -Werror -fsyntax-only)
for header in "$include"/waypost/*.h; do
    "$cc" -std=c11 "${warn[@]}" -Wstrict-prototypes -I"$include" -x c "$header"
    "$cxx" -std=c++11 "${warn[@]}" -I"$include" -x c++ "$header"
done
